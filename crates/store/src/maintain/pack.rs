//! What packing is told, and what it did.
//!
//! How packs are made is the backend's.

use stemmata_model::Timestamp;

/// How contents are moved into packs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PackOptions {
    /// The present, for the record of when a pack was made.
    pub now: Timestamp,
    /// The zstd level, from 1 to 19; none for the one that was measured to be best.
    pub level: Option<i32>,
    /// Stored bytes of the inbox below which nothing is done.
    pub inbox_bytes_min: u64,
}

impl PackOptions {
    /// Packs all that there is at the usual level.
    pub const fn new(now: Timestamp) -> Self {
        Self { now, level: None, inbox_bytes_min: 0 }
    }
}

/// What packing did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Packed {
    /// Contents that moved from the inbox into packs.
    pub contents: u64,
    /// Their bytes, uncompressed.
    pub content_bytes: u64,
    /// Bytes that they took in the inbox.
    pub inbox_bytes: u64,
    /// Pack files that were made.
    pub packs: u64,
    /// Blocks in them.
    pub blocks: u64,
    /// Blocks that are compressed against others, as copies of conversations are.
    pub based_blocks: u64,
    /// Bytes of these files.
    pub pack_bytes: u64,
    /// Contents that stay in the inbox because they are damaged; `verify` names them.
    pub damaged: u64,
    /// Another process was packing at the same time, so that this one did nothing or not all.
    pub busy: bool,
}
