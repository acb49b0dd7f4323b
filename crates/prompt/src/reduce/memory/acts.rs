//! What a tool call is to do, whatever runtime's tool it is.
//!
//! Names and arguments of tools differ; they are read by what they hold. `stemmata_runtimes::edits` reads the lines of edits
//! from the same calls; a test of the engine holds the two together.

use serde_json::{Map, Value};
use stemmata_acts::command;

use super::items::TASKS_MAX;
use super::v1::{Act, How, ShellFile, TaskStatus};
use super::words::{cut, line as one_line};
use super::writes;

/// Acts of one call at most.
const ACTS_MAX: usize = 32;
/// Characters of a path at most; longer ones are no paths that anybody reads.
const PATH_CHARS_MAX: usize = 240;
/// Characters of a tool's name at most.
const NAME_CHARS_MAX: usize = 80;
/// Bytes of a string within code that is looked at.
const LITERAL_BYTES_MAX: usize = 256 * 1024;
/// Characters of a task that are looked at: two long ones may differ only at their ends.
const TASK_CHARS_LOOKED_AT: usize = 16 * 1024;
/// Characters of a command's part at most.
const PART_CHARS_MAX: usize = 160;
/// Characters of a command line at most, where all of it is shown.
const LINE_CHARS_MAX: usize = 160;
/// How a patch begins.
const PATCH: &str = "*** Begin Patch";

/// Returns what a call is to do.
pub(super) fn of_call(name: &str, arguments: &str) -> Vec<Act> {
    let mut acts = match serde_json::from_str::<Value>(arguments) {
        Ok(Value::Object(fields)) => of_fields(name, &fields),
        _ if arguments.contains(PATCH) || name.eq_ignore_ascii_case("exec") => of_code(arguments),
        _ => Vec::new(),
    };
    if acts.is_empty() {
        acts.push(Act::Other { name: cut(name, NAME_CHARS_MAX) });
    }
    acts.truncate(ACTS_MAX);
    acts
}

fn of_fields(name: &str, fields: &Map<String, Value>) -> Vec<Act> {
    let plain: String =
        name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    match plain.as_str() {
        "todowrite" | "writetodos" | "updateplan" | "todo" | "todos" | "settodos" | "updatetodos"
        | "setplan" => {
            return list(fields).into_iter().collect();
        }
        "taskcreate" => return new_task(fields).into_iter().collect(),
        "taskupdate" => return change_task(fields).into_iter().collect(),
        _ => {}
    }
    if plain == "exec"
        && let Some(code) = text(fields, &["input", "code"])
    {
        return of_code(code);
    }
    if let Some(text) = command_of(fields) {
        if text.contains(PATCH) {
            return patch(&text);
        }
        return vec![run(&text)];
    }
    let Some(path) = path_of(fields) else { return Vec::new() };
    let has = |keys: &[&str]| keys.iter().any(|key| fields.contains_key(*key));
    let how = if has(&[
        "old_string",
        "oldText",
        "oldString",
        "old_str",
        "edits",
        "new_source",
        "insert_text",
        "insert_line_text",
    ]) || plain == "notebookedit"
    {
        How::Edited
    } else if matches!(plain.as_str(), "write" | "writefile" | "createfile") || has(&["file_text"]) {
        How::Created
    } else if matches!(
        plain.as_str(),
        "read" | "readfile" | "view" | "viewfile" | "openfile" | "notebookread" | "strreplaceeditor"
    ) {
        How::Read
    } else if matches!(plain.as_str(), "delete" | "deletefile" | "removefile") {
        How::Deleted
    } else {
        return Vec::new();
    };
    vec![Act::Touch { path, how }]
}

fn text<'a>(fields: &'a Map<String, Value>, keys: &[&str]) -> Option<&'a str> {
    keys.iter().find_map(|key| fields.get(*key)?.as_str())
}

fn path_of(fields: &Map<String, Value>) -> Option<String> {
    let found =
        text(fields, &["file_path", "filePath", "path", "notebook_path", "notebookPath", "absolute_path"])?;
    path(found)
}

fn path(text: &str) -> Option<String> {
    let text = text.trim();
    let is_path =
        !text.is_empty() && text.chars().nth(PATH_CHARS_MAX).is_none() && !text.contains(['\n', '\r', '\t']);
    is_path.then(|| text.to_owned())
}

fn command_of(fields: &Map<String, Value>) -> Option<String> {
    // A tool that edits has a subcommand of that name.
    if path_of(fields).is_some() {
        return None;
    }
    ["command", "cmd", "input", "patch", "patchText", "patch_text", "script"].into_iter().find_map(|key| {
        match fields.get(key)? {
            Value::String(text) => Some(text.clone()),
            Value::Array(words) => {
                let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
                // `bash -lc SCRIPT`: the script is the command.
                let script = match words.as_slice() {
                    [shell, flag, script, ..] if shell.ends_with("sh") && flag.starts_with('-') => {
                        (*script).to_owned()
                    }
                    words => words.join(" "),
                };
                Some(script)
            }
            _ => None,
        }
    })
}

/// Returns the parts of a command line that may prove something, cut.
pub(super) fn parts(line: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for part in command::parts(line) {
        let part = cut(&part, PART_CHARS_MAX);
        if !found.contains(&part) {
            found.push(part);
        }
    }
    found
}

