//! Tags and the audit trail of summaries, tags, notes and pins.
//!
//! Nothing here is hashed.

use rusqlite::{Params, Row, params};
use stemmata_model::CommitId;

use super::commits::{key_of, sql_limit};
use super::{Reader, one_state};
use crate::error::StoreError;
use crate::sqlite::annotations;
use crate::sqlite::failure::During;
use crate::sqlite::statements::one;
use crate::write::AuditRecord;

const READING: &str = "reading a commit's metadata";

/// The columns of a link `l` from a commit `f` to a commit `t`.
pub(super) const LINK_COLUMNS: &str = "f.id, l.kind, t.id, l.entry";

impl Reader {
    pub(in crate::sqlite) fn tagged(&self, tag: &str, limit: usize) -> Result<Vec<CommitId>, StoreError> {
        self.all(
            "SELECT c.id FROM annotation t JOIN commits c ON c.row = t.commit_row \
             WHERE t.kind = 1 AND t.text = ?1 ORDER BY c.id LIMIT ?2",
            params![tag, sql_limit(limit)],
            |row| Ok(CommitId::from_bytes(row.get(0)?)),
        )
    }

    pub(in crate::sqlite) fn audit(
        &self,
        commit: CommitId,
        limit: usize,
    ) -> Result<Vec<AuditRecord>, StoreError> {
        let _state = one_state(&self.connection)?;
        let Some(row) = self.row_of(commit)? else {
            return Ok(Vec::new());
        };
        annotations::audit(&self.connection, (commit, row), limit)
    }

    pub(super) fn row_of(&self, commit: CommitId) -> Result<Option<i64>, StoreError> {
        self.connection.during(READING).first(
            "SELECT row FROM commits WHERE substr(id, 1, 8) = ?1 AND id = ?2",
            params![key_of(commit), commit.to_bytes()],
            one,
        )
    }

    pub(super) fn all<T>(
        &self,
        sql: &str,
        values: impl Params,
        take: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        self.connection.during(READING).list(sql, values, take)
    }
}
