//! Tests that one pass says what level by level says.

use proptest::prelude::*;

use super::*;
use crate::claude_code::samples_tests::line;

/// The fields that one pass reads.
fn kept((record, inside): (Record<'_>, Inside<'_>)) -> String {
    let record = Record {
        record_type: record.record_type,
        subtype: record.subtype,
        uuid: record.uuid,
        parent_uuid: record.parent_uuid,
        logical_parent_uuid: record.logical_parent_uuid,
        timestamp: record.timestamp,
        is_sidechain: record.is_sidechain,
        is_meta: record.is_meta,
        is_compact_summary: record.is_compact_summary,
        agent_id: record.agent_id,
        compact_metadata: record.compact_metadata,
        leaf_uuid: record.leaf_uuid,
        message_id: record.message_id,
        cut_uuid: record.cut_uuid,
        explicit: record.explicit,
        ..Record::default()
    };
    format!("{record:?} {inside:?}")
}

/// Fails where one pass says something else; returns whether it says anything.
fn agrees(line: &[u8]) -> bool {
    let fast = fast(line).map(kept);
    if let Some(fast) = &fast {
        assert_eq!(Some(fast), slow(line).map(kept).as_ref(), "{}", String::from_utf8_lossy(line));
    }
    assert_eq!(scan(line).map(kept), slow(line).map(kept), "{}", String::from_utf8_lossy(line));
    fast.is_some()
}

#[test]
fn lines_as_a_client_writes_them_take_one_pass() {
    for letter in "UATZRIBCdxmsSrbc".chars() {
        assert!(agrees(&line(letter, 7)), "{letter}");
    }
    assert!(agrees(b"{\"type\":\"user\",\"message\":{\"content\":\"a \\ud83d \\n text\"},\"uuid\":\"u\"}\n"));
}

#[test]
fn rare_shapes_and_broken_lines_are_read_level_by_level() {
    for text in [
        "",
        "{",
        "[1]",
        "{} x",
        "{\"message\":null}",
        "{\"message\":\"no object\"}",
        "{\"message\":{\"content\":7}}",
        "{\"message\":{\"content\":[\"text\",{\"type\":\"tool_use\",\"id\":\"c\"}]}}",
        "{\"message\":{\"content\":\"a\tb\"}}",
        "{\"message\":{\"content\":\"\\q\"}}",
        "{\"a\tb\":1}",
        "{\"type\":\"user\"}\r\n",
        "{\"type\":\"user\",\"uu",
    ] {
        assert!(!agrees(text.as_bytes()), "{text}");
    }
}

#[test]
fn the_last_of_duplicate_keys_wins() {
    assert!(agrees(
        br#"{"uuid":"a","message":{"id":"m1","content":[{"id":"c","id":"d"}]},"uuid":"b","message":{"content":[],"content":"x"}}"#
    ));
}

/// Values with keys and shapes that matter, and some that do not.
fn value() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        Just("-1.5e3".to_owned()),
        Just("\"user\"".to_owned()),
        Just("\"a\\u0062\\ud800\\n\"".to_owned()),
        Just("\"a\tb\"".to_owned()),
        Just("01".to_owned()),
    ];
    let key = proptest::sample::select(vec![
        "message",
        "content",
        "id",
        "type",
        "tool_use_id",
        "uuid",
        "parentUuid",
        "ty\\u0070e",
        "x",
        "explicit",
    ]);
    leaf.prop_recursive(5, 40, 5, move |inner| {
        let field = (key.clone(), inner.clone()).prop_map(|(key, value)| format!("\"{key}\":{value}"));
        prop_oneof![
            proptest::collection::vec(inner, 0..4).prop_map(|list| format!("[{}]", list.join(","))),
            proptest::collection::vec(field, 0..6).prop_map(|fields| format!("{{{}}}", fields.join(", "))),
        ]
    })
}

proptest! {
    #[test]
    fn one_pass_agrees_on_any_json(text in value(), at in any::<prop::sample::Index>()) {
        agrees(text.as_bytes());
        agrees(format!("{{\"message\":{text}}}").as_bytes());
        agrees(format!("{{\"message\":{{\"content\":{text}}}}}").as_bytes());
        agrees(text.as_bytes().get(..at.index(text.len())).unwrap_or_default());
    }

    #[test]
    fn one_pass_agrees_on_altered_lines(letter in proptest::sample::select("UATZRIBCdxm".chars().collect::<Vec<_>>()), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut line = line(letter, 3);
        let at = at.index(line.len());
        line[at] = byte;
        agrees(&line);
    }
}
