//! Screens at four widths, with and without colour, on the example sessions; those of `show`, `tree` and `list` have files of
//! their own.

use crate::shown::{drawn_at_all_widths, examples, retry};
use crate::story::SESSION;

/// A session with errors.
pub(crate) const WITH_ERRORS: &str = "961444ca";

#[test]
fn screens_at_all_widths() {
    let stage = examples();
    drawn_at_all_widths(&stage, "wide_search", &["search", "tea", "-n", "3"]);
    drawn_at_all_widths(&stage, "wide_status", &["status"]);
    drawn_at_all_widths(&stage, "wide_doctor", &["doctor", WITH_ERRORS]);
    drawn_at_all_widths(&stage, "wide_setup", &["setup", "--dry-run"]);
    drawn_at_all_widths(&stage, "wide_help", &["help"]);
    let sessions = stage.json(&["list"])["sessions"].clone();
    let tip = |at: usize| sessions[at]["tip"].as_str().unwrap().to_owned();
    drawn_at_all_widths(&stage, "wide_diff", &["diff", &tip(0), &tip(1)]);
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
    drawn_at_all_widths(&stage, "wide_state", &["state"]);
    drawn_at_all_widths(&stage, "wide_decisions", &["decision", "list"]);
}

#[test]
fn what_can_be_recovered_at_all_widths() {
    let stage = retry();
    let transcript = stage.home.path().join(format!("home/.claude/projects/-home-ann-shop/{SESSION}.jsonl"));
    std::fs::remove_file(transcript).unwrap();
    drawn_at_all_widths(&stage, "wide_recover", &["recover"]);
}
