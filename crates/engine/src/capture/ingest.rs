//! From the lines of one transcript to commits: scrub, split, name, and hand to the store in batches.
//!
//! The same code serves import and live capture, which is why both give the same chain.

use stemmata_model::{
    ArtifactId, Closure, CommitCore, CommitId, CommitType, Note, NoteCode, RulesHash, Sighting, Source,
    Timestamp, Trigger,
};
use stemmata_runtimes::adapter::{Adapter, SegmentFacts, Splitter};
use stemmata_store::{BatchOutcome, ContentPart, NewCommit, NewContent, Write};

use crate::capture::cursor::{PROVISIONAL_MAX, Provisional};
use crate::capture::segment::{FinishedSegment, OpenSegment};
use crate::chain::segments::ChainSegments;
use crate::engine::Engine;
use crate::error::{EngineError, Result};

/// Bytes of new content after which a batch is handed to the store.
const BATCH_BYTES: u64 = 4 * 1024 * 1024;

/// Writes after which a batch is handed to the store.
const BATCH_WRITES: usize = 1_024;

/// Notes of one kind that are kept for one transcript; the rest are counted.
const NOTES_PER_KIND_MAX: usize = 20;

/// What a chain holds up to its last closed boundary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ChainTotals {
    pub commits: u64,
    pub messages: u64,
    pub entries: u64,
    pub bytes: u64,
}

/// Where an ingest starts: at the beginning, or at a closed boundary.
#[derive(Debug, Clone, Default)]
pub(crate) struct Start {
    pub parent: Option<(CommitId, Timestamp)>,
    pub raw_bytes: u64,
    pub line: u64,
    pub totals: ChainTotals,
    pub provisional: Vec<Provisional>,
    pub redacted_bytes: u64,
}

/// What an earlier reading of the same transcript left, when it is read again from its start.
#[derive(Debug, Clone)]
pub(crate) struct Earlier {
    /// The newest closed commit then.
    pub tip: Option<CommitId>,
    /// The provisional commits on it.
    pub provisional: Vec<Provisional>,
    /// Whether the new chain went through `tip`.
    pub met: bool,
    /// A provisional commit on `tip` that what follows there now does not begin with.
    pub replaced: Option<CommitId>,
}

/// A segment that becomes a commit.
struct Made {
    native: FinishedSegment,
    /// The segment's bytes, where it is a compaction.
    compaction: Option<Vec<u8>>,
    facts: SegmentFacts,
    closure: Closure,
    raw_bytes: u64,
}

/// One transcript on its way into the store.
pub(crate) struct Ingest<'e> {
    engine: &'e Engine,
    adapter: &'static dyn Adapter,
    splitter: Box<dyn Splitter>,
    sighting: Sighting,
    rules: RulesHash,
    start: Start,
    segment: OpenSegment,
    earlier: Option<Earlier>,
    pending: Vec<Write>,
    pending_bytes: u64,
    root: Option<CommitId>,
    notes: Vec<Note>,
    note_counts: std::collections::HashMap<NoteCode, usize>,
    outcome: BatchOutcome,
}

impl<'e> Ingest<'e> {
    /// Starts; `sighting` is completed with each commit's trigger and byte range.
    pub(crate) fn new(
        engine: &'e Engine,
        adapter: &'static dyn Adapter,
        splitter: Box<dyn Splitter>,
        sighting: Sighting,
        start: Start,
    ) -> Self {
        Self {
            engine,
            adapter,
            splitter,
            sighting,
            rules: engine.rules().0,
            start,
            segment: OpenSegment::default(),
            earlier: None,
            pending: Vec::new(),
            pending_bytes: 0,
            root: None,
            notes: Vec::new(),
            note_counts: std::collections::HashMap::new(),
            outcome: BatchOutcome::default(),
        }
    }

    /// Says what an earlier reading left, so that it is continued or told apart.
    pub(crate) fn expect(mut self, earlier: Option<Earlier>) -> Self {
        self.earlier = earlier;
        self.meet(None);
        self
    }

    fn meet(&mut self, newest: Option<CommitId>) {
        if let Some(earlier) = &mut self.earlier
            && !earlier.met
            && earlier.tip == newest
        {
            earlier.met = true;
            self.start.provisional = std::mem::take(&mut earlier.provisional);
        }
    }

