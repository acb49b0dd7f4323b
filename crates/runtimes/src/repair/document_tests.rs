//! Laws of repairing documents, over whole and damaged ones; then each repair by name.

use proptest::prelude::*;
use serde_json::{Value, json};
use stemmata_model::Part;

use super::*;
use crate::adapter::Severity;
use crate::chain_tests::checked;
use crate::gemini::GeminiLegacy;
use crate::messages::Messages;
use crate::messages::samples_tests::{ANTHROPIC_SAMPLE, CHAT_SAMPLE, RESPONSES_SAMPLE};
use crate::opencode::Opencode;

/// Why a document may still be refused: nothing whole is in it, or somebody speaks whom its API does not know.
const BEYOND_REPAIR: [&str; 4] = ["no_messages", "unreadable", "unknown_role", "missing_header"];

fn samples() -> [(&'static dyn Adapter, &'static str); 5] {
    [
        (&Messages::ANTHROPIC, ANTHROPIC_SAMPLE),
        (&Messages::CHAT, CHAT_SAMPLE),
        (&Messages::RESPONSES, RESPONSES_SAMPLE),
        (&Opencode, crate::opencode::samples_tests::SAMPLE),
        (&GeminiLegacy, crate::gemini::legacy::tests::SAMPLE),
    ]
}

/// All texts that somebody said and all that tools returned, in no order.
fn said(adapter: &dyn Adapter, bytes: &[u8]) -> Vec<String> {
    fn texts(parts: &[Part], found: &mut Vec<String>) {
        for part in parts {
            match part {
                Part::Text(text) if !text.trim().is_empty() => found.push(text.clone()),
                Part::ToolResult { parts, .. } => texts(parts, found),
                Part::ToolCall { call_id, arguments, .. } => found.push(format!("{call_id} {arguments}")),
                _ => {}
            }
        }
    }
    let mut found = Vec::new();
    adapter.decode(bytes).entries.iter().for_each(|entry| texts(&entry.parts, &mut found));
    found
}

#[track_caller]
fn lawful(adapter: &dyn Adapter, bytes: &[u8], is_cut: bool) -> Repaired {
    let shown = || format!("{:?}\n{}", adapter.format(), String::from_utf8_lossy(bytes));
    let before = checked(adapter, bytes);
    let repaired = repair(adapter, bytes, None);
    let result = String::from_utf8_lossy(&repaired.bytes).into_owned();
    if before.findings.iter().all(|finding| finding.severity < Severity::Warning) {
        assert_eq!(repaired.changes, [], "nothing was wrong with\n{}", shown());
    }
    assert_eq!(repaired.bytes == bytes, repaired.changes.is_empty(), "{:?}\n{}", repaired.changes, shown());
    let again = repair(adapter, &repaired.bytes, None);
    assert_eq!(again.changes, [], "a second time\n{}\n{result}", shown());
    let fatal = repaired.validation.findings.iter().filter(|finding| finding.severity == Severity::Fatal);
    let left: Vec<_> = fatal.filter(|finding| !BEYOND_REPAIR.contains(&finding.check)).collect();
    assert!(left.is_empty(), "{left:?}\n{}\n{:?}\n{result}", shown(), repaired.changes);
    if !is_cut {
        let now = said(adapter, &repaired.bytes);
        for text in said(adapter, bytes) {
            assert!(now.contains(&text), "{text} is gone of\n{}\n{result}", shown());
        }
    }
    repaired
}

/// What can happen to the messages of a document.
#[derive(Debug, Clone)]
enum Damage {
    Gone(prop::sample::Index),
    Again(prop::sample::Index, prop::sample::Index),
    Moved(prop::sample::Index, prop::sample::Index),
    Blank(prop::sample::Index, bool),
}

fn damages() -> impl Strategy<Value = Vec<Damage>> {
    let index = any::<prop::sample::Index>;
    let damage = prop_oneof![
        index().prop_map(Damage::Gone),
        (index(), index()).prop_map(|(from, to)| Damage::Again(from, to)),
        (index(), index()).prop_map(|(from, to)| Damage::Moved(from, to)),
        (index(), any::<bool>()).prop_map(|(at, is_list)| Damage::Blank(at, is_list)),
    ];
    prop::collection::vec(damage, 0..5)
}

