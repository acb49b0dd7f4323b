//! Which contents go into packs, in which order: neighbours of one chain together.
//!
//! Reads rows only; how bytes are compressed is `encode`'s.

use std::collections::{HashMap, HashSet};

use rusqlite::Connection;

use super::sources;
use crate::error::StoreError;
use crate::pack::bounds::{BLOCK_BYTES_TARGET, BLOCK_MEMBERS_MAX, OWN_BLOCK_BYTES_MIN};
use crate::sqlite::failure::During;
use crate::sqlite::pieces;

const PLANNING: &str = "looking for what is to be packed";

/// Bytes that make a block large enough to end where a chain ends; smaller ones take the next chain in too.
const MIXED_BYTES_MIN: usize = BLOCK_BYTES_TARGET / 4;

/// Bytes from which on it is worth looking whether a chain is a copy.
const COPY_BYTES_MIN: usize = 4096;

/// Copies of copies that are packed in the order of their making within one run; the rest as if they were none.
const ROUNDS_MAX: usize = 8;

/// A literal content that is to be packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Member {
    pub(super) row: i64,
    pub(super) length: usize,
    /// The block that it is in now; none for the inbox.
    pub(super) block: Option<i64>,
}

/// Contents of commits that follow each other, or of none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Strand {
    /// The first of its commits that was looked at, and that one's parent.
    pub(super) first: Option<(i64, Option<i64>)>,
    /// The commit of another chain that this one is a copy of.
    pub(super) origin: Option<i64>,
    pub(super) members: Vec<Member>,
}

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

/// Contents that make a block, as places in the plan.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct BlockPlan {
    pub(super) members: Vec<Member>,
    /// The strand that the first of them is of.
    pub(super) strand: usize,
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
    connection
        .query_row(
            "SELECT count(*), ifnull(sum(length(bytes)), 0) FROM content \
             WHERE row > (SELECT packed_content FROM store) AND coding IN (0, 1, 2)",
            [],
            |row| {
                let (contents, bytes): (i64, i64) = (row.get(0)?, row.get(1)?);
                Ok(Waiting { contents: contents.cast_unsigned(), bytes: bytes.cast_unsigned() })
            },
        )
        .during(PLANNING)
}

/// Finds what is to be packed. The connection stands in one transaction.
pub(super) fn plan(connection: &Connection) -> Result<Plan, StoreError> {
    let (content_mark, commit_mark) = connection
        .query_row("SELECT packed_content, packed_commit FROM store", [], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?))
        })
        .during(PLANNING)?;
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
        let mut statement = connection
            .prepare(
                "SELECT row, length, length(bytes) FROM content WHERE row > ?1 AND coding IN (0, 1, 2) \
                 ORDER BY row",
            )
            .during(PLANNING)?;
        let mut rows = statement.query([self.plan.content_mark]).during(PLANNING)?;
        while let Some(row) = rows.next().during(PLANNING)? {
            let number: i64 = row.get(0).during(PLANNING)?;
            let length: i64 = row.get(1).during(PLANNING)?;
            let stored: i64 = row.get(2).during(PLANNING)?;
            // A length that no content has is damage: it stays where it is.
            if let Ok(length) = usize::try_from(length) {
                self.left.insert(number, length);
            }
            self.plan.inbox_bytes += stored.cast_unsigned();
            self.plan.content_mark = number;
        }
        Ok(())
    }

    /// Gives contents places in the order of the chains that they are of.
    fn follow_commits(&mut self, connection: &Connection) -> Result<(), StoreError> {
        let mut statement = connection
            .prepare("SELECT row, parent, native, artifact FROM commits WHERE row > ?1 ORDER BY row")
            .during(PLANNING)?;
        let mut rows = statement.query([self.plan.commit_mark]).during(PLANNING)?;
        // The strand that ends with a commit.
        let mut ends: HashMap<i64, usize> = HashMap::new();
        while let Some(row) = rows.next().during(PLANNING)? {
            let commit: i64 = row.get(0).during(PLANNING)?;
            let parent: Option<i64> = row.get(1).during(PLANNING)?;
            let contents: [Option<i64>; 2] = [row.get(2).during(PLANNING)?, row.get(3).during(PLANNING)?];
            let strands = &mut self.strands;
            let strand = parent.and_then(|parent| ends.remove(&parent)).unwrap_or_else(|| {
                strands.push(Strand { first: Some((commit, parent)), ..Strand::default() });
                strands.len() - 1
            });
            ends.insert(commit, strand);
            self.strand_of.insert(commit, strand);
            for content in contents.into_iter().flatten() {
                for row in literal_rows(connection, content)? {
                    self.give_place(row, strand);
                }
            }
            self.plan.commit_mark = commit;
        }
        Ok(())
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
        let mut rounds = vec![0; strands.len()];
        // Links form no ring; where damage made one, some of it is packed as if it were no copy.
        for _ in 0..ROUNDS_MAX {
            for (number, strand) in strands.iter().enumerate() {
                let origin = strand.origin.and_then(|commit| self.strand_of.get(&commit));
                if let Some(origin) = origin.filter(|origin| **origin != number) {
                    let after = rounds.get(*origin).map_or(0, |round: &usize| round + 1).min(ROUNDS_MAX);
                    if let Some(round) = rounds.get_mut(number) {
                        *round = after.max(*round);
                    }
                }
            }
        }
        self.plan.rounds = vec![Vec::new(); rounds.iter().max().map_or(0, |last| last + 1)];
        for (strand, round) in strands.into_iter().zip(rounds) {
            if let Some(round) = self.plan.rounds.get_mut(round).filter(|_| !strand.members.is_empty()) {
                round.push(strand);
            }
        }
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
    let list: Option<Vec<u8>> = connection
        .prepare_cached("SELECT bytes FROM content WHERE row = ?1 AND coding = 3")
        .and_then(|mut statement| {
            let mut rows = statement.query([content])?;
            rows.next()?.map(|row| row.get(0)).transpose()
        })
        .during(PLANNING)?;
    let Some(list) = list else {
        return Ok(vec![content]);
    };
    // A list that cannot be read is damage, which `verify` names; its parts are packed with the rest.
    let mut seen = HashSet::new();
    let rows = pieces::decode(&list).unwrap_or_default().into_iter().map(|piece| piece.row);
    Ok(rows.filter(|row| seen.insert(*row)).collect())
}

