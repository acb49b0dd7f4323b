//! Which commits can go: those that nothing else needs, children before parents.
//!
//! Changes nothing.

use std::collections::HashSet;

use rusqlite::{Connection, OptionalExtension, params};
use stemmata_model::CommitId;

use crate::error::StoreError;
use crate::maintain::forget::{Keep, Kept};
use crate::sqlite::codes::{KIND_PIN, KIND_TAG};
use crate::sqlite::failure::During;
use crate::sqlite::read::commits::key_of;
use crate::write::SessionKey;

const PLANNING: &str = "finding out what can go";

/// A commit's row, as far as it matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_field_names, reason = "the column is called so")]
pub(in crate::sqlite) struct Row {
    pub(in crate::sqlite) row: i64,
    pub(in crate::sqlite) id: CommitId,
    pub(in crate::sqlite) parent: Option<i64>,
    pub(in crate::sqlite) state: i64,
    pub(in crate::sqlite) artifact: i64,
    pub(in crate::sqlite) native: Option<i64>,
}

/// What is no root any more, and what does not count as a reason to keep it.
#[derive(Debug, Clone, Copy)]
pub(in crate::sqlite) struct Wish<'a> {
    pub(in crate::sqlite) unroot: &'a [CommitId],
    pub(in crate::sqlite) sessions: &'a [SessionKey],
    pub(in crate::sqlite) even_sighted: bool,
    pub(in crate::sqlite) even_pinned: bool,
}

/// What goes, children before parents, and what stays.
#[derive(Debug, Default)]
pub(in crate::sqlite) struct Plan {
    pub(in crate::sqlite) gone: Vec<Row>,
    pub(in crate::sqlite) kept: Vec<Kept>,
}

/// Looks up rows; ids that are not there are left out.
pub(in crate::sqlite) fn rows_of(connection: &Connection, ids: &[CommitId]) -> Result<Vec<Row>, StoreError> {
    let mut statement = connection
        .prepare(
            "SELECT row, id, parent, state, artifact, native FROM commits \
             WHERE substr(id, 1, 8) = ?1 AND id = ?2",
        )
        .during(PLANNING)?;
    let mut rows = Vec::with_capacity(ids.len());
    for id in ids {
        rows.extend(
            statement.query_row(params![key_of(*id), id.to_bytes()], take).optional().during(PLANNING)?,
        );
    }
    rows.sort_by_key(|row: &Row| std::cmp::Reverse(row.row));
    rows.dedup();
    Ok(rows)
}

pub(in crate::sqlite) fn take(row: &rusqlite::Row<'_>) -> rusqlite::Result<Row> {
    Ok(Row {
        row: row.get(0)?,
        id: CommitId::from_bytes(row.get(1)?),
        parent: row.get(2)?,
        state: row.get(3)?,
        artifact: row.get(4)?,
        native: row.get(5)?,
    })
}

/// Finds out what of a wish can go.
pub(in crate::sqlite) fn plan(connection: &Connection, wish: Wish<'_>) -> Result<Plan, StoreError> {
    let others = Others::load(connection, wish)?;
    let mut plan = Plan::default();
    let mut gone: HashSet<i64> = HashSet::new();
    // A child's row is larger than its parent's, so that a parent is looked at when its children are decided.
    for row in rows_of(connection, wish.unroot)? {
        if let Some(because) = others.reason(connection, &row, &gone)? {
            plan.kept.push(Kept { commit: row.id, because });
        } else {
            gone.insert(row.row);
            plan.gone.push(row);
        }
    }
    Ok(plan)
}

/// Everything that may need a commit, beside those that go.
struct Others<'a> {
    wish: Wish<'a>,
    sessions: HashSet<(&'a str, &'a str)>,
    /// Where sessions that stay end, and what they were placed from.
    tips: HashSet<[u8; 16]>,
}

