//! What a change does to a commit's metadata, and what records of changes say together: summaries, tags, notes and pins as
//! sets that merge.
//!
//! The trail of a commit's changes is a set of records; what stands is a function of that set alone, so that
//! stores which know the same records show the same metadata, in whatever order they learned of them. How records
//! are kept is each backend's.

use std::collections::{BTreeMap, BTreeSet};

use stemmata_model::{Principal, SummarySource};

use crate::maintain::forget::Reworded;
use crate::write::{Annotation, Annotations, AuditRecord};

/// What the author of a record begins with that came in a bundle. It is put there when it comes in, whatever the bundle says,
/// and so nothing that this store recorded begins with it.
const FOREIGN: &str = "bundle:";

impl AuditRecord {
    /// Says whether the change was made elsewhere and came in a bundle.
    pub fn is_foreign(&self) -> bool {
        self.by.as_str().starts_with(FOREIGN)
    }

    /// Returns the record as it is kept where it came in a bundle: marked once, whatever the bundle says.
    #[must_use]
    pub fn foreign(self) -> Self {
        let marked = format!("{FOREIGN}{}", self.own_author());
        // Only an author as long as names can be has no room for the mark.
        let by = Principal::new(marked)
            .unwrap_or_else(|_| Principal::new(format!("{FOREIGN}somebody")).expect("a short plain name"));
        Self { by, ..self }
    }

    /// Returns the record as its author made it: the mark is this store's, and never travels.
    #[must_use]
    pub fn unmarked(self) -> Self {
        let by = Principal::new(self.own_author()).unwrap_or_else(|_| self.by.clone());
        Self { by, ..self }
    }

    fn own_author(&self) -> &str {
        self.by.as_str().trim_start_matches(FOREIGN)
    }
}

/// Returns what a change is about where only one thing can be said of it; notes stand beside each other.
fn subject(change: &Annotation) -> Option<(u8, String)> {
    match change {
        Annotation::AddTag(tag) | Annotation::RemoveTag(tag) => Some((1, tag.clone())),
        Annotation::Pin | Annotation::Unpin => Some((2, String::new())),
        Annotation::Summary { .. } => Some((3, String::new())),
        Annotation::AddNote(_) => None,
    }
}

/// Leaves out what others said of a tag, the pin or the summary where something was said of it here: no bundle takes back
/// what this store recorded, or stands in its place. Notes stand beside each other.
fn counted(records: &BTreeSet<AuditRecord>) -> BTreeSet<AuditRecord> {
    let own: BTreeSet<(u8, String)> = records
        .iter()
        .filter(|record| !record.is_foreign())
        .filter_map(|record| subject(&record.change))
        .collect();
    let counts = |record: &&AuditRecord| {
        !record.is_foreign() || subject(&record.change).is_none_or(|subject| !own.contains(&subject))
    };
    records.iter().filter(counts).cloned().collect()
}

/// Returns the records whose change can be seen, ascending. What came in a bundle counts only where nothing was said here of the
/// same tag, the pin or the summary.
///
/// - A tag and the pin: the latest record about it, by (time, author, change), says whether it is there.
/// - Notes: every one.
/// - The summary: a removal takes away what stood before it with the same or less trust. Of the rest the most
///   trusted source wins, and of its texts the latest.
pub fn standing_records(records: &BTreeSet<AuditRecord>) -> Vec<AuditRecord> {
    let records = &counted(records);
    let mut latest: BTreeMap<Option<&str>, &AuditRecord> = BTreeMap::new();
    let mut notes: Vec<&AuditRecord> = Vec::new();
    // Ascending: of two about one thing the later record replaces the earlier one.
    for record in records {
        match &record.change {
            Annotation::AddTag(tag) | Annotation::RemoveTag(tag) => {
                latest.insert(Some(tag), record);
            }
            Annotation::Pin | Annotation::Unpin => {
                latest.insert(None, record);
            }
            Annotation::AddNote(_) => notes.push(record),
            Annotation::Summary { .. } => {}
        }
    }
    let present = |record: &&AuditRecord| matches!(record.change, Annotation::AddTag(_) | Annotation::Pin);
    let mut standing: Vec<AuditRecord> = latest.into_values().filter(present).cloned().collect();
    standing.extend(notes.into_iter().cloned());
    standing.extend(standing_summary(records).cloned());
    standing.sort();
    standing
}

