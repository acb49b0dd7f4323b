//! Plans a context of a linear format: the lines since the last compaction, without what was rewound.
//!
//! It copies no content and reads no more of a chain than it needs.

mod hidden;
mod kept;
mod rewind;

use std::collections::HashSet;
use std::ops::Range;

use stemmata_model::{CommitType, EntryId, Note, NoteCode, Part, to_u64};

use rewind::{rewind, seen_through};

use super::emit::{Place, note_ended, places, push};
use super::history::{OlderPrompts, Step};
use super::own::Own;
use super::{Dialect, Leaves, Line, Listed, Turn};
use crate::adapter::{
    CompactionPlan, ContextPlan, Edit, Piece, PlanStop, Segment, Segments, SourceError, segment_number,
};
use crate::captured::visibility::{ShowAs, Shown};
use crate::json::is_blank;

/// Commits that are searched for a session's header when a compaction is stored.
const WALK_SEGMENTS_MAX: usize = 65_536;

/// A line of a context.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) place: Place,
    pub(crate) step: Step,
    /// Whether it says again what an older segment said.
    is_restated: bool,
    /// Whether another part of the same line follows.
    is_joined: bool,
    pub(crate) is_message: bool,
    /// What stands for the record's own id.
    pub(crate) key: Option<Key>,
    /// What stands for the id of the record that it goes back to before.
    pub(crate) target: Option<Key>,
    /// What stands for the ids of the messages that it says again.
    pub(crate) restates: Vec<Key>,
    /// The messages that stand within the line, in their order.
    pub(crate) listed: Vec<ListedRow>,
    /// What only lines of our own format say.
    own: Option<Box<OwnRow>>,
}

/// A message that stands within a line.
#[derive(Debug, Clone)]
pub(crate) struct ListedRow {
    key: Option<Key>,
    /// Bytes of the line.
    at: Range<u64>,
    is_message: bool,
    is_out: bool,
}

impl ListedRow {
    fn of(listed: &Listed) -> Self {
        Self {
            key: listed.id.as_ref().map(|id| hash(id.as_str())),
            at: to_u64(listed.at.start)..to_u64(listed.at.end),
            is_message: listed.is_message,
            is_out: false,
        }
    }

    /// Returns whether it stands there and goes by this key.
    pub(crate) fn is(&self, key: Key) -> bool {
        !self.is_out && self.key == Some(key)
    }

    /// Returns whether it goes by one of these keys.
    pub(crate) fn is_one_of(&self, keys: &HashSet<Key>) -> bool {
        self.key.is_some_and(|key| keys.contains(&key))
    }
}

/// What a line of our own format says of others.
#[derive(Debug, Clone)]
struct OwnRow {
    /// What becomes of rows before it, or `None` if it is no visibility line.
    shows: Option<Vec<(Key, ShowAs)>>,
    covers_from: Option<Key>,
    keeps_from: Option<Key>,
    /// Rows that a summary stands for, where it names each.
    covers: Vec<Key>,
    /// Calls in it, and calls that it answers.
    calls: Vec<Key>,
    answers: Vec<Key>,
    /// The message that its calls belong to.
    message: Option<Key>,
    is_newer: bool,
}

impl OwnRow {
    fn of(line: &Line, own: &Own) -> Self {
        let key = |id: &Option<EntryId>| id.as_ref().map(|id| hash(id.as_str()));
        let shows = own.shows.as_ref().map(|shows| {
            let of = |shown: &Shown| -> Vec<(Key, ShowAs)> {
                shown.entries.iter().map(|id| (hash(id.as_str()), shown.show_as)).collect()
            };
            shows.iter().flat_map(of).collect()
        });
        let (mut calls, mut answers) = (Vec::new(), Vec::new());
        for part in &line.parts {
            match part {
                Part::ToolCall { call_id, .. } => calls.push(hash(call_id)),
                Part::ToolResult { call_id, .. } => answers.push(hash(call_id)),
                _ => {}
            }
        }
        let message = line
            .meta
            .message_id
            .as_deref()
            .filter(|_| !calls.is_empty())
            .map(|id| hash(&format!("message {id}")));
        Self {
            shows,
            covers_from: key(&own.covers_from),
            keeps_from: key(&own.keeps_from),
            covers: own.covers.iter().map(|id| hash(id.as_str())).collect(),
            calls,
            answers,
            message,
            is_newer: own.is_newer,
        }
    }
}

