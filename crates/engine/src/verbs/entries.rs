//! `entries`: what one commit holds, as entries.

use stemmata_model::{CommitId, Entry};

use crate::chain::segments::read_whole;
use crate::engine::Engine;
use crate::error::{FormatUse, Result};

impl Engine {
    /// Returns a commit's own entries, in the order of its bytes.
    ///
    /// # Errors
    /// `CommitMissing`, `Format` for a format that cannot be read, store errors.
    pub fn entries(&self, id: CommitId) -> Result<Vec<Entry>> {
        let commit = self.store.commit(id)?.ok_or(stemmata_store::StoreError::CommitMissing(id))?;
        if commit.closure == stemmata_model::Closure::Forgotten {
            return Err(stemmata_store::StoreError::Forgotten(id).into());
        }
        let bytes = read_whole(self, commit.core.native_artifact())?;
        Ok(Self::adapter(&commit.core.format, FormatUse::Read)?.decode(&bytes).entries)
    }
}
