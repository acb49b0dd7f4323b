//! Storing an act of a turn: its events and its commit, in one transaction where the store is the log, and what is done where others
//! overtake it, have stored it, or have something forgotten meanwhile.
//!
//! Which lines a commit holds is `commit`'s, and what of a call is stored already `again`'s.

use stemmata_api::v1::Checkpointed;
use stemmata_model::{CommitId, EventSeq, NewEvent, Note, NoteCode, Payload, topics};
use stemmata_store::{Append, Appended, EventQuery, Order, StoreError};

use super::TurnOf;
use super::again::{Call, Found, News, SAID_TOPICS};
use super::commit::{Boundary, Stored};
use super::guard::Guarding;
use crate::chain::walk::Walk;
use crate::engine::Engine;
use crate::error::{EngineError, Refusal, Result};
use crate::ledger::publish::{OVERTAKEN_MAX, with_openings};

/// How often an act is tried again that others overtake, or that was stored or forgotten meanwhile.
const TRIES_MAX: u32 = 4 * OVERTAKEN_MAX;

/// Commits below a session's tip among which the one is looked for that holds what an earlier try said.
const HOLDING_MAX: usize = 4_096;

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
        let mut begun = None;
        for tried in 0..TRIES_MAX {
            let known = self.log.ledger(&turn.ledger)?;
            let (last, epoch) = known.as_ref().map_or((0, None), |known| (known.last, Some(known.epoch)));
            let begun = begun.get_or_insert_with(|| EventSeq::new(last));
            self.refuse_gone(turn)?;
            let news = match brings {
                Brings::Events(events) => News { events: events.to_vec(), ..News::default() },
                Brings::Call(call) => match self.find_call(call)? {
                    Found::Stored(said) => {
                        let mut stored = self.commit_said(turn, said.appended, (boundary, guarding))?;
                        stored.notes.extend(said.notes);
                        return Ok(stored);
                    }
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
                        self.commit_lines(turn, Some((own, known)), boundary)
                    } else {
                        let appended = self.log.append(own).map_err(EngineError::from);
                        appended.map(|appended| Stored { appended: Some(appended), ..Stored::default() })
                    }
                }
                append => self.append_then_commit(turn, append, (boundary, commits)),
            };
            match done {
                Err(EngineError::Store(StoreError::SequenceMoved { .. } | StoreError::TipMoved { .. }))
                    if is_one_act => {}
                // The same call was stored meanwhile: the next look finds it.
                Err(EngineError::Store(StoreError::KeyTaken { .. })) => {}
                Err(EngineError::Store(moved @ StoreError::EpochMoved { .. })) => {
                    self.refuse_forgotten(turn, *begun)?;
                    self.refuse_old_rules(moved)?;
                    if let Some(guarding) = guarding {
                        guarding.forget_asked();
                    }
                }
                done => {
                    let mut stored = Stored { acted, said: news.entries, ..done? };
                    if let Some(acted) = &stored.acted {
                        acted.log(turn);
                    }
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
        match (appended, self.commit_appended(turn, boundary)) {
            // What was appended went with the session.
            (_, Err(error @ EngineError::Refused { what: Refusal::TurnForgotten, .. })) => Err(error),
            // The events are there: a caller that heard of an error would append them once more.
            (Some(appended), Err(error)) => {
                let message =
                    format!("the turn's events are stored, its commit waits for the next turn: {error}");
                let notes = vec![Note::new(NoteCode::Degraded, message)];
                Ok(Stored { appended: Some(appended), notes, ..Stored::default() })
            }
            // A call that is repeated at the same time may have committed what this one appended.
            (Some(appended), Ok(committed)) if committed.checkpoint.is_none() => {
                let checkpoint = self.commit_holding(turn, appended.last)?;
                Ok(Stored { appended: Some(appended), checkpoint, ..committed })
            }
            (appended, committed) => Ok(Stored { appended, ..committed? }),
        }
    }

    /// Makes the commit of what is appended. Where another act moves the session on or something is forgotten meanwhile, all is
    /// read again.
    pub(super) fn commit_appended(&self, turn: &TurnOf, boundary: Boundary) -> Result<Stored> {
        let mut tried = 0;
        loop {
            tried += 1;
            match self.commit_lines(turn, None, boundary) {
                Err(EngineError::Store(StoreError::EpochMoved { .. } | StoreError::TipMoved { .. }))
                    if tried < TRIES_MAX =>
                {
                    self.refuse_gone(turn)?;
                }
                done => return done,
            }
        }
    }

    /// Refuses an act of a session that was forgotten, whenever: what it brings may say what went. One that begins it anew opens it.
    pub(super) fn refuse_gone(&self, turn: &TurnOf) -> Result<()> {
        if self.opening_of(&turn.ledger, &turn.session, None)?.is_some() {
            return Ok(());
        }
        let started = EventQuery {
            session: Some(turn.session.clone()),
            ..EventQuery::latest(topics::topic(topics::SESSION_STARTED), 1)
        };
        if self.log.events(&turn.ledger, &started)?.is_empty() { Ok(()) } else { Err(forgotten(turn)) }
    }

    /// Says of an act that failed that its session was forgotten, where it was: what the act could not find went with it.
    pub(super) fn unless_gone<T>(&self, turn: &TurnOf, done: Result<T>) -> Result<T> {
        if matches!(done, Err(EngineError::Store(_) | EngineError::NotFound { .. })) {
            self.refuse_gone(turn)?;
        }
        done
    }

    /// Refuses an act whose session was forgotten since it began, at the ledger's event `begun`: what the act brings may say what
    /// went. A session is forgotten whose first and last event are; a single event that went is no reason.
    pub(super) fn refuse_forgotten(&self, turn: &TurnOf, begun: Option<EventSeq>) -> Result<()> {
        let Some(begun) = begun else { return Ok(()) };
        let is_gone = |order| -> Result<bool> {
            let query = EventQuery {
                session: Some(turn.session.clone()),
                through: Some(begun),
                order,
                ..EventQuery::after(None, 1)
            };
            let found = self.log.events(&turn.ledger, &query)?;
            Ok(found.iter().any(|event| matches!(event.payload, Payload::Gone(gone) if gone.forgotten)))
        };
        if is_gone(Order::NewestFirst)? && is_gone(Order::OldestFirst)? {
            return Err(forgotten(turn));
        }
        Ok(())
    }

    /// Refuses to store by rules for secrets that changed since, where something was forgotten meanwhile: a scrub by the new ones looked
    /// for what would be stored now. The caller begins again by the rules as they are.
    pub(super) fn refuse_old_rules(&self, moved: StoreError) -> Result<()> {
        let are_those = self.leftovers.data.as_deref().is_none_or(|data| self.scrubbing.is_of(data));
        if are_those { Ok(()) } else { Err(moved.into()) }
    }

    /// Returns the commit that holds what an earlier try appended, and makes it where there is none. The guard acted with the
    /// events; here it only measures.
    fn commit_said(
        &self,
        turn: &TurnOf,
        said: Appended,
        (boundary, guarding): (Boundary, Option<&Guarding<'_>>),
    ) -> Result<Stored> {
        let commit = |boundary| self.append_then_commit(turn, None, (boundary, true));
        let holding = || self.commit_holding(turn, said.last);
        let is_late = self.has_gone_on(turn, said.last)?;
        let (checkpoint, notes) = match holding()? {
            // What was said since is of a turn that may not be over: this call closes nothing.
            Some(held) if is_late => (Some(held), Vec::new()),
            None if is_late => {
                let notes = commit(Boundary::Look)?.notes;
                (holding()?, notes)
            }
            held => {
                let stored = commit(boundary)?;
                // Where the log is not the store, the call that appended may have committed since the look.
                let made = stored.checkpoint.or(held).map_or_else(&holding, |made| Ok(Some(made)))?;
                (made, stored.notes)
            }
        };
        let acted = guarding.map(|guarding| self.measured(turn, guarding)).transpose()?;
        let appended = Some(said);
        Ok(Stored { appended, checkpoint, acted, is_repeated: true, is_late, notes, ..Stored::default() })
    }

    /// Says whether a session said anything behind an event.
    fn has_gone_on(&self, turn: &TurnOf, event: EventSeq) -> Result<bool> {
        let query = EventQuery {
            session: Some(turn.session.clone()),
            topics: SAID_TOPICS.map(topics::topic).to_vec(),
            ..EventQuery::after(Some(event), 1)
        };
        Ok(!self.log.events(&turn.ledger, &query)?.is_empty())
    }

    /// Returns the commit that an event of a session came into: the oldest that covers it, of the newest [`HOLDING_MAX`].
    fn commit_holding(&self, turn: &TurnOf, event: EventSeq) -> Result<Option<Checkpointed>> {
        let held = |id: Option<CommitId>| id.map(|id| Checkpointed { id, existed: true, notes: Vec::new() });
        let tip = self.store.session(&self.turns_key(turn))?.and_then(|session| session.tip);
        let mut walk = Walk::new(self.store.as_ref(), tip);
        let mut holding = None;
        for _ in 0..HOLDING_MAX {
            let Some(commit) = walk.next()? else { return Ok(held(holding)) };
            match self.store.coverage(commit.id)? {
                Some(known) if known.ledger == turn.ledger && known.through >= event => {
                    holding = Some(commit.id);
                }
                Some(_) => return Ok(held(holding)),
                // A compaction behind which lines wait covers nothing.
                None => {}
            }
        }
        Ok(None)
    }
}

fn forgotten(turn: &TurnOf) -> EngineError {
    let reasons =
        vec![format!("session `{}` was forgotten, and what was made of it is not stored", turn.session)];
    EngineError::Refused { what: Refusal::TurnForgotten, reasons }
}
