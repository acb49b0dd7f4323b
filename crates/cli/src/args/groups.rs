//! The first page of `stemma --help`: commands by what people want to do. What programs and scripts need stands on a second page.

use clap::{Command, CommandFactory};

use super::Cli;
use crate::output::put;

/// Commands by what they are for, in the order of the page.
const GROUPS: &[(&str, &[&str])] = &[
    ("First steps", &["import", "install", "status"]),
    ("Browse and find", &["search", "recall", "list", "log", "tree", "show", "diff", "blame"]),
    ("Go on", &["resume", "fork", "start", "handoff", "export", "bundle"]),
    ("Shape", &["compact", "uncompact", "update", "tag", "pin", "unpin", "guard", "context", "strategy"]),
    ("Project memory", &["state", "decide", "task"]),
    ("Keep safe", &["scan", "scrub", "secrets", "vault", "forget", "exclude", "pause", "unpause"]),
    ("Capture", &["watch", "run", "current", "git", "uninstall"]),
    (
        "Maintain",
        &[
            "doctor",
            "repair",
            "verify",
            "du",
            "index",
            "pack",
            "gc",
            "backup",
            "restore",
            "config",
            "completions",
        ],
    ),
];

/// What programs, scripts and hooks call.
const PLUMBING: (&str, &[&str]) = (
    "For programs and scripts",
    &[
        "artifact",
        "assemble",
        "checkpoint",
        "snapshot",
        "native",
        "materialize",
        "history",
        "children",
        "tips",
        "resolve",
        "events",
        "ledger",
        "replay",
        "migrate",
        "turn",
        "hook",
    ],
);

/// Columns of the names.
const NAME_WIDTH: usize = 13;

/// Returns the command line with its commands in groups; with `all`, with those for programs too.
pub(crate) fn command(all: bool, width: usize) -> Command {
    let command = Cli::command();
    let mut text = String::new();
    for (title, names) in GROUPS.iter().chain(all.then_some(&PLUMBING)) {
        put!(text, "{title}:\n");
        for name in *names {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            put!(text, "  {name:<NAME_WIDTH$}{}\n", wrapped(&about, width));
        }
        text.push('\n');
    }
    if !all {
        text.push_str("`stemma help --all` lists the commands for programs and scripts too.\n\n");
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

    #[test]
    fn every_command_is_in_one_group() {
        let command = Cli::command();
        let shown = command.get_subcommands().filter(|sub| !sub.is_hide_set()).map(Command::get_name);
        let groups = GROUPS.iter().chain([&PLUMBING]).flat_map(|(_, names)| names.iter().copied());
        let listed: Vec<&str> = groups.collect();
        assert_eq!(listed.iter().copied().collect::<BTreeSet<_>>(), shown.collect::<BTreeSet<_>>());
        assert_eq!(listed.len(), listed.iter().collect::<BTreeSet<_>>().len(), "one is listed twice");
    }

    #[test]
    fn the_first_page_fits_and_says_where_the_second_is() {
        for width in [60, 80, 100] {
            let text = command(false, width).render_help().to_string();
            let groups = text.split("\nOptions:").next().unwrap_or_default();
            let mut rows = groups.lines().filter(|line| line.starts_with("  "));
            assert!(rows.all(|line| line.chars().count() <= width), "{width}\n{text}");
            assert!(groups.contains("First steps:\n  import") && groups.contains("help --all"));
            assert!(!groups.contains("\n  checkpoint "), "{groups}");
        }
        assert!(command(true, 80).render_help().to_string().contains("\n  checkpoint "));
    }
}
