//! Version 2 of the files of a ledger, as they are written (`docs/format/ledger-files.md`). Changing anything here
//! changes the format.
//!
//! What is valid in them is decided where they are read.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

/// The version.
pub(super) const SCHEMA_VERSION: u32 = 2;

/// `meta.json`.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct MetaV2 {
    pub(super) schema_version: u32,
    pub(super) project_id: String,
    pub(super) project_root: Option<String>,
    pub(super) created_at: String,
    pub(super) last_compacted_at: Option<String>,
    pub(super) integrity_mode: String,
    pub(super) first_event_seq: String,
    pub(super) generation: String,
    pub(super) marks: Vec<String>,
}

/// What every version of `meta.json` says, other programs' included.
#[derive(Debug, Deserialize)]
pub(super) struct AnyMeta {
    pub(super) schema_version: Option<u32>,
    pub(super) integrity_mode: Option<serde::de::IgnoredAny>,
    pub(super) generation: Option<serde::de::IgnoredAny>,
    pub(super) checksum: Option<serde::de::IgnoredAny>,
}

/// One line of `events.ndjson`, as it is read.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LineV2<'a> {
    pub(super) event_seq: String,
    pub(super) session_id: String,
    pub(super) timestamp: String,
    pub(super) topic: String,
    pub(super) sender: String,
    pub(super) receiver: String,
    pub(super) replayable: bool,
    #[serde(borrow)]
    pub(super) payload: PayloadV2<'a>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(super) metadata: Option<&'a RawValue>,
    pub(super) metadata_hash: Option<String>,
    #[serde(default)]
    pub(super) keys: Vec<KeyV2>,
    pub(super) batch: BatchV2,
    pub(super) chain: Option<String>,
    pub(super) checksum: Option<String>,
}

/// What the event, and those after it, are known by.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KeyV2 {
    pub(super) key: String,
    pub(super) digest: String,
    pub(super) events: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) until: Option<String>,
}

/// What a line of another program's version 2 says (`reference` implementations of the layout wrote no more).
#[derive(Debug, Deserialize)]
pub(super) struct OtherLine {
    pub(super) event_seq: Option<serde_json::Value>,
    pub(super) session_id: Option<serde::de::IgnoredAny>,
    pub(super) timestamp: Option<serde::de::IgnoredAny>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PayloadV2<'a> {
    pub(super) text: Option<String>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(super) data: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(super) line: Option<&'a RawValue>,
    pub(super) gone: Option<GoneV2>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GoneV2 {
    pub(super) hash: String,
    pub(super) bytes: u64,
    pub(super) forgotten: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) receipt: Option<ReceiptV2>,
}

/// What the ledger had let go of in the event's topic, this event included.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReceiptV2 {
    pub(super) events: u64,
    pub(super) bytes: u64,
    pub(super) chain: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BatchV2 {
    pub(super) first: String,
    pub(super) size: usize,
    pub(super) durable: String,
}

/// `snapshot.json`.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SnapshotV2 {
    pub(super) schema_version: u32,
    pub(super) last_event_seq: String,
    pub(super) cursors: BTreeMap<String, CursorV2>,
    pub(super) reducers: BTreeMap<String, ReducerV2>,
}

/// How far a reducer has read.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct CursorV2 {
    pub(super) through: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) position: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ReducerV2 {
    pub(super) version: u32,
    pub(super) state: Box<RawValue>,
}

/// `index.json`.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct IndexV2 {
    pub(super) schema_version: u32,
    pub(super) generation: String,
    pub(super) last_event_seq: String,
    pub(super) last_timestamp: Option<String>,
    pub(super) bytes: u64,
    pub(super) durable: String,
    pub(super) chain: String,
    pub(super) lengths: Vec<u32>,
    pub(super) topics: Vec<String>,
    pub(super) topic_of: Vec<usize>,
    /// Raw output that counts for the bounds: places from 0 on, hash and bytes.
    pub(super) output: Vec<(usize, (String, u64))>,
    /// Raw output whose payload stands in the file and was let go of.
    pub(super) hidden: Vec<(usize, (String, u64), ReceiptV2)>,
    pub(super) receipts: BTreeMap<String, (ReceiptV2, String)>,
}

/// One line of `quarantine.ndjson`.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct QuarantinedV2 {
    pub(super) line: u64,
    pub(super) byte: u64,
    pub(super) reason: String,
    /// The bytes as text where they are some, else as hexadecimal digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hex: Option<String>,
}

/// Reads what is there even where it is `null`, which JSON data may be.
fn present<'de: 'a, 'a, D: Deserializer<'de>>(from: D) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(from).map(Some)
}
