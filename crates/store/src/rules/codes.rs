//! The stored numbers of small enumerations.
//!
//! A number, once written, keeps its meaning forever. Specified in `docs/format/store.md`.

use stemmata_model::{CommitId, Granularity, Reasons, SummarySource, Trigger};

use crate::write::{Annotation, LinkKind, SessionOrigin};

/// A commit's metadata: its summary.
pub const KIND_SUMMARY: i64 = 0;
/// A tag of a commit.
pub const KIND_TAG: i64 = 1;
/// A note of a commit.
pub const KIND_NOTE: i64 = 2;
/// A commit's pin.
pub const KIND_PIN: i64 = 3;
/// The record of one change of a commit's metadata.
pub const KIND_AUDIT: i64 = 4;

const fn trigger(trigger: Trigger) -> i64 {
    match trigger {
        Trigger::TurnBoundary => 0,
        Trigger::ToolCall => 1,
        Trigger::Compaction => 2,
        Trigger::SessionEnd => 3,
        Trigger::Explicit => 4,
    }
}

/// The bits of a sighting's reasons stand above its trigger.
const REASONS_SHIFT: u32 = 8;

/// Returns what made a checkpoint happen, and why it was due, as one number.
pub fn cause(trigger: Trigger, reasons: Reasons) -> i64 {
    self::trigger(trigger) | (i64::from(reasons.bits()) << REASONS_SHIFT)
}

/// Reads what [`cause`] returns; `None` for a number that it never returns.
pub fn cause_from(number: i64) -> Option<(Trigger, Reasons)> {
    let bits = u8::try_from(number >> REASONS_SHIFT).ok()?;
    let own = number & ((1 << REASONS_SHIFT) - 1);
    Some((Trigger::ALL.into_iter().find(|known| trigger(*known) == own)?, Reasons::from_bits(bits)?))
}

/// Returns the number of a granularity.
pub fn granularity(granularity: Granularity) -> i64 {
    match granularity {
        Granularity::Turn => 0,
        Granularity::Message => 1,
        Granularity::Every(turns) => 2 + i64::from(turns),
    }
}

/// Reads a granularity.
pub fn granularity_from(number: i64) -> Option<Granularity> {
    match number {
        0 => Some(Granularity::Turn),
        1 => Some(Granularity::Message),
        every => u32::try_from(every - 2).ok().map(Granularity::Every),
    }
}

/// Returns the number of where a session came from; the commit that it was placed from has a column of its own.
pub const fn session_origin(origin: SessionOrigin) -> i64 {
    match origin {
        SessionOrigin::Imported => 0,
        SessionOrigin::Placed(_) => 1,
        SessionOrigin::Api => 2,
    }
}

/// Reads where a session came from.
pub fn session_origin_from(number: i64, placed_from: Option<CommitId>) -> Option<SessionOrigin> {
    match number {
        0 => Some(SessionOrigin::Imported),
        1 => placed_from.map(SessionOrigin::Placed),
        2 => Some(SessionOrigin::Api),
        _ => None,
    }
}

/// Returns the number of a kind of links.
pub const fn link_kind(kind: LinkKind) -> i64 {
    match kind {
        LinkKind::DerivedFrom => 0,
        LinkKind::Subagent => 1,
    }
}

/// Reads a kind of links.
pub fn link_kind_from(number: i64) -> Option<LinkKind> {
    [LinkKind::DerivedFrom, LinkKind::Subagent].into_iter().find(|kind| link_kind(*kind) == number)
}

/// Returns the number of a summary's source: the smaller, the more it is trusted.
pub const fn summary_source(source: SummarySource) -> i64 {
    match source {
        SummarySource::Given => 0,
        SummarySource::Model => 1,
        SummarySource::Heuristic => 2,
    }
}

/// Reads a summary's source.
pub fn summary_source_from(number: i64) -> Option<SummarySource> {
    let all = [SummarySource::Given, SummarySource::Model, SummarySource::Heuristic];
    all.into_iter().find(|source| summary_source(*source) == number)
}

