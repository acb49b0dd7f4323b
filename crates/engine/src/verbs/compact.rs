//! `compact` and `uncompact`: a summary that stands for a chain, and the way back.

use stemmata_model::{
    Bytes, Closure, CommitCore, CommitId, CommitType, Counts, Estimate, FormatId, RulesHash, TokenCounter,
    artifact_id,
};
use stemmata_runtimes::adapter::Keeps;
use stemmata_store::{NewCommit, StoreError, Write};

use crate::chain::segments::read_whole;
use crate::chain::walk::Walk;
use crate::engine::Engine;
use crate::error::{Absent, EngineError, FormatUse, Refusal, Result};
use crate::verbs::count::count;
use crate::verbs::materialize::Stop;
use crate::verbs::snapshot::contents;

/// A compaction that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compacted {
    /// The compaction commit.
    pub id: CommitId,
    /// Estimated tokens of the context before.
    pub tokens_before: u64,
    /// Estimated tokens of the context after.
    pub tokens_after: u64,
    /// The format of both.
    pub format: FormatId,
    /// Bytes of the summary record.
    pub bytes: Bytes,
}

impl Engine {
    /// Puts a summary in the place of everything before it, on a branch below `ctx`. Nothing is deleted.
    ///
    /// # Errors
    /// `Refused` for an empty summary, and for one that is not smaller than what it replaces.
    pub fn compact(&self, ctx: CommitId, summary: &str) -> Result<Compacted> {
        let scrubber = self.scrubber_of(ctx)?;
        let summary = scrubber.scrub_text(summary)?.text.into_owned();
        if summary.trim().is_empty() {
            return Err(refused(Refusal::EmptySummary, "the summary is empty".to_owned()));
        }
        let commit = self.store.commit(ctx)?.ok_or(StoreError::CommitMissing(ctx))?;
        let adapter = Self::adapter(&commit.core.format, FormatUse::Compact)?;
        let before = self.materialize(Some(ctx), None, Stop::Compaction, &mut std::io::sink())?;
        let tokens_after = Estimate.count(&summary).0;
        if tokens_after >= before.counts.tokens {
            let reason = format!(
                "the summary has about {tokens_after} tokens, and what it replaces has about {}",
                before.counts.tokens
            );
            return Err(refused(Refusal::LongSummary, reason));
        }
        let created_at = self.clock.now().max(commit.core.created_at);
        let last = self.last_entries(ctx)?;
        let record = adapter.encode_compaction(&summary, &Keeps::nothing(&last), created_at);
        let artifact = artifact_id(&record);
        let core = CommitCore {
            parent: Some(ctx),
            commit_type: CommitType::Compaction,
            artifact,
            native: None,
            format: commit.core.format.clone(),
            template: commit.core.template.clone(),
            created_at,
        };
        let id = core.id();
        let counts = Counts { tokens: tokens_after, ..count(adapter, &record, &mut Vec::new()).counts };
        let mut batch = contents(artifact, &record);
        batch.push(Write::Commit(NewCommit {
            core,
            rules: RulesHash(scrubber.rules_hash()),
            closure: Closure::Closed,
            counts,
        }));
        batch.push(self.own_sighting(id, ctx)?);
        self.commit_batch(batch)?;
        Ok(Compacted {
            id,
            tokens_before: before.counts.tokens,
            tokens_after,
            format: commit.core.format,
            bytes: Bytes::of(&record),
        })
    }

    /// Returns the entries of the newest commit that has some, for what follows them.
    fn last_entries(&self, ctx: CommitId) -> Result<stemmata_runtimes::adapter::Decoded> {
        let mut walk = Walk::new(self.store.as_ref(), Some(ctx));
        while let Some(commit) = walk.next()? {
            let bytes = read_whole(self, commit.core.native_artifact())?;
            let decoded = Self::adapter(&commit.core.format, FormatUse::Read)?.decode(&bytes);
            if decoded.entries.iter().any(|entry| entry.meta.visibility.agent) {
                return Ok(decoded);
            }
        }
        Ok(stemmata_runtimes::adapter::Decoded::default())
    }

    /// Finds the nearest compaction at or above `ctx` and returns it with the commit just before it.
    ///
    /// # Errors
    /// `NotFound` when nothing on the way to the root is a compaction.
    pub fn before_compaction(&self, ctx: CommitId) -> Result<(CommitId, CommitId)> {
        let mut walk = Walk::new(self.store.as_ref(), Some(ctx));
        while let Some(commit) = walk.next()? {
            if let (CommitType::Compaction, Some(parent)) = (commit.core.commit_type, commit.core.parent) {
                return Ok((commit.id, parent));
            }
        }
        Err(EngineError::NothingThere { what: Absent::Compaction, place: ctx.to_string() })
    }
}

fn refused(what: Refusal, reason: String) -> EngineError {
    EngineError::Refused { what, reasons: vec![reason] }
}
