//! Recomputing what follows from commits and sightings: tips, depths, lengths, indexes, listings.

use std::collections::HashMap;

use rusqlite::{Connection, Row, params};

use crate::error::StoreError;
use crate::maintain::repair::Repaired;
use crate::rules::figures::Figures;
use crate::seam::Damage;
use crate::sqlite::SqliteStore;
use crate::sqlite::failure::During;
use crate::sqlite::read::commits::childless;

const RECOMPUTING: &str = "recomputing what follows from commits";

/// What is recomputed by one statement, and its name for people.
const STATEMENTS: [(&str, &str); 4] = [
    (
        "tips",
        concat!(
            "UPDATE commits AS c SET tip = NOT tip WHERE tip IS NOT (c.state & 3 < 2 AND ",
            childless!(),
            ")"
        ),
    ),
    (
        "sightings of commits",
        "INSERT OR IGNORE INTO sighting_more SELECT s.commit_row, s.origin FROM sighting s \
         JOIN commits c ON c.row = s.commit_row WHERE c.origin IS NOT s.origin",
    ),
    (
        "times of sightings",
        "UPDATE OR REPLACE sighting AS s SET created_at = (SELECT created_at FROM commits c WHERE c.row = s.commit_row) \
         WHERE EXISTS (SELECT 1 FROM commits c WHERE c.row = s.commit_row AND c.created_at <> s.created_at)",
    ),
    (
        "newest commits of sessions",
        "UPDATE session AS s SET tip = (SELECT c.id FROM origin o JOIN sighting g ON g.origin = o.row \
         JOIN commits c ON c.row = g.commit_row WHERE o.session = s.session AND o.machine = s.machine \
         AND o.path IS s.path ORDER BY c.row DESC LIMIT 1) WHERE s.tip IS NOT NULL AND NOT EXISTS \
         (SELECT 1 FROM commits c WHERE substr(c.id, 1, 8) = substr(s.tip, 1, 8) AND c.id = s.tip)",
    ),
];

impl SqliteStore {
    /// Recomputes what is wrong by itself, in one transaction; tells how many rows of each kind were.
    pub(super) fn repair_derived(
        &self,
        damages: &[Damage],
        is_measured: bool,
    ) -> Result<Vec<Repaired>, StoreError> {
        let is_about = |check: &str| damages.iter().any(|damage| damage.check == check);
        let (structure, rows) = (is_about("database"), is_about("commit") || is_about("reference"));
        if !structure && !rows {
            return Ok(Vec::new());
        }
        self.group.maintain(|connection| {
            let mut repaired = Vec::new();
            if structure && connection.execute_batch("REINDEX").is_ok() {
                repaired.push(of("indexes", 0));
            }
            let figures = if is_measured { recompute_figures(connection)? } else { 0 };
            repaired.extend((figures > 0).then(|| of("depths and lengths of commits", figures)));
            for (name, sql) in STATEMENTS {
                let changed = connection.during(RECOMPUTING).run(sql, [])?;
                repaired.extend((changed > 0).then(|| of(name, changed)));
            }
            Ok(repaired)
        })
    }
}

fn of(object: &str, rows: usize) -> Repaired {
    let from = if rows == 0 { "made anew".to_owned() } else { format!("recomputed in {rows} rows") };
    Repaired { object: object.to_owned(), from }
}

/// Recomputes depth and lengths of all commits, in the order of their rows: a parent's is smaller than its children's.
fn recompute_figures(connection: &Connection) -> Result<usize, StoreError> {
    let mut known: HashMap<i64, (u64, u64)> = HashMap::new();
    let mut wrong: Vec<(i64, Vec<u8>)> = Vec::new();
    let sql = "SELECT row, parent, figures, ifnull((SELECT length FROM content WHERE row = ifnull(c.native, c.artifact)), \
               (SELECT length FROM packed WHERE row = ifnull(c.native, c.artifact))) FROM commits c ORDER BY row";
    let take = |row: &Row<'_>| {
        let (number, parent): (i64, Option<i64>) = (row.get(0)?, row.get(1)?);
        Ok((number, parent, row.get::<_, Vec<u8>>(2), row.get::<_, Option<i64>>(3)))
    };
    connection.during(RECOMPUTING).each(sql, [], take, |(number, parent, bytes, length)| {
        let (Ok(bytes), Ok(Some(length))) = (bytes, length) else { return Ok(()) };
        let before = match parent {
            Some(parent) => known.get(&parent).copied(),
            None => Some((0, 0)),
        };
        // Counts that are lost can only be counted again by who can read the content.
        let (Some((depth, cumulative)), Ok(mut figures)) = (before, Figures::decode(&bytes, number)) else {
            return Ok(());
        };
        let native_bytes = length.cast_unsigned();
        let cumulative = cumulative.saturating_add(native_bytes);
        known.insert(number, (depth.saturating_add(1), cumulative));
        if (figures.native_bytes, figures.depth, figures.cumulative_bytes)
            != (native_bytes, depth, cumulative)
        {
            figures.native_bytes = native_bytes;
            figures.depth = depth;
            figures.cumulative_bytes = cumulative;
            wrong.push((number, figures.encode()));
        }
        Ok(())
    })?;
    for (row, figures) in &wrong {
        connection
            .during(RECOMPUTING)
            .run("UPDATE commits SET figures = ?2 WHERE row = ?1", params![row, figures])?;
    }
    Ok(wrong.len())
}
