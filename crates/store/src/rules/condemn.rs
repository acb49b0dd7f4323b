//! What becomes of things that nothing needs: condemned first, deleted once the grace is over, revived when they are needed.
//!
//! What nothing needs is found out before.

use std::collections::{BTreeMap, BTreeSet};

use stemmata_model::{CommitId, Timestamp, to_u64};

use crate::maintain::collect::Collected;

/// What becomes of each thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fates<K> {
    /// Condemned ones that are needed again.
    pub revived: Vec<K>,
    /// Ones that stayed condemned for the whole grace.
    pub ripe: Vec<K>,
    /// Ones that are condemned, and wait.
    pub waiting: Vec<K>,
    /// Ones that are condemned now. No run deletes what it is the first to find: a writer that is about to refer to one has the
    /// whole grace to do so.
    pub condemned: Vec<K>,
}

/// Decides what becomes of things that nothing needs, and of those that are condemned and since when. `grace_us` is in
/// microseconds.
pub fn fates<K: Copy + Ord>(
    unneeded: &BTreeSet<K>,
    condemned: &BTreeMap<K, Timestamp>,
    now: Timestamp,
    grace_us: i64,
) -> Fates<K> {
    let ripe_at = now.as_micros().saturating_sub(grace_us);
    let revived = condemned.keys().filter(|key| !unneeded.contains(key)).copied().collect();
    let mut fates = Fates { revived, ripe: Vec::new(), waiting: Vec::new(), condemned: Vec::new() };
    for key in unneeded {
        let own = match condemned.get(key) {
            Some(since) if since.as_micros() <= ripe_at => &mut fates.ripe,
            Some(_) => &mut fates.waiting,
            None => &mut fates.condemned,
        };
        own.push(*key);
    }
    fates
}

impl Collected {
    /// Counts what became of commits; `deleted` are those that are gone. Of the ripe ones the others wait: one that stays
    /// continues them.
    pub fn commits(&mut self, fates: &Fates<CommitId>, deleted: &BTreeSet<CommitId>) {
        let waiting: Vec<CommitId> =
            fates.ripe.iter().filter(|id| !deleted.contains(id)).chain(&fates.waiting).copied().collect();
        self.revived += to_u64(fates.revived.len());
        self.condemned.add(fates.condemned.len(), 0, 0);
        self.waiting.add(waiting.len(), 0, 0);
        let revived = fates.revived.iter().map(|id| ("revived", id));
        let deleted = deleted.iter().map(|id| ("deleted", id));
        let rest = waiting.iter().chain(&fates.condemned).map(|id| ("condemned", id));
        for (fate, id) in revived.chain(deleted).chain(rest) {
            self.which.add(fate, &id.to_bytes());
        }
    }

    /// Counts what became of contents, with the bytes that each has of its own.
    pub fn contents<K: Copy + Ord>(&mut self, fates: &Fates<K>, bytes: &BTreeMap<K, u64>) {
        let of = |key: &K| bytes.get(key).copied().unwrap_or_default();
        self.revived += to_u64(fates.revived.len());
        for key in &fates.waiting {
            self.waiting.add(0, 1, of(key));
        }
        for key in &fates.condemned {
            self.condemned.add(0, 1, of(key));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn each_thing_has_one_fate_and_nothing_goes_that_was_not_condemned_for_the_grace(
            unneeded in proptest::collection::btree_set(0..20_u8, 0..12),
            condemned in proptest::collection::btree_map(0..20_u8, 0..10_i64, 0..12),
            now in 0..10_i64,
            grace_us in 0..5_i64,
        ) {
            let at = Timestamp::from_micros(now);
            let since = condemned.iter().map(|(key, at)| (*key, Timestamp::from_micros(*at))).collect();
            let fates = fates(&unneeded, &since, at, grace_us);
            let rest: Vec<u8> = [&fates.ripe, &fates.waiting, &fates.condemned].into_iter().flatten().copied().collect();
            prop_assert_eq!(rest.len(), unneeded.len());
            prop_assert_eq!(rest.into_iter().collect::<BTreeSet<u8>>(), unneeded.clone());
            prop_assert!(fates.ripe.iter().all(|key| condemned[key] + grace_us <= now));
            prop_assert!(fates.waiting.iter().all(|key| condemned[key] + grace_us > now));
            prop_assert!(fates.revived.iter().all(|key| condemned.contains_key(key) && !unneeded.contains(key)));
            // A second run at the same time finds nothing new to condemn and nothing to revive.
            let mut since = since;
            since.retain(|key, _| !fates.revived.contains(key));
            since.extend(fates.condemned.iter().map(|key| (*key, at)));
            let again = super::fates(&unneeded, &since, at, grace_us);
            prop_assert!(again.condemned.is_empty() && again.revived.is_empty());
        }
    }
}
