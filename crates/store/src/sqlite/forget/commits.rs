//! Removing commits with every row that is about them, and making holes of others.
//!
//! Their contents are `contents`'s.

use rusqlite::{Connection, params};
use stemmata_model::{CommitId, to_u64};

use super::plan::Row;
use crate::error::StoreError;
use crate::maintain::forget::Forget;
use crate::rules::figures::Figures;
use crate::rules::state::STATE_FORGOTTEN;
use crate::rules::tips::{Standing, Step, move_tip};
use crate::sqlite::failure::During;
use crate::sqlite::places::PlaceKey;
use crate::sqlite::read::commits::childless;
use crate::sqlite::seals::{CURSOR, PLACEMENT};
use crate::sqlite::statements::columns;
use crate::write::SessionKey;

const REMOVING: &str = "removing commits";

/// Rows of each table that are about commits in `temp.gone`, in an order in which nothing is looked up that is gone.
const REMOVALS: [&str; 13] = [
    "DELETE FROM temp.touched",
    "INSERT OR IGNORE INTO temp.touched SELECT c.origin FROM temp.gone g JOIN commits c ON c.row = g.row \
     WHERE c.origin IS NOT NULL",
    "INSERT OR IGNORE INTO temp.touched SELECT m.origin FROM temp.gone g \
     JOIN sighting_more m ON m.commit_row = g.row",
    "DELETE FROM sighting WHERE (origin, created_at, commit_row) IN ( \
     SELECT t.row, c.created_at, c.row FROM temp.gone g JOIN commits c ON c.row = g.row \
     JOIN temp.touched t ON t.row = c.origin OR t.row IN ( \
     SELECT m.origin FROM sighting_more m WHERE m.commit_row = c.row))",
    "DELETE FROM sighting_more WHERE commit_row IN (SELECT row FROM temp.gone)",
    "DELETE FROM origin WHERE row IN (SELECT row FROM temp.touched) \
     AND NOT EXISTS (SELECT 1 FROM sighting s WHERE s.origin = origin.row)",
    "DELETE FROM annotation WHERE commit_row IN (SELECT row FROM temp.gone)",
    "DELETE FROM link WHERE source IN (SELECT row FROM temp.gone)",
    "DELETE FROM link WHERE target IN (SELECT row FROM temp.gone)",
    "DELETE FROM anchor WHERE commit_row IN (SELECT row FROM temp.gone)",
    "DELETE FROM coverage WHERE commit_row IN (SELECT row FROM temp.gone)",
    "DELETE FROM placement WHERE ctx IN (SELECT id FROM temp.gone)",
    "UPDATE session SET came = 0, placed_from = NULL, seal = NULL WHERE placed_from IN (SELECT id FROM temp.gone)",
];

/// Removes commits everywhere. No commit that stays may have one of them as parent.
pub(in crate::sqlite) fn remove(connection: &Connection, gone: &[Row]) -> Result<(), StoreError> {
    if gone.is_empty() {
        return Ok(());
    }
    name(connection, gone)?;
    for sql in REMOVALS {
        connection.during(REMOVING).run(sql, [])?;
    }
    move_tips(connection)?;
    connection
        .execute("DELETE FROM mark WHERE kind = 1 AND key IN (SELECT id FROM temp.gone)", [])
        .and_then(|_| connection.execute("DELETE FROM commits WHERE row IN (SELECT row FROM temp.gone)", []))
        .during(REMOVING)?;
    for parent in gone.iter().filter_map(|row| row.commit.parent) {
        let sql = concat!(
            "UPDATE commits AS c SET tip = 1 WHERE row = ?1 AND tip = 0 AND state & 3 < 2 AND ",
            childless!()
        );
        connection.during(REMOVING).run(sql, [parent])?;
    }
    // Numbers of rows that are gone may be given again: packing must look at those again.
    connection.during(REMOVING).run(
        "UPDATE store SET packed_commit = min(packed_commit, (SELECT ifnull(max(row), 0) FROM commits))",
        [],
    )?;
    Ok(())
}

/// Makes holes of commits: their contents are gone, they stay where they are.
pub(in crate::sqlite) fn hole(connection: &Connection, cut: &[Row]) -> Result<(), StoreError> {
    for row in cut {
        connection
            .execute(
                "UPDATE commits SET state = (state & ~3) | ?2, tip = 0 WHERE row = ?1",
                [row.commit.row, STATE_FORGOTTEN],
            )
            .and_then(|_| connection.execute("DELETE FROM anchor WHERE commit_row = ?1", [row.commit.row]))
            .during("making holes of commits")?;
    }
    silence(connection, cut)?;
    Ok(())
}

/// Removes summaries and notes of holes: they say what the commits held. Says whether there were any.
pub(in crate::sqlite) fn silence(connection: &Connection, holes: &[Row]) -> Result<bool, StoreError> {
    let mut removed = 0;
    for row in holes {
        let sql = "DELETE FROM annotation WHERE commit_row = ?1 \
                   AND (kind IN (0, 2) OR kind = 4 AND change IN (0, 3))";
        removed += connection.during("removing what was said of commits").run(sql, [row.commit.row])?;
    }
    Ok(removed > 0)
}

