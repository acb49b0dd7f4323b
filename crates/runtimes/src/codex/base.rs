//! Where a rollout goes on that another one began: `history_base` of its header.
//!
//! The client points into the other file by bytes, so a copy of it that is not byte for byte the same is another
//! history, which the client then loads without a word.

use std::ops::Range;

use super::record::{HistoryBase as Fields, Kind, Record};
use crate::clients::{Before, HistoryBase};
use crate::json::{is_blank, text};

/// Returns where a rollout's history begins, if its header says that this is in another file.
pub(super) fn base(header: &[u8]) -> Option<HistoryBase> {
    let record = Record::parse(header).ok().filter(|record| record.kind == Kind::SessionMeta)?;
    let fields = Fields::read(record.payload.history_base?).ok()?;
    Some(HistoryBase {
        thread: text(fields.thread_id)?.into_owned(),
        end_ordinal: fields.end_ordinal?.number()?,
        end_offset: fields.end_offset?.number()?,
    })
}

/// Returns which bytes of a header say where its history begins: where the other lines stand ahead of it, `null` says
/// the truth.
pub(super) fn base_span(header: &[u8]) -> Option<Range<usize>> {
    let record = Record::parse(header).ok().filter(|record| record.kind == Kind::SessionMeta)?;
    record.payload.history_base.filter(|base| !base.is_null()).map(|base| base.span())
}

/// Finds the lines of a rollout before a number, in bytes that begin with a line.
pub(super) fn before(bytes: &[u8], end_ordinal: u64) -> Before {
    let mut found = Before::default();
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let ordinal = if is_blank(line) {
            None
        } else {
            Record::parse(line).ok().and_then(|record| record.envelope.ordinal?.number())
        };
        if ordinal.is_some_and(|ordinal| ordinal >= end_ordinal) {
            found.has_later = true;
            break;
        }
        found.last = ordinal.max(found.last);
        found.bytes += line.len();
    }
    found
}
