//! Merging neighbours: a few large segments are searched faster than many small ones.
//!
//! Numbers stay as they are; so does everything but the segments themselves.

use std::ops::Range;
use std::sync::Arc;

use rusqlite::{Connection, params};

use super::build::{Built, SegmentBuilder};
use super::error::{IndexError, While};
use super::segment::{ReadColumns, SPAN_MAX, SegmentFamily, SegmentRead, SegmentRow, load_segments};

/// Neighbours of one size that become one.
const FAN: usize = 4;

const WRITING: &str = "writing a segment of the search index";

/// Writes a segment.
pub(super) fn store(
    connection: &Connection,
    (base, family, made): (u32, SegmentFamily, u64),
    built: &Built,
) -> Result<(), IndexError> {
    let (first, last) = built.minutes.unzip();
    let values = params![
        base,
        family.number(),
        built.span,
        made.cast_signed(),
        built.length.cast_signed(),
        first,
        last
    ];
    let sql = "INSERT INTO segment (base, family, span, made, length, minute_first, minute_last) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    connection.while_(WRITING).run(sql, values)?;
    let sql = "INSERT INTO chunk (segment, first, part, bytes) VALUES (?1, ?2, ?3, ?4)";
    let mut insert = connection.prepare_cached(sql).while_(WRITING)?;
    for row in &built.chunks {
        insert.execute(params![base, row.first, row.part, row.bytes]).while_(WRITING)?;
    }
    let sql = "INSERT INTO columns (segment, kind, bytes) VALUES (?1, ?2, ?3)";
    let mut insert = connection.prepare_cached(sql).while_(WRITING)?;
    for (kind, bytes) in &built.columns {
        insert.execute(params![base, kind.number(), bytes]).while_(WRITING)?;
    }
    Ok(())
}

/// Removes the rows of a segment.
pub(super) fn remove(connection: &Connection, base: u32) -> Result<(), IndexError> {
    for sql in [
        "DELETE FROM chunk WHERE segment = ?1",
        "DELETE FROM columns WHERE segment = ?1",
        "DELETE FROM segment WHERE base = ?1",
    ] {
        connection.while_("removing a segment of the search index").run(sql, [base])?;
    }
    Ok(())
}

/// Merges the segments of each block of numbers that is full, and the last ones as long as there are enough of about one size.
pub(super) fn merge(connection: &Connection, family: SegmentFamily, made: u64) -> Result<(), IndexError> {
    loop {
        let mut segments = load_segments(connection)?;
        segments.retain(|segment| segment.family == family);
        let Some(these) = mergeable(&segments).and_then(|range| segments.get(range)) else { return Ok(()) };
        let mut builder = SegmentBuilder::default();
        for row in these {
            builder.absorb(&SegmentRead::new(connection, *row, Arc::new(ReadColumns::default())))?;
        }
        let built = builder.finish();
        for row in these {
            remove(connection, row.base)?;
        }
        let base = these.first().map_or(0, |row| row.base);
        store(connection, (base, family, made), &built)?;
    }
}

/// Returns which segments become one: all of a block that is not the last, or all behind the last larger one.
fn mergeable(segments: &[SegmentRow]) -> Option<Range<usize>> {
    let mut start = 0;
    for block in segments.chunk_by(|left, right| left.base / SPAN_MAX == right.base / SPAN_MAX) {
        let end = start + block.len();
        if end < segments.len() && block.len() > 1 {
            return Some(start..end);
        }
        let last = block.last()?;
        let is_small = |segment: &&SegmentRow| class(segment.span) <= class(last.span);
        let count = block.iter().rev().take_while(is_small).count();
        if end == segments.len() && count >= FAN {
            return Some(end - count..end);
        }
        start = end;
    }
    None
}

/// Returns the size class of a segment: each is four times the one before.
const fn class(span: u32) -> u32 {
    span.ilog2() / FAN.ilog2()
}