    /// Returns whether the chain of an earlier reading is not continued by this one.
    pub(crate) fn left_behind(&self) -> Option<CommitId> {
        let earlier = self.earlier.as_ref()?;
        if earlier.met { earlier.replaced } else { earlier.tip }
    }

    /// Takes one complete line with its newline.
    pub(crate) fn line(&mut self, raw: &[u8]) -> Result<()> {
        let scrubbed = self.engine.scrubber.scrub_line(raw);
        let mut notes = Vec::new();
        let line = scrubbed.bytes.strip_suffix(b"\n").unwrap_or(&scrubbed.bytes);
        let number = self.start.line + self.segment.lines;
        let cut = self.splitter.line(line, &mut notes);
        if let Some(facts) = cut.before {
            self.close(facts)?;
        }
        for note in notes {
            self.note(Note { line: Some(number), ..note });
        }
        let replaced = scrubbed.findings.iter().map(|finding| length(finding.len)).sum();
        self.add(&scrubbed.bytes, raw.len(), replaced)?;
        self.segment.lines += 1;
        if let Some(facts) = cut.after {
            self.close(facts)?;
        }
        Ok(())
    }

    /// Takes an unfinished last line: it is kept for a provisional commit and never seen by the splitter.
    pub(crate) fn torn_tail(&mut self, raw: &[u8]) -> Result<()> {
        let number = self.start.line + self.segment.lines;
        self.note(Note::at_line(
            NoteCode::TornTail,
            number,
            "the last line has no newline; its bytes are kept",
        ));
        let scrubbed = self.engine.scrubber.scrub_line(raw);
        let replaced = scrubbed.findings.iter().map(|finding| length(finding.len)).sum();
        self.add(&scrubbed.bytes, raw.len(), replaced)
    }

    fn add(&mut self, bytes: &[u8], raw_bytes: usize, replaced: u64) -> Result<()> {
        self.segment.raw_bytes += length(raw_bytes);
        self.segment.redacted_bytes += replaced;
        let spilled = self.segment.push(bytes);
        if !spilled.is_empty() {
            self.pending.extend(spilled);
            self.flush(Vec::new())?;
        }
        Ok(())
    }

    fn close(&mut self, facts: SegmentFacts) -> Result<()> {
        let segment = std::mem::take(&mut self.segment);
        let covered = self.covers(&segment);
        let (raw_bytes, lines, redacted) = (segment.raw_bytes, segment.lines, segment.redacted_bytes);
        let in_memory =
            (facts.commit_type == CommitType::Compaction).then(|| segment.in_memory().map(<[u8]>::to_vec));
        let native = segment.finish();
        let bytes = native.bytes;
        let made =
            Made { native, compaction: in_memory.flatten(), facts, closure: Closure::Closed, raw_bytes };
        let id = self.push_commit(made)?;
        self.pending.extend(covered.into_iter().filter_map(|write| match write {
            Write::Cover { commit, .. } if commit == id => None,
            other => Some(other),
        }));
        let totals = &mut self.start.totals;
        totals.commits += 1;
        totals.bytes += bytes;
        totals.messages += facts.counts.messages;
        totals.entries += facts.counts.entries;
        self.start.raw_bytes += raw_bytes;
        self.start.line += lines;
        self.start.redacted_bytes += redacted;
        self.meet(Some(id));
        Ok(())
    }

    /// Provisional commits that the segment now covers, kept as ranges of it where they are its beginning.
    fn covers(&mut self, segment: &OpenSegment) -> Vec<Write> {
        let known = std::mem::take(&mut self.start.provisional);
        // Newest first, so that a range is never taken of a content that is itself being replaced.
        known.into_iter().rev().filter_map(|provisional| self.cover(&provisional, segment)).collect()
    }

    fn cover(&mut self, provisional: &Provisional, segment: &OpenSegment) -> Option<Write> {
        let stored = self.engine.store.commit(provisional.commit).ok().flatten();
        let is_head =
            stored.is_some_and(|commit| segment.starts_with(commit.core.artifact, provisional.bytes));
        if !is_head && self.replaces(provisional.commit) {
            return None;
        }
        let whole = segment.in_memory().filter(|_| is_head).map(stemmata_model::artifact_id);
        let parts = whole
            .map(|of| vec![ContentPart::Slice { of, offset: 0, length: provisional.bytes }])
            .unwrap_or_default();
        Some(Write::Cover { commit: provisional.commit, parts })
    }