/// Cuts strands into blocks of neighbours.
pub(super) fn cut(strands: &[Strand]) -> Vec<BlockPlan> {
    let mut blocks = Vec::new();
    let mut current = BlockPlan::default();
    let mut bytes = 0;
    for (number, strand) in strands.iter().enumerate() {
        // Copies lean on other blocks, and share none with what does not.
        let alone = strand.origin.is_some()
            || number
                .checked_sub(1)
                .and_then(|before| strands.get(before))
                .is_some_and(|before| before.origin.is_some());
        if alone || bytes >= MIXED_BYTES_MIN {
            flush(&mut blocks, &mut current, &mut bytes);
        }
        for member in &strand.members {
            let full =
                bytes + member.length > BLOCK_BYTES_TARGET || current.members.len() >= BLOCK_MEMBERS_MAX;
            if full || member.length >= OWN_BLOCK_BYTES_MIN {
                flush(&mut blocks, &mut current, &mut bytes);
            }
            if current.members.is_empty() {
                current.strand = number;
            }
            bytes += member.length;
            current.members.push(*member);
            if member.length >= OWN_BLOCK_BYTES_MIN {
                flush(&mut blocks, &mut current, &mut bytes);
            }
        }
    }
    flush(&mut blocks, &mut current, &mut bytes);
    blocks
}

fn flush(blocks: &mut Vec<BlockPlan>, current: &mut BlockPlan, bytes: &mut usize) {
    *bytes = 0;
    if !current.members.is_empty() {
        blocks.push(std::mem::take(current));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::pack::bounds::BLOCK_BYTES_MAX;

    proptest! {
        #[test]
        fn every_content_has_one_place_and_no_block_is_too_large(
            lengths in proptest::collection::vec(proptest::collection::vec(prop_oneof![0..2000_usize, 0..600_000_usize, 0..4_194_304_usize], 0..30), 0..12),
        ) {
            let mut row = 0;
            let strands: Vec<Strand> = lengths.into_iter().map(|lengths| {
                let members = lengths.into_iter().map(|length| {
                    row += 1;
                    Member { row, length, block: None }
                }).collect();
                Strand { members, ..Strand::default() }
            }).collect();
            let blocks = cut(&strands);
            let placed: Vec<i64> = blocks.iter().flat_map(|block| &block.members).map(|member| member.row).collect();
            prop_assert_eq!(placed, (1..=row).collect::<Vec<i64>>());
            for block in &blocks {
                let bytes: usize = block.members.iter().map(|member| member.length).sum();
                prop_assert!(bytes <= BLOCK_BYTES_MAX);
                prop_assert!(bytes <= BLOCK_BYTES_TARGET || block.members.len() == 1);
            }
        }
    }
}
