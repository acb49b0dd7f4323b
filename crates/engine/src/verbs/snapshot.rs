//! `snapshot`: a full context as one commit: an operator's optimization point on a deep chain.

use stemmata_model::{Closure, CommitCore, CommitId, CommitType, Counts, RulesHash, artifact_id};
use stemmata_store::{ContentPart, NewCommit, NewContent, PART_BYTES_MAX, StoreError, Write};

use crate::engine::Engine;
use crate::error::Result;
use crate::verbs::materialize::Stop;

impl Engine {
    /// Stores the context of a commit as one artifact in a snapshot commit below it. It restates all of its
    /// entries, so a materialization to the root skips them. Never made silently.
    ///
    /// # Errors
    /// As `materialize`, and store errors.
    pub fn snapshot(&self, ctx: CommitId, stop: Stop) -> Result<CommitId> {
        let commit = self.store.commit(ctx)?.ok_or(StoreError::CommitMissing(ctx))?;
        let mut bytes = Vec::new();
        let made = self.materialize(Some(ctx), None, stop, &mut bytes)?;
        let core = CommitCore {
            parent: Some(ctx),
            commit_type: CommitType::Snapshot { restated_entries: made.counts.entries },
            artifact: artifact_id(&bytes),
            native: None,
            format: commit.core.format,
            template: commit.core.template,
            created_at: commit.core.created_at,
        };
        self.put_snapshot(core, (commit.rules, made.counts), &bytes)
    }

    /// Stores a snapshot commit with its content.
    pub(crate) fn put_snapshot(
        &self,
        core: CommitCore,
        (rules, counts): (RulesHash, Counts),
        bytes: &[u8],
    ) -> Result<CommitId> {
        let id = core.id();
        let own = core.parent.unwrap_or(id);
        let mut batch = contents(core.artifact, bytes);
        batch.push(Write::Commit(NewCommit { core, rules, closure: Closure::Closed, counts }));
        batch.push(self.own_sighting(id, own, None)?);
        self.commit_batch(batch)?;
        Ok(id)
    }
}

/// Returns the writes that store bytes of any length as one content.
pub(crate) fn contents(artifact: stemmata_model::ArtifactId, bytes: &[u8]) -> Vec<Write> {
    if bytes.len() <= PART_BYTES_MAX {
        return vec![Write::Content(NewContent::literal(bytes.to_vec()))];
    }
    let parts = bytes.chunks(PART_BYTES_MAX).map(|part| ContentPart::Bytes(part.to_vec())).collect();
    vec![Write::Content(NewContent::composed(artifact, parts))]
}