impl AsRef<Step> for Row {
    fn as_ref(&self) -> &Step {
        &self.step
    }
}

impl Row {
    fn of((place, is_joined): (Place, bool), read: Option<&Line>, is_restated: bool) -> Self {
        let key = |id: &Option<EntryId>| id.as_ref().map(|id| hash(id.as_str()));
        Self {
            place,
            key: read.and_then(|line| key(&line.id)),
            target: read.and_then(|line| key(&line.target)),
            restates: read.iter().flat_map(|line| &line.restates).map(|id| hash(id.as_str())).collect(),
            listed: read.iter().flat_map(|line| &line.listed).map(ListedRow::of).collect(),
            own: read.and_then(|line| Some(Box::new(OwnRow::of(line, line.own.as_deref()?)))),
            step: read.map_or(Step::turn(Turn::Other), Step::of),
            is_restated,
            is_joined,
            is_message: read.is_some_and(Line::is_message),
        }
    }

    /// Writes the line without the messages that are left out of it.
    fn write(&self, plan: &mut ContextPlan) {
        let gone =
            |gap: Range<u64>| Edit { offset: gap.start, length: gap.end - gap.start, with: Vec::new() };
        let gone = self.gaps().into_iter().filter(|gap| gap.start < gap.end).map(gone);
        push(&mut plan.pieces, self.place, gone.chain(self.place.ended(self.is_joined)));
    }

    /// Returns the bytes of the line that hold messages which are left out, ascending, with what separates these from others.
    fn gaps(&self) -> Vec<Range<u64>> {
        let mut last_kept: Option<u64> = None;
        let mut gaps = Vec::new();
        let mut listed = self.listed.iter().peekable();
        while let Some(message) = listed.next() {
            let Range { start, end } = message.at.clone();
            if !message.is_out {
                last_kept = Some(end);
                continue;
            }
            let next = listed.peek().map_or(end, |next| next.at.start);
            // What stands between two messages goes with the one that goes.
            gaps.push(last_kept.map_or(start..next, |kept| kept..end));
            last_kept = last_kept.map(|_| end);
        }
        gaps
    }

    /// Leaves messages out of the line; returns how many of them a model would have seen.
    pub(crate) fn leave_out(&mut self, goes: impl Fn(usize, &ListedRow) -> bool) -> u64 {
        let mut seen = 0;
        for (at, message) in self.listed.iter_mut().enumerate() {
            if !message.is_out && goes(at, message) {
                message.is_out = true;
                seen += u64::from(message.is_message);
            }
        }
        seen
    }

    /// Returns the keys of the messages that stand within the line.
    pub(crate) fn within(&self) -> impl Iterator<Item = Key> {
        self.listed.iter().filter(|message| !message.is_out).filter_map(|message| message.key)
    }

    /// Returns whether it says what becomes of other rows.
    fn is_visibility(&self) -> bool {
        self.own.as_ref().is_some_and(|own| own.shows.is_some())
    }

    /// Returns whether it pins or unpins others.
    fn pins(&self) -> bool {
        let shows = self.own.as_ref().and_then(|own| own.shows.as_ref());
        shows.and_then(|shows| shows.first()).is_some_and(|(_, show_as)| show_as.hides().is_none())
    }
}

fn hash(id: &str) -> Key {
    *blake3::hash(id.as_bytes()).as_bytes()
}

/// A hash of an id: ids are foreign and so of any length.
pub(crate) type Key = [u8; 32];

fn rows(dialect: &Dialect, segment: usize, bytes: &[u8], restated: u64) -> Vec<Row> {
    let mut entries = 0;
    let mut rows = Vec::new();
    for (place, line) in places(segment, bytes) {
        dialect.each(line, &mut |range, read| {
            entries += u64::from(!is_blank(line.get(range.clone()).unwrap_or_default()));
            rows.push(Row::of(place.part(&range, line), read.as_ref(), entries <= restated));
        });
    }
    rows
}

