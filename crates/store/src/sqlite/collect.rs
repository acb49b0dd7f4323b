//! Collection: condemning what nobody needs, and deleting what was condemned long enough ago.
//!
//! One transaction decides and does both; a row that is deleted was condemned by an earlier one.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use rusqlite::Connection;
use stemmata_model::{CommitId, Timestamp};

use super::ahead::{Ahead, Scan};
use super::failure::During;
use super::forget::commits::remove;
use super::forget::contents::give_up;
use super::forget::plan::{Row, plan};
use super::marks::{self, CONDEMNED_COMMIT, CONDEMNED_CONTENT};
use super::packs::Packs;
use super::stored;
use crate::error::StoreError;
use crate::maintain::collect::{Amount, Collect, Collected};
use crate::rules::condemn::fates;
use crate::rules::removal::{Unrooting, contents_of};
use crate::rules::sweep::Lines;

const COLLECTING: &str = "collecting what nobody needs";

/// Collects, within a transaction that the caller commits or rolls back, with what was read ahead of it. Returns the
/// rows that go from packs, too.
pub(super) fn collect(
    (connection, packs): (&Connection, &Packs),
    ahead: &Ahead,
    wish: &Collect,
) -> Result<(Collected, BTreeSet<i64>), StoreError> {
    let mut collected = Collected::default();
    let deletable = collect_commits(connection, wish, &mut collected)?;
    let mut going = collect_contents((connection, ahead), wish, &mut collected)?;
    going.extend(contents_of::<_, _, Vec<i64>>(&deletable));
    let removed: HashSet<i64> = deletable.iter().map(|row| row.commit.row).collect();
    let scan = Scan::Ahead(ahead, &removed);
    let (swept, packed) = give_up((connection, packs), scan, (going, &BTreeSet::new()), Lines::Keep)?;
    collected.deleted.add(deletable.len(), swept.contents, swept.bytes);
    collected.copied_out = swept.copied_out;
    Ok((collected, packed))
}

/// Condemns commits, and deletes and returns those that were condemned long enough ago.
fn collect_commits(
    connection: &Connection,
    wish: &Collect,
    collected: &mut Collected,
) -> Result<Vec<Row>, StoreError> {
    let unneeded = plan(connection, Unrooting::retired(&wish.retired))?;
    let condemned: BTreeMap<CommitId, Timestamp> = marks::all(connection, CONDEMNED_COMMIT)?
        .into_iter()
        .filter_map(|(key, at)| {
            Some((CommitId::from_bytes(key.try_into().ok()?), Timestamp::from_micros(at)))
        })
        .collect();
    let fates =
        fates(&unneeded.gone.iter().map(|row| row.commit.id).collect(), &condemned, wish.now, wish.grace_us);
    for id in &fates.revived {
        marks::remove(connection, CONDEMNED_COMMIT, &id.to_bytes())?;
    }
    for id in &fates.condemned {
        marks::set(connection, (CONDEMNED_COMMIT, &id.to_bytes()), wish.now, None)?;
    }
    // What is ripe may yet have a child that is not.
    let deletable = plan(connection, Unrooting::retired(&fates.ripe))?.gone;
    remove(connection, &deletable)?;
    if !deletable.is_empty() {
        stored::set_due(connection, deletable.iter().map(|row| row.commit.row), wish.now)?;
    }
    collected.commits(&fates, &deletable.iter().map(|row| row.commit.id).collect());
    collected.kept = unneeded.kept;
    Ok(deletable)
}

/// Condemns contents that no commit needs (what a crash between two batches left), and returns those that were
/// condemned long enough ago.
fn collect_contents(
    (connection, ahead): (&Connection, &Ahead),
    wish: &Collect,
    collected: &mut Collected,
) -> Result<BTreeSet<i64>, StoreError> {
    let orphans: BTreeMap<i64, u64> = ahead.orphans(connection)?.into_iter().collect();
    let condemned: BTreeMap<i64, Timestamp> = marks::all(connection, CONDEMNED_CONTENT)?
        .into_iter()
        .filter_map(|(key, at)| Some((marks::content_row(&key)?, Timestamp::from_micros(at))))
        .collect();
    let fates = fates(&orphans.keys().copied().collect(), &condemned, wish.now, wish.grace_us);
    for row in fates.revived.iter().chain(&fates.ripe) {
        marks::remove(connection, CONDEMNED_CONTENT, &marks::content_key(*row))?;
    }
    for row in &fates.condemned {
        marks::set(connection, (CONDEMNED_CONTENT, &marks::content_key(*row)), wish.now, None)?;
    }
    for row in orphans.keys() {
        collected.which.add("content", &row.to_be_bytes());
    }
    collected.contents(&fates, &orphans);
    Ok(fates.ripe.into_iter().collect())
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
