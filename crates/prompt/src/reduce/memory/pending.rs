//! Calls that wait for their results, and what counts once those are there.
//!
//! What a call does is read elsewhere.

use std::borrow::Cow;

use stemmata_acts::command::{PARTS_MAX, is_checking};
use stemmata_acts::{
    Answer, Judged, Outcome, TaskAct, TaskStatus as Said, complains_of_files, id_in, listed_in, opened_file,
    outcome,
};

use super::acts::Reading;
use super::bounds::Bounds;
use super::families;
use super::items::{Failed, TASK_CHARS_MAX, TASKS_MAX};
use super::phrases;
use super::session::SessionMemory;
use super::slips;
use super::v1::{
    About, By, Decision, Evidence, FileWaiting, How, Kind, Pending, Task, TaskList, TaskStatus, Waiting,
};
use super::words::{Words, cut, line as one_line};
use super::{PENDING_MAX, TURN_CHARS_MAX};

/// Characters of an error's line at most.
pub(super) const ERROR_CHARS_MAX: usize = 200;
/// Bytes of what one pending call is to do at most.
const PENDING_BYTES_MAX: usize = 4 * 1024;

impl SessionMemory {
    pub(super) fn call(&mut self, id: &str, reading: Reading, is_main: bool, proof: &Evidence) {
        let Reading { tasks, mut waiting, follows } = reading;
        // A subagent's list is its own affair.
        let tracked = tasks.into_iter().filter(|_| is_main).filter_map(|act| self.track(act, proof));
        waiting.extend(tracked.collect::<Vec<_>>());
        while waiting.iter().map(bytes_of).sum::<usize>() > PENDING_BYTES_MAX {
            waiting.pop();
        }
        if !waiting.is_empty() || follows.is_some() {
            self.wait(Pending { call_id: cut(id, TURN_CHARS_MAX), handle: follows, acts: waiting });
        }
    }

    fn wait(&mut self, pending: Pending) {
        self.state.pending.retain(|other| other.call_id != pending.call_id);
        self.state.pending.push(pending);
        if self.state.pending.len() > PENDING_MAX {
            self.state.pending.remove(0);
        }
    }

    /// Takes up what a call does to tasks, and returns what its result will add to it.
    fn track(&mut self, act: TaskAct, proof: &Evidence) -> Option<Waiting> {
        match act {
            TaskAct::Write { tasks } => {
                let tasks = tasks.into_iter().take(TASKS_MAX);
                let tasks = tasks.filter_map(|one| task(&one, TaskList::Tool, proof)).collect();
                self.state.items.list(TaskList::Tool, tasks, &Bounds::SESSION);
                None
            }
            TaskAct::Add { text } => {
                self.state.tracked = self.state.tracked.saturating_add(1);
                let id = self.state.tracked.to_string();
                let added = stemmata_acts::Task { id: Some(id.clone()), text, status: Said::Open };
                self.state.items.task(task(&added, TaskList::Tracker, proof)?, &Bounds::SESSION);
                Some(Waiting::Task { id })
            }
            TaskAct::Change { id, status, .. } => {
                let known = status.and_then(status_of);
                self.state.items.tracked(&id, known, status == Some(Said::Dropped), proof);
                None
            }
            TaskAct::List => Some(Waiting::ListTasks),
        }
    }

    /// Takes up the result of a call, also of one that waited for what another one began.
    pub(super) fn result(&mut self, id: &str, is_error: bool, text: &str, proof: &Evidence) {
        let Some(at) = self.state.pending.iter().position(|pending| pending.call_id == id) else { return };
        let mut pending = self.state.pending.remove(at);
        if pending.acts.is_empty() {
            let is_meant = |one: &Pending| one.handle == pending.handle && !one.acts.is_empty();
            let Some(at) = self.state.pending.iter().position(is_meant) else { return };
            pending = self.state.pending.remove(at);
        }
        let outcome = outcome(judged(&pending.acts), &Answer { is_error, text: Cow::Borrowed(text) });
        match outcome {
            Outcome::Running { handle } => {
                let handle = pending.handle.or(handle.map(|handle| cut(&handle, TURN_CHARS_MAX)));
                self.wait(Pending { handle, ..pending });
            }
            Outcome::Passed => pending.acts.into_iter().for_each(|act| self.went_well(act, text, proof)),
            Outcome::Failed { why } => {
                let why = one_line(&why, ERROR_CHARS_MAX);
                pending.acts.into_iter().for_each(|act| self.failed(act, &why, proof));
            }
            Outcome::Open | Outcome::Refused | Outcome::Stopped | Outcome::Unclear => {}
        }
    }

    fn went_well(&mut self, act: Waiting, text: &str, proof: &Evidence) {
        let bounds = &Bounds::SESSION;
        match act {
            Waiting::Touch(mut file) => {
                if file.path.is_empty() {
                    let Some(path) = opened_file(text) else { return };
                    file.path = path;
                }
                let was_there = text.contains("has been updated") || text.contains("overwr");
                if file.how != How::Read {
                    let path = self.below_root(&file.path);
                    self.state.items.succeed(About::File { path }, proof, bounds);
                }
                self.touched(file, was_there, proof);
            }
            Waiting::Run { mut parts, files, .. } => {
                if !complains_of_files(text) {
                    for file in files {
                        self.touched(file, false, proof);
                    }
                }
                for part in families::shown(&parts, text) {
                    if parts.len() < 2 * PARTS_MAX && !parts.contains(&part) {
                        parts.push(part);
                    }
                }
                if !parts.is_empty() {
                    self.state.items.succeed(About::Command { parts }, proof, bounds);
                }
            }
            Waiting::Task { id } => self.numbered(&id, text),
            Waiting::ListTasks => {
                let Some(tasks) = listed_in(text) else { return };
                let numbers = tasks.iter().filter_map(|one| one.id.as_ref()?.parse().ok());
                self.state.tracked = numbers.fold(self.state.tracked, u32::max);
                let tasks = tasks.iter().take(TASKS_MAX);
                let tasks = tasks.filter_map(|one| task(one, TaskList::Tracker, proof)).collect();
                self.state.items.list(TaskList::Tracker, tasks, bounds);
            }
            Waiting::Ask => self.answers(text, proof),
            Waiting::Other { name } => self.state.items.succeed(About::Tool { name }, proof, bounds),
        }
    }

