//! A tool call in one line: what it is about, and what it changed. The tool's name and the outcome stand beside it.
//!
//! Nothing is cut to a width here; what has several lines is told by its first.

use serde_json::{Map, Value};
use stemmata_model::Json;

use crate::act::{Act, FileAct, FileChange, TaskAct, TaskStatus};
use crate::fields::{Fields, PATH};
use crate::tool_use::ToolUse;

/// Files of one call that are named; the rest is counted.
const FILES_MAX: usize = 8;
/// Characters of what a call is about at most, so that a line stays one.
const ABOUT_CHARS_MAX: usize = 2_000;

const PATTERN: &[&str] = &["pattern", "query", "regex", "q", "glob", "search_query", "text"];
const URL: &[&str] = &["url", "uri", "prompt"];
const MISSION: &[&str] = &["description", "title", "name", "agent_name", "message", "prompt", "objective"];
const QUESTION: &[&str] = &["question", "prompt", "message", "text", "plan"];
const SKILL: &[&str] = &["skill", "command", "name", "query", "title", "id"];

/// A call in one line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CallLine {
    /// What it is about: files, a command, a pattern, a question. Empty where its arguments say nothing.
    pub about: String,
    /// Lines that it put into files.
    pub added: usize,
    /// Lines that it took out of files.
    pub removed: usize,
    /// Of a list of tasks that it wrote: how many are done, and how many there are.
    pub tasks: Option<(usize, usize)>,
}

impl ToolUse<'_> {
    /// Returns the call in one line. Files below `root`, where the agent worked, are named without it.
    pub fn line(&self, root: Option<&str>) -> CallLine {
        let value = Json::value_of(&self.arguments).ok();
        let none = Map::new();
        let fields = Fields(value.as_ref().and_then(Value::as_object).unwrap_or(&none));
        let mut line = CallLine::default();
        let mut about: Vec<String> = Vec::new();
        for act in &self.acts {
            match act {
                Act::File(file) => line.count(file),
                Act::OpenFile(change) => line.count(&FileAct::sure(String::new(), change.clone())),
                Act::Tasks(TaskAct::Write { tasks }) => {
                    let done = tasks.iter().filter(|task| task.status == TaskStatus::Done).count();
                    line.tasks = Some((done, tasks.len()));
                }
                _ => {}
            }
            about.extend(about_act(act, fields, root).filter(|text| !text.is_empty()));
        }
        about.dedup();
        if about.is_empty() {
            about.extend(first_text(fields));
        }
        let more = about.len().saturating_sub(FILES_MAX);
        about.truncate(FILES_MAX);
        line.about = about.join(", ").chars().take(ABOUT_CHARS_MAX).collect();
        if more > 0 {
            line.about = format!("{} and {more} more", line.about);
        }
        line
    }
}

impl CallLine {
    fn count(&mut self, file: &FileAct) {
        self.added += file.added_lines().len();
        self.removed += file.removed_lines();
    }
}

fn about_act(act: &Act, fields: Fields<'_>, root: Option<&str>) -> Option<String> {
    let text = |keys: &[&str]| fields.text(keys).map(first_line);
    match act {
        Act::File(FileAct { path, change: FileChange::Move { to }, .. }) => {
            Some(format!("{} → {}", below(root, path), below(root, to)))
        }
        Act::File(file) => Some(below(root, &file.path).to_owned()),
        Act::Command(command) => Some(first_line(&command.line)),
        Act::Follow { handle } => handle.clone(),
        Act::Search => {
            let path = text(PATH).map(|path| below(root, &path).to_owned());
            let place = path.as_ref().filter(|path| Some(path.as_str()) != root);
            let place = place.map(|path| format!(" in {path}")).unwrap_or_default();
            text(PATTERN).map(|pattern| format!("{pattern}{place}")).or(path)
        }
        Act::Fetch => text(URL),
        Act::Tasks(TaskAct::Write { tasks }) => {
            tasks.iter().find(|task| task.status == TaskStatus::Active).map(|task| first_line(&task.text))
        }
        Act::Tasks(TaskAct::Add { text }) => Some(first_line(text)),
        Act::Tasks(TaskAct::Change { id, status, text }) => {
            let status = status.map(|status| format!(" {}", status.as_str())).unwrap_or_default();
            let text = text.as_deref().map(|text| format!(" {}", first_line(text))).unwrap_or_default();
            Some(format!("#{id}{status}{text}"))
        }
        Act::Ask => text(QUESTION).or_else(|| {
            let first = fields.list(&["questions"])?.first()?.as_object()?;
            Fields(first).text(QUESTION).map(first_line)
        }),
        Act::Subagent => text(MISSION),
        Act::Client => text(SKILL),
        Act::OpenFile(_) | Act::Tasks(TaskAct::List) | Act::Think | Act::Unknown => None,
    }
}

