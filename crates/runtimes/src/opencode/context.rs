//! What the client sends of a session, in its order: as its loader decides it (1.18.33).
//!
//! The bytes keep everything. What was undone goes at the next prompt; a compaction stands for what was before it, but for
//! the tail that it kept word for word, which follows its summary.

use std::collections::{HashMap, HashSet};

use stemmata_model::{Entry, EntryId, EntryKind, Part, Role};

use super::RUNTIME;
use super::record::{Info, Piece, Session, info};
use crate::adapter::PlanStop;
use crate::document::compactions::{Within, name};
use crate::document::{Record, whole};
use crate::json::{Field, owned, text};
use crate::translate::Told;

/// Returns a session's entries as a model sees them from where a context begins.
pub(crate) fn as_told(mut entries: Vec<Entry>, stop: PlanStop) -> Told {
    undo(&mut entries);
    match stop {
        PlanStop::Compaction => Told { entries: as_loaded(entries), skipped_compactions: 0 },
        PlanStop::Root | PlanStop::Ancestor => without_compactions(entries),
    }
}

/// Leaves out what the user took back: the client keeps it, to bring it back, until it is prompted again.
fn undo(entries: &mut Vec<Entry>) {
    let session = entries.iter().find_map(|entry| carried(entry, "session"));
    let Some(revert) = session.and_then(|json| info(Some(Field::whole(json))).revert) else { return };
    let revert: Info<'_> = info(Some(revert));
    let place = |id: Option<Field<'_>>| {
        let id = text(id)?;
        entries.iter().position(|entry| entry.id.as_str() == id.as_ref())
    };
    let Some(message) = place(revert.message_id) else { return };
    let cut = match revert.part_id {
        None => message,
        // Where a part is named that is not there, its message stays.
        Some(_) => place(revert.part_id).unwrap_or_else(|| next_message(entries, message)),
    };
    // What the session says of itself may stand behind its messages.
    let mut index = 0;
    entries.retain(|entry| {
        index += 1;
        index <= cut || entry.kind == EntryKind::Metadata
    });
}

/// Returns where the message behind one begins: an answer is an entry for each step and each result.
fn next_message(entries: &[Entry], message: usize) -> usize {
    let is_own = |entry: &Entry| entry.id.as_str().starts_with("prt");
    let own = entries.iter().skip(message + 1).take_while(|entry| is_own(entry)).count();
    message + 1 + own
}

/// Follows the loader: from the newest message back to the mark of the last compaction that is done, or to the message at
/// which the tail begins that it kept; the tail then follows the summary.
fn as_loaded(mut entries: Vec<Entry>) -> Vec<Entry> {
    let start = start(&entries);
    entries.drain(..start);
    let Some((mark, tail)) =
        entries.iter().enumerate().rev().find_map(|(at, entry)| Some((at, tail_of(entry)?)))
    else {
        return entries;
    };
    let own = entries.get(mark).map(|entry| &entry.id);
    let is_summary =
        |entry: &Entry| entry.kind == EntryKind::CompactionSummary && entry.parent.as_ref() == own;
    let summary = entries.iter().skip(mark).position(is_summary).map(|behind| mark + behind);
    let first = entries.iter().position(|entry| entry.id.as_str() == tail);
    if let (Some(summary), Some(first)) = (summary, first)
        && first < mark
    {
        entries.drain(..first);
        // `summary` and `mark` are places behind `first`.
        entries.get_mut(..=summary - first).unwrap_or_default().rotate_left(mark - first);
    }
    entries
}

fn start(entries: &[Entry]) -> usize {
    let mut done: HashSet<&EntryId> = HashSet::new();
    let mut tail: Option<String> = None;
    for (at, entry) in entries.iter().enumerate().rev() {
        if let Some(tail) = &tail {
            if entry.id.as_str() == tail {
                return at;
            }
        } else if entry.kind == EntryKind::CompactionBoundary && done.contains(&entry.id) {
            tail = tail_of(entry).filter(|tail| entry.id.as_str() != tail);
            if tail.is_none() {
                return at;
            }
        } else if entry.kind == EntryKind::CompactionSummary && entry.meta.visibility.agent {
            done.extend(&entry.parent);
        }
    }
    0
}

