//! Sessions of the fourth version, as `packages/agent` of pi writes them: lanes, records, facts, and the way into the third.

use serde_json::{Value, json};
use stemmata_model::{CommitType, EntryId, Granularity, Timestamp};

use super::Pi;
use crate::adapter::{Adapter as _, Keeps, PlanStop, Severity};
use crate::chain_tests::{Chain, checked, cut, fatal, place, planned, request};
use crate::conformance;

/// Writes a session, one letter a line: `H` header, `U` prompt, `A` answer, `F` call and `R` its result, `C` compaction that holds
/// two messages, `m` another model, `s` a prompt and `a` an answer of another lane, `O` that lane, `o` an operation, `N` a title,
/// `L` a label, `<` the conversation goes back by two entries, `0` it begins anew.
fn session(letters: &str) -> Vec<u8> {
    let (mut main, mut side): (Vec<String>, Option<String>) = (Vec::new(), None);
    let mut out = Vec::new();
    for (index, letter) in letters.chars().enumerate() {
        let own = format!("e{index}");
        let said = |role: &str, text: &str| json!({ "role": role, "content": [{ "type": "text", "text": format!("{text} {index}") }], "timestamp": 1 });
        let answer = |content: Value| {
            json!({ "role": "assistant", "content": content, "api": "anthropic-messages", "provider": "anthropic",
            "model": "claude-sonnet-4-5", "stopReason": "stop", "timestamp": 1, "usage": { "input": 3, "output": 5, "cacheRead": 7,
            "cacheWrite": 11, "totalTokens": 26, "cost": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0 } } })
        };
        let call = |of: usize| json!([{ "type": "toolCall", "id": format!("call_{of}"), "name": "bash", "arguments": {} }]);
        let text = |text: String| json!([{ "type": "text", "text": text }]);
        let entry = |kind: &str, more: Value| {
            let mut entry = json!({ "kind": "entry", "type": kind, "id": own });
            entry.as_object_mut().expect("one").extend(more.as_object().expect("one").clone());
            entry
        };
        let mut line = match letter {
            'H' => {
                json!({ "kind": "header", "version": 4, "id": super::samples_tests::SESSION, "createdAt": 1_767_225_600_000_u64, "cwd": "/srv/project" })
            }
            'U' | 's' => entry("message", json!({ "message": said("user", "please do thing") })),
            'A' | 'a' => entry("message", json!({ "message": answer(text(format!("done {index}"))) })),
            'F' => entry("message", json!({ "message": answer(call(index)) })),
            'R' => entry(
                "message",
                json!({ "message": { "role": "toolResult", "toolCallId": format!("call_{}", index - 1), "toolName": "bash",
                    "content": text("note.txt".to_owned()), "isError": false, "timestamp": 1 } }),
            ),
            'C' => entry(
                "compaction",
                json!({ "summary": format!("so far {index}"), "tokensBefore": 9,
                    "retainedTail": [said("user", "kept"), answer(text("kept too".to_owned()))] }),
            ),
            'm' => entry("model_change", json!({ "provider": "anthropic", "modelId": "claude-sonnet-4-5" })),
            'o' => {
                json!({ "kind": "record", "type": "operation_started", "id": own, "lane": "main", "intent": { "kind": "run" } })
            }
            'N' => json!({ "kind": "fact", "fact": "name", "name": "A title" }),
            'L' => json!({ "kind": "fact", "fact": "label", "targetId": main.last(), "label": "here" }),
            'O' => {
                side = main.last().cloned();
                json!({ "kind": "lane", "lane": "side", "leafId": side })
            }
            '<' => {
                main.truncate(main.len() - 2);
                json!({ "kind": "lane", "lane": "main", "leafId": main.last() })
            }
            '0' => {
                main.clear();
                json!({ "kind": "lane", "lane": "main", "leafId": null })
            }
            _ => unreachable!("no letter: {letter}"),
        };
        if letter != 'H' {
            line["seq"] = json!(index);
        }
        if line["kind"] == "entry" {
            let is_side = matches!(letter, 's' | 'a');
            line["lane"] = json!(if is_side { "side" } else { "main" });
            line["parentId"] = json!(if is_side { side.clone() } else { main.last().cloned() });
            line["timestamp"] = json!(1_767_225_600_000_u64 + index as u64 * 1000);
            if is_side { side = Some(own) } else { main.push(own) }
        }
        out.extend_from_slice(format!("{line}\n").as_bytes());
    }
    out
}

