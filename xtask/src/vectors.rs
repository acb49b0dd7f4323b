//! `cargo xtask vectors FILE|FOLDER…`: runs golden vectors through the product and prints each case's verdict.
//! Not the runners: those stand beside what they ask, and the tests call them too.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::process::{cargo, execute, say};

/// Runs every file. Files about prompts and windows are read by `stemmata-prompt`; those about ledgers need a store of each kind, so the
/// engine's own test reads them.
pub(crate) fn run(root: &Path, arguments: &[String]) -> anyhow::Result<()> {
    anyhow::ensure!(!arguments.is_empty(), "usage: cargo xtask vectors FILE|FOLDER…");
    let mut paths = Vec::new();
    for argument in arguments {
        let path = Path::new(argument).canonicalize().with_context(|| format!("reading `{argument}`"))?;
        files(&path, &mut paths)?;
    }
    let (mut prompts, mut ledgers) = (Vec::new(), Vec::new());
    for path in paths {
        match shape(&path)? {
            Shape::Prompt => prompts.push(path),
            Shape::Ledger => ledgers.push(path),
            Shape::Store => say(&format!("{}\n  deviation: {STORE}", path.display())),
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
    /// The files in which the implementation of seed 004 keeps a project.
    Store,
}

/// Why nothing is asked of the files that seed 004's implementation wrote.
const STORE: &str = "the source's own files are not read: a project is a ledger here, with a checksum for each record and no \
                     counts in a document beside it (docs/format/ledger-files.md)";

/// Files of a folder at most.
const FILES_MAX: usize = 10_000;

/// Adds a file, or the files with vectors below a folder in the order of their names.
fn files(path: &Path, found: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    if path.is_file() {
        found.push(path.to_owned());
        return Ok(());
    }
    let entries = std::fs::read_dir(path).with_context(|| format!("reading `{}`", path.display()))?;
    let mut below = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
    below.sort();
    let is_vectors = |path: &Path| path.extension().is_some_and(|end| end == "json" || end == "ndjson");
    for path in below.iter().filter(|path| path.is_dir() || is_vectors(path)) {
        anyhow::ensure!(found.len() < FILES_MAX, "more than {FILES_MAX} files");
        files(path, found)?;
    }
    Ok(())
}

fn shape(path: &Path) -> anyhow::Result<Shape> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).with_context(|| format!("reading `{shown}`"))?;
    // A file with a value on each line is known by its first.
    let root = serde_json::Deserializer::from_str(&text).into_iter::<serde_json::Value>().next();
    let root = root.transpose().with_context(|| format!("`{shown}` is not JSON"))?.unwrap_or_default();
    let has = |key: &str| root.get(key).is_some();
    if has("schema_version") && ["event_seq", "project_id", "last_event_seq"].into_iter().any(has) {
        return Ok(Shape::Store);
    }
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
          (ai_compact.json), `truncateToolContent` (ai_tool_output.json), `checkpoint_triggers` (moderator_pseudocode.json), \
          `schema_version` (contexts-v2)"
    )
}
