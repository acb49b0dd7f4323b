//! A commit's numbers that nothing looks up by, as one short value of its row.
//!
//! Specified in `docs/format/store.md`.

use stemmata_model::Counts;

use super::failure::unreadable;
use crate::error::StoreError;
use crate::varint;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Figures {
    pub(super) native_bytes: u64,
    pub(super) cumulative_bytes: u64,
    pub(super) depth: u64,
    pub(super) counts: Counts,
    pub(super) restated_entries: u64,
}

impl Figures {
    pub(super) fn encode(&self) -> Vec<u8> {
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
    pub(super) fn decode(mut bytes: &[u8], row: i64) -> Result<Self, StoreError> {
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
