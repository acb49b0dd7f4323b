//! `cargo xtask simulate-window`: the long session of the engine's tests, over 2,000 turns unless the arguments say otherwise.
//! Not the simulation itself: that is `crates/engine/tests/long_window`, which checks it and prints the table.

use std::path::Path;

use crate::process::{cargo, execute};

/// What the simulation is told: words such as `turns=2000 seed=7 window=32768 cutoff=0`.
const WANTED: &str = "STEMMATA_SIMULATE";

/// Builds the simulation, optimized, and runs it: as tests are built, it takes four times as long.
pub(crate) fn run(root: &Path, arguments: &[String]) -> anyhow::Result<()> {
    // What is said last counts.
    let wanted = format!("turns=2000 {}", arguments.join(" "));
    let build = ["test", "--release", "--package", "stemmata-engine", "--test", "long_window"];
    let test = [&build[..], &["--", "--nocapture"]].concat();
    execute(cargo(root, &test).env(WANTED, wanted))
}
