//! Steps: what came of a turn so far, stored in the middle of it, and what `current` of such a session names.
//!
//! Where a step becomes a closed commit, and where a provisional one, is decided beside the commit.

use stemmata_api::v1::Checkpointed;
use stemmata_model::{CommitId, EventSeq, Note, Party};
use stemmata_store::{Appended, Session, SessionOrigin};

use super::commit::Boundary;
use super::guard::{TurnGuard, WindowReport};
use super::{Taken, TurnEnded, TurnMade, TurnOf};
use crate::chain::walk::Walk;
use crate::engine::Engine;
use crate::error::Result;

/// Commits below a session's tip among which one that covers a ledger is looked for.
const COVERING_MAX: usize = 64;

/// Who an agent is called whose name the store does not know. Nothing is appended in its name.
const UNNAMED: &str = "agent";

/// A step of a turn that was stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepTaken {
    /// The events of the step, or `None` if it had none.
    pub appended: Option<Appended>,
    /// The commit of what the session has said so far: provisional, and replaced by the next one; with the granularity
    /// `message` closed. `None` if the session said nothing since its last closed commit, or only made calls that wait for
    /// their results.
    pub checkpoint: Option<Checkpointed>,
    /// The event of the cluster's state, where that has changed.
    pub snapshot: Option<EventSeq>,
    /// How full the window is and what was done about it, where a guard was given.
    pub window: Option<WindowReport>,
    /// What the user should know.
    pub notes: Vec<Note>,
}

impl From<TurnEnded> for StepTaken {
    /// Returns what the end of a turn stored, as its last step.
    fn from(ended: TurnEnded) -> Self {
        let TurnEnded { appended, checkpoint, snapshot, window, notes, saved: _ } = ended;
        Self { appended, checkpoint, snapshot, window, notes }
    }
}

impl Engine {
    /// Takes a step in the middle of a turn, usually after a tool's result: appends what came of the turn since, and makes
    /// a commit of what the session has said so far. `made.ends` ends the session's events and leaves the commit to
    /// [`Engine::end_turn`].
    ///
    /// With the granularity `message` the commit is closed and ends behind the last call that has all its results: a call
    /// and its results are never in two closed commits. With `turn` and `every:N` it is provisional; the next step or the
    /// turn's end takes its place in the chain.
    ///
    /// A try that is repeated with the same entries appends nothing once more, as [`Engine::end_turn`].
    ///
    /// # Errors
    /// As [`Engine::end_turn`].
    pub fn step(&self, turn: &TurnOf, made: TurnMade) -> Result<StepTaken> {
        self.guarded_step(turn, made, None)
    }

    /// Takes a step as [`Engine::step`] does. A guard archives results above the cutoff and prunes a critical window in the same
    /// transaction: the next call of the model follows.
    ///
    /// # Errors
    /// As [`Engine::step`], and `Refused` for a window of more than can be judged.
    pub fn guarded_step(
        &self,
        turn: &TurnOf,
        made: TurnMade,
        guard: Option<&TurnGuard<'_>>,
    ) -> Result<StepTaken> {
        let take = || {
            let Taken { appended, checkpoint, snapshot, acted, is_late: _, notes } =
                self.take(turn, made, (Boundary::Step, guard))?;
            let window = acted.zip(guard).map(|(acted, guard)| self.with_entries(turn, guard, acted.report));
            Ok(StepTaken { appended, checkpoint, snapshot, window: window.transpose()?, notes })
        };
        self.unless_gone(turn, take())
    }

    /// Commits provisionally what a session of turns said since its last commit. Returns `None` if nothing is new, or if no
    /// known ledger holds its turns.
    pub(crate) fn commit_open_turn(&self, session: &Session) -> Result<Option<CommitId>> {
        let Some(turn) = self.turn_of_session(session)? else { return Ok(None) };
        let stored = self.commit_appended(&turn, Boundary::Look)?;
        Ok(stored.checkpoint.map(|made| made.id))
    }

    /// Returns whose turns a session's are, or `None` if no known ledger holds them.
    pub(crate) fn turn_of_session(&self, session: &Session) -> Result<Option<TurnOf>> {
        let (SessionOrigin::Api, Some(tip)) = (session.origin, session.tip) else { return Ok(None) };
        let mut walk = Walk::new(self.store.as_ref(), Some(tip));
        for _ in 0..COVERING_MAX {
            let Some(commit) = walk.next()? else { break };
            let Some(coverage) = self.store.coverage(commit.id)? else { continue };
            if self.log.ledger(&coverage.ledger)?.is_none() {
                return Ok(None);
            }
            let agent = Party::new(UNNAMED).expect("a constant name is a name");
            let mut turn =
                TurnOf::new(coverage.ledger, session.session.clone(), agent, session.template.clone());
            if let Some(opening) = self.opening_of(&turn.ledger, &turn.session, None)? {
                (turn.thread, turn.ticket) = (opening.links.thread, opening.links.ticket);
            }
            turn.granularity = session.granularity;
            return Ok(Some(turn));
        }
        Ok(None)
    }
}
