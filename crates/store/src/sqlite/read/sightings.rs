//! Columns of where commits were seen, and finding commits by time.
//!
//! Sessions themselves are in `listings`.

use rusqlite::types::Value;
use rusqlite::{Row, params_from_iter};
use stemmata_model::{CommitId, Timestamp};

use super::Reader;
use super::commits::sql_limit;
use crate::error::StoreError;
use crate::rules::project;
use crate::rules::rows::SightingRow;
use crate::seam::ResolveScope;
use crate::sqlite::failure::During;
use crate::write::SIDECAR_FORMAT;

/// The columns of a sighting `s` and its origin `o`.
pub(super) const COLUMNS: &str = "o.principal, o.machine, o.session, o.path, o.ticket, o.thread, o.template_alias, \
     s.trigger, s.observed_at, s.offset, s.length";

/// The first sighting first.
pub(super) const ORDER: &str =
    "s.observed_at, o.machine, o.session, o.path, o.principal, o.ticket, o.thread, o.template_alias";

/// Takes the columns of a sighting.
pub(super) fn take_sighting(row: &Row<'_>) -> rusqlite::Result<SightingRow> {
    Ok(SightingRow {
        principal: row.get(0)?,
        machine: row.get(1)?,
        session: row.get(2)?,
        path: row.get(3)?,
        ticket: row.get(4)?,
        thread: row.get(5)?,
        template_alias: row.get(6)?,
        trigger: row.get(7)?,
        observed_at: row.get(8)?,
        offset: row.get(9)?,
        length: row.get(10)?,
    })
}

impl Reader {
    pub(in crate::sqlite) fn resolve(
        &self,
        scope: &ResolveScope,
        at: Timestamp,
        limit: usize,
    ) -> Result<Vec<CommitId>, StoreError> {
        let (origins, named): (&str, Vec<String>) = match scope {
            ResolveScope::Principal(principal) => {
                ("SELECT row FROM origin WHERE principal = ?3", vec![principal.as_str().to_owned()])
            }
            ResolveScope::Session(session) => {
                ("SELECT row FROM origin WHERE session = ?3", vec![session.as_str().to_owned()])
            }
            ResolveScope::Project(project) => {
                // The path itself, and the two starts of paths below it.
                let path = project::trim(project);
                let values = [path, &format!("{path}/"), &format!("{path}\\"), SIDECAR_FORMAT];
                (
                    "SELECT DISTINCT o.row FROM session p \
                     JOIN origin o ON o.session = p.session AND o.machine = p.machine \
                     WHERE (p.cwd = ?3 OR substr(p.cwd, 1, length(?4)) = ?4 \
                     OR substr(p.cwd, 1, length(?5)) = ?5) AND p.format <> ?6",
                    values.map(str::to_owned).to_vec(),
                )
            }
        };
        // One seek in each origin's timeline finds its nearest; the latest of them counts, with all its ties.
        let sql = format!(
            "WITH o (row) AS MATERIALIZED ({origins}), \
             nearest (created_at) AS (SELECT max((SELECT s.created_at FROM sighting s \
             WHERE s.origin = o.row AND s.created_at <= ?1 ORDER BY s.created_at DESC LIMIT 1)) FROM o) \
             SELECT DISTINCT c.id FROM nearest CROSS JOIN o \
             CROSS JOIN sighting s ON s.origin = o.row AND s.created_at = nearest.created_at \
             CROSS JOIN commits c ON c.row = s.commit_row ORDER BY c.id LIMIT ?2"
        );
        let fixed = [at.as_micros(), sql_limit(limit)].map(Value::Integer);
        let values = params_from_iter(fixed.into_iter().chain(named.into_iter().map(Value::Text)));
        let ask = self.connection.during("finding a commit by time");
        ask.list(&sql, values, |row| Ok(CommitId::from_bytes(row.get(0)?)))
    }
}
