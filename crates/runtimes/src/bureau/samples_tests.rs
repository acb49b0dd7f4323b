//! Samples of both arrays, and what holds of them.

use proptest::prelude::*;
use stemmata_model::{EntryKind, Granularity, Part, Role, Timestamp};

use super::*;
use crate::adapter::DETECT_BYTES_MAX;
use crate::cbor::write::{self, Map};
use crate::chain_tests::{checked, checks};
use crate::conformance::{check, check_any, passes};
use crate::{messages, registry};

fn unhex(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex")).collect()
}

/// A block as Go writes it: with every field, those that are not meant `null` or empty.
fn block(kind: &str, key: &str, value: impl Into<Vec<u8>>) -> Vec<u8> {
    let mut map = Map::default().text("Type", kind);
    let value = value.into();
    for field in ["Text", "ToolUse", "ToolResult", "ServerToolUse", "ServerToolResult"] {
        let empty = if field == "Text" { write::text("") } else { write::null() };
        map = map.with(field, if field == key { value.clone() } else { empty });
    }
    map.finish()
}

fn message(role: &str, blocks: &[Vec<u8>]) -> Vec<u8> {
    Map::default().text("Role", role).with("Content", write::array(blocks)).finish()
}

fn text_block(text: &str) -> Vec<u8> {
    block("text", "Text", write::text(text))
}

