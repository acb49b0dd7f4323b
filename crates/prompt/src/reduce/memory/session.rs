//! The memory of one session: a fold over its entries and events.
//!
//! What sessions say together is the project's memory.

use std::borrow::Cow;

use stemmata_acts::command::{PARTS_MAX, is_checking};
use stemmata_acts::{Answer, Judged, Outcome, complains_of_files, outcome};
use stemmata_model::{Entry, Event, Json, NAME_BYTES_MAX, Payload, Role, SessionId, topics};

use super::acts;
use super::bounds::Bounds;
use super::families;
use super::items::{Failed, TASK_CHARS_MAX, TASKS_MAX};
use super::phrases;
use super::prose;
use super::said::{Piece, Said};
use super::slips;
use super::v1::{
    About, Act, At, By, Decision, Evidence, How, Items, Kind, Pending, SessionState, ShellFile, Task,
    TaskList, TaskStatus, TurnSaid,
};
use super::words::{Words, cut, line as one_line};
use super::{MemoryReducer, PENDING_MAX, TURN_CHARS_MAX, WINDOW_TURNS_MAX};
use crate::reduce::LoadError;

/// Bytes of what one pending call is to do at most.
const PENDING_BYTES_MAX: usize = 4 * 1024;
/// Characters of an error's line at most.
pub(super) const ERROR_CHARS_MAX: usize = 200;
/// Items of a checklist at least: a single box is a figure of speech.
const CHECKLIST_ITEMS_MIN: usize = 2;

/// Tools that only look: that they find nothing is no error.
const LOOKING_TOOLS: &[&str] = &[
    "grep",
    "glob",
    "ls",
    "webfetch",
    "websearch",
    "taskoutput",
    "list",
    "search",
    "find",
    "wait",
    "write_stdin",
    "bashoutput",
    "askuserquestion",
    "exitplanmode",
    "skill",
    "killshell",
    "toolsearch",
    "readmcpresourcetool",
    "task",
    "agent",
    "view_image",
    "google_web_search",
    "web_fetch",
];

/// Folders whose files nobody means to keep.
const SCRATCH: &[&str] = &["/dev/", "/tmp/", "/private/tmp/", "/var/folders/", "/proc/"];

/// The tool by which a model asks a user.
const ASKING: &str = "AskUserQuestion";

/// The memory of one session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionMemory {
    pub(super) state: SessionState,
}

impl SessionMemory {
    /// Begins with nothing folded in. Paths below the root are kept without it; where none is given, it is the first
    /// directory that an entry names.
    pub fn new(session: &SessionId, root: Option<&str>) -> Self {
        let state = SessionState {
            session: session.as_str().to_owned(),
            tool: None,
            root: root.map(|root| cut(root, TURN_CHARS_MAX)),
            folded: 0,
            last_at: None,
            window: Vec::new(),
            items: Items::default(),
            pending: Vec::new(),
            tracked: 0,
        };
        Self { state }
    }

    /// Says which tool the session was in.
    #[must_use]
    pub fn with_tool(mut self, tool: &str) -> Self {
        self.state.tool = Some(cut(tool, TURN_CHARS_MAX)).filter(|tool| !tool.is_empty());
        self
    }

    /// Returns the tool that the session was in, where that is known.
    pub fn tool(&self) -> Option<&str> {
        self.state.tool.as_deref()
    }

    /// Folds the next entry of a transcript in. The ordinal is its position there.
    pub fn entry(&mut self, entry: &Entry, ordinal: u64) {
        self.state.folded += 1;
        if let Some(said) = Said::of_entry(entry) {
            self.said(&said, ordinal);
        }
    }

    /// Folds the next event of a ledger in; whether it is of this session is the caller's to know.
    pub fn event(&mut self, event: &Event) {
        self.state.folded += 1;
        let ordinal = event.seq.get();
        let topic = event.topic.as_str();
        match &event.payload {
            Payload::Line { line, .. } => {
                let Some(mut said) = Said::of_line(line.as_str()) else { return };
                // The log's time is the one that rises.
                said.at = Some(event.at);
                self.said(&said, ordinal);
            }
            Payload::Plain { text, data } => {
                let proof = self.proof(Some(event.at), ordinal, None);
                let text = text.as_deref().unwrap_or_default();
                match topic {
                    topics::USER_TURN => self.user(text, proof),
                    topics::ASSISTANT_TURN => self.assistant(text, proof),
                    topics::TOOL_EVENT => self.tool_event(data.as_ref(), &proof),
                    topics::DECISION_EVENT => self.decision_event(text, data.as_ref(), proof),
                    topics::ERROR_EVENT => self.error_event(text, data.as_ref(), &proof),
                    topics::SESSION_STARTED => self.started(data.as_ref()),
                    _ => {}
                }
            }
            Payload::Gone(_) => {}
        }
    }

