//! What stands for everything before a compaction that a client made: the boundary, the summary and the records that it
//! preserves, composed of what is stored.

use stemmata_model::{ArtifactId, CommitId, Note, artifact_id, to_u64};
use stemmata_runtimes::adapter::Adapter;
use stemmata_store::{ContentPart, NewContent, Write};

use crate::capture::ingest::source_error;
use crate::chain::segments::ChainSegments;
use crate::engine::Engine;
use crate::error::{EngineError, Refusal, Result};

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
        let length = to_u64(bytes.len());
        Ok(CompactionArtifact { artifact: (id, length), bytes, composed, notes: plan.notes })
    }
}

fn slice(whole: &[u8], offset: u64, length: u64) -> Option<&[u8]> {
    let start = usize::try_from(offset).ok()?;
    let end = start.checked_add(usize::try_from(length).ok()?)?;
    whole.get(start..end)
}
