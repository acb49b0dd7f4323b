//! The stored numbers of small enumerations.
//!
//! A number, once written, keeps its meaning forever. Specified in `docs/format/store.md`.

use stemmata_model::{CommitId, Granularity, Reasons, SummarySource, Trigger};

use crate::write::{Annotation, LinkKind, SessionOrigin};

/// The kinds of rows that hold a commit's mutable metadata.
pub(super) const KIND_SUMMARY: i64 = 0;
pub(super) const KIND_TAG: i64 = 1;
pub(super) const KIND_NOTE: i64 = 2;
pub(super) const KIND_PIN: i64 = 3;
pub(super) const KIND_AUDIT: i64 = 4;

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
pub(super) fn cause(trigger: Trigger, reasons: Reasons) -> i64 {
    self::trigger(trigger) | (i64::from(reasons.bits()) << REASONS_SHIFT)
}

pub(super) fn cause_from(number: i64) -> Option<(Trigger, Reasons)> {
    let bits = u8::try_from(number >> REASONS_SHIFT).ok()?;
    let own = number & ((1 << REASONS_SHIFT) - 1);
    Some((Trigger::ALL.into_iter().find(|known| trigger(*known) == own)?, Reasons::from_bits(bits)?))
}

pub(super) fn granularity(granularity: Granularity) -> i64 {
    match granularity {
        Granularity::Turn => 0,
        Granularity::Message => 1,
        Granularity::Every(turns) => 2 + i64::from(turns),
    }
}

pub(super) fn granularity_from(number: i64) -> Option<Granularity> {
    match number {
        0 => Some(Granularity::Turn),
        1 => Some(Granularity::Message),
        every => u32::try_from(every - 2).ok().map(Granularity::Every),
    }
}

pub(super) const fn session_origin(origin: SessionOrigin) -> i64 {
    match origin {
        SessionOrigin::Imported => 0,
        SessionOrigin::Placed(_) => 1,
        SessionOrigin::Api => 2,
    }
}

pub(super) fn session_origin_from(number: i64, placed_from: Option<CommitId>) -> Option<SessionOrigin> {
    match number {
        0 => Some(SessionOrigin::Imported),
        1 => placed_from.map(SessionOrigin::Placed),
        2 => Some(SessionOrigin::Api),
        _ => None,
    }
}

pub(super) const fn link_kind(kind: LinkKind) -> i64 {
    match kind {
        LinkKind::DerivedFrom => 0,
        LinkKind::Subagent => 1,
    }
}

pub(super) const fn link_kind_from(number: i64) -> Option<LinkKind> {
    match number {
        0 => Some(LinkKind::DerivedFrom),
        1 => Some(LinkKind::Subagent),
        _ => None,
    }
}

pub(super) const fn summary_source(source: SummarySource) -> i64 {
    match source {
        SummarySource::Given => 0,
        SummarySource::Model => 1,
        SummarySource::Heuristic => 2,
    }
}

pub(super) const fn summary_source_from(number: i64) -> Option<SummarySource> {
    match number {
        0 => Some(SummarySource::Given),
        1 => Some(SummarySource::Model),
        2 => Some(SummarySource::Heuristic),
        _ => None,
    }
}

/// A change as the columns of an audit row: its number, its text, and the source of a summary.
pub(super) fn change(change: &Annotation) -> (i64, Option<&str>, Option<i64>) {
    match change {
        Annotation::Summary { text, source } => (0, text.as_deref(), Some(summary_source(*source))),
        Annotation::AddTag(tag) => (1, Some(tag), None),
        Annotation::RemoveTag(tag) => (2, Some(tag), None),
        Annotation::AddNote(text) => (3, Some(text), None),
        Annotation::Pin => (4, None, None),
        Annotation::Unpin => (5, None, None),
    }
}

pub(super) fn change_from(number: i64, text: Option<String>, source: Option<i64>) -> Option<Annotation> {
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
