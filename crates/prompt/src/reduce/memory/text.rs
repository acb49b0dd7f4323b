//! The memory of a project for people: what matters most first, each line whole, within a bound.
//!
//! What is in the memory is decided elsewhere.

use std::collections::BTreeSet;

use stemmata_model::quote::one_line;

use super::items::ordered;
use super::project::ProjectMemory;
use super::recent;
use super::v1::{
    About, By, Decision, Evidence, Failure, FileTouched, How, Kind, Task, TaskStatus, Thread, ThreadKind,
};
use super::words::cut;

/// Characters of a command in the line of an error at most.
const COMMAND_CHARS_MAX: usize = 120;
/// Commands that went well after an error until nobody takes it for open any more.
const STALE_AFTER: u32 = 10;
/// Superseded decisions, files that were only read and resolved errors that are shown at most: they are what is behind.
const BEHIND_MAX: usize = 5;
/// Done tasks that are shown at most: they say what the work was.
const TASKS_DONE_MAX: usize = 10;
/// Files that are shown at most: those that were changed most say where the work is, and a long list hides what follows it.
const FILES_MAX: usize = 10;

/// A section: its heading, its lines in the order of their worth, how many more there are that have none, and its share of
/// the space in hundredths.
struct Section {
    heading: &'static str,
    lines: Vec<String>,
    hidden: usize,
    share: usize,
}

/// Returns the text.
pub(super) fn render(memory: &ProjectMemory, chars_max: usize) -> String {
    let of = |heading, (lines, hidden), share| Section { heading, lines, hidden, share };
    let sections = [
        of("Decisions and facts", decisions(memory), 32),
        of("Tasks", tasks(memory), 20),
        of("Open threads", threads(memory), 8),
        of("Files", files(memory), 18),
        of("Errors", errors(memory), 12),
    ];
    let mut out = String::new();
    let (mut left, mut saved) = (chars_max, 0);
    for section in sections.into_iter().filter(|section| !section.lines.is_empty()) {
        // What a section does not need is there for those after it.
        let share = (chars_max.saturating_mul(section.share) / 100).saturating_add(saved).min(left);
        let text = written(&section, share, out.is_empty());
        let chars = text.chars().count();
        (saved, left) = (share - chars.min(share), left - chars.min(left));
        out.push_str(&text);
    }
    let heading = heading("Recent turns", out.is_empty());
    let turns = recent::lines(memory, left.saturating_sub(heading.chars().count()));
    if !turns.is_empty() {
        out.push_str(&heading);
        out.push_str(&turns.join("\n"));
    }
    cut(out.trim_end(), chars_max)
}

/// Says how many items a list lacks, and where all of them are.
pub(super) fn more(count: usize, what: &str) -> String {
    format!("- … and {count} {what} (`stemma state --json` has all)")
}

fn heading(words: &str, is_first: bool) -> String {
    format!("{}## {words}\n", if is_first { "" } else { "\n" })
}

fn written(section: &Section, chars_max: usize, is_first: bool) -> String {
    let mut text = heading(section.heading, is_first);
    let mut chars = text.chars().count();
    let all = section.lines.len() + section.hidden;
    // Room for the line that says how many more there are.
    let room = more(all, "more").chars().count() + 1;
    let whole: usize = section.lines.iter().map(|line| line.chars().count() + 1).sum();
    let is_whole = section.hidden == 0 && chars + whole <= chars_max;
    let mut shown = 0;
    for line in &section.lines {
        if !is_whole && chars + line.chars().count() + 1 + room > chars_max {
            break;
        }
        chars += line.chars().count() + 1;
        text.push_str(line);
        text.push('\n');
        shown += 1;
    }
    if shown == 0 && chars + room > chars_max {
        return String::new();
    }
    if shown < all {
        text.push_str(&more(all - shown, "more"));
        text.push('\n');
    }
    text
}

/// Returns the lines of those that matter, then of a few that are behind, and how many of these have no line.
fn with_behind(mut lines: Vec<String>, behind: Vec<String>, behind_max: usize) -> (Vec<String>, usize) {
    let hidden = behind.len().saturating_sub(behind_max);
    lines.extend(behind.into_iter().take(behind_max));
    (lines, hidden)
}

fn day(proof: &Evidence) -> String {
    proof.at.map_or_else(String::new, |at| at.0.to_string().chars().take(10).collect())
}

fn dated(proof: &Evidence) -> String {
    let day = day(proof);
    if day.is_empty() { day } else { format!(" ({day})") }
}

/// The newest first; what is superseded is behind.
fn decisions(memory: &ProjectMemory) -> (Vec<String>, usize) {
    let shown = |one: &Decision| {
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
    };
    let (standing, superseded): (Vec<&Decision>, Vec<&Decision>) =
        memory.items.decisions.iter().rev().partition(|one| one.superseded.is_none());
    // What people said matters more than what a model said of its own work.
    let (narrated, mut standing): (Vec<&Decision>, Vec<&Decision>) =
        standing.into_iter().partition(|one| one.by == By::Assistant);
    standing.extend(narrated);
    let mut lines: Vec<String> = standing.into_iter().map(shown).collect();
    let let_go = memory.items.decisions_let_go;
    if let_go > 0 {
        lines.push(format!(
            "- … and {let_go} older that were recorded (`stemma events query --topic decision_event` has them)"
        ));
    }
    with_behind(lines, superseded.into_iter().map(shown).collect(), BEHIND_MAX)
}

