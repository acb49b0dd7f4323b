//! Reading commits by id, by anchors, along chains, and as tips.
//!
//! Where they were seen is in `sightings`.

use std::fmt::Write as _;

use rusqlite::types::Value;
use rusqlite::{Connection, Row, params, params_from_iter};
use stemmata_model::{ArtifactId, Commit, CommitId, Principal, SessionId, SummarySource};

use super::{Reader, one_state};
use crate::error::StoreError;
use crate::filters::{CommitFilter, TipFilter};
use crate::rules::codes::{self, KIND_SUMMARY};
use crate::rules::rows::CommitRow;
use crate::rules::state;
use crate::seam::Page;
use crate::seam::StoredAt;
use crate::sqlite::failure::During;
use crate::sqlite::kinds::Kinds;
use crate::sqlite::statements::one;
use crate::write::SIDECAR_FORMAT;

/// The columns of a commit, in the order of [`CommitRow`].
macro_rules! commit_columns {
    () => {
        "c.row, c.id, c.parent, c.kind, c.state, c.created_at, c.figures, \
         ifnull((SELECT hash FROM packed WHERE row = c.artifact), \
         (SELECT hash FROM content WHERE row = c.artifact)), \
         ifnull((SELECT hash FROM packed WHERE row = c.native), \
         (SELECT hash FROM content WHERE row = c.native)), \
         (SELECT id FROM commits WHERE row = c.parent)"
    };
}

pub(super) use commit_columns;

/// The condition that nothing continues the commit `c`. Most children are in the next row, where they are found without the
/// index that all others are in.
macro_rules! childless {
    () => {
        "NOT EXISTS (SELECT 1 FROM commits n WHERE n.row = c.row + 1 AND n.parent = c.row) \
         AND NOT EXISTS (SELECT 1 FROM commits n WHERE n.parent = c.row AND n.parent <> n.row - 1)"
    };
}

pub(in crate::sqlite) use childless;

/// The commits after a place.
pub(in crate::sqlite) const STORED_AFTER: &str =
    concat!("SELECT ", commit_columns!(), " FROM commits c WHERE c.row > ?1 ORDER BY c.row LIMIT ?2");

/// The commits that a session saw.
pub(in crate::sqlite) const SEEN_BY: &str = concat!(
    "SELECT ",
    commit_columns!(),
    " FROM commits c WHERE c.row IN (SELECT s.commit_row FROM origin o \
     JOIN sighting s ON s.origin = o.row WHERE o.machine = ?3 \
     AND (o.path = ?4 OR o.path IS NULL AND o.session = ?5) AND s.commit_row > ?1) \
     ORDER BY c.row LIMIT ?2"
);

/// What the index of ids holds: the first eight bytes.
pub(in crate::sqlite) fn key_of(id: CommitId) -> [u8; 8] {
    let mut key = [0; 8];
    key.copy_from_slice(id.to_bytes().split_at(8).0);
    key
}

/// Loads a commit by its id.
pub(in crate::sqlite) fn load_commit(
    connection: &Connection,
    kinds: &mut Kinds,
    id: CommitId,
) -> Result<Option<Commit>, StoreError> {
    let sql =
        concat!("SELECT ", commit_columns!(), " FROM commits c WHERE substr(c.id, 1, 8) = ?1 AND c.id = ?2");
    let found =
        connection.during("reading a commit").first(sql, params![key_of(id), id.to_bytes()], take_commit)?;
    found.map(|found| kinds.commit(connection, found)).transpose()
}

