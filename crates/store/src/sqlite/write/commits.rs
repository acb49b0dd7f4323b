//! Storing commits, closing and covering them.
//!
//! Where they were seen is in `places`.

use rusqlite::{OptionalExtension, params};
use stemmata_model::{ArtifactId, Closure, CommitCore, CommitId, Counts, Timestamp};

use super::Transaction;
use crate::error::StoreError;
use crate::seam::DEPTH_MAX;
use crate::sqlite::failure::During;
use crate::sqlite::figures::Figures;
use crate::sqlite::kinds::Kind;
use crate::sqlite::marks::{self, CONDEMNED_COMMIT};
use crate::sqlite::read::commits::{key_of, load_commit};
use crate::sqlite::state::{self, STATE_CLOSED, STATE_COVERED, STATE_PROVISIONAL};
use crate::sqlite::stored;
use crate::write::NewCommit;

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
        let parent = self.parent_of(id, &new.core)?;
        let (depth, before_bytes) = beginning(parent);
        let artifact = self.need_content(new.core.artifact)?;
        let native = new.core.native.map(|native| self.need_content(native)).transpose()?;
        let native_bytes = native.unwrap_or(artifact).length;
        let rows = Rows {
            parent: parent.map(|parent| parent.row),
            artifact: artifact.row,
            native: native.map(|native| native.row),
        };
        let figures = Figures {
            native_bytes,
            cumulative_bytes: before_bytes.saturating_add(native_bytes),
            depth,
            counts: new.counts,
            restated_entries: state::restated_entries(new.core.commit_type),
        };
        self.add_commit((id, new), rows, figures, parent)
    }

    /// Returns what a commit that is not here continues.
    pub(super) fn parent_of(&mut self, id: CommitId, core: &CommitCore) -> Result<Option<Known>, StoreError> {
        let Some(parent) = core.parent else { return Ok(None) };
        let known = self.find_commit(parent)?.ok_or(StoreError::ParentMissing { commit: id, parent })?;
        if known.depth + 1 >= DEPTH_MAX {
            let value = known.depth + 2;
            return Err(StoreError::Bound { what: "commits of a chain", value, bound: DEPTH_MAX });
        }
        Ok(Some(known))
    }

    /// Adds the row of a commit; what it continues is a tip no more.
    pub(super) fn add_commit(
        &mut self,
        (id, new): (CommitId, &NewCommit),
        rows: Rows,
        figures: Figures,
        parent: Option<Known>,
    ) -> Result<(), StoreError> {
        let known = self.insert_commit(id, new, rows, figures)?;
        if let Some(parent) = parent {
            self.execute(
                "UPDATE commits SET tip = 0 WHERE row = ?1 AND tip = 1",
                [parent.row],
                "storing a commit",
            )?;
        }
        self.memory.commits.put(id, known);
        self.first_new.get_or_insert(known.row);
        self.outcome.new_commits += 1;
        Ok(())
    }

    /// Returns what is known of a commit that has to be there.
    pub(super) fn need_commit(&mut self, id: CommitId) -> Result<Known, StoreError> {
        self.find_commit(id)?.ok_or(StoreError::CommitMissing(id))
    }

    pub(super) fn cover(&mut self, id: CommitId) -> Result<(), StoreError> {
        let known = self.need_commit(id)?;
        self.execute(
            "UPDATE commits SET state = (state & ~3) | ?2, tip = 0 WHERE row = ?1 AND state & 3 = ?3",
            [known.row, STATE_COVERED, STATE_PROVISIONAL],
            "covering a commit",
        )?;
        Ok(())
    }

    /// Sets the counts of a commit.
    pub(super) fn count(&mut self, id: CommitId, counts: Counts) -> Result<(), StoreError> {
        let known = self.need_commit(id)?;
        let figures: Vec<u8> = self
            .connection
            .prepare_cached("SELECT figures FROM commits WHERE row = ?1")
            .and_then(|mut statement| statement.query_row([known.row], |row| row.get(0)))
            .during("reading the figures of a commit")?;
        let figures = Figures { counts, ..Figures::decode(&figures, known.row)? };
        self.execute(
            "UPDATE commits SET figures = ?2 WHERE row = ?1",
            params![known.row, figures.encode()],
            "counting a commit",
        )?;
        Ok(())
    }

    fn store_again(&mut self, id: CommitId, known: Known, new: &NewCommit) -> Result<(), StoreError> {
        let stored =
            load_commit(self.connection, &mut self.memory.kinds, id)?.ok_or(StoreError::CommitMissing(id))?;
        if stored.core != new.core {
            return Err(StoreError::Conflict(id));
        }
        if stored.closure == Closure::Forgotten {
            return self.fill(id, known, new);
        }
        if stored.closure == Closure::Provisional && new.closure == Closure::Closed {
            self.execute(
                "UPDATE commits SET state = (state & ~3) | ?2 WHERE row = ?1",
                [known.row, STATE_CLOSED],
                "closing a commit",
            )?;
        }
        Ok(())
    }

    /// Makes a commit of a hole again: somebody took the forgetting back, and its contents are there again.
    fn fill(&mut self, id: CommitId, known: Known, new: &NewCommit) -> Result<(), StoreError> {
        for content in std::iter::once(new.core.artifact).chain(new.core.native) {
            self.need_content(content)?;
        }
        let values = params![known.row, state::encode(new.core.commit_type, new.closure)];
        self.execute(
            "UPDATE commits SET state = ?2, tip = ?2 & 3 < 2 \
             AND NOT EXISTS (SELECT 1 FROM commits n WHERE n.row = ?1 + 1 AND n.parent = ?1) \
             AND NOT EXISTS (SELECT 1 FROM commits n WHERE n.parent = ?1 AND n.parent <> n.row - 1) \
             WHERE row = ?1",
            values,
            "filling a hole",
        )?;
        // The order of storing has passed it.
        stored::set_due(self.connection, std::iter::once(known.row), Timestamp::EPOCH)?;
        self.memory.commits.put(id, known);
        Ok(())
    }

    pub(super) fn find_commit(&mut self, id: CommitId) -> Result<Option<Known>, StoreError> {
        if let Some(known) = self.memory.commits.get(&id) {
            return Ok(Some(*known));
        }
        let found: Option<(i64, i64, Vec<u8>)> = self
            .connection
            .prepare_cached(
                "SELECT row, created_at, figures FROM commits WHERE substr(id, 1, 8) = ?1 AND id = ?2",
            )
            .and_then(|mut statement| {
                let take = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
                statement.query_row(params![key_of(id), id.to_bytes()], take).optional()
            })
            .during("looking up a commit")?;
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

    fn need_content(&mut self, id: ArtifactId) -> Result<super::contents::Known, StoreError> {
        let known = self.find_content(id)?.ok_or(StoreError::ContentMissing(id))?;
        if known.is_forgotten { Err(StoreError::ContentForgotten(id)) } else { Ok(known) }
    }

    fn insert_commit(
        &mut self,
        id: CommitId,
        new: &NewCommit,
        rows: Rows,
        figures: Figures,
    ) -> Result<Known, StoreError> {
        let kind =
            Kind { format: new.core.format.clone(), template: new.core.template.clone(), rules: new.rules };
        let kind = self.memory.kinds.row_of(self.connection, &kind)?;
        let created_at = new.core.created_at.as_micros();
        let tip = !matches!(new.closure, Closure::Covered | Closure::Forgotten);
        let values = params![
            id.to_bytes(),
            rows.parent,
            kind,
            state::encode(new.core.commit_type, new.closure),
            tip,
            rows.artifact,
            rows.native,
            created_at,
            figures.encode(),
        ];
        let row = self
            .connection
            .prepare_cached(
                "INSERT INTO commits (id, parent, kind, state, tip, artifact, native, created_at, figures) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            )
            .and_then(|mut statement| statement.insert(values))
            .during("storing a commit")?;
        Ok(Known { row, created_at, depth: figures.depth, cumulative_bytes: figures.cumulative_bytes })
    }
}

/// What a new commit refers to.
#[derive(Clone, Copy)]
pub(super) struct Rows {
    pub(super) parent: Option<i64>,
    pub(super) artifact: i64,
    pub(super) native: Option<i64>,
}

/// Returns the depth of a commit that continues another one, and the bytes of all before it.
pub(super) fn beginning(parent: Option<Known>) -> (u64, u64) {
    parent.map_or((0, 0), |parent| (parent.depth + 1, parent.cumulative_bytes))
}
