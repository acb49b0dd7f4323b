//! The tables: how names are matched, and that the page shows what is there.

use std::fmt::Write as _;

use super::*;

#[test]
fn the_longest_pattern_wins_and_a_providers_name_is_passed_over() {
    for (name, counter) in [
        ("gpt-5.6-sol", Some("o200k")),
        ("gpt-4o-mini-2024-07-18", Some("o200k")),
        ("gpt-4-0613", Some("cl100k")),
        ("o3", Some("o200k")),
        ("claude-opus-4-5-20251101", Some("o200k*1.180")),
        ("claude-opus-4-20250514", Some("o200k*1.180")),
        ("claude-opus-4-7", Some("o200k*1.530")),
        ("anthropic/claude-opus-4.7", Some("o200k*1.530")),
        ("anthropic/claude-sonnet-4-5", Some("o200k*1.180")),
        ("us.anthropic.claude-opus-5-5-v1:0", Some("o200k*1.530")),
        ("models/gemini-2.5-pro", Some("o200k")),
        ("GPT-5", Some("o200k")),
        ("litellm_proxy/minimax-m2.7", None),
        ("not-claude", None),
        ("<synthetic>", None),
        ("", None),
    ] {
        assert_eq!(model(name).map(|row| row.counter().to_string()).as_deref(), counter, "{name}");
    }
    assert_eq!(model(&"gpt-5".repeat(1_000)), None);
}

#[test]
fn every_row_can_win_and_has_its_sources() {
    for row in MODELS {
        assert_eq!(model(row.pattern), Some(row), "a second row for `{}`", row.pattern);
        assert!(stemmata_model::FACTOR_PERMILLE.contains(&row.factor_permille) && !row.source.is_empty());
        assert_eq!(row.pattern, row.pattern.to_ascii_lowercase());
    }
}

#[test]
fn the_page_of_models_shows_every_row() {
    let page = include_str!("../../../docs/reference/models.md");
    let mut wanted = "| models | counter | source |\n|---|---|---|\n".to_owned();
    for row in MODELS {
        writeln!(wanted, "| `{}…` | `{}` | {} |", row.pattern, row.counter(), row.source).unwrap();
    }
    assert!(page.contains(&wanted), "docs/reference/models.md is stale; it should hold:\n\n{wanted}");
}
