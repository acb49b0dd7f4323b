//! What the loader loses of a rollout is said, mended by repair, and carried by what is placed. What it takes was tried with the
//! real client (0.169.0).

use stemmata_model::Granularity;

use super::Codex;
use super::samples_tests::rollout;
use crate::adapter::{Adapter as _, Base, PlanStop, Severity, Validation};
use crate::chain_tests::{commits as commits_of, kept as kept_of, placed as placed_by, planned, request};
use crate::repair::repair;

const BOTH: [(bool, Codex); 2] = [(true, Codex::PAGINATED), (false, Codex::LEGACY)];

fn checked(adapter: Codex, bytes: &[u8]) -> Validation {
    let mut validator = adapter.validator(None);
    bytes.split_inclusive(|byte| *byte == b'\n').for_each(|line| validator.line(line));
    validator.finish()
}

fn counts(found: &Validation) -> (u64, u64) {
    (found.messages_sent, found.messages_present)
}

/// Changes the line with this number, 1 being the first.
fn with_line(bytes: &[u8], number: usize, change: impl Fn(&[u8]) -> Vec<u8>) -> Vec<u8> {
    let lines = bytes.split_inclusive(|byte| *byte == b'\n').zip(1..);
    lines.flat_map(|(line, at)| if at == number { change(line) } else { line.to_vec() }).collect()
}

fn replaced(from: &'static str, with: &'static [u8]) -> impl Fn(&[u8]) -> Vec<u8> {
    move |line| {
        let at = memchr::memmem::find(line, from.as_bytes()).expect("the line holds it");
        [&line[..at], with, &line[at + from.len()..]].concat()
    }
}

#[test]
fn a_prompt_in_a_line_that_the_loader_drops_is_shown_said_to_be_lost_mended_and_carried() {
    for (is_paginated, adapter) in BOTH {
        let plain = rollout("HtUAtUAtUA", is_paginated);
        assert_eq!(counts(&checked(adapter, &plain)), (6, 6));
        let deep: &'static [u8] =
            format!("\"x\":{}{},\"role\"", "[".repeat(126), "]".repeat(126)).leak().as_bytes();
        let kinds: [(&'static str, &'static [u8], &str); 8] = [
            ("thing 5", b"thing \x01 5", "thing \\u0001 5"),
            ("\"role\"", b"\"x\":[NaN,-Infinity,\"NaN\"],\"role\"", "\"x\":[null,null,\"NaN\"]"),
            ("thing 5", b"thing \\ud83d 5", "thing \\ufffd 5"),
            ("thing 5", b"thing \xff 5", "thing \u{fffd} 5"),
            ("\"role\"", deep, "thing 5"),
            ("}\n", b"} more\n", "thing 5"),
            ("{\"", b"\xef\xbb\xbf{\"", "thing 5"),
            (
                "}\n",
                b"}{\"timestamp\":\"2026-01-01T00:00:00Z\",\"type\":\"event_msg\",\"payload\":{}}\n",
                "thing 5",
            ),
        ];
        for (from, with, carried) in kinds {
            let bytes = with_line(&plain, 6, replaced(from, with));
            let shown = String::from_utf8_lossy(with);
            let found = checked(adapter, &bytes);
            // Of a history without numbers bytes that are not UTF-8 cost everything.
            let sent = if !is_paginated && std::str::from_utf8(with).is_err() { 0 } else { 5 };
            assert_eq!(counts(&found), (sent, 6), "{shown}");
            let lost = found.findings.iter().find(|finding| finding.check == "dropped_line").expect(&shown);
            assert_eq!((lost.severity, lost.line), (Severity::Fatal, Some(6)), "{shown}");
            let entries = adapter.decode(&bytes).entries;
            assert!(
                entries.iter().any(|entry| format!("{:?}", entry.parts).contains("please do thing")),
                "{shown}"
            );
            let records = if with.ends_with(b"{}}\n") { 11 } else { 10 };
            assert_eq!(entries.len(), records, "{shown}");
            let repaired = repair(&adapter, &bytes, None);
            assert_eq!((counts(&repaired.validation), repaired.changes.len()), ((6, 6), 1), "{shown}");
            assert!(repaired.validation.is_accepted(), "{shown}");
            let (out, _) = placed_by(&adapter, &request("/new/place"), &bytes);
            assert_eq!(counts(&checked(adapter, out.as_bytes())), (6, 6), "{out}");
            for text in [String::from_utf8(repaired.bytes).expect("text"), out] {
                assert!(text.contains(carried), "{carried} in {text}");
            }
        }
    }
}

