//! The suite that every adapter passes: laws over sample bytes.
//!
//! Data in, first violation out; a panic is a violation too and is left to the test that calls. What only one
//! format promises is tested beside its adapter.

use serde_json::value::RawValue;
use stemmata_model::{
    CommitType, Counts, Entry, EntryKind, Granularity, Note, Role, SessionId, Timestamp, to_u64,
};

use crate::adapter::{
    Adapter, Cut, DETECT_BYTES_MAX, Decoded, Piece, PlaceRequest, PlanStop, Segment, SegmentFacts, Segments,
    Shape, SourceError, Splitter,
};
use crate::json::{Field, Skim};
use crate::repair::repair;

/// Bytes that a splitter's state may have: it is kept with each cursor.
const STATE_BYTES_MAX: usize = 4 * 1024;

/// Places at which one sample is cut in two or a splitter resumed, evenly spread: each costs a whole reading.
const PLACES_MAX: usize = 32;

/// Bytes that are read again for one law, so that samples of megabytes are tried at fewer places.
const READ_AGAIN_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Bytes of a sample that is torn at each byte and mutated; the work grows with their square.
pub const SMALL_SAMPLE_BYTES_MAX: usize = 32 * 1024;

/// Mutations of a small sample.
const MUTATIONS: u64 = 400;

/// A law that an adapter breaks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("adapter `{format}` breaks the law `{law}`: {detail}")]
pub struct Violation {
    /// The adapter's format.
    pub format: String,
    /// The law's name.
    pub law: &'static str,
    /// Where and how.
    pub detail: String,
}

/// What a sample held, for a test to print.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Entries that were decoded.
    pub entries: usize,
    /// Commits at granularity `turn`, the open one included.
    pub commits: usize,
    /// Counts over all commits.
    pub counts: Counts,
    /// Notes of decoding.
    pub notes: Vec<Note>,
}

/// Checks the laws that hold for every sample of an adapter's own format.
///
/// - `detect`: the adapter claims its sample.
/// - `cover`: spans ascend, and every byte outside of them is white space.
/// - `concat`: decoding two halves, cut between lines, gives the entries of the whole.
/// - `monotone`, `resume`, `state`: cuts depend on earlier lines only, come out the same after a resume at
///   a closed boundary, and the state there is small.
/// - `counts`: what segments count adds up to what decoding gives, at each granularity.
/// - `encode`: what a model sees of the conversation comes back from its encoding.
///
/// Of a format of documents instead of `concat`, `monotone`, `resume` and `state`:
///
/// - `cover`: what is in no entry only holds the document together (see [`Adapter::is_frame`]).
/// - `snapshot`: a document closes as one snapshot, each time the same.
/// - `join`: one document joined is itself; several that can be joined give the entries of all.
/// - `closing`: a document that is cut behind an entry, opened and closed gives the entries up to it.
/// - `readable`: what is read instead of a document is JSON, and unchanged makes the document again.
///
/// # Errors
/// The first [`Violation`].
pub fn check(adapter: &dyn Adapter, sample: &[u8]) -> Result<Report, Violation> {
    let suite = Suite { adapter };
    let head = sample.get(..sample.len().min(DETECT_BYTES_MAX)).unwrap_or_default();
    let detected = adapter.detect(head).map(|detection| detection.format);
    suite.hold("detect", detected == Some(adapter.format()), || format!("it found {detected:?}"))?;
    let decoded = adapter.decode(sample);
    if adapter.shape() == Shape::Document {
        return suite.document(sample, decoded);
    }
    suite.cover(sample, &decoded)?;
    suite.concat(sample, &decoded)?;
    suite.encode(&decoded)?;
    let mut report = Report { entries: decoded.entries.len(), ..Report::default() };
    for granularity in [Granularity::Message, Granularity::Every(3), Granularity::Turn] {
        let cuts = suite.cuts(granularity, sample)?;
        report.commits = cuts.segments.len();
        report.counts = suite.counts(&cuts.segments, &decoded)?;
    }
    report.notes = decoded.notes;
    Ok(report)
}

