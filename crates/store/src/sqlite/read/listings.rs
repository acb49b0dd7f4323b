//! Sessions, cursors, placements, and how much there is.
//!
//! Commits are in `commits`.

use rusqlite::types::Value;
use rusqlite::{Params, Row, params, params_from_iter};
use stemmata_model::{CommitId, MachineId, SessionId, Timestamp};

use super::Reader;
use super::commits::{sql_limit, sql_skip};
use super::names::LAST;
use crate::error::StoreError;
use crate::filters::SessionFilter;
use crate::rules::coding::Coding;
use crate::rules::figures::Figures;
use crate::rules::project;
use crate::rules::rows::SessionRow;
use crate::seam::{Page, Usage};
use crate::sqlite::failure::{During, unreadable};
use crate::sqlite::places::PlaceKey;
use crate::sqlite::seals::{CURSOR, PLACEMENT};
use crate::sqlite::statements::{columns, one};
use crate::write::{Placement, SIDECAR_FORMAT, Session, SessionKey};

pub(super) const SESSION_COLUMNS: &str = "path, machine, session, parent_session, format, template, principal, \
     granularity, came, placed_from, title, cwd, git_branch, version, started_at, last_at, tip, commits, \
     messages, bytes";

/// Takes the columns of a session.
fn take_session(row: &Row<'_>) -> rusqlite::Result<SessionRow> {
    // By position: looking twenty names up for each row takes longer than reading it.
    let mut found = SessionRow { texts: Default::default(), numbers: [None; 7], commits: [None; 2] };
    for (text, column) in found.texts.iter_mut().zip([0, 1, 2, 3, 4, 5, 6, 10, 11, 12, 13]) {
        *text = row.get(column)?;
    }
    for (number, column) in found.numbers.iter_mut().zip([7, 8, 14, 15, 17, 18, 19]) {
        *number = row.get(column)?;
    }
    found.commits = [row.get(9)?, row.get(16)?];
    Ok(found)
}

/// Returns the statement that lists sessions, and its values.
fn listing(filter: &SessionFilter, page: Page) -> (String, Vec<Value>) {
    let mut wanted: Vec<&str> = Vec::new();
    let mut values: Vec<Value> = Vec::new();
    let mut order = "last_at";
    if let Some(project) = &filter.project {
        // All within the bounds begins with the path; what follows says whether it is the directory or below it.
        wanted.push("cwd >= ? AND cwd < ? AND substr(cwd, length(?) + 1, 1) IN ('', '/', '\\')");
        // The sign keeps SQLite from looking each session of the store up in the order of the list: reading the table from
        // end to end and sorting the few of the project takes a fifth of the time.
        order = "+last_at";
        let path = project::trim(project);
        values.extend([path.to_owned(), format!("{path}{LAST}"), path.to_owned()].map(Value::Text));
    }
    if let Some(prefix) = &filter.session_prefix {
        wanted.push("substr(session, 1, length(?)) = ?");
        values.extend(std::iter::repeat_n(Value::Text(prefix.clone()), 2));
    }
    if filter.main_only {
        wanted.push("parent_session IS NULL");
    }
    if let Some(parent) = &filter.parent {
        wanted.push("parent_session = ?");
        values.push(Value::Text(parent.as_str().to_owned()));
    }
    if !filter.with_sidecars {
        wanted.push("format <> ?");
        values.push(Value::Text(SIDECAR_FORMAT.to_owned()));
    }
    if wanted.is_empty() {
        wanted.push("true");
    }
    let sql = format!(
        "SELECT {SESSION_COLUMNS} FROM session WHERE {} \
         ORDER BY {order} DESC, path, machine LIMIT ? OFFSET ?",
        wanted.join(" AND ")
    );
    values.push(Value::Integer(sql_limit(page.rows_max)));
    values.push(Value::Integer(sql_skip(page.skip)));
    (sql, values)
}

impl Reader {
    pub(in crate::sqlite) fn sessions(
        &self,
        filter: &SessionFilter,
        page: Page,
    ) -> Result<Vec<Session>, StoreError> {
        let (sql, values) = listing(filter, page);
        self.listed(&sql, params_from_iter(values))
    }

    /// Returns the sessions that a statement lists.
    pub(super) fn listed(&self, sql: &str, values: impl Params) -> Result<Vec<Session>, StoreError> {
        let rows: Vec<SessionRow> =
            self.connection.during("listing sessions").list(sql, values, take_session)?;
        rows.into_iter().map(SessionRow::into_session).collect()
    }

    pub(in crate::sqlite) fn session(&self, key: &SessionKey) -> Result<Option<Session>, StoreError> {
        let sql = format!("SELECT {SESSION_COLUMNS} FROM session WHERE path = ?1 AND machine = ?2");
        let found = self.connection.during("reading a session").first(
            &sql,
            params![key.path, key.machine.as_str()],
            take_session,
        )?;
        found.map(SessionRow::into_session).transpose()
    }