/// A change as the columns of an audit row: its number, its text, and the source of a summary.
pub fn change(change: &Annotation) -> (i64, Option<&str>, Option<i64>) {
    match change {
        Annotation::Summary { text, source } => (0, text.as_deref(), Some(summary_source(*source))),
        Annotation::AddTag(tag) => (1, Some(tag), None),
        Annotation::RemoveTag(tag) => (2, Some(tag), None),
        Annotation::AddNote(text) => (3, Some(text), None),
        Annotation::Pin => (4, None, None),
        Annotation::Unpin => (5, None, None),
    }
}

/// Returns the kind of what stands after a change, or stood before it, with its text and its source. A removal has the text of
/// what it removes, but for a summary: there is one at most.
pub fn standing(change: &Annotation) -> (i64, Option<&str>, Option<i64>) {
    let (_, text, source) = self::change(change);
    let kind = match change {
        Annotation::Summary { .. } => KIND_SUMMARY,
        Annotation::AddTag(_) | Annotation::RemoveTag(_) => KIND_TAG,
        Annotation::AddNote(_) => KIND_NOTE,
        Annotation::Pin | Annotation::Unpin => KIND_PIN,
    };
    (kind, text, source)
}

/// Returns the number of the change that sets what stands of a kind.
pub const fn change_of(kind: i64) -> i64 {
    match kind {
        KIND_TAG => 1,
        KIND_NOTE => 3,
        KIND_PIN => 4,
        _ => 0,
    }
}

/// Reads a change from the columns of an audit row.
pub fn change_from(number: i64, text: Option<String>, source: Option<i64>) -> Option<Annotation> {
    match number {
        0 => Some(Annotation::Summary { text, source: summary_source_from(source?)? }),
        1 => text.map(Annotation::AddTag),
        2 => text.map(Annotation::RemoveTag),
        3 => text.map(Annotation::AddNote),
        4 => Some(Annotation::Pin),
        5 => Some(Annotation::Unpin),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use stemmata_model::{MachineId, Principal, SessionId, Sighting, Timestamp};

    use super::*;
    use crate::rules::annotation::says_content;
    use crate::rules::latest::sighting_order;

    /// A statement decides which of two sightings stays by the numbers that it stores, in one step.
    #[test]
    fn the_numbers_of_sightings_order_them_as_the_rule_does() {
        let sighting = |trigger, reasons| Sighting {
            observed_at: Timestamp::EPOCH,
            principal: Principal::new("p").expect("a name"),
            machine: MachineId::new("m").expect("a name"),
            session: SessionId::new("s").expect("a name"),
            ticket: None,
            thread: None,
            template_alias: None,
            trigger,
            reasons,
            source: None,
        };
        let reasons = || (0..=u8::MAX).filter_map(Reasons::from_bits);
        let all: Vec<Sighting> = Trigger::ALL
            .into_iter()
            .flat_map(|trigger| reasons().map(move |reasons| sighting(trigger, reasons)))
            .collect();
        let number = |own: &Sighting| cause(own.trigger, own.reasons);
        for (one, two) in all.iter().flat_map(|one| all.iter().map(move |two| (one, two))) {
            assert_eq!(
                number(one) < number(two),
                sighting_order(one) < sighting_order(two),
                "{one:?} {two:?}"
            );
            assert_eq!(cause_from(number(one)), Some((one.trigger, one.reasons)));
        }
    }

    /// A statement silences a hole by the numbers of kinds and changes.
    #[test]
    fn the_numbers_of_what_a_hole_loses_are_those_of_the_rule() {
        for change in [
            Annotation::Summary { text: Some("s".to_owned()), source: SummarySource::Model },
            Annotation::AddTag("t".to_owned()),
            Annotation::RemoveTag("t".to_owned()),
            Annotation::AddNote("n".to_owned()),
            Annotation::Pin,
            Annotation::Unpin,
        ] {
            assert_eq!([0, 2].contains(&standing(&change).0), says_content(&change), "{change:?}");
            assert_eq!([0, 3].contains(&self::change(&change).0), says_content(&change), "{change:?}");
        }
    }
}