/// Returns what records say together.
pub fn merged_annotations(records: &BTreeSet<AuditRecord>) -> Annotations {
    shown(&standing_records(records))
}

/// Returns the metadata that standing records are, notes in their order.
pub fn shown<'r>(standing: impl IntoIterator<Item = &'r AuditRecord>) -> Annotations {
    let mut annotations = Annotations::default();
    for record in standing {
        match record.change.clone() {
            Annotation::Summary { text, source } => {
                annotations.summary = text.map(|text| (text, source));
            }
            Annotation::AddTag(tag) => annotations.tags.push(tag),
            Annotation::AddNote(text) => annotations.notes.push(text),
            Annotation::Pin => annotations.pinned = true,
            Annotation::RemoveTag(_) | Annotation::Unpin => {}
        }
    }
    annotations.tags.sort();
    annotations
}

/// The effect of a change on a commit's current metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Nothing changes, and no record is kept.
    Nothing,
    /// It is added. A summary replaces the one before.
    Stands,
    /// The tag, the pin or the summary that it names is removed.
    Removes,
}

/// Returns the effect of a change. `standing` holds the current records of the same kind; others do not matter.
///
/// A less trusted summary never replaces a more trusted one. Tags and the pin have no author: adding one a second time changes
/// nothing. Notes have: two people may write the same text, and a repeated batch (same author, time and text) adds none.
pub fn effect(standing: &[AuditRecord], record: &AuditRecord) -> Effect {
    let has = |change: &Annotation| standing.iter().any(|own| own.change == *change);
    let unless = |is_there: bool, effect| if is_there { Effect::Nothing } else { effect };
    match &record.change {
        Annotation::AddTag(_) | Annotation::Pin => unless(has(&record.change), Effect::Stands),
        Annotation::AddNote(_) => unless(standing.contains(record), Effect::Stands),
        Annotation::RemoveTag(tag) => unless(!has(&Annotation::AddTag(tag.clone())), Effect::Removes),
        Annotation::Unpin => unless(!has(&Annotation::Pin), Effect::Removes),
        Annotation::Summary { text, source } => {
            let stored = standing.iter().find_map(|own| {
                let Annotation::Summary { source, .. } = &own.change else { return None };
                Some(source)
            });
            // A smaller source is more trusted.
            let is_refused = stored.is_some_and(|stored| stored < source) || has(&record.change);
            match text {
                Some(_) => unless(is_refused, Effect::Stands),
                None => unless(is_refused || stored.is_none(), Effect::Removes),
            }
        }
    }
}

/// Applies a change to the current records; returns whether it changed anything.
pub fn apply(standing: &mut Vec<AuditRecord>, record: &AuditRecord) -> bool {
    let effect = effect(standing, record);
    let replaced = subject(&record.change);
    if effect != Effect::Nothing && replaced.is_some() {
        standing.retain(|own| subject(&own.change) != replaced);
    }
    standing.extend((effect == Effect::Stands).then(|| record.clone()));
    effect != Effect::Nothing
}

/// Returns whether a change says what its commit holds: it goes with the contents, and tags and pins stay.
pub const fn says_content(change: &Annotation) -> bool {
    match change {
        Annotation::Summary { .. } | Annotation::AddNote(_) => true,
        Annotation::AddTag(_) | Annotation::RemoveTag(_) | Annotation::Pin | Annotation::Unpin => false,
    }
}

/// Replaces records by others, and returns whether there was one to replace.
pub fn reword<'r>(
    records: &mut BTreeSet<AuditRecord>,
    requests: impl IntoIterator<Item = &'r Reworded>,
) -> bool {
    let mut has_changed = false;
    for request in requests.into_iter().filter(|request| request.from != request.to) {
        if records.remove(&request.from) {
            records.insert(request.to.clone());
            has_changed = true;
        }
    }
    has_changed
}

