//! Collection: condemning what nobody needs, and deleting what was condemned long enough ago.
//!
//! One transaction decides and does both; a row that is deleted was condemned by an earlier one.

use std::collections::{BTreeSet, HashMap, HashSet};

use rusqlite::Connection;
use stemmata_model::{CommitId, Timestamp};

use super::ahead::{Ahead, Scan};
use super::failure::During;
use super::forget::commits::remove;
use super::forget::contents::{Lines, contents_of, give_up};
use super::forget::plan::{Plan, Row, Wish, plan};
use super::marks::{self, CONDEMNED_COMMIT, CONDEMNED_CONTENT};
use super::packs::Packs;
use super::stored;
use crate::error::StoreError;
use crate::maintain::collect::{Amount, Collect, Collected};

const COLLECTING: &str = "collecting what nobody needs";

/// Collects, within a transaction that the caller commits or rolls back, with what was read ahead of it. Returns the
/// rows that go from packs, too.
pub(super) fn collect(
    (connection, packs): (&Connection, &Packs),
    ahead: &Ahead,
    wish: &Collect,
) -> Result<(Collected, BTreeSet<i64>), StoreError> {
    let mut collected = Collected::default();
    let ripe = wish.now.as_micros().saturating_sub(wish.grace_us);
    let deletable = collect_commits(connection, wish, ripe, &mut collected)?;
    let mut going = collect_contents((connection, ahead), wish.now, ripe, &mut collected)?;
    going.extend(contents_of(&deletable));
    let removed: HashSet<i64> = deletable.iter().map(|row| row.row).collect();
    let swept =
        give_up((connection, packs), Scan::Ahead(ahead, &removed), (going, &BTreeSet::new()), Lines::Keep)?;
    collected.deleted.add(deletable.len(), swept.contents, swept.bytes);
    collected.copied_out = swept.copied_out;
    Ok((collected, swept.packed))
}

/// Condemns commits, and deletes and returns those that were condemned long enough ago.
fn collect_commits(
    connection: &Connection,
    wish: &Collect,
    ripe: i64,
    collected: &mut Collected,
) -> Result<Vec<Row>, StoreError> {
    let unneeded = unneeded(connection, &wish.retired)?;
    let condemned: HashMap<CommitId, i64> = marks::all(connection, CONDEMNED_COMMIT)?
        .into_iter()
        .filter_map(|(key, at)| Some((CommitId::from_bytes(key.try_into().ok()?), at)))
        .collect();
    let going: HashSet<CommitId> = unneeded.gone.iter().map(|row| row.id).collect();
    for id in condemned.keys().filter(|id| !going.contains(*id)) {
        collected.revived += u64::from(marks::remove(connection, CONDEMNED_COMMIT, &id.to_bytes())?);
        collected.which.add("revived", &id.to_bytes());
    }
    let is_ripe = |id: &CommitId| condemned.get(id).is_some_and(|at| *at <= ripe);
    // What is ripe may yet have a child that is not.
    let ripe: Vec<CommitId> = going.iter().copied().filter(is_ripe).collect();
    let deletable = self::unneeded(connection, &ripe)?.gone;
    remove(connection, &deletable)?;
    if !deletable.is_empty() {
        stored::set_due(connection, deletable.iter().map(|row| row.row), wish.now)?;
    }
    let deleted: HashSet<i64> = deletable.iter().map(|row| row.row).collect();
    for row in &deletable {
        collected.which.add("deleted", &row.id.to_bytes());
    }
    for row in unneeded.gone.iter().filter(|row| !deleted.contains(&row.row)) {
        collected.which.add("condemned", &row.id.to_bytes());
        if marks::set(connection, (CONDEMNED_COMMIT, &row.id.to_bytes()), wish.now, None)? {
            collected.condemned.commits += 1;
        } else {
            collected.waiting.commits += 1;
        }
    }
    collected.kept = unneeded.kept;
    Ok(deletable)
}

fn unneeded(connection: &Connection, retired: &[CommitId]) -> Result<Plan, StoreError> {
    plan(connection, Wish { unroot: retired, sessions: &[], even_sighted: true, even_pinned: false })
}

/// Condemns contents that no commit needs (what a crash between two batches left), and returns those that were
/// condemned long enough ago.
fn collect_contents(
    (connection, ahead): (&Connection, &Ahead),
    now: Timestamp,
    ripe: i64,
    collected: &mut Collected,
) -> Result<BTreeSet<i64>, StoreError> {
    let orphans = ahead.orphans(connection)?;
    let condemned: HashMap<i64, i64> = marks::all(connection, CONDEMNED_CONTENT)?
        .into_iter()
        .filter_map(|(key, at)| Some((marks::content_row(&key)?, at)))
        .collect();
    for row in condemned.keys().filter(|row| !orphans.contains_key(*row)) {
        let known = marks::remove(connection, CONDEMNED_CONTENT, &marks::content_key(*row))?;
        collected.revived += u64::from(known);
    }
    let mut going = BTreeSet::new();
    for (row, bytes) in orphans {
        collected.which.add("content", &row.to_be_bytes());
        match condemned.get(&row) {
            Some(at) if *at <= ripe => {
                marks::remove(connection, CONDEMNED_CONTENT, &marks::content_key(row))?;
                going.insert(row);
            }
            Some(_) => collected.waiting.add(0, 1, bytes),
            None => {
                marks::set(connection, (CONDEMNED_CONTENT, &marks::content_key(row)), now, None)?;
                collected.condemned.add(0, 1, bytes);
            }
        }
    }
    Ok(going)
}

/// Counts what is condemned.
pub(super) fn condemned(connection: &Connection) -> Result<Amount, StoreError> {
    let count = |sql: &str| -> Result<u64, StoreError> {
        let number: i64 = connection.query_row(sql, [], |row| row.get(0)).during(COLLECTING)?;
        Ok(number.cast_unsigned())
    };
    Ok(Amount {
        commits: count("SELECT count(*) FROM mark WHERE kind = 1")?,
        contents: count("SELECT count(*) FROM mark WHERE kind = 2")?,
        bytes: 0,
    })
}