/// Messages with something of everything.
pub(crate) fn agent_sample() -> Vec<u8> {
    let call = Map::default().text("ID", "toolu_01Bells").text("Name", "read_list");
    let call = call.with("Input", write::bytes(br#"{"path": "bells.txt", "at": 1.50}"#)).finish();
    let server = Map::default().text("ID", "srvtoolu_1").text("Name", "tool_search");
    let server = server.with("Input", write::bytes(br#"{"query":"bells"}"#)).finish();
    let found = Map::default().text("ToolUseID", "srvtoolu_1");
    let found = found.with("Content", write::bytes(br#"[{"name":"photo"}]"#)).finish();
    let thought = Map::default().text("Content", "The list says.").text("Signature", "c2lnbmVk").finish();
    let result = Map::default().text("ToolUseID", "toolu_01Bells").text("Content", "east: 12:00");
    let result = result.with("IsError", write::flag(true)).finish();
    write::array(&[
        message("user", &[text_block("Which bells ring at noon?")]),
        message(
            "assistant",
            &[
                Map::default().text("Type", "thinking").with("Thinking", thought).finish(),
                text_block("I look: café \u{1f514}."),
                block("server_tool_use", "ServerToolUse", server),
                block("server_tool_result", "ServerToolResult", found),
                block("tool_use", "ToolUse", call),
            ],
        ),
        message("user", &[block("tool_result", "ToolResult", result)]),
        message("assistant", &[text_block("The east bell does.")]),
    ])
}

fn event(kind: &str, at: &str, own: Map) -> Vec<u8> {
    Map::default().text("type", kind).text("timestamp", at).with(kind, own.finish()).finish()
}

/// Events with something of everything.
pub(crate) fn events_sample() -> Vec<u8> {
    let own = Map::default;
    let init = br#"{"session_id":"5d2c","cwd":"/srv/tower","model":"m"}"#;
    let metadata =
        |subtype: &str, json: &[u8]| own().text("subtype", subtype).with("metadata", write::bytes(json));
    let call = own().text("id", "toolu_1").text("name", "Read").with("input", write::bytes(br#"{"p":1}"#));
    write::array(&[
        event("system", "2026-02-28T12:00:00Z", metadata("init", init)),
        event(
            "prompt",
            "2026-02-28T12:00:01.5Z",
            own().text("content", "Which bells?").text("source", "initial"),
        ),
        event(
            "thinking",
            "2026-02-28T13:00:02+01:00",
            own().text("content", "Hm.").text("signature", "c2ln"),
        ),
        event("tool_call", "2026-02-28T12:00:03Z", call),
        event("tool_result", "2026-02-28T12:00:04Z", own().text("id", "toolu_1").text("output", "east")),
        event("response", "2026-02-28T12:00:05Z", own().text("content", "The east bell.")),
        event("error", "2026-02-28T12:00:06Z", own().text("message", "overloaded")),
        event("system", "2026-02-28T12:00:07Z", metadata("compact_boundary", br#"{"trigger":"auto"}"#)),
        event("output", "2026-02-28T12:00:08Z", own().with("raw", write::bytes(br#"{"type":"x"}"#))),
        event("metric", "2026-02-28T12:00:09Z", own().with("input_tokens", write::integer(9))),
    ])
}

#[test]
fn arrays_keep_the_laws() {
    for (adapter, sample, entries, messages) in
        [(Bureau::AGENT, agent_sample(), 4, 4), (Bureau::EVENTS, events_sample(), 10, 5)]
    {
        let name = adapter.format();
        let report = passes(&adapter, name.as_str(), &sample);
        assert_eq!((report.entries, report.counts.messages, report.notes), (entries, messages, Vec::new()));
        // The same, spelled otherwise: of indefinite length, and self-described.
        let list = List::whole(&sample).expect("a list");
        let inside = &sample[list.inside.clone()];
        let endless = [&[0xd9, 0xd9, 0xf7, 0x9f][..], inside, &[0xff]].concat();
        check(&adapter, &endless).unwrap_or_else(|broken| panic!("{name} endless: {broken}"));
        let found = registry::detect(&sample).map(|(_, detection)| detection.format);
        assert_eq!(found, Some(name));
    }
}

#[test]
fn messages_become_entries() {
    let decoded = Bureau::AGENT.decode(&agent_sample());
    let told: Vec<_> = decoded.entries.iter().map(|entry| (entry.role, entry.parts.len())).collect();
    assert_eq!(told, [(Role::User, 1), (Role::Assistant, 5), (Role::Tool, 1), (Role::Assistant, 1)]);
    let answer = &decoded.entries[1].parts;
    assert!(matches!(&answer[0], Part::Thinking { text, signature: Some(proof), .. }
        if text == "The list says." && proof == "c2lnbmVk"));
    assert!(
        matches!(&answer[2], Part::Opaque { kind, json, .. }
        if kind == "server_tool_use" && json.contains(r#""Input":{"$json":{"query":"bells"}}"#)),
        "{answer:?}"
    );
    assert!(matches!(&answer[4], Part::ToolCall { call_id, name, arguments }
        if call_id == "toolu_01Bells" && name == "read_list" && arguments == r#"{"path": "bells.txt", "at": 1.50}"#));
    assert!(matches!(&decoded.entries[2].parts[0], Part::ToolResult { is_error: true, parts, .. }
        if *parts == [Part::Text("east: 12:00".to_owned())]));
}

#[test]
fn events_become_entries_with_their_times() {
    let decoded = Bureau::EVENTS.decode(&events_sample());
    let at = |text: &str| Some(Timestamp::parse(text).expect("a time"));
    let times: Vec<_> = decoded.entries.iter().take(3).map(|entry| entry.timestamp).collect();
    assert_eq!(times, [at("2026-02-28T12:00:00Z"), at("2026-02-28T12:00:01.5Z"), at("2026-02-28T12:00:02Z")]);
    let kinds: Vec<&str> = decoded.entries.iter().map(|entry| entry.kind.as_str()).collect();
    assert_eq!(
        kinds,
        [
            "metadata",
            "message",
            "message",
            "message",
            "tool_result",
            "message",
            "error",
            "compaction_boundary",
            "metadata",
            "metadata"
        ]
    );
    let mut splitter = Bureau::EVENTS.splitter(Granularity::Turn, None);
    splitter.line(&events_sample(), &mut Vec::new());
    let facts = splitter.facts();
    assert_eq!(facts.cwd.as_deref(), Some("/srv/tower"));
    assert_eq!(facts.title.as_deref(), Some("Which bells?"));
    assert_eq!(facts.session.as_ref().map(ToString::to_string).as_deref(), Some("5d2c"));
}

#[test]
fn seconds_are_times_too() {
    let at = |value: Vec<u8>| {
        let event = Map::default().text("type", "response").with("timestamp", value);
        let event = event.with("response", Map::default().text("content", "x").finish()).finish();
        Bureau::EVENTS.decode(&write::array(&[event])).entries[0].timestamp.map(Timestamp::as_micros)
    };
    assert_eq!(at(write::integer(1_772_280_000)), Some(1_772_280_000_000_000));
    assert_eq!(at(write::float(1.5)), Some(1_500_000));
    assert_eq!(at([vec![0xc1], write::integer(7)].concat()), Some(7_000_000));
    assert_eq!(at(write::text("0001-01-01T00:00:00Z")), None);
    assert_eq!(at(write::integer(i128::from(i64::MAX))), None);
    assert_eq!(at(write::float(1e300)), None);
}

/// As Bureau's own service joined them.
#[test]
fn two_arrays_join_as_bureau_joins_them() {
    let first = unhex("81a2616e0164747970656670726f6d7074");
    let second = unhex("83a1647479706568726573706f6e7365617807");
    let both = unhex("84a2616e0164747970656670726f6d7074a1647479706568726573706f6e7365617807");
    for adapter in [Bureau::AGENT, Bureau::EVENTS] {
        assert_eq!(adapter.join(&[&first, &second]).as_deref(), Some(both.as_slice()));
        // Four items are four entries, whatever they are, and nothing of them is lost.
        let decoded = adapter.decode(&both);
        assert_eq!(decoded.entries.len(), 4);
        assert!(decoded.entries.iter().all(|entry| entry.kind == EntryKind::Metadata));
        assert!(!decoded.notes.is_empty(), "what is unknown is told");
    }
}

#[test]
fn what_is_no_array_joins_nothing() {
    let array = write::array(&[message("user", &[text_block("a")])]);
    for other in
        [unhex("a0"), unhex("82"), b"[]".to_vec(), Vec::new(), [array.clone(), array.clone()].concat()]
    {
        assert_eq!(Bureau::AGENT.join(&[&array, &other]), None);
        assert_eq!(Bureau::AGENT.join(&[&other]), Some(other));
    }
}

#[test]
fn an_array_is_known_by_its_first_item() {
    let detect =
        |bytes: &[u8]| registry::detect(bytes).map(|(_, found)| (found.format.to_string(), found.confidence));
    let agent = |confidence| Some(("bureau-agent-v1".to_owned(), confidence));
    let events = |confidence| Some(("bureau-events-v1".to_owned(), confidence));
    let long = "x".repeat(DETECT_BYTES_MAX);
    let head = |bytes: Vec<u8>| bytes[..DETECT_BYTES_MAX].to_vec();
    let cut = head(write::array(&[message("user", &[text_block(&long)])]));
    assert_eq!(detect(&cut), agent(Confidence::Certain));
    let own = Map::default().text("content", &long);
    let cut = head(write::array(&[event("prompt", "2026-02-28T12:00:00Z", own)]));
    assert_eq!(detect(&cut), events(Confidence::Possible));
    let lower = Map::default().text("role", "user").text("content", "hello").finish();
    assert_eq!(detect(&write::array(&[lower])), agent(Confidence::Possible));
    for nothing in [unhex("80"), unhex("8101"), unhex("81a0"), unhex("9f"), unhex("a0"), unhex("81a1616101")]
    {
        assert_eq!(detect(&nothing), None, "{nothing:02x?}");
    }
}

#[test]
fn a_conversation_goes_there_and_back() {
    let sample = messages::samples_tests::ANTHROPIC_SAMPLE;
    let from = messages::Messages::ANTHROPIC.format();
    let entries = messages::Messages::ANTHROPIC.decode(sample.as_bytes()).entries;
    for adapter in [Bureau::AGENT, Bureau::EVENTS] {
        let translated = crate::translate::translate(entries.clone(), &from, &adapter.format());
        let bytes = adapter.encode(&translated.entries);
        let again = adapter.decode(&bytes);
        assert_eq!(again.notes, []);
        let said = format!("{:?}", again.entries);
        for word in [
            "Which bells",
            "list will say",
            "c2lnbmVk",
            "toolu_01ListOfBells7Q",
            "1.50",
            "east: 12:00",
            "fog",
            "is_error: true",
            "Be quick",
            "[image image/png]",
            "The east bell",
        ] {
            assert!(said.contains(word), "{}: {word}: {said}", adapter.format());
        }
        let images = translated.report.entries.iter().filter(|loss| loss.part == "image").count();
        assert_eq!(images, 2, "{:?}", translated.report.entries);
        let verdict = checked(&adapter, &bytes);
        assert!(verdict.is_accepted() && verdict.findings.is_empty(), "{:?}", verdict.findings);
        let back = crate::translate::translate(again.entries, &adapter.format(), &from);
        let array = messages::Messages::ANTHROPIC.encode(&back.entries);
        let said = String::from_utf8_lossy(&array).into_owned();
        for word in ["Which bells", "toolu_01ListOfBells7Q", "east: 12:00", "The east bell"] {
            assert!(said.contains(word), "{word}: {said}");
        }
    }
}

#[test]
fn odd_conversations_are_found() {
    let answer = message("assistant", &[text_block("a")]);
    assert_eq!(checks(&Bureau::AGENT, &write::array(&[answer])), ["begins_with_answer"]);
    assert_eq!(checks(&Bureau::AGENT, &unhex("82")), ["unreadable",]);
    assert_eq!(checks(&Bureau::EVENTS, &unhex("82")), ["unreadable"]);
    let at = "2026-02-28T12:00:00Z";
    let call = event("tool_call", at, Map::default().text("id", "a").text("name", "n"));
    let result = event("tool_result", at, Map::default().text("id", "b").text("output", "x"));
    assert_eq!(checks(&Bureau::EVENTS, &write::array(&[call, result])), ["result_without_call", "open_call"]);
}

/// Replaces every text that says so, as a scrubber would.
fn scrubbed(bytes: &[u8]) -> Vec<u8> {
    let readable = scrub::readable(bytes).expect("an item");
    scrub::rewritten(bytes, &readable.json.replace("hunter2", "[REDACTED:password]")).expect("an item")
}

#[test]
fn a_secret_is_replaced_in_its_string_and_nothing_else_moves() {
    let call = |input: &str| {
        let call = Map::default().text("ID", "c").text("Name", "n");
        block("tool_use", "ToolUse", call.with("Input", write::bytes(input.as_bytes())).finish())
    };
    let own = |word: &str| {
        // Of indefinite length, with a longer spelling of a number and a byte string that is none of ours.
        let odd = [
            &[0xbf][..],
            &write::text("n"),
            &[0x18, 0x05],
            &write::text("raw"),
            &write::bytes(b"\xffhunter2"),
            &write::text("say"),
            &write::text(&format!("it is {word}, \"really\"")),
            &[0xff],
        ]
        .concat();
        write::array(&[
            message("user", &[text_block(&format!("log in with {word} please: é"))]),
            message("assistant", &[call(&format!("{{\"command\":\"login -p {word}\",\"n\":1.50}}"))]),
            odd,
        ])
    };
    let (before, after) = (own("hunter2"), own("[REDACTED:password]"));
    assert_eq!(scrubbed(&before), after);
    assert_eq!(scrubbed(&after), after, "twice is once");
    check_any(&Bureau::AGENT, &after).expect("the laws");
    let readable = scrub::readable(&before).expect("an item");
    for (at, word) in readable.json.match_indices("hunter2") {
        assert_eq!(&before[readable.place(at..at + word.len())], b"hunter2");
    }
}

#[test]
fn names_of_fields_are_those_that_rules_know() {
    let readable = scrub::readable(&agent_sample()).expect("an item");
    for name in [
        "\"role\":\"user\"",
        "\"tool_use_id\":\"toolu_01Bells\"",
        "\"is_error\":null",
        "\"signature\":\"c2lnbmVk\"",
        "\"input\":{\"query\":\"bells\"}",
    ] {
        assert!(readable.json.contains(name), "{name}: {}", readable.json);
    }
}

#[test]
fn signed_reasoning_that_held_a_secret_is_hidden() {
    let thought = |text: &str, signature: &str| {
        event(
            "thinking",
            "2026-02-28T12:00:00Z",
            Map::default().text("content", text).text("signature", signature),
        )
    };
    let before = write::array(&[thought("it is hunter2", "c2ln"), thought("all is well", "c2ln")]);
    let after = write::array(&[thought("[REDACTED:thinking]", ""), thought("all is well", "c2ln")]);
    assert_eq!(scrubbed(&before), after);
    assert_eq!(scrubbed(&after), after);
    let parts = &Bureau::EVENTS.decode(&after).entries[0].parts;
    assert!(matches!(&parts[0], Part::Thinking { signature: None, .. }), "{parts:?}");
}

proptest! {
    /// Joining is associative, and the items of all come behind each other.
    #[test]
    fn joins_add_up(texts in proptest::collection::vec(proptest::collection::vec("\\PC{0,30}", 0..30), 2..4)) {
        let arrays: Vec<Vec<u8>> = texts
            .iter()
            .map(|texts| write::array(&texts.iter().map(|text| message("user", &[text_block(text)])).collect::<Vec<_>>()))
            .collect();
        let all: Vec<&[u8]> = arrays.iter().map(Vec::as_slice).collect();
        let whole = Bureau::AGENT.join(&all).expect("lists");
        let head = Bureau::AGENT.join(&all[..2]).expect("lists");
        let rest: Vec<&[u8]> = std::iter::once(head.as_slice()).chain(all[2..].iter().copied()).collect();
        prop_assert_eq!(&Bureau::AGENT.join(&rest).expect("lists"), &whole);
        let items: Vec<Vec<u8>> =
            texts.iter().flatten().map(|text| message("user", &[text_block(text)])).collect();
        prop_assert_eq!(whole, write::array(&items));
    }

    #[test]
    fn no_bytes_upset_the_adapters(bytes in proptest::collection::vec(any::<u8>(), 0..120), head in 0x80_u8..=0x9f) {
        let array = [&[head][..], &bytes].concat();
        for adapter in [Bureau::AGENT, Bureau::EVENTS] {
            check_any(&adapter, &bytes).map_err(|broken| TestCaseError::fail(broken.to_string()))?;
            check_any(&adapter, &array).map_err(|broken| TestCaseError::fail(broken.to_string()))?;
        }
    }
}