#[test]
fn a_first_line_that_is_not_read_costs_the_session_and_is_mended() {
    for (is_paginated, adapter) in BOTH {
        let plain = rollout("HtUA", is_paginated);
        let mark = [b"\xef\xbb\xbf".as_slice(), &plain].concat();
        let garbage = [b"garbage\n".as_slice(), &plain].concat();
        let half = with_line(&plain, 1, replaced("codex_exec", b"codex\\ud83d"));
        for bytes in [mark, garbage, half] {
            let found = checked(adapter, &bytes);
            assert_eq!((found.messages_sent, found.is_accepted()), (0, false), "{found:?}");
            let repaired = repair(&adapter, &bytes, None);
            assert_eq!((counts(&repaired.validation), repaired.validation.is_accepted()), ((2, 2), true));
            let (out, _) = placed_by(&adapter, &request("/new/place"), &bytes);
            assert_eq!(counts(&checked(adapter, out.as_bytes())), (2, 2), "{out}");
        }
        let mark = [b"\xef\xbb\xbf".as_slice(), &plain].concat();
        let found = crate::registry::detect(&mark).map(|(adapter, _)| adapter.format());
        assert_eq!(found, Some(adapter.format()));
    }
}

#[test]
fn a_torn_record_with_a_whole_one_behind_it_costs_only_itself_after_repair() {
    let plain = rollout("HtUAtUA", true);
    let torn = with_line(&plain, 4, |line| line[..line.len() / 2].to_vec());
    let found = checked(Codex::PAGINATED, &torn);
    assert_eq!(counts(&found), (3, 3), "what is torn is gone: {found:?}");
    // The line behind it is the beginning of a turn here; of a prompt it is a loss.
    let torn = with_line(&rollout("HtUAUA", true), 4, |line| line[..line.len() / 2].to_vec());
    let found = checked(Codex::PAGINATED, &torn);
    assert_eq!(counts(&found), (2, 3), "{found:?}");
    let repaired = repair(&Codex::PAGINATED, &torn, None);
    assert_eq!(counts(&repaired.validation), (3, 3));
    assert_eq!(repair(&Codex::PAGINATED, &repaired.bytes, None).changes, []);
}

