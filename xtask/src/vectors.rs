//! `cargo xtask vectors FILE…`: runs golden vectors through the product and prints each case's verdict.
//! Not the runners: those stand beside what they ask, and the tests call them too.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::process::{cargo, execute};

/// Runs every file. Files about prompts and windows are read by `stemmata-prompt`; those about ledgers need a store of each kind, so the
/// engine's own test reads them.
pub(crate) fn run(root: &Path, arguments: &[String]) -> anyhow::Result<()> {
    anyhow::ensure!(!arguments.is_empty(), "usage: cargo xtask vectors FILE…");
    let (mut prompts, mut ledgers) = (Vec::new(), Vec::new());
    for argument in arguments {
        let path = Path::new(argument).canonicalize().with_context(|| format!("reading `{argument}`"))?;
        match shape(&path)? {
            Shape::Prompt => prompts.push(path),
            Shape::Ledger => ledgers.push(path),
        }
    }
    let asked = |paths: Vec<PathBuf>| {
        let mut command = cargo(root, &["run", "-q", "-p", "stemmata-prompt", "--example", "vectors", "--"]);
        execute(command.args(paths))
    };
    // Each runner says all that it has to say before one of them fails.
    let told = if prompts.is_empty() { Ok(()) } else { asked(prompts) };
    let mut results = vec![told];
    for path in ledgers {
        let test = ["test", "-q", "-p", "stemmata-engine", "--test", "laws", "--", "--nocapture", "--exact"];
        let mut command = cargo(root, &test);
        command.arg("golden_ledger::every_vector_of_seed_000_holds_or_deviates_for_a_reason");
        results.push(execute(command.env("STEMMATA_VECTORS", path)));
    }
    results.into_iter().collect()
}

/// What a file is about.
enum Shape {
    Prompt,
    Ledger,
}

fn shape(path: &Path) -> anyhow::Result<Shape> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).with_context(|| format!("reading `{shown}`"))?;
    let root: serde_json::Value =
        serde_json::from_str(&text).with_context(|| format!("`{shown}` is not JSON"))?;
    let has = |key: &str| root.get(key).is_some();
    if has("append") && has("query") {
        return Ok(Shape::Ledger);
    }
    let is_turns =
        root.as_object().is_some_and(|groups| groups.keys().any(|key| key.starts_with("messagesJson_for_")));
    let prompts = ["contextPacks", "sourceSelection", "stateSnapshot"];
    let windows = ["splitMessagesByTokenBudget", "truncateToolContent", "checkpoint_triggers"];
    if is_turns || prompts.into_iter().chain(windows).any(has) {
        return Ok(Shape::Prompt);
    }
    anyhow::bail!(
        "`{shown}` has none of the known shapes: `contextPacks` or `sourceSelection` (zeroshot_context.json), `append` and \
         `query` (zeroshot_ledger.json), `messagesJson_for_…` (zagent_context.json), `splitMessagesByTokenBudget` \
         (ai_compact.json), `truncateToolContent` (ai_tool_output.json), `checkpoint_triggers` (moderator_pseudocode.json)"
    )
}
