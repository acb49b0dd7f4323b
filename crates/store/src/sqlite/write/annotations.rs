//! Mutable metadata, its audit trail, and links.
//!
//! What a change does is decided in `crate::rules::annotation`, and who may make it above the store.

use std::collections::BTreeSet;

use rusqlite::params;
use stemmata_model::CommitId;

use super::Transaction;
use crate::error::StoreError;
use crate::rules::annotation::{Effect, effect};
use crate::rules::codes::{self, KIND_SUMMARY};
use crate::sqlite::annotations;
use crate::sqlite::failure::During;
use crate::sqlite::seals::{Insert, LINK};
use crate::write::{AuditRecord, Link};

const CHANGING: &str = "changing a commit's metadata";

impl Transaction<'_> {
    pub(super) fn annotate(&mut self, id: CommitId, record: &AuditRecord) -> Result<(), StoreError> {
        let row = self.need_commit(id)?.row;
        let (kind, text, source) = codes::standing(&record.change);
        // Only what could be the same: a commit may have thousands of notes, and one that is damaged stops no other.
        let of = text.filter(|_| kind != KIND_SUMMARY);
        match effect(&annotations::standing(self.connection, (id, row), (kind, of))?, record) {
            Effect::Nothing => return Ok(()),
            // There is one summary, whose number is 0; the others count from 1.
            Effect::Stands if kind == KIND_SUMMARY => {
                annotations::put(self.connection, (row, kind, 0), record, (None, text, source))?;
            }
            Effect::Stands => {
                let number = annotations::next_number(self.connection, row, kind)?;
                annotations::put(self.connection, (row, kind, number), record, (None, text, source))?;
            }
            Effect::Removes => self.change(
                "DELETE FROM annotation WHERE commit_row = ?1 AND kind = ?2 AND (?3 IS NULL OR text = ?3)",
                params![row, kind, text],
            )?,
        }
        // A repeated batch may have left the record before.
        if !annotations::is_recorded(self.connection, row, record)? {
            annotations::add_record(self.connection, row, record)?;
        }
        Ok(())
    }

    /// Adds records that are not there, and has the metadata be what all of them say.
    pub(super) fn merge_annotations(
        &mut self,
        id: CommitId,
        records: &[AuditRecord],
    ) -> Result<(), StoreError> {
        let row = self.need_commit(id)?.row;
        let mut all = annotations::audit::<BTreeSet<_>>(self.connection, (id, row), usize::MAX)?;
        let new: BTreeSet<&AuditRecord> = records.iter().filter(|record| !all.contains(record)).collect();
        if new.is_empty() {
            return Ok(());
        }
        for record in &new {
            annotations::add_record(self.connection, row, record)?;
        }
        all.extend(new.into_iter().cloned());
        annotations::keep_standing(self.connection, row, &all)
    }

    pub(super) fn link(&mut self, link: &Link) -> Result<(), StoreError> {
        let source = self.need_commit(link.from)?.row;
        let target = self.need_commit(link.to)?.row;
        // An entry id is never empty, so that the empty text can stand for none and be part of the key.
        let entry = link.entry.as_ref().map_or("", |entry| entry.as_str());
        self.connection.during(CHANGING).insert_sealed(
            Insert::OrIgnore,
            &LINK,
            params![source, codes::link_kind(link.kind), target, entry],
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
        )
    }

    fn change(&self, sql: &'static str, values: &[&dyn rusqlite::ToSql]) -> Result<(), StoreError> {
        self.connection.during(CHANGING).run(sql, values).map(drop)
    }
}
