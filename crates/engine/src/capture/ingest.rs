//! From the lines of one transcript to commits: scrub, split, name, and hand to the store in batches.
//!
//! The same code serves import and live capture, which is why both give the same chain.
//!
//! `Ingest::provisional` makes the commit of an open turn; `Ingest::head_of` finds the
//! one that a later commit begins with, so that its bytes are stored once.

mod forgotten;
mod told;
mod torn;

use stemmata_model::{
    ArtifactId, Closure, Commit, CommitCore, CommitId, CommitType, Note, NoteCode, Sighting, Source,
    Timestamp, Trigger, to_u64,
};
use stemmata_redact::{ScrubbedLine, Scrubber};
use stemmata_runtimes::adapter::{Adapter, SegmentFacts, Splitter};
use stemmata_store::{BatchOutcome, NewCommit, NewHole, Write};

use self::torn::Torn;
use crate::capture::anchors::News;
use crate::capture::captured::UnreadRecords;
use crate::capture::cursor::{PROVISIONAL_MAX, Provisional};
use crate::capture::earlier::{Earlier, Left};
use crate::capture::segment::{FinishedSegment, Head, OpenSegment};
use crate::chain::segments::read_whole;
use crate::engine::Engine;
use crate::error::{EngineError, Refusal, Result};

/// Bytes of new content after which a batch is handed to the store.
const BATCH_BYTES: u64 = 4 * 1024 * 1024;

/// Writes after which a batch is handed to the store.
const BATCH_WRITES: usize = 1_024;

/// Provisional commits that a newer one is compared with: those before were covered when these were made.
const UNCOVERED_MAX: usize = 4;

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
    /// Records before it that are not understood.
    pub unread: UnreadRecords,
}

/// A segment that becomes a commit.
struct Made {
    native: FinishedSegment,
    /// The segment's bytes, where it is a compaction that was not spilled.
    in_memory: Option<Vec<u8>>,
    facts: SegmentFacts,
    closure: Closure,
    raw_bytes: u64,
    /// The forgotten look at an open turn that it begins with.
    held: Option<CommitId>,
}

/// What a segment became.
#[derive(Clone, Copy)]
struct Pushed {
    id: CommitId,
    /// Whether it was forgotten, so that nothing of it was stored.
    was_forgotten: bool,
}

/// One transcript on its way into the store.
pub(crate) struct Ingest<'e> {
    pub(super) engine: &'e Engine,
    pub(super) adapter: &'static dyn Adapter,
    pub(super) splitter: Box<dyn Splitter>,
    sighting: Sighting,
    pub(super) scrubber: Scrubber,
    /// Whether commits are looked up among what was forgotten.
    is_careful: bool,
    /// Forgotten looks at open turns, with what they continue.
    awaited: Vec<forgotten::Look>,
    pub(super) start: Start,
    /// Records before all that is read here that are not understood.
    unread_before: UnreadRecords,
    pub(super) segment: OpenSegment,
    earlier: Option<Earlier>,
    /// What the next commit begins with, where that is known beforehand.
    pub(super) prior: Option<Head>,
    torn: Option<Torn>,
    pending: Vec<Write>,
    pending_bytes: u64,
    root: Option<CommitId>,
    notes: Vec<Note>,
    note_counts: std::collections::HashMap<NoteCode, usize>,
    redacted_kinds: std::collections::BTreeMap<String, u64>,
    outcome: BatchOutcome,
    pub(super) news: News,
}

impl<'e> Ingest<'e> {
    /// Starts; `sighting` is completed with each commit's trigger and byte range.
    pub(crate) fn new(
        engine: &'e Engine,
        adapter: &'static dyn Adapter,
        splitter: Box<dyn Splitter>,
        sighting: Sighting,
        (start, scrubber): (Start, Scrubber),
    ) -> Self {
        Self {
            engine,
            adapter,
            splitter,
            sighting,
            scrubber,
            is_careful: false,
            awaited: Vec::new(),
            unread_before: start.unread.clone(),
            start,
            segment: OpenSegment::default(),
            earlier: None,
            prior: None,
            torn: None,
            pending: Vec::new(),
            pending_bytes: 0,
            root: None,
            notes: Vec::new(),
            note_counts: std::collections::HashMap::new(),
            redacted_kinds: std::collections::BTreeMap::new(),
            outcome: BatchOutcome::default(),
            news: News::default(),
        }
    }

