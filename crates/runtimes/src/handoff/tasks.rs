//! What is still to be done, and what the user decided, as tools of planning say it.

use serde_json::{Map, Value};
use stemmata_model::{Entry, Part};

use super::text::{of_result, one_line};

/// Characters of one task.
const TASK_CHARS: usize = 300;

/// Decisions that are told at most, the latest.
const DECISIONS_MAX: usize = 8;

/// Returns the tasks of the last list that was written, those that are done marked so; none where all are done.
pub(super) fn open(entries: &[Entry]) -> Option<String> {
    let lists = entries.iter().rev().flat_map(|entry| entry.parts.iter().rev()).filter_map(list);
    let list: Vec<(String, String)> = lists.into_iter().next()?;
    let is_done = |status: &str| matches!(status, "completed" | "done" | "cancelled");
    if list.iter().all(|(_, status)| is_done(status)) {
        return None;
    }
    let row = |(task, status): &(String, String)| match status.as_str() {
        status if is_done(status) => format!("[x] {task}"),
        "in_progress" => format!("[~] {task}"),
        _ => format!("[ ] {task}"),
    };
    Some(list.iter().map(row).collect::<Vec<_>>().join("\n"))
}

/// Reads a list of tasks out of a call; the tools of all runtimes write one under one of these names.
fn list(part: &Part) -> Option<Vec<(String, String)>> {
    let Part::ToolCall { arguments, .. } = part else { return None };
    let Ok(Value::Object(fields)) = serde_json::from_str(arguments) else { return None };
    let tasks =
        ["todos", "plan", "tasks"].into_iter().find_map(|key| fields.get(key)?.as_array().cloned())?;
    let text = |task: &Map<String, Value>, keys: &[&str]| {
        keys.iter().find_map(|key| task.get(*key)?.as_str().map(str::to_owned))
    };
    let task = |task: &Value| {
        let task = task.as_object()?;
        let what = text(task, &["content", "step", "description", "title", "text", "subject"])?;
        Some((one_line(&what, TASK_CHARS), text(task, &["status"]).unwrap_or_default()))
    };
    let tasks: Vec<(String, String)> = tasks.iter().filter_map(task).collect();
    (!tasks.is_empty()).then_some(tasks)
}

/// Returns what the user answered to questions and plans, the latest last.
pub(super) fn decisions(entries: &[Entry]) -> Option<String> {
    let mut asked: Vec<&str> = Vec::new();
    let mut told: Vec<String> = Vec::new();
    for part in entries.iter().flat_map(|entry| &entry.parts) {
        match part {
            Part::ToolCall { call_id, name, .. }
                if matches!(
                    name.as_str(),
                    "AskUserQuestion" | "ExitPlanMode" | "ask_user" | "request_user_input"
                ) =>
            {
                asked.push(call_id);
            }
            Part::ToolResult { call_id, parts, .. } if asked.contains(&call_id.as_str()) => {
                told.push(one_line(&of_result(parts), TASK_CHARS * 2));
            }
            _ => {}
        }
    }
    let from = told.len().saturating_sub(DECISIONS_MAX);
    let told = told.get(from..).unwrap_or_default();
    (!told.is_empty()).then(|| told.join("\n"))
}
