//! `cargo xtask test`: the README's test command.
//! It needs nothing but a Rust toolchain; `cargo nextest` is used where it is installed.

use std::path::Path;

use crate::process::{available, cargo, execute, flag, say};

/// Has the engine's laws run on the store in memory instead of the embedded one.
const IN_MEMORY: (&str, &str) = ("STEMMATA_TEST_STORE", "memory");

/// Runs all tests, the repository's own rules among them; with `--in-memory` only the engine's laws, on the store in memory.
pub(crate) fn run(root: &Path, arguments: &[String]) -> anyhow::Result<()> {
    if flag("test", "--in-memory", arguments)? {
        // Chosen by name and not by package: a build of one package alone may choose other features of what it needs.
        let laws = ["test", "--workspace", "--test", "laws"];
        return execute(cargo(root, &laws).env(IN_MEMORY.0, IN_MEMORY.1));
    }
    tests(root)
}

/// Runs all tests. The runner's summary comes last, because that is what a reader of a log looks at: `cargo nextest` cannot run
/// documentation examples, so those go first.
pub(crate) fn tests(root: &Path) -> anyhow::Result<()> {
    if available(&mut cargo(root, &["nextest", "--version"])) {
        execute(&mut cargo(root, &["test", "--workspace", "--doc", "--quiet"]))?;
        return execute(&mut cargo(root, &["nextest", "run", "--workspace"]));
    }
    say("note: `cargo nextest` is not installed; `cargo test` runs the same tests, more slowly");
    execute(&mut cargo(root, &["test", "--workspace"]))
}
