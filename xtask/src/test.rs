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

/// What tells the engine's laws to run on the embedded store; without it they run in memory.
const ON_SQLITE: (&str, &str) = ("STEMMATA_TEST_STORE", "sqlite");

/// Runs all tests, the engine's laws on both stores. The runner's summary comes last, because that is what a reader of a
/// log looks at: `cargo nextest` cannot run documentation examples, so those go first.
pub(crate) fn tests(root: &Path) -> anyhow::Result<()> {
    if available(&mut cargo(root, &["nextest", "--version"])) {
        execute(&mut cargo(root, &["test", "--workspace", "--doc", "--quiet"]))?;
        // Chosen by name and not by package: a build of one package alone may choose other features of what it needs.
        let of_laws = "package(stemmata-engine) and binary(laws)";
        let quietly = ["--status-level", "fail"];
        let args = [&["nextest", "run", "--workspace", "-E", of_laws], quietly.as_slice()].concat();
        execute(cargo(root, &args).env(ON_SQLITE.0, ON_SQLITE.1))?;
        return execute(&mut cargo(root, &["nextest", "run", "--workspace"]));
    }
    say("note: `cargo nextest` is not installed; `cargo test` runs the same tests, more slowly");
    execute(cargo(root, &["test", "-p", "stemmata-engine", "--test", "laws"]).env(ON_SQLITE.0, ON_SQLITE.1))?;
    execute(&mut cargo(root, &["test", "--workspace"]))
}
