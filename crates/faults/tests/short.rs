//! The short, seeded form of every part; `cargo xtask faults` runs the long one.

use std::process::Command;

/// Runs a part in a process of its own: a mount needs one that has no second thread yet.
fn short(part: &str) {
    let output = Command::new(env!("CARGO_BIN_EXE_stemmata-faults"))
        .args([part, "--short", "--seed", "7"])
        .output()
        .expect("it starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{part}:\n{text}{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn our_own_files_stand_cuts_and_failures() {
    short("files");
}

#[test]
fn power_cuts_lose_nothing() {
    short("power");
}

#[test]
fn operations_that_fail_lose_nothing() {
    short("failing");
}

#[test]
fn kill_9_loses_nothing() {
    short("kill");
}

#[test]
fn flipped_bits_and_cut_files_are_noticed() {
    short("bits");
}

#[test]
fn ledgers_of_files_lose_nothing() {
    short("ledger");
}