/// Removes what is kept of sessions, and says how many there were.
pub(in crate::sqlite) fn remove_sessions(
    connection: &Connection,
    sessions: &[SessionKey],
) -> Result<u64, StoreError> {
    let mut removed = 0;
    for key in sessions {
        remove_sightings(connection, key)?;
        removed += connection.during(REMOVING).run(
            "DELETE FROM session WHERE path = ?1 AND machine = ?2",
            params![key.path, key.machine.as_str()],
        )?;
        let place = PlaceKey::new(&key.path, key.machine.as_str());
        for of in [&CURSOR, &PLACEMENT] {
            place.remove(connection, of).during(REMOVING)?;
        }
    }
    Ok(to_u64(removed))
}

/// Removes what sessions that stay have kept of what goes: their titles and cursors. Says whether there was any.
pub(in crate::sqlite) fn clear_sessions(connection: &Connection, wish: &Forget) -> Result<bool, StoreError> {
    const CLEARING: &str = "clearing what is known of sessions";
    let mut cleared = 0;
    for key in &wish.unread {
        let place = PlaceKey::new(&key.path, key.machine.as_str());
        cleared += place.remove(connection, &CURSOR).during(CLEARING)?;
    }
    for key in &wish.untitled {
        let sql = "UPDATE session SET title = NULL, seal = NULL WHERE path = ?1 AND machine = ?2 \
                   AND title IS NOT NULL";
        cleared += connection.during(CLEARING).run(sql, [key.path.as_str(), key.machine.as_str()])?;
    }
    Ok(cleared > 0)
}

/// Removes what a session saw of commits that stay: it must not keep them when the next one goes.
fn remove_sightings(connection: &Connection, key: &SessionKey) -> Result<(), StoreError> {
    let api = key.path.strip_prefix("api:");
    connection
        .execute_batch(
            "CREATE TEMP TABLE IF NOT EXISTS touched (row INTEGER PRIMARY KEY); DELETE FROM temp.touched;",
        )
        .and_then(|()| {
            connection.execute(
                "INSERT INTO temp.touched SELECT row FROM origin WHERE machine = ?1 \
                 AND (path = ?2 OR path IS NULL AND session = ?3)",
                params![key.machine.as_str(), key.path, api],
            )
        })
        .during(REMOVING)?;
    for sql in [
        "DELETE FROM sighting_more WHERE origin IN (SELECT row FROM temp.touched)",
        // Another origin takes the place in the commit's own row.
        "UPDATE commits SET origin = (SELECT min(m.origin) FROM sighting_more m WHERE m.commit_row = commits.row) \
         WHERE row IN (SELECT commit_row FROM sighting WHERE origin IN (SELECT row FROM temp.touched)) \
         AND origin IN (SELECT row FROM temp.touched)",
        "DELETE FROM sighting_more WHERE (commit_row, origin) IN (SELECT row, origin FROM commits \
         WHERE row IN (SELECT commit_row FROM sighting WHERE origin IN (SELECT row FROM temp.touched)))",
        "DELETE FROM sighting WHERE origin IN (SELECT row FROM temp.touched)",
        "DELETE FROM origin WHERE row IN (SELECT row FROM temp.touched)",
    ] {
        connection.during(REMOVING).run(sql, [])?;
    }
    Ok(())
}

fn name(connection: &Connection, gone: &[Row]) -> Result<(), StoreError> {
    connection
        .execute_batch(
            "CREATE TEMP TABLE IF NOT EXISTS gone (row INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE); \
             CREATE TEMP TABLE IF NOT EXISTS touched (row INTEGER PRIMARY KEY); DELETE FROM temp.gone;",
        )
        .during(REMOVING)?;
    for row in gone {
        let sql = "INSERT INTO temp.gone (row, id) VALUES (?1, ?2)";
        connection.during(REMOVING).run(sql, params![row.commit.row, row.commit.id.to_bytes()])?;
    }
    Ok(())
}

/// Has sessions that ended at a commit that goes end at its nearest ancestor that stays.
fn move_tips(connection: &Connection) -> Result<(), StoreError> {
    let sql = "SELECT s.path, s.machine, g.row FROM session s JOIN temp.gone g ON g.id = s.tip";
    let ending: Vec<(String, String, i64)> = connection.during(REMOVING).list(sql, [], columns)?;
    for (path, machine, row) in ending {
        let standing = move_tip(row, |row| step(connection, row))?;
        let tip = standing.map(|standing| standing.tip.to_bytes());
        let number = |of: fn(Standing) -> u64| standing.map_or(0, of).cast_signed();
        let sql = "UPDATE session SET tip = ?3, title = iif(?3 IS NULL, NULL, title), commits = ?4, messages = ?5, \
                   bytes = ?6, seal = NULL WHERE path = ?1 AND machine = ?2";
        connection.during(REMOVING).run(
            sql,
            params![path, machine, tip, number(|s| s.commits), number(|s| s.messages), number(|s| s.bytes)],
        )?;
    }
    Ok(())
}

fn step(connection: &Connection, row: i64) -> Result<Option<Step<i64>>, StoreError> {
    type Columns = ([u8; 16], Option<i64>, Vec<u8>, bool);
    let sql = "SELECT c.id, c.parent, c.figures, g.row IS NULL FROM commits c \
               LEFT JOIN temp.gone g ON g.row = c.row WHERE c.row = ?1";
    let found: Option<Columns> = connection.during(REMOVING).first(sql, [row], columns)?;
    let Some((id, parent, figures, stays)) = found else { return Ok(None) };
    let Figures { depth, cumulative_bytes, counts, .. } = Figures::decode(&figures, row)?;
    let id = CommitId::from_bytes(id);
    Ok(Some(Step { id, parent, stays, depth, cumulative_bytes, messages: counts.messages }))
}