/// Plans a context (see `Adapter::plan_context`).
///
/// # Errors
/// What the chain's storage says.
pub(crate) fn plan_context(
    dialect: &Dialect,
    chain: &mut dyn Segments,
    stop: PlanStop,
) -> Result<ContextPlan, SourceError> {
    let mut plan = ContextPlan::default();
    let Collected { mut rows, is_whole } = collect(dialect, chain, stop, &mut plan)?;
    rewind(&mut rows, is_whole, stop, &mut plan);
    if stop == PlanStop::Compaction {
        plan.hidden_entries = hidden::hide(&mut rows, &mut plan.notes);
        note_missing_summary(&rows, &mut plan.notes);
    } else {
        skip_compactions(&mut rows, &mut plan);
    }
    write(&rows, &mut plan);
    Ok(plan)
}

/// Writes the lines of a context.
pub(crate) fn write(rows: &[Row], plan: &mut ContextPlan) {
    for row in rows {
        row.write(plan);
    }
    note_ended(rows.iter().filter(|row| row.is_joined).count(), &mut plan.notes);
}

/// The lines of a chain down to a stop.
pub(crate) struct Collected {
    /// The lines, the oldest first.
    pub(crate) rows: Vec<Row>,
    /// Whether the chain begins with the first of them: nothing older was left unread.
    pub(crate) is_whole: bool,
}

/// Returns the lines down to the stop with nothing rewound yet, and without what is said again from the root on.
///
/// # Errors
/// What the chain's storage says.
pub(crate) fn collect(
    dialect: &Dialect,
    chain: &mut dyn Segments,
    stop: PlanStop,
    plan: &mut ContextPlan,
) -> Result<Collected, SourceError> {
    // Newest segment first.
    let mut read: Vec<Vec<Row>> = Vec::new();
    let (mut is_whole, mut header, mut older) = (true, None, OlderPrompts::default());
    while let Some(segment) = chain.next()? {
        let (rows, ends_here) = segment_rows(dialect, read.len(), &segment, stop);
        let through = if ends_here { seen_through(dialect, &segment, &read) } else { None };
        is_whole = !ends_here || through.is_some();
        if through.is_some() && header.is_none() {
            header = rows.iter().find(|row| row.step.turn == Turn::Header).cloned();
        }
        let rows = through.unwrap_or(rows);
        // What is older than the prompts that a compaction leaves is nothing to the context, so that these are whole.
        let has_all = stop == PlanStop::Compaction && older.are_read(&rows);
        read.push(rows);
        if !is_whole || has_all {
            break;
        }
    }
    plan.segments_read = read.len();
    let mut rows: Vec<Row> = read.into_iter().rev().flatten().collect();
    // Where older lines were not read, the session's header is one of them, and the compaction's artifact has it.
    if rows.iter().all(|row| row.step.turn != Turn::Header) {
        rows.splice(0..0, header);
    }
    rows.iter_mut().filter(|row| row.step.leaves == Leaves::All).for_each(|row| row.step.turn = Turn::Other);
    if stop != PlanStop::Compaction {
        rows.retain(|row| !row.is_restated);
    }
    Ok(Collected { rows, is_whole })
}

/// Returns what a segment adds to a context, and whether nothing older does.
fn segment_rows(dialect: &Dialect, position: usize, segment: &Segment, stop: PlanStop) -> (Vec<Row>, bool) {
    let number = segment_number(position, false);
    let replaced = |is_end: bool| {
        let prefix = segment.prefix.as_deref().filter(|_| is_end);
        prefix.map(|prefix| rows(dialect, segment_number(position, true), prefix, 0))
    };
    match segment.commit_type {
        CommitType::Delta => {
            (rows(dialect, number, &segment.native, 0), stop == PlanStop::Ancestor && segment.is_stop)
        }
        CommitType::Compaction => {
            let is_end = match stop {
                PlanStop::Compaction => true,
                PlanStop::Ancestor => segment.is_stop,
                PlanStop::Root => false,
            };
            let own = rows(dialect, number, &segment.native, 0);
            match replaced(is_end) {
                // What follows the compaction in its own commit stays behind what stands for all before.
                Some(mut prefix) => {
                    let after = compaction_in(&own);
                    prefix.extend(own.into_iter().skip(after.map_or(0, |at| at + 1)));
                    (prefix, true)
                }
                None => (own, is_end),
            }
        }
        CommitType::Snapshot { restated_entries } => {
            let is_end = match stop {
                PlanStop::Compaction => true,
                PlanStop::Ancestor => segment.is_stop,
                PlanStop::Root => false,
            };
            let restated = if is_end { 0 } else { restated_entries };
            let (number, whole) = match &segment.prefix {
                Some(prefix) => (segment_number(position, true), prefix),
                None => (number, &segment.native),
            };
            (rows(dialect, number, whole, restated), is_end)
        }
    }
}

