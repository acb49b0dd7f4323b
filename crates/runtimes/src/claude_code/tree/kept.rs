//! Which messages a compaction keeps, and which of the same messages' lines it puts away.

use std::collections::{HashMap, HashSet};

use super::Tree;
use crate::circles::nearest_up;
use crate::claude_code::keys::ByKey;
use crate::claude_code::row::{Key, Kind, Row};

impl Tree {
    /// Returns the messages that a boundary keeps, oldest first: what it lists, or a chain with what stands beside it.
    ///
    /// Parallel calls that hang below the chain's first record, and the results of all its calls, were said within it. The client
    /// does not find them: it follows parents from one end to the other.
    pub(in crate::claude_code) fn kept_by(&self, boundary: usize) -> Vec<usize> {
        let row = self.row(boundary);
        let there = row.preserved.iter().filter(|&&key| !self.lacks(key));
        let mut kept: Vec<usize> = there.filter_map(|&key| self.find(key)).collect();
        let Some(&head) = kept.first().filter(|_| row.keeps_chain) else { return kept };
        let units: HashSet<usize> = kept.iter().map(|&position| self.unit(position)).collect();
        let chain: HashSet<usize> = kept.iter().copied().collect();
        let members = || {
            let members = self.members(&units, self.rows.len());
            members.filter(|(position, _)| !chain.contains(position))
        };
        let below_head = nearest_up(
            self.rows.len(),
            |position| self.parent(position),
            |position| (position == head).then_some(()),
        );
        let leads_to_head = |position: usize| matches!(below_head.get(position), Some(Some(())));
        let calls =
            members().filter(|(position, row)| row.kind == Kind::Assistant && leads_to_head(*position));
        kept.extend(calls.map(|(position, _)| position));
        let made: HashSet<u64> =
            kept.iter().flat_map(|&position| &self.row(position).calls).copied().collect();
        let results = members().filter(|(_, row)| {
            row.kind == Kind::Result && row.answers.iter().any(|call| made.contains(call))
        });
        kept.extend(results.map(|(position, _)| position));
        kept.sort_unstable();
        kept
    }

    /// Returns the boundary whose compaction puts a message away, though it keeps another line of it, and the last record that it
    /// keeps.
    pub(in crate::claude_code) fn put_away_by(&self, position: usize) -> Option<(usize, usize)> {
        let row = self.row(position);
        let &(boundary, last) = self.kept_units.get(&self.unit(position))?;
        let is_before = position < boundary || row.of_artifact;
        (is_before && row.key.is_none_or(|key| self.preserved_by(key).is_none())).then_some((boundary, last))
    }

    /// Returns whether a client does not find a record: it is not there, or is progress, which it reads over.
    pub(in crate::claude_code) fn lacks(&self, key: Key) -> bool {
        self.find(key).is_none_or(|position| self.row(position).kind == Kind::Progress)
    }

    /// Returns whether a client keeps nothing of what a boundary names: it reads over progress, and finds no record in it.
    pub(in crate::claude_code) fn names_progress(&self, boundary: usize) -> bool {
        let Row { preserved, keeps_chain, .. } = self.row(boundary);
        let is_progress =
            |key: &Key| self.find(*key).is_some_and(|position| self.row(position).kind == Kind::Progress);
        match (&**preserved, keeps_chain) {
            ([head, .., tail], true) => is_progress(head) || is_progress(tail),
            (kept, _) => kept.iter().any(is_progress),
        }
    }
}

/// Finds the units of kept records, the boundaries that keep them, and the last record that each of these keeps.
pub(super) fn units(rows: &[Row], by_key: &ByKey<usize>, units: &[usize]) -> HashMap<usize, (usize, usize)> {
    let mut found = HashMap::new();
    for (boundary, row) in rows.iter().enumerate() {
        let there = row.preserved.iter().filter_map(|key| by_key.get(key).copied());
        let kept: Vec<usize> =
            there.filter(|&kept| rows.get(kept).is_some_and(|row| row.kind != Kind::Progress)).collect();
        let Some(&last) = kept.last() else { continue };
        found.extend(kept.into_iter().filter_map(|kept| Some((*units.get(kept)?, (boundary, last)))));
    }
    found
}