    /// Says whether a provisional commit that the open segment does not begin with was replaced: so it is where a
    /// file is read again from its start. Such a commit stays a tip, since nothing else holds its bytes.
    fn replaces(&mut self, provisional: CommitId) -> bool {
        let Some(earlier) = &mut self.earlier else { return false };
        earlier.replaced = Some(provisional);
        true
    }

    fn push_commit(&mut self, made: Made) -> Result<CommitId> {
        let Made { native, compaction, facts, closure, raw_bytes } = made;
        let native_id = native.artifact;
        self.pending_bytes += native.bytes;
        self.pending.push(native.write);
        let artifact = match compaction {
            Some(bytes) => self.compaction_artifact(native_id, &bytes)?,
            None => native_id,
        };
        let parent_time = self.start.parent.map_or(Timestamp::EPOCH, |(_, time)| time);
        let core = CommitCore {
            parent: self.start.parent.map(|(id, _)| id),
            commit_type: facts.commit_type,
            artifact,
            native: (artifact != native_id).then_some(native_id),
            format: self.adapter.format(),
            template: self.splitter.template(),
            created_at: facts.timestamp.unwrap_or(parent_time).max(parent_time),
        };
        let id = core.id();
        let mut sighting = self.sighting.clone();
        if facts.commit_type == CommitType::Compaction {
            sighting.trigger = Trigger::Compaction;
        } else if closure == Closure::Closed {
            sighting.trigger = Trigger::TurnBoundary;
        }
        sighting.source = sighting.source.map(|source| Source {
            offset: self.start.raw_bytes,
            length: raw_bytes,
            ..source
        });
        if closure == Closure::Closed {
            self.root.get_or_insert(id);
            self.start.parent = Some((id, core.created_at));
        }
        self.pending.push(Write::Commit(NewCommit {
            core,
            rules: self.rules,
            closure,
            counts: facts.counts,
        }));
        self.pending.push(Write::Sighting { commit: id, sighting: Box::new(sighting) });
        Ok(id)
    }

    /// Builds what stands for everything before: the boundary, the summary and the records that it preserves.
    fn compaction_artifact(&mut self, native_id: ArtifactId, native: &[u8]) -> Result<ArtifactId> {
        self.flush(Vec::new())?;
        let parent = self.start.parent.map(|(id, _)| id);
        let mut earlier = ChainSegments::new(self.engine, parent, None);
        let plan = self.adapter.plan_compaction(native, &mut earlier).map_err(source_error)?;
        for note in plan.notes {
            self.note(note);
        }
        let mut bytes = Vec::new();
        let mut parts = Vec::new();
        for piece in &plan.pieces {
            // Number 0 is the compaction's own bytes; the chain behind it starts at 2.
            let (of, whole) = match piece.segment.checked_sub(2) {
                None => (native_id, Some(native)),
                Some(number) => earlier.content(number),
            };
            let range =
                whole.and_then(|whole| slice(whole, piece.offset, piece.length)).ok_or_else(|| {
                    EngineError::Refused {
                        what: "a compaction",
                        reasons: vec!["it points outside its chain".to_owned()],
                    }
                })?;
            bytes.extend_from_slice(range);
            parts.push(ContentPart::Slice { of, offset: piece.offset, length: piece.length });
        }
        let id = stemmata_model::artifact_id(&bytes);
        if id != native_id {
            self.pending.push(Write::Content(NewContent::composed(id, parts)));
        }
        Ok(id)
    }

    /// Commits what stands after the last closed boundary as a provisional leaf. Returns its id, or none when
    /// nothing stands there.
    pub(crate) fn provisional(&mut self) -> Result<Option<CommitId>> {
        if self.segment.is_empty() {
            return Ok(None);
        }
        let facts = self.splitter.open();
        let finished = self.segment.snapshot();
        let bytes = finished.bytes;
        let raw_bytes = self.segment.raw_bytes;
        let made =
            Made { native: finished, compaction: None, facts, closure: Closure::Provisional, raw_bytes };
        let id = self.push_commit(made)?;
        let known = std::mem::take(&mut self.start.provisional);
        for older in known.into_iter().filter(|older| older.commit != id) {
            if older.bytes < bytes && self.is_head(&older) {
                self.pending.push(Write::Cover { commit: older.commit, parts: Vec::new() });
            } else if self.replaces(older.commit) {
                continue;
            }
            self.start.provisional.push(older);
        }
        self.start.provisional.push(Provisional { commit: id, bytes });
        let excess = self.start.provisional.len().saturating_sub(PROVISIONAL_MAX);
        self.start.provisional.drain(..excess);
        Ok(Some(id))
    }

