//! What a commit says again, so that search, state and recall count it once.

use stemmata_model::{Closure, Commit, CommitType};

use crate::engine::Engine;
use crate::error::{FormatUse, Result};

impl Engine {
    /// Returns how many of a commit's first entries search, state and recall leave out, because commits below it hold them. Of a
    /// translation that is all. The overview and the numbers of prompts count it: they tell what its client was given.
    pub(crate) fn said_before(&self, commit: &Commit) -> Result<usize> {
        let restated = if self.is_translation(commit)? {
            commit.counts.entries
        } else {
            commit.core.commit_type.restated()
        };
        Ok(usize::try_from(restated).unwrap_or(usize::MAX))
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
