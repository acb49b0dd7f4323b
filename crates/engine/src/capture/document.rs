//! Captures a transcript that is one document: each state of it is a snapshot, the child of the one before.
//!
//! A document is read whole, so it has a bound. What a state shares with the one before at its beginning is a range of
//! it, so that a document that grows is not stored again and again.

use stemmata_model::{Closure, Commit, CommitId, CommitType, artifact_id};
use stemmata_runtimes::adapter::Shape;

use crate::capture::cursor::{FileStamp, OpenFile};
use crate::capture::ingest::{Ingest, Start};
use crate::capture::reading::Prepared;
use crate::capture::segment::Head;
use crate::chain::segments::read_whole;
use crate::engine::Engine;
use crate::error::{EngineError, FormatUse, Result};
use crate::scrubbing::{is_scrubbed_in_place, scrub_document};

/// Bytes of one document at most: it is held in memory a few times over while it is taken in.
pub(crate) const DOCUMENT_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// Bytes that a state shares with the one before at least, to be a range of it.
const SHARED_BYTES_MIN: usize = 4 * 1024;

/// States after which one is stored whole again, so that no content is made of too many ranges.
const SHARING_STATES_MAX: u64 = 64;

/// Reads a document that has the length of its stamp.
pub(crate) fn read(file: OpenFile<'_>, stamp: FileStamp) -> Result<Vec<u8>> {
    read_so_many(file, stamp.length)
}

fn read_so_many(file: OpenFile<'_>, length: u64) -> Result<Vec<u8>> {
    if length > DOCUMENT_BYTES_MAX {
        return Err(EngineError::DocumentTooLong {
            path: file.path.to_owned(),
            bytes: length,
            bound_bytes: DOCUMENT_BYTES_MAX,
        });
    }
    let bytes = file.range(0, length)?;
    let found = u64::try_from(bytes.len()).expect("a length fits 64 bits");
    if found < length {
        return Err(EngineError::Shrank { path: file.path.to_owned(), expected: length, found });
    }
    Ok(bytes)
}

/// Reads a document as long as it is now.
pub(crate) fn read_now(file: OpenFile<'_>) -> Result<Vec<u8>> {
    let length = file.file.length().map_err(EngineError::io("read", file.path))?;
    read_so_many(file, length)
}

/// What a state of a document has from the one before.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shared {
    /// Bytes at the beginning that are the same.
    pub bytes: usize,
    /// What to store them as, where they are many.
    pub head: Option<Head>,
}

impl Engine {
    /// Compares a state of a document with the commit before, where that is one too.
    pub(crate) fn shared_with(&self, before: &Commit, bytes: &[u8]) -> Result<Shared> {
        let adapter = Self::adapter(&before.core.format, FormatUse::Read);
        let is_document = adapter.is_ok_and(|adapter| adapter.shape() == Shape::Document)
            && matches!(before.core.commit_type, CommitType::Snapshot { .. })
            && before.native_bytes <= DOCUMENT_BYTES_MAX;
        if !is_document {
            return Ok(Shared { bytes: 0, head: None });
        }
        let artifact = before.core.native_artifact();
        let old = read_whole(self, artifact)?;
        let shared = old.iter().zip(bytes).take_while(|(old, new)| old == new).count();
        let is_worth =
            shared >= SHARED_BYTES_MIN && before.depth % SHARING_STATES_MAX != SHARING_STATES_MAX - 1;
        let bytes = u64::try_from(shared).expect("a length fits 64 bits");
        Ok(Shared { bytes: shared, head: is_worth.then_some(Head { artifact, bytes }) })
    }

    /// Returns the state before of a document, where it was forgotten: the next one would bring it back.
    pub(crate) fn forgotten_state(&self, prepared: &Prepared, start: &Start) -> Result<Option<CommitId>> {
        let Some((parent, _)) = start.parent.filter(|_| prepared.adapter.shape() == Shape::Document) else {
            return Ok(None);
        };
        let commit = self.store.commit(parent)?;
        Ok(commit.filter(|commit| commit.closure == Closure::Forgotten).map(|commit| commit.id))
    }
}

impl Ingest<'_> {
    /// Takes a whole document as a snapshot; nothing where it is as it was. Returns why it is none, where it is none.
    pub(crate) fn document(&mut self, raw: &[u8]) -> Result<Option<String>> {
        let scrubbed = scrub_document(&self.scrubber, self.adapter, raw)?;
        let bytes = scrubbed.bytes.as_ref();
        let mut notes = Vec::new();
        let cut = self.splitter.line(bytes, &mut notes);
        let Some(mut facts) = cut.after else {
            let reason = notes.into_iter().next().map(|note| note.message);
            return Ok(Some(reason.unwrap_or_else(|| "nothing stands in it".to_owned())));
        };
        for note in notes {
            self.note(note);
        }
        let replaced = scrubbed.findings.iter().map(|finding| length(finding.len)).sum();
        let before = match self.start.parent {
            Some((parent, _)) => self.engine.store.commit(parent)?,
            None => None,
        };
        if before.as_ref().is_some_and(|before| before.core.native_artifact() == artifact_id(bytes)) {
            self.start.raw_bytes = length(raw.len());
            self.start.redacted_bytes = replaced;
            return Ok(None);
        }
        let shared = match &before {
            Some(before) => self.engine.shared_with(before, bytes)?,
            None => Shared { bytes: 0, head: None },
        };
        facts.commit_type = CommitType::Snapshot { restated_entries: self.restated(bytes, shared.bytes) };
        self.prior = shared.head;
        self.begin_anew();
        if self.start.parent.is_none() {
            self.news.line(self.adapter, 0, bytes);
        }
        self.segment.be_patient(bytes.len());
        if !scrubbed.findings.is_empty() && is_scrubbed_in_place(self.adapter, raw) {
            self.take_in(raw, &scrubbed.findings);
        }
        self.add(bytes, raw.len(), replaced)?;
        self.close(facts)?;
        Ok(None)
    }

    /// Counts the entries at the beginning of a document that stand in the same bytes as before.
    fn restated(&self, bytes: &[u8], shared: usize) -> u64 {
        if shared == 0 {
            return 0;
        }
        let ends = self.adapter.decode(bytes).entries.into_iter().map(|entry| entry.native);
        let same = ends.take_while(|span| span.offset.saturating_add(span.length) <= length(shared));
        length(same.count())
    }
}

fn length(bytes: usize) -> u64 {
    u64::try_from(bytes).expect("a length fits 64 bits")
}