/// Takes the columns of a commit.
pub(in crate::sqlite) fn take_commit(row: &Row<'_>) -> rusqlite::Result<CommitRow> {
    let hash = |index| -> rusqlite::Result<Option<ArtifactId>> {
        Ok(row.get::<_, Option<[u8; 32]>>(index)?.map(ArtifactId::from_bytes))
    };
    Ok(CommitRow {
        row: row.get(0)?,
        id: CommitId::from_bytes(row.get(1)?),
        parent_row: row.get(2)?,
        kind: row.get(3)?,
        state: row.get(4)?,
        created_at: row.get(5)?,
        figures: row.get_ref(6)?.as_bytes()?.to_vec(),
        artifact: hash(7)?,
        native: hash(8)?,
        parent: row.get::<_, Option<[u8; 16]>>(9)?.map(CommitId::from_bytes),
    })
}

impl Reader {
    pub(in crate::sqlite) fn commit(&mut self, id: CommitId) -> Result<Option<Commit>, StoreError> {
        load_commit(&self.connection, &mut self.kinds, id)
    }

    pub(in crate::sqlite) fn ancestors(
        &mut self,
        from: CommitId,
        limit: usize,
    ) -> Result<Vec<Commit>, StoreError> {
        let operation = "walking a chain";
        // One transaction spares each step its own lock, and shows all steps one state.
        let _state = one_state(&self.connection)?;
        let mut next = self.row_of(from)?;
        if next.is_none() {
            return Err(StoreError::CommitMissing(from));
        }
        let sql = concat!("SELECT ", commit_columns!(), " FROM commits c WHERE c.row = ?1");
        let mut statement = self.connection.prepare_cached(sql).during(operation)?;
        let mut chain = Vec::new();
        while let Some(row) = next
            && chain.len() < limit
        {
            let found = statement.query_row([row], take_commit).during(operation)?;
            next = found.parent_row;
            chain.push(self.kinds.commit(&self.connection, found)?);
        }
        Ok(chain)
    }

    pub(in crate::sqlite) fn children(
        &mut self,
        of: CommitId,
        limit: usize,
    ) -> Result<Vec<Commit>, StoreError> {
        let sql = concat!(
            "WITH parent (row) AS (SELECT row FROM commits WHERE substr(id, 1, 8) = ?1 AND id = ?2), \
             child (row) AS ( \
             SELECT c.row FROM parent JOIN commits c ON c.row = parent.row + 1 AND c.parent = parent.row \
             UNION ALL SELECT c.row FROM parent JOIN commits c ON c.parent = parent.row \
             WHERE c.parent <> c.row - 1) \
             SELECT ",
            commit_columns!(),
            " FROM child CROSS JOIN commits c ON c.row = child.row ORDER BY c.row LIMIT ?3"
        );
        let values = params![key_of(of), of.to_bytes(), sql_limit(limit)];
        self.collect(sql, values, "listing children")
    }

    pub(in crate::sqlite) fn commits_after(
        &mut self,
        after: Option<CommitId>,
        limit: usize,
    ) -> Result<Vec<Commit>, StoreError> {
        // Nothing is less than an empty value.
        let (key, after) =
            after.map_or_else(Default::default, |after| (key_of(after).to_vec(), after.to_bytes().to_vec()));
        let sql = concat!(
            "SELECT ",
            commit_columns!(),
            " FROM commits c WHERE substr(c.id, 1, 8) >= ?1 AND c.id > ?2 \
             ORDER BY substr(c.id, 1, 8), c.id LIMIT ?3"
        );
        self.collect(sql, params![key, after, sql_limit(limit)], "walking all commits")
    }

    pub(in crate::sqlite) fn collect_stored(
        &mut self,
        sql: &str,
        values: impl rusqlite::Params,
    ) -> Result<Vec<(StoredAt, Commit)>, StoreError> {
        let mut stored = Vec::new();
        let ask = self.connection.during("reading commits in the order of storing");
        ask.each(sql, values, take_commit, |found| {
            let at = StoredAt::of_row(found.row);
            stored.push((at, self.kinds.commit(&self.connection, found)?));
            Ok(())
        })?;
        Ok(stored)
    }

