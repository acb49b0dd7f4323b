//! The memory of a project for people: what matters most first, each line whole, within a bound.
//!
//! What is in the memory is decided elsewhere.

use std::collections::BTreeSet;

use super::items::ordered;
use super::project::ProjectMemory;
use super::v1::{About, By, Evidence, Failure, FileTouched, How, Kind, Task, TaskStatus};
use crate::reduce::cut::{cut, line};

/// Characters of a turn's line at most.
const TURN_LINE_CHARS_MAX: usize = 200;
/// Characters of a command in the line of an error at most.
const COMMAND_CHARS_MAX: usize = 80;
/// Done tasks, files that were only read and resolved errors that are shown at most: they are what is behind.
const BEHIND_MAX: usize = 5;

/// A section: its heading, its lines in the order of their worth, and its share of the space in hundredths.
struct Section {
    heading: &'static str,
    lines: Vec<String>,
    share: usize,
}

/// Returns the text.
pub(super) fn render(memory: &ProjectMemory, chars_max: usize) -> String {
    let sections = [
        Section { heading: "Decisions and facts", lines: decisions(memory), share: 35 },
        Section { heading: "Tasks", lines: tasks(memory), share: 20 },
        Section { heading: "Files", lines: files(memory), share: 20 },
        Section { heading: "Errors", lines: errors(memory), share: 15 },
        Section { heading: "Recent turns", lines: turns(memory), share: 100 },
    ];
    let mut out = String::new();
    let (mut left, mut saved) = (chars_max, 0);
    for section in sections.into_iter().filter(|section| !section.lines.is_empty()) {
        // What a section does not need is there for those after it.
        let share = (chars_max * section.share / 100 + saved).min(left);
        let text = written(&section, share, out.is_empty());
        let chars = text.chars().count();
        (saved, left) = (share - chars.min(share), left - chars.min(left));
        out.push_str(&text);
    }
    cut(out.trim_end(), chars_max)
}

fn written(section: &Section, chars_max: usize, is_first: bool) -> String {
    let mut text = format!("{}## {}\n", if is_first { "" } else { "\n" }, section.heading);
    let mut chars = text.chars().count();
    let mut shown = 0;
    for line in &section.lines {
        // Room for the line that says how many more there are.
        if chars + line.chars().count() + 24 > chars_max {
            break;
        }
        chars += line.chars().count() + 1;
        text.push_str(line);
        text.push('\n');
        shown += 1;
    }
    if shown == 0 {
        return String::new();
    }
    if shown < section.lines.len() {
        text.push_str("- … ");
        text.push_str(&(section.lines.len() - shown).to_string());
        text.push_str(" more\n");
    }
    text
}

fn day(proof: &Evidence) -> String {
    proof.at.map_or_else(String::new, |at| at.0.to_string().chars().take(10).collect())
}

fn dated(proof: &Evidence) -> String {
    let day = day(proof);
    if day.is_empty() { day } else { format!(" ({day})") }
}

/// The newest first; what is superseded is behind.
fn decisions(memory: &ProjectMemory) -> Vec<String> {
    let decisions = &memory.items.decisions;
    let standing = decisions.iter().rev().filter(|one| one.superseded.is_none());
    let superseded = decisions.iter().rev().filter(|one| one.superseded.is_some()).take(BEHIND_MAX);
    standing
        .chain(superseded)
        .map(|one| {
            let who = match (one.by, one.kind) {
                (By::User, _) => "user: ",
                (By::Assistant, _) | (By::Event, Kind::Decision) => "",
                (By::Event, Kind::Fact) => "fact: ",
            };
            let reason = one.reason.as_ref().map_or_else(String::new, |reason| format!(" — {reason}"));
            let mark = if one.superseded.is_some() { " [superseded]" } else { "" };
            let number =
                if one.by == By::Event { format!(" [event {}]", one.proof.source) } else { String::new() };
            format!("- {who}{}{reason}{}{number}{mark}", one.text, dated(&one.proof))
        })
        .collect()
}

fn tasks(memory: &ProjectMemory) -> Vec<String> {
    let mut done = 0;
    let shown = ordered(&memory.items.tasks).into_iter().filter(|task| {
        done += usize::from(task.status == TaskStatus::Done);
        done <= BEHIND_MAX
    });
    let shown = shown.map(|task: &Task| {
        let (mark, note) = match task.status {
            TaskStatus::Active => (" ", ", begun"),
            TaskStatus::Open => (" ", ""),
            TaskStatus::Done => ("x", ""),
        };
        let day = day(&task.proof);
        let when = if day.is_empty() { String::new() } else { format!(" ({day}{note})") };
        format!("- [{mark}] {}{when}", task.text)
    });
    shown.collect()
}

/// What was changed, the most first; then what was only read.
fn files(memory: &ProjectMemory) -> Vec<String> {
    let mut files: Vec<&FileTouched> = memory.items.files.iter().rev().collect();
    let changes = |file: &FileTouched| file.edited.saturating_add(file.created).saturating_add(file.deleted);
    files.sort_by_key(|file| std::cmp::Reverse(changes(file)));
    let mut only_read = 0;
    files.retain(|file| {
        only_read += usize::from(file.is_only_read());
        only_read <= BEHIND_MAX
    });
    files.into_iter().map(|file| format!("- {} ({})", file.path, touches(file))).collect()
}

fn touches(file: &FileTouched) -> String {
    let times = |count: u32, what: &str| match count {
        0 => None,
        1 => Some(what.to_owned()),
        count => Some(format!("{what} {count}×")),
    };
    let all = [
        times(file.created, "created"),
        times(file.edited, "edited"),
        times(file.read, "read"),
        times(file.deleted, "deleted"),
    ];
    let mut said: Vec<String> = all.into_iter().flatten().collect();
    if file.deleted > 0 && file.how != How::Deleted {
        said.push("there again".to_owned());
    }
    said.join(", ")
}

/// What is open first, the newest first.
fn errors(memory: &ProjectMemory) -> Vec<String> {
    let errors = &memory.items.errors;
    let mut said = BTreeSet::new();
    // One mistake makes several commands fail.
    let open = errors.iter().rev().filter(|error| error.resolved.is_none() && said.insert(&error.text));
    let resolved = errors.iter().rev().filter(|error| error.resolved.is_some()).take(BEHIND_MAX);
    let shown = |error: &Failure| {
        let state = if error.resolved.is_some() { "resolved" } else { "open" };
        let about = match &error.subject {
            About::Command { parts } => format!("`{}`: ", cut(&parts.join(" && "), COMMAND_CHARS_MAX)),
            About::File { path } => format!("{path}: "),
            About::Tool { name } => format!("{name}: "),
            About::Message => String::new(),
        };
        let times = (error.times > 1).then(|| format!("{} times", error.times));
        let day = Some(day(&error.last)).filter(|day| !day.is_empty());
        let notes: Vec<String> = [times, day].into_iter().flatten().collect();
        let notes = if notes.is_empty() { String::new() } else { format!(" ({})", notes.join(", ")) };
        format!("- [{state}] {about}{}{notes}", error.text)
    };
    open.chain(resolved).map(shown).collect()
}

/// The newest last, as they were said; of more than fit the newest stay, so they come newest first here.
fn turns(memory: &ProjectMemory) -> Vec<String> {
    memory
        .window
        .iter()
        .rev()
        .map(|turn| {
            let who = match turn.by {
                By::User => "user",
                By::Assistant => "assistant",
                By::Event => "event",
            };
            format!("- {who}: {}", line(&turn.text, TURN_LINE_CHARS_MAX))
        })
        .collect()
}
