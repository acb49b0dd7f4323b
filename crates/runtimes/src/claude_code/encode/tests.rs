//! Tests of encoding: what was decoded comes back as lines that the loaders accept.

use std::collections::HashSet;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use stemmata_model::{NativeSpan, Usage, Visibility};

use super::*;
use crate::claude_code::decode::decode;
use crate::claude_code::message::Message;
use crate::claude_code::samples_tests::{corpus_files, transcript, uuid};

fn leaf() -> impl Strategy<Value = Part> {
    prop_oneof![
        any::<String>().prop_map(Part::Text),
        ("[a-z]{1,5}/[a-z]{1,5}", "[A-Za-z0-9+/]{0,9}")
            .prop_map(|(media_type, data)| Part::Image { media_type, source: ImageSource::Base64(data) }),
        "https://[a-z]{1,9}"
            .prop_map(|url| Part::Image { media_type: String::new(), source: ImageSource::Url(url) }),
        (any::<String>(), prop_oneof!["text/plain", "application/pdf"], any::<String>()).prop_map(
            |(name, media_type, data)| Part::File { name, media_type: Some(media_type), data: Some(data) }
        ),
    ]
}

fn spoken() -> impl Strategy<Value = Part> {
    let arguments =
        prop_oneof![Just("{}"), Just("{ \"b\":1.0,\t\"a\":[\"\\u0041\",9e-06]}"), Just("{\"a\":null}")];
    prop_oneof![
        any::<String>().prop_map(Part::Text),
        (any::<String>(), option::of(any::<String>())).prop_map(|(text, signature)| Part::Thinking {
            text,
            signature,
            encrypted: None
        }),
        any::<String>().prop_map(|data| Part::Thinking {
            text: String::new(),
            signature: None,
            encrypted: Some(data)
        }),
        ("[a-z0-9_]{1,9}", any::<String>(), arguments).prop_map(|(call_id, name, arguments)| {
            Part::ToolCall { call_id, name, arguments: arguments.to_owned() }
        }),
    ]
}

fn result() -> impl Strategy<Value = Part> {
    ("[a-z0-9_]{1,9}", any::<bool>(), vec(leaf(), 0..3))
        .prop_map(|(call_id, is_error, parts)| Part::ToolResult { call_id, is_error, parts })
}

fn meta() -> impl Strategy<Value = EntryMeta> {
    let fields = (
        option::of("[a-z-]{1,9}"),
        option::of("msg_[0-9]"),
        option::of("/[a-z]{0,9}"),
        option::of("[a-z/]{0,9}"),
    );
    (fields, option::of("a[0-9]{1,5}"), option::of(any::<[u32; 4]>())).prop_map(
        |((model, message_id, cwd, git_branch), sidechain, usage)| EntryMeta {
            visibility: Visibility::default(),
            model,
            message_id,
            usage: usage.map(|[input, output, read, write]| Usage {
                input_tokens: input.into(),
                output_tokens: output.into(),
                cache_read_tokens: read.into(),
                cache_write_tokens: write.into(),
            }),
            stop_reason: None,
            cwd,
            git_branch,
            sidechain,
            author: None,
        },
    )
}

/// A conversation entry; ids and parents are put in by [`conversation`].
fn entry() -> impl Strategy<Value = Entry> {
    let spoken = prop_oneof![
        vec(leaf(), 1..4).prop_map(|parts| (Role::User, EntryKind::Message, parts)),
        vec(leaf(), 1..3).prop_map(|parts| (Role::User, EntryKind::Instruction, parts)),
        vec(spoken(), 1..5).prop_map(|parts| (Role::Assistant, EntryKind::Message, parts)),
        vec(result(), 1..3).prop_map(|parts| (Role::Tool, EntryKind::ToolResult, parts)),
    ];
    (spoken, meta(), option::of(0..4_000_000_000_000_000_i64), any::<bool>()).prop_map(
        |((role, kind, parts), meta, micros, as_string)| Entry {
            id: EntryId::new("unset").expect("a name"),
            parent: None,
            timestamp: micros.map(Timestamp::from_micros),
            role,
            kind,
            body: if as_string && matches!(parts.as_slice(), [Part::Text(_)]) {
                Body::Text
            } else {
                Body::Blocks
            },
            parts,
            meta,
            native: NativeSpan { offset: 0, length: 0 },
        },
    )
}