    pub(in crate::sqlite) fn tips(
        &mut self,
        filter: &TipFilter,
        page: Page,
    ) -> Result<Vec<Commit>, StoreError> {
        let wanted = seen(filter);
        let names: Vec<String> = wanted.iter().map(|(name, _)| format!("o.{name} = ?")).collect();
        let mut sql = format!(
            "SELECT {} FROM commits c WHERE c.tip = 1 \
             AND c.kind NOT IN (SELECT row FROM kind WHERE format = '{SIDECAR_FORMAT}')",
            commit_columns!()
        );
        if !names.is_empty() {
            // A commit with the names is a tip until another one with them follows, whatever else goes on from it. A snapshot
            // that restates its parent in another format adds nothing: it is no tip, and looked through.
            let live = |commit: &str| {
                format!("{commit}.state & 3 < {} AND NOT {}", state::STATE_COVERED, restates(commit))
            };
            sql = format!(
                "WITH seen AS MATERIALIZED (SELECT DISTINCT s.commit_row AS row FROM origin o \
                 JOIN sighting s ON s.origin = o.row WHERE {}), \
                 live AS MATERIALIZED (SELECT n.row, n.parent FROM seen JOIN commits n ON n.row = seen.row WHERE {}) \
                 SELECT {} FROM commits c WHERE c.row IN (SELECT row FROM live \
                 EXCEPT SELECT parent FROM live \
                 EXCEPT SELECT t.parent FROM live JOIN commits t ON t.row = live.parent WHERE {})",
                names.join(" AND "),
                live("n"),
                commit_columns!(),
                restates("t"),
            );
        }
        sql.push_str(" ORDER BY c.created_at DESC, c.id LIMIT ? OFFSET ?");
        let values = wanted.into_iter().map(|(_, value)| value).chain(page_values(page));
        self.collect(&sql, params_from_iter(values), "listing tips")
    }

    pub(in crate::sqlite) fn listed_commits(
        &mut self,
        filter: &CommitFilter,
        page: Page,
    ) -> Result<Vec<Commit>, StoreError> {
        let mut sql = format!(
            "SELECT {} FROM commits c WHERE c.state & 3 < {} \
             AND c.kind NOT IN (SELECT row FROM kind WHERE format = '{SIDECAR_FORMAT}')",
            commit_columns!(),
            state::STATE_COVERED
        );
        let mut values = Vec::new();
        let wanted = seen(&filter.seen);
        if !wanted.is_empty() {
            let names: Vec<String> = wanted.iter().map(|(name, _)| format!("o.{name} = ?")).collect();
            let _infallible = write!(
                sql,
                " AND c.row IN (SELECT s.commit_row FROM origin o JOIN sighting s ON s.origin = o.row WHERE {})",
                names.join(" AND ")
            );
            values.extend(wanted.into_iter().map(|(_, value)| value));
        }
        if let Some(format) = &filter.format {
            sql.push_str(" AND c.kind IN (SELECT row FROM kind WHERE format = ?)");
            values.push(Value::Text(format.as_str().to_owned()));
        }
        for (bound, time) in
            [(" AND c.created_at >= ?", filter.since), (" AND c.created_at < ?", filter.until)]
        {
            if let Some(time) = time {
                sql.push_str(bound);
                values.push(Value::Integer(time.as_micros()));
            }
        }
        if let Some(source) = filter.summary {
            // Where there is no row, or one that was derived elsewhere, the summary is derived.
            let _infallible = write!(
                sql,
                " AND ifnull((SELECT a.source FROM annotation a WHERE a.commit_row = c.row \
                 AND a.kind = {KIND_SUMMARY} \
                 AND a.text IS NOT NULL), {}) = ?",
                codes::summary_source(SummarySource::Heuristic)
            );
            values.push(Value::Integer(codes::summary_source(source)));
        }
        sql.push_str(" ORDER BY c.created_at DESC, c.id LIMIT ? OFFSET ?");
        values.extend(page_values(page));
        self.collect(&sql, params_from_iter(values), "listing commits")
    }

