//! Names, which never fail.

use stemmata_model::{ArtifactId, ArtifactPrefix, CommitId, CommitPrefix, SessionId};
use stemmata_store::{IdPart, Link, Names, Session, Store, StoreError};

use super::FaultyStore;

impl<S: Store> Names for FaultyStore<S> {
    fn session_ids(&self, part: IdPart<'_>, limit: usize) -> Result<Vec<(SessionId, u64)>, StoreError> {
        self.inner.session_ids(part, limit)
    }

    fn commits_in(&self, prefix: CommitPrefix, limit: usize) -> Result<Vec<CommitId>, StoreError> {
        self.inner.commits_in(prefix, limit)
    }

    fn artifacts_in(&self, prefix: ArtifactPrefix, limit: usize) -> Result<Vec<ArtifactId>, StoreError> {
        self.inner.artifacts_in(prefix, limit)
    }

    fn tombstones_in(&self, prefix: CommitPrefix, limit: usize) -> Result<Vec<CommitId>, StoreError> {
        self.inner.tombstones_in(prefix, limit)
    }

    fn sessions_of(&self, id: &SessionId, limit: usize) -> Result<Vec<Session>, StoreError> {
        self.inner.sessions_of(id, limit)
    }

    fn unused_sessions(&self, limit: usize) -> Result<Vec<Session>, StoreError> {
        self.inner.unused_sessions(limit)
    }

    fn copies(&self, limit: usize) -> Result<Vec<Link>, StoreError> {
        self.inner.copies(limit)
    }

    fn tags(&self, beginning: &str, limit: usize) -> Result<Vec<(String, CommitId)>, StoreError> {
        self.inner.tags(beginning, limit)
    }
}
