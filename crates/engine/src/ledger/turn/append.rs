//! Storing an act of a turn: its events and its commit, in one transaction where the store is the log, and what is done where others
//! overtake it, have stored it, or have something forgotten meanwhile.
//!
//! Which lines a commit holds is `commit`'s, and what of a call is stored already `again`'s.

use stemmata_model::{CommitId, EventSeq, NewEvent, Note, NoteCode, Payload};
use stemmata_store::{Append, Appended, EventQuery, Order, StoreError};

use super::TurnOf;
use super::again::{Call, Found, News};
use super::commit::{Boundary, Stored};
use super::guard::Guarding;
use super::step::COVERING_MAX;
use crate::chain::walk::Walk;
use crate::engine::Engine;
use crate::error::{EngineError, Refusal, Result};
use crate::ledger::publish::{OVERTAKEN_MAX, with_openings};
use crate::verbs::checkpoint::Checkpointed;

/// How often an act is tried again that others overtake, or that was stored or forgotten meanwhile.
const TRIES_MAX: u32 = 4 * OVERTAKEN_MAX;

/// What an act of a turn appends.
pub(super) enum Brings<'a> {
    /// These events.
    Events(&'a [NewEvent]),
    /// What of a call is not stored yet.
    Call(&'a Call<'a>),
}

