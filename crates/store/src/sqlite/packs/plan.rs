//! Which contents go into packs, in which order: neighbours of one chain together.
//!
//! Reads rows only; how they are cut into blocks is decided in `crate::rules::packing`, and how bytes are compressed is `encode`'s.

use std::collections::{HashMap, HashSet};

use rusqlite::Connection;

use super::sources;
use crate::error::StoreError;
use crate::rules::packing::{Member, Strand, rounds};
use crate::rules::pieces;
use crate::sqlite::failure::During;
use crate::sqlite::read::contents::list_of;
use crate::sqlite::statements::columns;

const PLANNING: &str = "looking for what is to be packed";

/// Bytes from which on it is worth looking whether a chain is a copy.
const COPY_BYTES_MIN: usize = 4096;

/// What there is to pack.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// In rounds: what one leans on is packed in a round before.
    pub(super) rounds: Vec<Vec<Strand>>,
    /// Stored bytes of the literal contents in the inbox.
    pub(super) inbox_bytes: u64,
    /// The last commit that was looked at.
    pub(super) commit_mark: i64,
    /// The last content that was looked at.
    pub(super) content_mark: i64,
}

#[derive(Default)]
struct Inbox {
    /// Lengths of what is still to be given a place, by row.
    left: HashMap<i64, usize>,
    strands: Vec<Strand>,
    /// The strands of commits that were looked at.
    strand_of: HashMap<i64, usize>,
    plan: Plan,
}

/// What waits to be packed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waiting {
    pub(super) contents: u64,
    /// Bytes as they are stored.
    pub(super) bytes: u64,
}

/// Counts what waits to be packed.
pub(super) fn inbox(connection: &Connection) -> Result<Waiting, StoreError> {
    let sql = "SELECT count(*), ifnull(sum(length(bytes)), 0) FROM content \
               WHERE row > (SELECT packed_content FROM store) AND coding IN (0, 1, 2)";
    connection.during(PLANNING).only(sql, [], |row| {
        let (contents, bytes): (i64, i64) = (row.get(0)?, row.get(1)?);
        Ok(Waiting { contents: contents.cast_unsigned(), bytes: bytes.cast_unsigned() })
    })
}

/// Finds what is to be packed. The connection stands in one transaction.
pub(super) fn plan(connection: &Connection) -> Result<Plan, StoreError> {
    let (content_mark, commit_mark) =
        connection.during(PLANNING).only("SELECT packed_content, packed_commit FROM store", [], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?))
        })?;
    let mut inbox = Inbox { plan: Plan { commit_mark, content_mark, ..Plan::default() }, ..Inbox::default() };
    inbox.gather(connection)?;
    if inbox.left.is_empty() {
        return Ok(inbox.plan);
    }
    inbox.follow_commits(connection)?;
    let mut rest: Vec<(i64, usize)> = inbox.left.drain().collect();
    rest.sort_unstable();
    let members = rest.into_iter().map(|(row, length)| Member { row, length, block: None }).collect();
    inbox.strands.push(Strand { members, ..Strand::default() });
    inbox.find_sources(connection)?;
    Ok(inbox.plan)
}

impl Inbox {
    fn gather(&mut self, connection: &Connection) -> Result<(), StoreError> {
        let sql = "SELECT row, length, length(bytes) FROM content WHERE row > ?1 AND coding IN (0, 1, 2) \
                   ORDER BY row";
        let after = self.plan.content_mark;
        let ask = connection.during(PLANNING);
        ask.each(sql, [after], columns, |(number, length, stored): (i64, i64, i64)| {
            // A length that no content has is damage: it stays where it is.
            if let Ok(length) = usize::try_from(length) {
                self.left.insert(number, length);
            }
            self.plan.inbox_bytes += stored.cast_unsigned();
            self.plan.content_mark = number;
            Ok(())
        })
    }

    /// Gives contents places in the order of the chains that they are of.
    fn follow_commits(&mut self, connection: &Connection) -> Result<(), StoreError> {
        type Columns = (i64, Option<i64>, Option<i64>, Option<i64>);
        let sql = "SELECT row, parent, native, artifact FROM commits WHERE row > ?1 ORDER BY row";
        // The strand that ends with a commit.
        let mut ends: HashMap<i64, usize> = HashMap::new();
        let after = self.plan.commit_mark;
        let ask = connection.during(PLANNING);
        ask.each(sql, [after], columns, |(commit, parent, native, artifact): Columns| {
            let strands = &mut self.strands;
            let strand = parent.and_then(|parent| ends.remove(&parent)).unwrap_or_else(|| {
                strands.push(Strand { first: Some((commit, parent)), ..Strand::default() });
                strands.len() - 1
            });
            ends.insert(commit, strand);
            self.strand_of.insert(commit, strand);
            for content in [native, artifact].into_iter().flatten() {
                for row in literal_rows(connection, content)? {
                    self.give_place(row, strand);
                }
            }
            self.plan.commit_mark = commit;
            Ok(())
        })
    }

    /// Finds what strands are copies of, and the last blocks of their chains, and puts originals before copies.
    fn find_sources(&mut self, connection: &Connection) -> Result<(), StoreError> {
        let mut strands = std::mem::take(&mut self.strands);
        let mut taken = HashSet::new();
        for strand in strands.iter_mut().filter(|strand| !strand.members.is_empty()) {
            let Some((commit, parent)) = strand.first else {
                continue;
            };
            let bytes = strand.members.iter().map(|member| member.length).sum();
            if bytes >= COPY_BYTES_MIN {
                strand.origin = sources::origin_of(connection, commit)?;
            }
            if let Some(parent) = parent.filter(|_| strand.origin.is_none()) {
                let tail = sources::tail(connection, parent, bytes)?;
                if tail.first().is_some_and(|member| taken.insert(member.block)) {
                    strand.members.splice(0..0, tail);
                }
            }
        }
        self.plan.rounds = rounds(strands, |commit| self.strand_of.get(&commit).copied());
        Ok(())
    }

    fn give_place(&mut self, row: i64, strand: usize) {
        if let Some(length) = self.left.remove(&row)
            && let Some(strand) = self.strands.get_mut(strand)
        {
            strand.members.push(Member { row, length, block: None });
        }
    }
}

/// Returns the literal rows that a content is made of: itself, or those that its list names.
pub(super) fn literal_rows(connection: &Connection, content: i64) -> Result<Vec<i64>, StoreError> {
    let Some(list) = list_of(connection, content)? else {
        return Ok(vec![content]);
    };
    // A list that cannot be read is damage, which `verify` names; its parts are packed with the rest.
    let mut seen = HashSet::new();
    let rows = pieces::decode(&list).unwrap_or_default().into_iter().map(|piece| piece.of);
    Ok(rows.filter(|row| seen.insert(*row)).collect())
}
