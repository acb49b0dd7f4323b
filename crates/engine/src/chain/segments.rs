//! A chain as a planner sees it: the bytes of each commit, newest first, kept for the emission that follows.

use std::io;
use std::sync::Arc;

use stemmata_model::{ArtifactId, Closure, Commit, CommitId, CommitType, Counts};
use stemmata_runtimes::adapter::{Segment, Segments, SourceError, segment_number};

use crate::chain::walk::Walk;
use crate::engine::Engine;
use crate::error::{EngineError, Result};

/// Bytes of one commit that a planner is given at most: planning needs one whole segment in memory.
pub(crate) const SEGMENT_BYTES_MAX: u64 = 1024 * 1024 * 1024;

/// Bytes of segments that are kept in memory between planning and emitting; beyond this they are read again.
const KEPT_BYTES_MAX: u64 = 128 * 1024 * 1024;

struct Known {
    id: ArtifactId,
    bytes: Option<Arc<Vec<u8>>>,
}

/// The commits of a chain, newest first, with their bytes.
pub(crate) struct ChainSegments<'e> {
    engine: &'e Engine,
    walk: Walk<'e>,
    stop: Option<CommitId>,
    commits: Vec<Commit>,
    known: Vec<Known>,
    kept_bytes: u64,
    hole: Option<CommitId>,
}

impl<'e> ChainSegments<'e> {
    /// Starts at `from`; the commit `stop` is marked where it is met.
    pub(crate) fn new(engine: &'e Engine, from: Option<CommitId>, stop: Option<CommitId>) -> Self {
        Self {
            engine,
            walk: Walk::new(engine.store.as_ref(), from),
            stop,
            commits: Vec::new(),
            known: Vec::new(),
            kept_bytes: 0,
            hole: None,
        }
    }

    /// Returns the commits that were handed out, newest first.
    pub(crate) fn commits(&self) -> &[Commit] {
        &self.commits
    }

    /// Returns the commit that was forgotten and that the chain ends above, where one was met.
    pub(crate) const fn hole(&self) -> Option<CommitId> {
        self.hole
    }

    /// Returns the counts of the commit whose native content a number stands for, where `bytes` is all of it and
    /// ends with a line: counts add up line by line, so nothing of it needs to be read again.
    pub(crate) fn counts_of(&self, number: usize, bytes: &[u8]) -> Option<Counts> {
        let position = number / 2;
        let commit = self.commits.get(position).filter(|_| number == segment_number(position, false))?;
        let is_whole = commit.native_bytes == u64::try_from(bytes.len()).expect("a length fits 64 bits");
        (is_whole && bytes.ends_with(b"\n")).then_some(commit.counts)
    }

    /// Returns the id, and the bytes where they are still in memory, of a numbered content
    /// (`adapter::segment_number`).
    pub(crate) fn content(&self, number: usize) -> (ArtifactId, Option<&[u8]>) {
        match self.known.get(number) {
            Some(known) => (known.id, known.bytes.as_ref().map(|bytes| bytes.as_slice())),
            None => (stemmata_model::artifact_id(b""), None),
        }
    }

    /// Returns the bytes of a numbered content, read again where they were not kept.
    pub(crate) fn load(&self, number: usize) -> Result<Option<Arc<Vec<u8>>>> {
        match self.known.get(number) {
            None => Ok(None),
            Some(Known { bytes: Some(bytes), .. }) => Ok(Some(Arc::clone(bytes))),
            Some(Known { id, bytes: None }) => Ok(Some(Arc::new(read_whole(self.engine, *id)?))),
        }
    }

    fn keep(&mut self, id: ArtifactId, bytes: &[u8]) {
        let length = u64::try_from(bytes.len()).expect("a length fits 64 bits");
        let fits = self.kept_bytes.saturating_add(length) <= KEPT_BYTES_MAX;
        if fits {
            self.kept_bytes += length;
        }
        self.known.push(Known { id, bytes: fits.then(|| Arc::new(bytes.to_vec())) });
    }

    fn advance(&mut self) -> Result<Option<Segment>> {
        if self.hole.is_some() {
            return Ok(None);
        }
        let Some(commit) = self.walk.next()? else {
            return Ok(None);
        };
        if commit.closure == Closure::Forgotten {
            self.hole = Some(commit.id);
            return Ok(None);
        }
        let native_id = commit.core.native_artifact();
        let native = read_sized(self.engine, native_id, commit.native_bytes)?;
        self.keep(native_id, &native);
        let prefix = match commit.core.commit_type {
            CommitType::Delta => None,
            CommitType::Compaction | CommitType::Snapshot { .. } if commit.core.native.is_none() => {
                Some(native.clone())
            }
            CommitType::Compaction | CommitType::Snapshot { .. } => {
                Some(read_whole(self.engine, commit.core.artifact)?)
            }
        };
        self.keep(commit.core.artifact, prefix.as_deref().unwrap_or_default());
        let segment = Segment {
            commit_type: commit.core.commit_type,
            native,
            prefix,
            is_stop: self.stop == Some(commit.id),
        };
        self.commits.push(commit);
        Ok(Some(segment))
    }
}

impl Segments for ChainSegments<'_> {
    fn next(&mut self) -> Result<Option<Segment>, SourceError> {
        self.advance().map_err(|error| Box::new(error) as SourceError)
    }
}

/// Reads a content that a planner needs in one piece.
pub(crate) fn read_whole(engine: &Engine, id: ArtifactId) -> Result<Vec<u8>> {
    read_sized(engine, id, engine.store.content_length(id)?.unwrap_or(0))
}

/// Reads a content whose length is known already, which saves looking it up.
fn read_sized(engine: &Engine, id: ArtifactId, length: u64) -> Result<Vec<u8>> {
    if length > SEGMENT_BYTES_MAX {
        let bound = stemmata_store::StoreError::Bound {
            what: "a commit's content in bytes",
            value: length,
            bound: SEGMENT_BYTES_MAX,
        };
        return Err(EngineError::Store(bound));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
    engine.store.read_content(id, None, &mut |piece: &[u8]| -> io::Result<()> {
        bytes.extend_from_slice(piece);
        Ok(())
    })?;
    Ok(bytes)
}
