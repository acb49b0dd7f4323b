//! The words, phrases and passages of the grammar, one file a symbol in `grammar/`.
//! Not code: a writer can add to them without knowing Rust.
//!
//! A file has one entry a line, or, where entries have several lines, a line `%%` between two.

use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Every symbol with its entries.
static GRAMMAR: LazyLock<BTreeMap<&str, Vec<&str>>> =
    LazyLock::new(|| FILES.iter().map(|(symbol, text)| (*symbol, entries(text))).collect());

/// Returns what a slot may be filled with.
///
/// # Panics
/// When the grammar uses a symbol that does not exist.
pub(super) fn choices(symbol: &str) -> &'static [&'static str] {
    GRAMMAR.get(symbol).unwrap_or_else(|| unreachable!("the grammar knows no symbol `{symbol}`"))
}

fn entries(text: &'static str) -> Vec<&'static str> {
    let body = text.strip_suffix('\n').unwrap_or(text);
    if text.contains("\n%%\n") || text.starts_with("%%\n") {
        body.split("\n%%\n").map(|entry| entry.strip_prefix("%%\n").unwrap_or(entry)).collect()
    } else {
        body.lines().collect()
    }
}

const FILES: &[(&str, &str)] = &[
    ("adj", include_str!("grammar/adj.txt")),
    ("answer", include_str!("grammar/answer.txt")),
    ("bad_news", include_str!("grammar/bad_news.txt")),
    ("branch", include_str!("grammar/branch.txt")),
    ("bullet", include_str!("grammar/bullet.txt")),
    ("check", include_str!("grammar/check.txt")),
    ("code_config", include_str!("grammar/code_config.txt")),
    ("code_elixir", include_str!("grammar/code_elixir.txt")),
    ("code_go", include_str!("grammar/code_go.txt")),
    ("code_markdown", include_str!("grammar/code_markdown.txt")),
    ("code_python", include_str!("grammar/code_python.txt")),
    ("code_rust", include_str!("grammar/code_rust.txt")),
    ("code_shell", include_str!("grammar/code_shell.txt")),
    ("code_typescript", include_str!("grammar/code_typescript.txt")),
    ("crate", include_str!("grammar/crate.txt")),
    ("dir", include_str!("grammar/dir.txt")),
    ("doing", include_str!("grammar/doing.txt")),
    ("done", include_str!("grammar/done.txt")),
    ("error", include_str!("grammar/error.txt")),
    ("ext", include_str!("grammar/ext.txt")),
    ("fact", include_str!("grammar/fact.txt")),
    ("head_config", include_str!("grammar/head_config.txt")),
    ("head_elixir", include_str!("grammar/head_elixir.txt")),
    ("head_go", include_str!("grammar/head_go.txt")),
    ("head_markdown", include_str!("grammar/head_markdown.txt")),
    ("head_python", include_str!("grammar/head_python.txt")),
    ("head_rust", include_str!("grammar/head_rust.txt")),
    ("head_shell", include_str!("grammar/head_shell.txt")),
    ("head_typescript", include_str!("grammar/head_typescript.txt")),
    ("home", include_str!("grammar/home.txt")),
    ("hook", include_str!("grammar/hook.txt")),
    ("how", include_str!("grammar/how.txt")),
    ("level", include_str!("grammar/level.txt")),
    ("month", include_str!("grammar/month.txt")),
    ("narration", include_str!("grammar/narration.txt")),
    ("noun", include_str!("grammar/noun.txt")),
    ("out_commands", include_str!("grammar/out_commands.txt")),
    ("out_commit", include_str!("grammar/out_commit.txt")),
    ("out_diff", include_str!("grammar/out_diff.txt")),
    ("out_elixir_commands", include_str!("grammar/out_elixir_commands.txt")),
    ("out_elixir_tests", include_str!("grammar/out_elixir_tests.txt")),
    ("out_go_builds", include_str!("grammar/out_go_builds.txt")),
    ("out_go_commands", include_str!("grammar/out_go_commands.txt")),
    ("out_go_tests", include_str!("grammar/out_go_tests.txt")),
    ("out_grep", include_str!("grammar/out_grep.txt")),
    ("out_listing", include_str!("grammar/out_listing.txt")),
    ("out_log", include_str!("grammar/out_log.txt")),
    ("out_node_builds", include_str!("grammar/out_node_builds.txt")),
    ("out_node_commands", include_str!("grammar/out_node_commands.txt")),
    ("out_node_tests", include_str!("grammar/out_node_tests.txt")),
    ("out_other", include_str!("grammar/out_other.txt")),
    ("out_python_commands", include_str!("grammar/out_python_commands.txt")),
    ("out_python_tests", include_str!("grammar/out_python_tests.txt")),
    ("out_rust_builds", include_str!("grammar/out_rust_builds.txt")),
    ("out_rust_commands", include_str!("grammar/out_rust_commands.txt")),
    ("out_rust_tests", include_str!("grammar/out_rust_tests.txt")),
    ("out_status", include_str!("grammar/out_status.txt")),
    ("path", include_str!("grammar/path.txt")),
    ("person", include_str!("grammar/person.txt")),
    ("project", include_str!("grammar/project.txt")),
    ("prompt", include_str!("grammar/prompt.txt")),
    ("section", include_str!("grammar/section.txt")),
    ("step", include_str!("grammar/step.txt")),
    ("symptom", include_str!("grammar/symptom.txt")),
    ("thing", include_str!("grammar/thing.txt")),
    ("thought", include_str!("grammar/thought.txt")),
    ("title", include_str!("grammar/title.txt")),
    ("trait", include_str!("grammar/trait.txt")),
    ("type", include_str!("grammar/type.txt")),
    ("verb", include_str!("grammar/verb.txt")),
    ("when", include_str!("grammar/when.txt")),
    ("why", include_str!("grammar/why.txt")),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_slot_names_a_symbol() {
        for (symbol, text) in FILES {
            let mut rest = *text;
            while let Some((_, after)) = rest.split_once('‹') {
                let (slot, tail) = after.split_once('›').expect("every slot is closed");
                let name = slot.split(['|', '#', ':']).next().unwrap_or_default();
                let drawn = ["int", "hex", "id", "base64", "uuid"].contains(&name);
                assert!(drawn || GRAMMAR.contains_key(name), "`{slot}` in `{symbol}`");
                rest = tail;
            }
            assert!(!choices(symbol).is_empty(), "{symbol}");
        }
    }
}