    /// Says what an earlier reading left, so that it is continued or told apart.
    pub(crate) fn expect(mut self, earlier: Option<Earlier>) -> Self {
        self.earlier = earlier;
        self.meet(self.start.parent.map(|(id, _)| id));
        self.watch();
        self
    }

    fn meet(&mut self, newest: Option<CommitId>) {
        if let Some(earlier) = &mut self.earlier {
            earlier.meet(newest);
        }
    }

    /// Has a new segment remember what it will have begun with where provisional commits end.
    fn watch(&mut self) {
        self.await_forgotten();
        let unsure = self.earlier.iter().flat_map(Earlier::unsure);
        let lengths: Vec<u64> =
            self.start.provisional.iter().chain(unsure).map(|provisional| provisional.bytes).collect();
        self.segment.watch(lengths.into_iter());
    }

    /// Returns whether a cursor may say that this reading is the one to go on from: before the end of an earlier
    /// one was met, a reading that is interrupted has to begin again, or it would forget the earlier one.
    pub(crate) fn is_settled(&self) -> bool {
        self.earlier.as_ref().is_none_or(Earlier::is_settled)
    }

    /// Returns what the chain of an earlier reading held that is not in this one.
    pub(crate) fn left_behind(&self) -> Option<Left> {
        self.earlier.as_ref()?.left()
    }

    /// Compares what an earlier reading left open with what stands there now. What is not there any more stays a
    /// tip, since nothing else holds its bytes.
    fn settle(&mut self, segment: &OpenSegment) -> Result<()> {
        let Some(earlier) = &mut self.earlier else { return Ok(()) };
        for provisional in earlier.take_unsure() {
            if commit_ahead(self.engine, &provisional, segment)?.is_some() {
                self.start.provisional.push(provisional);
            } else {
                earlier.replaced(provisional.commit);
            }
        }
        Ok(())
    }

    /// Takes one complete line with its newline.
    pub(crate) fn line(&mut self, scrubbed: &ScrubbedLine<'_>) -> Result<()> {
        let raw = scrubbed.raw.as_ref();
        let mut notes = Vec::new();
        let line = scrubbed.bytes.strip_suffix(b"\n").unwrap_or(&scrubbed.bytes);
        let number = self.start.line + self.segment.lines;
        // Most transcripts have no unknown record: then no line copies the list of them.
        let has_unread = !self.splitter.unknown().is_empty() || self.splitter.unreadable() > 0;
        let unread = if has_unread { self.unread() } else { UnreadRecords::default() };
        let cut = self.splitter.line(line, &mut notes);
        if let Some(facts) = cut.before {
            self.close(facts)?;
            self.start.unread = self.unread_before.plus(&unread);
        }
        for note in notes {
            self.note(Note { line: Some(number), ..note });
        }
        let replaced = scrubbed.findings.iter().map(|finding| to_u64(finding.len)).sum();
        self.news.line(self.adapter, self.start.totals.commits, line);
        self.count(&scrubbed.findings);
        self.add(&scrubbed.bytes, raw.len(), replaced)?;
        self.segment.lines += 1;
        if let Some(facts) = cut.after {
            self.close(facts)?;
            self.start.unread = self.unread_so_far();
        }
        Ok(())
    }

    /// Takes an unfinished last line: it is kept for a provisional commit and decides nothing.
    pub(crate) fn torn_tail(&mut self, scrubbed: &ScrubbedLine<'_>) -> Result<()> {
        let raw = scrubbed.raw.as_ref();
        self.torn = Some(Torn::read(self.splitter.as_mut(), &scrubbed.bytes, self.segment.bytes()));
        let number = self.start.line + self.segment.lines;
        self.note(Note::at_line(
            NoteCode::TornTail,
            number,
            "the last line has no newline; its bytes are kept",
        ));
        let replaced = scrubbed.findings.iter().map(|finding| to_u64(finding.len)).sum();
        self.count(&scrubbed.findings);
        self.add(&scrubbed.bytes, raw.len(), replaced)
    }

    /// Has the next commit stand for all before it: what a chain holds is counted from there.
    pub(super) fn begin_anew(&mut self) {
        self.start.totals = ChainTotals { commits: self.start.totals.commits, ..ChainTotals::default() };
        self.start.raw_bytes = 0;
        self.start.line = 1;
        self.start.redacted_bytes = 0;
    }

