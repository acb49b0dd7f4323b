//! What collection reads ahead of the write lock: which contents commits and events name, and which lists lean on which rows.
//!
//! Reading all rows of a large store takes seconds, and writers do not wait for that. Under the lock only what came
//! since is read. That is enough while whoever deletes holds the lock of packs: rows are only added then, their
//! numbers grow, and of those that are there only holes change what they need.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use rusqlite::Connection;

use super::failure::During;
use super::ledger::forget::is_line;
use super::read::contents::pieces_of;
use crate::error::StoreError;
use crate::rules::coding::Coding;
use crate::rules::pieces;
use crate::rules::state;
use crate::sqlite::statements::{columns, one};

const READING: &str = "reading what is needed";

/// A commit by its row, as far as it names contents.
pub(super) type Named = crate::rules::removal::Named<i64, i64>;

/// What was read ahead.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    commits: Vec<Named>,
    last_commit: i64,
    last_content: i64,
    /// Rows that lists have ranges of, and the lists' rows, in order.
    leaning: Vec<(i64, i64)>,
    /// Contents without bytes.
    forgotten: Vec<i64>,
    /// Contents that no commit needs, and the bytes that they have of their own.
    orphans: BTreeMap<i64, u64>,
}

impl Ahead {
    /// Hands every commit to `act`, but for those that were removed since, by their rows.
    pub(super) fn each_commit(
        &self,
        connection: &Connection,
        removed: &HashSet<i64>,
        act: &mut dyn FnMut(Named),
    ) -> Result<(), StoreError> {
        let since = self.since(connection)?;
        let filled: HashSet<i64> = since.iter().map(|named| named.commit).collect();
        let known = self.commits.iter().filter(|named| !filled.contains(&named.commit));
        known.chain(&since).filter(|named| !removed.contains(&named.commit)).for_each(|named| act(*named));
        Ok(())
    }

    /// Returns the composed contents that may lean on some of these rows.
    pub(super) fn leaning_on(
        &self,
        connection: &Connection,
        rows: &BTreeSet<i64>,
    ) -> Result<BTreeSet<i64>, StoreError> {
        let mut found = BTreeSet::new();
        for row in rows {
            let from = self.leaning.partition_point(|(piece, _)| piece < row);
            let own = self.leaning.iter().skip(from).take_while(|(piece, _)| piece == row);
            found.extend(own.map(|(_, list)| *list));
        }
        let sql = "SELECT row FROM content WHERE row > ?1 AND coding = 3";
        found.extend(connection.during(READING).list::<i64, Vec<i64>>(sql, [self.last_content], one)?);
        // Some of them have bytes again, and may have them as lists.
        found.extend(&self.forgotten);
        Ok(found)
    }

    /// Reads all of it, within a transaction of the caller.
    pub(super) fn read(connection: &Connection) -> Result<Self, StoreError> {
        type Columns = (i64, i64, i64, Option<Vec<u8>>);
        let mut ahead = Self::default();
        each_above(connection, 0, &mut |named| {
            ahead.last_commit = ahead.last_commit.max(named.commit);
            ahead.commits.push(named);
        })?;
        let mut needed: HashSet<i64> = HashSet::new();
        // A hole needs no bytes, but the hash and the length that are left of them.
        let mut named: HashSet<i64> = HashSet::new();
        for commit in &ahead.commits {
            if commit.is_hole { &mut named } else { &mut needed }.extend(commit.contents());
        }
        let sql = "SELECT content FROM event WHERE content IS NOT NULL";
        needed.extend(connection.during(READING).list::<i64, Vec<i64>>(sql, [], one)?);
        let mut parts: HashSet<i64> = HashSet::new();
        let sql = "SELECT row, length, coding, iif(coding = 3, bytes, NULL) FROM content \
                   UNION ALL SELECT row, length, 0, NULL FROM packed";
        connection.during(READING).each(sql, [], columns, |(number, length, coding, list): Columns| {
            let is_left = coding == Coding::Forgotten.number();
            let is_needed = needed.contains(&number);
            let has_bytes = list.is_none() && !is_left;
            ahead.last_content = ahead.last_content.max(number);
            if is_left {
                ahead.forgotten.push(number);
            }
            for piece in list.map(|list| pieces::list_of(&list, &number)).transpose()?.unwrap_or_default() {
                ahead.leaning.push((piece.of, number));
                if is_needed {
                    parts.insert(piece.of);
                }
            }
            let is_kept = is_needed || is_left && named.contains(&number);
            if !is_kept {
                ahead.orphans.insert(number, if has_bytes { length.cast_unsigned() } else { 0 });
            }
            Ok(())
        })?;
        ahead.orphans.retain(|row, _| !parts.contains(row));
        ahead.leaning.sort_unstable();
        ahead.leaning.dedup();
        Ok(ahead)
    }

    /// Returns contents that no commit names and no content that is needed has ranges of, with the bytes of their own.
    pub(super) fn orphans(&self, connection: &Connection) -> Result<BTreeMap<i64, u64>, StoreError> {
        let mut orphans = self.orphans.clone();
        let is_news = |named: &Named| !named.is_hole || named.commit > self.last_commit;
        for content in self.since(connection)?.into_iter().filter(is_news).flat_map(|named| named.contents())
        {
            orphans.remove(&content);
            for piece in pieces_of(connection, content)? {
                orphans.remove(&piece.of);
            }
        }
        keep_lines(connection, &mut orphans)?;
        Ok(orphans)
    }

    /// Returns commits that came since, and those that were holes, as they are now.
    fn since(&self, connection: &Connection) -> Result<Vec<Named>, StoreError> {
        let mut found = Vec::new();
        each_above(connection, self.last_commit, &mut |named| found.push(named))?;
        let sql = "SELECT row, state, artifact, native FROM commits WHERE row = ?1";
        for hole in self.commits.iter().filter(|named| named.is_hole) {
            found.extend(connection.during(READING).first(sql, [hole.commit], take)?);
        }
        Ok(found)
    }
}

/// Takes out what events that came since need: events have no number that grows over all ledgers.
fn keep_lines(connection: &Connection, orphans: &mut BTreeMap<i64, u64>) -> Result<(), StoreError> {
    let mut kept = Vec::new();
    for row in orphans.keys() {
        if is_line(connection, *row)? {
            kept.push(*row);
            kept.extend(pieces_of(connection, *row)?.into_iter().map(|piece| piece.of));
        }
    }
    for row in kept {
        orphans.remove(&row);
    }
    Ok(())
}

/// Hands commits above a row to `act`.
pub(super) fn each_above(
    connection: &Connection,
    row: i64,
    act: &mut dyn FnMut(Named),
) -> Result<(), StoreError> {
    let sql = "SELECT row, state, artifact, native FROM commits WHERE row > ?1";
    connection.during(READING).each(sql, [row], take, |named| {
        act(named);
        Ok(())
    })
}

fn take(row: &rusqlite::Row<'_>) -> rusqlite::Result<Named> {
    let is_hole = state::is_hole(row.get(1)?);
    Ok(Named { commit: row.get(0)?, is_hole, artifact: row.get(2)?, native: row.get(3)? })
}

#[cfg(test)]
mod tests;
