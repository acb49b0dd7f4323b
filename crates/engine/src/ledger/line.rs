//! The line of a session: the chain that it goes on from up to its head, and then its own events.
//!
//! What a session of the ledger says that is not on the line, an abandoned branch above all, is not known here. The memory
//! of a line is folded from it and never filtered out of the project's: what another branch finished or superseded is
//! written into the items themselves, and no filter takes it out again.

use std::collections::BTreeMap;

use stemmata_model::{
    CommitId, CommitType, Entry, Event, EventSeq, FormatId, LedgerId, Note, NoteCode, SessionId, topics,
};
use stemmata_prompt::reduce::Reducer;
use stemmata_prompt::reduce::memory::{MemoryReducer, ProjectMemory, SessionMemory};
use stemmata_store::{EventQuery, Ledger, Order, PAGE_ROWS_MAX, SavedState, StoreError};

use super::decide;
use super::opening::Opening;
use crate::chain::walk::Walk;
use crate::engine::Engine;
use crate::error::{EngineError, FormatUse, Result};
use crate::verbs::materialize::Stop;

/// Commits of a chain that a line reads at most, the newest.
pub(crate) const LINE_COMMITS_MAX: usize = 512;

/// Bytes of a chain that a line reads at most; the newest commit is read whatever it has.
pub(crate) const LINE_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// Sessions of one ledger that a chain went through which a line reads at most, the newest.
const LINE_SESSIONS_MAX: usize = 16;

/// Events that a line reads at most of what was recorded beside the turns of one session, the newest.
const RECORDED_MAX: usize = 512;

/// The format in which a line is read, whatever wrote it.
const FORMAT: &str = "stemmata-v1";

/// How far down a chain is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// To the nearest compaction: what a client has in its window.
    Window,
    /// To the root: what was ever decided.
    Root,
}

/// Entries of a chain, oldest first, on its active path only.
#[derive(Debug, Default)]
pub(crate) struct ChainEntries {
    pub(crate) entries: Vec<Entry>,
    /// Whether older entries were left out by a bound.
    pub(crate) is_cut: bool,
    pub(crate) notes: Vec<Note>,
}

/// A session that goes on from a context, in its ledger.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line<'a> {
    pub(crate) ledger: &'a Ledger,
    pub(crate) session: &'a SessionId,
    pub(crate) opening: &'a Opening,
}

/// What a line knows.
#[derive(Debug, Clone)]
pub(crate) struct LineState {
    pub(crate) memory: ProjectMemory,
    pub(crate) notes: Vec<Note>,
}

impl Engine {
    /// Returns the entries of a commit's context, within [`LINE_COMMITS_MAX`] and [`LINE_BYTES_MAX`]. A context that was
    /// forgotten, or that cannot be read, has none, and a note says so.
    pub(crate) fn chain_entries(&self, head: CommitId, reach: Reach) -> Result<ChainEntries> {
        let format = FormatId::new(FORMAT)?;
        let mut bytes = Vec::new();
        let read = self.chain_stop(head, reach).and_then(|(stop, is_cut)| {
            Ok((self.materialize(Some(head), Some(&format), stop, &mut bytes)?, is_cut))
        });
        let (read, is_cut) = match read {
            Ok(read) => read,
            Err(
                error @ (EngineError::Store(
                    StoreError::Forgotten(_)
                    | StoreError::CommitMissing(_)
                    | StoreError::ContentForgotten(_)
                    | StoreError::ContentMissing(_)
                    | StoreError::Corrupt { .. },
                )
                | EngineError::Format { .. }),
            ) => {
                let message = format!("nothing of {head} is in the prompt: {error}");
                let notes = vec![Note::new(NoteCode::Degraded, message)];
                return Ok(ChainEntries { notes, ..ChainEntries::default() });
            }
            Err(error) => return Err(error),
        };
        let entries = Self::adapter(&format, FormatUse::Read)?.decode(&bytes).entries;
        Ok(ChainEntries { entries, is_cut, notes: read.notes })
    }

