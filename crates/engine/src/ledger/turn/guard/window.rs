//! The window of a session of turns: what its model sees, with what is in no commit yet.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use stemmata_model::{
    CommitId, CommitType, Entry, EntryId, EventSeq, FormatId, LedgerId, NewEvent, Note, NoteCode, SessionId,
    Timestamp, listed, topics,
};
use stemmata_prompt::window::{Paired, paired};
use stemmata_runtimes::adapter::{Adapter, PlanStop, Segment, Segments, SourceError};
use stemmata_runtimes::captured::visibility;
use stemmata_store::{EventQuery, Order};

use super::refused;
use crate::capture::ingest::source_error;
use crate::chain::segments::ChainSegments;
use crate::engine::Engine;
use crate::error::{FormatUse, Refusal, Result};
use crate::guard::{drop_old_usage, is_seen};
use crate::ledger::turn::commit::new_lines;
use crate::ledger::turn::results::ANSWER_NOTHING;
use crate::ledger::turn::{FORMAT, TurnOf};
use crate::prompts::entry_of;
use crate::verbs::materialize::Stop;
use crate::verbs::translate::Seals;

/// Visibility lines among which those are looked for that show entries again. Each time that results are archived is one, so that
/// what was shown again stays for a while and not forever.
const SHOWN_LINES_MAX: usize = 64;

/// Entries of a window that can be judged.
const ENTRIES_MAX: usize = 200_000;

/// What the model of a session sees.
pub(in crate::ledger::turn) struct SessionWindow {
    /// The entries, oldest first. Usage that was reported of another window is left out.
    pub(in crate::ledger::turn) entries: Vec<Entry>,
    /// Entries that are never pruned.
    pub(super) pins: BTreeSet<EntryId>,
    /// What was done so that a provider takes the entries.
    pub(super) notes: Vec<Note>,
}

/// Names in one note at most.
const NAMED_MAX: usize = 8;

/// Says what was done about calls and results, where something was.
pub(crate) fn said_of(ids: &[String], code: NoteCode, what: &str) -> Option<Note> {
    let named: Vec<String> = ids.iter().map(|id| format!("`{id}`")).collect();
    (!ids.is_empty()).then(|| Note::new(code, format!("{what}: {}", listed(&named, NAMED_MAX))))
}

/// Lines that are in no commit, before a chain that ends with its newest commit.
struct Ahead<'s, 'e> {
    pending: Option<Segment>,
    chain: &'s mut ChainSegments<'e>,
}

impl Segments for Ahead<'_, '_> {
    fn next(&mut self) -> std::result::Result<Option<Segment>, SourceError> {
        match self.pending.take() {
            Some(pending) => Ok(Some(pending)),
            None => self.chain.next(),
        }
    }
}

impl Engine {
    /// Returns the window of a session with its events up to `last` and those that are about to be appended.
    pub(in crate::ledger::turn) fn session_window(
        &self,
        turn: &TurnOf,
        events: &[NewEvent],
        last: u64,
    ) -> Result<SessionWindow> {
        let tip = self.store.session(&self.turns_key(turn))?.and_then(|session| session.tip);
        let below = self.below(turn, tip, last)?;
        let mut pending = self.line_bytes_after(turn, below.covered, last)?;
        pending.extend(new_lines(turn, events));
        let adapter = Self::adapter(&FormatId::new(FORMAT)?, FormatUse::Read)?;
        let mut entries = self.window_entries(adapter, below.parent, pending)?;
        if entries.len() > ENTRIES_MAX {
            let reason = format!("the window has {} entries; {ENTRIES_MAX} can be judged", entries.len());
            return Err(refused(Refusal::GuardWindow, reason));
        }
        let pins = visibility::pins(&entries);
        entries.retain(is_seen);
        drop_old_usage(&mut entries, false);
        if let Some(changed) = self.window_changed(turn, last)? {
            for entry in entries.iter_mut().filter(|entry| entry.timestamp.is_none_or(|at| at <= changed)) {
                entry.meta.usage = None;
            }
        }
        let Paired { entries, closed, left_out } = paired(entries);
        let closed = said_of(
            &closed,
            NoteCode::SyntheticResult,
            "tool calls have no result although the session went on, and the model is given a marked one",
        );
        let left_out = said_of(&left_out, NoteCode::OrphanResult, ANSWER_NOTHING);
        Ok(SessionWindow { entries, pins, notes: closed.into_iter().chain(left_out).collect() })
    }

