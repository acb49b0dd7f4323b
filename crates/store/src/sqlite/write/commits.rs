//! Storing commits and holes, closing, covering and filling them, and their anchors.
//!
//! Where they were seen is in `places`.

use rusqlite::params;
use stemmata_model::{ArtifactId, Closure, CommitId, Counts, Timestamp};

use super::Transaction;
use crate::error::StoreError;
use crate::rules::closure::{self, Again, Past};
use crate::rules::figures::Figures;
use crate::rules::rows::Kind;
use crate::rules::state::{self, STATE_CLOSED, STATE_COVERED, STATE_FORGOTTEN, STATE_PROVISIONAL};
use crate::sqlite::failure::During;
use crate::sqlite::marks::{self, CONDEMNED_COMMIT, TOMBSTONE};
use crate::sqlite::read::commits::{childless, key_of, load_commit};
use crate::sqlite::read::contents;
use crate::sqlite::statements::{columns, one};
use crate::sqlite::stored;
use crate::write::{NewCommit, NewHole};

const STORING: &str = "storing a commit";
const ANCHORING: &str = "keeping a commit's anchors";

/// What later writes need of a commit; none of it ever changes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known {
    pub(super) row: i64,
    pub(super) created_at: i64,
    depth: u64,
    cumulative_bytes: u64,
}

