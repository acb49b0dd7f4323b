//! Where a rollout goes on that another one began: `history_base` of its header.
//!
//! The client points into the other file by bytes, so a copy of it that is not byte for byte the same is another
//! history, which the client then loads without a word.

use super::record::{HistoryBase as Fields, Kind, Record};
use crate::json::text;

/// The part of another rollout that stands before a rollout's own lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryBase {
    /// The other rollout's thread.
    pub thread: String,
    /// Its first line that is no part of it.
    pub end_ordinal: u64,
    /// Bytes of it.
    pub end_offset: u64,
}

/// Returns where a rollout's history begins, if its header says that this is in another file.
pub fn base(header: &[u8]) -> Option<HistoryBase> {
    let record = Record::parse(header).ok().filter(|record| record.kind == Kind::SessionMeta)?;
    let fields = Fields::read(record.payload.history_base?).ok()?;
    Some(HistoryBase {
        thread: text(fields.thread_id)?.into_owned(),
        end_ordinal: fields.end_ordinal?.number()?,
        end_offset: fields.end_offset?.number()?,
    })
}