    fn is_head(&self, older: &Provisional) -> bool {
        let stored = self.engine.store.commit(older.commit).ok().flatten();
        stored.is_some_and(|commit| self.segment.starts_with(commit.core.artifact, older.bytes))
    }

    /// Returns whether enough has gathered that it should be handed to the store.
    pub(crate) fn is_batch_full(&self) -> bool {
        self.pending_bytes >= BATCH_BYTES || self.pending.len() >= BATCH_WRITES
    }

    /// Hands everything to the store in one transaction, together with `more`.
    pub(crate) fn flush(&mut self, more: Vec<Write>) -> Result<()> {
        let mut batch = std::mem::take(&mut self.pending);
        batch.extend(more);
        self.pending_bytes = 0;
        if batch.is_empty() {
            return Ok(());
        }
        let done = self.engine.store.commit_batch(batch)?;
        self.outcome.new_contents += done.new_contents;
        self.outcome.new_commits += done.new_commits;
        self.outcome.new_bytes += done.new_bytes;
        self.outcome.stored_bytes += done.stored_bytes;
        Ok(())
    }

    /// Adds a note, within the bound for its kind.
    pub(crate) fn note(&mut self, note: Note) {
        let count = self.note_counts.entry(note.code).or_default();
        *count += 1;
        if *count <= NOTES_PER_KIND_MAX {
            self.notes.push(note);
        }
    }

    /// Returns the notes, with one more for each kind that had too many.
    pub(crate) fn take_notes(&mut self) -> Vec<Note> {
        let mut notes = std::mem::take(&mut self.notes);
        let mut beyond: Vec<_> =
            self.note_counts.iter().filter(|(_, count)| **count > NOTES_PER_KIND_MAX).collect();
        beyond.sort();
        for (code, count) in beyond {
            notes.push(Note::new(*code, format!("{} more like this", count - NOTES_PER_KIND_MAX)));
        }
        notes
    }

    /// Returns what stands at the last closed boundary, to resume from.
    pub(crate) const fn closed(&self) -> &Start {
        &self.start
    }

    /// Returns the splitter, for its facts and its state.
    pub(crate) fn splitter(&self) -> &dyn Splitter {
        self.splitter.as_ref()
    }

    /// Returns bytes that were replaced, the open segment included.
    pub(crate) const fn redacted_bytes(&self) -> u64 {
        self.start.redacted_bytes + self.segment.redacted_bytes
    }

    /// Returns bytes of the file that have been read, before secrets were replaced.
    pub(crate) const fn seen_bytes(&self) -> u64 {
        self.start.raw_bytes + self.segment.raw_bytes
    }

    /// Returns the bytes of the open segment.
    pub(crate) fn open_bytes(&self) -> u64 {
        self.segment.bytes()
    }

    /// Returns the first commit that was closed here.
    pub(crate) const fn first_closed(&self) -> Option<CommitId> {
        self.root
    }

    /// Returns what the store took so far.
    pub(crate) const fn outcome(&self) -> BatchOutcome {
        self.outcome
    }

    pub(crate) const fn rules(&self) -> RulesHash {
        self.rules
    }

    pub(crate) fn adapter(&self) -> &'static dyn Adapter {
        self.adapter
    }

    pub(crate) const fn sighting(&self) -> &Sighting {
        &self.sighting
    }
}

fn slice(whole: &[u8], offset: u64, length: u64) -> Option<&[u8]> {
    let start = usize::try_from(offset).ok()?;
    let end = start.checked_add(usize::try_from(length).ok()?)?;
    whole.get(start..end)
}

fn length(bytes: usize) -> u64 {
    u64::try_from(bytes).expect("a length fits 64 bits")
}

/// Turns an error that went through a planner back into the engine's.
pub(crate) fn source_error(error: stemmata_runtimes::adapter::SourceError) -> EngineError {
    match error.downcast::<EngineError>() {
        Ok(own) => *own,
        Err(other) => EngineError::Refused { what: "reading the chain", reasons: vec![other.to_string()] },
    }
}