impl<'a> Others<'a> {
    fn load(connection: &Connection, wish: Wish<'a>) -> Result<Self, StoreError> {
        let sessions: HashSet<(&str, &str)> =
            wish.sessions.iter().map(|key| (key.machine.as_str(), key.path.as_str())).collect();
        let mut tips = HashSet::new();
        if !wish.even_sighted {
            let mut statement =
                connection.prepare("SELECT machine, path, tip, placed_from FROM session").during(PLANNING)?;
            let mut rows = statement.query([]).during(PLANNING)?;
            while let Some(row) = rows.next().during(PLANNING)? {
                let machine: String = row.get(0).during(PLANNING)?;
                let path: String = row.get(1).during(PLANNING)?;
                if !sessions.contains(&(machine.as_str(), path.as_str())) {
                    let ends: [Option<[u8; 16]>; 2] =
                        [row.get(2).during(PLANNING)?, row.get(3).during(PLANNING)?];
                    tips.extend(ends.into_iter().flatten());
                }
            }
        }
        Ok(Self { wish, sessions, tips })
    }

    /// Returns the first reason to keep a commit.
    fn reason(
        &self,
        connection: &Connection,
        row: &Row,
        gone: &HashSet<i64>,
    ) -> Result<Option<Keep>, StoreError> {
        if !self.wish.even_pinned
            && let Some(reason) = annotated(connection, row.row)?
        {
            return Ok(Some(reason));
        }
        if let Some(reason) = self.seen(connection, row.row)? {
            return Ok(Some(reason));
        }
        if self.tips.contains(&row.id.to_bytes()) {
            return Ok(Some(Keep::Session));
        }
        let children = children_of(connection, row.row)?;
        Ok(children.iter().any(|child| !gone.contains(child)).then_some(Keep::Child))
    }

    /// Returns whether a ticket, a thread or another session refers to a commit.
    fn seen(&self, connection: &Connection, row: i64) -> Result<Option<Keep>, StoreError> {
        let mut statement = connection
            .prepare_cached(
                "SELECT o.machine, o.path, o.session, o.ticket IS NOT NULL OR o.thread IS NOT NULL FROM origin o \
                 WHERE o.row IN (SELECT origin FROM commits WHERE row = ?1 \
                 UNION ALL SELECT origin FROM sighting_more WHERE commit_row = ?1)",
            )
            .during(PLANNING)?;
        let mut rows = statement.query([row]).during(PLANNING)?;
        let mut reason = None;
        while let Some(row) = rows.next().during(PLANNING)? {
            let machine: String = row.get(0).during(PLANNING)?;
            let path: Option<String> = row.get(1).during(PLANNING)?;
            let session: String = row.get(2).during(PLANNING)?;
            let referred: bool = row.get(3).during(PLANNING)?;
            let path = path.unwrap_or_else(|| format!("api:{session}"));
            if self.sessions.contains(&(machine.as_str(), path.as_str())) {
                continue;
            }
            if referred && !self.wish.even_pinned {
                return Ok(Some(Keep::Ticket));
            }
            if !self.wish.even_sighted {
                reason = Some(Keep::Session);
            }
        }
        Ok(reason)
    }
}

fn annotated(connection: &Connection, row: i64) -> Result<Option<Keep>, StoreError> {
    let kind: Option<i64> = connection
        .prepare_cached(
            "SELECT kind FROM annotation WHERE commit_row = ?1 AND kind IN (?2, ?3) ORDER BY kind DESC LIMIT 1",
        )
        .and_then(|mut statement| {
            statement.query_row([row, KIND_PIN, KIND_TAG], |row| row.get(0)).optional()
        })
        .during(PLANNING)?;
    Ok(kind.map(|kind| if kind == KIND_PIN { Keep::Pin } else { Keep::Tag }))
}

pub(in crate::sqlite) fn children_of(connection: &Connection, row: i64) -> Result<Vec<i64>, StoreError> {
    connection
        .prepare_cached(
            "SELECT row FROM commits WHERE row = ?1 + 1 AND parent = ?1 \
             UNION ALL SELECT row FROM commits WHERE parent = ?1 AND parent <> row - 1",
        )
        .and_then(|mut statement| {
            let rows = statement.query_map([row], |row| row.get(0))?;
            rows.collect()
        })
        .during(PLANNING)
}
