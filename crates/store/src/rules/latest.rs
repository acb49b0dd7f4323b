//! Which of two facts about one thing stays: for sightings and coverage in whatever order they come.

use stemmata_model::{EventSeq, Sighting, Timestamp};

/// Returns what orders two sightings of a commit by the same session: the smaller one stays.
pub fn sighting_order(sighting: &Sighting) -> impl Ord + use<> {
    let range = sighting.source.as_ref().map(|source| (source.offset, source.length));
    (sighting.observed_at, sighting.reasons, sighting.trigger, range)
}

/// Returns whether a placement replaces the one of its path: the later one stays, of two at one moment the one that came last.
pub fn is_replaced(stored: Option<Timestamp>, new: Timestamp) -> bool {
    stored.is_none_or(|stored| stored <= new)
}

/// Returns whether a commit covers more of a ledger than was known: what it covered once it covers for good.
pub fn covers_more(stored: Option<EventSeq>, new: EventSeq) -> bool {
    stored.is_none_or(|stored| stored < new)
}
