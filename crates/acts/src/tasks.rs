//! The tasks of a conversation, as its tools leave them.

use stemmata_model::Entry;

use crate::act::{Task, TaskAct, TaskStatus};
use crate::tool_use::tool_uses;

/// Tasks that are remembered at most.
const TASKS_MAX: usize = 1_024;
/// Lines of an answer that are read.
const LINES_MAX: usize = 4 * TASKS_MAX;

/// The tasks of a conversation: a list that is written whole, and those of a tracker.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TaskBook {
    written: Vec<Task>,
    tracked: Vec<Task>,
    numbered: u64,
    is_tracker_last: bool,
    is_known: bool,
}

impl TaskBook {
    /// Reads the main conversation; a subagent's list is its own affair.
    pub fn of(entries: &[Entry]) -> Self {
        let mut book = Self::default();
        for (act, answer) in task_acts(entries) {
            book.apply(&act, answer.as_deref());
        }
        book
    }

    /// Takes up what a call did, with the text of its answer. What failed is not to be given.
    pub fn apply(&mut self, act: &TaskAct, answer: Option<&str>) {
        match act {
            TaskAct::Write { tasks } => {
                self.written.clone_from(tasks);
                self.is_tracker_last = false;
            }
            TaskAct::Add { text } => {
                let next = self.numbered.saturating_add(1).to_string();
                let id = answer.and_then(id_in).unwrap_or(next);
                self.numbered = self.numbered.max(id.parse().unwrap_or(0));
                let task = Task { id: Some(id), text: text.clone(), status: TaskStatus::Open };
                // A tracker that begins anew counts from one again.
                self.tracked.retain(|known| known.id != task.id);
                if self.tracked.len() < TASKS_MAX {
                    self.tracked.push(task);
                }
                self.is_tracker_last = true;
            }
            TaskAct::Change { id, status, text } => {
                let Some(task) = self.tracked.iter_mut().find(|task| task.id.as_ref() == Some(id)) else {
                    return;
                };
                task.status = status.unwrap_or(task.status);
                task.text = text.clone().unwrap_or_else(|| std::mem::take(&mut task.text));
                self.is_tracker_last = true;
            }
            TaskAct::List => {
                let Some(tasks) = answer.and_then(listed_in) else { return };
                self.tracked = tasks;
                self.is_tracker_last = true;
            }
        }
        self.is_known = true;
    }

    /// Whether any list was ever written; else nothing is known, which is not the same as nothing open.
    pub fn is_known(&self) -> bool {
        self.is_known
    }

    /// Returns all tasks but those that were given up, those of the list that was changed last first.
    pub fn all(&self) -> impl Iterator<Item = &Task> {
        let both = (&self.tracked, &self.written);
        let (first, second) = if self.is_tracker_last { both } else { (both.1, both.0) };
        first.iter().chain(second).filter(|task| task.status != TaskStatus::Dropped)
    }

    /// Returns the tasks that are still to be done.
    pub fn open(&self) -> impl Iterator<Item = &Task> {
        self.all().filter(|task| task.status.is_open())
    }
}

/// Returns what the main conversation did to tasks, each with the text of its answer; what failed is left out.
pub fn task_acts(entries: &[Entry]) -> Vec<(TaskAct, Option<String>)> {
    let uses = tool_uses(entries);
    let is_main = |at: usize| entries.get(at).is_some_and(|entry| entry.meta.sidechain.is_none());
    let own = uses.iter().filter(|used| is_main(used.entry));
    let acts = own.flat_map(|used| used.tasks().map(move |act| (act, used)));
    let answer = |text: &str| text.lines().take(LINES_MAX).collect::<Vec<_>>().join("\n");
    acts.map(|(act, used)| (act.clone(), used.answer.as_ref().map(|said| answer(&said.text)))).collect()
}

/// Says whether an act says how all tasks of its list stand, so that nothing before it matters.
pub fn settles(act: &TaskAct, answer: Option<&str>) -> bool {
    match act {
        TaskAct::Write { .. } => true,
        TaskAct::List => answer.and_then(listed_in).is_some(),
        TaskAct::Add { .. } | TaskAct::Change { .. } => false,
    }
}

/// Returns the id that the answer to a task that was added gives: `Task #7 created successfully: …`.
pub fn id_in(answer: &str) -> Option<String> {
    let after =
        |mark: &str| answer.match_indices(mark).find_map(|(at, _)| digits(answer.get(at + mark.len()..)?));
    after("#").or_else(|| after("Task "))
}

fn digits(text: &str) -> Option<String> {
    let digits: String = text.chars().take_while(char::is_ascii_digit).take(18).collect();
    (!digits.is_empty()).then_some(digits)
}

/// Reads the tasks that an answer lists, in lines `#6 [pending] Text`. Returns
/// `None` where it lists none and does not say so either.
pub fn listed_in(answer: &str) -> Option<Vec<Task>> {
    let task = |line: &str| {
        let (id, rest) = line.trim().strip_prefix('#')?.split_once(" [")?;
        let (status, text) = rest.split_once("] ")?;
        let is_id = id.bytes().all(|byte| byte.is_ascii_digit());
        let status = TaskStatus::read(status);
        is_id.then(|| Task { id: Some(id.to_owned()), text: text.trim().to_owned(), status })
    };
    let tasks: Vec<Task> = answer.lines().take(LINES_MAX).filter_map(task).take(TASKS_MAX).collect();
    (!tasks.is_empty() || answer.trim().starts_with("No tasks found")).then_some(tasks)
}

#[cfg(test)]
mod tests;
