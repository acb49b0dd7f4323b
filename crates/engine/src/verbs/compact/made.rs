//! A compaction that was made and is not stored yet, and its commit: on a branch, or in a session of ours.
//!
//! What it says and keeps is decided in `make`.

use stemmata_model::{
    ArtifactId, Bytes, Closure, Commit, CommitCore, CommitId, CommitType, Counts, Entry, FormatId, Note,
    Reasons, RulesHash, SessionId, Timestamp, Trigger,
};
use stemmata_store::{NewCommit, Session, StoreError, Write};

use super::{CompactWanted, Compacted};
use crate::engine::Engine;
use crate::error::{FormatUse, Result};
use crate::verbs::checkpoint::{CheckpointContent, CheckpointRequest, Held, Spot};

/// A compaction that is not stored yet.
pub(crate) struct MadeCompaction {
    pub(crate) artifact: ArtifactId,
    /// The compaction's own lines, where the artifact holds more than these.
    pub(crate) native: Option<ArtifactId>,
    /// What stores both.
    pub(crate) contents: Vec<Write>,
    /// The compaction's own lines.
    pub(crate) bytes: Vec<u8>,
    pub(crate) created_at: Timestamp,
    pub(crate) rules: RulesHash,
    pub(crate) tokens_before: u64,
    pub(crate) tokens_after: u64,
    pub(crate) with: &'static str,
    /// Whether a model was asked for the summary. The rules wrote it all the same if the model failed.
    pub(crate) is_model_asked: bool,
    pub(crate) reasons: Reasons,
    pub(super) counts: Counts,
    /// The context after it.
    pub(super) after: Vec<u8>,
    pub(super) format: FormatId,
    pub(super) kept_entries: u64,
    pub(crate) notes: Vec<Note>,
}

impl MadeCompaction {
    pub(crate) fn into_compacted(self, id: CommitId, parent: &Commit, moved: Option<SessionId>) -> Compacted {
        Compacted {
            id,
            parent: parent.id,
            moved,
            tokens_before: self.tokens_before,
            tokens_after: self.tokens_after,
            after: self.after,
            format: self.format,
            bytes: Bytes::of(&self.bytes),
            with: self.with,
            kept_entries: self.kept_entries,
            notes: self.notes,
        }
    }

    /// Returns what a commit of it holds; `first` is written before.
    pub(crate) fn held(&self, first: Option<Write>) -> Held {
        let contents = first.into_iter().chain(self.contents.iter().cloned()).collect();
        Held {
            artifact: self.artifact,
            native: self.native,
            contents,
            bytes: self.bytes.clone(),
            ahead: None,
        }
    }

    /// Returns the commit of it on a branch below its parent.
    pub(super) fn core(&self, parent: &Commit) -> CommitCore {
        CommitCore {
            parent: Some(parent.id),
            commit_type: CommitType::Compaction,
            artifact: self.artifact,
            native: self.native,
            format: self.format.clone(),
            template: parent.core.template.clone(),
            created_at: self.created_at,
        }
    }

    /// Returns the entries of the context after it.
    pub(super) fn entries_after(&self) -> Result<Vec<Entry>> {
        Ok(Engine::adapter(&self.format, FormatUse::Read)?.decode(&self.after).entries)
    }

    /// Asks for the commit of it in a session.
    pub(crate) fn request(&self, parent: &Commit, session: SessionId) -> CheckpointRequest {
        let template = parent.core.template.clone();
        CheckpointRequest {
            parent: Some(parent.id),
            commit_type: CommitType::Compaction,
            content: CheckpointContent::Stored(self.artifact),
            trigger: Trigger::Compaction,
            reasons: self.reasons,
            tokens: Some(self.counts.tokens),
            created_at: Some(self.created_at),
            ..CheckpointRequest::delta(Vec::new(), self.format.clone(), template, session)
        }
    }
}

impl Engine {
    /// Stores a compaction on a branch below its parent.
    pub(super) fn put_compaction(
        &self,
        parent: &Commit,
        made: &MadeCompaction,
        session: Option<&SessionId>,
    ) -> Result<CommitId> {
        let core = made.core(parent);
        let id = core.id();
        let mut batch = made.contents.clone();
        let (rules, counts) = (made.rules, made.counts);
        batch.push(Write::Commit(NewCommit { core, rules, closure: Closure::Closed, counts }));
        batch.push(self.own_sighting(id, parent.id, session)?);
        self.commit_batch(batch)?;
        Ok(id)
    }

    /// Compacts a session of ours whose turns are in no ledger that is known: it moves, and there is nobody to tell.
    pub(super) fn compact_unrecorded(
        &self,
        ctx: CommitId,
        session: Session,
        wanted: &CompactWanted<'_>,
    ) -> Result<Compacted> {
        let parent = self.store.commit(ctx)?.ok_or(StoreError::CommitMissing(ctx))?;
        let made = self.made_compaction(&parent, wanted)?;
        let (scrubber, _) = self.compaction_scrubber(ctx, wanted)?;
        let spot = Spot {
            parent: Some(&parent),
            key: &session.key,
            cwd: session.cwd.clone(),
            scrubber: &scrubber,
            closure: Closure::Closed,
            granularity: None,
        };
        let mut request = made.request(&parent, session.session.clone());
        request.machine = Some(session.key.machine.clone());
        let first = self.store.sightings(ctx, 1)?.into_iter().next();
        (request.ticket, request.thread) = first.map_or((None, None), |first| (first.ticket, first.thread));
        let (done, _) = self.commit_held(&request, made.held(None), spot, |_, _| {})?;
        Ok(made.into_compacted(done.id, &parent, Some(session.session)))
    }
}
