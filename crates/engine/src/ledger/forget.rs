//! Forgetting what ledgers know: of sessions that have no transcript, and in a log that is not the store.
//!
//! What a store forgets of its commits, and of the events whose lines they have, is `verbs/forget`'s.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use stemmata_model::{CommitId, Event, EventSeq, LedgerId, Payload, SessionId};
use stemmata_store::maintain::forget::{Forget, MEMORY_STATES};
use stemmata_store::{DerivedEvents, EventQuery, Ledger, Places, Session, StoreError};

use crate::engine::Engine;
use crate::error::{EngineError, Refusal, Result, Wanted};
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

/// Which events would say nothing any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventsPlan {
    told: Told,
    /// By ledger; none is without events. A name may stand twice: for a ledger in use, and for one of the other engine.
    events: Vec<(LedgerId, BTreeSet<EventSeq>)>,
    /// How many of these are in use; the others are of the other engine.
    own: usize,
    /// Commits that hold what is said there, and go on holding it.
    holding: BTreeSet<CommitId>,
}

impl EventsPlan {
    /// Says whether nothing would go.
    pub const fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Returns which events would go of each ledger that has some.
    pub fn events(&self) -> &[(LedgerId, BTreeSet<EventSeq>)] {
        &self.events
    }

    /// Returns the commits that hold what the events say. They go on holding it.
    pub const fn holding(&self) -> &BTreeSet<CommitId> {
        &self.holding
    }

    /// Returns how many events would go of each ledger that has some.
    pub fn counts(&self) -> impl Iterator<Item = (&LedgerId, u64)> {
        self.events.iter().map(|(ledger, events)| (ledger, events.len() as u64))
    }
}

impl Engine {
    /// Returns which events would say nothing any more that are in no commit, or in one that keeps what it has: what was said
    /// on the command line, or by a program. Changes nothing.
    ///
    /// # Errors
    /// What the log refuses. That nothing would go is no error here: applying the plan says so.
    pub fn plan_forget_events(&self, told: &Told) -> Result<EventsPlan> {
        let mut events = self.telling_in_use(told)?;
        let own = events.len();
        let mut holding = self.holding(&events)?;
        // A number names another event there.
        if let (Told::Session(..), Some(other)) = (told, self.with_other_log()) {
            let others = other.telling_in_use(told)?;
            holding.extend(other.holding(&others)?);
            events.extend(others);
        }
        Ok(EventsPlan { told: told.clone(), events, own, holding })
    }

    /// Returns what still says something of what is meant, in the ledgers in use.
    fn telling_in_use(&self, told: &Told) -> Result<Vec<(LedgerId, BTreeSet<EventSeq>)>> {
        let mut events = Vec::new();
        match told {
            Told::Session(session, Some(ledger)) => {
                events.push((ledger.clone(), self.told_in(ledger, session)?));
            }
            Told::Session(session, None) => self.each_ledger(|ledger| {
                events.push((ledger.id.clone(), self.told_in(&ledger.id, session)?));
                Ok(())
            })?,
            Told::Events(ledger, these) => events.push((ledger.clone(), self.telling(ledger, these)?)),
        }
        events.retain(|(_, events)| !events.is_empty());
        Ok(events)
    }

    /// Forgets what the events of a plan say, and no other's but what was made of them. Places, times and hashes stay. Where
    /// nothing says anything any more, what an earlier try left in files goes. Returns what is left to do on disk, and why.
    ///
    /// # Errors
    /// `NotFound` where there was nothing of either; what the log refuses.
    pub fn apply_forget_events(&self, plan: &EventsPlan) -> Result<Option<String>> {
        let other = self.with_other_log();
        for engine in std::iter::once(self).chain(&other) {
            engine.leave_index_due_elsewhere()?;
        }
        // First, so that what is left of a try that was cut short is something that says itself what is to be forgotten.
        self.drop_kept_prompts()?;
        let (mut gone, mut failed) = (0, None);
        let mut forget = |done: Result<u64, StoreError>| match done {
            Ok(count) => gone += count,
            // The others forget even so.
            Err(error) => failed = failed.take().or(Some(error)),
        };
        let (own, others) = plan.events.split_at(plan.own);
        let logs = std::iter::once((self, own)).chain(other.iter().map(|other| (other, others)));
        for (engine, events) in logs {
            match &plan.told {
                Told::Session(session, None) if plan.is_empty() => forget(engine.log.forget_events(session)),
                Told::Session(_, Some(ledger)) | Told::Events(ledger, _) if plan.is_empty() => {
                    forget(engine.log.forget_places(ledger, &Places::These(BTreeSet::new())));
                }
                _ => {
                    for (ledger, events) in events {
                        forget(engine.log.forget_places(ledger, &Places::These(events.clone())));
                    }
                }
            }
        }
        // What one ledger refuses keeps the words of no other in the index.
        let swept = self.sweep();
        match failed {
            Some(error) => Err(error.into()),
            None if plan.is_empty() && gone == 0 => Err(self.nothing_told(&plan.told)),
            None => swept,
        }
    }

