//! Choosing the blocks that a block of a copy is compressed against, and loading them.
//!
//! Which ones may be chosen is `sources`'.

use super::Packs;
use super::blocks::{BlockError, BlockRow, Loaded};
use super::sources;
use crate::error::StoreError;
use crate::pack::similar::{Candidate, Samples, choose};
use crate::sqlite::pool::Borrowed;

/// The original of a copy: its blocks, and samples of what they hold.
pub(super) struct Original {
    /// The commit that the copy was made of.
    commit: i64,
    blocks: Vec<BlockRow>,
    candidates: Vec<Candidate>,
}

/// What a block is compressed against.
#[derive(Debug, Default)]
pub(super) struct Leaning {
    pub(super) rows: Vec<i64>,
    pub(super) hashes: Vec<[u8; 32]>,
    /// What they hold, in their order.
    pub(super) before: Vec<u8>,
    pub(super) depth: u64,
}

impl Original {
    /// Looks for the blocks of the chain that ends with a commit, and takes their samples.
    pub(super) fn look(packs: &Packs, reader: &mut Borrowed<'_>, commit: i64) -> Result<Self, StoreError> {
        let mut original = Self { commit, blocks: Vec::new(), candidates: Vec::new() };
        for block in reader.within_read(|connection| sources::candidates(connection, commit))? {
            if let Some(bytes) = load(packs, reader, block.row)? {
                original.candidates.push(Candidate { samples: Samples::of(&bytes), bytes: bytes.len() });
                original.blocks.push(block);
            }
        }
        Ok(original)
    }

    pub(super) const fn commit(&self) -> i64 {
        self.commit
    }

    /// Chooses what a block leans on, and loads it; nothing where that would not pay.
    pub(super) fn lean(
        &self,
        packs: &Packs,
        reader: &mut Borrowed<'_>,
        block: &[u8],
    ) -> Result<Leaning, StoreError> {
        let chosen: Vec<&BlockRow> = choose(&Samples::of(block), &self.candidates)
            .into_iter()
            .filter_map(|place| self.blocks.get(place))
            .collect();
        let rows: Vec<i64> = chosen.iter().map(|block| block.row).collect();
        if !reader.within_read(|connection| sources::are_few(connection, &rows))? {
            return Ok(Leaning::default());
        }
        let mut leaning = Leaning::default();
        for block in chosen {
            if let Some(bytes) = load(packs, reader, block.row)? {
                leaning.rows.push(block.row);
                leaning.hashes.push(*blake3::hash(&bytes).as_bytes());
                leaning.before.extend_from_slice(&bytes);
                leaning.depth = leaning.depth.max(block.depth + 1);
            }
        }
        Ok(leaning)
    }
}

/// Loads a block; none where it is damaged, because then nothing should lean on it.
fn load(packs: &Packs, reader: &mut Borrowed<'_>, row: i64) -> Result<Option<Loaded>, StoreError> {
    reader.within_read(|connection| match packs.load(connection, row) {
        Ok(loaded) => Ok(Some(loaded)),
        Err(BlockError::Gone(_) | BlockError::Damaged(_)) => Ok(None),
        Err(BlockError::Store(error)) => Err(error),
    })
}
