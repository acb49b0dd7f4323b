//! Summaries, tags, notes, pins, their audit trail, and links.
//!
//! Nothing here is hashed.

use rusqlite::{Params, Row, params};
use stemmata_model::CommitId;

use super::Reader;
use super::commits::{key_of, sql_limit};
use crate::error::StoreError;
use crate::rules::codes::{KIND_AUDIT, KIND_NOTE};
use crate::rules::rows::{AuditRow, LinkRow, audit_record, link, note_annotation};
use crate::sqlite::failure::During;
use crate::sqlite::statements::{columns, one};
use crate::write::{Annotations, AuditRecord, Link};

const READING: &str = "reading a commit's metadata";

/// The columns of a link `l` from a commit `f` to a commit `t`.
pub(super) const LINK_COLUMNS: &str = "f.id, l.kind, t.id, l.entry";

impl Reader {
    pub(in crate::sqlite) fn annotations(&self, commit: CommitId) -> Result<Annotations, StoreError> {
        let Some(row) = self.row_of(commit)? else {
            return Ok(Annotations::default());
        };
        let rows = self.all(
            "SELECT kind, text, source FROM annotation WHERE commit_row = ?1 AND kind < ?2 \
             ORDER BY kind, iif(kind = ?3, at, 0), number",
            params![row, KIND_AUDIT, KIND_NOTE],
            columns,
        )?;
        let mut annotations = Annotations::default();
        for columns in rows {
            note_annotation(&mut annotations, commit, columns)?;
        }
        annotations.tags.sort();
        Ok(annotations)
    }

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
        let Some(row) = self.row_of(commit)? else {
            return Ok(Vec::new());
        };
        let rows = self.all(
            "SELECT at, by, change, text, source FROM annotation WHERE commit_row = ?1 AND kind = ?2 \
             ORDER BY at, number LIMIT ?3",
            params![row, KIND_AUDIT, sql_limit(limit)],
            columns::<AuditRow>,
        )?;
        rows.into_iter().map(|columns| audit_record(columns, commit)).collect()
    }

    pub(in crate::sqlite) fn links(&self, commit: CommitId, limit: usize) -> Result<Vec<Link>, StoreError> {
        let Some(row) = self.row_of(commit)? else {
            return Ok(Vec::new());
        };
        let sql = format!(
            "SELECT {LINK_COLUMNS} FROM ( \
             SELECT * FROM link WHERE source = ?1 UNION SELECT * FROM link WHERE target = ?1) l \
             JOIN commits f ON f.row = l.source JOIN commits t ON t.row = l.target \
             ORDER BY f.id, l.kind, t.id, l.entry LIMIT ?2"
        );
        let rows = self.all(&sql, params![row, sql_limit(limit)], columns::<LinkRow>)?;
        rows.into_iter().map(|row| link(row, commit)).collect()
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
