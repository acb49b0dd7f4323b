//! Where commits were seen, and finding them by time.
//!
//! Sessions themselves are in `listings`.

use rusqlite::types::Value;
use rusqlite::{Row, params, params_from_iter};
use stemmata_model::{CommitId, Sighting, Timestamp};

use super::Reader;
use super::commits::{key_of, sql_limit};
use super::listings::Below;
use crate::error::StoreError;
use crate::rules::rows::SightingRow;
use crate::seam::ResolveScope;
use crate::sqlite::failure::During;
use crate::write::SIDECAR_FORMAT;

const SEEN: &str = "reading sightings";

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
    pub(in crate::sqlite) fn sightings(
        &self,
        commit: CommitId,
        limit: usize,
    ) -> Result<Vec<Sighting>, StoreError> {
        let sql = format!(
            "WITH c (row, created_at, origin) AS ( \
             SELECT row, created_at, origin FROM commits WHERE substr(id, 1, 8) = ?1 AND id = ?2) \
             SELECT {COLUMNS} FROM c JOIN sighting s ON s.created_at = c.created_at AND s.commit_row = c.row \
             AND s.origin IN (SELECT c.origin UNION ALL \
             SELECT m.origin FROM sighting_more m WHERE m.commit_row = c.row) \
             JOIN origin o ON o.row = s.origin \
             ORDER BY {ORDER} LIMIT ?3"
        );
        let values = params![key_of(commit), commit.to_bytes(), sql_limit(limit)];
        let rows: Vec<SightingRow> = self.connection.during(SEEN).list(&sql, values, take_sighting)?;
        rows.into_iter().map(SightingRow::into_sighting).collect()
    }

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
                let below = Below::new(project);
                let values = below.into_values().into_iter().chain([SIDECAR_FORMAT.to_owned()]);
                (
                    "SELECT DISTINCT o.row FROM session p \
                     JOIN origin o ON o.session = p.session AND o.machine = p.machine \
                     WHERE (p.cwd = ?3 OR substr(p.cwd, 1, length(?4)) = ?4 \
                     OR substr(p.cwd, 1, length(?5)) = ?5) AND p.format <> ?6",
                    values.collect(),
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
