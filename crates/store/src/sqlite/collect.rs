//! Collection: condemning what nobody needs, and deleting what was condemned long enough ago.
//!
//! One transaction decides and does both; a row that is deleted was condemned by an earlier one.

use std::collections::{BTreeSet, HashMap, HashSet};

use rusqlite::Connection;
use stemmata_model::{CommitId, Timestamp};

use super::coding::Coding;
use super::failure::{During, unreadable};
use super::forget::commits::remove;
use super::forget::contents::{all_commits, contents_of, give_up};
use super::forget::plan::{Plan, Wish, plan};
use super::marks::{self, CONDEMNED_COMMIT, CONDEMNED_CONTENT};
use super::packs::Packs;
use super::pieces;
use super::state::STATE_FORGOTTEN;
use crate::error::StoreError;
use crate::maintain::collect::{Amount, Collect, Collected};

const COLLECTING: &str = "collecting what nobody needs";

/// Collects, within a transaction that the caller commits or rolls back. Returns the rows that go from packs, too.
pub(super) fn collect(
    (connection, packs): (&Connection, &Packs),
    wish: &Collect,
) -> Result<(Collected, BTreeSet<i64>), StoreError> {
    let mut collected = Collected::default();
    let ripe = wish.now.as_micros().saturating_sub(wish.grace_us);
    let mut rows = collect_commits((connection, packs), wish, ripe, &mut collected)?;
    rows.extend(collect_contents((connection, packs), wish.now, ripe, &mut collected)?);
    Ok((collected, rows))
}

fn collect_commits(
    (connection, packs): (&Connection, &Packs),
    wish: &Collect,
    ripe: i64,
    collected: &mut Collected,
) -> Result<BTreeSet<i64>, StoreError> {
    let unneeded = unneeded(connection, &wish.retired)?;
    let condemned: HashMap<CommitId, i64> = marks::all(connection, CONDEMNED_COMMIT)?
        .into_iter()
        .filter_map(|(key, at)| Some((CommitId::from_bytes(key.try_into().ok()?), at)))
        .collect();
    let going: HashSet<CommitId> = unneeded.gone.iter().map(|row| row.id).collect();
    for id in condemned.keys().filter(|id| !going.contains(*id)) {
        collected.revived += u64::from(marks::remove(connection, CONDEMNED_COMMIT, &id.to_bytes())?);
    }
    let is_ripe = |id: &CommitId| condemned.get(id).is_some_and(|at| *at <= ripe);
    // What is ripe may yet have a child that is not.
    let ripe: Vec<CommitId> = going.iter().copied().filter(is_ripe).collect();
    let deletable = self::unneeded(connection, &ripe)?.gone;
    remove(connection, &deletable)?;
    let swept = give_up((connection, packs), contents_of(&deletable), &BTreeSet::new())?;
    collected.deleted.add(deletable.len(), swept.contents, swept.bytes);
    collected.copied_out += swept.copied_out;
    let deleted: HashSet<i64> = deletable.iter().map(|row| row.row).collect();
    for row in unneeded.gone.iter().filter(|row| !deleted.contains(&row.row)) {
        if marks::set(connection, (CONDEMNED_COMMIT, &row.id.to_bytes()), wish.now, None)? {
            collected.condemned.commits += 1;
        } else {
            collected.waiting.commits += 1;
        }
    }
    collected.kept = unneeded.kept;
    Ok(swept.packed)
}

fn unneeded(connection: &Connection, retired: &[CommitId]) -> Result<Plan, StoreError> {
    plan(connection, Wish { unroot: retired, sessions: &[], even_sighted: true, even_pinned: false })
}

/// Condemns and deletes contents that no commit needs: what a crash between two batches left.
fn collect_contents(
    (connection, packs): (&Connection, &Packs),
    now: Timestamp,
    ripe: i64,
    collected: &mut Collected,
) -> Result<BTreeSet<i64>, StoreError> {
    let orphans = orphans(connection)?;
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
    if going.is_empty() {
        return Ok(going);
    }
    let swept = give_up((connection, packs), going, &BTreeSet::new())?;
    collected.deleted.add(0, swept.contents, swept.bytes);
    collected.copied_out += swept.copied_out;
    Ok(swept.packed)
}

/// Returns contents that no commit names and no content that is needed has ranges of, with the bytes of their own.
fn orphans(connection: &Connection) -> Result<HashMap<i64, u64>, StoreError> {
    let mut needed: HashSet<i64> = HashSet::new();
    // A hole needs no bytes, but the hash and the length that are left of them.
    let mut named: HashSet<i64> = HashSet::new();
    all_commits(connection, &mut |row| {
        let by = if row.state & 3 == STATE_FORGOTTEN { &mut named } else { &mut needed };
        by.extend(std::iter::once(row.artifact).chain(row.native));
    })?;
    let mut orphans: HashMap<i64, u64> = HashMap::new();
    let mut parts: Vec<pieces::Piece> = Vec::new();
    let mut statement = connection
        .prepare(
            "SELECT row, length, coding, iif(coding = 3, bytes, NULL) FROM content \
             UNION ALL SELECT row, length, 0, NULL FROM packed",
        )
        .during(COLLECTING)?;
    let mut rows = statement.query([]).during(COLLECTING)?;
    while let Some(row) = rows.next().during(COLLECTING)? {
        let number: i64 = row.get(0).during(COLLECTING)?;
        let length: i64 = row.get(1).during(COLLECTING)?;
        let coding: i64 = row.get(2).during(COLLECTING)?;
        let list: Option<Vec<u8>> = row.get(3).during(COLLECTING)?;
        let is_left = coding == Coding::Forgotten.number();
        if needed.contains(&number) {
            if let Some(list) = list {
                let pieces = pieces::decode(&list)
                    .ok_or_else(|| unreadable("content.bytes", &number, &"no list of ranges"))?;
                parts.extend(pieces);
            }
        } else if !(is_left && named.contains(&number)) {
            let has_bytes = list.is_none() && !is_left;
            orphans.insert(number, if has_bytes { length.cast_unsigned() } else { 0 });
        }
    }
    for part in parts {
        orphans.remove(&part.row);
    }
    Ok(orphans)
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
