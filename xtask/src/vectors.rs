//! `cargo xtask vectors FILE|FOLDER…`: runs golden vectors through the product and prints each case's verdict.
//! Not the runners: those stand beside what they ask, and the tests call them too.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::process::{cargo, execute, say};

/// The example that judges files about prompts and windows.
const PROMPT_RUNNER: [&str; 2] = ["stemmata-prompt", "vectors"];
/// The engine's test that judges files about ledgers: they need a store of each kind.
const LEDGER_TEST: [&str; 2] = ["golden_ledger", "every_vector_of_seed_000_holds_or_deviates_for_a_reason"];

/// Runs every file, and fails after the last of them where one failed.
pub(crate) fn run(root: &Path, arguments: &[String]) -> anyhow::Result<()> {
    anyhow::ensure!(!arguments.is_empty(), "usage: cargo xtask vectors FILE|FOLDER…");
    let plan = plan(arguments)?;
    for (path, reason) in &plan.skipped {
        say(&format!("{}\n  skipped: {reason}", path.display()));
    }
    let mut results = Vec::new();
    if !plan.prompts.is_empty() {
        let [package, example] = PROMPT_RUNNER;
        let mut command = cargo(root, &["run", "-q", "-p", package, "--example", example, "--"]);
        results.push(execute(command.args(&plan.prompts)));
    }
    for path in &plan.ledgers {
        let test = ["test", "-q", "-p", "stemmata-engine", "--test", "laws", "--", "--nocapture", "--exact"];
        let mut command = cargo(root, &test);
        command.arg(LEDGER_TEST.join("::"));
        results.push(execute(command.env("STEMMATA_VECTORS", path)));
    }
    results.extend(plan.refused.iter().map(|refusal| Err(anyhow::anyhow!("{refusal}"))));
    results.into_iter().collect()
}

/// Which files are run, and why others are not.
#[derive(Default)]
struct Plan {
    prompts: Vec<PathBuf>,
    ledgers: Vec<PathBuf>,
    skipped: Vec<(PathBuf, String)>,
    /// Why a file that the caller named cannot be run.
    refused: Vec<String>,
}

/// Sorts files by shape. A folder may hold anything, so that a file of it without a known shape is skipped; a file that the
/// caller named is refused.
fn plan(arguments: &[String]) -> anyhow::Result<Plan> {
    let mut plan = Plan::default();
    for argument in arguments {
        let given = Path::new(argument).canonicalize().with_context(|| format!("reading `{argument}`"))?;
        let mut paths = Vec::new();
        files(&given, &mut paths)?;
        for path in paths {
            match shape(&path) {
                Ok(Shape::Prompt) => plan.prompts.push(path),
                Ok(Shape::Ledger) => plan.ledgers.push(path),
                Ok(Shape::Store) => plan.skipped.push((path, STORE.to_owned())),
                Err(error) if path == given => plan.refused.push(format!("{error:#}")),
                Err(error) => plan.skipped.push((path, format!("{error:#}"))),
            }
        }
    }
    Ok(plan)
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
    let entries = fs::read_dir(path).with_context(|| format!("reading `{}`", path.display()))?;
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
    let text = fs::read_to_string(path).with_context(|| format!("reading `{shown}`"))?;
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
         (ai_compact.json), `truncateToolContent` (ai_tool_output.json), `checkpoint_triggers` \
         (moderator_pseudocode.json), `schema_version` (contexts-v2)"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(folder: &Path, files: &[(&str, &str)]) {
        for (name, text) in files {
            let mut file = fs::File::create(folder.join(name)).expect("a file");
            std::io::Write::write_all(&mut file, text.as_bytes()).expect("written");
        }
    }

    #[test]
    fn a_folder_skips_what_has_no_known_shape_and_a_named_file_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let ledger = r#"{"append":[],"query":[]}"#;
        let files = [
            ("a.json", r#"{"contextPacks":[]}"#),
            ("b.json", ledger),
            ("c.json", "{\"x\":1}"),
            ("d.json", "{"),
        ];
        named(folder.path(), &files);
        let all = plan(&[folder.path().display().to_string()]).expect("a plan");
        assert_eq!((all.prompts.len(), all.ledgers.len(), all.refused.len()), (1, 1, 0));
        let skipped: Vec<&str> = all.skipped.iter().map(|(_, reason)| reason.as_str()).collect();
        assert!(
            skipped[0].contains("none of the known shapes") && skipped[1].contains("is not JSON"),
            "{skipped:?}"
        );
        let one = plan(&["c.json", "a.json"].map(|name| folder.path().join(name).display().to_string()));
        let one = one.expect("a plan");
        assert_eq!((one.prompts.len(), one.skipped.len(), one.refused.len()), (1, 0, 1));
    }

    /// The command names them in text, so that no compiler says when one of them goes.
    #[test]
    fn the_runners_that_the_task_starts_are_there() {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
        let [package, example] = PROMPT_RUNNER;
        let folder = crates.join(package.trim_start_matches("stemmata-"));
        assert!(folder.join(format!("examples/{example}/main.rs")).is_file(), "no example {example}");
        let [module, test] = LEDGER_TEST;
        let source =
            fs::read_to_string(crates.join(format!("engine/tests/laws/{module}.rs"))).expect("the tests");
        assert!(source.contains(&format!("fn {test}()")), "no test {test}");
    }
}
