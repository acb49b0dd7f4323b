//! Guard items from entries: what the caller left out is read from the conversation, by the rules below.
//!
//! - *task*: what the caller says; else, where it gave tasks, that of the entry before; else the turn: each prompt begins one.
//! - *content*: instructions are `system_prompt`; the first prompt of the current task (of the session, where the caller gave
//!   no tasks) is `current_task`; calls on the file that was changed last are `active_code`; other prompts of the current
//!   task are `recent_feedback`; what belongs to another task is `task_history`.
//! - *row*: a call that failed and later passed is `old_error_messages`; the last one of the current task that failed and did
//!   not pass since is `critical_error_context`.
//! - *references*: later entries that name its files, its id or its calls, its own tool group left out.
//! - *time*: the entry's, else that of the entry before.
//! - *tool group*: calls and results that belong together, with the rest of the message that makes the calls.
//! - *essential*: what the caller marks, and the summary that a compaction left: it stands for everything before it.

use std::collections::{HashMap, HashSet};

use stemmata_model::{Entry, EntryKind, Role, Timestamp, turns};

use super::counters::{CallCounters, Ended, ItemCounters};
use super::groups::Groups;
use super::item::{Class, ContentType, Item, Row};
use super::references::{Named, references};
use super::tasks::{TaskGraph, TaskGraphError, TaskNode};

/// Turns in which a reference counts as recent.
pub const RECENT_TURNS: usize = 3;

/// What the caller knows of an entry. What is left out is derived.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hint {
    /// The task that it belongs to.
    pub task: Option<String>,
    /// What it contains.
    pub content: Option<ContentType>,
    /// The row of the matrix.
    pub row: Option<Row>,
    /// The class.
    pub class: Option<Class>,
    /// Later entries that refer to it.
    pub reference_count: Option<u32>,
    /// Whether nothing works without it.
    pub is_essential: bool,
    /// Whether it is pinned.
    pub is_pinned: bool,
}

/// The tasks that the caller knows.
#[derive(Debug, Clone, Copy)]
pub struct GivenTasks<'a> {
    /// In the order in which they began.
    pub tasks: &'a [TaskNode],
    /// The current one.
    pub current: &'a str,
}

/// What items are made of.
#[derive(Debug, Clone, Copy)]
pub struct DeriveRequest<'a> {
    /// The live window, oldest first: what the model sees.
    pub entries: &'a [Entry],
    /// What was counted of each entry; of one that is missing nothing is known, and it takes nothing.
    pub counters: &'a [&'a ItemCounters],
    /// What the caller knows of each entry; may be shorter than the entries.
    pub hints: &'a [Hint],
    /// The caller's tasks. Without them each turn is a task.
    pub tasks: Option<GivenTasks<'a>>,
}

/// Items and tasks of a window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Derived {
    /// An item for each entry.
    pub items: Vec<Item>,
    /// The tasks.
    pub tasks: TaskGraph,
}

/// Makes the items of a window.
///
/// # Errors
/// [`TaskGraphError`] where the caller's tasks are no graph.
pub fn derive(request: DeriveRequest<'_>) -> Result<Derived, TaskGraphError> {
    let DeriveRequest { entries, counters, hints, tasks: given } = request;
    let turn_of = turn_of(entries);
    let last_turn = turn_of.last().copied().unwrap_or(0);
    let (graph, current) = graph(given, last_turn)?;
    let names = task_names(entries, hints, &turn_of, given.is_some());
    let calls = Calls::of(counters);
    let groups = Groups::of(entries);
    let read = Read {
        named: references(entries, counters, &groups.of_entry),
        content: contents(entries, &calls.active_code(counters), (&names, &current), given.is_some()),
        rows: calls.rows(counters, &names, &current),
        first_recent_turn: (last_turn + 1).saturating_sub(RECENT_TURNS),
        turn_of,
    };
    let mut at: Option<Timestamp> = None;
    let items = entries.iter().enumerate().map(|(place, entry)| {
        at = entry.timestamp.or(at);
        let hint = hints.get(place).cloned().unwrap_or_default();
        let group = groups.of_entry.get(place).copied().flatten();
        let mut item = Item::new(
            entry.id.clone(),
            counters.get(place).map(|counters| counters.tokens).unwrap_or_default(),
        );
        item.at = at;
        item.task = names.get(place).cloned();
        item.content = hint.content.or(read.content.get(place).copied()).unwrap_or(ContentType::Other);
        item.row = hint.row.or(read.rows.get(&place).copied());
        item.class = hint.class;
        (item.reference_count, item.is_referenced_recently) = read.references(place, hint.reference_count);
        item.is_essential = hint.is_essential || entry.kind == EntryKind::CompactionSummary;
        item.is_pinned = hint.is_pinned;
        item.is_prompt = entry.is_prompt();
        item.group = group;
        item.is_open = group.is_some_and(|group| groups.is_open.get(&group).copied().unwrap_or(false));
        item
    });
    Ok(Derived { items: items.collect(), tasks: graph })
}

