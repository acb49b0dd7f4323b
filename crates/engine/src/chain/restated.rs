//! What a commit says again, so that everything counts it once.

use stemmata_model::{Closure, Commit, CommitType, Entry};

use crate::chain::path::own_entries_at;
use crate::engine::Engine;
use crate::error::{FormatUse, Result};

impl Engine {
    /// Returns how many of a commit's first entries say what commits below it hold. Of a translation that is all.
    pub(crate) fn said_before(&self, commit: &Commit) -> Result<usize> {
        Ok(usize::try_from(self.restated(commit)?).unwrap_or(usize::MAX))
    }

    /// As [`Engine::said_before`].
    pub(crate) fn restated(&self, commit: &Commit) -> Result<u64> {
        let is_translation = self.is_translation(commit)?;
        Ok(if is_translation { commit.counts.entries } else { commit.core.commit_type.restated() })
    }

    /// Counts the entries that a commit adds to its chain.
    pub(crate) fn own_count(&self, commit: &Commit) -> Result<u64> {
        Ok(commit.counts.entries.saturating_sub(self.restated(commit)?))
    }

    /// Returns the entries that a commit adds to its chain: neither what a snapshot restates, nor what a compaction of ours keeps
    /// of what was before.
    pub(crate) fn own_entries(&self, commit: &Commit, bytes: &[u8]) -> Result<Vec<Entry>> {
        Ok(own_entries_at(commit, self.said_before(commit)?, bytes)?.0)
    }

    /// Says whether a commit is a translation that we made: a snapshot of what its parent's chain says, at the same moment and in
    /// another format, where the chain can still be read.
    pub(crate) fn is_translation(&self, commit: &Commit) -> Result<bool> {
        if commit.core.commit_type != (CommitType::Snapshot { restated_entries: 0 }) {
            return Ok(false);
        }
        let parent = commit.core.parent.map(|parent| self.store.commit(parent)).transpose()?.flatten();
        Ok(parent.is_some_and(|Commit { core, closure, .. }| {
            core.format != commit.core.format
                && core.created_at == commit.core.created_at
                && closure != Closure::Forgotten
                && Self::adapter(&core.format, FormatUse::Read).is_ok()
        }))
    }
}
