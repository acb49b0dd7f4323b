//! Which messages a compaction keeps.

use std::collections::HashSet;

use super::Tree;
use crate::circles::nearest_up;
use crate::claude_code::row::Kind;

impl Tree {
    /// Returns the messages that a boundary keeps, oldest first: what it lists, or a chain with what stands beside it.
    ///
    /// Parallel calls that hang below the chain's first record, and the results of all its calls, were said within it. The client
    /// does not find them: it follows parents from one end to the other.
    pub(in crate::claude_code) fn kept_by(&self, boundary: usize) -> Vec<usize> {
        let row = self.row(boundary);
        let mut kept: Vec<usize> = row.preserved.iter().filter_map(|&key| self.find(key)).collect();
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
}
