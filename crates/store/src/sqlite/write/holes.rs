//! Storing holes: commits of which only the row is known.
//!
//! How a commit that is here becomes one is `forget`'s, and how one is filled again `commits`'.

use stemmata_model::{Closure, CommitId};

use super::Transaction;
use crate::error::StoreError;
use crate::rules::state;
use crate::sqlite::failure::During;
use crate::sqlite::marks;
use crate::sqlite::statements::one;
use crate::write::{NewCommit, NewHole};

impl Transaction<'_> {
    /// Stores a commit without its contents, unless it is here.
    pub(super) fn store_hole(&mut self, hole: &NewHole) -> Result<(), StoreError> {
        let id = hole.core.id();
        // The id is the hash of all that a stored one could differ in.
        if let Some(known) = self.find_commit(id)? {
            return if self.is_hole(known)? { self.forget_with(id, hole.holds) } else { Ok(()) };
        }
        let new = NewCommit {
            core: hole.core.clone(),
            rules: hole.rules,
            closure: Closure::Forgotten,
            counts: hole.counts,
        };
        self.add_commit(id, &new, &|transaction, content| {
            let is_artifact = content == hole.core.artifact;
            let length = if is_artifact { hole.artifact_bytes } else { hole.native_bytes };
            // What is here of it stays as it is.
            match transaction.find_content(content)? {
                Some(known) => Ok(known),
                None => transaction.insert_forgotten(content, length),
            }
        })?;
        self.forget_with(id, hole.holds)
    }

    fn is_hole(&self, known: super::commits::Known) -> Result<bool, StoreError> {
        self.connection.during("looking up a commit").only(
            "SELECT state & 3 = ?2 FROM commits WHERE row = ?1",
            [known.row, state::STATE_FORGOTTEN],
            one,
        )
    }

    /// Leaves a tombstone of a commit that holds a forgotten one, to be lifted with that one's.
    fn forget_with(&mut self, id: CommitId, holds: Option<CommitId>) -> Result<(), StoreError> {
        let Some(held) = holds else { return Ok(()) };
        let Some((at, by)) = marks::of(self.connection, (marks::TOMBSTONE, &held.to_bytes()))? else {
            return Ok(());
        };
        marks::set(self.connection, (marks::TOMBSTONE, &id.to_bytes()), at, by.as_deref()).map(drop)
    }
}