    /// Returns why there is nothing to forget of some events.
    pub fn nothing_told(&self, told: &Told) -> EngineError {
        match told {
            Told::Session(session, _) if matches!(self.find_session(session.as_str()), Ok(Some(known)) if known.session == *session) => {
                EngineError::NotFound { what: Wanted::EventOfTranscript, text: session.to_string() }
            }
            told => EngineError::NotFound { what: Wanted::EventWithText, text: told.to_string() },
        }
    }

    /// Returns the events of a session that still say something.
    fn told_in(&self, ledger: &LedgerId, session: &SessionId) -> Result<BTreeSet<EventSeq>> {
        let mut told = BTreeSet::new();
        let of_session =
            EventQuery { session: Some(session.clone()), ..EventQuery::after(None, PAGE_EVENTS) };
        let mut query = Some(of_session);
        while let Some(asked) = query {
            let page = self.log.page(ledger, &asked)?;
            told.extend(saying(&page.events));
            query = asked.following(&page);
        }
        Ok(told)
    }

    /// Returns those of some events that still say something.
    fn telling(&self, ledger: &LedgerId, events: &BTreeSet<EventSeq>) -> Result<BTreeSet<EventSeq>> {
        let mut told = BTreeSet::new();
        for seq in events {
            let query =
                EventQuery { through: Some(*seq), ..EventQuery::after(EventSeq::new(seq.get() - 1), 1) };
            told.extend(saying(&self.log.events(ledger, &query)?));
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
            // One that nothing is known of may be of the project: asked for itself, it says what is wrong.
            if ledger.root.is_none() && ledger.last == 0 {
                self.log.ledger(&ledger.id)?;
            }
            Ok(())
        })?;
        Ok(ledgers)
    }

    /// Counts the events of a log that is not the store that would say nothing any more.
    pub(crate) fn going_elsewhere(&self, sessions: &[Session], ledgers: &[LedgerId]) -> Result<u64> {
        let mut events = 0;
        if !self.is_log_the_store {
            let of_session = |event: &Event| sessions.iter().any(|session| session.session == event.session);
            self.each_ledger(|ledger| {
                let is_whole = ledgers.contains(&ledger.id);
                events += self.going_in(&ledger.id, &|event| is_whole || of_session(event))?;
                Ok(())
            })?;
        }
        Ok(events)
    }

    /// Forgets in a log that is not the store what the store has forgotten: events of the sessions and of whole ledgers, and
    /// memories, which may hold words of any of it. What one ledger refuses keeps no other from it, and is told at the end.
    /// Returns how many events that were.
    pub(crate) fn forget_elsewhere(&self, sessions: &[Session], ledgers: &[LedgerId]) -> Result<u64> {
        if self.is_log_the_store {
            return Ok(0);
        }
        self.leave_index_due_elsewhere()?;
        let whole = ledgers.iter().map(|ledger| self.log.forget_places(ledger, &Places::All));
        let of_sessions = sessions.iter().map(|session| self.log.forget_events(&session.session));
        let (mut events, mut reasons) = (0, Vec::new());
        for done in whole.chain(of_sessions) {
            match done {
                Ok(count) => events += count,
                Err(error) => reasons.push(error.to_string()),
            }
        }
        reasons.extend(self.drop_memories_elsewhere().err().map(|error| error.to_string()));
        if reasons.is_empty() {
            return Ok(events);
        }
        reasons.dedup();
        reasons.push(
            "in the store it is forgotten; after a repair, `stemma events forget SESSION --everywhere` finishes it"
                .to_owned(),
        );
        Err(EngineError::Refused { what: Refusal::ForgetEverywhere, reasons })
    }

    /// Forgets sessions a second time, where the log is not the store. The store forgets first, then the log: a turn that ended in
    /// between still read its lines from the log and committed them. Whatever was committed so goes now.
    pub(crate) fn forget_late(&self, sessions: &[Session], wish: &Forget) -> Result<()> {
        if self.is_log_the_store {
            return Ok(());
        }
        // From here on, no commit of lines that were read before comes in.
        self.store.forget(&Forget::new(wish.at, wish.by.clone()))?;
        let mut late = Vec::new();
        for session in sessions {
            let Some(again) = self.store.session(&session.key)? else { continue };
            let covered = again.tip.map(|tip| self.store.coverage(tip)).transpose()?.flatten();
            let opening = covered.map(|covered| self.opening_of(&covered.ledger, &again.session, None));
            // One that has an opening was begun a second time since then.
            if opening.transpose()?.flatten().is_none() {
                late.push(again);
            }
        }
        if !late.is_empty() {
            let commits = self.commits_of(&late)?;
            self.store.forget(&Forget {
                unroot: commits.iter().map(|commit| commit.id).collect(),
                sessions: late.into_iter().map(|session| session.key).collect(),
                ..Forget::new(wish.at, wish.by.clone())
            })?;
        }
        Ok(())
    }

    /// Marks the index in the store before a log outside of it forgets events, so that the next command removes their words
    /// from the index if this process dies in between. A store that is also the log sets the mark itself.
    pub(crate) fn leave_index_due_elsewhere(&self) -> Result<()> {
        if self.is_log_the_store { Ok(()) } else { Ok(self.store.leave_index_due()?) }
    }

    /// Drops the memories that are saved in a log that is not the store: they may hold words of what the store let go.
    pub(crate) fn drop_memories_elsewhere(&self) -> Result<()> {
        if self.is_log_the_store {
            return Ok(());
        }
        // Also of a ledger that has none: what is being folded of it is not saved then.
        self.drop_states_of_all(MEMORY_STATES, &|_| Ok(true))
    }

    /// Drops saved states of the ledgers that are meant. What one ledger refuses keeps no other from it, and is told at the
    /// end.
    pub(crate) fn drop_states_of_all(
        &self,
        prefix: &str,
        is_meant: &dyn Fn(&Ledger) -> Result<bool>,
    ) -> Result<()> {
        let mut failed = None;
        self.each_ledger(|ledger| {
            let drops = || {
                if is_meant(ledger)? { Ok(self.log.drop_states(&ledger.id, prefix)?) } else { Ok(()) }
            };
            if let Err(error) = drops() {
                failed.get_or_insert(error);
            }
            Ok(())
        })?;
        failed.map_or(Ok(()), Err)
    }

    /// Counts the events of a ledger that would say nothing any more: those that are meant, and those that were made of
    /// them.
    fn going_in(&self, ledger: &LedgerId, is_meant: &dyn Fn(&Event) -> bool) -> Result<u64> {
        let (mut count, mut derived) = (0, DerivedEvents::default());
        let mut query = Some(EventQuery::after(None, PAGE_EVENTS));
        while let Some(asked) = query {
            let page = self.log.page(ledger, &asked)?;
            for event in page.events.iter().filter(|event| !is_forgotten(&event.payload)) {
                if is_meant(event) || derived.hold(&event.topic, &event.session) {
                    derived.goes(&event.session);
                    count += 1;
                }
            }
            query = asked.following(&page);
        }
        Ok(count)
    }
}

/// Returns the places of those that still say something.
fn saying(events: &[Event]) -> impl Iterator<Item = EventSeq> {
    events.iter().filter(|event| !is_forgotten(&event.payload)).map(|event| event.seq)
}

fn is_forgotten(payload: &Payload) -> bool {
    matches!(payload, Payload::Gone(gone) if gone.forgotten)
}
