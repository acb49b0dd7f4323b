//! Kept prompts: what a session was told in its last turns, for `context debug` and for what the next prompt shares with it.
//!
//! They hold words of events, so their names begin with what forgetting drops. Whatever a caller wrote into a prompt is
//! scrubbed before it is kept: profile and schema are in no event.

use stemmata_api::v1::PromptTrace;
use stemmata_model::{EventSeq, Json, LedgerId, Note, NoteCode, SessionId};
use stemmata_prompt::assemble::metrics;
use stemmata_prompt::profile::Profile;
use stemmata_store::{Ledger, SavedState, StoreError};

use super::v1::{self, KEPT_VERSION};
use super::{PromptMade, PromptWanted};
use crate::engine::Engine;
use crate::error::{EngineError, Refusal, Result};
use crate::ledger::{line_name, scrub_json, scrub_text};

/// Turns of a session whose prompts are kept: one to show, and one to compare it with.
pub const KEPT_TURNS_MAX: usize = 2;

/// Bytes of a session's kept prompts at most, as JSON. Beyond it the text of the older one goes first.
pub const KEPT_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Sessions of a ledger that keep prompts and states of lines at most; the ones that were silent longest lose theirs.
pub const KEPT_SESSIONS_MAX: usize = 64;

/// What the names of kept prompts begin with.
const KEPT_PROMPTS: &str = "memory-prompt/";

/// A text by which counters are told apart: words, code, digits, and letters that encodings treat in different ways.
const COUNTED_PROBE: &str =
    "fn straße(日本語: &str) -> u64 { 1234567890 } // unbelievably antidisestablishmentarian 🙂";

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
    pub trace: PromptTrace,
}

/// What was kept before a prompt is made.
pub(super) struct KeptBefore {
    /// The turns before it.
    turns: Vec<v1::Turn>,
    /// The same turn, which an earlier try began.
    same: Option<v1::Turn>,
    /// The ledger before any of it was read.
    ledger: Option<Ledger>,
}

impl KeptBefore {
    /// Returns the prompt of the turn before.
    pub(super) fn previous(&self) -> Option<&str> {
        self.turns.last()?.text.as_deref()
    }

    /// Returns whether the turn before it had a profile that says something else.
    pub(super) fn had_other_profile(&self, profile: &Profile) -> bool {
        let before = self.turns.last().and_then(|turn| turn.profile.as_deref());
        before.is_some_and(|before| before != profile_hash(profile))
    }

    /// Returns the prompt that an earlier try was given for the same request.
    pub(super) fn made(&mut self, request: &str) -> Option<PromptMade> {
        let v1::Turn { said, text, trace, .. } =
            self.same.take().filter(|kept| kept.request.as_deref() == Some(request))?;
        let metrics = metrics(&trace);
        Some(PromptMade { text: text?, trace, metrics, delivered: EventSeq::new(said), notes: Vec::new() })
    }
}