fn damaged(sample: &str, damages: &[Damage]) -> Vec<u8> {
    let mut document: Value = serde_json::from_str(sample).expect("JSON");
    let is_list = document.is_array();
    let list = if is_list { &mut document } else { &mut document["messages"] };
    let list = list.as_array_mut().expect("a list");
    for damage in damages {
        let count = list.len();
        if count == 0 {
            break;
        }
        match damage {
            Damage::Gone(at) => drop(list.remove(at.index(count))),
            Damage::Again(at, to) => list.insert(to.index(count), list[at.index(count)].clone()),
            Damage::Moved(at, to) => {
                let message = list.remove(at.index(count));
                list.insert(to.index(count), message);
            }
            Damage::Blank(at, as_list) => {
                let message = &mut list[at.index(count)];
                if is_list && message.get("role").is_some_and(|role| role == "user" || role == "assistant") {
                    message["content"] =
                        if *as_list { json!([{ "type": "text", "text": " \n" }]) } else { json!("\t") };
                }
            }
        }
    }
    document.to_string().into_bytes()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases * 3))]

    #[test]
    fn damaged_documents_are_repaired_and_nothing_said_is_lost(which in 0..5_usize, damages in damages()) {
        let (adapter, sample) = samples()[which];
        if damages.is_empty() {
            lawful(adapter, sample.as_bytes(), false);
        }
        lawful(adapter, &damaged(sample, &damages), false);
    }

    #[test]
    fn cut_documents_keep_their_whole_messages(which in 0..5_usize, cut in any::<prop::sample::Index>()) {
        let (adapter, sample) = samples()[which];
        let mut end = cut.index(sample.len());
        while !sample.is_char_boundary(end) {
            end -= 1;
        }
        lawful(adapter, &sample.as_bytes()[..end], true);
    }
}

fn kinds(repaired: &Repaired) -> Vec<&'static str> {
    repaired.changes.iter().map(|change| change.kind).collect()
}

fn array(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).expect("JSON")
}

#[test]
fn an_array_for_anthropic_gets_its_results_where_the_api_looks() {
    let call = |id: &str| json!({ "role": "assistant", "content": [{ "type": "tool_use", "id": id, "name": "n", "input": {} }] });
    let odd = json!([
        { "role": "user", "content": "a" }, call("one"), { "role": "user", "content": "wait" },
        { "role": "user", "content": [{ "type": "text", "text": "and" }, { "type": "tool_result", "tool_use_id": "one", "content": "late" }] },
        call("two"), { "role": "assistant", "content": " " }, { "role": "assistant", "content": "b" },
        { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "none", "content": "stray" }] }, call("open"),
    ]);
    let repaired = lawful(&Messages::ANTHROPIC, odd.to_string().as_bytes(), false);
    assert_eq!(kinds(&repaired), ["blank_text", "result", "result", "orphan"]);
    let now = array(&repaired.bytes);
    assert_eq!(now[2]["content"][0]["content"], "late");
    assert_eq!(now[2]["content"][1]["text"], "wait");
    assert_eq!(now[3]["content"], json!([{ "type": "text", "text": "and" }]));
    assert_eq!((&now[5]["role"], &now[5]["content"][0]["tool_use_id"]), (&json!("user"), &json!("two")));
    assert_eq!(now[7]["content"][1]["text"], "stray");
    let told = repaired.changes[0].message.clone();
    assert!(told.starts_with("message 6 says nothing"), "{told}");
    let open: Vec<_> = repaired.validation.findings.iter().map(|finding| finding.check).collect();
    assert!(open.contains(&"open_call") && repaired.validation.is_accepted(), "{open:?}");
    let late = json!([{ "role": "user", "content": "a" }, call("one"),
        { "role": "user", "content": [{ "type": "text", "text": "and" }, { "type": "tool_result", "tool_use_id": "one", "content": "x" }] }]);
    assert_eq!(kinds(&lawful(&Messages::ANTHROPIC, late.to_string().as_bytes(), false)), ["order"]);
    let answer = json!([{ "role": "assistant", "content": "b" }]).to_string();
    assert_eq!(kinds(&lawful(&Messages::ANTHROPIC, answer.as_bytes(), false)), ["beginning"]);
}

