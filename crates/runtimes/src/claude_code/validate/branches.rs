//! Messages on branches beside the conversation: the user went back, or two clients wrote one transcript.
//!
//! No client sends them, and nothing is wrong with that; whoever looks for one of them should know where it is.

use std::collections::HashSet;

use super::super::path::{Reach, leaf, walk};
use super::super::tree::Tree;

/// Returns how many messages are beside the way from the beginning to the end, and the position of the first one.
pub(super) fn beside(tree: &Tree) -> Option<(usize, usize)> {
    let path = walk(tree, leaf(tree)?, Reach::Beginning { stop: None });
    let units: HashSet<usize> = path.units.union(&path.skipped).copied().collect();
    let is_beside = |&position: &usize| {
        let row = tree.row(position);
        // What a compaction keeps goes with it, wherever it stands.
        let is_kept = row.key.is_some_and(|key| tree.preserved_by(key).is_some());
        let is_own = tree.is_own(position) && row.kind.is_message();
        is_own && !is_kept && !units.contains(&tree.unit(position)) && !units.contains(&position)
    };
    let mut messages = (0..tree.rows.len()).filter(is_beside);
    let first = messages.next()?;
    Some((1 + messages.count(), first))
}
