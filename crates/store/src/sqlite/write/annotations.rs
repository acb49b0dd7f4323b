//! Mutable metadata, its audit trail, and links.
//!
//! Who may change what is decided above the store, but for the trust of summaries.

use rusqlite::params;
use stemmata_model::{CommitId, Principal, SummarySource, Timestamp};

use super::Transaction;
use crate::error::StoreError;
use crate::sqlite::annotations;
use crate::sqlite::codes::{self, KIND_AUDIT, KIND_NOTE, KIND_PIN, KIND_SUMMARY, KIND_TAG};
use crate::sqlite::seals::{ANNOTATION, LINK};
use crate::write::{Annotation, Link};

const CHANGING: &str = "changing a commit's metadata";

/// A commit's row, when, and who.
type Change<'a> = (i64, Timestamp, &'a Principal);

impl Transaction<'_> {
    pub(super) fn annotate(
        &mut self,
        id: CommitId,
        change: &Annotation,
        by: (Timestamp, &Principal),
    ) -> Result<(), StoreError> {
        let row = self.need_commit(id)?.row;
        let by = (row, by.0, by.1);
        let changed = match change {
            Annotation::Summary { text, source } => self.summarize(by, text.as_deref(), *source)?,
            Annotation::AddTag(tag) => self.add(KIND_TAG, by, Some(tag), Sameness::Text)?,
            Annotation::RemoveTag(tag) => self.change(
                "DELETE FROM annotation WHERE commit_row = ?1 AND kind = ?2 AND text = ?3",
                params![row, KIND_TAG, tag],
            )?,
            Annotation::AddNote(text) => self.add(KIND_NOTE, by, Some(text), Sameness::TextAndAuthor)?,
            Annotation::Pin => self.add(KIND_PIN, by, None, Sameness::Text)?,
            Annotation::Unpin => self.change(
                "DELETE FROM annotation WHERE commit_row = ?1 AND kind = ?2",
                params![row, KIND_PIN],
            )?,
        };
        if changed {
            self.record(by, change)?;
        }
        Ok(())
    }

    pub(super) fn link(&mut self, link: &Link) -> Result<(), StoreError> {
        let source = self.need_commit(link.from)?.row;
        let target = self.need_commit(link.to)?.row;
        // An entry id is never empty, so that the empty text can stand for none and be part of the key.
        let entry = link.entry.as_ref().map_or("", |entry| entry.as_str());
        self.execute_sealed(
            "INSERT OR IGNORE INTO link (source, kind, target, entry, seal) VALUES (?1, ?2, ?3, ?4, ?5)",
            &LINK,
            params![source, codes::link_kind(link.kind), target, entry],
            CHANGING,
        )?;
        Ok(())
    }

    pub(super) fn unlink(&mut self, link: &Link) -> Result<(), StoreError> {
        let (Some(source), Some(target)) = (self.find_commit(link.from)?, self.find_commit(link.to)?) else {
            return Ok(());
        };
        let entry = link.entry.as_ref().map_or("", |entry| entry.as_str());
        self.change(
            "DELETE FROM link WHERE source = ?1 AND kind = ?2 AND target = ?3 AND entry = ?4",
            params![source.row, codes::link_kind(link.kind), target.row, entry],
        )?;
        Ok(())
    }

    fn summarize(
        &self,
        by: Change<'_>,
        text: Option<&str>,
        source: SummarySource,
    ) -> Result<bool, StoreError> {
        let (row, at, author) = by;
        let number = codes::summary_source(source);
        let Some(text) = text else {
            return self.change(
                "DELETE FROM annotation WHERE commit_row = ?1 AND kind = ?2 AND source >= ?3",
                params![row, KIND_SUMMARY, number],
            );
        };
        // A smaller number is a more trusted source.
        self.write(
            "INSERT INTO annotation (commit_row, kind, number, at, by, change, text, source, seal) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT DO UPDATE SET at = excluded.at, \
             by = excluded.by, text = excluded.text, source = excluded.source, seal = excluded.seal \
             WHERE excluded.source <= source AND (excluded.source, excluded.text) <> (source, text)",
            params![row, KIND_SUMMARY, 0, at.as_micros(), author.as_str(), None::<i64>, text, number],
        )
    }

    /// Adds one of several of its kind unless the same one is there.
    fn add(
        &self,
        kind: i64,
        by: Change<'_>,
        text: Option<&str>,
        sameness: Sameness,
    ) -> Result<bool, StoreError> {
        let (row, at, author) = by;
        let sql = match sameness {
            Sameness::Text => {
                "INSERT INTO annotation (commit_row, kind, number, at, by, change, text, source, seal) \
                 SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9 WHERE NOT EXISTS \
                 (SELECT 1 FROM annotation WHERE commit_row = ?1 AND kind = ?2 AND text IS ?7)"
            }
            Sameness::TextAndAuthor => {
                "INSERT INTO annotation (commit_row, kind, number, at, by, change, text, source, seal) \
                 SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9 WHERE NOT EXISTS \
                 (SELECT 1 FROM annotation WHERE commit_row = ?1 AND kind = ?2 AND at = ?4 AND by = ?5 \
                 AND text IS ?7)"
            }
        };
        let (number, none) = (self.next_number(row, kind)?, None::<i64>);
        self.write(sql, params![row, kind, number, at.as_micros(), author.as_str(), none, text, none])
    }

    /// Leaves the audit record of a change, unless a repeated batch left it before.
    fn record(&self, by: Change<'_>, change: &Annotation) -> Result<(), StoreError> {
        let (row, at, author) = by;
        let (number, text, source) = codes::change(change);
        let place = self.next_number(row, KIND_AUDIT)?;
        self.write(
            "INSERT INTO annotation (commit_row, kind, number, at, by, change, text, source, seal) \
             SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9 WHERE NOT EXISTS \
             (SELECT 1 FROM annotation WHERE commit_row = ?1 AND kind = ?2 AND at = ?4 AND by = ?5 \
             AND change = ?6 AND text IS ?7 AND source IS ?8)",
            params![row, KIND_AUDIT, place, at.as_micros(), author.as_str(), number, text, source],
        )?;
        Ok(())
    }

    /// Returns the number of the next annotation of a kind.
    fn next_number(&self, row: i64, kind: i64) -> Result<i64, StoreError> {
        annotations::next_number(self.connection, row, kind)
    }

    /// Writes an annotation: the values are all columns.
    fn write(&self, sql: &'static str, values: &[&dyn rusqlite::ToSql]) -> Result<bool, StoreError> {
        Ok(self.execute_sealed(sql, &ANNOTATION, values, CHANGING)? > 0)
    }

    fn change(&self, sql: &'static str, values: &[&dyn rusqlite::ToSql]) -> Result<bool, StoreError> {
        Ok(self.execute(sql, values, CHANGING)? > 0)
    }
}

/// What makes two annotations of a kind the same one.
#[derive(Clone, Copy)]
enum Sameness {
    Text,
    TextAndAuthor,
}