#[test]
fn arrays_with_results_of_their_own_get_them_behind_their_calls() {
    let chat = json!([
        { "role": "user", "content": "a" },
        { "role": "assistant", "content": null, "tool_calls": [{ "id": "one", "type": "function", "function": { "name": "n", "arguments": "{}" } },
            { "id": "two", "type": "function", "function": { "name": "n", "arguments": "{}" } }] },
        { "role": "user", "content": "wait" },
        { "role": "tool", "tool_call_id": "two", "content": "late" },
        { "role": "tool", "tool_call_id": "none", "content": "stray" },
    ]);
    let repaired = lawful(&Messages::CHAT, chat.to_string().as_bytes(), false);
    assert_eq!(kinds(&repaired), ["result", "result", "orphan"]);
    let now = array(&repaired.bytes);
    let ids: Vec<&Value> = now.as_array().unwrap().iter().map(|message| &message["tool_call_id"]).collect();
    assert_eq!(ids, [&Value::Null, &Value::Null, &json!("one"), &json!("two"), &Value::Null, &Value::Null]);
    assert_eq!((&now[3]["content"], &now[5]["content"][1]["text"]), (&json!("late"), &json!("stray")));
    let responses = json!([
        { "type": "message", "role": "user", "content": "a" },
        { "type": "custom_tool_call", "call_id": "one", "name": "n", "input": "x" },
        { "type": "message", "role": "user", "content": "b" },
        { "type": "function_call_output", "call_id": "none", "output": "stray" },
    ]);
    let repaired = lawful(&Messages::RESPONSES, responses.to_string().as_bytes(), false);
    let now = array(&repaired.bytes);
    assert_eq!(now[2]["type"], "custom_tool_call_output");
    assert_eq!((&now[4]["role"], &now[4]["content"][1]["text"]), (&json!("user"), &json!("stray")));
}

#[test]
fn what_is_not_touched_keeps_its_bytes() {
    let odd = "[ {\"role\":\"user\", \"content\":\"a\", \"n\":1.50},\n  {\"role\":\"assistant\",\"content\":\"\"},\n  {\"content\":\"b\",\"role\":\"user\"} ]\n";
    let repaired = lawful(&Messages::ANTHROPIC, odd.as_bytes(), false);
    assert_eq!(
        String::from_utf8(repaired.bytes).unwrap(),
        "[ {\"role\":\"user\", \"content\":\"a\", \"n\":1.50},\n  {\"content\":\"b\",\"role\":\"user\"} ]\n"
    );
}

#[test]
fn a_session_of_opencode_gets_results_fields_and_its_order() {
    let mut session: Value = serde_json::from_str(crate::opencode::samples_tests::SAMPLE).unwrap();
    session["info"].as_object_mut().unwrap().remove("slug");
    session["messages"][1]["parts"][3]["state"] = json!({ "status": "running", "input": { "n": 1 } });
    for key in ["parentID", "agent", "mode", "path", "cost", "tokens"] {
        session["messages"][1]["info"].as_object_mut().unwrap().remove(key);
    }
    session["messages"][0]["info"].as_object_mut().unwrap().remove("model");
    session["messages"].as_array_mut().unwrap().swap(0, 2);
    let repaired = lawful(&Opencode, session.to_string().as_bytes(), false);
    assert_eq!(kinds(&repaired), ["field", "field", "result", "field", "order"]);
    assert!(repaired.validation.findings.iter().all(|found| found.severity < Severity::Fatal));
    let now = array(&repaired.bytes);
    let state = &now["messages"][1]["parts"][3]["state"];
    assert_eq!(
        (&state["status"], &state["error"], &state["input"]["n"]),
        (&json!("error"), &json!(REPAIRED_TEXT), &json!(1))
    );
}

#[test]
fn an_older_session_of_gemini_is_mended_as_the_log_that_it_becomes() {
    let sample = crate::gemini::legacy::tests::SAMPLE;
    let odd = sample
        .replace("\"id\": \"5c1f6f0e-0004-4000-8000-000000000004\", ", "")
        .replace("\"result\": [{\"functionResponse\": {\"id\": \"photo-1759312802001-d4e5f6\", \"name\": \"photo\", \"response\": {\"error\": \"fog\"}}}]", "\"x\": 1");
    assert_ne!(odd, sample);
    let repaired = lawful(&GeminiLegacy, odd.as_bytes(), false);
    assert_eq!(kinds(&repaired), ["field", "result"]);
    assert!(repaired.changes[0].message.starts_with("message 4: "), "{:?}", repaired.changes);
    let text = String::from_utf8(repaired.bytes).unwrap();
    assert!(
        text.contains(&sample[..sample.find("\"result\"").unwrap()]),
        "what is whole keeps its line breaks"
    );
    let cut = &sample[..sample.find("fog").unwrap()];
    let repaired = lawful(&GeminiLegacy, cut.as_bytes(), true);
    assert_eq!((kinds(&repaired), repaired.validation.messages_sent), (vec!["torn_tail"], 1));
}
