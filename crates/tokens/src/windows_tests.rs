//! Which window a model's name gets, what is only assumed, and that the page shows every row.

use std::fmt::Write as _;

use super::*;

#[test]
fn a_model_that_no_row_names_gets_the_window_of_its_family_marked() {
    for (name, wanted) in [
        ("claude-opus-4-5-20251101", Some((200_000, false))),
        ("claude-opus-4-20250514", Some((200_000, false))),
        ("claude-sonnet-4", Some((200_000, false))),
        ("anthropic/claude-opus-4.6", Some((1_000_000, false))),
        ("claude-opus-4-7", Some((1_000_000, false))),
        ("claude-opus-4-8", Some((1_000_000, false))),
        ("us.anthropic.claude-opus-5-5-v1:0", Some((1_000_000, false))),
        ("claude-haiku-5-5", Some((1_000_000, false))),
        ("claude-opus-4-9", Some((200_000, true))),
        ("claude-opus-6", Some((1_000_000, true))),
        ("claude-test", Some((200_000, true))),
        ("claude-sonnet-4-5[1m]", Some((1_000_000, false))),
        ("gpt-5.6-sol", Some((1_050_000, false))),
        ("gpt-5-2025-08-07", Some((400_000, false))),
        ("gpt-5.1-codex", Some((400_000, false))),
        ("gpt-5.9-codex", Some((400_000, true))),
        ("gpt-oss-20b", Some((131_072, false))),
        ("gpt-6-astra", Some((1_050_000, false))),
        ("gpt-7", Some((400_000, true))),
        ("models/gemini-2.5-pro", Some((1_048_576, false))),
        ("gemini-3.1-pro-preview", Some((1_048_576, false))),
        ("gemini-9", Some((1_048_576, true))),
        ("gemini-2.5-flash-image", None),
        ("gemini-2.5-pro-preview-tts", None),
        ("litellm_proxy/minimax-m2.7", Some((205_000, true))),
        ("mystery-1", None),
        ("not-claude", None),
        ("mystery[1m]", None),
        ("", None),
    ] {
        assert_eq!(window(name).map(|known| (known.tokens, known.is_assumed)), wanted, "{name}");
    }
    assert_eq!(window(&"gpt-5".repeat(1_000)), None);
}

#[test]
fn every_row_can_win_and_has_its_source() {
    for row in WINDOWS {
        let known = KnownWindow { tokens: row.tokens, source: row.source, is_assumed: row.is_family };
        assert_eq!(window(row.pattern), Some(known), "a second row for `{}`", row.pattern);
        assert!(row.tokens > 0 && !row.source.is_empty());
        assert_eq!(row.pattern, row.pattern.to_ascii_lowercase());
    }
}

#[test]
fn the_page_of_models_shows_every_window() {
    let page = include_str!("../../../docs/reference/models.md");
    let mut wanted = "| models | window | source |\n|---|---|---|\n".to_owned();
    for WindowRow { pattern, tokens, source, is_family } in WINDOWS {
        let assumed = if *is_family { ", assumed" } else { "" };
        writeln!(wanted, "| `{pattern}…` | {tokens}{assumed} | {source} |").unwrap();
    }
    assert!(page.contains(&wanted), "docs/reference/models.md is stale; it should hold:\n\n{wanted}");
}