/// Returns a command line as it was run, for people, where its parts do not say it: of several nobody knows which failed.
pub(super) fn shown(line: &str, parts: &[String]) -> Option<String> {
    let own = one_line(line.lines().next().unwrap_or_default(), LINE_CHARS_MAX);
    let is_long = line.trim().contains('\n') && !own.ends_with('…');
    let own = if is_long { format!("{own} …") } else { own };
    (parts.len() > 1 && !own.is_empty()).then_some(own)
}

fn run(text: &str) -> Act {
    let parts = parts(text);
    let is_path = |file: &ShellFile| {
        path(&file.path).is_some() && file.to.as_deref().is_none_or(|to| path(to).is_some())
    };
    let files = writes::of(text).into_iter().filter(is_path).collect();
    Act::Run { line: shown(text, &parts), parts, files }
}

fn list(fields: &Map<String, Value>) -> Option<Act> {
    let items = ["todos", "plan", "items", "steps", "tasks"]
        .into_iter()
        .find_map(|key| fields.get(key)?.as_array())?;
    let task = |item: &Value| {
        let fields = item.as_object()?;
        let text = text(fields, &["content", "step", "description", "title", "text", "subject"])?;
        let status = status(fields.get("status").and_then(Value::as_str).unwrap_or("pending"));
        let text = one_line(text, TASK_CHARS_LOOKED_AT);
        (!text.is_empty()).then_some((text, status?))
    };
    Some(Act::List { tasks: items.iter().filter_map(task).take(TASKS_MAX).collect() })
}

/// Returns a status by its name; none for what was given up.
fn status(name: &str) -> Option<TaskStatus> {
    match name.to_ascii_lowercase().replace(['-', ' '], "_").as_str() {
        "completed" | "complete" | "done" | "closed" => Some(TaskStatus::Done),
        "in_progress" | "active" | "inprogress" => Some(TaskStatus::Active),
        "cancelled" | "canceled" | "deleted" | "dropped" => None,
        _ => Some(TaskStatus::Open),
    }
}

fn new_task(fields: &Map<String, Value>) -> Option<Act> {
    let text = one_line(text(fields, &["subject", "title", "description"])?, TASK_CHARS_LOOKED_AT);
    (!text.is_empty()).then_some(Act::NewTask { text })
}

fn change_task(fields: &Map<String, Value>) -> Option<Act> {
    let id = match fields.get("taskId").or_else(|| fields.get("task_id")).or_else(|| fields.get("id"))? {
        Value::String(id) => cut(id, NAME_CHARS_MAX),
        Value::Number(id) => id.to_string(),
        _ => return None,
    };
    let said = fields.get("status").and_then(Value::as_str);
    let read = said.and_then(status);
    Some(Act::ChangeTask { id, status: read, dropped: said.is_some() && read.is_none() })
}

/// Reads a patch as `apply_patch` takes them.
fn patch(text: &str) -> Vec<Act> {
    let mut acts = Vec::new();
    let Some((_, patch)) = text.split_once(PATCH) else { return acts };
    for line in patch.lines() {
        if line.starts_with("*** End Patch") || acts.len() == ACTS_MAX {
            break;
        }
        let of =
            |prefix: &str, how| line.strip_prefix(prefix).and_then(path).map(|path| Act::Touch { path, how });
        if let Some(act) = of("*** Add File: ", How::Created)
            .or_else(|| of("*** Update File: ", How::Edited))
            .or_else(|| of("*** Delete File: ", How::Deleted))
        {
            acts.push(act);
        } else if let Some(Act::Touch { path: to, .. }) = of("*** Move to: ", How::Created) {
            if let Some(Act::Touch { how, .. }) = acts.last_mut() {
                *how = How::Deleted;
            }
            acts.push(Act::Touch { path: to, how: How::Created });
        }
    }
    acts
}

/// Reads a patch, or code that runs commands and applies patches: the strings in it are JSON's, or nearly.
fn of_code(code: &str) -> Vec<Act> {
    if code.trim_start().starts_with(PATCH) {
        return patch(code);
    }
    let mut acts = Vec::new();
    let mut rest = code;
    while let Some(at) = rest.find('"') {
        let (before, from) = rest.split_at(at);
        let Some((text, after)) = literal(from) else { break };
        let key = before.trim_end().trim_end_matches(':').trim_end().trim_end_matches(['"', '\'']);
        if text.contains(PATCH) {
            acts.extend(patch(&text));
        } else if before.trim_end().ends_with(':') && (key.ends_with("cmd") || key.ends_with("command")) {
            acts.push(run(&text));
        }
        rest = after;
        if acts.len() >= ACTS_MAX {
            break;
        }
    }
    acts
}

/// Returns the string that a text begins with, and what comes after it.
fn literal(text: &str) -> Option<(String, &str)> {
    let body = text.strip_prefix('"')?;
    let mut escaped = false;
    let end =
        body.char_indices().take_while(|(at, _)| *at < LITERAL_BYTES_MAX).find_map(|(at, character)| {
            let ends = !escaped && character == '"';
            escaped = !escaped && character == '\\';
            ends.then_some(at)
        })?;
    let (inside, after) = (body.get(..end)?, body.get(end + 1..)?);
    // What is no JSON (an escaped `'`, say) is taken as it stands.
    let read = serde_json::from_str(text.get(..end + 2)?).unwrap_or_else(|_| inside.to_owned());
    Some((read, after))
}