    pub(super) fn add(&mut self, bytes: &[u8], raw_bytes: usize, replaced: u64) -> Result<()> {
        self.segment.raw_bytes += to_u64(raw_bytes);
        self.segment.redacted_bytes += replaced;
        let spilled = self.segment.push(bytes);
        if !spilled.is_empty() {
            self.pending.extend(spilled);
            self.flush(Vec::new())?;
        }
        Ok(())
    }

    /// Makes a commit of the open segment. Returns whether that was forgotten before.
    pub(super) fn close(&mut self, facts: SegmentFacts) -> Result<bool> {
        let segment = std::mem::take(&mut self.segment);
        self.settle(&segment)?;
        let forgotten = self.forgotten_in(&segment)?;
        let head = self.head_of(&segment)?;
        let covered = std::mem::take(&mut self.start.provisional);
        let (raw_bytes, lines, redacted) = (segment.raw_bytes, segment.lines, segment.redacted_bytes);
        let in_memory =
            (facts.commit_type == CommitType::Compaction).then(|| segment.in_memory().map(<[u8]>::to_vec));
        let native = segment.finish(head);
        let bytes = native.bytes;
        let closure = Closure::Closed;
        let made =
            Made { native, in_memory: in_memory.flatten(), facts, closure, raw_bytes, held: forgotten };
        let Pushed { id, was_forgotten } = self.push_commit(made)?;
        // Looks that were not forgotten are not covered by a hole.
        let covered = covered.into_iter().map(|provisional| provisional.commit);
        let covered: Vec<CommitId> = covered.filter(|commit| *commit != id && !was_forgotten).collect();
        self.pending.extend(covered.iter().map(|commit| Write::Cover { commit: *commit }));
        self.pending.extend(self.news.closed(id, self.start.totals.commits, covered));
        let totals = &mut self.start.totals;
        totals.commits += 1;
        totals.bytes += bytes;
        totals.messages += facts.counts.messages;
        totals.entries += facts.counts.entries;
        self.start.raw_bytes += raw_bytes;
        self.start.line += lines;
        self.start.redacted_bytes += redacted;
        self.meet(Some(id));
        self.watch();
        Ok(was_forgotten)
    }

    /// Returns the newest provisional commit's content that a segment begins with: what was captured once is not
    /// stored again, however often an open turn is looked at.
    fn head_of(&mut self, segment: &OpenSegment) -> Result<Option<Head>> {
        if let Some(prior) = self.prior.take() {
            return Ok(Some(prior));
        }
        for known in self.start.provisional.iter().rev() {
            let ahead = commit_ahead(self.engine, known, segment)?;
            if let Some(commit) = ahead.filter(|commit| commit.closure != Closure::Forgotten) {
                return Ok(Some(Head { artifact: commit.core.artifact, bytes: known.bytes }));
            }
        }
        Ok(None)
    }

