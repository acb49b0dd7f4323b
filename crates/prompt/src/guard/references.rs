//! How often later entries name an entry: its files, its id or its calls. In time that grows with the names, not with their
//! square.

use std::collections::{HashMap, HashSet};

use stemmata_model::Entry;

use super::counters::{ItemCounters, hash};

/// References of one name that are counted. A score is full at five.
const COUNTED_MAX: usize = 16;

/// Names of one entry that are looked for.
const NAMES_MAX: usize = 64;

/// How often an entry is named later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Named {
    /// Later entries that name it, not counting its own tool group; counted up to a bound.
    pub(super) count: u32,
    /// The last of them.
    pub(super) last: Option<usize>,
}

/// Counts for each entry the later ones that name it. `groups` says which tool group an entry is in: what a result says of
/// its own call is no reference.
pub(super) fn references(
    entries: &[Entry],
    counters: &[&ItemCounters],
    groups: &[Option<u32>],
) -> Vec<Named> {
    let own = own_names(entries, counters);
    let known: HashSet<u64> = own.iter().flatten().copied().collect();
    // The nearest later entries that name something, and the last one.
    let mut mentions: HashMap<u64, (Vec<usize>, usize)> = HashMap::new();
    let mut found = vec![Named::default(); entries.len()];
    // From the newest entry to the oldest: what is in the map is later.
    for at in (0..entries.len()).rev() {
        let group = groups.get(at).copied().flatten();
        let is_other = |other: &usize| group.is_none() || groups.get(*other).copied().flatten() != group;
        let mut naming: Vec<usize> = Vec::new();
        for name in own.get(at).into_iter().flatten() {
            if let Some((near, last)) = mentions.get(name) {
                naming.extend(near.iter().chain([last]).copied().filter(is_other));
            }
        }
        naming.sort_unstable();
        naming.dedup();
        let count = u32::try_from(naming.len()).unwrap_or(u32::MAX);
        if let Some(found) = found.get_mut(at) {
            *found = Named { count, last: naming.last().copied() };
        }
        for name in counters.get(at).into_iter().flat_map(|counters| counters.mentions.iter()) {
            if known.contains(name) {
                let (near, _) = mentions.entry(*name).or_insert_with(|| (Vec::new(), at));
                if near.len() == COUNTED_MAX {
                    near.remove(0);
                }
                near.push(at);
            }
        }
    }
    found
}

/// Returns the names of each entry: its id, its calls, and the files that these touch.
fn own_names(entries: &[Entry], counters: &[&ItemCounters]) -> Vec<Vec<u64>> {
    let calls = counters.iter().flat_map(|counters| counters.calls.iter());
    let files: HashMap<u64, &[u64]> = calls.map(|call| (call.id, &*call.files)).collect();
    let names = entries.iter().enumerate().map(|(at, entry)| {
        let mut names = vec![hash(entry.id.as_str())];
        let Some(counters) = counters.get(at) else { return names };
        let calls = counters
            .calls
            .iter()
            .map(|call| call.id)
            .chain(counters.results.iter().map(|result| result.call));
        for call in calls {
            names.push(call);
            names.extend(files.get(&call).copied().into_iter().flatten());
        }
        names.sort_unstable();
        names.dedup();
        names.truncate(NAMES_MAX);
        names
    });
    names.collect()
}
