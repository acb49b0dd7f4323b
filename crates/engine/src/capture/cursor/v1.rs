//! Version 1 of the stored cursor, which is only read: JSON, additive; unknown fields are ignored. Bytes are hexadecimal text.
//!
//! Whatever reads on from one writes version 2 in its place.

use serde::Deserialize;
use stemmata_model::RulesHash;

use crate::capture::captured::UnreadSoFar;
use crate::capture::ingest::ChainTotals;

use super::{Cursor, FileStamp, Provisional, SplitterState, first_bytes};

const VERSION: u32 = 1;

#[derive(Deserialize)]
struct Stored {
    v: u32,
    format: String,
    #[serde(with = "hex")]
    rules: [u8; 32],
    granularity: String,
    closed_bytes: u64,
    closed_line: u64,
    tip: Option<String>,
    #[serde(with = "hex")]
    splitter: Vec<u8>,
    seen_bytes: u64,
    provisional: Vec<(String, u64)>,
    device: u64,
    inode: u64,
    length: u64,
    modified_s: i64,
    modified_ns: u32,
    #[serde(with = "hex")]
    head: [u8; 32],
    #[serde(with = "hex")]
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
        rules: RulesHash(stored.rules).into(),
        earlier_bytes: 0,
        granularity: stored.granularity.parse().ok()?,
        closed_bytes: stored.closed_bytes,
        closed_line: stored.closed_line,
        tip: stored.tip.map(|id| id.parse()).transpose().ok()?,
        splitter: SplitterState::Whole(stored.splitter),
        seen_bytes: stored.seen_bytes,
        provisional,
        stamp: FileStamp {
            device: stored.device,
            inode: stored.inode,
            length: stored.length,
            modified_ns: i128::from(stored.modified_s) * NANOS + i128::from(stored.modified_ns),
        },
        head: first_bytes(stored.head),
        tail: first_bytes(stored.tail),
        redacted_bytes: stored.redacted_bytes,
        totals: ChainTotals {
            commits: stored.commits,
            messages: stored.messages,
            entries: stored.entries,
            bytes: stored.bytes,
        },
        seen_entries: stored.seen_entries,
        seen_redacted_bytes: stored.seen_redacted_bytes,
        is_version_known: false,
        unread: UnreadSoFar::default(),
    })
}

/// Bytes as hexadecimal text.
mod hex {
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer};

    pub(super) fn deserialize<'de, D, T>(from: D) -> Result<T, D::Error>
    where
        D: Deserializer<'de>,
        T: TryFrom<Vec<u8>>,
    {
        let text = String::deserialize(from)?;
        let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
        let bytes: Option<Vec<u8>> = text.as_bytes().chunks(2).map(byte).collect();
        bytes
            .and_then(|bytes| T::try_from(bytes).ok())
            .ok_or_else(|| D::Error::custom("no hexadecimal bytes"))
    }
}
