//! What of the tables keeps commits: the facts that a removal is planned with.
//!
//! Changes nothing; what can go is decided in `crate::rules::removal`.

use rusqlite::{Connection, params};
use stemmata_model::CommitId;

use super::Tables;
use crate::error::StoreError;
use crate::rules::codes::{KIND_PIN, KIND_TAG};
use crate::rules::removal::{EachSession, Holders, Named, SeenBy};
use crate::rules::state;
use crate::sqlite::failure::During;
use crate::sqlite::read::commits::key_of;
use crate::sqlite::statements::{columns, one};

const PLANNING: &str = "finding out what can go";

/// Where a commit is, and what it continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::sqlite) struct Place {
    pub(in crate::sqlite) row: i64,
    pub(in crate::sqlite) id: CommitId,
    pub(in crate::sqlite) parent: Option<i64>,
}

/// A commit's row, as far as it matters here.
pub(in crate::sqlite) type Row = Named<Place, i64>;

/// The columns of a [`Row`].
macro_rules! named_commits {
    () => {
        "SELECT row, id, parent, state, artifact, native FROM commits"
    };
}

/// Looks up rows, children before parents: a child's row is larger. Ids that are not there are left out.
pub(in crate::sqlite) fn rows_of(connection: &Connection, ids: &[CommitId]) -> Result<Vec<Row>, StoreError> {
    let sql = concat!(named_commits!(), " WHERE substr(id, 1, 8) = ?1 AND id = ?2");
    let mut rows = Vec::with_capacity(ids.len());
    for id in ids {
        rows.extend(connection.during(PLANNING).first(sql, params![key_of(*id), id.to_bytes()], take)?);
    }
    rows.sort_by_key(|row: &Row| std::cmp::Reverse(row.commit.row));
    rows.dedup();
    Ok(rows)
}

fn take(row: &rusqlite::Row<'_>) -> rusqlite::Result<Row> {
    Ok(Row {
        commit: Place { row: row.get(0)?, id: CommitId::from_bytes(row.get(1)?), parent: row.get(2)? },
        is_hole: state::is_hole(row.get(3)?),
        artifact: row.get(4)?,
        native: row.get(5)?,
    })
}

/// Hands every commit to `act`.
pub(super) fn each(connection: &Connection, act: &mut dyn FnMut(Row)) -> Result<(), StoreError> {
    connection.during(PLANNING).each(named_commits!(), [], take, |row| {
        act(row);
        Ok(())
    })
}

impl Holders for Tables<'_> {
    type Commit = Row;
    type Key = i64;

    fn find(&self, ids: &[CommitId]) -> Result<Vec<Row>, StoreError> {
        rows_of(self.connection, ids)
    }

    fn key(&self, row: Row) -> i64 {
        row.commit.row
    }

    fn id(&self, row: Row) -> CommitId {
        row.commit.id
    }

    fn is_marked(&self, row: Row) -> Result<[bool; 2], StoreError> {
        let sql = "SELECT ifnull(max(kind = ?2), 0), ifnull(max(kind = ?3), 0) FROM annotation \
                   WHERE commit_row = ?1 AND kind IN (?2, ?3)";
        self.connection
            .during(PLANNING)
            .only(sql, [row.commit.row, KIND_PIN, KIND_TAG], |row| Ok([row.get(0)?, row.get(1)?]))
    }

    fn each_sighting(&self, row: Row, act: &mut dyn FnMut(SeenBy<'_>)) -> Result<(), StoreError> {
        let sql = "SELECT o.machine, ifnull(o.path, 'api:' || o.session), \
                   o.ticket IS NOT NULL OR o.thread IS NOT NULL FROM origin o \
                   WHERE o.row IN (SELECT origin FROM commits WHERE row = ?1 \
                   UNION ALL SELECT origin FROM sighting_more WHERE commit_row = ?1)";
        let ask = self.connection.during(PLANNING);
        ask.each(sql, [row.commit.row], columns, |(machine, path, refers): (String, String, bool)| {
            act(SeenBy { machine: &machine, path: &path, refers });
            Ok(())
        })
    }

    fn each_session(&self, act: &mut EachSession<'_>) -> Result<(), StoreError> {
        type Columns = (String, String, Option<[u8; 16]>, Option<[u8; 16]>);
        let sql = "SELECT machine, path, tip, placed_from FROM session";
        self.connection.during(PLANNING).each(sql, [], columns, |(machine, path, tip, from): Columns| {
            act((&machine, &path), [tip, from].map(|end| end.map(CommitId::from_bytes)));
            Ok(())
        })
    }

    fn children(&self, row: Row) -> Result<Vec<i64>, StoreError> {
        let sql = "SELECT row FROM commits WHERE row = ?1 + 1 AND parent = ?1 \
                   UNION ALL SELECT row FROM commits WHERE parent = ?1 AND parent <> row - 1";
        self.connection.during(PLANNING).list(sql, [row.commit.row], one)
    }
}