    /// Returns where reading a chain stops, and whether that leaves something out.
    fn chain_stop(&self, head: CommitId, reach: Reach) -> Result<(Stop, bool)> {
        let mut walk = Walk::new(self.store.as_ref(), Some(head));
        let (mut bytes, mut last) = (0_u64, None);
        for number in 0.. {
            let Some(commit) = walk.next()? else { break };
            bytes = bytes.saturating_add(commit.native_bytes);
            if let Some(last) = last
                && (number >= LINE_COMMITS_MAX || bytes > LINE_BYTES_MAX)
            {
                return Ok((Stop::Ancestor(last), true));
            }
            last = Some(commit.id);
            if reach == Reach::Window && commit.core.commit_type != CommitType::Delta {
                break;
            }
        }
        Ok(match reach {
            Reach::Window => (Stop::Compaction, false),
            Reach::Root => (Stop::Root, false),
        })
    }

    /// Returns what a line knows up to an event: what its chain says, what its own events say, and what people recorded in
    /// the ledger, which is of no branch. Saves how far it was folded, so that a turn costs what came since the last one.
    pub(crate) fn line_state(&self, line: Line<'_>, through: EventSeq) -> Result<LineState> {
        let (own, notes) = self.line_memory(line, through)?;
        let decided = self.decided(&line.ledger.id, through)?;
        Ok(LineState { memory: ProjectMemory::merge([&own, &decided], []), notes })
    }

    fn line_memory(&self, line: Line<'_>, through: EventSeq) -> Result<(SessionMemory, Vec<Note>)> {
        let Line { ledger, session, opening } = line;
        let name = line_name(session);
        let position = opening.head.map(|head| head.to_string());
        let saved = self.log.saved_states(&ledger.id, &name)?.into_iter().find(|saved| saved.name == name);
        let saved = saved.filter(|saved| saved.position == position);
        // Who asks for an earlier place does not undo what later ones have saved.
        let is_earlier = saved.as_ref().is_some_and(|saved| saved.through > through.get());
        let saved = saved.filter(|_| !is_earlier);
        let known = saved.and_then(|saved| {
            Some((SessionMemory::load(saved.version, &saved.state).ok()?, EventSeq::new(saved.through)?))
        });
        let mut notes = Vec::new();
        let is_known = known.is_some();
        let (mut memory, from) =
            if let Some(known) = known { known } else { (self.chain_memory(line, &mut notes)?, opening.seq) };
        let new = self.fold_session(&mut memory, &ledger.id, (session, from, through))?;
        if !is_earlier && (!is_known || new >= self.save_events) {
            let state = SavedState {
                name,
                version: MemoryReducer::VERSION,
                through: through.get(),
                position,
                state: memory.save(),
            };
            self.keep_of_session(ledger, session, vec![state])?;
        }
        Ok((memory, notes))
    }

    /// Folds what the chain says that a line goes on from.
    fn chain_memory(&self, line: Line<'_>, notes: &mut Vec<Note>) -> Result<SessionMemory> {
        let mut memory = SessionMemory::new(line.session, line.ledger.root.as_deref());
        let Some(head) = line.opening.head else { return Ok(memory) };
        let chain = self.chain_entries(head, Reach::Root)?;
        notes.extend(chain.notes);
        if chain.is_cut {
            let message = format!(
                "the state knows the newest {LINE_COMMITS_MAX} commits or {LINE_BYTES_MAX} bytes of what is below {head}"
            );
            notes.push(Note::new(NoteCode::TooLarge, message));
        }
        let recorded = self.recorded(&line.ledger.id, head)?;
        fold_chain(&mut memory, &chain.entries, &recorded);
        Ok(memory)
    }