/// Runs the suite on a small sample, whole and damaged, and names it where a law is broken.
#[cfg(test)]
pub(crate) fn passes(adapter: &dyn Adapter, name: &str, sample: &[u8]) -> Report {
    let report = check(adapter, sample).unwrap_or_else(|violation| panic!("{name}: {violation}"));
    // A full run of the tests tears it at each byte, any other at a seventh of them.
    let step = if crate::corpus_tests::is_full() { 1 } else { 7 };
    damaged(adapter, sample, step).unwrap_or_else(|violation| panic!("{name}: {violation}"));
    report
}

/// Tears a small sample at each byte and mutates it: `cover` must hold and nothing may panic; entries
/// of whole lines must be those of the untorn sample (`torn`).
///
/// # Errors
/// The first [`Violation`].
///
/// # Panics
/// Where the adapter does, which is a bug of the adapter.
pub fn check_damaged(adapter: &dyn Adapter, sample: &[u8]) -> Result<(), Violation> {
    damaged(adapter, sample, 1)
}

/// Tears a sample at each `step`-th byte, and mutates it.
fn damaged(adapter: &dyn Adapter, sample: &[u8], step: usize) -> Result<(), Violation> {
    let suite = Suite { adapter };
    let small = sample.len() <= SMALL_SAMPLE_BYTES_MAX;
    suite.hold("small", small, || format!("a sample of {} bytes is too large to tear", sample.len()))?;
    let whole = adapter.decode(sample);
    for end in (0..sample.len()).step_by(step) {
        let torn = sample.get(..end).unwrap_or_default();
        let decoded = adapter.decode(torn);
        if adapter.shape() == Shape::Document {
            suite.torn_document(torn, &decoded)?;
            continue;
        }
        suite.cover(torn, &decoded)?;
        let complete = memchr::memrchr(b'\n', torn).map_or(0, |newline| newline + 1);
        let same = |entries: &[Entry]| -> Vec<Entry> {
            let is_complete = |entry: &&Entry| span(entry).1 < complete;
            entries.iter().filter(is_complete).cloned().collect()
        };
        suite
            .hold("torn", same(&decoded.entries) == same(&whole.entries), || format!("torn at byte {end}"))?;
    }
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for _ in 0..MUTATIONS {
        check_any(adapter, &random.mutate(sample))?;
    }
    Ok(())
}

/// Reads any bytes in every way in which an adapter reads: nothing may panic, `cover` must hold, and what is written
/// must be read again, and is what a placer writes and a validator says of it (`placing`); JSON is what `serde_json` takes
/// for it (`skim`). For fuzzing, and for damaged samples.
///
/// # Errors
/// The first [`Violation`].
///
/// # Panics
/// Where the adapter does, which is a bug of the adapter.
pub fn check_any(adapter: &dyn Adapter, bytes: &[u8]) -> Result<(), Violation> {
    let suite = Suite { adapter };
    let decoded = suite.read(bytes)?;
    suite.readable(bytes)?;
    let _detection = adapter.detect(bytes.get(..bytes.len().min(DETECT_BYTES_MAX)).unwrap_or_default());
    let encoded = adapter.encode(&decoded.entries);
    suite.read(&encoded)?;
    suite.placing(bytes)?;
    for line in adapter.shape().units(bytes) {
        suite.hold("skim", is_skimmed_rightly(line), || format!("{}", String::from_utf8_lossy(line)))?;
    }
    let mut splitter = adapter.splitter(Granularity::Message, None);
    let mut validator = adapter.validator(None);
    for line in adapter.shape().units(bytes) {
        splitter.line(line.strip_suffix(b"\n").unwrap_or(line), &mut Vec::new());
        validator.line(line);
        adapter.ids(line, &mut |_, _| ());
    }
    let state = splitter.state();
    suite.hold("state", state.len() <= STATE_BYTES_MAX, || format!("a state of {} bytes", state.len()))?;
    validator.finish();
    let _resumed = adapter.splitter(Granularity::Turn, Some(bytes));
    let _repaired = repair(adapter, bytes, None);
    for stop in [PlanStop::Compaction, PlanStop::Root] {
        let plan = adapter.plan_context(&mut One::of(bytes, CommitType::Delta), stop);
        suite.pieces(bytes, plan.map(|plan| plan.pieces))?;
    }
    let plan = adapter.plan_compaction(bytes, &mut One(None));
    suite.pieces(bytes, plan.map(|plan| plan.pieces))
}