/// Leaves out compactions: what they stand for is there. One that nothing stands before is what a session begins with.
fn without_compactions(entries: Vec<Entry>) -> Told {
    let mut skipped_compactions = 0;
    let mut has_said = false;
    let mut kept = Vec::with_capacity(entries.len());
    for entry in entries {
        let is_seen = entry.meta.visibility.agent && entry.role != Role::System;
        let is_skipped = entry.kind == EntryKind::CompactionSummary && has_said;
        skipped_compactions += u64::from(is_skipped && is_seen);
        has_said |= is_seen;
        if !is_skipped {
            kept.push(entry);
        }
    }
    Told { entries: kept, skipped_compactions }
}

/// Returns the client's compactions that are done and stand for what is before them (see `document::Dialect`): the mark, its
/// summary, and the tail before the mark that was kept.
pub(super) fn compactions(bytes: &[u8], records: &[Record]) -> Vec<Within> {
    let Some(session) = whole(bytes).ok().and_then(|document| Session::read(document).ok()) else {
        return Vec::new();
    };
    // A document of another program may have thousands of compactions: none of them scans the records anew.
    let mut places: HashMap<&str, usize> = HashMap::new();
    for (at, record) in records.iter().enumerate() {
        if let Some(id) = &record.line.id {
            places.entry(id.as_str()).or_insert(at);
        }
    }
    let place = |id: &str| places.get(id).copied();
    // A document that ends before what it tells of itself is none: nothing of such a one may stand alone.
    let is_told_first = records.first().is_some_and(|record| is_session(&record.line.parts));
    let undone = text(info(info(session.info).revert).message_id).and_then(|id| place(&id));
    let known = records.get(..undone.unwrap_or(records.len())).filter(|_| is_told_first).unwrap_or_default();
    let is_said = |record: &Record| record.line.meta.visibility.agent && !is_record(&record.line.kind);
    let first_said = known.iter().position(is_said);
    // Each mark by its name, with the place of the tail that it names, if it names one.
    let mut marks = HashMap::new();
    let mut within = Vec::new();
    for (at, record) in known.iter().enumerate() {
        let line = &record.line;
        if line.kind == EntryKind::CompactionBoundary {
            let tail = tail_in(&line.parts).map(|id| place(&id));
            marks.insert(line.id.as_ref(), (at, tail));
        }
        if line.kind != EntryKind::CompactionSummary || !line.meta.visibility.agent {
            continue;
        }
        let Some(&(mark, tail)) = marks.get(&line.parent.as_ref()) else { continue };
        let begin = match tail {
            None => mark,
            Some(Some(tail)) if tail <= mark => tail,
            // The loader looks for the tail, finds none, and sends everything.
            Some(_) => {
                within.clear();
                continue;
            }
        };
        let said = line.parts.iter().find_map(|part| match part {
            Part::Summary { text, .. } => Some(text.as_str()),
            _ => None,
        });
        let first = if first_said.is_some_and(|said| said < begin) { begin } else { 0 };
        within.push(Within { first, at, mark: Some(mark), part: None, name: name(said.unwrap_or_default()) });
    }
    within
}

fn is_session(parts: &[Part]) -> bool {
    matches!(parts, [Part::Opaque { kind, .. }] if kind == "session")
}

fn is_record(kind: &EntryKind) -> bool {
    matches!(kind, EntryKind::Metadata | EntryKind::CompactionBoundary | EntryKind::Unreadable)
}

/// Returns the message at which the tail begins that a compaction kept.
fn tail_of(entry: &Entry) -> Option<String> {
    tail_in(&entry.parts)
}

fn tail_in(parts: &[Part]) -> Option<String> {
    let json = carried_in(parts, super::read::COMPACTION)?;
    owned(Piece::read(Field::whole(json)).ok()?.tail_start)
}

/// Returns what a record of ours carries whole.
fn carried<'e>(entry: &'e Entry, wanted: &str) -> Option<&'e str> {
    carried_in(&entry.parts, wanted)
}

fn carried_in<'p>(parts: &'p [Part], wanted: &str) -> Option<&'p str> {
    parts.iter().find_map(|part| match part {
        Part::Opaque { runtime, kind, json } if runtime == RUNTIME && kind == wanted => Some(json.as_str()),
        _ => None,
    })
}
