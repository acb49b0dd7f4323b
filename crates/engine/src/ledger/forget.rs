//! Forgetting what ledgers know: of sessions that have no transcript, and in a log that is not the store.
//!
//! What a store forgets of its commits, and of the events whose lines they have, is `verbs/forget`'s.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use stemmata_model::{Event, EventSeq, LedgerId, Payload, SessionId, topics};
use stemmata_store::maintain::forget::MEMORY_STATES;
use stemmata_store::{EventQuery, Places, Session};

use crate::engine::Engine;
use crate::error::{EngineError, Result};
use crate::retention::is_within;
use crate::verbs::forget::ForgetTarget;

/// Events that are looked at at once: each may have some megabytes.
const PAGE_EVENTS: usize = 256;

/// Events whose words are to be forgotten.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// All of a session, in one ledger, or in all.
    Session(SessionId, Option<LedgerId>),
    /// Some of a ledger.
    Events(LedgerId, BTreeSet<EventSeq>),
}

impl fmt::Display for Told {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Session(session, None) => write!(formatter, "session {session} in any ledger"),
            Self::Session(session, Some(ledger)) => write!(formatter, "session {session} in {ledger}"),
            Self::Events(ledger, events) => match (events.first(), events.len()) {
                (Some(first), 1) => write!(formatter, "event {first} of {ledger}"),
                (_, count) => write!(formatter, "{count} events of {ledger}"),
            },
        }
    }
}

impl Engine {
    /// Forgets what events say that are in no commit, or in one that keeps what it has: what was said on the command line,
    /// or by a program. Places, times and hashes stay. Returns how many events that were, or would be, in each ledger that
    /// has some.
    ///
    /// # Errors
    /// `NotFound` where no event that is meant still says something; what the log refuses.
    pub fn forget_told(&self, told: &Told, dry_run: bool) -> Result<Vec<(LedgerId, u64)>> {
        let mut there = Vec::new();
        match told {
            Told::Session(session, Some(ledger)) => {
                there.push((ledger.clone(), self.told_in(ledger, session)?));
            }
            Told::Session(session, None) => self.each_ledger(|ledger| {
                there.push((ledger.id.clone(), self.told_in(&ledger.id, session)?));
                Ok(())
            })?,
            Told::Events(ledger, events) => there.push((ledger.clone(), self.telling(ledger, events)?)),
        }
        there.retain(|(_, events)| !events.is_empty());
        if there.is_empty() {
            return Err(EngineError::NotFound { what: "event that says something", text: told.to_string() });
        }
        match told {
            _ if dry_run => {}
            Told::Session(session, None) => drop(self.log.forget_events(session)?),
            Told::Session(_, Some(_)) | Told::Events(..) => {
                for (ledger, events) in &there {
                    self.log.forget_places(ledger, &Places::These(events.clone()))?;
                }
            }
        }
        let count = |events: BTreeSet<EventSeq>| u64::try_from(events.len()).expect("a length fits 64 bits");
        Ok(there.into_iter().map(|(ledger, events)| (ledger, count(events))).collect())
    }

    /// Returns the events of a session that still say something.
    fn told_in(&self, ledger: &LedgerId, session: &SessionId) -> Result<BTreeSet<EventSeq>> {
        let mut told = BTreeSet::new();
        let mut after: Option<EventSeq> = None;
        loop {
            let query =
                EventQuery { session: Some(session.clone()), ..EventQuery::after(after, PAGE_EVENTS) };
            let page = self.log.events(ledger, &query)?;
            let Some(last) = page.last() else { return Ok(told) };
            after = Some(last.seq);
            told.extend(page.iter().filter(|event| !is_forgotten(&event.payload)).map(|event| event.seq));
        }
    }

    /// Returns those of some events that still say something.
    fn telling(&self, ledger: &LedgerId, events: &BTreeSet<EventSeq>) -> Result<BTreeSet<EventSeq>> {
        let mut told = BTreeSet::new();
        for seq in events {
            let query =
                EventQuery { through: Some(*seq), ..EventQuery::after(EventSeq::new(seq.get() - 1), 1) };
            let found = self.log.events(ledger, &query)?;
            told.extend(found.iter().filter(|event| !is_forgotten(&event.payload)).map(|event| event.seq));
        }
        Ok(told)
    }

    /// Returns the ledgers of projects that are in a directory or below it: of all that were made there, also where nothing
    /// stands there any more.
    pub(crate) fn ledgers_of(&self, target: &ForgetTarget) -> Result<Vec<LedgerId>> {
        let ForgetTarget::Project(project) = target else { return Ok(Vec::new()) };
        // A ledger knows the place that links lead to.
        let real = std::fs::canonicalize(project).ok();
        let real = real.as_deref().and_then(Path::to_str).unwrap_or(project);
        let mut ledgers = Vec::new();
        self.each_ledger(|ledger| {
            let is_there = |root: &str| is_within(project, root) || is_within(real, root);
            if ledger.root.as_deref().is_some_and(is_there) {
                ledgers.push(ledger.id.clone());
            }
            Ok(())
        })?;
        Ok(ledgers)
    }

    /// Forgets in a log that is not the store what the store has forgotten: events of the sessions and of whole ledgers, and
    /// memories, which may hold words of any of it. Returns how many events that were, or would be.
    pub(crate) fn forget_elsewhere(
        &self,
        sessions: &[Session],
        ledgers: &[LedgerId],
        dry_run: bool,
    ) -> Result<u64> {
        if self.is_log_the_store {
            return Ok(0);
        }
        let mut events = 0;
        if dry_run {
            let of_session = |event: &Event| sessions.iter().any(|session| session.session == event.session);
            self.each_ledger(|ledger| {
                let is_whole = ledgers.contains(&ledger.id);
                events += self.going_in(&ledger.id, &|event| is_whole || of_session(event))?;
                Ok(())
            })?;
            return Ok(events);
        }
        for ledger in ledgers {
            events += self.log.forget_places(ledger, &Places::All)?;
        }
        for session in sessions {
            events += self.log.forget_events(&session.session)?;
        }
        self.each_ledger(|ledger| Ok(self.log.drop_states(&ledger.id, MEMORY_STATES)?))?;
        Ok(events)
    }

    /// Counts the events of a ledger that would say nothing any more: those that are meant, and snapshots after the first
    /// of them.
    fn going_in(&self, ledger: &LedgerId, is_meant: &dyn Fn(&Event) -> bool) -> Result<u64> {
        let mut count = 0;
        let mut after: Option<EventSeq> = None;
        loop {
            let page = self.log.events(ledger, &EventQuery::after(after, PAGE_EVENTS))?;
            let Some(last) = page.last() else { return Ok(count) };
            after = Some(last.seq);
            for event in page.iter().filter(|event| !is_forgotten(&event.payload)) {
                let derived = count > 0 && event.topic.as_str() == topics::STATE_SNAPSHOT;
                count += u64::from(derived || is_meant(event));
            }
        }
    }
}

fn is_forgotten(payload: &Payload) -> bool {
    matches!(payload, Payload::Gone(gone) if gone.forgotten)
}