/// Entries with uuids or other ids, each the child of an earlier one or of none.
fn conversation() -> impl Strategy<Value = Vec<Entry>> {
    vec((entry(), any::<bool>(), any::<prop::sample::Index>()), 1..12).prop_map(|drawn| {
        let mut entries: Vec<Entry> = Vec::new();
        for (index, (mut entry, has_uuid, parent)) in drawn.into_iter().enumerate() {
            entry.id =
                EntryId::new(if has_uuid { uuid(index) } else { format!("e{index}") }).expect("a name");
            entry.parent =
                (index > 0 && parent.index(4) > 0).then(|| entries[parent.index(entries.len())].id.clone());
            entries.push(entry);
        }
        entries
    })
}

fn mapped(id: Option<&EntryId>) -> Option<String> {
    id.map(uuid_of)
}

proptest! {
    #[test]
    fn what_is_encoded_decodes_to_the_same(entries in conversation()) {
        let bytes = encode(&entries);
        let decoded = decode(&bytes);
        prop_assert!(decoded.notes.is_empty(), "{:?}", decoded.notes);
        prop_assert_eq!(decoded.entries.len(), entries.len());
        for (was, is) in entries.iter().zip(&decoded.entries) {
            prop_assert_eq!((&is.role, &is.kind, &is.body, &is.parts), (&was.role, &was.kind, &was.body, &was.parts));
            prop_assert_eq!(is.id.as_str(), uuid_of(&was.id));
            prop_assert_eq!(mapped(is.parent.as_ref()), mapped(was.parent.as_ref()));
            prop_assert_eq!(&is.meta.sidechain, &was.meta.sidechain);
            prop_assert!(was.timestamp.is_none() || was.timestamp == is.timestamp);
            prop_assert!(was.meta.cwd.is_none() || was.meta.cwd == is.meta.cwd);
            if was.role == Role::Assistant {
                prop_assert!(was.meta.usage.is_none() || was.meta.usage == is.meta.usage);
                prop_assert!(was.meta.message_id.is_none() || was.meta.message_id == is.meta.message_id);
                prop_assert!(is.meta.message_id.is_some() && is.meta.model.is_some());
            }
        }
        prop_assert_eq!(encode(&entries), bytes);
    }
}

#[test]
fn every_line_has_the_fields_that_loaders_need() {
    let entries = decode(&transcript("UATRIBCU")).entries;
    let bytes = encode(&entries);
    for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let record = Record::parse(line).expect("a record");
        assert!(record.uuid_text().is_some_and(|id| is_uuid(&id)));
        assert_ne!(record.parent(), ParentLink::Absent);
        assert!(record.time().is_some());
        assert!(record.is_compact_boundary() || record.message.and_then(Message::of).is_some());
        for field in [record.session_id, record.cwd, record.version, record.git_branch, record.is_sidechain] {
            assert!(field.is_some());
        }
    }
}

#[test]
fn a_summary_is_a_boundary_and_its_summary() {
    let mut entries = decode(&transcript("UAC")).entries;
    entries[2].id = EntryId::new("of another runtime").expect("a name");
    let decoded = decode(&encode(&entries)).entries;
    let kinds: Vec<_> = decoded.iter().map(|entry| entry.kind.clone()).collect();
    assert_eq!(
        kinds,
        [EntryKind::Message, EntryKind::Message, EntryKind::CompactionBoundary, EntryKind::CompactionSummary]
    );
    assert_eq!(decoded[2].parent, None);
    assert_eq!(decoded[3].parent.as_ref(), Some(&decoded[2].id));
    assert_eq!(decoded[3].parts, entries[2].parts);
    let boundary = encode(&entries);
    let boundary = boundary.split(|byte| *byte == b'\n').nth(2).expect("three lines");
    let record = Record::parse(boundary).expect("a record");
    assert_eq!(record.logical_parent_uuid.and_then(|field| field.text()).as_deref(), Some(uuid(1).as_str()));
}