/// What 0.169.0 sends of each, and what a context holds of it.
const ROLLED_BACK: [(&str, u64, &str); 51] = [
    ("HtUAtUAtUAB", 4, "HtUAtUA"),
    ("HtUAtUAtUABB", 2, "HtUA"),
    ("HtUAtUABBB", 0, "H"),
    ("HtUAtUABtUA", 4, "HtUAtUA"),
    ("HtUAtcUFRABtUA", 4, "HtUAtUA"),
    ("HEtUFRAtUFAB", 5, "HEtUFRA"),
    // A compaction of today goes with the turn that it was made in, and what is older counts again.
    ("HtUAQB", 0, "H"),
    ("HtUAtUAQtUA", 4, "HQtUA"),
    ("HtUAtUAQtUAB", 2, "HQ"),
    ("HtUAtUAQtUABB", 2, "HtUA"),
    ("HtUAtUAtQtUAB", 2, "HQ"),
    ("HtUAtUAtQtUABB", 2, "HtUA"),
    ("HtUAtUAtQBtUABB", 0, "H"),
    ("HtUAtUAtQtUAtQB", 2, "HQ"),
    ("HtUAtUAtQtUABBtUAtQtUAB", 2, "HQ"),
    ("HtUAtUAQtUABtUA", 4, "HQtUA"),
    // One that the client made ahead of a prompt is of that prompt's turn.
    ("HtUAtQcUAB", 2, "HtUA"),
    ("HtUAtQcUAtUAB", 4, "HQcUA"),
    ("HtUAtQcUAtUABB", 2, "HtUA"),
    // One of an old version leaves the prompts, word for word, and is a turn of its own.
    ("HtUAtUAtUACtUA", 6, "HUUUCtUA"),
    ("HtUFRACtUA", 4, "HUCtUA"),
    ("HtUAtUACtUAB", 3, "HUUC"),
    ("HtUAtUACtUABB", 2, "HUU"),
    ("HtUAtUACtUABBB", 1, "HU"),
    ("HtUACB", 1, "HU"),
    ("HtUACBtUA", 3, "HUtUA"),
    ("HtUAtUABACtUA", 4, "HUCtUA"),
    ("HtUAtUAtCBtUABB", 1, "HU"),
    ("HtUAtUAtCtUAtCB", 4, "HUUCU"),
    ("HtUAtUAtCtUABBtUAtCtUAB", 4, "HUUUC"),
    ("HtUAtCcUAB", 2, "HUC"),
    ("HtUAtCcUAtUAB", 4, "HUCcUA"),
    ("HtUAtCcUAtUABB", 2, "HUC"),
    ("HtUACtUACA", 5, "HUCUCA"),
    ("HtEUAtDEUACtUA", 5, "HUUCtUA"),
    ("HtMAtUAtCtUA", 4, "HUCtUA"),
    ("HtUAQtUACtUA", 6, "HQUCtUA"),
    // One whose summary the client knows again is no turn, and a later one leaves nothing of it.
    ("HtUAPtUAPtUA", 5, "HUUPtUA"),
    ("HtUAPB", 0, "H"),
    ("HtEPB", 1, "HP"),
    ("HtUAPtUAB", 2, "HUP"),
    ("HtUAPtUABB", 0, "H"),
    ("HtUAtPtUAtUAB", 4, "HUPtUA"),
    // What a developer says of no turn stays, and so does what stands ahead of it.
    ("HtUAdtUAB", 3, "HtUAd"),
    ("HtUADtUAB", 2, "HtUA"),
    ("HtUAtEdUAB", 4, "HtUAtEd"),
    ("HtUAtdEUAB", 3, "HtUAtd"),
    ("HtdUAB", 1, "Htd"),
    // Another agent's message is a turn.
    ("HtUAtMAtUAB", 4, "HtUAtMA"),
    ("HtUAtMAtUABB", 2, "HtUA"),
    ("HtMAB", 0, "H"),
];

#[test]
fn what_was_rolled_back_is_not_counted() {
    for (letters, wanted, kept) in ROLLED_BACK {
        let bytes = rollout(letters, false);
        let found = checked(Codex::LEGACY, &bytes);
        assert_eq!(counts(&found), (wanted, wanted), "{letters}: {found:?}");
        assert_eq!(found.findings, [], "{letters}");
        assert_eq!(kept_of(&Codex::LEGACY, letters, &bytes, PlanStop::Compaction), kept, "{letters}");
        // The client sends the same of a context.
        let (plan, context) = planned(&Codex::LEGACY, &bytes, PlanStop::Compaction);
        assert_eq!(counts(&checked(Codex::LEGACY, &context)), (wanted, wanted), "{letters}");
        assert_eq!(plan.notes, [], "{letters}");
    }
    // Without a number the client does not know the event.
    let bytes = String::from_utf8(rollout("HtUAtUAB", false)).expect("text").replace(",\"num_turns\":1", "");
    let bytes = bytes.replace("\"num_turns\":1,", "");
    assert_eq!(counts(&checked(Codex::LEGACY, bytes.as_bytes())), (4, 4));
}

