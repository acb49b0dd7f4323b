//! Mutable metadata, its audit trail, and links.
//!
//! Who may change what is decided above the store, but for the trust of summaries.

use rusqlite::{OptionalExtension, params};
use stemmata_model::{CommitId, Principal, SummarySource, Timestamp};

use super::Transaction;
use crate::error::StoreError;
use crate::sqlite::codes;
use crate::sqlite::failure::During;
use crate::write::{Annotation, Link};

impl Transaction<'_> {
    pub(super) fn annotate(
        &mut self,
        id: CommitId,
        change: &Annotation,
        by: (Timestamp, &Principal),
    ) -> Result<(), StoreError> {
        let row = self.need_commit(id)?.row;
        let (at, by) = by;
        let changed = match change {
            Annotation::Summary { text, source } => self.summarize(row, text.as_deref(), *source)?,
            Annotation::AddTag(tag) => self
                .change("INSERT OR IGNORE INTO tag (name, commit_row) VALUES (?1, ?2)", params![tag, row])?,
            Annotation::RemoveTag(tag) => {
                self.change("DELETE FROM tag WHERE name = ?1 AND commit_row = ?2", params![tag, row])?
            }
            Annotation::AddNote(text) => self.change(
                "INSERT INTO note (commit_row, at, by, text) SELECT ?1, ?2, ?3, ?4 WHERE NOT EXISTS \
                 (SELECT 1 FROM note WHERE commit_row = ?1 AND at = ?2 AND by = ?3 AND text = ?4)",
                params![row, at.as_micros(), by.as_str(), text],
            )?,
            Annotation::Pin => {
                self.change("INSERT OR IGNORE INTO pin (commit_row) VALUES (?1)", params![row])?
            }
            Annotation::Unpin => self.change("DELETE FROM pin WHERE commit_row = ?1", params![row])?,
        };
        if !changed {
            return Ok(());
        }
        let (number, text, source) = codes::change(change);
        self.change(
            "INSERT INTO audit (commit_row, at, by, change, text, source) SELECT ?1, ?2, ?3, ?4, ?5, ?6 \
             WHERE NOT EXISTS (SELECT 1 FROM audit WHERE commit_row = ?1 AND at = ?2 AND by = ?3 \
             AND change = ?4 AND text IS ?5 AND source IS ?6)",
            params![row, at.as_micros(), by.as_str(), number, text, source],
        )?;
        Ok(())
    }

    pub(super) fn link(&mut self, link: &Link) -> Result<(), StoreError> {
        let source = self.need_commit(link.from)?.row;
        let target = self.need_commit(link.to)?.row;
        // An entry id is never empty, so that the empty text can stand for none and be part of the key.
        let entry = link.entry.as_ref().map_or("", |entry| entry.as_str());
        self.change(
            "INSERT OR IGNORE INTO link (source, kind, target, entry) VALUES (?1, ?2, ?3, ?4)",
            params![source, codes::link_kind(link.kind), target, entry],
        )?;
        Ok(())
    }

    fn summarize(&self, row: i64, text: Option<&str>, source: SummarySource) -> Result<bool, StoreError> {
        let Some(text) = text else {
            return self.change(
                "DELETE FROM summary WHERE commit_row = ?1 AND source >= ?2",
                params![row, codes::summary_source(source)],
            );
        };
        let stored: Option<(String, i64)> = self
            .connection
            .prepare_cached("SELECT text, source FROM summary WHERE commit_row = ?1")
            .and_then(|mut statement| {
                statement.query_row([row], |row| Ok((row.get(0)?, row.get(1)?))).optional()
            })
            .during("reading a summary")?;
        let number = codes::summary_source(source);
        if stored.is_some_and(|(own, trusted)| trusted < number || (trusted == number && own == text)) {
            return Ok(false);
        }
        self.change(
            "INSERT INTO summary (commit_row, text, source) VALUES (?1, ?2, ?3) \
             ON CONFLICT DO UPDATE SET text = excluded.text, source = excluded.source",
            params![row, text, number],
        )
    }

    fn change(&self, sql: &'static str, values: &[&dyn rusqlite::ToSql]) -> Result<bool, StoreError> {
        Ok(self.execute(sql, values, "changing a commit's metadata")? > 0)
    }
}
