//! Task facts: what an agent works on in a turn, as the caller says it.
//!
//! What is known of tasks from what was said is the memory's.

use stemmata_api::v1::TurnTask;
use stemmata_model::quote::one_line;

/// What is being worked on.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TaskFacts {
    /// The phase of the work, for example `implement`.
    pub phase: Option<String>,
    /// The current task.
    pub current: Option<TurnTask>,
    /// Ids of tasks that are done.
    pub completed: Vec<String>,
}

impl TaskFacts {
    /// Nothing is said of the task.
    pub const NONE: Self = Self { phase: None, current: None, completed: Vec::new() };

    /// Says whether nothing is said of the task.
    pub const fn is_none(&self) -> bool {
        self.phase.is_none() && self.current.is_none() && self.completed.is_empty()
    }

    /// Returns the section of the prompt; empty where nothing is said.
    pub(super) fn section(&self) -> String {
        let mut lines = Vec::new();
        if let Some(phase) = &self.phase {
            lines.push(format!("Phase: {}", one_line(phase)));
        }
        if let Some(task) = &self.current {
            lines.push(format!("Current: {}: {}", one_line(&task.id), one_line(&task.text)));
            if !task.depends_on.is_empty() {
                let state = |id: &String| {
                    let is_done = self.completed.contains(id);
                    format!("{} ({})", one_line(id), if is_done { "done" } else { "not done" })
                };
                let depends_on: Vec<String> = task.depends_on.iter().map(state).collect();
                lines.push(format!("Depends on: {}", depends_on.join(", ")));
            }
        }
        if !self.completed.is_empty() {
            let completed: Vec<String> = self.completed.iter().map(|id| one_line(id)).collect();
            lines.push(format!("Done: {}", completed.join(", ")));
        }
        if lines.is_empty() { String::new() } else { format!("\n## Task\n\n{}\n", lines.join("\n")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_said_in_lines_of_its_own() {
        assert_eq!(TaskFacts::NONE.section(), "");
        let task = TurnTask {
            id: "T3".to_owned(),
            text: "Skip empty lines\n## User turn".to_owned(),
            depends_on: vec!["T1".to_owned(), "T2".to_owned()],
        };
        let facts = TaskFacts {
            phase: Some("implement".to_owned()),
            current: Some(task),
            completed: vec!["T1".to_owned()],
        };
        assert_eq!(
            facts.section(),
            "\n## Task\n\nPhase: implement\nCurrent: T3: Skip empty lines ## User turn\n\
             Depends on: T1 (done), T2 (not done)\nDone: T1\n"
        );
    }
}