const STORY: &str = "HNoUFRALmUOsaACUA<oUA";

fn said(adapter: Pi, bytes: &[u8]) -> Vec<String> {
    let seen = adapter.told(bytes).entries.into_iter().filter(|entry| entry.meta.visibility.agent);
    seen.map(|entry| format!("{:?} {:?}", entry.role, entry.parts)).collect()
}

#[test]
fn sessions_of_the_fourth_version_pass_the_suite() {
    let report = conformance::passes(&Pi::V4, STORY, &session(STORY));
    assert_eq!((report.entries, report.notes), (STORY.len(), vec![]));
    let found = crate::registry::detect(&session(STORY)).map(|(adapter, _)| adapter.format());
    assert_eq!(found, Some(Pi::V4.format()));
    let times: Vec<_> = Pi::V4.decode(&session("HUA")).entries.iter().map(|entry| entry.timestamp).collect();
    let second = |second| Timestamp::parse(&format!("2026-01-01T00:00:0{second}.000Z")).ok();
    assert_eq!(times, [second(0), second(1), second(2)]);
    let mut splitter = Pi::V4.splitter(Granularity::Turn, None);
    for line in session(STORY).split(|byte| *byte == b'\n') {
        splitter.line(line, &mut Vec::new());
    }
    assert_eq!(splitter.facts().title.as_deref(), Some("A title"));
    assert_eq!(splitter.facts().cwd.as_deref(), Some("/srv/project"));
}

#[test]
fn a_context_is_the_main_conversation_where_its_lane_stands() {
    for (letters, wanted) in [
        ("HUAUA", "UAUA"),
        // Another lane is another conversation, also where it says something last.
        ("HUAOsaUA", "UAUA"),
        ("HUAOUAsa", "UAUA"),
        ("HUAUA<", "UA"),
        ("HUAUA<UA", "UAUA"),
        ("HUA0UA", "UA"),
        ("HUA0", ""),
        // A compaction holds what it keeps.
        ("HUAUACUA", "CUA"),
        ("HUACUA<UA", "CUA"),
        ("HOsa", ""),
    ] {
        let bytes = session(letters);
        let (_, context) = planned(&Pi::V4, &bytes, PlanStop::Compaction);
        let ids: Vec<String> =
            Pi::V4.decode(&context).entries.iter().map(|entry| entry.id.to_string()).collect();
        let is_kept = |index: &usize| ids.contains(&format!("e{index}"));
        let kept: String =
            letters.char_indices().filter(|(index, _)| is_kept(index)).map(|(_, letter)| letter).collect();
        assert_eq!(kept, wanted, "{letters}");
    }
    assert_eq!(cut(&Pi::V4, "HNoUAmUACUA", &session("HNoUAmUACUA")), "HNoUAm|UA|C!|UA");
}

