//! Children of tests: this test binary once more, which works and says what it was told is stored, until it is killed.
//!
//! What a child does, and what must be there afterwards, is each test's own.

use std::process::Command;

use stemmata_testkit::children::{self, Working};

/// Starts the binary with one test of it, and orders in a variable of the environment.
pub(crate) fn spawn(test: &str, variable: &str, orders: &str) -> Working {
    let mut command = Command::new(std::env::current_exe().expect("a path"));
    command.args([test, "--exact", "--nocapture", "--test-threads=1"]).env(variable, orders);
    children::start(&mut command).expect("a child")
}

/// Kills a child after so many acknowledgements (0: while it opens), and returns all that it was told.
pub(crate) fn kill_after<T>(
    child: Working,
    acknowledgements: u64,
    acknowledged: impl Fn(&str) -> Option<T>,
) -> Vec<T> {
    children::kill_after(child, acknowledgements, acknowledged, || ()).expect("a child")
}
