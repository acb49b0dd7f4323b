//! Laws of `stemmata-v1`: what is written is read again as it was.

use proptest::prelude::*;
use stemmata_model::{
    ArtifactId, Body, Entry, EntryId, EntryKind, EntryMeta, ImageSource, NativeSpan, Part, Role, Timestamp,
    Usage, Visibility,
};

use super::Captured;
use crate::adapter::Adapter as _;
use crate::claude_code::ClaudeCode;
use crate::claude_code::samples_tests::transcript;
use crate::conformance;

fn texts() -> impl Strategy<Value = String> {
    prop_oneof![any::<String>(), Just("\"\\\n\u{7f}\u{2028}😀".to_owned()), Just(String::new())]
}

fn ids() -> impl Strategy<Value = EntryId> {
    "[a-z0-9_:-]{1,40}".prop_map(|text| EntryId::new(text).expect("a name"))
}

fn sources() -> impl Strategy<Value = ImageSource> {
    prop_oneof![
        texts().prop_map(ImageSource::Base64),
        texts().prop_map(ImageSource::Url),
        any::<[u8; 8]>().prop_map(|bytes| {
            let hex = blake3::hash(&bytes).to_hex();
            ImageSource::Artifact(format!("art-{hex}").parse::<ArtifactId>().expect("an id"))
        }),
    ]
}

fn parts() -> impl Strategy<Value = Part> {
    let maybe = || proptest::option::of(texts());
    let leaf = prop_oneof![
        texts().prop_map(Part::Text),
        (texts(), maybe(), maybe()).prop_map(|(text, signature, encrypted)| Part::Thinking {
            text,
            signature,
            encrypted
        }),
        (texts(), texts(), texts()).prop_map(|(call_id, name, arguments)| Part::ToolCall {
            call_id,
            name,
            arguments
        }),
        (texts(), sources()).prop_map(|(media_type, source)| Part::Image { media_type, source }),
        (texts(), maybe(), maybe()).prop_map(|(name, media_type, data)| Part::File {
            name,
            media_type,
            data
        }),
        (texts(), proptest::collection::vec(ids(), 0..3))
            .prop_map(|(text, covers)| Part::Summary { text, covers }),
        (texts(), texts(), texts()).prop_map(|(runtime, kind, json)| Part::Opaque { runtime, kind, json }),
    ];
    leaf.prop_recursive(3, 8, 3, |inner| {
        (texts(), any::<bool>(), proptest::collection::vec(inner, 0..3))
            .prop_map(|(call_id, is_error, parts)| Part::ToolResult { call_id, is_error, parts })
    })
}

fn kinds() -> impl Strategy<Value = EntryKind> {
    prop_oneof![
        Just(EntryKind::Message),
        Just(EntryKind::ToolResult),
        Just(EntryKind::ToolResultArchived),
        Just(EntryKind::ToolSummary),
        Just(EntryKind::CompactionSummary),
        Just(EntryKind::CompactionBoundary),
        Just(EntryKind::Instruction),
        Just(EntryKind::Metadata),
        Just(EntryKind::Unreadable),
        "x-[a-z]{1,9}".prop_map(EntryKind::Other),
    ]
}

fn metas() -> impl Strategy<Value = EntryMeta> {
    let maybe = || proptest::option::of(texts());
    let usage = proptest::option::of(any::<[u64; 4]>());
    (any::<(bool, bool)>(), (maybe(), maybe(), maybe()), (maybe(), maybe(), maybe(), maybe()), usage)
        .prop_map(
            |(
                (agent, user),
                (model, message_id, stop_reason),
                (cwd, git_branch, sidechain, author),
                usage,
            )| EntryMeta {
                visibility: Visibility { agent, user },
                model,
                message_id,
                usage: usage.map(|[input, output, read, write]| Usage {
                    input_tokens: input,
                    output_tokens: output,
                    cache_read_tokens: read,
                    cache_write_tokens: write,
                }),
                stop_reason,
                cwd,
                git_branch,
                sidechain,
                author,
            },
        )
}

fn entries() -> impl Strategy<Value = Entry> {
    let roles = prop_oneof![Just(Role::System), Just(Role::User), Just(Role::Assistant), Just(Role::Tool)];
    let times = proptest::option::of((0_i64..4_000_000_000_000_000).prop_map(Timestamp::from_micros));
    let bodies = prop_oneof![Just(Body::Text), Just(Body::Blocks)];
    let head = (ids(), proptest::option::of(ids()), times, roles, kinds(), bodies);
    (head, proptest::collection::vec(parts(), 0..4), metas()).prop_map(
        |((id, parent, timestamp, role, kind, body), parts, meta)| Entry {
            id,
            parent,
            timestamp,
            role,
            kind,
            body,
            parts,
            meta,
            native: NativeSpan { offset: 0, length: 0 },
        },
    )
}

fn unplaced(entries: Vec<Entry>) -> Vec<Entry> {
    let native = NativeSpan { offset: 0, length: 0 };
    entries.into_iter().map(|entry| Entry { native, ..entry }).collect()
}

proptest! {
    #[test]
    fn what_is_written_is_read_again_as_it_was(entries in proptest::collection::vec(entries(), 0..5)) {
        let bytes = Captured::ENTRIES.encode(&entries);
        let decoded = Captured::ENTRIES.decode(&bytes);
        prop_assert_eq!(decoded.notes, vec![]);
        prop_assert_eq!(unplaced(decoded.entries.clone()), entries);
        prop_assert_eq!(Captured::ENTRIES.encode(&decoded.entries), bytes);
    }
}

#[test]
fn a_conversation_of_another_runtime_passes_the_suite() {
    let entries = ClaudeCode.decode(&transcript("UATRAUTRZBCUTRA")).entries;
    let sample = Captured::ENTRIES.encode(&entries);
    conformance::passes(&Captured::ENTRIES, "a conversation", &sample);
    assert_eq!(unplaced(Captured::ENTRIES.decode(&sample).entries), unplaced(entries));
}

#[test]
fn lines_of_another_version_are_carried_and_named() {
    let decoded = Captured::ENTRIES.decode(b"{\"v\":\"stemmata-v9\",\"role\":\"user\",\"parts\":[]}\n");
    assert_eq!(decoded.entries[0].kind, EntryKind::Metadata);
    assert!(decoded.notes[0].message.contains("stemmata-v9"), "{:?}", decoded.notes);
}
