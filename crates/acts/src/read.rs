//! What a call does, from its name and its arguments.
//!
//! Known tools are read by what they are for; others by what their arguments hold, so that home-made agents are read too.

use std::borrow::Cow;

use serde_json::{Map, Value};
use stemmata_model::{Json, Part};

use crate::act::{Act, CommandAct, FileAct, FileChange, Reach, Replaced, Task, TaskAct, TaskStatus};
use crate::code;
use crate::editor;
use crate::fields::{
    COMMAND, EDITS, FOLDER, Fields, HANDLE, INPUT, INSERT, NEW, NEW_TASK_TEXT, OLD, PATHS, TARGET, TASK_ID,
    TASK_TEXT, TASKS, WHOLE, path,
};
use crate::patch;
use crate::tools::{Verb, verb};

/// Acts of one call at most: a patch may change many files, and nobody reads more.
pub(crate) const ACTS_MAX: usize = 1_024;
/// Parts of an answer that are looked at.
const ANSWER_PARTS_MAX: usize = 64;

/// A tool call, as a transcript or a ledger gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call<'a> {
    /// The tool, as the runtime spells it.
    pub name: &'a str,
    /// JSON text; a patch or code where a tool takes text.
    pub arguments: &'a str,
}

/// What a call returned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer<'a> {
    /// Whether the runtime says that it failed.
    pub is_error: bool,
    /// Its texts, one after the other.
    pub text: Cow<'a, str>,
}

impl<'a> Answer<'a> {
    /// Takes the texts of a result's parts; one text is not copied.
    pub fn of(is_error: bool, parts: &'a [Part]) -> Self {
        let texts = parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(Cow::Borrowed(text.as_str())),
            _ => None,
        });
        Self { is_error, text: Self::joined(texts) }
    }

    /// Joins texts of an answer.
    pub fn joined(texts: impl Iterator<Item = Cow<'a, str>>) -> Cow<'a, str> {
        let texts = texts.take(ANSWER_PARTS_MAX);
        texts.reduce(|before, next| Cow::Owned(format!("{before}\n{next}"))).unwrap_or_default()
    }
}

/// Returns what a call does, in its order. Never empty.
pub fn acts(call: Call<'_>) -> Vec<Act> {
    let found = match Json::value_of(call.arguments) {
        Ok(Value::Object(fields)) => of_fields(call.name, Fields(&fields), true),
        _ => of_text(verb(call.name), call.arguments, true),
    };
    known(found)
}

fn known(mut found: Vec<Act>) -> Vec<Act> {
    found.truncate(ACTS_MAX);
    if found.is_empty() {
        found.push(Act::Unknown);
    }
    found
}

/// Reads a patch, or code that makes calls; code within code is not read.
fn of_text(verb: Option<Verb>, text: &str, is_outer: bool) -> Vec<Act> {
    let has_patch = text.contains(patch::BEGIN);
    if has_patch && (verb != Some(Verb::Code) || text.trim_start().starts_with(patch::BEGIN)) {
        return patch::files(text).into_iter().map(Act::File).collect();
    }
    if verb != Some(Verb::Code) || !is_outer {
        return Vec::new();
    }
    let nested = code::calls(text).into_iter().flat_map(|call| {
        known(match &call.arguments {
            Value::Object(fields) => of_fields(&call.name, Fields(fields), false),
            Value::String(text) => of_text(crate::tools::verb(&call.name), text, false),
            _ => of_fields(&call.name, Fields(&Map::new()), false),
        })
    });
    let mut found: Vec<Act> = nested.take(ACTS_MAX).collect();
    // What is known of the code is what it does.
    if found.iter().any(|act| *act != Act::Unknown) {
        found.retain(|act| *act != Act::Unknown);
    }
    // Code that calls nothing looks at its own tools.
    if found.is_empty() { vec![Act::Client] } else { found }
}

fn of_fields(name: &str, fields: Fields<'_>, is_outer: bool) -> Vec<Act> {
    let verb = verb(name);
    if verb == Some(Verb::Code)
        && let Some(code) = fields.text(&["input", "code"])
    {
        return of_text(verb, code, is_outer);
    }
    let found = verb.map(|verb| of_verb(verb, fields)).unwrap_or_default();
    if found.is_empty() { by_fields(fields) } else { found }
}

fn of_verb(verb: Verb, fields: Fields<'_>) -> Vec<Act> {
    let file = |path: Option<String>, change| path.map(|path| Act::File(FileAct::sure(path, change)));
    let one = match verb {
        Verb::Shell | Verb::Code | Verb::Patch => return run_or_patch(fields),
        Verb::Changes => return changes(fields),
        Verb::Follow => Some(Act::Follow { handle: fields.id(HANDLE) }),
        Verb::Read => return read(fields),
        Verb::Write => file(fields.path(), FileChange::Write { text: whole(fields) }),
        Verb::Edit if fields.path().is_none() && fields.has(OLD) => Some(Act::OpenFile(edit(fields))),
        Verb::Edit => file(fields.path(), edit(fields)),
        Verb::Editor => match fields.text(&["command"]) {
            Some("view") => file(fields.path(), FileChange::Read),
            Some("create") => file(fields.path(), FileChange::Write { text: whole(fields) }),
            Some("str_replace" | "insert") => file(fields.path(), edit(fields)),
            _ => None,
        },
        Verb::Delete => file(fields.path(), FileChange::Delete),
        Verb::Move => {
            fields.text(TARGET).and_then(path).and_then(|to| file(fields.path(), FileChange::Move { to }))
        }
        Verb::FindFiles | Verb::FindText | Verb::ListFolder | Verb::SearchWeb => Some(Act::Search),
        Verb::Fetch => Some(Act::Fetch),
        Verb::WriteTasks => Some(Act::Tasks(list(fields))),
        Verb::AddTask => {
            let text = fields.text(NEW_TASK_TEXT).map(str::trim).filter(|text| !text.is_empty());
            text.map(|text| Act::Tasks(TaskAct::Add { text: text.to_owned() }))
        }
        Verb::ChangeTask => fields.id(TASK_ID).map(|id| {
            let status = fields.text(&["status"]).map(TaskStatus::read);
            let text = fields.text(&["subject", "title"]).map(str::to_owned);
            Act::Tasks(TaskAct::Change { id, status, text })
        }),
        Verb::ListTasks => Some(Act::Tasks(TaskAct::List)),
        Verb::Ask | Verb::Approve => Some(Act::Ask),
        Verb::Subagent => Some(Act::Subagent),
        Verb::Think => Some(Act::Think),
        Verb::Client => Some(Act::Client),
    };
    one.into_iter().collect()
}

