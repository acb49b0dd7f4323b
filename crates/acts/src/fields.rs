//! The names that runtimes give to arguments, as data, and the arguments of a call behind them.
//!
//! The order within each list is the order of preference.

use serde_json::{Map, Value};

/// Characters of a path at most: no system takes longer ones.
const PATH_CHARS_MAX: usize = 4_096;

pub(crate) const PATH: &[&str] =
    &["file_path", "filePath", "path", "notebook_path", "notebookPath", "absolute_path", "filename"];
pub(crate) const PATHS: &[&str] = &["paths", "include"];
pub(crate) const COMMAND: &[&str] = &["command", "cmd", "script"];
pub(crate) const INPUT: &[&str] = &["input", "patch", "patchText", "patch_text", "code", "cmd", "command"];
pub(crate) const FOLDER: &[&str] = &["workdir", "working_directory", "cwd", "dir_path", "directory"];
pub(crate) const OLD: &[&str] = &["old_string", "oldText", "oldString", "old_str", "old_source", "search"];
pub(crate) const NEW: &[&str] = &["new_string", "newText", "newString", "new_str", "new_source", "replace"];
pub(crate) const INSERT: &[&str] = &["insert_text", "insert_line_text"];
pub(crate) const WHOLE: &[&str] = &["content", "file_text", "contents"];
pub(crate) const EDITS: &[&str] = &["edits"];
pub(crate) const TARGET: &[&str] = &["destination", "new_path", "to"];
pub(crate) const TASKS: &[&str] = &["todos", "plan", "items", "steps", "tasks", "task_list"];
pub(crate) const TASK_TEXT: &[&str] = &["content", "step", "description", "title", "text", "subject"];
pub(crate) const NEW_TASK_TEXT: &[&str] = &["subject", "title", "description"];
pub(crate) const TASK_ID: &[&str] = &["taskId", "task_id", "id"];
pub(crate) const HANDLE: &[&str] = &["cell_id", "session_id", "task_id", "bash_id", "shell_id"];

/// The arguments of a call.
#[derive(Clone, Copy)]
pub(crate) struct Fields<'a>(pub(crate) &'a Map<String, Value>);

impl<'a> Fields<'a> {
    pub(crate) fn text(self, keys: &[&str]) -> Option<&'a str> {
        keys.iter().find_map(|key| self.0.get(*key)?.as_str())
    }

    pub(crate) fn list(self, keys: &[&str]) -> Option<&'a [Value]> {
        keys.iter().find_map(|key| self.0.get(*key)?.as_array()).map(Vec::as_slice)
    }

    /// Returns an id, which some runtimes write as a number.
    pub(crate) fn id(self, keys: &[&str]) -> Option<String> {
        keys.iter().find_map(|key| match self.0.get(*key)? {
            Value::String(id) => Some(id.clone()),
            Value::Number(id) => Some(id.to_string()),
            _ => None,
        })
    }

    pub(crate) fn has(self, keys: &[&str]) -> bool {
        keys.iter().any(|key| self.0.contains_key(*key))
    }

    pub(crate) fn path(self) -> Option<String> {
        path(self.text(PATH)?)
    }

    /// Returns a command line, or whatever text stands there, from a text or from the words of one.
    pub(crate) fn line(self, keys: &[&str]) -> Option<String> {
        keys.iter().find_map(|key| match self.0.get(*key)? {
            Value::String(text) => Some(script_in(text).unwrap_or_else(|| text.clone())),
            Value::Array(words) => {
                let words: Vec<String> = words.iter().filter_map(Value::as_str).map(str::to_owned).collect();
                Some(script(&words).unwrap_or_else(|| words.join(" ")))
            }
            _ => None,
        })
    }
}

/// `bash -lc SCRIPT`: the script is the command.
fn script(words: &[String]) -> Option<String> {
    match words {
        [shell, flag, script, ..]
            if shell.ends_with("sh") && flag.starts_with('-') && flag.ends_with('c') =>
        {
            Some(script.clone())
        }
        _ => None,
    }
}

/// The same, where the words stand in one text.
fn script_in(text: &str) -> Option<String> {
    let (shell, rest) = text.split_once(' ')?;
    if !shell.ends_with("sh") || !rest.starts_with('-') {
        return None;
    }
    match crate::shell::commands(text).as_slice() {
        [only] if only.words.len() == 3 && only.writes.is_empty() => script(&only.words),
        _ => None,
    }
}

pub(crate) fn path(text: &str) -> Option<String> {
    let text = text.trim();
    let is_path =
        !text.is_empty() && text.chars().nth(PATH_CHARS_MAX).is_none() && !text.contains(char::is_control);
    is_path.then(|| text.to_owned())
}
