//! Compacting a session of turns: it goes on from its compaction.
//!
//! What the session has said since its last commit is committed first, in an act of its own. The second act holds the
//! compaction, its events and the session's place in its timeline, so that no turn can go on from the uncompacted commit
//! while the events say otherwise.

use serde_json::{Value, json};
use stemmata_model::{
    Closure, Commit, CommitType, EventSeq, Json, NewEvent, NewPayload, Party, Reason, Reasons, topics,
};
use stemmata_store::{Append, Appended, Coverage, LedgerChange, StoreError, Write};

use super::TurnOf;
use super::append::Brings;
use super::commit::{Base, Boundary};
use crate::engine::Engine;
use crate::error::{EngineError, Refusal, Result};
use crate::ledger::opening::OPENER;
use crate::ledger::publish::OVERTAKEN_MAX;
use crate::verbs::checkpoint::Spot;
use crate::verbs::compact::{CompactWanted, Compacted, MadeCompaction, refused};

/// A session as it is before it is compacted.
struct Ground {
    parent: Commit,
    /// The provisional commit that the compaction replaces.
    step: Option<Commit>,
    /// The ledger's last event.
    last: u64,
    /// The ledger's epoch before anything of it was summarized.
    epoch: u64,
    /// Whether lines of the session are in no closed commit: they wait for a result, or were said meanwhile.
    is_waiting: bool,
    cwd: Option<String>,
}

impl Engine {
    /// Compacts a session of turns, which goes on from the compaction.
    pub(crate) fn compact_session(&self, turn: &TurnOf, wanted: &CompactWanted<'_>) -> Result<Compacted> {
        let start = json!({ "with": wanted.with.as_str(), "reasons": names(wanted.reasons) });
        self.commit_before_compaction(turn, event(turn, topics::COMPACTION_START, &start))?;
        let done = self.compact_committed(turn, wanted);
        if let Err(error) = &done {
            let end = json!({ "error": error.to_string() });
            // The error that led here is what the caller has to hear.
            drop(self.publish(&turn.ledger, vec![event(turn, topics::COMPACTION_END, &end)]));
        }
        self.bus.wake(&turn.ledger);
        done
    }

    /// Commits what the session has said so far. Calls that wait for their results stay open, and come behind the compaction.
    fn commit_before_compaction(&self, turn: &TurnOf, start: NewEvent) -> Result<()> {
        if self.is_log_the_store {
            self.append_and_commit(turn, &Brings::Events(&[start]), (Boundary::Compaction, None))?;
            return Ok(());
        }
        self.publish(&turn.ledger, vec![start])?;
        self.commit_appended(turn, Boundary::Compaction)?;
        Ok(())
    }

    fn compact_committed(&self, turn: &TurnOf, wanted: &CompactWanted<'_>) -> Result<Compacted> {
        let mut made: Option<(Commit, MadeCompaction, u64)> = None;
        for _ in 0..OVERTAKEN_MAX {
            let ground = self.ground(turn)?;
            if let Some((parent, ..)) = &made
                && parent.id != ground.parent.id
            {
                if ground.parent.core.commit_type == CommitType::Compaction {
                    let reason = "the session was compacted meanwhile";
                    return Err(refused(Refusal::NothingToCompact, reason));
                }
                made = None;
            }
            let (parent, compaction, epoch) = match made.take() {
                Some(made) => made,
                None => (ground.parent.clone(), self.made_compaction(&ground.parent, wanted)?, ground.epoch),
            };
            match self.commit_compaction(turn, &Ground { epoch, ..ground }, &compaction) {
                Ok(id) => return Ok(compaction.into_compacted(id, &parent, Some(turn.session.clone()))),
                Err(EngineError::Store(StoreError::SequenceMoved { .. })) => {
                    made = Some((parent, compaction, epoch));
                }
                // The summary may say what was forgotten: it is made anew.
                Err(EngineError::Store(StoreError::EpochMoved { .. })) => {}
                Err(error) => return Err(error),
            }
        }
        let reason = "the session is written without end; try again when its turn has ended";
        Err(refused(Refusal::CompactBusy, reason))
    }

