//! How many items of each kind stay, and which go first.
//!
//! How items come in and merge is decided in `items`.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use super::items::TASKS_MAX;
use super::v1::{By, Decision, Failure, FileTouched, Task, TaskList, TaskStatus, Thread};

/// How many items of each kind stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Decisions and facts.
    pub decisions_max: usize,
    /// Of these, those that were found in texts: what was said by events of its own makes no room for them.
    pub decisions_found_max: usize,
    /// Tasks.
    pub tasks_max: usize,
    /// Of these, those that stand in lists of tools and texts.
    pub tasks_found_max: usize,
    /// Open and closed threads.
    pub threads_max: usize,
    /// Files.
    pub files_max: usize,
    /// Errors.
    pub errors_max: usize,
    /// Commands that went well.
    pub successes_max: usize,
}

impl Bounds {
    /// Of one session. What a user says by events of their own is one session however often it is: it has a project's room.
    pub const SESSION: Self = Self {
        decisions_found_max: 48,
        tasks_found_max: TASKS_MAX,
        threads_max: 24,
        files_max: 96,
        errors_max: 32,
        successes_max: 32,
        ..Self::PROJECT
    };
    /// Of a project, and of the sessions of a ledger that made room for others.
    pub const PROJECT: Self = Self {
        decisions_max: 256,
        decisions_found_max: 256,
        tasks_max: 128,
        tasks_found_max: 128,
        threads_max: 96,
        files_max: 512,
        errors_max: 96,
        successes_max: 96,
    };
}

/// What is superseded goes first, then what was found in texts of models, in those of users, and what events said; the oldest
/// first.
/// Returns how many went that events said.
pub(super) fn bound_decisions(decisions: &mut Vec<Decision>, bounds: &Bounds) -> u64 {
    let told = |decisions: &[Decision]| decisions.iter().filter(|one| !one.is_found()).count();
    let before = told(decisions);
    let order = |one: &Decision, other: &Decision| rank(one).cmp(&rank(other));
    bound_of(decisions, bounds.decisions_found_max, Decision::is_found, order);
    bound(decisions, bounds.decisions_max, order);
    u64::try_from(before.saturating_sub(told(decisions))).unwrap_or(u64::MAX)
}

pub(super) fn rank(one: &Decision) -> (bool, bool, bool) {
    (one.superseded.is_none(), !one.is_found(), one.by != By::Assistant)
}

/// What is done goes first, the oldest first.
pub(super) fn bound_tasks(tasks: &mut Vec<Task>, bounds: &Bounds) {
    let is_open = |one: &Task| one.status != TaskStatus::Done;
    let order = |one: &Task, other: &Task| (is_open(one), &one.proof).cmp(&(is_open(other), &other.proof));
    bound_of(tasks, bounds.tasks_found_max, Task::is_found, order);
    bound(tasks, bounds.tasks_max, order);
}

/// What is closed goes first, then what models and users left open, then what events said; the oldest first.
pub(super) fn bound_threads(threads: &mut Vec<Thread>, count_max: usize) {
    let rank = |one: &Thread| (one.is_open(), one.by == By::Event);
    bound(threads, count_max, |one, other| rank(one).cmp(&rank(other)));
}

/// What was only looked at goes first, the oldest first.
pub(super) fn bound_files(files: &mut Vec<FileTouched>, count_max: usize) {
    bound(files, count_max, |one, other| other.is_only_read().cmp(&one.is_only_read()));
}

/// What is resolved goes first, the oldest first.
pub(super) fn bound_errors(errors: &mut Vec<Failure>, count_max: usize) {
    bound(errors, count_max, |one, other| one.resolved.is_none().cmp(&other.resolved.is_none()));
}

/// Lets go of the least items, of equal ones the first, until no more than the bound are left.
pub(super) fn bound<T>(items: &mut Vec<T>, count_max: usize, order: impl Fn(&T, &T) -> Ordering) {
    bound_of(items, count_max, |_| true, order);
}

/// The same among those that are counted; the others stay.
fn bound_of<T>(
    items: &mut Vec<T>,
    count_max: usize,
    counts: impl Fn(&T) -> bool,
    order: impl Fn(&T, &T) -> Ordering,
) {
    let surplus = items.iter().filter(|one| counts(one)).count().saturating_sub(count_max);
    if surplus == 0 {
        return;
    }
    // The sort is stable: equal ones stay as they came.
    let mut ranked: Vec<(usize, &T)> = items.iter().enumerate().filter(|(_, one)| counts(one)).collect();
    ranked.sort_by(|(_, one), (_, other)| order(one, other));
    let goes: BTreeSet<usize> = ranked.into_iter().take(surplus).map(|(at, _)| at).collect();
    let mut at = 0;
    items.retain(|_| {
        at += 1;
        !goes.contains(&(at - 1))
    });
}

impl Decision {
    /// Says whether it was found in what somebody said, and not told by an event of its own.
    pub fn is_found(&self) -> bool {
        self.by != By::Event
    }
}

impl Task {
    /// Says whether it stands in a list of a tool or a text, and was not told by an event of its own.
    pub(super) fn is_found(&self) -> bool {
        self.list != TaskList::Event
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn many_are_let_go_of_as_one_by_one(items in prop::collection::vec((0_u8..4, any::<u8>()), 0..60), max in 0_usize..60) {
            let mut at_once = items.clone();
            bound(&mut at_once, max, |one, other| one.0.cmp(&other.0));
            let mut one_by_one = items;
            while one_by_one.len() > max {
                let least = one_by_one.iter().enumerate().min_by_key(|(at, one)| (one.0, *at));
                let least = least.map(|(at, _)| at).expect("there is one");
                one_by_one.remove(least);
            }
            prop_assert_eq!(at_once, one_by_one);
        }
    }
}
