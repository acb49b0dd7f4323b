//! Cutting: taking back everything from a commit on, to be settled again by whoever has time.
//!
//! That nothing of it stays in a file is `clean`'s.

use rusqlite::{Connection, params};
use stemmata_model::CommitId;

use super::batch::Watermark;
use super::clean::{Rest, leave};
use super::error::{IndexError, While};
use super::places::{load_rows, save_rows};
use super::segment::{SegmentFamily, SegmentRow, load_segments};
use super::{groups, load_meta, merge, runs, save_meta};
use crate::seam::StoredAt;
use crate::sqlite::statements::one;

const CUTTING: &str = "cutting the search index";

/// What goes: all from these on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cut {
    row: u32,
    number: u32,
    stored: StoredAt,
}

pub(super) fn cut(connection: &Connection, before: StoredAt, rest: Rest) -> Result<(), IndexError> {
    let segments = load_segments(connection)?;
    let cut = plan(connection, &segments, before)?;
    if let Some(cut) = cut {
        leave(connection, rest)?;
        drop_segments(connection, &segments, cut.number)?;
        trim_groups(connection, cut.number)?;
        for (sql, from) in [
            ("DELETE FROM occurrence WHERE row >= ?1", cut.row),
            ("DELETE FROM entry_more WHERE row >= ?1", cut.row),
            ("DELETE FROM place_more WHERE row >= ?1", cut.row),
            ("DELETE FROM author WHERE first >= ?1", cut.number),
        ] {
            connection.while_(CUTTING).run(sql, [from])?;
        }
        trim_places(connection, cut.row)?;
    }
    let stored = cut.map_or(before, |cut| cut.stored.min(before));
    let watermark = load_meta(connection)?.watermark;
    let stays = watermark.through.is_none_or(|(through, _)| through < stored);
    save_meta(connection, if stays { watermark } else { last(connection)? })
}

/// Finds the first row, number and place of storing that a cut removes. A removed row removes its commit, and a removed entry
/// removes the row of each commit that brought it: segments are removed whole, and a commit that took over another one's row has
/// entries that came with that one.
fn plan(
    connection: &Connection,
    segments: &[SegmentRow],
    before: StoredAt,
) -> Result<Option<Cut>, IndexError> {
    let least = |condition: &str, values: &dyn rusqlite::ToSql| {
        connection.while_(CUTTING).first(
            &format!("SELECT row, first, since FROM occurrence WHERE {condition} ORDER BY row LIMIT 1"),
            [values],
            |row: &rusqlite::Row<'_>| Ok(Cut { row: row.get(0)?, number: row.get(1)?, stored: row.get(2)? }),
        )
    };
    let Some(mut cut) = least("stored >= ?1", &before)? else { return Ok(None) };
    loop {
        let holds = |segment: &&SegmentRow| {
            segment.family == SegmentFamily::Commits
                && segment.base <= cut.number
                && cut.number < segment.end()
        };
        if let Some(segment) = segments.iter().find(holds) {
            cut.number = segment.base;
        }
        let reached = [least("last >= ?1", &cut.number)?, least("stored >= ?1", &cut.stored)?];
        let earlier = reached.into_iter().flatten().filter(|found| found.row < cut.row);
        match earlier.min_by_key(|found| found.row) {
            Some(found) => {
                cut = Cut {
                    number: cut.number.min(found.number),
                    stored: cut.stored.min(found.stored),
                    ..found
                };
            }
            None => return Ok(Some(cut)),
        }
    }
}

/// Returns the last commit that the index still has.
fn last(connection: &Connection) -> Result<Watermark, IndexError> {
    let through = connection.while_(CUTTING).first(
        "SELECT stored, id FROM occurrence ORDER BY stored DESC LIMIT 1",
        [],
        |row| Ok((row.get(0)?, CommitId::from_bytes(row.get(1)?))),
    )?;
    Ok(Watermark { through })
}

fn drop_segments(connection: &Connection, segments: &[SegmentRow], from: u32) -> Result<(), IndexError> {
    let gone = segments.iter().filter(|row| row.family == SegmentFamily::Commits && row.base >= from);
    for row in gone {
        merge::remove(connection, row.base)?;
    }
    connection.while_(CUTTING).run("DELETE FROM entry WHERE number >= ?1", [from]).map(drop)
}

fn trim_groups(connection: &Connection, from: u32) -> Result<(), IndexError> {
    connection.while_(CUTTING).run("DELETE FROM grp WHERE first >= ?1", [from])?;
    let sql = "SELECT row FROM grp WHERE last >= ?1";
    let rows: Vec<u32> = connection.while_(CUTTING).list(sql, [from], one)?;
    for row in rows {
        let (first, list) = groups::load_group(connection, row)?;
        groups::save_group(connection, row, first, &runs::below(&list, from))?;
    }
    Ok(())
}

fn trim_places(connection: &Connection, from: u32) -> Result<(), IndexError> {
    let sql = "SELECT row FROM place WHERE events = 0";
    let rows: Vec<u32> = connection.while_(CUTTING).list(sql, [], one)?;
    for row in rows {
        let (own, _) = load_rows(connection, row)?;
        let left = runs::below(&own, from);
        if left.is_empty() {
            connection.while_(CUTTING).run("DELETE FROM place WHERE row = ?1", [row])?;
        } else if left != own {
            save_rows(connection, row, &left)?;
        }
    }
    Ok(())
}

/// Takes back all events: their ledgers are followed from the start again.
pub(super) fn drop_events(connection: &Connection) -> Result<(), IndexError> {
    for row in load_segments(connection)? {
        if row.family == SegmentFamily::Events {
            merge::remove(connection, row.base)?;
        }
    }
    connection
        .execute_batch("DELETE FROM event; DELETE FROM ledger; DELETE FROM place WHERE events = 1;")
        .while_(CUTTING)?;
    leave(connection, Rest::Forgotten)?;
    save_meta(connection, load_meta(connection)?.watermark)
}

/// Takes back places of commits.
pub(super) fn drop_places(connection: &Connection, gone: &[u32]) -> Result<(), IndexError> {
    for place in gone {
        let dropped = connection
            .while_(CUTTING)
            .run("DELETE FROM place WHERE row = ?1 AND events = 0", params![place])?;
        if dropped > 0 {
            leave(connection, Rest::Forgotten)?;
            connection.while_(CUTTING).run("DELETE FROM place_more WHERE place = ?1", [place])?;
        }
    }
    save_meta(connection, load_meta(connection)?.watermark)
}