    /// Returns the session's id.
    pub fn session(&self) -> &str {
        &self.state.session
    }

    /// Returns how many entries and events were folded in: of two states of one session the greater one is later.
    pub fn folded(&self) -> u64 {
        self.state.folded
    }

    /// Returns the recent turns.
    pub fn window(&self) -> &[TurnSaid] {
        &self.state.window
    }

    /// Returns what lasts.
    pub fn items(&self) -> &Items {
        &self.state.items
    }

    /// Returns the state: JSON with sorted keys and without floats.
    pub fn save(&self) -> Json {
        Json::of(&serde_json::to_value(&self.state).expect("a state has only text keys"))
    }

    /// Takes a state back that [`save`](Self::save) gave.
    ///
    /// # Errors
    /// [`LoadError`] where it is of another version or is no session's: fold the session anew.
    pub fn load(version: u32, state: &Json) -> Result<Self, LoadError> {
        LoadError::check_version::<MemoryReducer>(version)?;
        let read: SessionState = serde_json::from_str(state.as_str())
            .map_err(|error| LoadError::nonsense::<MemoryReducer>(error.to_string()))?;
        let read = Self::of_state(read)
            .ok_or_else(|| LoadError::nonsense::<MemoryReducer>("it is beyond its bounds"))?;
        if read.save() != *state {
            return Err(LoadError::nonsense::<MemoryReducer>("it does not say what was read from it"));
        }
        Ok(read)
    }

    /// None where a list is longer than any fold leaves it.
    pub(super) fn of_state(state: SessionState) -> Option<Self> {
        let is_bounded = state.window.len() <= WINDOW_TURNS_MAX
            && state.pending.len() <= PENDING_MAX
            && state.items.is_within(&Bounds::SESSION);
        is_bounded.then_some(Self { state })
    }

    pub(super) fn state(&self) -> &SessionState {
        &self.state
    }

    pub(super) fn into_state(self) -> SessionState {
        self.state
    }

    fn proof(
        &mut self,
        at: Option<stemmata_model::Timestamp>,
        ordinal: u64,
        source: Option<&str>,
    ) -> Evidence {
        let at = at.map(At);
        self.state.last_at = self.state.last_at.max(at);
        let source = source.map_or_else(|| ordinal.to_string(), |id| cut(id, NAME_BYTES_MAX));
        // What has no time of its own was said when the last that has one was.
        Evidence { at: at.or(self.state.last_at), session: self.state.session.clone(), ordinal, source }
    }

    fn said(&mut self, said: &Said<'_>, ordinal: u64) {
        let proof = self.proof(said.at, ordinal, said.id.as_deref());
        if let (None, Some(cwd)) = (&self.state.root, &said.cwd) {
            self.state.root = Some(cut(cwd, TURN_CHARS_MAX));
        }
        for piece in &said.pieces {
            match piece {
                Piece::Text(text) => match said.role {
                    Role::User if said.is_main => self.user(text, proof.clone()),
                    Role::Assistant if said.is_main => self.assistant(text, proof.clone()),
                    Role::User | Role::Assistant | Role::System | Role::Tool => {}
                },
                Piece::Summary(text) => self.extract(By::Assistant, text, true, &proof),
                Piece::Call { id, name, arguments } => {
                    self.call(id, acts::of_call(name, arguments), said.is_main, &proof);
                }
                Piece::Result { id, is_error, text } => self.result(id, *is_error, text, &proof),
            }
        }
    }

    pub(super) fn user(&mut self, text: &str, proof: Evidence) {
        let text = prose::theirs(text);
        if text.is_empty() {
            return;
        }
        self.extract(By::User, text, false, &proof);
        self.turn(By::User, text, proof);
    }

    pub(super) fn assistant(&mut self, text: &str, proof: Evidence) {
        if text.trim().is_empty() {
            return;
        }
        self.extract(By::Assistant, text, false, &proof);
        self.checklist(text, &proof);
        self.turn(By::Assistant, text.trim(), proof);
    }

    /// Adds a turn to the window. Of what a model says between its calls the last stays: that is its answer.
    fn turn(&mut self, by: By, text: &str, proof: Evidence) {
        let said = TurnSaid { proof, by, text: cut(text, TURN_CHARS_MAX) };
        let is_resent = |last: &TurnSaid| {
            let (before, now) = (last.text.trim_end_matches('…'), said.text.trim_end_matches('…'));
            now.starts_with(before) || before.starts_with(now)
        };
        match self.state.window.last_mut() {
            Some(last) if by == By::Assistant && last.by == By::Assistant => *last = said,
            // Somebody stopped it and said it again.
            Some(last) if by == By::User && last.by == By::User && is_resent(last) => *last = said,
            _ => self.state.window.push(said),
        }
        if self.state.window.len() > WINDOW_TURNS_MAX {
            self.state.window.remove(0);
        }
    }

