//! The bounds of packs: what a writer keeps to, and what a reader holds foreign bytes to before it allocates.

use crate::seam::PART_BYTES_MAX;

/// Bytes of a block's contents that a writer aims at: a random read decodes one block.
pub(crate) const BLOCK_BYTES_TARGET: usize = 1024 * 1024;

/// Bytes of a block's contents at most: what a writer aims at, and one content more.
pub(crate) const BLOCK_BYTES_MAX: usize = BLOCK_BYTES_TARGET + PART_BYTES_MAX;

/// Bytes from which on a content has a block of its own.
pub(crate) const OWN_BLOCK_BYTES_MIN: usize = 512 * 1024;

/// Contents of a block at most.
pub(crate) const BLOCK_MEMBERS_MAX: usize = 16_384;

/// Blocks that one block refers to directly at most.
pub(crate) const BASES_MAX: usize = 8;

/// Bytes of the contents of these together at most.
pub(crate) const BASES_BYTES_MAX: usize = 8 * BLOCK_BYTES_MAX;

/// Steps from a block to the last of the blocks that it leans on, at most.
pub(crate) const BASE_DEPTH_MAX: u64 = 8;

/// Blocks that are decoded for one, itself included, at most.
pub(crate) const BASE_BLOCKS_MAX: usize = 64;

/// Bytes of a pack that make a writer begin the next one.
pub(crate) const PACK_BYTES_TARGET: u64 = 256 * 1024 * 1024;

/// Blocks of a pack at most.
pub(crate) const PACK_BLOCKS_MAX: usize = 65_536;

/// Bytes of a pack's index at most.
pub(crate) const INDEX_BYTES_MAX: u64 = 128 * 1024 * 1024;
