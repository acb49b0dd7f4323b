//! What is still to be done, and what the user decided, as tools of planning say it.

use stemmata_acts::{Act, Task, TaskBook, TaskStatus, ToolUse};
use stemmata_model::quote::one_line_within;

/// Characters of one task.
const TASK_CHARS: usize = 300;

/// Decisions that are told at most, the latest.
const DECISIONS_MAX: usize = 8;

/// Returns the tasks, those that are done marked so; none where nothing is left to do.
pub(super) fn open(book: &TaskBook) -> Option<String> {
    book.open().next()?;
    let row = |task: &Task| {
        let mark = match task.status {
            TaskStatus::Open => ' ',
            TaskStatus::Active => '~',
            TaskStatus::Done | TaskStatus::Dropped => 'x',
        };
        format!("[{mark}] {}", one_line_within(&task.text, TASK_CHARS))
    };
    Some(book.all().map(row).collect::<Vec<_>>().join("\n"))
}

/// Returns what the user answered to questions and plans, the latest last.
pub(super) fn decisions(uses: &[ToolUse<'_>]) -> Option<String> {
    let asked = uses.iter().filter(|used| used.acts.contains(&Act::Ask));
    let answers = asked.filter_map(|used| Some(one_line_within(&used.answer.as_ref()?.text, TASK_CHARS * 2)));
    let told: Vec<String> = answers.collect();
    let from = told.len().saturating_sub(DECISIONS_MAX);
    let told = told.get(from..).unwrap_or_default();
    (!told.is_empty()).then(|| told.join("\n"))
}
