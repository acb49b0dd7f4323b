//! Commits of git that commands made, as git itself reports them.

use crate::command;
use crate::tool_use::ToolUse;
use crate::{Act, Outcome};

/// Commits of one call at most.
const COMMITS_MAX: usize = 16;
/// Characters of a commit's first line at most.
const SUBJECT_CHARS_MAX: usize = 200;

/// A commit of git that a call made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MadeCommit {
    /// Its hash, as short as git prints it; absent where the output does not show it.
    pub hash: Option<String>,
    /// The first line of its message; empty where the output does not show it.
    pub subject: String,
}

/// Returns the commits that a call made: those that the output reports, else one without a hash where `git commit` went well.
pub fn commits_made(used: &ToolUse<'_>) -> Vec<MadeCommit> {
    let is_commit = |act: &Act| match act {
        Act::Command(command) => command::parts(&command.line).iter().any(|part| part == "git commit"),
        _ => false,
    };
    if used.outcome == Outcome::Refused || !used.acts.iter().any(is_commit) {
        return Vec::new();
    }
    let text = used.answer.as_ref().map(|answer| answer.text.as_ref()).unwrap_or_default();
    let reported: Vec<MadeCommit> = text.lines().filter_map(reported).take(COMMITS_MAX).collect();
    if reported.is_empty() && used.outcome == Outcome::Passed && !text.contains("nothing to commit") {
        return vec![MadeCommit { hash: None, subject: String::new() }];
    }
    reported
}

/// Reads `[main 1a2b3c4] Fix it`, `[main (root-commit) 1a2b3c4] Begin`.
fn reported(line: &str) -> Option<MadeCommit> {
    let (inside, subject) = line.trim_start().strip_prefix('[')?.split_once("] ")?;
    let (_, hash) = inside.rsplit_once(' ')?;
    let is_hash = (7..=40).contains(&hash.len()) && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash.then(|| MadeCommit {
        hash: Some(hash.to_owned()),
        subject: subject.trim().chars().take(SUBJECT_CHARS_MAX).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn git_reports_what_it_committed() {
        let made = |hash: &str, subject: &str| {
            Some(MadeCommit { hash: Some(hash.to_owned()), subject: subject.to_owned() })
        };
        for (line, expected) in [
            ("[main 1a2b3c4] Fix it", made("1a2b3c4", "Fix it")),
            ("[feat/x (root-commit) 1a2b3c4d5e] Begin", made("1a2b3c4d5e", "Begin")),
            ("[detached HEAD 1a2b3c4] Try", made("1a2b3c4", "Try")),
            ("[INFO abc] no", None),
            ("[main] no", None),
            ("main 1a2b3c4] no", None),
        ] {
            assert_eq!(reported(line), expected, "{line}");
        }
    }

    #[test]
    fn tests_are_run_by_runners_that_are_told_to() {
        for part in [
            "cargo test",
            "cargo nextest run",
            "go test ./...",
            "npm run test:unit",
            "pytest -x",
            "npx vitest run",
            "python -m pytest",
            "mise run test:ci",
            "node --test",
            "uv run pytest",
        ] {
            assert!(command::is_testing(part), "{part}");
        }
        for part in [
            "cargo build",
            "npm install",
            "go vet ./...",
            "cat test",
            "make lint",
            "cargo run -- test.txt",
            "mise run lint",
            "npm run build tests/a.ts",
        ] {
            assert!(!command::is_testing(part), "{part}");
        }
    }
}