    fn extract(&mut self, by: By, text: &str, is_summary: bool, proof: &Evidence) {
        for found in phrases::found(by, text, is_summary) {
            let decision = Decision {
                proof: proof.clone(),
                kind: found.kind,
                by,
                text: found.words.text,
                hash: found.words.hash,
                reason: None,
                supersedes: None,
                superseded: None,
            };
            self.state.items.decide(decision, &Bounds::SESSION);
        }
    }

    fn checklist(&mut self, text: &str, proof: &Evidence) {
        if !text.contains("- [") && !text.contains("* [") {
            return;
        }
        let checks = prose::lines(text).filter_map(|line| match line {
            prose::Line::Check(text, is_done) => Some((text, is_done)),
            _ => None,
        });
        let tasks: Vec<Task> = checks
            .take(TASKS_MAX)
            .map(|(text, is_done)| {
                let Words { text, hash } = Words::of(&prose::plain(text), TASK_CHARS_MAX);
                let status = if is_done { TaskStatus::Done } else { TaskStatus::Open };
                Task { proof: proof.clone(), status, list: TaskList::Checklist, text, hash, id: None }
            })
            .filter(|task| !task.text.is_empty())
            .collect();
        if tasks.len() >= CHECKLIST_ITEMS_MIN {
            self.state.items.list(TaskList::Checklist, tasks, &Bounds::SESSION);
        }
    }

    pub(super) fn call(&mut self, id: &str, acts: Vec<Act>, is_main: bool, proof: &Evidence) {
        let (lists, mut waiting): (Vec<Act>, Vec<Act>) = acts
            .into_iter()
            .partition(|act| matches!(act, Act::List { .. } | Act::NewTask { .. } | Act::ChangeTask { .. }));
        // A subagent's list is its own affair.
        for act in lists.into_iter().filter(|_| is_main) {
            self.track(act, proof);
        }
        while waiting.iter().map(bytes_of).sum::<usize>() > PENDING_BYTES_MAX {
            waiting.pop();
        }
        if waiting.is_empty() {
            return;
        }
        self.state.pending.retain(|pending| pending.call_id != id);
        self.state.pending.push(Pending { call_id: cut(id, TURN_CHARS_MAX), acts: waiting });
        if self.state.pending.len() > PENDING_MAX {
            self.state.pending.remove(0);
        }
    }

    fn track(&mut self, act: Act, proof: &Evidence) {
        let task = |said: String, status: TaskStatus, list: TaskList, id: Option<String>| {
            let Words { text, hash } = Words::of(&said, TASK_CHARS_MAX);
            Task { proof: proof.clone(), status, list, text, hash, id }
        };
        match act {
            Act::List { tasks } => {
                let tasks = tasks
                    .into_iter()
                    .map(|(text, status)| task(text, status, TaskList::Tool, None))
                    .collect();
                self.state.items.list(TaskList::Tool, tasks, &Bounds::SESSION);
            }
            Act::NewTask { text } => {
                // The tool numbers them from one; its answer says so, and no other number.
                self.state.tracked = self.state.tracked.saturating_add(1);
                let id = self.state.tracked.to_string();
                let task = task(text, TaskStatus::Open, TaskList::Tracker, Some(id));
                self.state.items.task(task, &Bounds::SESSION);
            }
            Act::ChangeTask { id, status, dropped } => self.state.items.tracked(&id, status, dropped, proof),
            Act::Run { .. } | Act::Touch { .. } | Act::Other { .. } => {}
        }
    }

    pub(super) fn result(&mut self, id: &str, is_error: bool, text: &str, proof: &Evidence) {
        let Some(at) = self.state.pending.iter().position(|pending| pending.call_id == id) else { return };
        let pending = self.state.pending.remove(at);
        self.ended(pending.acts, is_error, text, proof);
    }

