//! The pages of help: twelve commands on the first one, all of them in groups on the second, and topics.

use clap::{Command, CommandFactory};

use super::{Cli, REFS};
use crate::output::put;

/// Commands by what they are for.
type Groups = &'static [(&'static str, &'static [&'static str])];

/// The first page: what a new user needs.
const FIRST: Groups = &[
    ("Start", &["setup", "import", "status"]),
    ("Find", &["list", "search", "show", "blame"]),
    ("Continue", &["resume", "fork", "doctor"]),
    ("Remember", &["state", "recall"]),
];

/// The second page: everything.
const ALL: Groups = &[
    ("Start", &["setup", "import", "install", "uninstall", "status", "config", "completions"]),
    ("Find", &["list", "log", "search", "show", "tree", "diff", "blame", "stats"]),
    ("Continue", &["resume", "fork", "undo", "start", "handoff", "export"]),
    ("Remember", &["state", "recall", "decision", "task"]),
    ("Compact", &["guard", "compact", "uncompact"]),
    ("Label", &["update", "tag", "pin", "unpin"]),
    ("Capture", &["watch", "run", "current", "git", "exclude", "pause", "unpause"]),
    ("Keep secrets out", &["scan", "scrub", "secrets", "forget"]),
    ("Repair and back up", &["doctor", "repair", "recover", "verify", "backup", "restore", "bundle"]),
    ("Maintain the store", &["du", "index", "pack", "gc", "migrate"]),
    ("Serve programs", &["serve", "pointer", "jobs", "audit"]),
    ("Build an agent", &["assemble", "context", "strategy", "turn", "checkpoint", "artifact"]),
    ("Ledgers", &["events", "ledger", "replay"]),
    (
        "For scripts",
        &["native", "sidecars", "materialize", "snapshot", "history", "children", "tips", "resolve", "hook"],
    ),
];

/// What `stemma help TOPIC` explains beside the commands.
const TOPICS: &[(&str, &str)] = &[("refs", REFS)];

/// Columns of the names.
const NAME_WIDTH: usize = 13;

/// Returns the text of a help topic.
pub(crate) fn topic(name: &str) -> Option<&'static str> {
    TOPICS.iter().find(|(topic, _)| *topic == name).map(|(_, text)| *text)
}

/// Returns the command line with the commands of the first page; with `all`, with all of them.
pub(crate) fn command(all: bool, width: usize) -> Command {
    let command = Cli::command();
    let mut text = String::new();
    for (title, names) in if all { ALL } else { FIRST } {
        put!(text, "{title}:\n");
        for name in *names {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            put!(text, "  {name:<NAME_WIDTH$}{}\n", wrapped(&about, width));
        }
        text.push('\n');
    }
    if all {
        text.push_str("`stemma help refs` explains how to name a session or a commit.\n\n");
    } else {
        text.push_str("`stemma help --all` lists all commands, `stemma help refs` how to name sessions.\n\n");
    }
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{text}Options:\n{{options}}{{after-help}}"
    ))
}

/// Breaks text so that it fits beside the names.
fn wrapped(text: &str, width: usize) -> String {
    let room = width.saturating_sub(NAME_WIDTH + 2).max(20);
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last().map_or(0, |line| line.chars().count());
        if line > 0 && line + 1 + word.chars().count() > room {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines.join(&format!("\n{}", " ".repeat(NAME_WIDTH + 2)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn names(groups: Groups) -> Vec<&'static str> {
        groups.iter().flat_map(|(_, names)| names.iter().copied()).collect()
    }

    #[test]
    fn every_command_is_in_one_group() {
        let command = Cli::command();
        let shown = command.get_subcommands().filter(|sub| !sub.is_hide_set()).map(Command::get_name);
        let listed = names(ALL);
        assert_eq!(listed.iter().copied().collect::<BTreeSet<_>>(), shown.collect::<BTreeSet<_>>());
        assert_eq!(listed.len(), listed.iter().collect::<BTreeSet<_>>().len(), "one is listed twice");
        let first = names(FIRST);
        assert_eq!(first.len(), 12, "{first:?}");
        assert!(first.iter().all(|name| listed.contains(name)), "{first:?}");
    }

    #[test]
    fn both_pages_fit_and_the_first_says_where_the_second_is() {
        for (all, width) in [(false, 60), (false, 80), (true, 80), (true, 100)] {
            let text = command(all, width).render_help().to_string();
            let groups = text.split("\nOptions:").next().unwrap_or_default();
            let mut rows = groups.lines().filter(|line| line.starts_with("  "));
            assert!(rows.all(|line| line.chars().count() <= width), "{width}\n{text}");
            assert!(groups.contains("Start:\n  setup"), "{text}");
            assert_eq!(groups.contains("\n  checkpoint "), all, "{groups}");
            let mut topics = groups.lines().filter(|line| line.starts_with("`stemma help"));
            assert!(topics.all(|line| line.chars().count() <= 80), "{text}");
        }
        assert!(command(false, 80).render_help().to_string().contains("`stemma help --all`"));
    }

    /// Clap breaks a long line where the terminal ends and an explicit line where it stands, so a paragraph that is both looks torn.
    #[test]
    fn no_line_of_help_is_longer_than_a_terminal() {
        let mut command = Cli::command();
        command.build();
        let mut left: Vec<&Command> = vec![&command];
        let mut long = Vec::new();
        while let Some(one) = left.pop() {
            left.extend(one.get_subcommands());
            let after = one.get_after_help().map(ToString::to_string).unwrap_or_default();
            // A paragraph is one line that clap wraps, or lines that all fit.
            for paragraph in after.split("\n\n").filter(|text| text.contains('\n')) {
                for line in paragraph.lines() {
                    if line.chars().count() > 80 {
                        long.push(format!("{}: {line}", one.get_name()));
                    }
                }
            }
        }
        assert!(long.is_empty(), "{}", long.join("\n"));
        assert!(REFS.lines().all(|line| line.chars().count() <= 80));
    }
}