#[test]
fn a_search_for_tools_without_an_answer_gets_one_where_calls_do() {
    for (is_paginated, adapter) in BOTH {
        let bytes = rollout("HtUSA", is_paginated);
        let found = checked(adapter, &bytes);
        assert_eq!(
            found.findings.iter().map(|found| found.check).collect::<Vec<_>>(),
            ["call_without_result"]
        );
        let repaired = repair(&adapter, &bytes, None);
        let (placed, _) = placed_by(&adapter, &request("/new/place"), &bytes);
        for bytes in [repaired.bytes, placed.into_bytes()] {
            let found = checked(adapter, &bytes);
            assert_eq!((counts(&found), found.findings), ((4, 4), vec![]));
            assert_eq!(repair(&adapter, &bytes, None).changes, []);
        }
    }
}

/// The provider's own search is answered by its own output, which needs no call: the loader looks for the id alone, and drops no output
/// of a server.
#[test]
fn a_search_that_the_provider_ran_is_answered_by_its_own_output() {
    let call = r#"{"type":"tool_search_call","call_id":"s","execution":"server","arguments":{}}"#;
    let output =
        r#"{"type":"tool_search_output","call_id":"s","status":"completed","execution":"server","tools":[]}"#;
    for (items, check) in [
        (vec![call, output], None),
        (vec![output], None),
        (vec![output, call], None),
        (vec![call], Some("call_without_result")),
    ] {
        let payload = format!(r#"{{"message":"s","replacement_history":[{}]}}"#, items.join(","));
        let found = checked(Codex::PAGINATED, &compacted("HtUAtUACtUA", &payload));
        assert_eq!(found.findings.first().map(|found| found.check), check, "{payload}");
        assert_eq!(found.messages_sent, found.messages_present, "{payload}");
    }
}

#[test]
fn what_a_compaction_keeps_is_counted_item_by_item() {
    let text = |role: &str| {
        format!(r#"{{"type":"message","role":"{role}","content":[{{"type":"input_text","text":"kept"}}]}}"#)
    };
    let call = r#"{"type":"function_call","name":"x","arguments":"{}","call_id":"call_1"}"#;
    let result = r#"{"type":"function_call_output","output":"done","call_id":"call_1"}"#;
    let sealed = r#"{"type":"compaction","encrypted_content":"gAAAAA"}"#;
    let all = [text("user"), text("developer"), text("assistant"), call.into(), result.into(), sealed.into()];
    for (items, wanted, check) in [
        (all.to_vec(), (8, 8), None),
        (all[..4].to_vec(), (6, 6), Some("call_without_result")),
        (vec![result.to_owned()], (2, 3), Some("result_without_call")),
    ] {
        let payload = format!(r#"{{"message":"s","replacement_history":[{}]}}"#, items.join(","));
        let found = checked(Codex::PAGINATED, &compacted("HtUAtUACtUA", &payload));
        assert_eq!(counts(&found), wanted, "{payload}");
        assert_eq!(found.findings.first().map(|found| found.check), check, "{payload}");
    }
}

#[test]
fn an_item_without_what_the_loader_needs_is_not_counted_as_sent() {
    let plain = rollout("HtUA", true);
    for (number, from, with) in [
        (3, "\"role\":\"user\"", b"\"rule\":\"user\"".as_slice()),
        (3, "\"content\":[", b"\"contents\":["),
        (4, "\"ordinal\":3", b"\"ordinal\":\"3\""),
    ] {
        let found = checked(Codex::PAGINATED, &with_line(&plain, number, replaced(from, with)));
        assert_eq!(counts(&found), (1, 2), "{from}: {found:?}");
    }
    // Any text is a time to the loader.
    let odd = String::from_utf8(plain).expect("text").replace("2026-01-01T00:00:03.000Z", "then");
    assert_eq!(counts(&checked(Codex::PAGINATED, odd.as_bytes())), (2, 2));
}

#[test]
fn a_fork_is_as_healthy_as_the_file_that_its_history_begins_in() {
    let text = String::from_utf8(rollout("HtUA", true)).expect("text");
    let base = "\"payload\":{\"history_base\":{\"thread_id\":\"t\",\"end_ordinal_exclusive\":7,\"end_byte_offset\":900},";
    let fork = text.replacen("\"payload\":{", base, 1);
    let parent = with_line(&rollout("HtUAtUA", true), 6, replaced("thing 5", b"thing \\ud83d 5"));
    let judged = |base: Option<Base>, parent: &[u8]| {
        let mut validator = Codex::PAGINATED.validator(None);
        parent.split_inclusive(|byte| *byte == b'\n').for_each(|line| validator.base_line(line));
        if let Some(base) = base {
            validator.base(base);
        }
        fork.split_inclusive('\n').for_each(|line| validator.line(line.as_bytes()));
        validator.finish()
    };
    let healthy = judged(Some(Base::There), &rollout("HtUAtUA", true));
    assert_eq!((counts(&healthy), healthy.findings), ((6, 6), vec![]));
    let lossy = judged(Some(Base::There), &parent);
    assert_eq!(counts(&lossy), (5, 6));
    assert_eq!(lossy.findings.iter().map(|finding| finding.line).collect::<Vec<_>>(), [None]);
    for base in [None, Some(Base::Unusable("its parent is gone".to_owned()))] {
        let refused = judged(base, b"");
        assert_eq!((refused.messages_sent, refused.is_accepted()), (0, false));
    }
}

#[test]
fn only_a_compaction_that_nobody_else_can_read_is_sealed() {
    let kept = r#"[{"type":"message","role":"user","content":[{"type":"input_text","text":"early"}]}"#;
    let sealed = r#",{"type":"compaction","encrypted_content":"gAAAAA"}]"#;
    for (message, kept, wanted) in [
        ("", format!("{kept}{sealed}"), true),
        ("what was done", format!("{kept}{sealed}"), false),
        ("", format!("{kept}]"), false),
        ("", "null".to_owned(), false),
    ] {
        let line = format!(
            "{{\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"type\":\"compacted\",\"payload\":{{\"message\":\"{message}\",\"replacement_history\":{kept}}}}}\n"
        );
        let entries = Codex::LEGACY.decode(line.as_bytes()).entries;
        assert_eq!(entries.iter().any(super::is_sealed), wanted, "{line}");
    }
}

/// Returns a rollout with a further item behind its prompt.
fn with_item(payload: &str) -> Vec<u8> {
    let line = format!(
        "{{\"timestamp\":\"2026-01-01T00:00:02.500Z\",\"ordinal\":3,\"type\":\"response_item\",\"payload\":{payload}}}\n"
    );
    with_line(&rollout("HtUA", true), 3, |prompt| [prompt, line.as_bytes()].concat())
}

#[test]
fn an_item_of_an_unknown_type_is_not_counted_as_sent_and_is_named() {
    let plain = commits(&rollout("HtUUA", true));
    for (payload, name) in [
        (r#"{"type":"hologram_call","call_id":"c"}"#, "response_item/hologram_call"),
        (r#"{"text":"no type"}"#, "response_item"),
        (r#"{"type":5}"#, "response_item/5"),
        ("{}", "response_item"),
    ] {
        let bytes = with_item(payload);
        let found = checked(Codex::PAGINATED, &bytes);
        assert_eq!(counts(&found), (2, 2), "{payload}");
        let named = found.findings.iter().find(|finding| finding.check == "unknown_type").expect(payload);
        assert!(named.message.contains(&format!("`{name}`")), "{}", named.message);
        assert_eq!((named.severity, named.line), (Severity::Warning, Some(4)), "{payload}");
        let decoded = Codex::PAGINATED.decode(&bytes);
        assert!(decoded.notes.iter().any(|note| note.message.contains(&format!("`{name}`"))), "{payload}");
        assert_eq!(decoded.entries.iter().filter(|entry| entry.meta.visibility.agent).count(), 2);
        // Commits end where they always ended.
        assert_eq!(commits(&bytes), plain, "{payload}");
    }
    for letter in ["hologram", "item_of_tomorrow"] {
        let event = format!(
            "{{\"timestamp\":\"t\",\"ordinal\":3,\"type\":\"event_msg\",\"payload\":{{\"type\":\"{letter}\"}}}}\n"
        );
        let bytes = with_line(&rollout("HtUA", true), 3, |prompt| [prompt, event.as_bytes()].concat());
        let found = checked(Codex::PAGINATED, &bytes);
        assert!(found.findings.iter().any(|finding| finding.check == "unknown_type"), "{:?}", found.findings);
    }
}

/// Returns how many commits a rollout has.
fn commits(bytes: &[u8]) -> usize {
    commits_of(&Codex::PAGINATED, Granularity::Message, bytes).len()
}

/// Each was sent to the real client (0.169.0), or dropped by it.
#[test]
fn an_item_is_sent_where_its_fields_are_as_the_client_needs_them() {
    let content = |item: &str| {
        format!(r#"{{"type":"message","role":"user","content":[{item},{{"type":"input_text","text":"x"}}]}}"#)
    };
    let texts = |json: &[&str]| json.iter().map(|&json| json.to_owned()).collect::<Vec<_>>();
    let mut sent = texts(&[
        r#"{"type":"reasoning","summary":[]}"#,
        r#"{"type":"web_search_call"}"#,
        r#"{"type":"web_search_call","action":{"type":"tomorrow"}}"#,
        r#"{"type":"tool_search_call","execution":"client","arguments":{}}"#,
        r#"{"type":"tool_search_output","call_id":"c","status":"s","execution":"server","tools":[]}"#,
        r#"{"type":"image_generation_call","status":"s","result":"r"}"#,
        r#"{"type":"agent_message","author":"a","recipient":"b","content":[]}"#,
        r#"{"type":"compaction","encrypted_content":"x"}"#,
        r#"{"type":"context_compaction"}"#,
        r#"{"type":"additional_tools","role":"developer","tools":[]}"#,
    ]);
    sent.extend(
        [r#"{"type":"input_image","file_id":"f"}"#, r#"{"type":"input_audio","audio_url":"u"}"#].map(content),
    );
    let mut dropped = texts(&[
        r#"{"type":"reasoning"}"#,
        r#"{"type":"reasoning","summary":[{"type":"tomorrow","text":"x"}]}"#,
        r#"{"type":"reasoning","summary":[],"encrypted_content":5}"#,
        r#"{"type":"web_search_call","status":5}"#,
        r#"{"type":"local_shell_call","status":"completed","action":{"type":"tomorrow"}}"#,
        r#"{"type":"local_shell_call","status":"tomorrow","action":{"type":"exec","command":["ls"]}}"#,
        r#"{"type":"tool_search_call","arguments":{}}"#,
        r#"{"type":"tool_search_output","call_id":"c","status":"s","execution":"client","tools":[]}"#,
        r#"{"type":"image_generation_call","result":"r"}"#,
        r#"{"type":"agent_message","author":"a","content":[]}"#,
        r#"{"type":"compaction"}"#,
        r#"{"type":"additional_tools","role":"developer"}"#,
        r#"{"type":"function_call_output","call_id":"c","output":[{"type":"tomorrow","text":"x"}]}"#,
    ]);
    dropped.extend([r#"{"type":"input_image"}"#, r#"{"type":"tomorrow"}"#, r#""text""#].map(content));
    for (payloads, wanted) in [(sent, 3), (dropped, 2)] {
        for payload in payloads {
            let found = checked(Codex::PAGINATED, &with_item(&payload));
            assert_eq!(found.messages_sent, wanted, "{payload}: {:?}", found.findings);
        }
    }
}

/// Returns a rollout whose compaction holds this instead of its summary.
fn compacted(letters: &str, payload: &str) -> Vec<u8> {
    let text = String::from_utf8(rollout(letters, true)).expect("text");
    let at = letters.find('C').expect("a compaction");
    text.replace(&format!("{{\"message\":\"so far {at} things happened\"}}"), payload).into_bytes()
}

#[test]
fn a_compaction_that_the_loader_drops_leaves_all_that_is_older() {
    let item = r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"kept"}]}"#;
    for (payload, wanted) in [
        ("{}".to_owned(), 6),
        (format!(r#"{{"replacement_history":[{item}]}}"#), 6),
        (r#"{"message":5}"#.to_owned(), 6),
        (r#"{"message":"s","replacement_history":5}"#.to_owned(), 6),
        (r#"{"message":"s","replacement_history":[{"type":"message","role":"user"}]}"#.to_owned(), 6),
        (r#"{"message":"s","replacement_history":[]}"#.to_owned(), 2),
        (format!(r#"{{"message":"s","replacement_history":[{item},{{"type":"tomorrow"}}]}}"#), 3),
    ] {
        let bytes = compacted("HtUAtUACtUA", &payload);
        let found = checked(Codex::PAGINATED, &bytes);
        assert_eq!(counts(&found), (wanted, wanted), "{payload}: {:?}", found.findings);
        let is_said = found.findings.iter().any(|finding| finding.check == "misread_record");
        assert_eq!(is_said, wanted == 6, "{payload}");
        let entries = Codex::PAGINATED.decode(&bytes).entries;
        assert_eq!(
            entries.iter().filter(|entry| entry.meta.visibility.agent).count(),
            if wanted == 3 { 7 } else { 6 }
        );
        // Commits end where they always ended.
        assert_eq!(commits(&bytes), commits(&rollout("HtUAtUACtUA", true)), "{payload}");
        let (plan, context) = planned(&Codex::PAGINATED, &bytes, PlanStop::Compaction);
        assert_eq!(plan.segments_read, if wanted == 6 { 4 } else { 2 }, "{payload}");
        assert_eq!(counts(&checked(Codex::PAGINATED, &context)), (wanted, wanted), "{payload}");
    }
}

#[test]
fn a_header_that_the_client_refuses_is_refused_mended_and_carried_whole() {
    for (adapter, plain) in BOTH.map(|(is_paginated, adapter)| (adapter, rollout("HtUA", is_paginated))) {
        for (name, bad) in [
            ("id", "\"not-a-uuid\""),
            ("id", "5"),
            ("session_id", "null"),
            ("session_id", "\"nope\""),
            ("cwd", "5"),
            ("timestamp", "null"),
            ("source", "{\"weird\":1}"),
            ("source", "null"),
            ("source", "{\"subagent\":{\"weird\":1}}"),
            ("git", "{\"commit_hash\":5}"),
            ("git", "\"main\""),
            ("model_provider", "5"),
            ("forked_from_id", "\"nope\""),
            ("base_instructions", "\"text\""),
            ("dynamic_tools", "5"),
        ] {
            let bytes = with_line(&plain, 1, |line| with_member(line, name, bad));
            let found = checked(adapter, &bytes);
            assert_eq!((counts(&found), found.is_accepted()), ((0, 2), false), "{name} {bad}");
            assert!(found.findings.iter().any(|finding| finding.message.contains(&format!("`{name}`"))));
            let repaired = repair(&adapter, &bytes, None);
            assert_eq!((counts(&repaired.validation), repaired.changes.len()), ((2, 2), 1), "{name} {bad}");
            let (out, _) = placed_by(&adapter, &request("/new/place"), &bytes);
            assert_eq!(counts(&checked(adapter, out.as_bytes())), (2, 2), "{name} {bad}: {out}");
        }
        for (name, good) in [
            ("git", "{}"),
            ("git", "null"),
            ("source", "\"weird\""),
            ("source", "{\"custom\":\"x\"}"),
            ("source", "{\"subagent\":\"review\"}"),
            ("timestamp", "\"then\""),
            ("id", "\"01a2000000007000800000000000000a\""),
        ] {
            let bytes = with_line(&plain, 1, |line| with_member(line, name, good));
            assert_eq!(counts(&checked(adapter, &bytes)), (2, 2), "{name} {good}");
        }
    }
}

/// Gives a header's payload a member.
fn with_member(line: &[u8], name: &str, json: &str) -> Vec<u8> {
    let mut value: serde_json::Value = serde_json::from_slice(line).expect("JSON");
    value["payload"][name] = serde_json::from_str(json).expect("JSON");
    format!("{value}\n").into_bytes()
}

#[test]
fn a_rollback_without_a_number_takes_nothing_back_and_is_not_the_last_line() {
    for bad in ["\"1\"", "1.0", "-1", "4294967296", "null"] {
        let text = String::from_utf8(rollout("HtUAtUAB", true)).expect("text");
        let bytes =
            text.replace("\"num_turns\":1", &format!("\"num_turns\":{bad}")).replace("\"ordinal\":7,", "");
        let found = checked(Codex::PAGINATED, bytes.as_bytes());
        assert_eq!((counts(&found), found.is_accepted()), ((4, 4), true), "{bad}: {:?}", found.findings);
    }
}

#[test]
fn a_message_without_a_time_is_carried() {
    for (is_paginated, adapter) in BOTH {
        for with in ["", "\"timestamp\":5,"] {
            let bytes = with_line(&rollout("HtUAtUA", is_paginated), 6, |line| {
                let text = String::from_utf8_lossy(line)
                    .replace("\"timestamp\":\"2026-01-01T00:00:05.000Z\",", with);
                text.replace(
                    ",\"timestamp\":\"2026-01-01T00:00:05.000Z\"",
                    if with.is_empty() { "" } else { ",\"timestamp\":5" },
                )
                .into_bytes()
            });
            assert_eq!(counts(&checked(adapter, &bytes)), (3, 4));
            let (out, _) = placed_by(&adapter, &request("/new/place"), &bytes);
            assert_eq!(counts(&checked(adapter, out.as_bytes())), (4, 4), "{out}");
        }
    }
}

#[test]
fn a_result_ahead_of_its_call_is_sent_and_answers_it() {
    let swapped = rollout("HtURFA", true);
    let bytes = String::from_utf8(swapped).expect("text").replace("call_2", "call_4").into_bytes();
    let found = checked(Codex::PAGINATED, &bytes);
    assert_eq!((counts(&found), found.findings.len()), ((4, 4), 0), "{:?}", found.findings);
    assert_eq!(repair(&Codex::PAGINATED, &bytes, None).changes, []);
    let (out, _) = placed_by(&Codex::PAGINATED, &request("/new/place"), &bytes);
    assert_eq!(counts(&checked(Codex::PAGINATED, out.as_bytes())), (4, 4), "{out}");
}

#[test]
fn what_the_client_told_ahead_of_a_prompt_goes_with_it_and_what_says_nothing_is_not_sent() {
    for (letters, wanted) in [("HtUAEtUAB", 2), ("HtUAEEtUAB", 2), ("HtEUAtUABB", 1), ("HtUAEAtUAB", 4)] {
        let found = checked(Codex::PAGINATED, &rollout(letters, true));
        assert_eq!(counts(&found), (wanted, wanted), "{letters}");
    }
    let empty = r#"{"type":"message","role":"user","content":[]}"#;
    assert_eq!(counts(&checked(Codex::PAGINATED, &with_item(empty))), (2, 2));
}
