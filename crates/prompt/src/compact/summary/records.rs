//! What was done: files that were changed, commands that ran, errors that were seen, tasks that are open.

use std::collections::HashMap;

use stemmata_acts::{TaskBook, settles};

use super::calls::CallAt;
use super::counted::{Change, Counted, Ended, FileRecord};
use super::draft::{Draft, Section};
use super::table::Table;

/// Names of a file's last change that are shown.
const TRACE_NAMES: usize = 3;
/// What a file counts that was changed again in the window: the window shows it.
const CHANGED_AGAIN_SHARE: f64 = 0.3;
/// Words of commands that prove or publish something.
const PROVING: &[&str] = &[
    "test", "check", "lint", "build", "clippy", "fmt", "run", "vet", "tsc", "mise", "make", "commit", "push",
];

/// A line that may be shown.
pub(super) struct Candidate {
    rank: f64,
    entry: usize,
    pub line: String,
}

/// Sorts lines, the best first. Equal ranks stay in the order of the conversation.
pub(super) fn best_first(found: &mut [Candidate]) {
    found.sort_by(|one, other| other.rank.total_cmp(&one.rank));
}

/// Shows the best lines of a section that fit.
fn add_best(
    table: &mut Table<'_>,
    draft: &mut Draft<'_>,
    (section, chars): (Section, usize),
    mut found: Vec<Candidate>,
) {
    best_first(&mut found);
    for candidate in found {
        draft.add(table, (section, candidate.entry, &candidate.line), chars);
    }
}

/// How late an entry comes, from 0 to 1.
pub(super) fn lateness(entry: usize, recent_from: usize) -> f64 {
    let ratio = |part: usize, whole: usize| {
        f64::from(u32::try_from(part).unwrap_or(u32::MAX))
            / f64::from(u32::try_from(whole).unwrap_or(u32::MAX))
    };
    ratio(entry, recent_from.max(1))
}

/// `ln(1 + n)`, rounded so that no machine's `ln` decides what is kept.
pub(super) fn log(count: u32) -> f64 {
    (f64::from(count).ln_1p() * 1e6).round() / 1e6
}

fn times(count: u32) -> String {
    if count > 1 { format!(" ×{count}") } else { String::new() }
}

/// What happened to a file.
#[derive(Default)]
struct FileState<'c> {
    is_created: bool,
    edits: u32,
    is_deleted: bool,
    changes: u32,
    last: Option<(usize, &'c Counted, &'c FileRecord)>,
    is_changed_again: bool,
}