    fn ended(&mut self, acts: Vec<Act>, is_error: bool, text: &str, proof: &Evidence) {
        let is_checking = acts.iter().any(|act| match act {
            Act::Run { parts, .. } => parts.iter().any(|part| is_checking(part)),
            _ => false,
        });
        // Only what a command says tells of its end: what a file says that was read does not.
        let runs = acts.iter().any(|act| matches!(act, Act::Run { .. }));
        let judged = if runs { Judged::Command { is_checking } } else { Judged::Tool };
        let outcome = outcome(judged, &Answer { is_error, text: Cow::Borrowed(text) });
        for act in acts {
            match &outcome {
                Outcome::Passed => self.went_well(act, text, proof),
                Outcome::Failed { why } => self.failed(act, &one_line(why, ERROR_CHARS_MAX), proof),
                Outcome::Open
                | Outcome::Refused
                | Outcome::Stopped
                | Outcome::Running { .. }
                | Outcome::Unclear => {}
            }
        }
    }

    fn went_well(&mut self, act: Act, text: &str, proof: &Evidence) {
        let bounds = &Bounds::SESSION;
        match act {
            Act::Touch { path, how } => {
                let path = self.below_root(&path);
                let is_known = self.state.items.knows(&path)
                    || text.contains("has been updated")
                    || text.contains("overwr");
                let how = if how == How::Created && is_known { How::Edited } else { how };
                if how != How::Read {
                    self.state.items.succeed(About::File { path: path.clone() }, proof, bounds);
                }
                self.state.items.touch(path, how, proof, bounds);
            }
            Act::Run { mut parts, files, .. } => {
                if !complains_of_files(text) {
                    self.shell_files(files, proof);
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
            Act::Other { name } => {
                if name == ASKING {
                    self.answers(text, proof);
                }
                self.state.items.succeed(About::Tool { name }, proof, bounds);
            }
            Act::List { .. } | Act::NewTask { .. } | Act::ChangeTask { .. } => {}
        }
    }

    fn shell_files(&mut self, files: Vec<ShellFile>, proof: &Evidence) {
        let bounds = &Bounds::SESSION;
        for file in files {
            let path = self.below_root(&file.path);
            let to = file.to.map(|to| self.below_root(&to));
            let is_scratch = |path: &str| SCRATCH.iter().any(|folder| path.starts_with(folder));
            let is_known = |items: &Items, path: &str| items.knows(path);
            if !is_scratch(&path) {
                let how = match file.how {
                    How::Created if is_known(&self.state.items, &path) => How::Edited,
                    how => how,
                };
                self.state.items.touch(path.clone(), how, proof, bounds);
            }
            if let Some(to) = to.filter(|to| !is_scratch(to)) {
                let how = if is_known(&self.state.items, &to) { How::Edited } else { How::Created };
                self.state.items.moved(&path, to.clone());
                self.state.items.touch(to, how, proof, bounds);
            }
        }
    }

    /// What a user answered to a question with choices is decided.
    fn answers(&mut self, text: &str, proof: &Evidence) {
        for answer in phrases::answers(text) {
            let decision = Decision {
                proof: proof.clone(),
                kind: Kind::Decision,
                by: By::User,
                text: answer.text,
                hash: answer.hash,
                reason: None,
                supersedes: None,
                superseded: None,
            };
            self.state.items.decide(decision, &Bounds::SESSION);
        }
    }

    fn failed(&mut self, act: Act, why: &str, proof: &Evidence) {
        if slips::is_slip(why) {
            return;
        }
        let mut line = None;
        let subject = match act {
            Act::Touch { how: How::Read, .. }
            | Act::List { .. }
            | Act::NewTask { .. }
            | Act::ChangeTask { .. } => return,
            Act::Touch { path, .. } => About::File { path: self.below_root(&path) },
            Act::Run { parts, .. } if parts.is_empty() => return,
            Act::Run { parts, line: shown, .. } => {
                line = shown;
                About::Command { parts }
            }
            Act::Other { name } => {
                if LOOKING_TOOLS.contains(&name.to_ascii_lowercase().as_str()) {
                    return;
                }
                About::Tool { name }
            }
        };
        let failed = Failed { subject, text: why.to_owned(), line };
        self.state.items.fail(failed, proof, &Bounds::SESSION);
    }

    pub(super) fn below_root(&self, path: &str) -> String {
        let below = self.state.root.as_deref().and_then(|root| path.strip_prefix(root.trim_end_matches('/')));
        below
            .and_then(|rest| rest.strip_prefix('/'))
            .filter(|rest| !rest.is_empty())
            .unwrap_or(path)
            .to_owned()
    }
}

fn bytes_of(act: &Act) -> usize {
    match act {
        Act::Run { parts, line, files } => {
            let paths = files.iter().flat_map(|file| [Some(&file.path), file.to.as_ref()]);
            parts.iter().chain(line).chain(paths.flatten()).map(String::len).sum()
        }
        Act::Touch { path, .. } => path.len(),
        Act::Other { name } => name.len(),
        Act::List { .. } | Act::NewTask { .. } | Act::ChangeTask { .. } => 0,
    }
}