    fn touched(&mut self, file: FileWaiting, was_there: bool, proof: &Evidence) {
        let bounds = &Bounds::SESSION;
        let path = self.below_root(&file.path);
        let is_known = was_there || self.state.items.knows(&path);
        let how = if file.how == How::Created && is_known { How::Edited } else { file.how };
        self.state.items.touch(path.clone(), how, proof, bounds);
        if let Some(to) = file.to.map(|to| self.below_root(&to)) {
            let how = if self.state.items.knows(&to) { How::Edited } else { How::Created };
            self.state.items.moved(&path, to.clone());
            self.state.items.touch(to, how, proof, bounds);
        }
    }

    /// Gives a task the id that the tracker's answer says.
    fn numbered(&mut self, given: &str, text: &str) {
        let Some(id) = id_in(text).filter(|id| id != given) else { return };
        self.state.tracked = self.state.tracked.max(id.parse().unwrap_or(0));
        let has = |task: &Task, id: &str| task.list == TaskList::Tracker && task.id.as_deref() == Some(id);
        let mut waiting = self.state.pending.iter_mut().flat_map(|pending| &mut pending.acts);
        let other = waiting.find(|act| matches!(act, Waiting::Task { id: other } if *other == id));
        let tasks = &mut self.state.items.tasks;
        let own = tasks.iter().position(|task| has(task, given));
        match other {
            // Answers come in any order.
            Some(other) => {
                *other = Waiting::Task { id: given.to_owned() };
                if let Some(task) = tasks.iter_mut().find(|task| has(task, &id)) {
                    task.id = Some(given.to_owned());
                }
            }
            // A tracker that begins anew counts from one again.
            None => tasks.iter_mut().filter(|task| has(task, &id)).for_each(|task| task.id = None),
        }
        if let Some(task) = own.and_then(|at| tasks.get_mut(at)) {
            task.id = Some(id);
        }
        tasks.retain(|task| task.list != TaskList::Tracker || task.id.is_some());
    }

    /// What a user answered to a question with choices is decided.
    fn answers(&mut self, text: &str, proof: &Evidence) {
        for answer in phrases::answers(text) {
            let decision = Decision::said(proof.clone(), By::User, Kind::Decision, answer);
            self.state.items.decide(decision, &Bounds::SESSION);
        }
    }

    fn failed(&mut self, act: Waiting, why: &str, proof: &Evidence) {
        if slips::is_slip(why) {
            return;
        }
        let (subject, line) = match act {
            Waiting::Touch(file) if file.how != How::Read && !file.path.is_empty() => {
                (About::File { path: self.below_root(&file.path) }, None)
            }
            Waiting::Run { parts, line, .. } if !parts.is_empty() => (About::Command { parts }, line),
            Waiting::Other { name } => (About::Tool { name }, None),
            // A tracker that refuses a task has none of it.
            Waiting::Task { id } => return self.state.items.tracked(&id, None, true, proof),
            Waiting::Touch(_) | Waiting::Run { .. } | Waiting::ListTasks | Waiting::Ask => return,
        };
        let failed = Failed { subject, text: why.to_owned(), line };
        self.state.items.fail(failed, proof, &Bounds::SESSION);
    }
}

/// Only what a command says tells of its end: what a file says that was read does not.
fn judged(acts: &[Waiting]) -> Judged {
    let runs = acts.iter().filter_map(|act| match act {
        Waiting::Run { parts, .. } => Some(parts.iter().any(|part| is_checking(part))),
        _ => None,
    });
    match runs.reduce(|one, other| one || other) {
        Some(is_checking) => Judged::Command { is_checking },
        None if acts.iter().any(|act| matches!(act, Waiting::Touch(file) if file.how != How::Read)) => {
            Judged::Change
        }
        None => Judged::Tool,
    }
}

/// Returns a task as it is kept; none where it was given up, or says nothing.
fn task(said: &stemmata_acts::Task, list: TaskList, proof: &Evidence) -> Option<Task> {
    let Words { text, hash } = Words::of(&said.text, TASK_CHARS_MAX);
    let status = status_of(said.status)?;
    let task = Task { proof: proof.clone(), status, list, text, hash, id: said.id.clone() };
    (!task.text.is_empty()).then_some(task)
}

fn status_of(said: Said) -> Option<TaskStatus> {
    match said {
        Said::Open => Some(TaskStatus::Open),
        Said::Active => Some(TaskStatus::Active),
        Said::Done => Some(TaskStatus::Done),
        Said::Dropped => None,
    }
}

fn bytes_of(act: &Waiting) -> usize {
    let of_file = |file: &FileWaiting| file.path.len() + file.to.as_ref().map_or(0, String::len);
    match act {
        Waiting::Run { parts, line, files } => {
            let texts = parts.iter().chain(line).map(String::len);
            texts.chain(files.iter().map(of_file)).sum()
        }
        Waiting::Touch(file) => of_file(file),
        Waiting::Other { name: text } | Waiting::Task { id: text } => text.len(),
        Waiting::ListTasks | Waiting::Ask => 0,
    }
}
