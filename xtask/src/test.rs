//! `cargo xtask test`: the README's test command.
//! It needs nothing but a Rust toolchain; `cargo nextest` is used where it is installed.

use std::path::Path;

use crate::process::{available, cargo, execute, no_arguments, say};
use crate::tidy;

/// Checks the repository's own rules, then runs all tests.
pub(crate) fn run(root: &Path, arguments: &[String]) -> anyhow::Result<()> {
    no_arguments("test", arguments)?;
    tidy::verify(root)?;
    tests(root)
}

/// Runs all tests. The runner's summary comes last, because that is what a reader of a log looks at:
/// `cargo nextest` cannot run documentation examples, so those go first.
pub(crate) fn tests(root: &Path) -> anyhow::Result<()> {
    if available(&mut cargo(root, &["nextest", "--version"])) {
        execute(&mut cargo(root, &["test", "--workspace", "--doc", "--quiet"]))?;
        return execute(&mut cargo(root, &["nextest", "run", "--workspace"]));
    }
    say("note: `cargo nextest` is not installed; `cargo test` runs the same tests, more slowly");
    execute(&mut cargo(root, &["test", "--workspace"]))
}
