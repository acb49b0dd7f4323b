//! `cargo xtask dictionary`: trains the dictionary that the store compresses small content with.
//! Not the training itself: that is the store's example `train_dictionary`, beside what it trains for.

use std::path::Path;

use crate::process::{cargo, execute, flag};

/// Trains the dictionary, or with `--check` says whether training gives the shipped bytes again.
pub(crate) fn run(root: &Path, arguments: &[String]) -> anyhow::Result<()> {
    let check = flag("dictionary", "--check", arguments)?;
    let mut command = cargo(root, &["run", "--package", "stemmata-store", "--example", "train_dictionary"]);
    if check {
        command.args(["--", "--check"]);
    }
    execute(&mut command)
}