fn tasks(memory: &ProjectMemory) -> (Vec<String>, usize) {
    let shown = |task: &Task| {
        let (mark, note) = match task.status {
            TaskStatus::Active => (" ", ", begun"),
            TaskStatus::Open => (" ", ""),
            TaskStatus::Done => ("x", ""),
        };
        let day = day(&task.proof);
        let when = if day.is_empty() { String::new() } else { format!(" ({day}{note})") };
        format!("- [{mark}] {}{when}", task.text)
    };
    let (done, open): (Vec<&Task>, Vec<&Task>) =
        ordered(&memory.items.tasks).into_iter().partition(|task| task.status == TaskStatus::Done);
    with_behind(open.into_iter().map(shown).collect(), done.into_iter().map(shown).collect(), TASKS_DONE_MAX)
}

/// What is open, the newest first; what was closed says nothing any more.
fn threads(memory: &ProjectMemory) -> (Vec<String>, usize) {
    let open = memory.items.threads.iter().rev().filter(|thread| thread.is_open());
    (open.map(|thread| format!("- {}{}", thread.describe(), dated(&thread.proof))).collect(), 0)
}

/// What was changed, the most first; then what was only read, and what is gone.
fn files(memory: &ProjectMemory) -> (Vec<String>, usize) {
    let mut files: Vec<&FileTouched> = memory.items.files.iter().rev().collect();
    let touched = |file: &FileTouched| file.edited.saturating_add(file.created).saturating_add(file.deleted);
    files.sort_by_key(|file| (is_gone(file), std::cmp::Reverse(touched(file))));
    let (behind, changed): (Vec<&FileTouched>, Vec<&FileTouched>) =
        files.into_iter().partition(|file| file.is_only_read());
    let shown = |file: &FileTouched| format!("- {}", file.describe());
    let mut lines: Vec<String> = changed.into_iter().map(shown).collect();
    let hidden = lines.len().saturating_sub(FILES_MAX);
    lines.truncate(FILES_MAX);
    let behind_max = BEHIND_MAX.min(FILES_MAX - lines.len());
    let (lines, unread) = with_behind(lines, behind.into_iter().map(shown).collect(), behind_max);
    (lines, hidden + unread)
}

fn is_gone(file: &FileTouched) -> bool {
    matches!(file.how, How::Deleted | How::Moved)
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
        times(file.moved, "moved away").filter(|_| file.how != How::Moved),
    ];
    let mut said: Vec<String> = all.into_iter().flatten().collect();
    if file.how == How::Moved {
        said.push(
            file.to
                .as_ref()
                .map_or_else(|| "moved away".to_owned(), |to| format!("moved to {}", one_line(to))),
        );
    } else if (file.deleted > 0 || file.moved > 0) && !is_gone(file) {
        said.push("there again".to_owned());
    }
    said.join(", ")
}

/// What is open first, the newest first; then what was not seen again, and what is resolved.
fn errors(memory: &ProjectMemory) -> (Vec<String>, usize) {
    let errors = &memory.items.errors;
    let mut said = BTreeSet::new();
    // One mistake makes several commands fail.
    let (stale, open): (Vec<&Failure>, Vec<&Failure>) = errors
        .iter()
        .rev()
        .filter(|error| error.resolved.is_none() && said.insert(&error.text))
        .partition(|error| !error.is_open());
    let resolved = errors.iter().rev().filter(|error| error.resolved.is_some());
    let shown = |error: &Failure| {
        let times = (error.times > 1).then(|| format!("{} times", error.times));
        let day = Some(day(&error.last)).filter(|day| !day.is_empty());
        let notes: Vec<String> = [times, day].into_iter().flatten().collect();
        let notes = if notes.is_empty() { String::new() } else { format!(" ({})", notes.join(", ")) };
        format!("- {}{notes}", error.describe())
    };
    let behind = stale.into_iter().chain(resolved).map(shown).collect();
    with_behind(open.into_iter().map(shown).collect(), behind, BEHIND_MAX)
}

impl Thread {
    /// Returns who left what open, on one line.
    pub fn describe(&self) -> String {
        let who = match self.kind {
            ThreadKind::Question => "asked, not answered: ",
            ThreadKind::Prompt => "prompt without an answer: ",
            ThreadKind::Deferred => "put off: ",
            ThreadKind::Told => "",
        };
        format!("{who}{}", self.text)
    }
}

impl FileTouched {
    /// Returns the path and what was done to it, on one line.
    pub fn describe(&self) -> String {
        format!("{} ({})", one_line(&self.path), touches(self))
    }
}

impl Failure {
    /// Says whether nothing has resolved it, and it may still be there.
    pub const fn is_open(&self) -> bool {
        self.resolved.is_none() && self.later < STALE_AFTER
    }

    /// Returns what failed, and whether it still does, on one line.
    pub fn describe(&self) -> String {
        let mark = match (&self.resolved, self.later) {
            (Some(_), _) => "resolved".to_owned(),
            (None, STALE_AFTER..) => format!("not seen again in {} later runs", self.later),
            (None, _) => "open".to_owned(),
        };
        let about = match (&self.subject, &self.line) {
            (About::Command { .. }, Some(line)) => format!("`{}`: ", cut(line, COMMAND_CHARS_MAX)),
            (About::Command { parts }, None) => {
                format!("`{}`: ", cut(parts.first().map_or("", String::as_str), COMMAND_CHARS_MAX))
            }
            (About::File { path: name } | About::Tool { name }, _) => format!("{}: ", one_line(name)),
            (About::Message, _) => String::new(),
        };
        format!("[{mark}] {about}{}", self.text)
    }
}
