//! Storing holes: commits of which only the row is known.
//!
//! How a commit that is here becomes one is `forget`'s, and how one is filled again `commits`'.

use stemmata_model::{ArtifactId, Closure};

use super::Transaction;
use super::commits::Rows;
use crate::error::StoreError;
use crate::sqlite::figures::Figures;
use crate::sqlite::state;
use crate::write::{NewCommit, NewHole};

impl Transaction<'_> {
    /// Stores a commit without its contents, unless it is here.
    pub(super) fn store_hole(&mut self, hole: &NewHole) -> Result<(), StoreError> {
        let id = hole.core.id();
        // The id is the hash of all that a stored one could differ in.
        if self.find_commit(id)?.is_some() {
            return Ok(());
        }
        let parent = self.parent_of(id, &hole.core)?;
        let artifact = self.content_of_hole(hole.core.artifact, hole.artifact_bytes)?;
        let native =
            hole.core.native.map(|native| self.content_of_hole(native, hole.native_bytes)).transpose()?;
        let native_bytes = native.unwrap_or(artifact).length;
        let new = NewCommit {
            core: hole.core.clone(),
            rules: hole.rules,
            closure: Closure::Forgotten,
            counts: hole.counts,
        };
        let rows = Rows {
            parent: parent.map(|parent| parent.row),
            artifact: artifact.row,
            native: native.map(|native| native.row),
        };
        let (depth, before_bytes) = super::commits::beginning(parent);
        let figures = Figures {
            native_bytes,
            cumulative_bytes: before_bytes.saturating_add(native_bytes),
            depth,
            counts: hole.counts,
            restated_entries: state::restated_entries(hole.core.commit_type),
        };
        self.add_commit((id, &new), rows, figures, parent)
    }

    /// Returns a hole's content: what is here of it stays as it is.
    fn content_of_hole(&mut self, id: ArtifactId, length: u64) -> Result<super::contents::Known, StoreError> {
        match self.find_content(id)? {
            Some(known) => Ok(known),
            None => self.insert_forgotten(id, length),
        }
    }
}
