//! Where blocks to lean on are looked for: the chain that a conversation was copied from, and a chain's own
//! last block.
//!
//! Which of them a block then leans on is chosen by what they hold (`crate::pack::similar`).

use std::collections::BTreeSet;

use rusqlite::Connection;

use super::blocks::{BlockRow, find_block};
use super::plan::literal_rows;
use crate::error::StoreError;
use crate::pack::bounds::{BASE_BLOCKS_MAX, BASE_DEPTH_MAX, BLOCK_BYTES_TARGET};
use crate::rules::packing::Member;
use crate::sqlite::failure::During;
use crate::sqlite::statements::{columns, one};

const LOOKING: &str = "looking for blocks to lean on";

/// Commits between a commit and its root that are walked at most to learn what it was copied from.
const ROOT_STEPS_MAX: usize = 1024;

/// Commits of the original that are looked at most.
const COMMITS_MAX: usize = 20_000;

/// Bytes of blocks that may be leaned on at most: they are all decoded once.
const CANDIDATES_BYTES_MAX: usize = 64 * 1024 * 1024;

/// A block that is taken up again is at most so many times as long as what is added: so packing costs no more than
/// a few times what is new, however often it is done.
const TAIL_TIMES_MAX: usize = 4;

/// Returns the commit that the chain of a commit was copied from; none where it is no copy.
pub(super) fn origin_of(connection: &Connection, commit: i64) -> Result<Option<i64>, StoreError> {
    let mut root = commit;
    for _ in 0..ROOT_STEPS_MAX {
        match parent_of(connection, root)? {
            Some(parent) => root = parent,
            None => break,
        }
    }
    connection.during(LOOKING).first(
        "SELECT target FROM link WHERE source = ?1 AND kind = 0 ORDER BY target DESC LIMIT 1",
        [root],
        one,
    )
}

/// Returns the blocks of a chain up to a commit, those with fewer bases first, then the nearest.
pub(super) fn candidates(connection: &Connection, commit: i64) -> Result<Vec<BlockRow>, StoreError> {
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    let mut bytes = 0;
    let mut next = Some(commit);
    for _ in 0..COMMITS_MAX {
        let Some(commit) = next.filter(|_| bytes < CANDIDATES_BYTES_MAX) else {
            break;
        };
        for row in contents_of(connection, commit)? {
            if let Some(block) = block_of_content(connection, row)?
                && seen.insert(block)
            {
                bytes += add_candidate(connection, block, &mut found)?;
            }
        }
        next = parent_of(connection, commit)?;
    }
    // What a copy leans on serves the copies of the copy as well, with fewer steps.
    let bases: Vec<i64> = found.iter().flat_map(|block: &BlockRow| block.bases.clone()).collect();
    for base in bases {
        if bytes < CANDIDATES_BYTES_MAX && seen.insert(base) {
            bytes += add_candidate(connection, base, &mut found)?;
        }
    }
    found.sort_by_key(|block| block.depth);
    Ok(found)
}

fn add_candidate(connection: &Connection, row: i64, found: &mut Vec<BlockRow>) -> Result<usize, StoreError> {
    // A row that cannot be read is damage, which reading and `verify` name; nothing leans on it.
    let Some(Ok(block)) = find_block(connection, row)? else {
        return Ok(0);
    };
    if block.depth >= BASE_DEPTH_MAX {
        return Ok(0);
    }
    let bytes = block.length;
    found.push(block);
    Ok(bytes)
}

/// Counts the blocks that are decoded to decode these, and says whether they and one more are few enough.
pub(super) fn are_few(connection: &Connection, rows: &[i64]) -> Result<bool, StoreError> {
    let mut seen: BTreeSet<i64> = BTreeSet::new();
    let mut left = rows.to_vec();
    while let Some(row) = left.pop() {
        if !seen.insert(row) {
            continue;
        }
        if seen.len() >= BASE_BLOCKS_MAX {
            return Ok(false);
        }
        if let Some(Ok(block)) = find_block(connection, row)? {
            left.extend(block.bases);
        }
    }
    Ok(true)
}

/// Returns the contents of the block that a chain's last packed content is in, where it is worth filling up by
/// what follows, of so many bytes.
pub(super) fn tail(
    connection: &Connection,
    parent: i64,
    new_bytes: usize,
) -> Result<Vec<Member>, StoreError> {
    let last = contents_of(connection, parent)?.last().copied();
    let Some(row) = last.map(|row| block_of_content(connection, row)).transpose()?.flatten() else {
        return Ok(Vec::new());
    };
    let Some(Ok(block)) = find_block(connection, row)? else {
        return Ok(Vec::new());
    };
    let fits = block.length < BLOCK_BYTES_TARGET / 2
        && block.length <= new_bytes.saturating_mul(TAIL_TIMES_MAX)
        && block.bases.is_empty();
    if !fits {
        return Ok(Vec::new());
    }
    let sql = "SELECT p.row, p.length FROM block b JOIN packed p ON p.row BETWEEN b.low AND b.high \
               AND p.block = b.row WHERE b.row = ?1 ORDER BY p.offset, p.row";
    let members: Vec<(i64, i64)> = connection.during(LOOKING).list(sql, [row], columns)?;
    let member = |(number, length): (i64, i64)| {
        usize::try_from(length).ok().map(|length| Member { row: number, length, block: Some(row) })
    };
    Ok(members.into_iter().map(member).collect::<Option<Vec<Member>>>().unwrap_or_default())
}

fn parent_of(connection: &Connection, commit: i64) -> Result<Option<i64>, StoreError> {
    connection
        .during(LOOKING)
        .first("SELECT parent FROM commits WHERE row = ?1", [commit], one)
        .map(Option::flatten)
}

fn contents_of(connection: &Connection, commit: i64) -> Result<Vec<i64>, StoreError> {
    let content: Option<i64> = connection.during(LOOKING).first(
        "SELECT ifnull(native, artifact) FROM commits WHERE row = ?1",
        [commit],
        one,
    )?;
    content.map_or(Ok(Vec::new()), |content| literal_rows(connection, content))
}

fn block_of_content(connection: &Connection, row: i64) -> Result<Option<i64>, StoreError> {
    connection.during(LOOKING).first("SELECT block FROM packed WHERE row = ?1", [row], one)
}