#[test]
fn what_has_no_line_gives_its_children_to_its_parent() {
    let mut entries = decode(&transcript("UAAU")).entries;
    entries[1].parts = vec![Part::Opaque {
        runtime: "elsewhere".to_owned(),
        kind: "thing".to_owned(),
        json: "{}".to_owned(),
    }];
    entries[2].meta.visibility.agent = false;
    let decoded = decode(&encode(&entries)).entries;
    assert_eq!(decoded.len(), 2);
    assert_eq!(decoded[1].parent.as_ref().map(EntryId::as_str), Some(uuid(0).as_str()));
}

#[test]
fn the_runtimes_own_metadata_comes_back_under_what_is_left() {
    let mut entries = decode(&transcript("UAdm")).entries;
    entries[1].meta.visibility.agent = false;
    let decoded = decode(&encode(&entries)).entries;
    assert_eq!(decoded.len(), 3);
    assert_eq!(decoded[1].id, entries[2].id);
    assert_eq!(decoded[1].parent.as_ref(), Some(&entries[0].id));
    assert_eq!(decoded[2].parts, entries[3].parts);
    for entry in &mut entries {
        if let [Part::Opaque { runtime, .. }] = entry.parts.as_mut_slice() {
            "elsewhere".clone_into(runtime);
        }
    }
    assert_eq!(decode(&encode(&entries)).entries.len(), 1);
}

#[test]
fn arguments_that_are_no_object_become_one() {
    for (arguments, expected) in [
        ("{\n  \"a\": 1\n}", "{   \"a\": 1 }"),
        ("[1]", "{\"value\":[1]}"),
        ("ls -la", "{\"text\":\"ls -la\"}"),
        ("", "{\"text\":\"\"}"),
    ] {
        assert_eq!(input(arguments), expected);
    }
}

#[test]
fn made_up_uuids_are_fixed() {
    let id = EntryId::new("item_7").expect("a name");
    assert_eq!(uuid_of(&id), "54cddbc2-6d5d-4fd3-8ce1-644bad3952b2");
    assert!(is_uuid(&uuid_of(&id)));
    assert!(is_uuid("0A00aaaa-0000-1000-0000-00000000000f"));
    assert!(!is_uuid("0a00aaaa-0000-1000-0000-00000000000g"));
    assert!(!is_uuid("0a00aaaa00000-1000-0000-00000000000f"));
    assert_eq!(iso(Timestamp::from_micros(1_500)), "1970-01-01T00:00:00.001500Z");
    assert_eq!(iso(Timestamp::from_micros(2_000)), "1970-01-01T00:00:00.002Z");
    assert_eq!(iso(Timestamp::from_micros(i64::MAX)), "1970-01-01T00:00:00.000Z");
}

#[test]
fn the_corpus_comes_back_from_its_entries() {
    for (name, bytes) in corpus_files() {
        let entries = decode(&bytes).entries;
        let again = decode(&encode(&entries)).entries;
        // Attachments come back as the runtime's user records, which is another role.
        let is_spoken = |entry: &Entry| entry.role != Role::System && entry.meta.visibility.agent;
        let spoken: Vec<&Entry> = entries.iter().filter(|entry| is_spoken(entry)).collect();
        let wanted: HashSet<&EntryId> = spoken.iter().map(|entry| &entry.id).collect();
        let came: Vec<&Entry> = again.iter().filter(|entry| wanted.contains(&entry.id)).collect();
        assert_eq!(came.len(), spoken.len(), "{name}");
        for (was, is) in spoken.iter().zip(&came) {
            let same = (&is.id, is.role, &is.kind, is.body, &is.parts)
                == (&was.id, was.role, &was.kind, was.body, &was.parts);
            assert!(same, "{name}: {}", was.id);
        }
        let ids: HashSet<_> = again.iter().map(|entry| &entry.id).collect();
        let dangling = again.iter().filter(|entry| entry.parent.as_ref().is_some_and(|id| !ids.contains(id)));
        let before: HashSet<_> = entries.iter().map(|entry| &entry.id).collect();
        let dangled =
            entries.iter().filter(|entry| entry.parent.as_ref().is_some_and(|id| !before.contains(id)));
        assert_eq!(dangling.count(), dangled.count(), "{name}");
    }
}
