//! `cargo xtask check`: everything a change must pass, cheapest first, tests last.
//! Not a second definition of the tests: those are `cargo xtask test`.

use std::path::Path;

use crate::process::{cargo, execute, flag};
use crate::{generate, test, tidy};

/// Runs every check; with `--skip-tests` all but the tests, for a caller that runs them itself.
pub(crate) fn run(root: &Path, arguments: &[String]) -> anyhow::Result<()> {
    let skip_tests = flag("check", "--skip-tests", arguments)?;
    execute(&mut cargo(root, &["fmt", "--all", "--check"]))?;
    tidy::verify(root)?;
    execute(&mut cargo(root, &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))?;
    let mut docs = cargo(root, &["doc", "--workspace", "--no-deps", "--document-private-items"]);
    execute(docs.env("RUSTDOCFLAGS", "-D warnings"))?;
    generate::verify(root)?;
    if skip_tests {
        return Ok(());
    }
    test::tests(root)
}