impl Transaction<'_> {
    pub(super) fn store_commit(&mut self, id: CommitId, new: &NewCommit) -> Result<(), StoreError> {
        if self.marks()?.tombstones && marks::is_tombstoned(self.connection, id)? {
            return Err(StoreError::Forgotten(id));
        }
        if let Some(known) = self.find_commit(id)? {
            return self.store_again(id, known, new);
        }
        self.add_commit(id, new, &|transaction, content| transaction.need_content(content))
    }

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

    fn is_hole(&self, known: Known) -> Result<bool, StoreError> {
        self.connection.during("looking up a commit").only(
            "SELECT state & 3 = ?2 FROM commits WHERE row = ?1",
            [known.row, STATE_FORGOTTEN],
            one,
        )
    }

    /// Leaves a tombstone of a commit that holds a forgotten one, to be lifted with that one's.
    fn forget_with(&mut self, id: CommitId, holds: Option<CommitId>) -> Result<(), StoreError> {
        let Some(held) = holds else { return Ok(()) };
        let Some((at, by)) = marks::of(self.connection, (TOMBSTONE, &held.to_bytes()))? else {
            return Ok(());
        };
        marks::set(self.connection, (TOMBSTONE, &id.to_bytes()), at, by.as_deref()).map(drop)
    }

    /// Adds a commit that is not here, with the contents that `content` returns; what it continues is a tip no more.
    pub(super) fn add_commit(
        &mut self,
        id: CommitId,
        new: &NewCommit,
        content: &dyn Fn(&mut Self, ArtifactId) -> Result<contents::Known, StoreError>,
    ) -> Result<(), StoreError> {
        let core = &new.core;
        let parent = match core.parent {
            Some(parent) => {
                Some(self.find_commit(parent)?.ok_or(StoreError::ParentMissing { commit: id, parent })?)
            }
            None => None,
        };
        let past = parent.map(|parent| Past::after(parent.depth, parent.cumulative_bytes)).transpose()?;
        let past = past.unwrap_or_default();
        let artifact = content(self, core.artifact)?;
        let native = core.native.map(|native| content(self, native)).transpose()?;
        let native_bytes = native.unwrap_or(artifact).length;
        let figures = Figures {
            native_bytes,
            cumulative_bytes: past.bytes.saturating_add(native_bytes),
            depth: past.commits,
            counts: new.counts,
            restated_entries: state::restated_entries(core.commit_type),
        };
        let kind = Kind { format: core.format.clone(), template: core.template.clone(), rules: new.rules };
        let kind = self.memory.kinds.row_of(self.connection, &kind)?;
        let created_at = core.created_at.as_micros();
        let values = params![
            id.to_bytes(),
            parent.map(|parent| parent.row),
            kind,
            state::encode(core.commit_type, new.closure),
            closure::is_live(new.closure),
            artifact.row,
            native.map(|native| native.row),
            created_at,
            figures.encode(),
        ];
        let sql = "INSERT INTO commits (id, parent, kind, state, tip, artifact, native, created_at, figures) \
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
        let row = self.connection.during(STORING).insert(sql, values)?;
        if let Some(parent) = parent {
            self.connection
                .during(STORING)
                .run("UPDATE commits SET tip = 0 WHERE row = ?1 AND tip = 1", [parent.row])?;
        }
        let Figures { depth, cumulative_bytes, .. } = figures;
        self.memory.commits.put(id, Known { row, created_at, depth, cumulative_bytes });
        self.first_new.get_or_insert(row);
        self.outcome.new_commits += 1;
        Ok(())
    }

    /// Returns what is known of a commit that has to be there.
    pub(super) fn need_commit(&mut self, id: CommitId) -> Result<Known, StoreError> {
        self.find_commit(id)?.ok_or(StoreError::CommitMissing(id))
    }

    pub(super) fn cover(&mut self, id: CommitId) -> Result<(), StoreError> {
        let known = self.need_commit(id)?;
        self.connection.during("covering a commit").run(
            "UPDATE commits SET state = (state & ~3) | ?2, tip = 0 WHERE row = ?1 AND state & 3 = ?3",
            [known.row, STATE_COVERED, STATE_PROVISIONAL],
        )?;
        Ok(())
    }

    /// Sets the counts of a commit.
    pub(super) fn count(&mut self, id: CommitId, counts: Counts) -> Result<(), StoreError> {
        let known = self.need_commit(id)?;
        let figures: Vec<u8> = self.connection.during("reading the figures of a commit").only(
            "SELECT figures FROM commits WHERE row = ?1",
            [known.row],
            one,
        )?;
        let figures = Figures { counts, ..Figures::decode(&figures, known.row)? };
        self.connection
            .during("counting a commit")
            .run("UPDATE commits SET figures = ?2 WHERE row = ?1", params![known.row, figures.encode()])?;
        Ok(())
    }

    /// Keeps hashes by which copies of a chain are found. What is hashed is the engine's.
    pub(super) fn anchor(&mut self, commit: CommitId, hashes: &[u64]) -> Result<(), StoreError> {
        let row = self.need_commit(commit)?.row;
        for hash in hashes {
            // What a covered commit held is held by those that cover it: it would only be looked at in vain.
            let sql = "DELETE FROM anchor WHERE hash = ?1 AND EXISTS \
                       (SELECT 1 FROM commits c WHERE c.row = anchor.commit_row AND c.state & 3 = 2)";
            self.connection.during(ANCHORING).run(sql, [hash.cast_signed()])?;
            self.connection.during(ANCHORING).run(
                "INSERT OR IGNORE INTO anchor (hash, commit_row) VALUES (?1, ?2)",
                params![hash.cast_signed(), row],
            )?;
        }
        Ok(())
    }

    fn store_again(&mut self, id: CommitId, known: Known, new: &NewCommit) -> Result<(), StoreError> {
        let stored =
            load_commit(self.connection, &mut self.memory.kinds, id)?.ok_or(StoreError::CommitMissing(id))?;
        match closure::store_again(&stored, new)? {
            Again::Keep => return Ok(()),
            Again::Close => {
                let sql = "UPDATE commits SET state = (state & ~3) | ?2 WHERE row = ?1";
                self.connection.during("closing a commit").run(sql, [known.row, STATE_CLOSED])?;
            }
            Again::Fill => {
                for content in std::iter::once(new.core.artifact).chain(new.core.native) {
                    self.need_content(content)?;
                }
                let sql = concat!(
                    "UPDATE commits AS c SET state = ?2, tip = ?2 & 3 < 2 AND ",
                    childless!(),
                    " WHERE row = ?1"
                );
                let state = state::encode(new.core.commit_type, new.closure);
                self.connection.during("filling a hole").run(sql, [known.row, state])?;
                // The order of storing has passed it.
                stored::set_due(self.connection, Some(known.row), Timestamp::EPOCH)?;
                self.memory.commits.put(id, known);
            }
        }
        Ok(())
    }

    pub(super) fn find_commit(&mut self, id: CommitId) -> Result<Option<Known>, StoreError> {
        if let Some(known) = self.memory.commits.get(&id) {
            return Ok(Some(*known));
        }
        let found: Option<(i64, i64, Vec<u8>)> = self.connection.during("looking up a commit").first(
            "SELECT row, created_at, figures FROM commits WHERE substr(id, 1, 8) = ?1 AND id = ?2",
            params![key_of(id), id.to_bytes()],
            columns,
        )?;
        let Some((row, created_at, figures)) = found else {
            return Ok(None);
        };
        let figures = Figures::decode(&figures, row)?;
        if self.marks()?.condemned {
            marks::remove(self.connection, CONDEMNED_COMMIT, &id.to_bytes())?;
        }
        let known =
            Known { row, created_at, depth: figures.depth, cumulative_bytes: figures.cumulative_bytes };
        self.memory.commits.put(id, known);
        Ok(Some(known))
    }

    fn need_content(&mut self, id: ArtifactId) -> Result<contents::Known, StoreError> {
        let known = self.find_content(id)?.ok_or(StoreError::ContentMissing(id))?;
        if known.is_forgotten { Err(StoreError::ContentForgotten(id)) } else { Ok(known) }
    }
}
