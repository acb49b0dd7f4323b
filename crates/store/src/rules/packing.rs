//! Which contents share a block, and which blocks are packed before others: neighbours of one chain together, originals before
//! copies.
//!
//! What waits to be packed, and how bytes are compressed, is not known here.

use crate::pack::bounds::{BLOCK_BYTES_TARGET, BLOCK_MEMBERS_MAX, OWN_BLOCK_BYTES_MIN};

/// Bytes that make a block large enough to end where a chain ends; smaller ones take the next chain in too.
const MIXED_BYTES_MIN: usize = BLOCK_BYTES_TARGET / 4;

/// Copies of copies that are packed in the order of their making within one run; the rest as if they were none.
const ROUNDS_MAX: usize = 8;

/// A literal content that is to be packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Member {
    /// Its row.
    pub(crate) row: i64,
    /// Its bytes.
    pub(crate) length: usize,
    /// The block that it is in now; none for the inbox.
    pub(crate) block: Option<i64>,
}

/// Contents of commits that follow each other, or of none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Strand {
    /// The first of its commits that was looked at, and that one's parent.
    pub(crate) first: Option<(i64, Option<i64>)>,
    /// The commit of another chain that this one is a copy of.
    pub(crate) origin: Option<i64>,
    /// The contents.
    pub(crate) members: Vec<Member>,
}

/// Contents that make a block, as places in the plan.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct BlockPlan {
    /// The contents.
    pub(crate) members: Vec<Member>,
    /// The strand that the first of them is of.
    pub(crate) strand: usize,
}

/// Puts strands into rounds, so that what one leans on is packed in a round before; empty ones are left out. `strand_of` says
/// which strand a commit is in.
pub(crate) fn rounds(strands: Vec<Strand>, strand_of: impl Fn(i64) -> Option<usize>) -> Vec<Vec<Strand>> {
    let mut numbers = vec![0; strands.len()];
    // Links form no ring; where damage made one, some of it is packed as if it were no copy.
    for _ in 0..ROUNDS_MAX {
        for (number, strand) in strands.iter().enumerate() {
            let origin = strand.origin.and_then(&strand_of);
            if let Some(origin) = origin.filter(|origin| *origin != number) {
                let after = numbers.get(origin).map_or(0, |round: &usize| round + 1).min(ROUNDS_MAX);
                if let Some(round) = numbers.get_mut(number) {
                    *round = after.max(*round);
                }
            }
        }
    }
    let mut rounds = vec![Vec::new(); numbers.iter().max().map_or(0, |last| last + 1)];
    for (strand, round) in strands.into_iter().zip(numbers) {
        if let Some(round) = rounds.get_mut(round).filter(|_| !strand.members.is_empty()) {
            round.push(strand);
        }
    }
    rounds
}

/// Cuts strands into blocks of neighbours.
pub(crate) fn cut(strands: &[Strand]) -> Vec<BlockPlan> {
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
