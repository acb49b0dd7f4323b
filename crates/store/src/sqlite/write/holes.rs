//! Storing holes: commits of which only the row is known.
//!
//! How a commit that is here becomes one is `forget`'s, and how one is filled again `commits`'.

use stemmata_model::{ArtifactId, Closure, CommitId};

use super::Transaction;
use super::commits::Rows;
use crate::error::StoreError;
use crate::sqlite::failure::During;
use crate::sqlite::figures::Figures;
use crate::sqlite::marks;
use crate::sqlite::state;
use crate::write::{NewCommit, NewHole};

impl Transaction<'_> {
    /// Stores a commit without its contents, unless it is here.
    pub(super) fn store_hole(&mut self, hole: &NewHole) -> Result<(), StoreError> {
        let id = hole.core.id();
        // The id is the hash of all that a stored one could differ in.
        if let Some(known) = self.find_commit(id)? {
            return if self.is_hole(known)? { self.forget_with(id, hole.holds) } else { Ok(()) };
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
        self.add_commit((id, &new), rows, figures, parent)?;
        self.forget_with(id, hole.holds)
    }

    fn is_hole(&self, known: super::commits::Known) -> Result<bool, StoreError> {
        self.connection
            .prepare_cached("SELECT state & 3 = ?2 FROM commits WHERE row = ?1")
            .and_then(|mut statement| {
                statement.query_row([known.row, state::STATE_FORGOTTEN], |row| row.get(0))
            })
            .during("looking up a commit")
    }

    /// Leaves a tombstone of a commit that holds a forgotten one, to be lifted with that one's.
    fn forget_with(&mut self, id: CommitId, holds: Option<CommitId>) -> Result<(), StoreError> {
        let Some(held) = holds else { return Ok(()) };
        let Some((at, by)) = marks::of(self.connection, (marks::TOMBSTONE, &held.to_bytes()))? else {
            return Ok(());
        };
        marks::set(self.connection, (marks::TOMBSTONE, &id.to_bytes()), at, by.as_deref()).map(drop)
    }

    /// Returns a hole's content: what is here of it stays as it is.
    fn content_of_hole(&mut self, id: ArtifactId, length: u64) -> Result<super::contents::Known, StoreError> {
        match self.find_content(id)? {
            Some(known) => Ok(known),
            None => self.insert_forgotten(id, length),
        }
    }
}