/// Returns a path below a directory without that directory.
pub fn below<'p>(root: Option<&str>, path: &'p str) -> &'p str {
    let inner = root.and_then(|root| path.strip_prefix(root)).and_then(|rest| rest.strip_prefix('/'));
    inner.filter(|rest| !rest.is_empty()).unwrap_or(path)
}

/// Returns the first argument that is a text, of a tool that nobody knows.
fn first_text(fields: Fields<'_>) -> Option<String> {
    fields.0.values().find_map(|value| value.as_str()).map(first_line).filter(|text| !text.is_empty())
}

/// Returns the first line of a text that says something, with the number of those that follow.
fn first_line(text: &str) -> String {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
    match lines.count() {
        0 => first,
        1 => format!("{first} … (+1 line)"),
        more => format!("{first} … (+{more} lines)"),
    }
}

#[cfg(test)]
mod tests {
    use stemmata_model::{Entry, EntryId, Part, Role};

    use super::*;
    use crate::tool_use::tool_uses;

    fn line_of(name: &str, arguments: &str) -> CallLine {
        let call = Part::ToolCall {
            call_id: "c".to_owned(),
            name: name.to_owned(),
            arguments: arguments.to_owned(),
        };
        let entries = [Entry::said(EntryId::new("e").expect("a name"), Role::Assistant, vec![call])];
        tool_uses(&entries)[0].line(Some("/w"))
    }

    #[test]
    fn a_call_says_what_it_is_about() {
        for (name, arguments, about) in [
            ("Read", r#"{"file_path":"src/a.rs"}"#, "src/a.rs"),
            ("Read", r#"{"file_path":"/w/src/a.rs"}"#, "src/a.rs"),
            ("Grep", r#"{"pattern":"x","path":"/w"}"#, "x"),
            ("Bash", r#"{"command":"cd x &&\n  make\n"}"#, "cd x && … (+1 line)"),
            ("Grep", r#"{"pattern":"fn main","path":"src"}"#, "fn main in src"),
            ("Task", r#"{"description":"Find the leak","prompt":"…"}"#, "Find the leak"),
            ("WebFetch", r#"{"url":"https://a.example"}"#, "https://a.example"),
            ("AskUserQuestion", r#"{"questions":[{"question":"Which one?"}]}"#, "Which one?"),
            ("TaskUpdate", r#"{"taskId":"3","status":"completed"}"#, "#3 completed"),
            ("mcp__jira__get", r#"{"limit":3,"issue":"A-1"}"#, "A-1"),
            ("Bash", "{}", ""),
            ("move_file", r#"{"path":"a","destination":"b"}"#, "a → b"),
        ] {
            assert_eq!(line_of(name, arguments).about, about, "{name} {arguments}");
        }
    }

    #[test]
    fn a_call_counts_lines_and_tasks() {
        let edit = line_of("Edit", r#"{"file_path":"a","old_string":"x\ny\nz","new_string":"x\nn"}"#);
        assert_eq!((edit.added, edit.removed), (1, 2));
        let patch = "*** Begin Patch\n*** Update File: a.rs\n@@\n-old\n-gone\n+new\n*** Add File: b.rs\n+1\n+2\n*** End Patch";
        let patch = line_of("apply_patch", patch);
        assert_eq!((patch.about.as_str(), patch.added, patch.removed), ("a.rs, b.rs", 3, 2));
        let tasks =
            r#"{"todos":[{"content":"One","status":"completed"},{"content":"Two","status":"in_progress"}]}"#;
        let tasks = line_of("TodoWrite", tasks);
        assert_eq!((tasks.about.as_str(), tasks.tasks), ("Two", Some((1, 2))));
    }
}
