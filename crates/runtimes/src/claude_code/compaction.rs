//! Compactions: what a runtime's own keeps of the records before it, and how one of ours is written.
//!
//! Whether a compaction is worth making, and what its summary says, is decided elsewhere.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, HashSet};

use serde_json::Value;
use stemmata_model::{Entry, EntryKind, EntryMeta, Note, NoteCode, Role, Timestamp};

use super::encode::{Envelope, derive_uuid, uuid_of};
use super::loader::Loader;
use super::message::{Content, Shape};
use super::whole::Whole;
use crate::adapter::{CompactionPlan, Keeping, Keeps, Piece, Segment, Segments, SourceError, segment_number};
use crate::json::{Object, list, owned, quote};
use crate::lines::emit::{Place, places};

/// Commits that are searched for preserved records: clients keep the last few messages, and with a
/// commit for each message a long answer is some hundreds.
const WALK_SEGMENTS_MAX: usize = 4_096;

/// Bytes that are searched for preserved records: more than any context window holds.
const WALK_BYTES_MAX: usize = 256 * 1024 * 1024;

/// Commits that are searched further for the other halves of what was found: they lie next to it, and
/// a result whose call is nowhere must not cost a walk through the whole chain.
const COMPLETION_SEGMENTS_MAX: usize = 64;

/// Plans a compaction's artifact (see `Adapter::plan_compaction`).
///
/// Preserved records are the ones that the boundary names, and with them all lines of their messages, the
/// results of their calls and the calls of their results: loaders drop what lacks its other half.
///
/// # Errors
/// What the chain's storage says.
pub(super) fn plan(native: &[u8], earlier: &mut dyn Segments) -> Result<CompactionPlan, SourceError> {
    let mut plan = CompactionPlan::default();
    let own = Own::find(native);
    plan.pieces.extend(own.boundary.into_iter().chain(own.summary).map(Place::piece));
    if own.summary.is_none() {
        let message = "compaction has no summary record";
        plan.notes.push(Note::new(NoteCode::Degraded, message));
    }
    let Some(mut search) = own.wanted.map(Search::new) else {
        return Ok(plan);
    };
    let mut bytes = 0;
    for position in 1..=WALK_SEGMENTS_MAX {
        if search.is_done() || bytes > WALK_BYTES_MAX {
            break;
        }
        let Some(segment) = earlier.next()? else {
            break;
        };
        bytes += segment.native.len();
        search.read(position, &segment);
    }
    plan.notes.extend(search.note());
    plan.pieces.extend(search.into_pieces());
    Ok(plan)
}

/// Returns the readable records of a commit's bytes and where they stand.
fn records(position: usize, bytes: &[u8]) -> impl Iterator<Item = (Place, Whole<'_>)> {
    let lines = places(segment_number(position, false), bytes);
    lines.filter_map(|(place, line)| Some((place, Whole::parse(line).ok()?)))
}

/// What a boundary says it preserves.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Wanted {
    Records(Vec<String>),
    /// Along parent links from the tail to the head.
    Range {
        head: String,
        tail: String,
    },
}

impl Wanted {
    /// Reads `compactMetadata`; a list of messages supersedes a range.
    fn of(metadata: &Value) -> Option<Self> {
        let string = |value: &Value| value.as_str().map(str::to_owned);
        if let Some(uuids) = metadata.pointer("/preservedMessages/uuids").and_then(Value::as_array) {
            let uuids: Vec<String> = uuids.iter().filter_map(string).collect();
            return (!uuids.is_empty()).then_some(Self::Records(uuids));
        }
        let range = metadata.get("preservedSegment")?;
        Some(Self::Range { head: string(range.get("headUuid")?)?, tail: string(range.get("tailUuid")?)? })
    }
}

/// The records that a compaction itself consists of.
#[derive(Debug, Default)]
struct Own {
    boundary: Option<Place>,
    summary: Option<Place>,
    wanted: Option<Wanted>,
}

impl Own {
    /// Finds the last summary, and the last boundary before it of the same conversation.
    fn find(native: &[u8]) -> Self {
        let mut boundaries = HashMap::new();
        let mut own = Self::default();
        for (place, Whole { record, .. }) in records(0, native) {
            let side = record.is_sidechain_record();
            if record.is_compact_boundary() {
                let metadata =
                    record.compact_metadata.and_then(|field| serde_json::from_str::<Value>(field.raw()).ok());
                boundaries.insert(side, (place, metadata.as_ref().and_then(Wanted::of)));
            } else if record.is_compaction_summary() {
                let (boundary, wanted) = boundaries.remove(&side).unzip();
                own = Self { boundary, summary: Some(place), wanted: wanted.flatten() };
            }
        }
        own
    }
}

/// What the search remembers of a line.
#[derive(Debug)]
struct Line {
    place: Place,
    parent: Option<String>,
    message: Option<String>,
    calls: Vec<String>,
    results: Vec<String>,
    is_kept: bool,
}

