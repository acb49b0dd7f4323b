//! Version 1 of the stored cursor: JSON, additive; unknown fields are ignored. Bytes are hexadecimal text, which
//! takes half of what a list of numbers would: a cursor is written with every checkpoint.

use serde::{Deserialize, Serialize};
use stemmata_model::RulesHash;

use crate::capture::ingest::ChainTotals;

use super::{Cursor, FileStamp, Provisional};

const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
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

/// Bytes as hexadecimal text.
mod hex {
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(bytes: &impl AsRef<[u8]>, to: S) -> Result<S::Ok, S::Error> {
        let text: String = bytes.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        to.serialize_str(&text)
    }

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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use stemmata_model::{CommitId, Granularity};

    use super::*;

    proptest! {
        #[test]
        fn a_cursor_comes_back_and_any_bytes_are_one_or_none(
            splitter in proptest::collection::vec(any::<u8>(), 0..300),
            numbers: [u64; 4],
            hash: [u8; 32],
            tip: Option<[u8; 16]>,
            modified_ns in -1_000_000_000_000_i128..4_000_000_000_000_000_000,
            cut in 0..900_usize,
        ) {
            let cursor = Cursor {
                format: "claude-code-v1".to_owned(),
                rules: RulesHash(hash),
                granularity: Granularity::Every(3),
                closed_bytes: numbers[0],
                closed_line: 2,
                tip: tip.map(CommitId::from_bytes),
                splitter,
                seen_bytes: numbers[1],
                provisional: vec![Provisional { commit: CommitId::from_bytes([7; 16]), bytes: numbers[2] }],
                stamp: FileStamp { device: 1, inode: numbers[3], length: 5, modified_ns },
                head: hash,
                tail: [9; 32],
                redacted_bytes: 3,
                totals: ChainTotals { commits: 1, messages: 2, entries: 3, bytes: 4 },
                seen_entries: 5,
                seen_redacted_bytes: 6,
            };
            let stored = encode(&cursor);
            prop_assert_eq!(decode(&stored), Some(cursor));
            prop_assert_eq!(decode(&stored[..cut.min(stored.len() - 1)]), None);
        }
    }
}
