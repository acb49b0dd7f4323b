//! What tools wrote into files: the edits of a conversation, whatever runtime it is of.
//!
//! Pure: entries in, edits out. What stands in the files today is not looked at.

mod patch;

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};
use stemmata_model::{Entry, Part};

/// A change that a tool call made to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEdit {
    /// Position of the entry that made the call.
    pub entry: usize,
    /// The call.
    pub call_id: String,
    /// The tool, as the runtime spells it.
    pub tool: String,
    /// The file, as the call names it: absolute, or below the directory that the agent worked in.
    pub path: String,
    /// The lines that it put there and that were not there before, as far as the call says, in their order.
    pub lines: Vec<String>,
    /// Whether it wrote the whole file.
    pub is_whole: bool,
}

/// Names of tools that write whole files, and of the argument with the text.
const WRITERS: [&str; 5] = ["Write", "write", "write_file", "create_file", "str_replace_editor"];

/// Returns the edits of a conversation in the order in which they were made; those that failed are left out.
pub fn edits(entries: &[Entry]) -> Vec<FileEdit> {
    let failed: HashSet<&str> = entries.iter().flat_map(|entry| &entry.parts).filter_map(failed).collect();
    let mut edits = Vec::new();
    for (position, entry) in entries.iter().enumerate() {
        for part in &entry.parts {
            let Part::ToolCall { call_id, name, arguments } = part else { continue };
            if failed.contains(call_id.as_str()) {
                continue;
            }
            let made = of_call(name, arguments).into_iter().map(|(path, lines, is_whole)| FileEdit {
                entry: position,
                call_id: call_id.clone(),
                tool: name.clone(),
                path,
                lines,
                is_whole,
            });
            edits.extend(made);
        }
    }
    edits
}

fn failed(part: &Part) -> Option<&str> {
    match part {
        Part::ToolResult { call_id, is_error: true, .. } => Some(call_id),
        _ => None,
    }
}

/// A file, the lines that are new in it, and whether that is all of it.
type Made = (String, Vec<String>, bool);

fn of_call(name: &str, arguments: &str) -> Vec<Made> {
    let Ok(Value::Object(fields)) = serde_json::from_str(arguments) else {
        return patch::edits(arguments);
    };
    if let Some(text) = patch_in(name, &fields) {
        return patch::edits(&text);
    }
    let path = ["file_path", "filePath", "path", "notebook_path", "notebookPath"];
    let Some(path) = path.into_iter().find_map(|key| text(&fields, key)) else { return Vec::new() };
    let mut lines = Vec::new();
    if let Some(Value::Array(many)) = fields.get("edits") {
        for one in many.iter().filter_map(Value::as_object) {
            lines.extend(replaced(one));
        }
    } else {
        lines.extend(replaced(&fields));
    }
    if let Some(insert) = text(&fields, "insert_text").or_else(|| text(&fields, "insert_line_text")) {
        lines.extend(insert.lines().map(str::to_owned));
    }
    let is_writer = WRITERS.contains(&name) || text(&fields, "file_text").is_some();
    let whole = ["content", "file_text", "contents"].into_iter().find_map(|key| text(&fields, key));
    if let Some(whole) = whole.filter(|_| is_writer && lines.is_empty()) {
        return vec![(path, whole.lines().map(str::to_owned).collect(), true)];
    }
    if lines.is_empty() { Vec::new() } else { vec![(path, lines, false)] }
}

/// Returns the patch that a call applies, also where a shell is asked to.
fn patch_in(name: &str, fields: &Map<String, Value>) -> Option<String> {
    let keys = ["input", "patch", "patchText", "patch_text", "cmd", "command"];
    let found = keys.into_iter().find_map(|key| match fields.get(key) {
        Some(Value::String(text)) => Some(text.clone()),
        Some(Value::Array(parts)) => {
            let parts: Vec<&str> = parts.iter().filter_map(Value::as_str).collect();
            Some(parts.join("\n"))
        }
        _ => None,
    })?;
    (name == "apply_patch" || found.contains(patch::BEGIN)).then_some(found)
}

fn text(fields: &Map<String, Value>, key: &str) -> Option<String> {
    fields.get(key)?.as_str().map(str::to_owned)
}

/// Returns the lines of a replacement that were not in what it replaced.
fn replaced(fields: &Map<String, Value>) -> Vec<String> {
    let any = |keys: [&str; 5]| keys.into_iter().find_map(|key| text(fields, key));
    let Some(new) = any(["new_string", "newText", "newString", "new_str", "new_source"]) else {
        return Vec::new();
    };
    let old = any(["old_string", "oldText", "oldString", "old_str", "old_source"]).unwrap_or_default();
    let mut left: HashMap<&str, usize> = HashMap::new();
    for line in old.lines() {
        *left.entry(line).or_default() += 1;
    }
    let mut added = Vec::new();
    for line in new.lines() {
        match left.get_mut(line) {
            Some(count) if *count > 0 => *count -= 1,
            _ => added.push(line.to_owned()),
        }
    }
    added
}

#[cfg(test)]
mod tests;
