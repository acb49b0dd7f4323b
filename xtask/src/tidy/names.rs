//! Names and first lines of files: a file is named after the one thing in it, and opens with a line about it.
//! Not the names inside a file.

use super::Finding;
use super::tree::{Tree, extension};

/// Names that say nothing about what is inside, so that everything ends up there.
const EMPTY_NAMES: &[&str] = &["common", "helper", "helpers", "manager", "misc", "util", "utils"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.texts().filter(|(path, _)| extension(path) == Some("rs")) {
        if !text.starts_with("//! ") {
            findings.push(Finding::at(path, 1, "the first line is `//!` and says what the file is"));
        }
        for name in path.trim_end_matches(".rs").split('/') {
            let last = name.rsplit(['_', '-']).next().unwrap_or(name);
            if EMPTY_NAMES.contains(&last) {
                findings.push(Finding::file(
                    path,
                    format!("`{name}` says nothing: name it after what is inside"),
                ));
            }
        }
    }
    findings
}
