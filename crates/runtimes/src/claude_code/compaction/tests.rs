//! Tests of what a compaction keeps, and of the record that one of ours writes.

use proptest::prelude::*;
use serde_json::json;
use stemmata_model::{CommitType, EntryId, Part};

use super::*;
use crate::chain_tests::{self, Chain};
use crate::claude_code::ClaudeCode;
use crate::claude_code::decode::decode;
use crate::claude_code::record::Record;
use crate::claude_code::samples_tests::{line, transcript, uuid};
use crate::json::text;

/// A chain of deltas, given oldest first.
fn chain(natives: &[Vec<u8>]) -> Chain<'static> {
    let mut chain = Chain::new(&ClaudeCode);
    for native in natives {
        chain.push(CommitType::Delta, native);
    }
    chain
}

/// Lines of one segment: a letter each, numbered from `first`.
fn segment(letters: &str, first: usize) -> Vec<u8> {
    let lines = letters.chars().enumerate().map(|(index, letter)| {
        let mut line = line(letter, first + index);
        line.push(b'\n');
        line
    });
    lines.flatten().collect()
}

/// A boundary with this metadata, something else, and a summary.
fn compaction(metadata: &Value) -> Vec<u8> {
    let mut boundary: Value = serde_json::from_slice(&line('B', 90)).expect("JSON");
    boundary["compactMetadata"] = metadata.clone();
    let mut bytes = format!("{boundary}\n").into_bytes();
    bytes.extend(segment("mC", 91));
    bytes
}

/// Numbers of the lines that the plan takes, and its notes.
fn planned(metadata: &Value, natives: &[Vec<u8>]) -> (Vec<usize>, Vec<Note>) {
    let native = compaction(metadata);
    let plan = plan(&native, &mut chain(natives)).expect("a chain in memory does not fail");
    let mut sources: Vec<&[u8]> = vec![&native];
    sources.extend(natives.iter().rev().map(Vec::as_slice));
    let lines = plan.pieces.iter().map(|piece| {
        assert_eq!(piece.segment % 2, 0);
        let start = usize::try_from(piece.offset).expect("small");
        let end = start + usize::try_from(piece.length).expect("small");
        let bytes = &sources[piece.segment / 2][start..end];
        assert!(bytes.ends_with(b"\n") && memchr::memchr_iter(b'\n', bytes).count() == 1);
        let id = Record::parse(bytes).expect("a record").uuid_text().expect("an id").into_owned();
        usize::from_str_radix(&id[24..], 16).expect("a number")
    });
    (lines.collect(), plan.notes)
}

#[test]
fn without_preserved_records_it_is_boundary_and_summary() {
    let chain = [segment("UAUA", 0)];
    assert_eq!(planned(&json!({ "trigger": "auto" }), &chain), (vec![90, 92], Vec::new()));
    assert_eq!(planned(&json!({ "preservedMessages": { "uuids": [] } }), &chain).0, [90, 92]);
}

#[test]
fn preserved_messages_come_in_the_files_order_over_segments() {
    let chain = [segment("UZ", 0), segment("UZ", 2), segment("mU", 4)];
    let metadata = json!({
        "preservedMessages": { "uuids": [uuid(1), uuid(2), uuid(5)], "allUuids": [uuid(0)] },
        "preservedSegment": { "headUuid": uuid(0), "tailUuid": uuid(0) },
    });
    // Line 3 shares its message with line 1.
    assert_eq!(planned(&metadata, &chain), (vec![90, 92, 1, 2, 3, 5], Vec::new()));
}

#[test]
fn a_range_is_walked_along_parents() {
    let chain = [segment("UZ", 0), segment("UU", 2), segment("UU", 4)];
    let metadata =
        json!({ "preservedSegment": { "headUuid": uuid(2), "tailUuid": uuid(4), "anchorUuid": uuid(92) } });
    assert_eq!(planned(&metadata, &chain), (vec![90, 92, 2, 3, 4], Vec::new()));
}

#[test]
fn messages_stay_whole_and_calls_keep_their_results() {
    // A text and a call of one message, its result, an answer.
    let chain = [segment("UA", 0), segment("T", 2), segment("R", 3), segment("ZU", 4)];
    for kept in [1, 2, 3] {
        let metadata = json!({ "preservedMessages": { "uuids": [uuid(kept)] } });
        let (lines, notes) = planned(&metadata, &chain);
        assert_eq!((lines, notes), (vec![90, 92, 1, 2, 3], Vec::new()), "{kept}");
    }
}