    /// Returns when a session's window became another one last: it was compacted, or entries were hidden, shown or pinned.
    fn window_changed(&self, turn: &TurnOf, last: u64) -> Result<Option<Timestamp>> {
        let query = EventQuery {
            session: Some(turn.session.clone()),
            topics: [topics::COMPACTION_END, topics::CONTEXT_VISIBILITY].map(topics::topic).to_vec(),
            through: EventSeq::new(last),
            order: Order::NewestFirst,
            ..EventQuery::after(None, 1)
        };
        Ok(self.log.events(&turn.ledger, &query)?.pop().map(|event| event.at))
    }

    /// Returns what became last of the entries of a session's window, by its newest visibility lines.
    pub(super) fn shown_lately(&self, turn: &TurnOf, last: u64) -> Result<BTreeMap<EntryId, bool>> {
        self.hidden_in(&turn.ledger, &turn.session, (EventSeq::new(last), SHOWN_LINES_MAX))
    }

    /// Returns whether entries of a session are hidden, of those that its newest `lines_max` visibility lines name.
    pub(crate) fn hidden_in(
        &self,
        ledger: &LedgerId,
        session: &SessionId,
        (through, lines_max): (Option<EventSeq>, usize),
    ) -> Result<BTreeMap<EntryId, bool>> {
        let query = EventQuery {
            session: Some(session.clone()),
            topics: vec![topics::topic(topics::CONTEXT_VISIBILITY)],
            through,
            order: Order::NewestFirst,
            ..EventQuery::after(None, lines_max)
        };
        let mut hidden = BTreeMap::new();
        for event in self.log.events(ledger, &query)? {
            for shown in entry_of(&event).as_ref().and_then(visibility::of_entry).unwrap_or_default() {
                let Some(hides) = shown.show_as.hides() else { continue };
                for id in shown.entries {
                    hidden.entry(id).or_insert(hides);
                }
            }
        }
        Ok(hidden)
    }

    /// Returns the entries of the context of a commit with lines behind it, lines about pins among them.
    fn window_entries(
        &self,
        adapter: &'static dyn Adapter,
        parent: Option<CommitId>,
        pending: Vec<u8>,
    ) -> Result<Vec<Entry>> {
        let commit = parent.map(|parent| self.store.commit(parent)).transpose()?.flatten();
        let is_own = commit.is_none_or(|commit| commit.core.format == adapter.format());
        let (chain, mut entries) = match parent {
            // Of another format until the session's first commit puts a snapshot between.
            Some(parent) if !is_own => {
                (None, self.told_entries(parent, (Stop::Compaction, Seals::Opened))?.0)
            }
            parent => (parent, Vec::new()),
        };
        let mut chain = ChainSegments::new(self, chain, None);
        let pending = Arc::new(pending);
        let segment = Segment {
            commit_type: CommitType::Delta,
            native: Arc::clone(&pending),
            prefix: None,
            is_stop: false,
            created_at: Timestamp::EPOCH,
        };
        let mut ahead = Ahead { pending: Some(segment), chain: &mut chain };
        let plan = adapter.plan_context(&mut ahead, PlanStop::Compaction).map_err(source_error)?;
        let mut bytes = Vec::new();
        for piece in &plan.pieces {
            // The lines ahead have the numbers of one commit.
            let content = match piece.segment.checked_sub(2) {
                None => Some(Arc::clone(&pending)),
                Some(number) => chain.load(number)?,
            };
            let start = usize::try_from(piece.offset).unwrap_or(usize::MAX);
            let length = usize::try_from(piece.length).unwrap_or(usize::MAX);
            let part = content.as_deref().and_then(|content| content.get(start..)?.get(..length));
            bytes.extend_from_slice(
                part.ok_or_else(|| {
                    refused(Refusal::Materialize, "its plan points outside the chain's bytes")
                })?,
            );
        }
        entries.extend(adapter.decode(&bytes).entries);
        Ok(entries)
    }
}