/// Leaves out compactions: the real entries stand there already.
pub(crate) fn skip_compactions(rows: &mut Vec<Row>, plan: &mut ContextPlan) {
    let mut has_said = false;
    rows.retain(|row| {
        // A compaction that nothing stands before is what the context begins with.
        let is_compaction = matches!(row.step.turn, Turn::Compaction | Turn::CompactionMark);
        let is_skipped = is_compaction && has_said;
        plan.skipped_compactions += u64::from(is_skipped && row.step.turn == Turn::Compaction);
        has_said |= row.is_message;
        // Pins are no part of what was said, and hold from the root on, too.
        let is_aside = row.step.turn == Turn::Aside && !row.pins();
        !is_skipped && !is_aside
    });
}

/// Plans a compaction's artifact: the session's header, then the compaction itself, which is whole in its line.
///
/// # Errors
/// What the chain's storage says.
pub(crate) fn plan_compaction(
    dialect: &Dialect,
    native: &[u8],
    earlier: &mut dyn Segments,
) -> Result<CompactionPlan, SourceError> {
    let dialect = &dialect.strict();
    let mut plan = CompactionPlan::default();
    let number = segment_number(0, false);
    let own = rows(dialect, number, native, 0);
    if let Some(at) = own.iter().rposition(|row| row.step.turn == Turn::Compaction && row.own.is_some()) {
        return kept::plan(dialect, (own, at), earlier);
    }
    let header = match own.iter().find(|row| row.step.turn == Turn::Header) {
        Some(row) => Some(row.place),
        None => find_header(dialect, earlier)?,
    };
    let compaction = compaction_in(&own).and_then(|at| own.get(at)).map(|row| row.place);
    if header.is_none() {
        plan.notes.push(Note::new(NoteCode::Degraded, "the session's header was not found"));
    }
    if compaction.is_none() {
        plan.notes.push(Note::new(NoteCode::Degraded, "compaction has no record"));
    }
    let mut pieces: Vec<Piece> = Vec::new();
    for place in header.into_iter().chain(compaction) {
        push(&mut pieces, place, []);
    }
    plan.pieces = pieces;
    Ok(plan)
}

/// Returns the row that stands for everything before: the last summary, or the last mark where no summary follows any.
fn compaction_in(rows: &[Row]) -> Option<usize> {
    let last = |turn: Turn| rows.iter().rposition(|row| row.step.turn == turn);
    last(Turn::Compaction).or_else(|| last(Turn::CompactionMark))
}

/// Says so where a context begins with a compaction whose summary was not written.
fn note_missing_summary(rows: &[Row], notes: &mut Vec<Note>) {
    let has = |turn: Turn| rows.iter().any(|row| row.step.turn == turn);
    if has(Turn::CompactionMark) && !has(Turn::Compaction) {
        let message = "the transcript does not hold the summary of its last compaction; from the root on everything is there";
        notes.push(Note::new(NoteCode::Degraded, message));
    }
}

/// Finds the session's header: at the nearest compaction before, else at the beginning.
fn find_header(dialect: &Dialect, earlier: &mut dyn Segments) -> Result<Option<Place>, SourceError> {
    let mut found = None;
    for position in 1..=WALK_SEGMENTS_MAX {
        let Some(segment) = earlier.next()? else { break };
        let is_whole = !matches!(segment.commit_type, CommitType::Delta);
        let (number, bytes) = match &segment.prefix {
            Some(prefix) => (segment_number(position, true), prefix),
            None => (segment_number(position, false), &segment.native),
        };
        let header = rows(dialect, number, bytes, 0).into_iter().find(|row| row.step.turn == Turn::Header);
        found = header.map(|row| row.place).or(found);
        if is_whole && found.is_some() {
            break;
        }
    }
    Ok(found)
}
