//! The seam of names over the database.

use stemmata_model::{ArtifactId, ArtifactPrefix, CommitId, CommitPrefix, SessionId};

use super::{SqliteStore, marks};
use crate::error::StoreError;
use crate::seam::{IdPart, Names};
use crate::write::{Link, Session};

impl Names for SqliteStore {
    fn session_ids(&self, part: IdPart<'_>, limit: usize) -> Result<Vec<(SessionId, u64)>, StoreError> {
        self.read(|reader| reader.session_ids(part, limit))
    }

    fn commits_in(&self, prefix: CommitPrefix, limit: usize) -> Result<Vec<CommitId>, StoreError> {
        self.read(|reader| reader.commits_in(prefix, limit))
    }

    fn artifacts_in(&self, prefix: ArtifactPrefix, limit: usize) -> Result<Vec<ArtifactId>, StoreError> {
        self.read(|reader| reader.artifacts_in(prefix, limit))
    }

    fn tombstones_in(&self, prefix: CommitPrefix, limit: usize) -> Result<Vec<CommitId>, StoreError> {
        self.read(|reader| marks::tombstones_in(reader.connection(), prefix, limit))
    }

    fn sessions_of(&self, id: &SessionId, limit: usize) -> Result<Vec<Session>, StoreError> {
        self.read(|reader| reader.sessions_of(id, limit))
    }

    fn unused_sessions(&self, limit: usize) -> Result<Vec<Session>, StoreError> {
        self.read(|reader| reader.unused_sessions(limit))
    }

    fn copies(&self, limit: usize) -> Result<Vec<Link>, StoreError> {
        self.read(|reader| reader.copies(limit))
    }

    fn tags(&self, beginning: &str, limit: usize) -> Result<Vec<(String, CommitId)>, StoreError> {
        self.read(|reader| reader.tags(beginning, limit))
    }
}