impl Line {
    /// Sorts by place in the file: a greater segment is further back.
    const fn order(&self) -> (Reverse<usize>, u64) {
        (Reverse(self.place.segment), self.place.offset)
    }

    fn of(place: Place, Whole { record, inside }: &Whole<'_>) -> Self {
        let mut line = Self {
            place,
            parent: owned(record.parent_uuid),
            message: inside.message.and_then(|message| owned(message.id)),
            calls: Vec::new(),
            results: Vec::new(),
            is_kept: false,
        };
        if let Content::List(elements) = &inside.content {
            for element in elements {
                match element.shape() {
                    Shape::Call { id, .. } => line.calls.extend(id.text().map(Into::into)),
                    Shape::Result { call, .. } => line.results.extend(call.text().map(Into::into)),
                    _ => {}
                }
            }
        }
        line
    }
}

/// Looks for preserved records, newest segment first.
#[derive(Debug)]
struct Search {
    wanted: Wanted,
    /// Records that are still to be found; of a range, the next one.
    missing: BTreeSet<String>,
    lines: Vec<Line>,
    by_uuid: HashMap<String, usize>,
    /// Calls that kept results answer and that were not found yet.
    open_calls: HashSet<String>,
    found: usize,
    /// Segments that were read when all records had been found.
    further: usize,
}

impl Search {
    fn new(wanted: Wanted) -> Self {
        let missing = match &wanted {
            Wanted::Records(uuids) => uuids.iter().cloned().collect(),
            Wanted::Range { tail, .. } => BTreeSet::from([tail.clone()]),
        };
        Self {
            wanted,
            missing,
            lines: Vec::new(),
            by_uuid: HashMap::new(),
            open_calls: HashSet::new(),
            found: 0,
            further: 0,
        }
    }

    fn is_done(&self) -> bool {
        let is_complete = || self.open_calls.is_empty() && self.begins_whole();
        self.missing.is_empty() && (self.further > COMPLETION_SEGMENTS_MAX || is_complete())
    }

    /// Returns whether the oldest kept message surely has no lines further back: an older one was seen.
    fn begins_whole(&self) -> bool {
        let answers = || self.lines.iter().filter(|line| line.message.is_some());
        let Some(oldest) = answers().filter(|line| line.is_kept).min_by_key(|line| line.order()) else {
            return true;
        };
        answers().any(|line| line.order() < oldest.order() && line.message != oldest.message)
    }

    fn read(&mut self, position: usize, segment: &Segment) {
        let mut own = HashMap::new();
        for (place, whole) in records(position, &segment.native) {
            if let Some(uuid) = whole.record.uuid_text() {
                // A record that stands there twice is the later one, as the client reads it.
                own.insert(uuid.into_owned(), self.lines.len());
                self.lines.push(Line::of(place, &whole));
            }
        }
        for (uuid, index) in own {
            self.by_uuid.entry(uuid).or_insert(index);
        }
        self.find();
        if self.missing.is_empty() {
            self.further += 1;
            self.complete();
        }
    }

    /// Keeps what is wanted and there.
    fn find(&mut self) {
        while let Some((uuid, index)) = self.next_found() {
            self.missing.remove(&uuid);
            let Some(line) = self.lines.get_mut(index) else {
                return;
            };
            let is_new = !std::mem::replace(&mut line.is_kept, true);
            self.found += usize::from(is_new);
            if let Wanted::Range { head, .. } = &self.wanted
                && *head != uuid
                && is_new
            {
                // Where the links end before the head, the head stays missing, and the note says so.
                self.missing.insert(line.parent.clone().unwrap_or_else(|| head.clone()));
            }
        }
    }

    fn next_found(&self) -> Option<(String, usize)> {
        self.missing.iter().find_map(|uuid| Some((uuid.clone(), *self.by_uuid.get(uuid)?)))
    }

    /// Adds the other lines of kept messages, results of kept calls and calls of kept results, until
    /// nothing more belongs to them.
    fn complete(&mut self) {
        loop {
            let mut messages = HashSet::new();
            let mut calls = HashSet::new();
            let mut answered = HashSet::new();
            for line in self.lines.iter().filter(|line| line.is_kept) {
                messages.extend(line.message.clone());
                calls.extend(line.calls.iter().cloned());
                answered.extend(line.results.iter().cloned());
            }
            let mut changed = false;
            for line in self.lines.iter_mut().filter(|line| !line.is_kept) {
                line.is_kept = line.message.as_ref().is_some_and(|message| messages.contains(message))
                    || line.results.iter().any(|call| calls.contains(call))
                    || line.calls.iter().any(|call| answered.contains(call));
                changed |= line.is_kept;
            }
            if !changed {
                self.open_calls = answered.difference(&calls).cloned().collect();
                return;
            }
        }
    }

