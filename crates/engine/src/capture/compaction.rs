//! What stands for everything before a compaction that a client made: the boundary, the summary and the records that it
//! preserves, composed of what is stored.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use stemmata_model::{ArtifactId, Commit, CommitId, Note, artifact_id};
use stemmata_runtimes::adapter::Adapter;
use stemmata_store::{ContentPart, NewContent, Write};

use crate::capture::ingest::source_error;
use crate::chain::segments::{ChainSegments, read_whole};
use crate::engine::Engine;
use crate::error::{EngineError, FormatUse, Refusal, Result};

/// A compaction's artifact.
pub(crate) struct CompactionArtifact {
    /// Its id and length in bytes.
    pub artifact: (ArtifactId, u64),
    /// The artifact.
    pub bytes: Vec<u8>,
    /// What stores it; none where it is the compaction's own bytes.
    pub composed: Option<Write>,
    /// What the user should know.
    pub notes: Vec<Note>,
}

impl Engine {
    /// Builds a compaction's artifact from its own bytes and the chain before it, which is stored.
    pub(crate) fn compaction_artifact(
        &self,
        adapter: &dyn Adapter,
        parent: Option<CommitId>,
        (native_id, native): (ArtifactId, &[u8]),
    ) -> Result<CompactionArtifact> {
        let mut earlier = ChainSegments::new(self, parent, None);
        let plan = adapter.plan_compaction(native, &mut earlier).map_err(source_error)?;
        let mut bytes = Vec::new();
        let mut parts = Vec::new();
        for piece in &plan.pieces {
            // Number 0 is the compaction's own bytes; the chain behind it starts at 2.
            let loaded = match piece.segment.checked_sub(2) {
                None => None,
                Some(number) => Some((earlier.content(number).0, earlier.load(number)?.unwrap_or_default())),
            };
            let (of, whole) =
                loaded.as_ref().map_or((native_id, native), |(of, whole)| (*of, whole.as_slice()));
            let range = slice(whole, piece.offset, piece.length).ok_or_else(|| EngineError::Refused {
                what: Refusal::CapturedCompaction,
                reasons: vec!["it points outside its chain".to_owned()],
            })?;
            bytes.extend_from_slice(range);
            parts.push(ContentPart::Slice { of, offset: piece.offset, length: piece.length });
        }
        let id = artifact_id(&bytes);
        let composed = (id != native_id).then(|| Write::Content(NewContent::composed(id, parts)));
        let length = u64::try_from(bytes.len()).expect("a length fits 64 bits");
        Ok(CompactionArtifact { artifact: (id, length), bytes, composed, notes: plan.notes })
    }
}

/// A range of a content that is a range of another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Origin {
    /// Where it begins.
    pub at: u64,
    /// The content that it is of, as it was captured.
    pub of: ArtifactId,
    /// Where in that one it begins.
    pub from: u64,
    /// Its length in bytes.
    pub length: u64,
}

/// Compactions that restate records of each other and are followed at most.
const RESTATED_MAX: usize = 64;

impl Engine {
    /// Returns of which captured contents a compaction's artifact is made, from its beginning on.
    pub(crate) fn origins_of(&self, compaction: &Commit) -> Result<Vec<Origin>> {
        self.origins_below(compaction, RESTATED_MAX)
    }

    fn origins_below(&self, compaction: &Commit, depth: usize) -> Result<Vec<Origin>> {
        let Some(depth) = depth.checked_sub(1) else { return Ok(Vec::new()) };
        let adapter = Self::adapter(&compaction.core.format, FormatUse::Read)?;
        let native_id = compaction.core.native_artifact();
        let native = read_whole(self, native_id)?;
        let mut earlier = ChainSegments::new(self, compaction.core.parent, None);
        let plan = adapter.plan_compaction(&native, &mut earlier).map_err(source_error)?;
        let (mut origins, mut at) = (Vec::new(), 0);
        let mut known: HashMap<usize, Vec<Origin>> = HashMap::new();
        for piece in &plan.pieces {
            let number = piece.segment.checked_sub(2);
            let of = number.map_or(native_id, |number| earlier.content(number).0);
            let composed = number.filter(|number| number % 2 == 1).and_then(|number| {
                let commit = earlier.commits().get(number / 2)?;
                (commit.core.native.is_some()).then_some((number, commit))
            });
            match composed {
                None => origins.push(Origin { at, of, from: piece.offset, length: piece.length }),
                Some((number, commit)) => {
                    let inner = match known.entry(number) {
                        Entry::Occupied(inner) => inner.into_mut(),
                        Entry::Vacant(place) => place.insert(self.origins_below(commit, depth)?),
                    };
                    let parts = inner.iter();
                    origins.extend(parts.filter_map(|origin| origin.part(piece.offset, piece.length, at)));
                }
            }
            at += piece.length;
        }
        Ok(origins)
    }
}

impl Origin {
    /// Returns what of it stands in a range of its content, where that range begins at `at` of another content.
    pub(crate) fn part(&self, offset: u64, length: u64, at: u64) -> Option<Self> {
        let start = self.at.max(offset);
        let end = (self.at + self.length).min(offset.saturating_add(length));
        (start < end).then(|| Self {
            at: at + (start - offset),
            from: self.from + (start - self.at),
            length: end - start,
            ..*self
        })
    }
}

fn slice(whole: &[u8], offset: u64, length: u64) -> Option<&[u8]> {
    let start = usize::try_from(offset).ok()?;
    let end = start.checked_add(usize::try_from(length).ok()?)?;
    whole.get(start..end)
}
