//! `cargo xtask simulate-window`: the long session of the engine's tests, over 2,000 turns unless the arguments say otherwise.
//! Not the simulation itself: that is `crates/engine/tests/long_window`, which checks it and prints the table.

use std::path::Path;

use crate::process::{cargo, execute};

/// What the simulation is told: words such as `turns=2000 seed=7 window=32768 cutoff=0`.
const WANTED: &str = "STEMMATA_SIMULATE";

/// Builds the simulation and runs it. It measures no time, so the build that tests have is good enough.
pub(crate) fn run(root: &Path, arguments: &[String]) -> anyhow::Result<()> {
    // What is said last counts.
    let wanted = format!("turns=2000 {}", arguments.join(" "));
    let test = ["test", "--package", "stemmata-engine", "--test", "long_window", "--", "--nocapture"];
    execute(cargo(root, &test).env(WANTED, wanted))
}