/// Reads what a tool does that nobody knows.
fn by_fields(fields: Fields<'_>) -> Vec<Act> {
    let Some(path) = fields.path() else { return run_or_patch(fields) };
    let has_patch = fields.line(INPUT).filter(|text| text.contains(patch::BEGIN));
    if let Some(text) = has_patch {
        return patch::files(&text).into_iter().map(Act::File).collect();
    }
    let change = if fields.has(OLD) || fields.has(EDITS) || fields.has(INSERT) {
        edit(fields)
    } else if fields.has(&["file_text"]) {
        FileChange::Write { text: whole(fields) }
    } else {
        // A tool that looks for text may call it content.
        return Vec::new();
    };
    vec![Act::File(FileAct::sure(path, change))]
}

fn run_or_patch(fields: Fields<'_>) -> Vec<Act> {
    if let Some(text) = fields.line(INPUT).filter(|text| text.contains(patch::BEGIN)) {
        return patch::files(&text).into_iter().map(Act::File).collect();
    }
    // `local_shell` has its command one level deeper.
    let action = || Fields(fields.0.get("action")?.as_object()?).line(COMMAND);
    let line = fields.line(COMMAND).or_else(action);
    let Some(line) = line.filter(|line| !line.trim().is_empty()) else { return Vec::new() };
    if let Some(act) = editor::act(&line) {
        return vec![act];
    }
    vec![Act::Command(CommandAct { line, folder: fields.text(FOLDER).and_then(path) })]
}

fn read(fields: Fields<'_>) -> Vec<Act> {
    let listed = fields.list(PATHS).unwrap_or_default().iter().filter_map(|item| path(item.as_str()?));
    let paths: Vec<String> = fields.path().map_or_else(|| listed.collect(), |path| vec![path]);
    let file = |path: String| {
        let reach = if path.contains(['*', '?', '[']) { Reach::Pattern } else { Reach::File };
        Act::File(FileAct { reach, ..FileAct::sure(path, FileChange::Read) })
    };
    paths.into_iter().map(file).collect()
}

/// Reads files with the kind of change for each, and no text.
fn changes(fields: Fields<'_>) -> Vec<Act> {
    let one = |item: &Value| {
        let fields = Fields(item.as_object()?);
        let change = match fields.text(&["kind"])? {
            "add" => FileChange::Write { text: None },
            "delete" => FileChange::Delete,
            _ => FileChange::Edit { parts: Vec::new() },
        };
        Some(Act::File(FileAct::sure(fields.path()?, change)))
    };
    fields.list(&["changes"]).unwrap_or_default().iter().filter_map(one).take(ACTS_MAX).collect()
}

fn whole(fields: Fields<'_>) -> Option<String> {
    fields.text(WHOLE).map(str::to_owned)
}

fn edit(fields: Fields<'_>) -> FileChange {
    let replaced = |fields: Fields<'_>| {
        let (old, new) = (fields.text(OLD), fields.text(NEW));
        let owned = |text: Option<&str>| text.unwrap_or_default().to_owned();
        old.or(new).map(|_| Replaced { old: owned(old), new: owned(new), dropped_lines: 0 })
    };
    let mut parts: Vec<Replaced> = match fields.list(EDITS) {
        Some(many) => many.iter().filter_map(|one| replaced(Fields(one.as_object()?))).collect(),
        None => replaced(fields).into_iter().collect(),
    };
    let inserted = fields.text(INSERT).map(str::to_owned);
    parts.extend(inserted.map(|new| Replaced { new, ..Replaced::default() }));
    FileChange::Edit { parts }
}

fn list(fields: Fields<'_>) -> TaskAct {
    let Some(items) = fields.list(TASKS) else { return TaskAct::List };
    let task = |item: &Value| {
        let fields = Fields(item.as_object()?);
        let text = fields.text(TASK_TEXT).map(str::trim).filter(|text| !text.is_empty())?;
        let status = fields.text(&["status"]).map_or(TaskStatus::Open, TaskStatus::read);
        let is_done = fields.0.get("completed").and_then(Value::as_bool) == Some(true);
        let status = if is_done { TaskStatus::Done } else { status };
        Some(Task { id: None, text: text.to_owned(), status })
    };
    TaskAct::Write { tasks: items.iter().filter_map(task).take(ACTS_MAX).collect() }
}

#[cfg(test)]
mod tests;