#[test]
fn what_is_missing_is_noted() {
    let chain = [segment("UA", 0)];
    let metadata = json!({ "preservedMessages": { "uuids": [uuid(0), uuid(55), uuid(56)] } });
    let (lines, notes) = planned(&metadata, &chain);
    assert_eq!(lines, [90, 92, 0]);
    assert_eq!(notes.len(), 1);
    assert_eq!(notes[0].code, NoteCode::MissingPreserved);
    assert!(notes[0].message.contains("2 missing, 1 found"), "{}", notes[0]);
    let range = json!({ "preservedSegment": { "headUuid": uuid(70), "tailUuid": uuid(1) } });
    let (lines, notes) = planned(&range, &chain);
    assert_eq!((lines.as_slice(), notes.len()), (&[90, 92, 0, 1][..], 1));
}

#[test]
fn the_last_boundary_and_summary_of_the_conversation_count() {
    let native = transcript("BxBbcmC");
    let plan = plan(&native, &mut chain(&[])).expect("no chain to fail");
    let offsets: Vec<usize> = plan
        .pieces
        .iter()
        .map(|piece| {
            let before = &native[..usize::try_from(piece.offset).expect("small")];
            memchr::memchr_iter(b'\n', before).count()
        })
        .collect();
    assert_eq!(offsets, [2, 6]);
    let none = super::plan(&transcript("UA"), &mut chain(&[])).expect("no chain to fail");
    assert_eq!((none.pieces.len(), none.notes.len()), (0, 1));
}

#[test]
fn the_walk_is_bounded() {
    struct Endless(usize);
    impl Segments for Endless {
        fn next(&mut self) -> Result<Option<Segment>, SourceError> {
            self.0 += 1;
            Ok(Some(chain_tests::segment(CommitType::Delta, b"{\"type\":\"mode\"}\n")))
        }
    }
    let mut endless = Endless(0);
    let native = compaction(&json!({ "preservedMessages": { "uuids": [uuid(1)] } }));
    let plan = plan(&native, &mut endless).expect("it does not fail");
    assert_eq!((endless.0, plan.notes.len()), (WALK_SEGMENTS_MAX, 1));
}

proptest! {
    #[test]
    fn an_encoded_compaction_is_a_compaction(letters in "[UARTmsS]{0,8}", summary in ".{1,60}", micros in 0..9_000_000_000_000_i64) {
        let last = decode(&transcript(&letters));
        let at = Timestamp::from_micros(micros * 1000);
        let bytes = encode(&summary, &Keeps::nothing(&last), at);
        prop_assert_eq!(&encode(&summary, &Keeps::nothing(&last), at), &bytes);
        prop_assert_ne!(&encode(&summary, &Keeps::nothing(&last), Timestamp::from_micros(micros * 1000 + 1000)), &bytes);
        let decoded = decode(&bytes);
        prop_assert!(decoded.notes.is_empty());
        let [boundary, encoded] = decoded.entries.as_slice() else {
            return Err(TestCaseError::fail("two entries"));
        };
        prop_assert_eq!(&boundary.kind, &EntryKind::CompactionBoundary);
        prop_assert_eq!(&boundary.parent, &None);
        prop_assert_eq!(&encoded.kind, &EntryKind::CompactionSummary);
        prop_assert_eq!(encoded.parent.as_ref(), Some(&boundary.id));
        prop_assert_eq!(encoded.timestamp, Some(at));
        prop_assert_eq!(&encoded.parts, &vec![Part::Summary { text: summary, covers: Vec::new() }]);
        let record = Record::parse(bytes.split(|byte| *byte == b'\n').next().expect("a line")).expect("a record");
        let main = letters.rfind(['U', 'A', 'R', 'T']).or_else(|| letters.rfind(['s', 'S']));
        let logical = text(record.logical_parent_uuid).map(|id| EntryId::new(id.as_ref()).expect("a name"));
        prop_assert_eq!(logical.map(|id| id.to_string()), main.map(uuid));
    }
}
