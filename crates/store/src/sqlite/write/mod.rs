//! Applying a batch: what each write does to rows, within a transaction.
//!
//! Transactions, and who shares one, are `group`'s.

mod annotations;
mod commits;
pub(in crate::sqlite) mod contents;
mod ledger;
pub(super) mod places;

use rusqlite::Connection;

use self::commits::Known;
use super::kinds::Kinds;
use super::ledger::names::Names;
use super::ledger::rows::LedgerRow;
use super::marks::Present;
use crate::error::StoreError;
use crate::rules::latest::Origin;
use crate::rules::prepare::Prepared;
use crate::rules::recent::Recent;
use crate::seam::BatchOutcome;
use crate::write::{AuditRecord, Write};

use stemmata_model::{ArtifactId, CommitId, LedgerId};

/// A batch's answer.
pub(super) type Answer = Result<BatchOutcome, StoreError>;

/// Rows met lately, so that a checkpoint need not look up what the last one wrote. Emptied when another
/// connection has written or a transaction was rolled back.
#[derive(Default)]
pub(super) struct Memory {
    commits: Recent<CommitId, Known>,
    contents: Recent<ArtifactId, super::read::contents::Known>,
    origins: Recent<Origin, i64>,
    kinds: Kinds,
    names: Names,
    ledgers: Recent<LedgerId, LedgerRow>,
    marks: Option<Present>,
}

/// One transaction's view of the writer.
struct Transaction<'a> {
    connection: &'a Connection,
    memory: &'a mut Memory,
    outcome: BatchOutcome,
    /// The row of the first commit that it stored.
    first_new: Option<i64>,
}

/// Applies a batch, within a transaction of the caller, who rolls it back where it fails.
pub(super) fn apply(connection: &Connection, memory: &mut Memory, batch: &[Prepared]) -> Answer {
    let outcome = BatchOutcome::default();
    let mut transaction = Transaction { connection, memory, outcome, first_new: None };
    for write in batch {
        transaction.apply(write)?;
    }
    Ok(transaction.outcome)
}

impl Transaction<'_> {
    fn apply(&mut self, write: &Prepared) -> Result<(), StoreError> {
        match write {
            Prepared::Content(id, parts) => self.store_content(*id, parts).map(|_| ()),
            Prepared::Commit(id, new) => self.store_commit(*id, new),
            Prepared::Append(append, lines) => self.append(append, lines),
            Prepared::Plain(write) => self.apply_plain(write),
        }
    }

    fn apply_plain(&mut self, write: &Write) -> Result<(), StoreError> {
        match write {
            Write::Content(_) | Write::Commit(_) | Write::Append(_) => {
                for prepared in crate::rules::prepare::prepare(vec![write.clone()]) {
                    self.apply(&prepared)?;
                }
                Ok(())
            }
            Write::Hole(hole) => self.store_hole(hole),
            Write::Cover { commit } => self.cover(*commit),
            Write::Counts { commit, counts } => self.count(*commit, *counts),
            Write::Sighting { commit, sighting } => self.see(*commit, sighting),
            Write::Session(session) => self.upsert_session(session),
            Write::Leave(key) => self.leave_session(key),
            Write::ExpectCursor { key, value } => self.expect_cursor(key, value.as_deref()),
            Write::ExpectTip { key, tip } => self.expect_tip(key, *tip),
            Write::Cursor { key, value } => self.keep_cursor(key, value),
            Write::Placement(placement) => self.place(placement),
            Write::Annotate { commit, change, at, by } => {
                let record = AuditRecord { at: *at, by: by.clone(), change: change.clone() };
                self.annotate(*commit, &record)
            }
            Write::MergeAnnotations { commit, records } => self.merge_annotations(*commit, records),
            Write::Link(link) => self.link(link),
            Write::Unlink(link) => self.unlink(link),
            Write::Redirect { from, to, at } => {
                crate::sqlite::marks::redirect(self.connection, *from, *to, *at)
            }
            Write::Anchors { commit, hashes } => self.anchor(*commit, hashes),
            Write::Covers(coverage) => self.cover_ledger(coverage),
            Write::ExpectEpoch { ledger, epoch } => self.expect_epoch(ledger, *epoch),
            Write::SaveStates { ledger, states } => self.save_states(ledger, states),
            Write::ChangeLedger(change) => self.change_ledger(change),
        }
    }

    /// Returns which kinds of marks there are.
    fn marks(&mut self) -> Result<Present, StoreError> {
        if let Some(present) = self.memory.marks {
            return Ok(present);
        }
        let present = Present::load(self.connection)?;
        self.memory.marks = Some(present);
        Ok(present)
    }
}