/// Checks that placing bytes in one reading is what a placer and a validator do apart.
#[cfg(test)]
pub(crate) fn check_placing(adapter: &dyn Adapter, bytes: &[u8]) -> Result<(), Violation> {
    Suite { adapter }.placing(bytes)
}

/// A chain of one commit, or of none.
struct One(Option<Segment>);

impl One {
    fn of(bytes: &[u8], commit_type: CommitType) -> Self {
        let native = bytes.to_vec().into();
        let created_at = Timestamp::EPOCH;
        Self(Some(Segment { commit_type, native, prefix: None, is_stop: false, created_at }))
    }
}

impl Segments for One {
    fn next(&mut self) -> Result<Option<Segment>, SourceError> {
        Ok(self.0.take())
    }
}

/// Returns whether the readers' own pass over JSON takes a text where `serde_json` takes it.
fn is_skimmed_rightly(line: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(line) else { return true };
    let skimmed = Skim::whole(Field::whole(text), Skim::value).map(|value| value.raw());
    skimmed.ok() == serde_json::from_str::<&RawValue>(text).map(RawValue::get).ok()
}

fn any_place() -> PlaceRequest {
    PlaceRequest {
        session: SessionId::new("00000000-0000-4000-8000-000000000000").expect("a name"),
        cwd: "/srv/project".to_owned(),
        origin_cwd: Some("/srv/other".to_owned()),
        client_version: None,
        at: Timestamp::EPOCH,
        seed: [0; 32],
    }
}

struct Suite<'a> {
    adapter: &'a dyn Adapter,
}

/// The segments that a splitter made of a sample, the open one last.
struct Cuts {
    segments: Vec<SegmentFacts>,
}

