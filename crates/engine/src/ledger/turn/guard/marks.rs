//! What a caller says of single entries of a live session: show them again, pin them, unpin them.

use std::collections::BTreeSet;

use stemmata_model::{CommitId, Entry, EntryId, Json, NewEvent, NewPayload, Party, Tokens, topics};
use stemmata_prompt::guard::Zone;
use stemmata_prompt::window::entry_tokens;
use stemmata_runtimes::captured::visibility::{self, SHOWN_IDS_MAX, ShowAs, Shown};

use super::window::SessionWindow;
use super::{Guarding, TurnGuard, WindowReport, refused};
use crate::engine::Engine;
use crate::error::{EngineError, Refusal, Result, Wanted};
use crate::ledger::opening::OPENER;
use crate::ledger::turn::TurnOf;
use crate::ledger::turn::append::Brings;
use crate::ledger::turn::commit::Boundary;

/// What becomes of entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryMark {
    /// The model sees them again, whole tool groups. They count in the window.
    Rehydrate,
    /// They are never pruned, and a summary holds them word for word.
    Pin,
    /// They are pinned no more.
    Unpin,
}

impl EntryMark {
    const fn show_as(self) -> ShowAs {
        match self {
            Self::Rehydrate => ShowAs::Shown,
            Self::Pin => ShowAs::Pinned,
            Self::Unpin => ShowAs::Unpinned,
        }
    }
}

/// Entries of a live session that were marked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marked {
    /// The entries: all that came back with those that were named.
    pub entries: Vec<EntryId>,
    /// The commit that has it.
    pub ctx: Option<CommitId>,
    /// The window after it, where a guard is given.
    pub window: Option<WindowReport>,
}

impl Engine {
    /// Shows hidden entries of a live session again, or pins or unpins entries of its window. Marking what is marked already
    /// changes nothing.
    ///
    /// # Errors
    /// `NotFound` for an entry that the window since the last compaction has not; `Refused` where the entries that come back
    /// would make the window critical, or are too many at once; as [`Engine::step`].
    pub fn mark_entries(
        &self,
        turn: &TurnOf,
        (ids, mark): (&[EntryId], EntryMark),
        guard: Option<&TurnGuard<'_>>,
    ) -> Result<Marked> {
        if ids.len() > SHOWN_IDS_MAX {
            let reason = format!("{} entries at once; {SHOWN_IDS_MAX} can be named", ids.len());
            return Err(refused(Refusal::MarkEntries, reason));
        }
        let last = self.log.ledger(&turn.ledger)?.map_or(0, |known| known.last);
        let window = self.session_window(turn, &[], last)?;
        let there: BTreeSet<&EntryId> = window.entries.iter().map(|entry| &entry.id).collect();
        let marked: Vec<EntryId> = match mark {
            EntryMark::Rehydrate => {
                let named: Vec<EntryId> = ids.iter().filter(|id| !there.contains(id)).cloned().collect();
                let back = self.coming_back(turn, (&named, &there), last)?;
                self.check_room(turn, &back, guard, last)?;
                back.into_iter().map(|entry| entry.id).collect()
            }
            EntryMark::Pin | EntryMark::Unpin => {
                if let Some(unknown) = ids.iter().find(|id| !there.contains(id) && !window.pins.contains(id))
                {
                    return Err(unknown_entry(unknown));
                }
                let is_pinned = |id: &&EntryId| window.pins.contains(*id) == (mark == EntryMark::Pin);
                ids.iter().filter(|id| !is_pinned(id)).cloned().collect()
            }
        };
        if marked.is_empty() {
            let window = guard.map(|guard| self.turn_window(turn, guard)).transpose()?;
            return Ok(Marked { entries: marked, ctx: None, window });
        }
        let event = self.mark_event(turn, &marked, mark);
        let guarding = guard.map(Guarding::new);
        let stored =
            self.append_and_commit(turn, &Brings::Events(&[event]), (Boundary::Look, guarding.as_ref()))?;
        self.bus.wake(&turn.ledger);
        let report =
            stored.acted.zip(guard).map(|(acted, guard)| self.with_entries(turn, guard, acted.report));
        let ctx = stored.checkpoint.map(|made| made.id);
        Ok(Marked { entries: marked, ctx, window: report.transpose()? })
    }

    /// Returns the hidden entries that come back where these are shown again: each with its tool group.
    fn coming_back(
        &self,
        turn: &TurnOf,
        (named, there): (&[EntryId], &BTreeSet<&EntryId>),
        last: u64,
    ) -> Result<Vec<Entry>> {
        if named.is_empty() {
            return Ok(Vec::new());
        }
        let event = self.mark_event(turn, named, EntryMark::Rehydrate);
        let SessionWindow { entries, .. } = self.session_window(turn, &[event], last)?;
        let back: Vec<Entry> = entries.into_iter().filter(|entry| !there.contains(&entry.id)).collect();
        match named.iter().find(|id| !back.iter().any(|entry| entry.id == **id)) {
            Some(unknown) => Err(unknown_entry(unknown)),
            None => Ok(back),
        }
    }

    /// Refuses entries that would make the window critical: the next call would prune them again.
    fn check_room(
        &self,
        turn: &TurnOf,
        back: &[Entry],
        guard: Option<&TurnGuard<'_>>,
        last: u64,
    ) -> Result<()> {
        let Some(guard) = guard else { return Ok(()) };
        let known = self.known_window(turn, guard, last)?;
        let tokens = match known.tokens {
            Some(tokens) => tokens,
            None => self.turn_window(turn, &TurnGuard { returns_entries: false, ..*guard })?.tokens,
        };
        let more: Tokens = back.iter().map(|entry| entry_tokens(entry, guard.counter)).sum();
        let window = guard.config.window();
        if window.zone(tokens + more) < Zone::Critical {
            return Ok(());
        }
        let reason = format!(
            "{} entries with {more} come back, and with {tokens} in the window of {} the next call would prune them again: \
             name fewer, or read them with `stemma show --entry`",
            back.len(),
            window.limit()
        );
        Err(refused(Refusal::MarkEntries, reason))
    }

    pub(in crate::ledger::turn) fn mark_event(
        &self,
        turn: &TurnOf,
        entries: &[EntryId],
        mark: EntryMark,
    ) -> NewEvent {
        let shown = Shown { entries: entries.to_vec(), show_as: mark.show_as(), reason: String::new() };
        let line = visibility::line(&[shown], self.clock.now());
        let line = String::from_utf8_lossy(&line);
        let line = Json::parse(line.trim_end()).expect("an encoded line is JSON");
        let sender = Party::new(OPENER).expect("a constant name is a name");
        let topic = topics::topic(topics::CONTEXT_VISIBILITY);
        NewEvent::new(turn.session.clone(), topic, sender, NewPayload::Line(line)).with_links(&turn.links())
    }
}

fn unknown_entry(id: &EntryId) -> EngineError {
    EngineError::NotFound { what: Wanted::Entry, text: id.to_string() }
}
