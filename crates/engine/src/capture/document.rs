//! Captures a transcript that is one document: each state of it is a snapshot, the child of the one before.
//!
//! A compaction that an API or a client made within a document is a commit between two states: what stood before it, and the
//! state that holds it.
//!
//! A document is read whole, so it has a bound. What a state shares with the one before at its beginning is a range of
//! it, so that a document that grows is not stored again and again.

use std::borrow::Cow;

use stemmata_model::{
    ArtifactId, Closure, Commit, CommitId, CommitType, Entry, EntryKind, Granularity, Note, NoteCode,
    artifact_id, to_u64,
};
use stemmata_runtimes::adapter::{DocumentCompaction, SegmentFacts};

use crate::capture::ingest::{Ingest, Start};
use crate::capture::segment::Head;
use crate::chain::segments::read_whole;
use crate::engine::Engine;
use crate::error::Result;
use crate::scrubbing::{is_document, scrub_document};

/// Bytes of one document at most: it is held in memory a few times over while it is taken in.
pub(crate) const DOCUMENT_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// Bytes that a state shares with the one before at least, to be a range of it.
const SHARED_BYTES_MIN: usize = 4 * 1024;

/// States after which one is stored whole again, so that no content is made of too many ranges.
const SHARING_STATES_MAX: u64 = 64;

/// A state of a document that the next one is compared with.
#[derive(Debug)]
pub(crate) struct State {
    artifact: ArtifactId,
    bytes: Vec<u8>,
    /// Commits before it.
    depth: u64,
    entries: u64,
}

impl State {
    /// Counts the bytes at the beginning that another state has, too.
    pub(crate) fn shared(&self, bytes: &[u8]) -> usize {
        self.bytes.iter().zip(bytes).take_while(|(old, new)| old == new).count()
    }

    /// Returns what a state of that depth is stored as a range of, where so many shared bytes are worth it.
    pub(crate) fn head(&self, shared: usize, depth: u64) -> Option<Head> {
        let is_worth =
            shared >= SHARED_BYTES_MIN && self.depth / SHARING_STATES_MAX == depth / SHARING_STATES_MAX;
        is_worth.then(|| Head { artifact: self.artifact, bytes: to_u64(shared) })
    }
}

/// A state of a document that becomes a commit.
struct NewState<'b> {
    bytes: Cow<'b, [u8]>,
    raw_bytes: usize,
    redacted_bytes: u64,
    facts: SegmentFacts,
    /// Entries that commits before it hold at least.
    restated_entries: u64,
}

/// What became of the compactions within a state.
enum Told {
    /// They are commits, and hold so many of the state's entries.
    Taken(u64),
    /// One of them, or what stood before it, was forgotten: the state would bring it back.
    Forgotten,
}

impl Engine {
    /// Reads the state of a document that a commit is.
    pub(crate) fn document_of(&self, commit: &Commit) -> Result<Option<State>> {
        let is_state = is_document(&commit.core.format)
            && matches!(commit.core.commit_type, CommitType::Snapshot { .. })
            && commit.native_bytes <= DOCUMENT_BYTES_MAX;
        if !is_state {
            return Ok(None);
        }
        let artifact = commit.core.native_artifact();
        let (depth, entries) = (commit.depth, commit.counts.entries);
        Ok(Some(State { artifact, bytes: read_whole(self, artifact)?, depth, entries }))
    }

    /// Returns the state before of a document, where it was forgotten: the next one would bring it back.
    pub(crate) fn forgotten_state(&self, start: &Start) -> Result<Option<CommitId>> {
        let Some((parent, _)) = start.parent else { return Ok(None) };
        let commit = self.store.commit(parent)?;
        Ok(commit.filter(|commit| commit.closure == Closure::Forgotten).map(|commit| commit.id))
    }
}

