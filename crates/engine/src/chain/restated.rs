//! What a commit says again, so that search, state and recall count it once.

use stemmata_model::{Closure, Commit, CommitType};

use crate::engine::Engine;
use crate::error::Result;

impl Engine {
    /// Returns how many leading entries of a commit were said before, as far as anybody may search for them there. Of a translation
    /// that is all: it stands for a chain in another format, for a client to go on with.
    pub(crate) fn said_before(&self, commit: &Commit) -> Result<usize> {
        let restated = match commit.core.commit_type {
            CommitType::Snapshot { .. } if self.is_translation(commit)? => commit.counts.entries,
            of_type => of_type.restated(),
        };
        Ok(usize::try_from(restated).unwrap_or(usize::MAX))
    }

    /// Says whether a commit is a snapshot of what its parent's chain says in another format, and that can still be read there.
    fn is_translation(&self, commit: &Commit) -> Result<bool> {
        let parent = commit.core.parent.map(|parent| self.store.commit(parent)).transpose()?.flatten();
        Ok(parent.is_some_and(|parent| {
            parent.core.format != commit.core.format && parent.closure != Closure::Forgotten
        }))
    }
}