    /// Returns what was recorded beside the turns of a chain: decisions, tasks and errors are events of the ledger and in no
    /// commit.
    fn recorded(&self, ledger: &LedgerId, head: CommitId) -> Result<Vec<Event>> {
        let mut events = Vec::new();
        for (session, through) in self.sessions_on_chain(ledger, head)? {
            let query = EventQuery {
                session: Some(session),
                topics: [topics::DECISION_EVENT, topics::ERROR_EVENT, topics::STATUS_EVENT]
                    .map(topics::topic)
                    .to_vec(),
                through: Some(through),
                order: Order::NewestFirst,
                limit: RECORDED_MAX,
                ..EventQuery::default()
            };
            events.extend(self.log.events(ledger, &query)?);
        }
        events.sort_by_key(|event| event.seq);
        Ok(events)
    }

    /// Returns the sessions of a ledger that a chain went through, each with the last event that its commits on the chain
    /// cover: what it recorded later is another branch's. None for a chain that is gone.
    pub(crate) fn sessions_on_chain(
        &self,
        ledger: &LedgerId,
        head: CommitId,
    ) -> Result<BTreeMap<SessionId, EventSeq>> {
        let mut walk = Walk::new(self.store.as_ref(), Some(head));
        let mut sessions: BTreeMap<SessionId, EventSeq> = BTreeMap::new();
        for _ in 0..LINE_COMMITS_MAX {
            let commit = match walk.next() {
                Ok(Some(commit)) => commit,
                Ok(None) | Err(StoreError::CommitMissing(_) | StoreError::Forgotten(_)) => break,
                Err(error) => return Err(error.into()),
            };
            let Some(coverage) = self.store.coverage(commit.id)?.filter(|known| known.ledger == *ledger)
            else {
                continue;
            };
            let Some(sighting) = self.store.sightings(commit.id, 1)?.into_iter().next() else { continue };
            // The newest commit of a session comes first.
            if sessions.len() < LINE_SESSIONS_MAX || sessions.contains_key(&sighting.session) {
                sessions.entry(sighting.session).or_insert(coverage.through);
            }
        }
        Ok(sessions)
    }

    /// Folds a session's events after one and up to another. Returns how many there were.
    fn fold_session(
        &self,
        memory: &mut SessionMemory,
        ledger: &LedgerId,
        (session, after, through): (&SessionId, EventSeq, EventSeq),
    ) -> Result<u64> {
        let mut folded = 0;
        let mut query = Some(EventQuery {
            session: Some(session.clone()),
            through: Some(through),
            ..EventQuery::after(Some(after), PAGE_ROWS_MAX)
        });
        while let Some(asked) = query {
            let page = self.log.page(ledger, &asked)?;
            for event in &page.events {
                memory.event(event);
                folded += 1;
            }
            query = asked.following(&page);
        }
        Ok(folded)
    }

    /// Folds what people recorded in a ledger by `stemma decide` and `stemma task`.
    fn decided(&self, ledger: &LedgerId, through: EventSeq) -> Result<SessionMemory> {
        let session = SessionId::new(decide::SESSION).expect("a constant name is a name");
        let mut memory = SessionMemory::new(&session, None);
        let query = EventQuery {
            session: Some(session),
            through: Some(through),
            ..EventQuery::latest(topics::topic(topics::DECISION_EVENT), RECORDED_MAX)
        };
        for event in self.log.events(ledger, &query)?.iter().rev() {
            memory.event(event);
        }
        Ok(memory)
    }
}

/// Folds what was said and what was recorded beside it, by time: a decision may replace one that was said before.
fn fold_chain(memory: &mut SessionMemory, entries: &[Entry], recorded: &[Event]) {
    let mut recorded = recorded.iter().peekable();
    let mut at = None;
    for (ordinal, entry) in (0..).zip(entries) {
        at = at.max(entry.timestamp);
        while let Some(event) = recorded.next_if(|event| Some(event.at) < at) {
            memory.event(event);
        }
        memory.entry(entry, ordinal);
    }
    recorded.for_each(|event| memory.event(event));
}

/// Returns the name of a line's saved state. Names that begin with `memory` are dropped with whatever is forgotten.
pub(crate) fn line_name(session: &SessionId) -> String {
    format!("memory-line/{session}/")
}
