//! What events of a ledger say beside lines: calls, decisions, errors and beginnings, as data. Normative:
//! `docs/format/state.md`.

use serde_json::Value;
use stemmata_acts::error_line;
use stemmata_model::Json;

use super::TURN_CHARS_MAX;
use super::acts;
use super::bounds::Bounds;
use super::items::{Failed, TASK_CHARS_MAX};
use super::pending::ERROR_CHARS_MAX;
use super::phrases::DECISION_CHARS_MAX;
use super::session::SessionMemory;
use super::threads::{THREAD_CHARS_MAX, opened};
use super::v1::{About, By, Decision, Evidence, Kind, Task, TaskList, TaskStatus, ThreadKind};
use super::words::{Words, cut, line};

/// Tasks that one event says are done at most.
const STATUS_TASKS_MAX: usize = 64;

impl SessionMemory {
    pub(super) fn started(&mut self, data: Option<&Json>) {
        let data = data.map(Json::to_value);
        let cwd = data.as_ref().and_then(|data| data.get("cwd")?.as_str());
        if let (None, Some(cwd)) = (&self.state.root, cwd) {
            self.state.root = Some(cut(cwd, TURN_CHARS_MAX));
        }
    }

    pub(super) fn tool_event(&mut self, data: Option<&Json>, proof: &Evidence) {
        let Some(data) = data.map(Json::to_value) else { return };
        let text = |key: &str| data.get(key).and_then(Value::as_str);
        let id = text("call_id").unwrap_or_default();
        if let Some(name) = text("name") {
            let arguments = match data.get("arguments") {
                Some(Value::String(text)) => text.clone(),
                Some(value) => value.to_string(),
                None => String::new(),
            };
            self.call(id, acts::of_call(name, &arguments), true, proof);
        }
        let code = data.get("exit_code").and_then(Value::as_i64);
        let flag = data.get("is_error").and_then(Value::as_bool);
        let output = text("output");
        if code.is_some() || flag.is_some() || output.is_some() {
            let is_error = flag.unwrap_or(false) || code.is_some_and(|code| code != 0);
            self.result(id, is_error, output.unwrap_or_default(), proof);
        }
    }

    pub(super) fn decision_event(&mut self, text: &str, data: Option<&Json>, proof: Evidence) {
        let data = data.map(Json::to_value).unwrap_or_default();
        let field =
            |key: &str| data.get(key).and_then(Value::as_str).map(str::trim).filter(|said| !said.is_empty());
        let Some(says) = field("decision").or_else(|| Some(text.trim()).filter(|text| !text.is_empty()))
        else {
            return;
        };
        let status = match data.get("kind").and_then(Value::as_str) {
            Some("task") => TaskStatus::Open,
            Some("task_done") => TaskStatus::Done,
            Some(kind @ ("thread" | "thread_closed")) => {
                let words = Words::of(says, THREAD_CHARS_MAX);
                let hash = field("hash").map(|hash| cut(hash, THREAD_CHARS_MAX)).or(words.hash);
                let words = Words { text: words.text, hash };
                if kind == "thread" {
                    let thread = opened(ThreadKind::Told, By::Event, words, &proof);
                    self.state.items.open_thread(thread, &Bounds::SESSION);
                } else {
                    self.state.items.close_thread(words, &proof, &Bounds::SESSION);
                }
                return;
            }
            other => {
                let kind = if other == Some("fact") { Kind::Fact } else { Kind::Decision };
                let decision = Decision {
                    reason: field("reason").map(|reason| line(reason, DECISION_CHARS_MAX)),
                    supersedes: field("supersedes").map(|named| Words::reference(named, DECISION_CHARS_MAX)),
                    ..Decision::said(proof, By::Event, kind, Words::of(says, DECISION_CHARS_MAX))
                };
                self.state.items.decide(decision, &Bounds::SESSION);
                return;
            }
        };
        let Words { text, hash } = Words::of(says, TASK_CHARS_MAX);
        // Who ends a task by its shown words says which of those with these words.
        let hash = field("hash").map(|hash| cut(hash, TASK_CHARS_MAX)).or(hash);
        let task = Task { proof, status, list: TaskList::Event, text, hash, id: None };
        self.state.items.task(task, &Bounds::SESSION);
    }