/// What was read of all entries together.
struct Read {
    named: Vec<Named>,
    content: Vec<ContentType>,
    rows: HashMap<usize, Row>,
    turn_of: Vec<usize>,
    first_recent_turn: usize,
}

impl Read {
    fn references(&self, place: usize, given: Option<u32>) -> (u32, bool) {
        let named = self.named.get(place).copied().unwrap_or_default();
        let turn = named.last.and_then(|last| self.turn_of.get(last));
        (given.unwrap_or(named.count), turn.is_some_and(|turn| *turn >= self.first_recent_turn))
    }
}

fn turn_of(entries: &[Entry]) -> Vec<usize> {
    let numbered = turns(entries).into_iter().enumerate();
    numbered.flat_map(|(number, turn)| turn.entries.map(move |_| number)).collect()
}

fn turn_name(turn: usize) -> String {
    format!("turn {}", turn + 1)
}

fn graph(given: Option<GivenTasks<'_>>, last_turn: usize) -> Result<(TaskGraph, String), TaskGraphError> {
    if let Some(given) = given {
        return Ok((TaskGraph::new(given.tasks, Some(given.current))?, given.current.to_owned()));
    }
    // Not marked as completed: nobody said that a turn finished anything.
    let turn = |turn| TaskNode { name: turn_name(turn), ..TaskNode::default() };
    let tasks: Vec<TaskNode> = (0..=last_turn).map(turn).collect();
    let current = turn_name(last_turn);
    Ok((TaskGraph::new(&tasks, Some(&current))?, current))
}

fn task_names(entries: &[Entry], hints: &[Hint], turn_of: &[usize], is_given: bool) -> Vec<String> {
    let given = |place: usize| hints.get(place).and_then(|hint| hint.task.clone());
    let first = (0..entries.len()).find_map(given).unwrap_or_default();
    let mut before = first;
    let names = (0..entries.len()).map(|place| {
        let own =
            given(place).or_else(|| (!is_given).then(|| turn_name(turn_of.get(place).copied().unwrap_or(0))));
        before = own.unwrap_or_else(|| before.clone());
        before.clone()
    });
    names.collect()
}

fn contents(
    entries: &[Entry],
    active: &[bool],
    (names, current): (&[String], &str),
    is_given: bool,
) -> Vec<ContentType> {
    let is_of_current = |place: usize| names.get(place).is_some_and(|name| name == current);
    let mut prompts = entries.iter().enumerate().filter(|(_, entry)| entry.is_prompt());
    // A session without tasks has one: what it was begun with.
    let task = prompts.find(|(place, _)| !is_given || is_of_current(*place)).map(|(place, _)| place);
    let content = |(place, entry): (usize, &Entry)| match entry.kind {
        EntryKind::Instruction => ContentType::SystemPrompt,
        _ if entry.role == Role::System => ContentType::SystemPrompt,
        _ if task == Some(place) => ContentType::CurrentTask,
        _ if active.get(place).copied().unwrap_or(false) => ContentType::ActiveCode,
        _ if !is_of_current(place) => ContentType::TaskHistory,
        _ if entry.is_prompt() => ContentType::RecentFeedback,
        _ => ContentType::Other,
    };
    entries.iter().enumerate().map(content).collect()
}