fn standing_summary(records: &BTreeSet<AuditRecord>) -> Option<&AuditRecord> {
    // The latest text of each source that no later removal took away.
    let mut texts: BTreeMap<SummarySource, &AuditRecord> = BTreeMap::new();
    for record in records {
        let Annotation::Summary { text, source } = &record.change else { continue };
        if text.is_some() {
            texts.insert(*source, record);
        } else {
            // A smaller source is more trusted: what is as much or less trusted goes.
            texts.split_off(source);
        }
    }
    texts.into_values().next()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use stemmata_model::{Principal, Timestamp};

    use super::*;

    fn source() -> impl Strategy<Value = SummarySource> {
        prop_oneof![Just(SummarySource::Given), Just(SummarySource::Model), Just(SummarySource::Heuristic)]
    }

    fn change() -> impl Strategy<Value = Annotation> {
        prop_oneof![
            (proptest::option::of("[ab]"), source())
                .prop_map(|(text, source)| Annotation::Summary { text, source }),
            "[xy]".prop_map(Annotation::AddTag),
            "[xy]".prop_map(Annotation::RemoveTag),
            "[no]".prop_map(Annotation::AddNote),
            Just(Annotation::Pin),
            Just(Annotation::Unpin),
        ]
    }

    fn record() -> impl Strategy<Value = AuditRecord> {
        (0..20_i64, "[pq]", change()).prop_map(|(at, by, change)| AuditRecord {
            at: Timestamp::from_micros(at),
            by: Principal::new(by).expect("a name"),
            change,
        })
    }

    fn records() -> impl Strategy<Value = Vec<AuditRecord>> {
        proptest::collection::vec(record(), 0..12)
    }

    fn set(records: &[AuditRecord]) -> BTreeSet<AuditRecord> {
        records.iter().cloned().collect()
    }

    /// Makes one change after the other, as a store does that hears of them in order, and returns those that changed something.
    fn recorded(records: &[AuditRecord]) -> (Annotations, Vec<AuditRecord>) {
        let mut standing = Vec::new();
        let changed = records.iter().filter(|record| apply(&mut standing, record)).cloned().collect();
        (shown(&standing), changed)
    }

    proptest! {
        #[test]
        fn merging_is_commutative_associative_and_idempotent(one in records(), two in records(), three in records()) {
            let union = |parts: &[&[AuditRecord]]| merged_annotations(&set(&parts.concat()));
            let merged = union(&[&one, &two, &three]);
            prop_assert_eq!(&union(&[&three, &one, &two]), &merged);
            prop_assert_eq!(&union(&[&two, &three, &one, &two, &one]), &merged);
        }

        #[test]
        fn only_what_stands_is_needed_for_what_is_seen(records in records()) {
            let all = set(&records);
            let standing = standing_records(&all);
            prop_assert_eq!(merged_annotations(&set(&standing)), merged_annotations(&all));
            prop_assert!(standing.iter().all(|record| all.contains(record)));
        }

        #[test]
        fn records_in_the_order_of_time_merge_to_what_applying_them_gives(changes in proptest::collection::vec(change(), 0..14)) {
            let records: Vec<AuditRecord> = (0..)
                .zip(changes)
                .map(|(at, change)| AuditRecord {
                    at: Timestamp::from_micros(at),
                    by: Principal::new("p").expect("a name"),
                    change,
                })
                .collect();
            let (applied, changed) = recorded(&records);
            prop_assert_eq!(merged_annotations(&set(&changed)), applied);
        }

        #[test]
        fn a_change_that_is_repeated_at_once_changes_nothing(records in records(), last in record()) {
            let mut standing = Vec::new();
            for record in &records {
                apply(&mut standing, record);
            }
            apply(&mut standing, &last);
            prop_assert_eq!(effect(&standing, &last), Effect::Nothing);
        }
    }
}
