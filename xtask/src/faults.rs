//! `cargo xtask faults`: builds the fault runs in release mode and runs them with the given arguments.
//! Not the runs themselves: they are the crate `crates/faults`, which prints the table.

use std::path::Path;

use crate::process::{cargo, execute};

/// Runs the faults.
pub(crate) fn run(root: &Path, arguments: &[String]) -> anyhow::Result<()> {
    let manifest = root.join("crates").join("faults").join("Cargo.toml");
    anyhow::ensure!(manifest.is_file(), "there are no fault runs: `crates/faults/Cargo.toml` does not exist");
    let mut command = cargo(root, &["run", "--release", "--package", "stemmata-faults", "--"]);
    execute(command.args(arguments))
}