/// Returns the hash of what a turn asks for.
pub(super) fn request_hash(wanted: &PromptWanted<'_>) -> String {
    let PromptWanted {
        profile,
        strategy,
        max_tokens,
        counter,
        trigger,
        task,
        mode,
        through,
        iteration,
        previous,
        facts,
        delivers: _,
        logs_metrics,
    } = wanted;
    let counted = (counter.count(COUNTED_PROBE), counter.margin());
    let asked = (profile, strategy, max_tokens, counted, trigger, task, mode, through, iteration);
    let text = format!("{asked:?} {:?}", (previous, facts, logs_metrics));
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

/// Returns the hash of what a profile says.
fn profile_hash(profile: &Profile) -> String {
    blake3::hash(format!("{profile:?}").as_bytes()).to_hex().to_string()
}

impl Engine {
    /// Returns the kept prompts of a session, the newest last, at most [`KEPT_TURNS_MAX`]. There are none if no turn asked
    /// for a prompt, if [`KEPT_SESSIONS_MAX`] other sessions kept one since, or after something of the ledger was forgotten.
    ///
    /// # Errors
    /// Store errors.
    pub fn kept_prompts(&self, ledger: &LedgerId, session: &SessionId) -> Result<Vec<KeptPrompt>> {
        let prompt = |turn: v1::Turn| {
            Some(KeptPrompt { said: EventSeq::new(turn.said)?, text: turn.text, trace: turn.trace })
        };
        Ok(self.kept_turns(ledger, session)?.into_iter().filter_map(prompt).collect())
    }

    fn kept_turns(&self, ledger: &LedgerId, session: &SessionId) -> Result<Vec<v1::Turn>> {
        let name = prompt_name(session);
        let saved = self.log.saved_states(ledger, &name)?.into_iter().find(|saved| saved.name == name);
        let saved = saved.filter(|saved| saved.version == KEPT_VERSION);
        let kept: v1::Prompts =
            saved.and_then(|saved| serde_json::from_str(saved.state.as_str()).ok()).unwrap_or_default();
        Ok(kept.turns)
    }

    /// Removes what was made of words beside the store's and the ledgers' own states: kept prompts, and what was learned of
    /// models and read for statistics.
    ///
    /// # Errors
    /// Store errors; `Unclean` where a file is in the way.
    pub(crate) fn drop_derived(&self) -> Result<()> {
        let learned = self.calibration.forget().and_then(|()| self.efforts.forget()).map_err(|error| {
            let reason = format!("what was learned of models and sessions cannot be removed: {error}");
            StoreError::Unclean { reason }
        });
        self.drop_kept_prompts()?;
        Ok(learned?)
    }

    /// Drops the kept prompts of all ledgers. A prompt may say what no event and no commit of its ledger says: what search
    /// found, and what its caller wrote. So whatever goes from any ledger may be in any of them.
    ///
    /// # Errors
    /// Store errors, after all ledgers were tried.
    pub(crate) fn drop_kept_prompts(&self) -> Result<()> {
        self.drop_states_of_all(KEPT_PROMPTS, &|ledger| {
            Ok(!self.log.saved_states(&ledger.id, KEPT_PROMPTS)?.is_empty())
        })
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

    /// Returns what was kept before a prompt is made.
    pub(super) fn kept_before(
        &self,
        ledger: &LedgerId,
        session: &SessionId,
        said: EventSeq,
    ) -> Result<KeptBefore> {
        let known = self.log.ledger(ledger)?;
        let turns = self.kept_turns(ledger, session)?;
        let (turns, others) = turns.into_iter().partition(|kept| kept.said < said.get());
        let others: Vec<v1::Turn> = others;
        let same = others.into_iter().find(|kept| kept.said == said.get());
        Ok(KeptBefore { turns, same, ledger: known })
    }

    /// Keeps a prompt of a session beside the newest ones before it, without its secrets, and says where it is too long for
    /// that.
    pub(super) fn keep_prompt(
        &self,
        (ledger, session): (&LedgerId, &SessionId),
        kept: KeptBefore,
        (said, made): (EventSeq, &PromptMade),
        (request, profile): (String, &Profile),
    ) -> Result<Option<Note>> {
        let KeptBefore { mut turns, ledger: known, .. } = kept;
        let scrubber = self.scrubber_in(known.as_ref())?;
        let mut found = 0;
        let text = scrub_text(&scrubber, made.text.clone(), &mut found)?;
        let trace = scrub_json(&scrubber, json(&made.trace), &mut found)?;
        let trace = serde_json::from_str(trace.as_str()).map_err(|error| EngineError::Refused {
            what: Refusal::Publish,
            reasons: vec![format!("its trace cannot be kept without its secrets: {error}")],
        })?;
        // What is not kept as the caller got it, and what a note would belong to, is made again for a try that is repeated.
        let request = (found == 0 && made.notes.is_empty()).then_some(request);
        let profile = Some(profile_hash(profile));
        turns.push(v1::Turn { said: said.get(), text: Some(text), trace, request, profile });
        let surplus = turns.len().saturating_sub(KEPT_TURNS_MAX);
        turns.drain(..surplus);
        let mut kept = v1::Prompts { turns };
        let mut state = json(&kept);
        let mut note = None;
        while state.as_str().len() > KEPT_BYTES_MAX {
            // The older text first, then the newer one, then the older turn, then all.
            match kept.turns.iter_mut().find(|turn| turn.text.is_some()) {
                Some(turn) => {
                    turn.text = None;
                    note = (turn.said == said.get()).then(|| {
                        let message = format!(
                            "the prompt is longer than the {KEPT_BYTES_MAX} bytes that are kept of a session"
                        );
                        Note::new(NoteCode::TooLarge, message)
                    });
                }
                None => drop(kept.turns.remove(0)),
            }
            state = json(&kept);
        }
        let name = prompt_name(session);
        let state = SavedState { name, version: KEPT_VERSION, through: said.get(), position: None, state };
        self.keep_states(ledger, known.map_or(0, |known| known.epoch), session, vec![state])?;
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
    format!("{KEPT_PROMPTS}{session}/")
}

fn json(state: &impl serde::Serialize) -> Json {
    Json::of(&serde_json::to_value(state).expect("a state has only text keys"))
}