    pub(in crate::sqlite) fn cursor(&self, key: &SessionKey) -> Result<Option<Vec<u8>>, StoreError> {
        PlaceKey::new(&key.path, key.machine.as_str())
            .row(&self.connection, (&CURSOR, "value"), |row| row.get(0))
            .during("reading a cursor")
    }

    pub(in crate::sqlite) fn placement(
        &self,
        machine: &MachineId,
        path: &str,
    ) -> Result<Option<Placement>, StoreError> {
        type Columns = (String, [u8; 16], i64, i64, [u8; 32], i64);
        let names = "session, ctx, taken_bytes, placed_bytes, keyed_hash, placed_at";
        let place = PlaceKey::new(path, machine.as_str());
        let found: Option<Columns> =
            place.row(&self.connection, (&PLACEMENT, names), columns).during("reading a placement")?;
        let Some((session, ctx, taken_bytes, placed_bytes, keyed_hash, placed_at)) = found else {
            return Ok(None);
        };
        Ok(Some(Placement {
            machine: machine.clone(),
            path: path.to_owned(),
            session: SessionId::new(session)
                .map_err(|error| unreadable("placement.session", &path, &error))?,
            ctx: CommitId::from_bytes(ctx),
            taken_bytes: taken_bytes.cast_unsigned(),
            placed_bytes: placed_bytes.cast_unsigned(),
            keyed_hash,
            placed_at: Timestamp::from_micros(placed_at),
        }))
    }

    /// Counts everything but the bytes of files.
    pub(in crate::sqlite) fn usage(&self) -> Result<Usage, StoreError> {
        let operation = "counting what is stored";
        let mut usage = Usage::default();
        let count = |sql: &str| -> Result<u64, StoreError> {
            let number: i64 = self.connection.during(operation).only(sql, [], one)?;
            Ok(number.cast_unsigned())
        };
        usage.sessions = count(&format!("SELECT count(*) FROM session WHERE format <> '{SIDECAR_FORMAT}'"))?;
        usage.sidecars = count(&format!("SELECT count(*) FROM session WHERE format = '{SIDECAR_FORMAT}'"))?;
        usage.contents = count("SELECT (SELECT count(*) FROM content) + (SELECT count(*) FROM packed)")?;
        usage.packs = count("SELECT count(*) FROM pack")?;
        usage.packed_bytes = count("SELECT ifnull(sum(bytes), 0) FROM pack")?;
        let packed = count("SELECT ifnull(sum(length), 0) FROM packed")?;
        let sums = format!(
            "SELECT ifnull(sum(length), 0), ifnull(sum(length(bytes)), 0) FROM content WHERE coding <> {}",
            Coding::Composed.number()
        );
        let (distinct, stored): (i64, i64) = self.connection.during(operation).only(&sums, [], columns)?;
        usage.distinct_bytes = distinct.cast_unsigned() + packed;
        usage.inbox_bytes = stored.cast_unsigned();
        usage.content_bytes = usage.inbox_bytes + usage.packed_bytes;
        let sql = format!(
            "SELECT row, figures, kind IN (SELECT row FROM kind WHERE format = '{SIDECAR_FORMAT}') FROM commits"
        );
        let take = |row: &Row<'_>| {
            Ok((Figures::decode(row.get_ref(1)?.as_bytes()?, row.get(0)?), row.get::<_, bool>(2)?))
        };
        self.connection.during(operation).each(&sql, [], take, |(figures, is_sidecar)| {
            let figures = figures?;
            usage.commits += 1;
            if is_sidecar {
                usage.sidecar_commits += 1;
                usage.sidecar_bytes = usage.sidecar_bytes.saturating_add(figures.native_bytes);
            }
            usage.logical_bytes = usage.logical_bytes.saturating_add(figures.native_bytes);
            Ok(())
        })?;
        Ok(usage)
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;
    use crate::sqlite::open::{Opened, SqliteOptions, open_store};
    use crate::sqlite::plans_tests::plan;

    #[test]
    fn sessions_of_a_project_are_read_from_the_table_and_all_sessions_in_their_order() {
        let home = TempDir::new().expect("a directory");
        let Opened { connection, .. } = open_store(home.path(), &SqliteOptions::default()).expect("a store");
        let plan_of = |project: Option<&str>| {
            let filter = SessionFilter { project: project.map(str::to_owned), ..SessionFilter::default() };
            plan(&connection, &listing(&filter, Page { skip: 0, rows_max: 20 }).0)
        };
        assert_eq!(plan_of(Some("/work")), ["SCAN session", "USE TEMP B-TREE FOR ORDER BY"]);
        assert_eq!(plan_of(None), ["SCAN session USING INDEX session_by_last"]);
    }
}