impl Suite<'_> {
    fn hold(&self, law: &'static str, holds: bool, detail: impl FnOnce() -> String) -> Result<(), Violation> {
        if holds {
            return Ok(());
        }
        Err(Violation { format: self.adapter.format().to_string(), law, detail: detail() })
    }

    /// Decodes any bytes; `cover` must hold.
    fn read(&self, bytes: &[u8]) -> Result<Decoded, Violation> {
        let decoded = self.adapter.decode(bytes);
        match self.adapter.shape() {
            Shape::Lines => self.cover(bytes, &decoded)?,
            Shape::Document => self.cover_document(bytes, &decoded)?,
        }
        Ok(decoded)
    }

    /// Pieces and the edits in them lie within the bytes that they are of.
    fn pieces(&self, bytes: &[u8], planned: Result<Vec<Piece>, SourceError>) -> Result<(), Violation> {
        let pieces = planned.map_err(|error| Violation {
            format: self.adapter.format().to_string(),
            law: "plan",
            detail: error.to_string(),
        })?;
        let length = bytes.len() as u64;
        let is_within = |piece: &Piece| {
            let edits = piece.edits.iter().map(|edit| edit.offset.saturating_add(edit.length));
            piece.segment == 0
                && piece.offset.saturating_add(piece.length) <= length
                && edits.max().unwrap_or(0) <= piece.length
        };
        let stray = pieces.iter().find(|piece| !is_within(piece));
        self.hold("plan", stray.is_none(), || format!("{stray:?} is not within {length} bytes"))
    }

    /// What is placed and checked in one reading is what a placer writes and a validator says of that; it is read again.
    fn placing(&self, bytes: &[u8]) -> Result<(), Violation> {
        let (adapter, request, shape) = (self.adapter, any_place(), self.adapter.shape());
        let (mut placing, mut placer) = (adapter.placing(&request), adapter.placer(&request));
        let (mut at_once, mut apart) = (Vec::new(), Vec::new());
        for line in shape.written_units(bytes) {
            placing.line(line, &mut at_once);
            placer.line(line, &mut apart);
        }
        let said = (placing.finish(&mut at_once), placing.verdict());
        let notes = placer.finish(&mut apart);
        let mut validator = adapter.validator(None);
        shape.written_units(&apart).for_each(|unit| validator.line(unit));
        let expected = (notes, validator.finish());
        self.hold("placing", at_once == apart, || "it writes other bytes than the placer".to_owned())?;
        self.hold("placing", said == expected, || format!("{said:?} is not {expected:?}"))?;
        self.read(&apart).map(drop)
    }

    fn cover(&self, bytes: &[u8], decoded: &Decoded) -> Result<(), Violation> {
        let mut at = 0;
        let ends = decoded.entries.iter().map(span).chain([(bytes.len(), bytes.len())]);
        for (start, end) in ends {
            let gap = bytes.get(at..start);
            let is_blank = gap.is_some_and(|gap| gap.iter().all(u8::is_ascii_whitespace));
            self.hold("cover", is_blank && start <= end && end <= bytes.len(), || {
                format!("bytes {at} to {start} of {} are in no entry", bytes.len())
            })?;
            at = end;
        }
        Ok(())
    }

    fn concat(&self, bytes: &[u8], whole: &Decoded) -> Result<(), Violation> {
        let cuts: Vec<usize> = memchr::memchr_iter(b'\n', bytes).map(|newline| newline + 1).collect();
        for cut in spread(&cuts, places_max(bytes)) {
            let (head, tail) = bytes.split_at(*cut);
            let mut entries = self.adapter.decode(head).entries;
            let shift = to_u64(*cut);
            entries.extend(self.adapter.decode(tail).entries.into_iter().map(|mut entry| {
                entry.native.offset += shift;
                entry
            }));
            self.hold("concat", entries == whole.entries, || format!("cut at byte {cut}"))?;
        }
        Ok(())
    }

    fn encode(&self, decoded: &Decoded) -> Result<(), Violation> {
        let again = self.adapter.decode(&self.adapter.encode(&decoded.entries));
        let came: Vec<_> = again.entries.iter().filter(|entry| is_spoken(entry)).map(content).collect();
        let was: Vec<_> = decoded.entries.iter().filter(|entry| is_spoken(entry)).map(content).collect();
        let odd = was.iter().zip(&came).position(|(was, came)| was != came);
        self.hold("encode", came.len() == was.len() && odd.is_none(), || {
            format!("{} messages became {}; first difference at {odd:?}", was.len(), came.len())
        })
    }

    fn cuts(&self, granularity: Granularity, bytes: &[u8]) -> Result<Cuts, Violation> {
        let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').map(without_newline).collect();
        let mut splitter = self.adapter.splitter(granularity, None);
        let mut cuts = Vec::new();
        let mut states = vec![(0, splitter.state())];
        for (index, line) in lines.iter().enumerate() {
            let cut = splitter.line(line, &mut Vec::new());
            cuts.push(cut);
            let state = match cut {
                Cut { after: Some(_), .. } => Some((index + 1, splitter.state())),
                Cut { before: Some(_), .. } => Some((index, splitter.state())),
                Cut { .. } => None,
            };
            states.extend(state);
        }
        let again = run(&mut *self.adapter.splitter(granularity, None), &lines);
        self.hold("monotone", again == cuts, || format!("two runs at `{granularity}` differ"))?;
        for (line, state) in spread(&states, places_max(bytes)) {
            let bytes = state.len();
            self.hold("state", bytes <= STATE_BYTES_MAX, || {
                format!("{bytes} bytes before line {}", line + 1)
            })?;
            let mut resumed = self.adapter.splitter(granularity, Some(state));
            let further = run(&mut *resumed, lines.get(*line..).unwrap_or_default());
            let mut expected = cuts.get(*line..).unwrap_or_default().to_vec();
            // The boundary before that line is closed already.
            if let Some(first) = expected.first_mut() {
                first.before = None;
            }
            let same = further == expected && resumed.open() == splitter.open();
            self.hold("resume", same, || {
                format!("cuts at `{granularity}` differ after a resume at line {}", line + 1)
            })?;
        }
        let closed = cuts.iter().flat_map(|cut| [cut.before, cut.after]).flatten();
        Ok(Cuts { segments: closed.chain([splitter.open()]).collect() })
    }

    fn counts(&self, segments: &[SegmentFacts], decoded: &Decoded) -> Result<Counts, Violation> {
        let counts = segments.iter().fold(Counts::default(), |sum, segment| Counts {
            messages: sum.messages + segment.counts.messages,
            entries: sum.entries + segment.counts.entries,
            tokens: sum.tokens + segment.counts.tokens,
        });
        let is_message = |entry: &&Entry| entry.meta.visibility.agent && entry.role != Role::System;
        let messages = to_u64(decoded.entries.iter().filter(is_message).count());
        let entries = to_u64(decoded.entries.len());
        self.hold("counts", (counts.entries, counts.messages) == (entries, messages), || {
            format!("segments count {counts:?}, decoding gives {entries} entries and {messages} messages")
        })?;
        Ok(counts)
    }
}