    fn ground(&self, turn: &TurnOf) -> Result<Ground> {
        let known = self.log.ledger(&turn.ledger)?;
        let (last, epoch, cwd) = known.map_or((0, 0, None), |known| (known.last, known.epoch, known.root));
        let tip = self.store.session(&self.turns_key(turn))?.and_then(|session| session.tip);
        let Base { parent, step, covered, .. } = self.base(turn, tip, last)?;
        let parent = parent.ok_or_else(|| refused(Refusal::NothingToCompact, "the session has no commit"))?;
        let is_waiting = !self.lines_after(turn, covered, last)?.0.is_empty();
        Ok(Ground { parent, step, last, epoch, is_waiting, cwd })
    }

    /// Stores the compaction, with its event and the session's new tip, where nobody has written to the ledger meanwhile.
    fn commit_compaction(
        &self,
        turn: &TurnOf,
        ground: &Ground,
        made: &MadeCompaction,
    ) -> Result<stemmata_model::CommitId> {
        let Ground { parent, step, last, epoch, is_waiting, cwd } = ground;
        let mut request = made.request(parent, turn.session.clone());
        request.template = turn.template.clone();
        (request.ticket, request.thread) = (turn.ticket.clone(), turn.thread.clone());
        let id = self.core_of(&request, (made.artifact, made.native), Some(parent)).id();
        let now = self.clock.now();
        let end = json!({
            "ctx": id.to_string(),
            "with": made.with,
            "reasons": names(made.reasons),
            "tokens_before": made.tokens_before,
            "tokens_after": made.tokens_after,
            // A model wrote a part of it or failed to: the next call of a turn has to know when.
            "asked_us": made.is_model_asked.then(|| now.as_micros()),
        });
        let end = event(turn, topics::COMPACTION_END, &end);
        let append = |expected| Append {
            expected,
            epoch: Some(*epoch),
            ..Append::new(turn.ledger.clone(), vec![end.clone()], now)
        };
        let first = self.is_log_the_store.then(|| Write::Append(Box::new(append(Some(*last)))));
        let own = u64::from(self.is_log_the_store);
        let ledger = turn.ledger.clone();
        let scrubber = self.scrubber_at(cwd.as_deref().map(std::path::Path::new))?;
        let spot = Spot {
            parent: Some(parent),
            key: &self.turns_key(turn),
            cwd: cwd.clone(),
            scrubber: &scrubber,
            closure: Closure::Closed,
            granularity: Some(turn.granularity),
        };
        let (stored, _) = self.commit_held(&request, made.held(first), spot, |commit, batch| {
            let change = LedgerChange { compacted_at: Some(now), ..LedgerChange::new(ledger.clone(), now) };
            batch.push(Write::ChangeLedger(Box::new(change)));
            // Lines that wait are in none of the commits up to here: the next one begins with them.
            let through = EventSeq::new(last + own).filter(|_| !is_waiting);
            batch.extend(through.map(|through| Write::Covers(Coverage { commit, ledger, through })));
            batch.extend(step.as_ref().map(|step| Write::Cover { commit: step.id }));
        })?;
        if !self.is_log_the_store {
            let _: Appended = self.log.append(append(None))?;
        }
        Ok(stored.id)
    }
}

fn names(reasons: Reasons) -> Vec<&'static str> {
    reasons.iter().map(Reason::as_str).collect()
}

fn event(turn: &TurnOf, topic: &'static str, data: &Value) -> NewEvent {
    let payload = NewPayload::Plain { text: None, data: Some(Json::of(data)) };
    let sender = Party::new(OPENER).expect("a constant name is a name");
    let event = NewEvent::new(turn.session.clone(), topics::topic(topic), sender, payload);
    event.with_links(&turn.links())
}
