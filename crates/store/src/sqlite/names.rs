//! The seam of names over the database.

use stemmata_model::{CommitId, SessionId};

use super::SqliteStore;
use crate::error::StoreError;
use crate::names::{IdPart, Names};
use crate::write::{Link, Session};

impl Names for SqliteStore {
    fn session_ids(&self, part: IdPart<'_>, limit: usize) -> Result<Vec<(SessionId, u64)>, StoreError> {
        self.read(|reader| reader.session_ids(part, limit))
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
