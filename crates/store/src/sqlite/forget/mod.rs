//! Forgetting and removing rows, within one transaction; the database is rewritten after it.
//!
//! In which order it happens is decided in `crate::rules::forget`.

pub(in crate::sqlite) mod commits;
pub(super) mod contents;
pub(super) mod plan;

use std::collections::{BTreeSet, HashSet};

use rusqlite::Connection;
use stemmata_model::{ArtifactId, SessionId, Timestamp};

use self::plan::{Place, Row};
use super::ahead::Ahead;
use super::failure::During;
use super::ledger::forget::{self, Went};
use super::packs::Packs;
use super::{SqliteStore, annotations, marks, stored};
use crate::error::StoreError;
use crate::maintain::forget::{Forget, Tombstone};
use crate::rules::forget::{Forgetting, Removing, forget_lines};
use crate::sqlite::statements::one;
use crate::write::{AuditRecord, SessionKey};

/// The tables of a store, within a transaction that writes.
pub(super) struct Tables<'a> {
    pub(super) connection: &'a Connection,
    packs: &'a Packs,
    secret: &'a [u8; 32],
    /// What was read ahead of the transaction.
    pub(super) ahead: Option<&'a Ahead>,
    /// Rows of contents that went and were in packs.
    packed: BTreeSet<i64>,
    /// Rows of commits that were removed.
    removed: HashSet<i64>,
    /// The list that ranges are copied for, and its id: a list may have thousands of ranges.
    copied_of: Option<(i64, ArtifactId)>,
}

impl SqliteStore {
    /// Does something to the tables, within a transaction that the caller commits or rolls back. Returns the rows that go from
    /// packs, too.
    pub(super) fn within<T>(
        &self,
        connection: &Connection,
        ahead: Option<&Ahead>,
        act: impl FnOnce(&mut Tables<'_>) -> Result<T, StoreError>,
    ) -> Result<(T, BTreeSet<i64>), StoreError> {
        let mut tables = Tables {
            connection,
            packs: &self.packs,
            secret: &self.identity.secret,
            ahead,
            packed: BTreeSet::new(),
            removed: HashSet::new(),
            copied_of: None,
        };
        let done = act(&mut tables)?;
        Ok((done, tables.packed))
    }
}

/// Gives up the lines of events that were forgotten by themselves. Those that a commit needs stay, and the events lose them.
/// The files have to be cleaned where events went, or where something else did that the caller knows of.
pub(super) fn lose_lines(tables: &mut Tables<'_>, went: Went, has_less: bool) -> Result<u64, StoreError> {
    if has_less || went.0 > 0 {
        marks::set(tables.connection, (marks::UNFINISHED, &[]), Timestamp::EPOCH, None)?;
    }
    forget_lines(tables, went)
}

impl Removing for Tables<'_> {
    type Place = Place;
    type Order = i64;

    fn first_stored(&self, of: &[Row]) -> Result<Option<i64>, StoreError> {
        Ok(of.iter().map(|row| row.commit.row).min())
    }

    fn remove_commits(&mut self, gone: &[Row]) -> Result<(), StoreError> {
        self.removed.extend(gone.iter().map(|row| row.commit.row));
        commits::remove(self.connection, gone)
    }

    fn index_due(&mut self, first: Option<i64>, at: Timestamp) -> Result<(), StoreError> {
        stored::set_due(self.connection, first, at)
    }
}

impl Forgetting for Tables<'_> {
    fn each(&self, act: &mut dyn FnMut(Row)) -> Result<(), StoreError> {
        plan::each(self.connection, act)
    }

    fn session_of(&self, key: &SessionKey) -> Result<Option<SessionId>, StoreError> {
        let sql = "SELECT session FROM session WHERE path = ?1 AND machine = ?2";
        let values = [key.path.as_str(), key.machine.as_str()];
        let found: Option<String> = self.connection.during("reading a session").first(sql, values, one)?;
        Ok(found.and_then(|session| SessionId::new(session).ok()))
    }

    fn lines(&self, request: &Forget) -> Result<BTreeSet<i64>, StoreError> {
        let named = request.lines.iter().flatten();
        named.filter_map(|id| contents::stored(self.connection, *id).transpose()).collect()
    }

    fn forget_events(
        &mut self,
        sessions: &BTreeSet<SessionId>,
        request: &Forget,
    ) -> Result<Went, StoreError> {
        forget::named(self.connection, sessions, request)
    }

    fn make_holes(&mut self, cut: &[Row]) -> Result<(), StoreError> {
        commits::hole(self.connection, cut)
    }

    fn silence(&mut self, holes: &[Row]) -> Result<bool, StoreError> {
        commits::silence(self.connection, holes)
    }

    fn remove_sessions(&mut self, sessions: &[SessionKey]) -> Result<u64, StoreError> {
        commits::remove_sessions(self.connection, sessions)
    }

    fn clear_sessions(&mut self, request: &Forget) -> Result<bool, StoreError> {
        commits::clear_sessions(self.connection, request)
    }

    fn records(&self, of: Row) -> Result<BTreeSet<AuditRecord>, StoreError> {
        annotations::audit(self.connection, (of.commit.id, of.commit.row), usize::MAX)
    }

    fn put_records(&mut self, of: Row, records: BTreeSet<AuditRecord>) -> Result<(), StoreError> {
        let row = of.commit.row;
        let sql = "DELETE FROM annotation WHERE commit_row = ?1";
        self.connection.during("replacing what was said of a commit").run(sql, [row])?;
        for record in &records {
            annotations::add_record(self.connection, row, record)?;
        }
        annotations::keep_standing(self.connection, row, &records)
    }

    fn drop_memories(&mut self) -> Result<bool, StoreError> {
        forget::drop_memories(self.connection)
    }

    fn bury(&mut self, what: &Tombstone, request: &Forget) -> Result<bool, StoreError> {
        let (kind, key) = marks::of_tombstone(self.secret, what);
        marks::set(self.connection, (kind, &key), request.at, Some(request.by.as_str()))
    }

    fn note_unclean(&mut self, request: &Forget) -> Result<(), StoreError> {
        let by = Some(request.by.as_str());
        marks::set(self.connection, (marks::UNFINISHED, &[]), request.at, by).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;
    use crate::sqlite::{SqliteOptions, rewrite};

    #[test]
    fn where_nothing_went_nothing_is_cleaned() {
        let home = TempDir::new().expect("a directory");
        let store = SqliteStore::open(home.path(), SqliteOptions::default()).expect("a store");
        for has_less in [false, true] {
            let act = |connection: &Connection| {
                store.within(connection, None, |tables| lose_lines(tables, (0, BTreeSet::new()), has_less))
            };
            store.group.maintain(act).expect("forgotten");
            let is_due = store.read(|reader| rewrite::is_due(reader.connection())).expect("a read");
            assert_eq!(is_due, has_less);
        }
    }
}