#[test]
fn it_goes_into_the_third_version_with_all_that_was_said() {
    for letters in ["HUA", STORY, "HUAUA<UA", "HUAOsaUA", "HUACoNLUFRA"] {
        let bytes = session(letters);
        let (_, context) = planned(&Pi::V4, &bytes, PlanStop::Compaction);
        let third = Pi::V3.upgrade(&Pi::V4.format(), &context).expect("a way");
        let text = String::from_utf8(third.clone()).expect("text");
        assert_eq!(Pi::V3.detect(&third).map(|found| found.format), Some(Pi::V3.format()), "{text}");
        assert_eq!(said(Pi::V3, &third), said(Pi::V4, &context), "{text}");
        assert_eq!(Pi::V3.decode(&third).notes, [], "{text}");
        let (out, _) = place(&Pi::V3, &request("/new/place"), &third);
        let found = checked(&Pi::V3, &out);
        assert_eq!(fatal(&Pi::V3, &out), Vec::<&str>::new(), "{letters}: {found:?}");
        assert_eq!(found.messages_sent, checked(&Pi::V4, &bytes).messages_sent, "{letters}: {text}");
        assert!(!text.contains("\"seq\"") || text.contains("\"data\""), "{text}");
    }
    assert!(!Pi::V4.is_placeable());
}

#[test]
fn what_its_loader_refuses_is_said() {
    let bytes = session(STORY);
    let found = checked(&Pi::V4, &bytes);
    let all = |found: &crate::adapter::Validation| -> Vec<(Severity, &'static str)> {
        found.findings.iter().map(|finding| (finding.severity, finding.check)).collect()
    };
    let newer = (Severity::Warning, "newer_version");
    // Summary, what it holds, and the last turn.
    assert_eq!((all(&found), found.messages_sent, found.messages_present), (vec![newer], 5, 5));
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let gap = [&lines[..7], &lines[8..]].concat().concat();
    let found = checked(&Pi::V4, &gap);
    assert_eq!((all(&found), found.messages_sent), (vec![newer, (Severity::Fatal, "missing_lines")], 0));
    let garbage = [&lines[..7], &[b"garbage\n".as_slice()], &lines[7..]].concat().concat();
    let found = checked(&Pi::V4, &garbage);
    assert_eq!((all(&found), found.messages_sent), (vec![newer, (Severity::Warning, "unreadable_line")], 0));
    // A torn end is cut off by the loader.
    let torn = [bytes.as_slice(), b"{\"kind\":\"entry\""].concat();
    assert_eq!(checked(&Pi::V4, &torn).messages_sent, 5);
}

#[test]
fn a_result_that_is_held_without_its_call_is_refused_and_placed_as_what_a_user_says() {
    let text = String::from_utf8(session("HUACUA")).expect("text");
    let lost = json!({ "role": "toolResult", "toolCallId": "lost", "toolName": "bash", "content": [], "isError": false, "timestamp": 1 });
    let bytes = text.replace("\"retainedTail\":[", &format!("\"retainedTail\":[{lost},")).into_bytes();
    assert_eq!(fatal(&Pi::V4, &bytes), ["result_without_call"]);
    let (_, context) = planned(&Pi::V4, &bytes, PlanStop::Compaction);
    let third = Pi::V3.upgrade(&Pi::V4.format(), &context).expect("a way");
    let (out, _) = place(&Pi::V3, &request("/new/place"), &third);
    assert_eq!(fatal(&Pi::V3, &out), Vec::<&str>::new());
    assert_eq!(checked(&Pi::V3, &out).messages_sent, 6);
}

#[test]
fn a_compaction_of_ours_stands_on_the_main_lane() {
    let bytes = session("HUAUA");
    let mut chain = Chain::import(&Pi::V4, Granularity::Turn, &bytes);
    let last = Pi::V4.decode(&bytes);
    let first = EntryId::new("e3").expect("a name");
    let kept = last.entries.get(3..).unwrap_or_default();
    let keeps = Keeps { covers_from: None, keeps_from: Some(&first), kept, last: &last };
    let line = Pi::V4.encode_compaction("what happened", &keeps, Timestamp::EPOCH);
    chain.push(CommitType::Compaction, &line);
    let (_, context) = chain.context(PlanStop::Compaction);
    let told = said(Pi::V4, &context);
    assert_eq!(told.len(), 3, "{told:?}");
    assert!(told.iter().any(|said| said.contains("what happened")), "{told:?}");
}