impl Engine {
    /// Appends what an act brings and makes the commit that covers it, in one transaction where the store is the log. What the
    /// guard does about the window is part of the same transaction. Of a call that is stored already nothing is appended.
    pub(super) fn append_and_commit(
        &self,
        turn: &TurnOf,
        brings: &Brings<'_>,
        (boundary, guarding): (Boundary, Option<&Guarding<'_>>),
    ) -> Result<Stored> {
        let begun = self.log.ledger(&turn.ledger)?.and_then(|known| EventSeq::new(known.last));
        for tried in 0..TRIES_MAX {
            let known = self.log.ledger(&turn.ledger)?;
            let (last, epoch) = known.as_ref().map_or((0, None), |known| (known.last, Some(known.epoch)));
            let news = match brings {
                Brings::Events(events) => News { events: events.to_vec(), ..News::default() },
                Brings::Call(call) => match self.find_call(call)? {
                    Found::Stored(said) => return self.commit_said(turn, said, (boundary, guarding)),
                    Found::New(news) => news,
                },
            };
            let (events, acted) = self.guarded(turn, (&news.events, boundary), guarding, last)?;
            let append = if events.is_empty() {
                None
            } else {
                let all = with_openings(self.log.as_ref(), &turn.ledger, &events)?;
                let keys = news.keys.placed(all.len() - events.len(), all.len());
                Some(Append { epoch, keys, ..Append::new(turn.ledger.clone(), all, self.clock.now()) })
            };
            let commits = acted.as_ref().is_none_or(|acted| acted.commits);
            // Where others append without end, and where the log is not the store: the events first, and then a commit that
            // covers them.
            let is_one_act = self.is_log_the_store && tried < OVERTAKEN_MAX;
            let done = match append {
                Some(append) if is_one_act => {
                    let own = Append { expected: Some(last), ..append };
                    if commits {
                        self.commit_lines(turn, (Some(own), known), boundary)
                    } else {
                        let appended = self.log.append(own).map_err(EngineError::from);
                        appended.map(|appended| Stored { appended: Some(appended), ..Stored::default() })
                    }
                }
                append => self.append_then_commit(turn, append, (boundary, commits)),
            };
            match done {
                Err(EngineError::Store(StoreError::SequenceMoved { .. })) if is_one_act => {}
                // The same call was stored meanwhile: the next look finds it.
                Err(EngineError::Store(StoreError::KeyTaken { .. })) => {}
                Err(EngineError::Store(StoreError::EpochMoved { .. })) => {
                    self.refuse_forgotten(turn, begun)?;
                    if let Some(guarding) = guarding {
                        guarding.forget_asked();
                    }
                }
                done => {
                    let mut stored = Stored { acted, ..done? };
                    stored.notes.extend(news.notes);
                    return Ok(stored);
                }
            }
        }
        let reasons = vec!["the ledger changes without end; call again".to_owned()];
        Err(EngineError::Refused { what: Refusal::TurnBusy, reasons })
    }

    /// Appends events, and makes the commit that covers them after that.
    fn append_then_commit(
        &self,
        turn: &TurnOf,
        append: Option<Append>,
        (boundary, commits): (Boundary, bool),
    ) -> Result<Stored> {
        let appended = append.map(|append| self.log.append(append)).transpose()?;
        if !commits {
            return Ok(Stored { appended, ..Stored::default() });
        }
        let known = self.log.ledger(&turn.ledger).map_err(Into::into);
        let committed = known.and_then(|known| self.commit_lines(turn, (None, known), boundary));
        match (appended, committed) {
            // The events are there: a caller that heard of an error would append them once more.
            (Some(appended), Err(error)) => {
                let message =
                    format!("the turn's events are stored, its commit waits for the next turn: {error}");
                let notes = vec![Note::new(NoteCode::Degraded, message)];
                Ok(Stored { appended: Some(appended), notes, ..Stored::default() })
            }
            (appended, committed) => Ok(Stored { appended, ..committed? }),
        }
    }

    /// Refuses an act whose session was forgotten since it began: what it brings may say what went.
    fn refuse_forgotten(&self, turn: &TurnOf, begun: Option<EventSeq>) -> Result<()> {
        let Some(begun) = begun else { return Ok(()) };
        let newest = EventQuery {
            session: Some(turn.session.clone()),
            through: Some(begun),
            order: Order::NewestFirst,
            ..EventQuery::after(None, 1)
        };
        let newest = self.log.events(&turn.ledger, &newest)?;
        if newest.iter().any(|event| matches!(event.payload, Payload::Gone(gone) if gone.forgotten)) {
            let reasons = vec![format!(
                "session `{}` was forgotten meanwhile, and what was made of it is not stored; begin another session",
                turn.session
            )];
            return Err(EngineError::Refused { what: Refusal::TurnForgotten, reasons });
        }
        Ok(())
    }

    /// Makes the commit of what an earlier try appended, or returns the one that holds it. The guard acted with the events; here it
    /// only measures.
    fn commit_said(
        &self,
        turn: &TurnOf,
        said: Appended,
        (boundary, guarding): (Boundary, Option<&Guarding<'_>>),
    ) -> Result<Stored> {
        let stored = self.append_then_commit(turn, None, (boundary, true))?;
        let holds = self.commit_holding(turn, said.last)?;
        let checkpoint = match holds.or(stored.checkpoint.as_ref().map(|made| made.id)) {
            Some(id) => {
                let made = stored.checkpoint.filter(|made| made.id == id);
                Some(made.unwrap_or(Checkpointed { id, existed: true, notes: Vec::new() }))
            }
            None => None,
        };
        let acted = guarding.map(|guarding| self.measured(turn, guarding)).transpose()?;
        Ok(Stored { appended: Some(said), checkpoint, acted, is_repeated: true, notes: stored.notes })
    }

    /// Returns the commit that an event of a session came into, as far as it is among the newest.
    fn commit_holding(&self, turn: &TurnOf, event: EventSeq) -> Result<Option<CommitId>> {
        let tip = self.store.session(&self.turns_key(turn))?.and_then(|session| session.tip);
        let mut walk = Walk::new(self.store.as_ref(), tip);
        let mut holding = tip;
        for _ in 0..COVERING_MAX {
            let Some(commit) = walk.next()? else { break };
            match self.store.coverage(commit.id)? {
                Some(known) if known.ledger == turn.ledger && known.through >= event => {
                    holding = Some(commit.id);
                }
                _ => break,
            }
        }
        Ok(holding)
    }
}