impl Ingest<'_> {
    /// Takes a whole document as a snapshot; nothing where it is as it was. Returns why it is none, where it is none.
    ///
    /// `previous` is the newest state of it that is known, also where this one does not go on from it.
    pub(crate) fn document(&mut self, raw: &[u8], previous: Option<CommitId>) -> Result<Option<String>> {
        let scrubbed = scrub_document(&self.scrubber, self.adapter, raw)?;
        let bytes = scrubbed.bytes.as_ref();
        let mut notes = Vec::new();
        let cut = self.splitter.line(bytes, &mut notes);
        let Some(facts) = cut.after else {
            let reason = notes.into_iter().next().map(|note| note.message);
            return Ok(Some(reason.unwrap_or_else(|| "it is empty".to_owned())));
        };
        for note in notes {
            self.note(note);
        }
        // Each state says all that there is.
        self.start.unread = self.unread();
        self.count(&scrubbed.findings);
        let replaced = scrubbed.findings.iter().map(|finding| to_u64(finding.len)).sum();
        let before = match self.start.parent {
            Some((parent, _)) => self.engine.store.commit(parent)?,
            None => None,
        };
        if before.as_ref().is_some_and(|before| before.core.native_artifact() == artifact_id(bytes)) {
            self.start.raw_bytes = to_u64(raw.len());
            self.start.redacted_bytes = replaced;
            return Ok(None);
        }
        let previous = match (&before, previous.filter(|_| facts.counts.messages == 0)) {
            (None, Some(previous)) => self.engine.store.commit(previous)?,
            _ => None,
        };
        let newest = before.as_ref().or(previous.as_ref());
        let said_before = newest.map_or(0, |newest| newest.counts.messages);
        if facts.counts.messages == 0 && said_before > 0 {
            // No user takes back everything. The client keeps the session somewhere else now, or somebody removed a folder or table
            // that had part of it.
            let message = format!(
                "it has no message now: the {} that were read before stay",
                stemmata_model::plural(said_before, "message")
            );
            self.note(Note::new(NoteCode::Degraded, message));
            if let Some(previous) = previous {
                self.start.totals = self.engine.totals_of(previous.id)?;
                self.start.parent = Some((previous.id, previous.core.created_at));
            }
            self.start.raw_bytes = to_u64(raw.len());
            self.start.redacted_bytes = replaced;
            return Ok(None);
        }
        let mut old = match &before {
            Some(before) => self.engine.document_of(before)?,
            None => None,
        };
        let Told::Taken(restated_entries) = self.compactions_of(bytes, raw.len(), &mut old)? else {
            self.start.raw_bytes = to_u64(raw.len());
            self.start.redacted_bytes = replaced;
            return Ok(None);
        };
        let bytes = Cow::Borrowed(bytes);
        let state =
            NewState { bytes, raw_bytes: raw.len(), redacted_bytes: replaced, facts, restated_entries };
        self.state(&state, old.as_ref())?;
        Ok(None)
    }

    /// Makes a commit of a state. Returns whether it was forgotten before.
    fn state(&mut self, state: &NewState<'_>, old: Option<&State>) -> Result<bool> {
        let bytes = state.bytes.as_ref();
        let shared = old.map_or(0, |old| old.shared(bytes));
        let restated_entries = self.restated(bytes, old, shared).max(state.restated_entries);
        self.begin_anew();
        self.prior = old.and_then(|old| old.head(shared, self.start.totals.commits));
        if self.start.parent.is_none() {
            self.news.line(self.adapter, 0, bytes);
        }
        self.segment.be_patient(bytes.len());
        self.add(bytes, state.raw_bytes, state.redacted_bytes)?;
        self.close(SegmentFacts { commit_type: CommitType::Snapshot { restated_entries }, ..state.facts })
    }

    /// Makes commits of the compactions in a state that the one before does not have, each behind what stood before it.
    /// `old` is the state that the next one is compared with.
    fn compactions_of(&mut self, bytes: &[u8], raw_bytes: usize, old: &mut Option<State>) -> Result<Told> {
        let known = old.as_ref().map(|old| self.adapter.compactions(&old.bytes)).unwrap_or_default();
        let mut restated_entries = 0;
        for compaction in self.adapter.compactions(bytes) {
            if known.iter().any(|known| known.name == compaction.name) {
                continue;
            }
            if is_new_before(&compaction, bytes, old.as_ref()) {
                let mut before = bytes.get(..compaction.before).unwrap_or_default().to_vec();
                before.extend(self.adapter.closing(bytes, compaction.before));
                let Some(facts) = self.facts_of(&before) else { continue };
                let bytes = Cow::Owned(before);
                let state = NewState { bytes, raw_bytes, redacted_bytes: 0, facts, restated_entries };
                if self.state(&state, old.as_ref())? {
                    return Ok(Told::Forgotten);
                }
                let (artifact, bytes) = (artifact_id(&state.bytes), state.bytes.into_owned());
                let depth = self.start.totals.commits.saturating_sub(1);
                *old = Some(State { artifact, bytes, depth, entries: facts.counts.entries });
            }
            let facts = self.facts_of(&compaction.artifact);
            // A document that begins with its compaction stands for nothing that is here.
            let Some(facts) = facts.filter(|_| self.start.parent.is_some()) else { continue };
            self.begin_anew();
            self.segment.be_patient(compaction.artifact.len());
            self.add(&compaction.artifact, raw_bytes, 0)?;
            if self.close(SegmentFacts { commit_type: CommitType::Compaction, ..facts })? {
                return Ok(Told::Forgotten);
            }
            restated_entries = compaction.entries_through;
        }
        Ok(Told::Taken(restated_entries))
    }

    /// Returns what a document counts that is a part of another one.
    fn facts_of(&self, document: &[u8]) -> Option<SegmentFacts> {
        self.adapter.splitter(Granularity::Turn, None).line(document, &mut Vec::new()).after
    }

    /// Counts the entries at the beginning of a document that say what the state before says: those in the same bytes, else those
    /// with the same ids. A client changes what stands before and beside them, such as the time of the last change. The last
    /// one of the state before may have gone on since, and counts only if it did not.
    fn restated(&self, bytes: &[u8], old: Option<&State>, shared: usize) -> u64 {
        let Some(old) = old else { return 0 };
        let now = self.adapter.decode(bytes).entries;
        let ends = now.iter().map(|entry| entry.native.offset.saturating_add(entry.native.length));
        let same = ends.take_while(|end| *end <= to_u64(shared)).count();
        if to_u64(same) >= old.entries {
            return to_u64(same);
        }
        let before = self.adapter.decode(&old.bytes).entries;
        let last = before.len().saturating_sub(1);
        let says_so = |at: usize, (before, now): (&Entry, &Entry)| {
            let is_as_it_was = || (before.role, &before.parts) == (now.role, &now.parts);
            // What is said of the session changes with it, and its id with its bytes.
            let is_metadata = before.kind == EntryKind::Metadata && now.kind == EntryKind::Metadata;
            is_metadata || (before.id == now.id && (at < last || is_as_it_was()))
        };
        let pairs = before.iter().zip(&now).enumerate();
        to_u64(pairs.take_while(|(at, pair)| says_so(*at, *pair)).count()).max(to_u64(same))
    }
}

/// Returns whether what stands before a compaction is no commit yet.
fn is_new_before(compaction: &DocumentCompaction, bytes: &[u8], old: Option<&State>) -> bool {
    let is_old = old.is_some_and(|old| {
        old.entries == compaction.entries_before && old.shared(bytes) >= compaction.before
    });
    compaction.entries_before > 0 && !is_old
}
