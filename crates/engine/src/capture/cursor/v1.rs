//! Version 1 of the stored cursor: JSON, additive; unknown fields are ignored.

use serde::{Deserialize, Serialize};
use stemmata_model::RulesHash;

use crate::capture::ingest::ChainTotals;

use super::{Cursor, FileStamp, Provisional};

const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Stored {
    v: u32,
    format: String,
    rules: [u8; 32],
    granularity: String,
    closed_bytes: u64,
    closed_line: u64,
    tip: Option<String>,
    splitter: Vec<u8>,
    seen_bytes: u64,
    provisional: Vec<(String, u64)>,
    device: u64,
    inode: u64,
    length: u64,
    modified_s: i64,
    modified_ns: u32,
    head: [u8; 32],
    tail: [u8; 32],
    redacted_bytes: u64,
    commits: u64,
    messages: u64,
    entries: u64,
    bytes: u64,
    seen_entries: u64,
    seen_redacted_bytes: u64,
}

const NANOS: i128 = 1_000_000_000;

pub(super) fn encode(cursor: &Cursor) -> Vec<u8> {
    let stored = Stored {
        v: VERSION,
        format: cursor.format.clone(),
        rules: cursor.rules.0,
        granularity: cursor.granularity.to_string(),
        closed_bytes: cursor.closed_bytes,
        closed_line: cursor.closed_line,
        tip: cursor.tip.map(|id| id.to_string()),
        splitter: cursor.splitter.clone(),
        seen_bytes: cursor.seen_bytes,
        provisional: cursor.provisional.iter().map(|known| (known.commit.to_string(), known.bytes)).collect(),
        device: cursor.stamp.device,
        inode: cursor.stamp.inode,
        length: cursor.stamp.length,
        modified_s: i64::try_from(cursor.stamp.modified_ns.div_euclid(NANOS)).unwrap_or(0),
        modified_ns: u32::try_from(cursor.stamp.modified_ns.rem_euclid(NANOS)).unwrap_or(0),
        head: cursor.head,
        tail: cursor.tail,
        redacted_bytes: cursor.redacted_bytes,
        commits: cursor.totals.commits,
        messages: cursor.totals.messages,
        entries: cursor.totals.entries,
        bytes: cursor.totals.bytes,
        seen_entries: cursor.seen_entries,
        seen_redacted_bytes: cursor.seen_redacted_bytes,
    };
    serde_json::to_vec(&stored).expect("numbers and strings always serialize")
}

pub(super) fn decode(bytes: &[u8]) -> Option<Cursor> {
    let stored: Stored = serde_json::from_slice(bytes).ok()?;
    if stored.v != VERSION {
        return None;
    }
    let provisional = stored
        .provisional
        .iter()
        .map(|(commit, bytes)| Some(Provisional { commit: commit.parse().ok()?, bytes: *bytes }))
        .collect::<Option<Vec<_>>>()?;
    Some(Cursor {
        format: stored.format,
        rules: RulesHash(stored.rules),
        granularity: stored.granularity.parse().ok()?,
        closed_bytes: stored.closed_bytes,
        closed_line: stored.closed_line,
        tip: stored.tip.map(|id| id.parse()).transpose().ok()?,
        splitter: stored.splitter,
        seen_bytes: stored.seen_bytes,
        provisional,
        stamp: FileStamp {
            device: stored.device,
            inode: stored.inode,
            length: stored.length,
            modified_ns: i128::from(stored.modified_s) * NANOS + i128::from(stored.modified_ns),
        },
        head: stored.head,
        tail: stored.tail,
        redacted_bytes: stored.redacted_bytes,
        totals: ChainTotals {
            commits: stored.commits,
            messages: stored.messages,
            entries: stored.entries,
            bytes: stored.bytes,
        },
        seen_entries: stored.seen_entries,
        seen_redacted_bytes: stored.seen_redacted_bytes,
    })
}
