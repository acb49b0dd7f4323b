//! What the last compaction put away, and where what it keeps hangs.

use std::collections::HashSet;

use super::Load;
use crate::claude_code::row::{Key, Kind, Link, Row};

/// Puts away what stands before the last compaction, but for what that keeps, which it hangs below the summary. Returns the last
/// record that is kept.
///
/// With no kept records listed anywhere nothing is put away, nor if one that the last compaction lists is missing.
pub(super) fn relink(load: &mut Load<'_>) -> Option<usize> {
    let is_boundary =
        |row: &Row| row.again.unwrap_or(row.kind) == Kind::Boundary && row.sidechain == load.tree.side;
    let boundaries: Vec<usize> = load.places().filter(|&at| load.row(at).is_some_and(is_boundary)).collect();
    let &last = boundaries.last()?;
    if !boundaries.iter().any(|&at| load.row(at).is_some_and(lists)) {
        return None;
    }
    let kept = if load.row(last).is_some_and(lists) { kept_by(load, last)? } else { Vec::new() };
    let kept: Vec<usize> = kept.into_iter().map(|key| load.find(key)).collect::<Option<_>>()?;
    let key = |load: &Load<'_>, at: usize| load.row(at).and_then(|row| row.key);
    let end = kept.last().copied();
    if let Some(end) = end.and_then(|end| key(load, end)) {
        // Also where that record is missing: what hangs on it goes to the last one that is kept.
        let anchor = load.row(last).and_then(|row| row.metadata.as_deref()?.anchor);
        let mut before = anchor;
        for &at in &kept {
            load.hang(at, before.map_or(Link::Root, Link::Of));
            before = key(load, at);
        }
        let on_anchor = |at: &usize| anchor.is_some_and(|anchor| load.link(*at) == Link::Of(anchor));
        let follows: Vec<usize> =
            load.places().filter(on_anchor).filter(|at| kept.first() != Some(at)).collect();
        for at in follows {
            load.hang(at, Link::Of(end));
        }
    }
    let is_kept: HashSet<usize> = kept.iter().copied().collect();
    let gone: HashSet<usize> = (0..last).filter(|at| !is_kept.contains(at)).collect();
    let orphans: Vec<usize> = load
        .places()
        .filter(|at| load.is_message(*at) && load.parent(*at).is_some_and(|at| gone.contains(&at)))
        .collect();
    for &at in &gone {
        if let Some(record) = load.records.get_mut(at) {
            record.is_gone = true;
        }
    }
    if let Some(end) = end.and_then(|end| key(load, end)) {
        for at in orphans {
            load.hang(at, Link::Of(end));
        }
    }
    end
}

/// Returns whether a boundary says what its compaction keeps, if only that it is nothing.
fn lists(row: &Row) -> bool {
    row.metadata.as_deref().is_some_and(|metadata| metadata.lists)
}

/// Returns the records that a boundary keeps; none if it names a chain that is broken.
fn kept_by(load: &Load<'_>, boundary: usize) -> Option<Vec<Key>> {
    let row = load.row(boundary)?;
    let named = row.stated.as_deref().unwrap_or(&row.preserved);
    if !row.keeps_chain {
        return Some(named.to_vec());
    }
    let (&head, &tail) = (named.first()?, named.last()?);
    let key = |at: usize| load.row(at).and_then(|row| row.key);
    let mut chain: Vec<Key> = Vec::new();
    for at in load.way(load.find(tail)?) {
        chain.extend(key(at));
        if key(at) == Some(head) {
            chain.reverse();
            return Some(chain);
        }
    }
    None
}
