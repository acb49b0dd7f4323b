//! Kept prompts: what a session was told in its last turns, for `context debug` and for what the next prompt shares with it.
//!
//! They hold words of events, so their names begin with what forgetting drops.

use stemmata_model::{EventSeq, Json, LedgerId, Note, NoteCode, SessionId};
use stemmata_prompt::assemble::v1::Trace;
use stemmata_store::{Ledger, SavedState};

use super::v1::{self, KEPT_VERSION};
use crate::engine::Engine;
use crate::error::Result;
use crate::ledger::line_name;

/// Turns of a session whose prompts are kept: one to show, and one to compare it with.
pub const KEPT_TURNS_MAX: usize = 2;

/// Bytes of a session's kept prompts at most, as JSON. Beyond it the text of the older one goes first.
pub const KEPT_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Sessions of a ledger that keep prompts and states of lines at most; the ones that were silent longest lose theirs.
pub const KEPT_SESSIONS_MAX: usize = 64;

/// Which sessions keep something. Forgetting drops it with what they keep.
const SESSIONS: &str = "memory-kept";

/// The prompt of a turn that was kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptPrompt {
    /// The event that began the turn.
    pub said: EventSeq,
    /// The prompt, or `None` if it was too long to keep.
    pub text: Option<String>,
    /// How it came to be.
    pub trace: Trace,
}

/// The prompts before a turn, and the ledger's epoch before any of it was read.
pub(super) struct KeptBefore {
    pub(super) prompts: Vec<KeptPrompt>,
    epoch: u64,
}

impl Engine {
    /// Returns the kept prompts of a session, the newest last, at most [`KEPT_TURNS_MAX`]. There are none if no turn asked
    /// for a prompt, if [`KEPT_SESSIONS_MAX`] other sessions kept one since, or after something of the ledger was forgotten.
    ///
    /// # Errors
    /// Store errors.
    pub fn kept_prompts(&self, ledger: &LedgerId, session: &SessionId) -> Result<Vec<KeptPrompt>> {
        let name = prompt_name(session);
        let saved = self.log.saved_states(ledger, &name)?.into_iter().find(|saved| saved.name == name);
        let saved = saved.filter(|saved| saved.version == KEPT_VERSION);
        let kept: v1::Prompts =
            saved.and_then(|saved| serde_json::from_str(saved.state.as_str()).ok()).unwrap_or_default();
        let prompt = |turn: v1::Turn| {
            Some(KeptPrompt { said: EventSeq::new(turn.said)?, text: turn.text, trace: turn.trace })
        };
        Ok(kept.turns.into_iter().filter_map(prompt).collect())
    }

    /// Returns the sessions of which prompts were kept, the one of the newest prompt last.
    ///
    /// # Errors
    /// Store errors.
    pub fn kept_sessions(&self, ledger: &LedgerId) -> Result<Vec<SessionId>> {
        let sessions = self.sessions_kept(ledger)?.sessions.into_iter();
        Ok(sessions.filter_map(|name| SessionId::new(name).ok()).collect())
    }

    fn sessions_kept(&self, ledger: &LedgerId) -> Result<v1::Sessions> {
        let saved = self.log.saved_states(ledger, SESSIONS)?.into_iter().find(|saved| saved.name == SESSIONS);
        Ok(saved.and_then(|saved| serde_json::from_str(saved.state.as_str()).ok()).unwrap_or_default())
    }

    /// Returns what was kept before a turn; what an earlier try of it kept is left out.
    pub(super) fn kept_before(
        &self,
        ledger: &LedgerId,
        session: &SessionId,
        said: EventSeq,
    ) -> Result<KeptBefore> {
        let epoch = self.log.ledger(ledger)?.map_or(0, |known| known.epoch);
        let mut prompts = self.kept_prompts(ledger, session)?;
        prompts.retain(|kept| kept.said < said);
        Ok(KeptBefore { prompts, epoch })
    }

    /// Keeps the newest prompts of a session, and says where they are too long for that.
    pub(super) fn keep_prompts(
        &self,
        ledger: &LedgerId,
        session: &SessionId,
        kept: KeptBefore,
    ) -> Result<Option<Note>> {
        let KeptBefore { mut prompts, epoch } = kept;
        let surplus = prompts.len().saturating_sub(KEPT_TURNS_MAX);
        prompts.drain(..surplus);
        let turn = |kept: KeptPrompt| v1::Turn { said: kept.said.get(), text: kept.text, trace: kept.trace };
        let mut kept = v1::Prompts { turns: prompts.into_iter().map(turn).collect() };
        let mut state = json(&kept);
        let mut note = None;
        while state.as_str().len() > KEPT_BYTES_MAX {
            let message =
                format!("the prompt is longer than the {KEPT_BYTES_MAX} bytes that are kept of a session");
            note = Some(Note::new(NoteCode::TooLarge, message));
            // The older text first, then the older turn, then the newer text, then all.
            match kept.turns.iter_mut().find(|turn| turn.text.is_some()) {
                Some(turn) => turn.text = None,
                None => drop(kept.turns.remove(0)),
            }
            state = json(&kept);
        }
        let name = prompt_name(session);
        let through = kept.turns.last().map_or(0, |turn| turn.said);
        let state = SavedState { name, version: KEPT_VERSION, through, position: None, state };
        self.keep_states(ledger, epoch, session, vec![state])?;
        Ok(note)
    }

    /// Keeps states of a session that hold words of a ledger read at an epoch; the session that was silent longest loses its
    /// own where there are too many. Nothing is kept where something was forgotten meanwhile.
    pub(crate) fn keep_of_session(
        &self,
        ledger: &Ledger,
        session: &SessionId,
        states: Vec<SavedState>,
    ) -> Result<()> {
        self.keep_states(&ledger.id, ledger.epoch, session, states)
    }

    fn keep_states(
        &self,
        ledger: &LedgerId,
        epoch: u64,
        session: &SessionId,
        mut states: Vec<SavedState>,
    ) -> Result<()> {
        let mut sessions = self.sessions_kept(ledger)?.sessions;
        if sessions.last().map(String::as_str) != Some(session.as_str()) {
            sessions.retain(|known| known != session.as_str());
            sessions.push(session.as_str().to_owned());
            let surplus = sessions.len().saturating_sub(KEPT_SESSIONS_MAX);
            let silent = sessions.drain(..surplus).filter_map(|name| SessionId::new(name).ok());
            // An empty state takes the place of what it was: dropping it would disturb every fold that is under way.
            let through = states.iter().map(|state| state.through).max().unwrap_or_default();
            let empty = |name| SavedState {
                name,
                version: KEPT_VERSION,
                through,
                position: None,
                state: json(&v1::Prompts::default()),
            };
            states.extend(silent.flat_map(|silent| [prompt_name(&silent), line_name(&silent)].map(empty)));
            let state = json(&v1::Sessions { sessions });
            let name = SESSIONS.to_owned();
            states.push(SavedState { name, version: KEPT_VERSION, through, position: None, state });
        }
        self.keep_folded(ledger, epoch, states).map(drop)
    }
}

fn prompt_name(session: &SessionId) -> String {
    format!("memory-prompt/{session}/")
}

fn json(state: &impl serde::Serialize) -> Json {
    Json::of(&serde_json::to_value(state).expect("a state has only text keys"))
}