pub(super) fn files(table: &mut Table<'_>, draft: &mut Draft<'_>, calls: &[CallAt<'_>], chars: usize) {
    let found = changed_files(table, calls, &|entry| draft.number(entry));
    add_best(table, draft, (Section::Files, chars), found);
}

/// Returns the files that were changed, in the order of their first change. `number` names entries.
pub(super) fn changed_files(
    table: &Table<'_>,
    calls: &[CallAt<'_>],
    number: &dyn Fn(usize) -> u64,
) -> Vec<Candidate> {
    let mut order: Vec<u32> = Vec::new();
    let mut states: HashMap<u32, FileState<'_>> = HashMap::new();
    for call in calls {
        for file in call.files() {
            let path = table.global(call.entry, file.path);
            if call.entry >= table.recent_from {
                if let Some(state) = states.get_mut(&path) {
                    state.is_changed_again = true;
                }
                continue;
            }
            let state = states.entry(path).or_insert_with(|| {
                order.push(path);
                FileState::default()
            });
            state.take(call.entry, call.counted, file);
        }
    }
    let found = order.iter().filter_map(|path| {
        let state = states.get(path)?;
        let (entry, ..) = state.last?;
        let again = if state.is_changed_again { CHANGED_AGAIN_SHARE } else { 1.0 };
        let rank = log(state.changes) + 2.0 * table.weight(*path) + lateness(entry, table.recent_from);
        let line = state.line(table, *path, number(entry))?;
        Some(Candidate { rank: again * rank, entry, line })
    });
    found.collect()
}

impl<'c> FileState<'c> {
    fn take(&mut self, entry: usize, counted: &'c Counted, file: &'c FileRecord) {
        self.changes += 1;
        match file.change {
            // What it was before is gone.
            Change::Created => (self.is_created, self.edits, self.is_deleted) = (true, 0, false),
            Change::Edited => (self.edits, self.is_deleted) = (self.edits + 1, false),
            Change::Deleted => (self.is_created, self.edits, self.is_deleted) = (false, 0, true),
        }
        self.last = Some((entry, counted, file));
    }

    fn line(&self, table: &Table<'_>, path: u32, number: u64) -> Option<String> {
        let (entry, counted, file) = self.last?;
        let mut done = Vec::new();
        if self.is_created {
            done.push("created".to_owned());
        }
        if self.edits > 0 {
            done.push(format!("edited{}", times(self.edits)));
        }
        if self.is_deleted {
            done.push("deleted".to_owned());
        }
        let mut added: Vec<u32> = file.added.iter().map(|name| table.global(entry, *name)).collect();
        added.sort_by(|one, other| table.weight(*other).total_cmp(&table.weight(*one)));
        let added: Vec<&str> =
            added.iter().take(TRACE_NAMES).filter_map(|id| Some(table.name(*id)?.text)).collect();
        let trace = match (added.is_empty(), file.line) {
            (false, _) => format!(": {}", added.join(" ")),
            (true, Some(line)) => format!(" | + {}", counted.text(line)),
            (true, None) => String::new(),
        };
        Some(format!("{} {} @{number}{trace}", table.name(path)?.text, done.join(", ")))
    }
}

/// What happened with a command.
#[derive(Default)]
struct CommandState {
    runs: u32,
    failed: u32,
    last: usize,
    ended: Option<Ended>,
}

pub(super) fn commands(table: &mut Table<'_>, draft: &mut Draft<'_>, calls: &[CallAt<'_>], chars: usize) {
    let mut order: Vec<&str> = Vec::new();
    let mut states: HashMap<&str, CommandState> = HashMap::new();
    for call in
        calls.iter().filter(|call| call.entry < table.recent_from && call.ended != Some(Ended::Refused))
    {
        for line in &call.record.commands {
            let line = call.counted.text(*line);
            let state = states.entry(line).or_insert_with(|| {
                order.push(line);
                CommandState::default()
            });
            state.runs += 1;
            state.failed += u32::from(call.is_failed());
            (state.last, state.ended) = (call.entry, call.ended);
        }
    }
    let found = order.iter().filter_map(|line| {
        let state = states.get(line)?;
        let is_proving =
            line.split(|char: char| !char.is_ascii_alphanumeric()).any(|word| PROVING.contains(&word));
        let length = u32::try_from(line.chars().count()).unwrap_or(u32::MAX);
        let rank = 2.0 * log(state.runs)
            + lateness(state.last, table.recent_from)
            + if is_proving { 0.7 } else { 0.0 }
            + if state.ended == Some(Ended::Failed) { 0.5 } else { 0.0 }
            - f64::from(length) / 120.0;
        Some(Candidate { rank, entry: state.last, line: state.line(line) })
    });
    let found = found.collect();
    add_best(table, draft, (Section::Commands, chars), found);
}

impl CommandState {
    fn line(&self, command: &str) -> String {
        let status = match self.ended {
            Some(Ended::Passed) => "ok",
            Some(Ended::Failed) => "fail",
            Some(Ended::Stopped) => "stopped",
            Some(Ended::Running) => "running",
            // What finds nothing exits with one and prints nothing.
            Some(Ended::Unclear) => "exit 1",
            Some(Ended::Refused) | None => "no answer",
        };
        let before =
            if self.failed > 0 && self.ended != Some(Ended::Failed) { " (failed before)" } else { "" };
        format!("$ {command} → {status}{}{before}", times(self.runs))
    }
}

/// How often an error was seen.
#[derive(Default)]
struct ErrorState {
    seen: u32,
    last: usize,
    is_failure: bool,
}

pub(super) fn errors(table: &mut Table<'_>, draft: &mut Draft<'_>, calls: &[CallAt<'_>], chars: usize) {
    let mut order: Vec<&str> = Vec::new();
    let mut states: HashMap<&str, ErrorState> = HashMap::new();
    for call in calls.iter().filter(|call| call.is_failed() || call.is_command()) {
        let Some((entry, counted, result)) = call.answer.filter(|(entry, ..)| *entry < table.recent_from)
        else {
            continue;
        };
        for line in &result.errors {
            let line = counted.text(*line);
            let state = states.entry(line).or_insert_with(|| {
                order.push(line);
                ErrorState::default()
            });
            state.seen += 1;
            state.last = entry;
            state.is_failure |= call.is_failed();
        }
    }
    let found = order.iter().filter_map(|line| {
        let state = states.get(line)?;
        let rank = 1.5 * log(state.seen)
            + lateness(state.last, table.recent_from)
            + if state.is_failure { 0.5 } else { 0.0 };
        Some(Candidate { rank, entry: state.last, line: format!("! {line}{}", times(state.seen)) })
    });
    let found = found.collect();
    add_best(table, draft, (Section::Errors, chars), found);
}

/// Shows the tasks that are open, unless the window shows their list.
pub(super) fn tasks(table: &mut Table<'_>, draft: &mut Draft<'_>, calls: &[CallAt<'_>], chars: usize) {
    let (book, last, is_in_window) = task_book(calls, table.recent_from);
    if is_in_window {
        return;
    }
    for line in open_tasks(&book) {
        draft.add(table, (Section::Tasks, last, &line), chars);
    }
}

/// Returns the tasks as the calls left them, the entry of the last call about them, and whether the window shows their list.
pub(super) fn task_book(calls: &[CallAt<'_>], recent_from: usize) -> (TaskBook, usize, bool) {
    let mut book = TaskBook::default();
    let mut last = 0;
    let mut is_in_window = false;
    for call in calls.iter().filter(|call| !matches!(call.ended, Some(Ended::Failed | Ended::Refused))) {
        let answer = call.answer.and_then(|(_, counted, result)| Some(counted.text(result.tasks?)));
        for act in &call.record.tasks {
            book.apply(act, answer);
            last = call.entry;
            is_in_window |= call.entry >= recent_from && settles(act, answer);
        }
    }
    (book, last, is_in_window)
}

/// Returns the tasks that are not done, a line each.
pub(super) fn open_tasks(book: &TaskBook) -> impl Iterator<Item = String> {
    book.open().map(|task| format!("[{}] {}", task.status.as_str(), task.text))
}
