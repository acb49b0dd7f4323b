//! `cargo xtask check`: everything a change must pass, cheapest first, tests last.
//! Not a second definition of the tests: those are `cargo xtask test`.

use std::path::Path;

use crate::process::{cargo, execute};
use crate::{fuzz, generate, test, tidy};

/// Runs every check; with `--skip-tests` all but the tests, for a caller that runs them itself; with `--full` also what takes too
/// long for each change: the fuzz targets led by coverage, and every law in full.
pub(crate) fn run(root: &Path, arguments: &[String]) -> anyhow::Result<()> {
    let (mut skip_tests, mut full) = (false, false);
    for argument in arguments {
        match argument.as_str() {
            "--skip-tests" => skip_tests = true,
            "--full" => full = true,
            other => anyhow::bail!("`cargo xtask check` takes `--skip-tests` and `--full`, not `{other}`"),
        }
    }
    execute(&mut cargo(root, &["fmt", "--all", "--check"]))?;
    tidy::verify(root)?;
    execute(&mut cargo(root, &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))?;
    let mut docs = cargo(root, &["doc", "--workspace", "--no-deps", "--document-private-items"]);
    execute(docs.env("RUSTDOCFLAGS", "-D warnings"))?;
    generate::verify(root)?;
    if full {
        fuzz::run(root, &[])?;
    }
    match (skip_tests, full) {
        (true, _) => Ok(()),
        (false, false) => test::run(root, &[]),
        (false, true) => test::run(root, &["--full".to_owned()]),
    }
}