/// Every call of a window in order, with how it ended.
struct Calls<'a> {
    calls: Vec<(usize, &'a CallCounters, Ended)>,
}

impl<'a> Calls<'a> {
    fn of(counters: &[&'a ItemCounters]) -> Self {
        let mut calls: Vec<(usize, &CallCounters, Ended)> = Vec::new();
        let mut known: HashMap<u64, usize> = HashMap::new();
        for (place, counters) in counters.iter().enumerate() {
            for call in &counters.calls {
                known.insert(call.id, calls.len());
                calls.push((place, call, Ended::Otherwise));
            }
            for result in &counters.results {
                if let Some((_, call, ended)) = known.get(&result.call).and_then(|at| calls.get_mut(*at)) {
                    *ended = result.ended(call.judged);
                }
            }
        }
        Self { calls }
    }

    /// Returns which entries call for the file that was changed last, or hold what such a call returned.
    fn active_code(&self, counters: &[&ItemCounters]) -> Vec<bool> {
        let mut worked = self.calls.iter().rev().filter(|(_, _, ended)| *ended != Ended::Failed);
        let changed = worked.find_map(|(_, call, _)| (!call.changed.is_empty()).then_some(&call.changed));
        let Some(changed) = changed else { return Vec::new() };
        let touches = |call: &CallCounters| call.files.iter().any(|file| changed.contains(file));
        let touching = self.calls.iter().filter(|(_, call, _)| touches(call)).map(|(_, call, _)| call.id);
        let touching: HashSet<u64> = touching.collect();
        let is_one = |counters: &&ItemCounters| {
            let calls = counters.calls.iter().map(|call| call.id);
            let results = counters.results.iter().map(|result| result.call);
            calls.chain(results).any(|call| touching.contains(&call))
        };
        counters.iter().map(is_one).collect()
    }

    /// Returns the rows that follow from how calls ended.
    fn rows(&self, counters: &[&ItemCounters], names: &[String], current: &str) -> HashMap<usize, Row> {
        let mut passed: HashMap<u64, usize> = HashMap::new();
        for (order, (_, call, ended)) in self.calls.iter().enumerate() {
            if *ended == Ended::Passed {
                passed.insert(call.subject, order);
            }
        }
        let mut failed: HashMap<u64, Row> = HashMap::new();
        let mut critical: Option<u64> = None;
        for (order, (place, call, ended)) in self.calls.iter().enumerate() {
            if *ended != Ended::Failed {
                continue;
            }
            if passed.get(&call.subject).is_some_and(|later| *later > order) {
                failed.insert(call.id, Row::ResolvedError);
            } else if names.get(*place).is_some_and(|name| name == current) {
                critical = Some(call.id);
            }
        }
        failed.extend(critical.map(|call| (call, Row::CriticalError)));
        let row_of = |counters: &ItemCounters| {
            let calls = counters.calls.iter().map(|call| call.id);
            let calls = calls.chain(counters.results.iter().map(|result| result.call));
            let rows: Vec<Option<Row>> = calls.map(|call| failed.get(&call).copied()).collect();
            let is_critical = rows.contains(&Some(Row::CriticalError));
            // An entry with a call that did not fail is more than an error.
            let is_resolved = !rows.is_empty() && rows.iter().all(|row| *row == Some(Row::ResolvedError));
            match (is_critical, is_resolved) {
                (true, _) => Some(Row::CriticalError),
                (false, true) => Some(Row::ResolvedError),
                (false, false) => None,
            }
        };
        counters.iter().enumerate().filter_map(|(place, counters)| Some((place, row_of(counters)?))).collect()
    }
}

#[cfg(test)]
mod tests;