    /// What a turn says that it works on, and which tasks it says are done. What it worked on before is open again, unless that is
    /// done. A done task of which only the id is known has it for its words.
    pub(super) fn status_event(&mut self, data: Option<&Json>, proof: &Evidence) {
        let Some(data) = data.map(Json::to_value) else { return };
        let said = |value: Option<&Value>| {
            let said = value.and_then(Value::as_str).map(str::trim).filter(|said| !said.is_empty());
            said.map(|said| cut(said, TASK_CHARS_MAX))
        };
        let current = data.get("current").and_then(|current| {
            let id = said(current.get("id"))?;
            let words =
                current.get("text").and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty());
            Some((Words::of(words.unwrap_or(&id), TASK_CHARS_MAX), id))
        });
        let done = data.get("completed").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let done: Vec<String> = done.iter().take(STATUS_TASKS_MAX).filter_map(|id| said(Some(id))).collect();
        let tasks = &mut self.state.items.tasks;
        for task in tasks.iter_mut().filter(|task| task.list == TaskList::Event) {
            let Some(id) = &task.id else { continue };
            let status = if done.contains(id) { TaskStatus::Done } else { TaskStatus::Open };
            let is_left = current.as_ref().is_some_and(|(_, current)| current != id);
            let is_changed = match status {
                TaskStatus::Done => task.status != TaskStatus::Done,
                TaskStatus::Open | TaskStatus::Active => is_left && task.status == TaskStatus::Active,
            };
            if is_changed {
                (task.status, task.proof) = (status, proof.clone());
            }
        }
        let known = |tasks: &[Task], id: &String| {
            tasks.iter().any(|task| task.list == TaskList::Event && task.id.as_ref() == Some(id))
        };
        let task = |(Words { text, hash }, id), status| Task {
            proof: proof.clone(),
            status,
            list: TaskList::Event,
            text,
            hash,
            id: Some(id),
        };
        for id in &done {
            if !known(&self.state.items.tasks, id) {
                let named = (Words { hash: None, ..Words::of(id, TASK_CHARS_MAX) }, id.clone());
                self.state.items.task(task(named, TaskStatus::Done), &Bounds::SESSION);
            }
        }
        if let Some((words, id)) = current.filter(|(_, id)| !done.contains(id)) {
            let is_same = |task: &Task| task.list == TaskList::Event && task.id.as_ref() == Some(&id);
            // A turn that says the same again changes nothing.
            let same =
                |one: &Task| is_same(one) && one.text == words.text && one.status == TaskStatus::Active;
            if !self.state.items.tasks.iter().any(same) {
                self.state.items.tasks.retain(|task| !is_same(task));
                self.state.items.task(task((words, id), TaskStatus::Active), &Bounds::SESSION);
            }
        }
    }

    pub(super) fn error_event(&mut self, text: &str, data: Option<&Json>, proof: &Evidence) {
        let data = data.map(Json::to_value).unwrap_or_default();
        let field = |key: &str| data.get(key).and_then(Value::as_str).filter(|said| !said.is_empty());
        let message = field("message").or_else(|| field("error")).unwrap_or(text);
        let parts = field("command").map(acts::parts).filter(|parts| !parts.is_empty());
        let file = field("file").map(|path| line(path, ERROR_CHARS_MAX));
        let subject = match (parts, file) {
            (Some(parts), _) => About::Command { parts },
            (None, Some(path)) => About::File { path: self.below_root(&path) },
            (None, None) => About::Message,
        };
        let message =
            if message.is_empty() { String::new() } else { line(&error_line(message), ERROR_CHARS_MAX) };
        if data.get("resolved").and_then(Value::as_bool) == Some(true) {
            self.state.items.resolve(&subject, &message, proof);
        } else if !message.is_empty() || subject != About::Message {
            let line = field("command").and_then(|line| acts::shown(line, &acts::parts(line)));
            let failed = Failed { subject, text: message, line };
            self.state.items.fail(failed, proof, &Bounds::SESSION);
        }
    }
}
