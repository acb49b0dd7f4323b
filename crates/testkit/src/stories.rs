//! The sessions that ship in `examples/`: hand-written, in the shapes of the client's transcripts.
//! Not random: their text is told by a person, only ids and times are drawn.
//!
//! A story is written once here and kept as files in `examples/`, which a test compares.

mod brew_log;
mod durations;
mod flaky_test;
mod script;
mod silent_bell;

pub use script::{Call, Script};

use crate::claude::Transcript;

/// Returns all sessions that ship, the oldest first.
pub fn all() -> Vec<Transcript> {
    vec![flaky_test::story(), silent_bell::story(), durations::story(), brew_log::story()]
}

/// Returns the shipped files: path below `examples/claude-code/projects`, and text.
pub fn files() -> Vec<(String, String)> {
    let mut files = Vec::new();
    for transcript in all() {
        let folder = crate::home::slug(&transcript.cwd);
        let name = format!("{folder}/{}.jsonl", transcript.session_id);
        files.push((name, transcript.text()));
        for side in &transcript.subagents {
            files.push((format!("{folder}/{}", side.path), side.text()));
        }
    }
    files
}
