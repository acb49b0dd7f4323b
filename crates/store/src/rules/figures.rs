//! A commit's numbers that nothing looks up by, as one short value of its row.
//!
//! Specified in `docs/format/store.md`.

use stemmata_model::Counts;

use crate::error::{StoreError, unreadable};
use crate::varint;

/// A commit's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Figures {
    /// Bytes of its native content.
    pub native_bytes: u64,
    /// These of it and of all its ancestors.
    pub cumulative_bytes: u64,
    /// Commits between it and its root.
    pub depth: u64,
    /// What it counts.
    pub counts: Counts,
    /// Entries of its ancestors that a snapshot repeats; 0 for other types.
    pub restated_entries: u64,
}

impl Figures {
    /// Returns the bytes of the column.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(16);
        for value in [
            self.native_bytes,
            self.cumulative_bytes,
            self.depth,
            self.counts.messages,
            self.counts.entries,
            self.counts.tokens,
            self.restated_entries,
        ] {
            varint::put(&mut bytes, value);
        }
        bytes
    }

    /// Reads figures; later versions may add more of them at the end.
    ///
    /// # Errors
    /// `Backend` for bytes that no version writes.
    pub fn decode(mut bytes: &[u8], row: i64) -> Result<Self, StoreError> {
        let mut next = || varint::take(&mut bytes);
        let mut read = || -> Option<Self> {
            Some(Self {
                native_bytes: next()?,
                cumulative_bytes: next()?,
                depth: next()?,
                counts: Counts { messages: next()?, entries: next()?, tokens: next()? },
                restated_entries: next()?,
            })
        };
        read().ok_or_else(|| unreadable("commits.figures", &row, &"too few numbers"))
    }
}