    /// One look into the table for each hash; nearly all of them find nothing.
    pub(in crate::sqlite) fn anchored(
        &self,
        hashes: &[u64],
        limit: usize,
    ) -> Result<Vec<(u64, CommitId)>, StoreError> {
        if hashes.is_empty() {
            return Ok(Vec::new());
        }
        let operation = "looking up anchors";
        let mut found = Vec::new();
        // One transaction, so that all are looked up in one state and the lock is taken once.
        let _state = one_state(&self.connection)?;
        let sql = "SELECT c.id FROM anchor a CROSS JOIN commits c ON c.row = a.commit_row \
                   WHERE a.hash = ?1 AND c.state & 3 <> 2 ORDER BY c.id LIMIT ?2";
        let mut statement = self.connection.prepare_cached(sql).during(operation)?;
        for hash in hashes {
            let ids = statement.query_map(params![hash.cast_signed(), sql_limit(limit)], one);
            for id in ids.during(operation)? {
                found.push((*hash, CommitId::from_bytes(id.during(operation)?)));
            }
        }
        Ok(found)
    }

    pub(super) fn collect(
        &mut self,
        sql: &str,
        values: impl rusqlite::Params,
        operation: &'static str,
    ) -> Result<Vec<Commit>, StoreError> {
        let mut commits = Vec::new();
        self.connection.during(operation).each(sql, values, take_commit, |found| {
            commits.push(self.kinds.commit(&self.connection, found)?);
            Ok(())
        })?;
        Ok(commits)
    }
}

/// Returns the condition that a commit is a snapshot in another format than its parent.
fn restates(commit: &str) -> String {
    format!(
        "({commit}.state >> 2 = 2 AND EXISTS (SELECT 1 FROM commits p JOIN kind theirs ON theirs.row = p.kind \
         JOIN kind own ON own.row = {commit}.kind WHERE p.row = {commit}.parent AND theirs.format <> own.format))"
    )
}

/// Returns the columns of an origin that a filter compares, with their values.
fn seen(filter: &TipFilter) -> Vec<(&'static str, Value)> {
    let columns = [
        ("session", filter.session.as_ref().map(SessionId::as_str)),
        ("ticket", filter.ticket.as_deref()),
        ("thread", filter.thread.as_deref()),
        ("principal", filter.principal.as_ref().map(Principal::as_str)),
    ];
    columns.into_iter().filter_map(|(name, text)| Some((name, Value::Text(text?.to_owned())))).collect()
}

/// Returns a page as `LIMIT` and `OFFSET` take it.
fn page_values(page: Page) -> [Value; 2] {
    [Value::Integer(sql_limit(page.rows_max)), Value::Integer(sql_skip(page.skip))]
}

/// A limit as SQL takes it.
pub(in crate::sqlite) fn sql_limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

/// An offset as SQL takes it.
pub(super) fn sql_skip(skip: u64) -> i64 {
    i64::try_from(skip).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::SEEN_BY;
    use crate::sqlite::open::{Opened, SqliteOptions, open_store};
    use crate::sqlite::plans_tests::plan;

    #[test]
    fn what_a_session_saw_is_found_by_indexes_alone() {
        let home = TempDir::new().expect("a directory");
        let Opened { connection, .. } = open_store(home.path(), &SqliteOptions::default()).expect("a store");
        let plan = plan(&connection, SEEN_BY);
        for index in ["origin_by_path (path=? AND machine=?)", "origin_by_session (session=? AND machine=?)"]
        {
            assert!(plan.iter().any(|step| step == &format!("SEARCH o USING INDEX {index}")), "{plan:?}");
        }
        assert!(
            !plan.iter().any(|step| step.starts_with("SCAN") || step.contains("TEMP B-TREE")),
            "{plan:?}"
        );
    }
}
