//! The memory of one session: a fold over its entries and events.
//!
//! What sessions say together is the project's memory.

use stemmata_model::{Entry, Event, Json, NAME_BYTES_MAX, Payload, Role, SessionId, topics};

use super::acts;
use super::bounds::Bounds;
use super::items::{TASK_CHARS_MAX, TASKS_MAX};
use super::phrases;
use super::prose;
use super::said::{Piece, Said};
use super::v1::{At, By, Decision, Evidence, Items, SessionState, Task, TaskList, TaskStatus, TurnSaid};
use super::words::{Words, cut};
use super::{MemoryReducer, PENDING_MAX, TURN_CHARS_MAX, WINDOW_TURNS_MAX};
use crate::reduce::LoadError;

/// Items of a checklist at least: a single box is a figure of speech.
const CHECKLIST_ITEMS_MIN: usize = 2;

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
                    topics::STATUS_EVENT => self.status_event(data.as_ref(), &proof),
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
        self.state.items.prompted(text, &proof, &Bounds::SESSION);
        self.turn(By::User, text, proof);
    }

    pub(super) fn assistant(&mut self, text: &str, proof: Evidence) {
        if text.trim().is_empty() {
            return;
        }
        self.extract(By::Assistant, text, false, &proof);
        self.checklist(text, &proof);
        let prompt = self.state.window.iter().rev().find(|turn| turn.by == By::User);
        let prompt = prompt.map(|turn| turn.proof.ordinal);
        self.state.items.answered(text, prompt, &proof, &Bounds::SESSION);
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
            let decision = Decision::said(proof.clone(), by, found.kind, found.words);
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

    pub(super) fn below_root(&self, path: &str) -> String {
        let below = self.state.root.as_deref().and_then(|root| path.strip_prefix(root.trim_end_matches('/')));
        below
            .and_then(|rest| rest.strip_prefix('/'))
            .filter(|rest| !rest.is_empty())
            .unwrap_or(path)
            .to_owned()
    }
}
