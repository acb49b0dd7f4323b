//! Entries whose events say nothing any more, and which a closed commit of their session holds all the same: after a scrub, or where
//! single events were forgotten. The model is given them, so a call that says one of them again says nothing new.

use std::collections::HashMap;
use std::ops::ControlFlow;

use stemmata_model::{Closure, Commit, CommitType, Entry, EntryId, EventSeq, Role};
use stemmata_runtimes::captured::visibility;
use stemmata_store::{EventKey, EventQuery, Keyed, PAGE_ROWS_MAX};

use super::Call;
use super::content::{Hashing, Line};
use crate::chain::segments::read_whole;
use crate::engine::Engine;
use crate::error::Result;
use crate::ledger::holding::spoken;
use crate::scrubbing::PLACEHOLDER;

impl Engine {
    /// Returns those entries of a call that a closed commit holds and that no key leads to, each with the place that its event had.
    /// Costs one look where nothing of the ledger was ever forgotten.
    pub(super) fn held(&self, call: &Call<'_>, missing: &[&Line]) -> Result<Vec<Keyed>> {
        let turn = call.turn;
        let ledger = self.log.ledger(&turn.ledger)?.filter(|ledger| ledger.epoch > 0);
        let (Some(ledger), false) = (ledger, missing.is_empty()) else { return Ok(Vec::new()) };
        let tip = self.store.session(&self.turns_key(turn))?.and_then(|session| session.tip);
        let below = self.below(turn, tip, ledger.last)?;
        let (Some(parent), Some(covered)) = (below.parent, below.covered) else { return Ok(Vec::new()) };
        let query = |after, through, forgotten| EventQuery {
            session: Some(turn.session.clone()),
            topics: spoken(),
            through: Some(through),
            forgotten,
            ..EventQuery::after(after, PAGE_ROWS_MAX)
        };
        let opening = self.opening_of(&turn.ledger, &turn.session, None)?.map(|opening| opening.seq);
        let gone = self.log.events(&turn.ledger, &query(opening, covered, true))?;
        let gone: Vec<EventSeq> = gone.into_iter().map(|event| event.seq).collect();
        let Some(oldest) = gone.first() else { return Ok(Vec::new()) };
        let mut wanted: HashMap<&EntryId, &Line> =
            missing.iter().map(|line| (&line.entry.id, *line)).collect();
        let mut found = Vec::new();
        self.each_covering((&turn.ledger, &turn.session), parent, &mut |commit, (before, last)| {
            let is_own = |seq: &&EventSeq| before.is_none_or(|before| **seq > before) && **seq <= last;
            if let Some(first) = gone.iter().find(is_own) {
                let events = self.log.events(&turn.ledger, &query(before, last, false))?;
                let places: Vec<EventSeq> = events.into_iter().map(|event| event.seq).collect();
                for (entry, place) in self.placed_entries(&commit, (&places, *first))? {
                    if let Some(line) = wanted.remove(&entry.id) {
                        let digest = digest_held(call, line, &entry)?;
                        found.push(Keyed { key: line.key, digest, first: place, last: place, until: None });
                    }
                }
            }
            let is_done = wanted.is_empty() || before.is_some_and(|before| before < *oldest);
            Ok(if is_done { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        Ok(found)
    }

    /// Returns what a commit holds of what was said, each entry with the place of its event; where some of these are of no entry,
    /// with that of the first that says nothing any more.
    fn placed_entries(
        &self,
        commit: &Commit,
        (places, first): (&[EventSeq], EventSeq),
    ) -> Result<Vec<(Entry, EventSeq)>> {
        if commit.core.commit_type == CommitType::Compaction || commit.closure == Closure::Forgotten {
            return Ok(Vec::new());
        }
        let mut entries = self.own_entries(commit, &read_whole(self, commit.core.native_artifact())?)?;
        entries.retain(|entry| {
            matches!(entry.role, Role::User | Role::Assistant | Role::Tool)
                && visibility::of_entry(entry).is_none()
        });
        let fits = entries.len() == places.len();
        let place = |at: usize| places.get(at).copied().filter(|_| fits).unwrap_or(first);
        Ok(entries.into_iter().enumerate().map(|(at, entry)| (entry, place(at))).collect())
    }
}

/// Returns the hash of a held entry: the call's own where both say the same. What a rule replaced cannot be compared.
fn digest_held(call: &Call<'_>, line: &Line, held: &Entry) -> Result<EventKey> {
    let hashing = Hashing::Keyed(&call.secret);
    let (digest, former) = (hashing.of_entry(held)?, Hashing::Former.of_entry(held)?);
    let is_same = digest == line.digest || line.says(former)?;
    Ok(if is_same || is_scrubbed(held) || is_scrubbed(&line.entry) { line.digest } else { digest })
}

/// Says whether a rule replaced something of an entry.
fn is_scrubbed(entry: &Entry) -> bool {
    let text = format!("{:?}", entry.parts);
    text.as_bytes().windows(PLACEHOLDER.len()).any(|part| part == PLACEHOLDER)
}
