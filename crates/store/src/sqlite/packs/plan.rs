//! Which contents go into packs, in which order: neighbours of one chain together.
//!
//! Reads rows only; how bytes are compressed is `encode`'s.

use std::collections::{HashMap, HashSet};

use rusqlite::Connection;

use crate::error::StoreError;
use crate::pack::bounds::{BLOCK_BYTES_TARGET, BLOCK_MEMBERS_MAX, OWN_BLOCK_BYTES_MIN};
use crate::sqlite::failure::During;
use crate::sqlite::pieces;

const PLANNING: &str = "looking for what is to be packed";

/// Bytes that make a block large enough to end where a chain ends; smaller ones take the next chain in too.
const MIXED_BYTES_MIN: usize = BLOCK_BYTES_TARGET / 4;

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
    pub(super) members: Vec<Member>,
}

/// What there is to pack.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) strands: Vec<Strand>,
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

struct Inbox {
    /// Lengths of what is still to be given a place, by row.
    left: HashMap<i64, usize>,
    plan: Plan,
}

/// Finds what is to be packed. The connection stands in one transaction.
pub(super) fn plan(connection: &Connection) -> Result<Plan, StoreError> {
    let (content_mark, commit_mark) = connection
        .query_row("SELECT packed_content, packed_commit FROM store", [], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?))
        })
        .during(PLANNING)?;
    let mut inbox =
        Inbox { left: HashMap::new(), plan: Plan { content_mark, commit_mark, ..Plan::default() } };
    inbox.gather(connection)?;
    if inbox.left.is_empty() {
        return Ok(inbox.plan);
    }
    inbox.follow_commits(connection)?;
    let mut rest: Vec<(i64, usize)> = inbox.left.drain().collect();
    rest.sort_unstable();
    let members = rest.into_iter().map(|(row, length)| Member { row, length, block: None }).collect();
    inbox.plan.strands.push(Strand { first: None, members });
    inbox.plan.strands.retain(|strand| !strand.members.is_empty());
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
            let strands = &mut self.plan.strands;
            let strand = parent.and_then(|parent| ends.remove(&parent)).unwrap_or_else(|| {
                strands.push(Strand { first: Some((commit, parent)), members: Vec::new() });
                strands.len() - 1
            });
            ends.insert(commit, strand);
            for content in contents.into_iter().flatten() {
                for row in literal_rows(connection, content)? {
                    self.give_place(row, strand);
                }
            }
            self.plan.commit_mark = commit;
        }
        Ok(())
    }

    fn give_place(&mut self, row: i64, strand: usize) {
        if let Some(length) = self.left.remove(&row)
            && let Some(strand) = self.plan.strands.get_mut(strand)
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
        if bytes >= MIXED_BYTES_MIN {
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
                Strand { first: None, members }
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