    fn note(&self) -> Option<Note> {
        let first = self.missing.iter().next()?;
        let missing = self.missing.len();
        let found = self.found;
        Some(Note::new(
            NoteCode::MissingPreserved,
            format!(
                "compaction preserves records that were not found: {missing} missing, {found} found, first missing `{first}`"
            ),
        ))
    }

    /// Returns what is kept, in the order of the file.
    fn into_pieces(mut self) -> impl Iterator<Item = Piece> {
        self.lines.retain(|line| line.is_kept);
        self.lines.sort_by_key(Line::order);
        self.lines.into_iter().map(|line| line.place.piece())
    }
}

/// Returns how a compaction of ours keeps what was said last: a loader that only walks from parent to parent loses all that hangs on
/// a record which is not kept.
pub(super) fn keeping(context: &[u8]) -> Keeping {
    let lines = context.rsplit(|byte| *byte == b'\n');
    let version = lines.into_iter().find_map(|line| owned(Whole::parse(line).ok()?.record.version));
    match Loader::of(version.as_deref()) {
        Loader::Recovering => Keeping::Recent,
        Loader::Walking => Keeping::Nothing,
    }
}

/// Encodes a compaction that we make (see `Adapter::encode_compaction`): the boundary, which names the records that are kept, and
/// its summary.
pub(super) fn encode(summary: &str, keeps: &Keeps<'_>, at: Timestamp) -> Vec<u8> {
    let last = keeps.last;
    let parent = last_spoken(&last.entries);
    let logical_parent = parent.map(|entry| uuid_of(&entry.id));
    let meta = parent.map_or_else(EntryMeta::default, |entry| EntryMeta {
        cwd: entry.meta.cwd.clone(),
        git_branch: entry.meta.git_branch.clone(),
        sidechain: entry.meta.sidechain.clone(),
        ..EntryMeta::default()
    });
    let seed = format!("{} {} {summary}", logical_parent.as_deref().unwrap_or_default(), at.as_micros());
    let boundary = derive_uuid("compaction boundary", &seed);
    let anchor = derive_uuid("compaction summary", &seed);
    let metadata = Object::new().text("trigger", "manual").number("preTokens", tokens_before(&last.entries));
    let metadata = metadata.given_raw("preservedMessages", preserved(keeps, &meta, &anchor).as_deref());
    let mut out = Vec::new();
    let envelope = Envelope { uuid: &boundary, parent: None, meta: &meta, at };
    envelope.push_boundary(logical_parent.as_deref(), &metadata.finish(), &mut out);
    let envelope = Envelope { uuid: &anchor, parent: Some(&boundary), meta: &meta, at };
    envelope.push_summary(&quote(summary), &mut out);
    out
}

/// Names the kept records of the conversation as the client does: it hangs each on the one before, and the first on the summary.
fn preserved(keeps: &Keeps<'_>, meta: &EntryMeta, anchor: &str) -> Option<String> {
    let own = keeps.kept.iter().filter(|entry| entry.meta.sidechain == meta.sidechain);
    let mut seen = HashSet::new();
    let uuids: Vec<String> =
        own.map(|entry| uuid_of(&entry.id)).filter(|id| seen.insert(id.clone())).collect();
    let list = list(uuids.iter().map(|id| quote(id)));
    let named = Object::new().text("anchorUuid", anchor).raw("uuids", &list).raw("allUuids", &list);
    (!uuids.is_empty()).then(|| named.finish())
}

/// Returns the last entry of the conversation: of the main one, unless all of it is a subagent's.
fn last_spoken(entries: &[Entry]) -> Option<&Entry> {
    let spoken = |entry: &&Entry| match entry.kind {
        EntryKind::Message
        | EntryKind::ToolResult
        | EntryKind::ToolResultArchived
        | EntryKind::ToolSummary
        | EntryKind::CompactionSummary
        | EntryKind::Instruction
        | EntryKind::Other(_) => true,
        EntryKind::CompactionBoundary | EntryKind::Metadata | EntryKind::Unreadable => false,
    };
    let main = entries.iter().rev().filter(spoken).find(|entry| entry.meta.sidechain.is_none());
    main.or_else(|| entries.iter().rev().find(spoken))
}

/// Returns the size of the context as the provider last reported it, 0 where it did not.
fn tokens_before(entries: &[Entry]) -> u64 {
    let answers = entries.iter().rev().filter(|entry| entry.role == Role::Assistant);
    let mut used = answers.filter_map(|entry| entry.meta.usage).map(|usage| {
        [usage.cache_read_tokens, usage.cache_write_tokens, usage.output_tokens]
            .into_iter()
            .fold(usage.input_tokens, u64::saturating_add)
    });
    used.find(|tokens| *tokens > 0).unwrap_or(0)
}

#[cfg(test)]
mod tests;
