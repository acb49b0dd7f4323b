//! `cargo xtask bench`: builds the benchmarks in release mode and runs them with the given arguments.
//! Not the benchmarks themselves: they are the crate in `benches/`, which prints the table.

use std::path::Path;

use crate::process::{cargo, execute};

/// Runs the benchmarks.
pub(crate) fn run(root: &Path, arguments: &[String]) -> anyhow::Result<()> {
    let manifest = root.join("benches").join("Cargo.toml");
    anyhow::ensure!(manifest.is_file(), "there are no benchmarks: `benches/Cargo.toml` does not exist");
    // A row times whole commands.
    execute(&mut cargo(root, &["build", "--release", "--bin", "stemma"]))?;
    let mut command =
        cargo(root, &["run", "--release", "--package", "stemmata-benches", "--features", "oracle", "--"]);
    execute(command.args(arguments))
}