    fn push_commit(&mut self, made: Made) -> Result<Pushed> {
        let Made { native, in_memory, facts, closure, raw_bytes, held } = made;
        let (native_id, native_bytes) = (native.artifact, native.bytes);
        let ((artifact, artifact_bytes), contents) = match (facts.commit_type, in_memory) {
            (CommitType::Compaction, Some(bytes)) => {
                self.flush(Vec::new())?;
                let (artifact, composed) = self.compaction_artifact(native_id, &bytes)?;
                (artifact, std::iter::once(native.write).chain(composed).collect())
            }
            (CommitType::Compaction, None) => {
                self.flush(vec![native.write])?;
                let bytes = read_whole(self.engine, native_id)?;
                let (artifact, composed) = self.compaction_artifact(native_id, &bytes)?;
                (artifact, composed.into_iter().collect())
            }
            (CommitType::Delta | CommitType::Snapshot { .. }, _) => {
                ((native_id, native_bytes), vec![native.write])
            }
        };
        let parent_time = self.start.parent.map_or(Timestamp::EPOCH, |(_, time)| time);
        let core = CommitCore {
            parent: self.start.parent.map(|(id, _)| id),
            commit_type: facts.commit_type,
            artifact,
            native: (artifact != native_id).then_some(native_id),
            format: self.adapter.format(),
            template: self.template(),
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
        let was_forgotten = self.is_careful && self.was_forgotten(id)?;
        let held = held.filter(|held| *held != id && !was_forgotten);
        let held = if self.is_whole(id, held)? { None } else { held };
        if closure == Closure::Closed {
            self.root.get_or_insert(id);
            self.start.parent = Some((id, core.created_at));
        }
        if was_forgotten {
            return Ok(Pushed { id, was_forgotten });
        }
        let (rules, counts) = (self.rules(), facts.counts);
        if held.is_some() {
            let hole = NewHole { core, rules, counts, artifact_bytes, native_bytes, holds: held };
            self.pending.push(Write::Hole(Box::new(hole)));
            self.note_held(id, held);
        } else {
            self.pending_bytes += native_bytes;
            self.pending.extend::<Vec<Write>>(contents);
            self.pending.push(Write::Commit(NewCommit { core, rules, closure, counts }));
        }
        self.pending.push(Write::Sighting { commit: id, sighting: Box::new(sighting) });
        Ok(Pushed { id, was_forgotten: held.is_some() })
    }

    /// Builds what stands for everything before.
    fn compaction_artifact(
        &mut self,
        native_id: ArtifactId,
        native: &[u8],
    ) -> Result<((ArtifactId, u64), Option<Write>)> {
        let parent = self.start.parent.map(|(id, _)| id);
        let made = self.engine.compaction_artifact(self.adapter, parent, (native_id, native))?;
        for note in made.notes {
            self.note(note);
        }
        Ok((made.artifact, made.composed))
    }

    /// Commits what stands after the last closed boundary as a provisional leaf. Returns its id, or none when
    /// nothing stands there.
    pub(crate) fn provisional(&mut self) -> Result<Option<CommitId>> {
        if self.segment.is_empty() {
            return Ok(None);
        }
        let segment = std::mem::take(&mut self.segment);
        let settled = self.settle(&segment);
        self.segment = segment;
        settled?;
        if let Some(held) = self.forgotten_in(&self.segment)? {
            // What is open yet is not told apart from it: its hole stands for all of it.
            self.note_held(held, Some(held));
            return Ok(Some(held));
        }
        let facts = self.open();
        // Now and then all of it is stored, so that no content is made of too many ranges.
        let is_long = self.start.provisional.len() >= PROVISIONAL_MAX;
        let segment = std::mem::take(&mut self.segment);
        let head = if is_long { Ok(None) } else { self.head_of(&segment) };
        self.segment = segment;
        let finished = self.segment.snapshot(head?);
        let bytes = finished.bytes;
        let raw_bytes = self.segment.raw_bytes;
        let closure = Closure::Provisional;
        let made = Made { native: finished, in_memory: None, facts, closure, raw_bytes, held: None };
        let Pushed { id, .. } = self.push_commit(made)?;
        let mut known = std::mem::take(&mut self.start.provisional);
        known.retain(|older| older.commit != id);
        let mut covered = Vec::new();
        for older in known.iter().rev().take(UNCOVERED_MAX) {
            // Where the complete lines end a commit may close yet: the splitter has not seen what follows.
            let may_close = self.torn.as_ref().is_some_and(|torn| torn.from == older.bytes);
            if older.bytes < bytes && !may_close && commit_ahead(self.engine, older, &self.segment)?.is_some()
            {
                covered.push(older.commit);
            }
        }
        self.pending.extend(covered.iter().map(|commit| Write::Cover { commit: *commit }));
        self.pending.extend(self.news.open(id, self.start.totals.commits, covered));
        known.push(Provisional { commit: id, bytes });
        if is_long {
            known.drain(..known.len().saturating_sub(UNCOVERED_MAX));
        }
        self.start.provisional = known;
        Ok(Some(id))
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
        let done = self.engine.commit_batch(batch)?;
        self.outcome.new_contents += done.new_contents;
        self.outcome.new_commits += done.new_commits;
        self.outcome.new_bytes += done.new_bytes;
        self.outcome.stored_bytes += done.stored_bytes;
        Ok(())
    }
}

/// Returns a provisional commit, where a segment begins with its content.
fn commit_ahead(engine: &Engine, provisional: &Provisional, segment: &OpenSegment) -> Result<Option<Commit>> {
    let stored = engine.store.commit(provisional.commit)?;
    Ok(stored.filter(|commit| segment.starts_with(commit.core.artifact, provisional.bytes)))
}

/// Turns an error that went through a planner back into the engine's.
pub(crate) fn source_error(error: stemmata_runtimes::adapter::SourceError) -> EngineError {
    match error.downcast::<EngineError>() {
        Ok(own) => *own,
        Err(other) => EngineError::Refused { what: Refusal::ReadChain, reasons: vec![other.to_string()] },
    }
}
