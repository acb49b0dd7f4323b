//! Screens at four widths, with and without colour, on the example sessions; those of `show`, `tree` and `list` have files of
//! their own.

use crate::shown::{at_all_widths, examples};

/// A session with errors.
const WITH_ERRORS: &str = "961444ca";

#[test]
fn screens_at_all_widths() {
    let stage = examples();
    at_all_widths(&stage, "wide_search", &["search", "tea", "-n", "3"]);
    at_all_widths(&stage, "wide_status", &["status"]);
    at_all_widths(&stage, "wide_doctor", &["doctor", WITH_ERRORS]);
    at_all_widths(&stage, "wide_recover", &["recover"]);
    at_all_widths(&stage, "wide_setup", &["setup", "--dry-run"]);
    at_all_widths(&stage, "wide_help", &["help"]);
    let sessions = stage.json(&["list"])["sessions"].clone();
    let tip = |at: usize| sessions[at]["tip"].as_str().unwrap().to_owned();
    at_all_widths(&stage, "wide_diff", &["diff", &tip(0), &tip(1)]);
}

#[test]
fn the_state_at_all_widths() {
    let stage = examples();
    for text in [
        "Retries stop after five",
        "The queue is called jobs and keeps its order, whatever the workers do meanwhile",
    ] {
        stage.run(&["decision", "add", text, "--reason", "the queue retries"]).ok();
    }
    stage.run(&["task", "add", "Fix the flaky test"]).ok();
    at_all_widths(&stage, "wide_state", &["state"]);
    at_all_widths(&stage, "wide_decisions", &["decision", "list"]);
}