fn run(splitter: &mut dyn Splitter, lines: &[&[u8]]) -> Vec<Cut> {
    lines.iter().map(|line| splitter.line(line, &mut Vec::new())).collect()
}

/// What a person or the model said: what must survive an encoding.
fn is_spoken(entry: &Entry) -> bool {
    let is_said =
        matches!(entry.kind, EntryKind::Message | EntryKind::ToolResult | EntryKind::CompactionSummary);
    is_said && entry.role != Role::System && entry.meta.visibility.agent
}

type SpokenContent<'a> = (Role, &'a EntryKind, &'a [stemmata_model::Part]);

fn content(entry: &Entry) -> SpokenContent<'_> {
    (entry.role, &entry.kind, &entry.parts)
}

fn span(entry: &Entry) -> (usize, usize) {
    let narrow = |value| usize::try_from(value).unwrap_or(usize::MAX);
    let start = narrow(entry.native.offset);
    (start, start.saturating_add(narrow(entry.native.length)))
}

/// Returns at how many places a sample is tried: at two at least.
fn places_max(sample: &[u8]) -> usize {
    (READ_AGAIN_BYTES_MAX / sample.len().max(1)).clamp(2, PLACES_MAX)
}

/// Returns at most `count` items, evenly spread, the first among them.
fn spread<T>(items: &[T], count: usize) -> impl Iterator<Item = &T> {
    items.iter().step_by(items.len().div_ceil(count).max(1))
}

fn without_newline(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\n").unwrap_or(line)
}

/// A xorshift generator: the same mutations on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 16).unwrap_or(0) % bound.max(1)
    }

    /// Changes, removes, doubles or inserts a few bytes.
    fn mutate(&mut self, sample: &[u8]) -> Vec<u8> {
        let mut bytes = sample.to_vec();
        for _ in 0..=self.below(4) {
            let start = self.below(bytes.len());
            let end = (start + self.below(40)).min(bytes.len());
            let odd = [b'"', b'\\', b'{', b'}', b'[', b']', b',', b'\n', b'\r', 0, 0xff, b'9'];
            let byte = odd.get(self.below(odd.len())).copied().unwrap_or_default();
            match self.below(4) {
                0 => drop(bytes.drain(start..end)),
                1 => {
                    let copy: Vec<u8> = bytes.get(start..end).unwrap_or_default().to_vec();
                    let at = self.below(bytes.len());
                    drop(bytes.splice(at..at, copy));
                }
                2 => bytes.insert(start, byte),
                _ => {
                    if let Some(changed) = bytes.get_mut(start) {
                        *changed = byte;
                    }
                }
            }
        }
        bytes
    }
}

mod documents;
#[cfg(test)]
mod documents_tests;
#[cfg(test)]
mod tests;
