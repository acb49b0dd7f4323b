//! Summaries, tags, notes, pins, their audit trail, and links.
//!
//! Nothing here is hashed.

use rusqlite::{OptionalExtension, Params, Row, params};
use stemmata_model::{CommitId, EntryId, Principal, Timestamp};

use super::Reader;
use super::commits::{key_of, sql_limit};
use crate::error::StoreError;
use crate::rules::codes::{self, KIND_AUDIT, KIND_NOTE, KIND_PIN, KIND_SUMMARY, KIND_TAG};
use crate::sqlite::failure::{During, unreadable};
use crate::write::{Annotations, AuditRecord, Link};

const READING: &str = "reading a commit's metadata";

/// An audit row: time, author, number of the change, text, source.
pub(in crate::sqlite) type AuditColumns = (i64, String, i64, Option<String>, Option<i64>);

/// Takes the columns of an audit row.
pub(in crate::sqlite) fn take_audit(row: &Row<'_>) -> rusqlite::Result<AuditColumns> {
    Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))
}

/// Reads an audit row.
pub(in crate::sqlite) fn audit_record(
    columns: AuditColumns,
    commit: CommitId,
) -> Result<AuditRecord, StoreError> {
    let (at, by, change, text, source) = columns;
    Ok(AuditRecord {
        at: Timestamp::from_micros(at),
        by: Principal::new(by).map_err(|error| unreadable("audit.by", &commit, &error))?,
        change: codes::change_from(change, text, source)
            .ok_or_else(|| unreadable("audit.change", &commit, &change))?,
    })
}

/// A row of an annotation that is no change: kind, text, source.
type AnnotationColumns = (i64, Option<String>, Option<i64>);

/// Adds a row to what is known of a commit.
pub(super) fn note_annotation(
    annotations: &mut Annotations,
    commit: CommitId,
    (kind, text, source): AnnotationColumns,
) -> Result<(), StoreError> {
    let text = text.unwrap_or_default();
    match kind {
        KIND_SUMMARY => {
            let source = source.unwrap_or(-1);
            let source = codes::summary_source_from(source)
                .ok_or_else(|| unreadable("annotation.source", &commit, &source))?;
            annotations.summary = Some((text, source));
        }
        KIND_TAG => annotations.tags.push(text),
        KIND_NOTE => annotations.notes.push(text),
        KIND_PIN => annotations.pinned = true,
        other => return Err(unreadable("annotation.kind", &commit, &other)),
    }
    Ok(())
}

/// The columns of a link `l` from a commit `f` to a commit `t`.
pub(super) const LINK_COLUMNS: &str = "f.id, l.kind, t.id, l.entry";

/// A link's row.
pub(super) struct LinkColumns([u8; 16], i64, [u8; 16], String);

pub(super) fn take_link(row: &Row<'_>) -> rusqlite::Result<LinkColumns> {
    Ok(LinkColumns(row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
}

impl LinkColumns {
    pub(super) fn into_link(self, commit: CommitId) -> Result<Link, StoreError> {
        let Self(from, kind, to, entry) = self;
        let entry = Some(entry).filter(|entry| !entry.is_empty()).map(EntryId::new).transpose();
        Ok(Link {
            from: CommitId::from_bytes(from),
            kind: codes::link_kind_from(kind).ok_or_else(|| unreadable("link.kind", &commit, &kind))?,
            to: CommitId::from_bytes(to),
            entry: entry.map_err(|error| unreadable("link.entry", &commit, &error))?,
        })
    }
}

impl Reader {
    pub(in crate::sqlite) fn annotations(&self, commit: CommitId) -> Result<Annotations, StoreError> {
        let Some(row) = self.row_of(commit)? else {
            return Ok(Annotations::default());
        };
        let rows: Vec<AnnotationColumns> = self.all(
            "SELECT kind, text, source FROM annotation WHERE commit_row = ?1 AND kind < ?2 \
             ORDER BY kind, iif(kind = ?3, at, 0), number",
            params![row, KIND_AUDIT, KIND_NOTE],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
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
        let rows: Vec<AuditColumns> = self.all(
            "SELECT at, by, change, text, source FROM annotation WHERE commit_row = ?1 AND kind = ?2 \
             ORDER BY at, number LIMIT ?3",
            params![row, KIND_AUDIT, sql_limit(limit)],
            take_audit,
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
        let rows = self.all(&sql, params![row, sql_limit(limit)], take_link)?;
        rows.into_iter().map(|columns| columns.into_link(commit)).collect()
    }

    fn row_of(&self, commit: CommitId) -> Result<Option<i64>, StoreError> {
        self.connection
            .prepare_cached("SELECT row FROM commits WHERE substr(id, 1, 8) = ?1 AND id = ?2")
            .and_then(|mut statement| {
                statement.query_row(params![key_of(commit), commit.to_bytes()], |row| row.get(0)).optional()
            })
            .during(READING)
    }

    pub(super) fn all<T>(
        &self,
        sql: &str,
        values: impl Params,
        take: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        let mut statement = self.connection.prepare_cached(sql).during(READING)?;
        let rows = statement.query_map(values, take).during(READING)?;
        rows.collect::<rusqlite::Result<_>>().during(READING)
    }
}
