//! Samples of arrays, and the laws that they keep.

use stemmata_model::{CommitType, EntryKind, Part, Role, Timestamp};

use super::*;
use crate::adapter::PlanStop;
use crate::chain_tests::{Chain, checks};
use crate::conformance::{check, passes};

/// A conversation with something of everything, as an agent of one's own keeps it.
pub(crate) const ANTHROPIC_SAMPLE: &str = r#"[
  {"role": "user", "content": "Which bells ring at noon?"},
  {"role": "assistant", "id": "msg_01NoonBellsAskedFor", "model": "claude-opus-4-1", "content": [
    {"type": "thinking", "thinking": "The tower's list will say.", "signature": "c2lnbmVkIGJ5IHRoZSB0b3dlcg=="},
    {"type": "redacted_thinking", "data": "ZW5jcnlwdGVk"},
    {"type": "text", "text": "I look at the list: café, \u00fc and \"quotes\"."},
    {"type": "tool_use", "id": "toolu_01ListOfBells7Q", "name": "read_list", "input": {"path": "bells.txt", "at": 1.50}},
    {"type": "tool_use", "id": "toolu_02PicOfTower8R", "name": "photo", "input": {}}
  ]},
  {"role": "user", "content": [
    {"type": "tool_result", "tool_use_id": "toolu_01ListOfBells7Q", "content": "east: 12:00\nwest: silent"},
    {"type": "tool_result", "tool_use_id": "toolu_02PicOfTower8R", "is_error": true, "content": [
      {"type": "text", "text": "fog"},
      {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
    ]},
    {"type": "text", "text": "Be quick."}
  ]},
  {"role": "assistant", "content": "The east bell does."},
  {"role": "user", "content": [{"type": "image", "source": {"type": "url", "url": "https://tower.example/b.png"}},
    {"type": "text", "text": "And this one?"}]},
  {"role": "assistant", "content": [{"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"q": "bells"}},
    {"type": "text", "text": "It hangs in the west."}]}
]
"#;

#[test]
fn anthropic_arrays_keep_the_laws() {
    let report = passes(&Messages::ANTHROPIC, "an array", ANTHROPIC_SAMPLE.as_bytes());
    assert_eq!((report.entries, report.counts.messages, report.notes), (6, 6, Vec::new()));
}

/// The same, as a chat-completions API has it.
pub(crate) const CHAT_SAMPLE: &str = r#"[{"role":"system","content":"You look after bells."},
 {"role":"user","content":"Which bells ring at noon?"},
 {"role":"assistant","content":null,"reasoning_content":"The list will say.","tool_calls":[
  {"id":"call_ListOfBells7Q","type":"function","function":{"name":"read_list","arguments":"{\"path\": \"bells.txt\", \"at\": 1.50}"}},
  {"id":"call_PicOfTower8R","type":"function","function":{"name":"photo","arguments":"{}"}}]},
 {"role":"tool","tool_call_id":"call_ListOfBells7Q","content":"east: 12:00\nwest: silent"},
 {"role":"tool","tool_call_id":"call_PicOfTower8R","content":[{"type":"text","text":"fog"},{"type":"text","text":"more fog"}]},
 {"role":"assistant","content":"The east bell does."},
 {"role":"user","content":[{"type":"text","text":"And this one?"},
  {"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}]},
 {"role":"assistant","content":"It hangs in the west."}]"#;

/// The same, as the Responses API has it.
pub(crate) const RESPONSES_SAMPLE: &str = r#"[
 {"role":"developer","content":"You look after bells."},
 {"type":"message","role":"user","content":[{"type":"input_text","text":"Which bells ring at noon?"}]},
 {"type":"reasoning","id":"rs_68f0c1d2e3a4","summary":[{"type":"summary_text","text":"The list will say."}],"encrypted_content":"ZW5jcnlwdGVk"},
 {"type":"message","id":"msg_68f0c1d2e3a5","role":"assistant","content":[{"type":"output_text","text":"I look.","annotations":[]}]},
 {"type":"function_call","id":"fc_68f0c1d2e3a6","call_id":"call_ListOfBells7Q","name":"read_list","arguments":"{\"path\": \"bells.txt\"}"},
 {"type":"function_call","call_id":"call_PicOfTower8R","name":"photo","arguments":"{}"},
 {"type":"function_call_output","call_id":"call_ListOfBells7Q","output":"east: 12:00\nwest: silent"},
 {"type":"function_call_output","call_id":"call_PicOfTower8R","output":[{"type":"input_text","text":"fog"},{"type":"input_image","image_url":"https://tower.example/b.png"}]},
 {"type":"web_search_call","id":"ws_1","status":"completed"},
 {"type":"message","role":"assistant","content":[{"type":"output_text","text":"The east bell does."}]},
 {"type":"message","role":"user","content":"And the west one?"}
]
"#;

#[test]
fn chat_and_responses_arrays_keep_the_laws() {
    for (adapter, sample, entries) in
        [(Messages::CHAT, CHAT_SAMPLE, 8), (Messages::RESPONSES, RESPONSES_SAMPLE, 11)]
    {
        let name = adapter.format();
        let report = passes(&adapter, name.as_str(), sample.as_bytes());
        assert_eq!((report.entries, report.notes), (entries, Vec::new()), "{name}");
    }
}

#[test]
fn a_conversation_in_each_array_is_one_that_every_api_takes() {
    let all = [
        (Messages::ANTHROPIC, ANTHROPIC_SAMPLE),
        (Messages::CHAT, CHAT_SAMPLE),
        (Messages::RESPONSES, RESPONSES_SAMPLE),
    ];
    for (from, sample) in all {
        for (to, _) in all {
            let entries = from.decode(sample.as_bytes()).entries;
            let translated = crate::translate::translate(entries, &from.format(), &to.format());
            let array = to.encode(&translated.entries);
            let what = format!("{} to {}: {}", from.format(), to.format(), String::from_utf8_lossy(&array));
            assert_eq!(checks(&to, &array), [""; 0], "{what}");
            for word in ["Which bells", "bells.txt", "east: 12:00", "fog", "The east bell does."] {
                assert!(String::from_utf8_lossy(&array).contains(word), "{word}: {what}");
            }
            assert_eq!(
                crate::registry::detect(&array).map(|(adapter, _)| adapter.format()),
                Some(to.format()),
                "{what}"
            );
        }
    }
}

#[test]
fn what_an_api_would_refuse_is_found() {
    for (adapter, array, check) in [
        (Messages::ANTHROPIC, r#"[{"role":"assistant","content":"a"}]"#, "begins_with_answer"),
        (
            Messages::ANTHROPIC,
            r#"[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"n","input":{}}]},{"role":"user","content":"b"}]"#,
            "call_without_result",
        ),
        (
            Messages::ANTHROPIC,
            r#"[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"x"}]}]"#,
            "result_without_call",
        ),
        (
            Messages::CHAT,
            r#"[{"role":"user","content":"a"},{"role":"assistant","content":null,"tool_calls":[{"id":"t","type":"function","function":{"name":"n","arguments":"{}"}}]}]"#,
            "open_call",
        ),
        (Messages::CHAT, r#"[{"role":"wizard","content":"a"}]"#, "unknown_role"),
        (
            Messages::RESPONSES,
            r#"[{"type":"function_call_output","call_id":"t","output":"x"}]"#,
            "result_without_call",
        ),
        (Messages::RESPONSES, "[", "unreadable"),
        (Messages::CHAT, "[]", "no_messages"),
    ] {
        assert!(checks(&adapter, array.as_bytes()).contains(&check), "{check}: {array}");
    }
}

#[test]
fn what_the_api_refuses_for_being_empty_is_not_written() {
    let text = |text: &str| Part::Text(text.to_owned());
    let said = |id: &str, role: Role, parts: Vec<Part>| Entry {
        id: stemmata_model::EntryId::new(id).expect("a name"),
        role,
        kind: EntryKind::Message,
        parts,
        ..crate::document::summary_entry("", Timestamp::EPOCH)
    };
    let call = Part::ToolCall { call_id: "c".to_owned(), name: "n".to_owned(), arguments: "{}".to_owned() };
    let result = Part::ToolResult {
        call_id: "c".to_owned(),
        is_error: false,
        parts: vec![text(" "), text("x"), text("")],
    };
    let all = [
        said("a", Role::Assistant, vec![text("hello")]),
        said("b", Role::User, vec![text("")]),
        said("c", Role::User, vec![text(" \n"), text("go")]),
        said("d", Role::Assistant, vec![text("\t"), call]),
        said("e", Role::Tool, vec![result]),
        said("f", Role::Assistant, vec![text(" ")]),
    ];
    let written = |entries: &[Entry]| String::from_utf8(Messages::ANTHROPIC.encode(entries)).expect("text");
    let array = written(&all);
    assert_eq!(checks(&Messages::ANTHROPIC, array.as_bytes()), [""; 0], "{array}");
    let expected = concat!(
        r#"[{"role":"user","content":"[The conversation begins with an answer.]"},{"role":"assistant","content":"hello"},"#,
        r#"{"role":"user","content":"go"},{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"n","input":{}}]},"#,
        r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"x","is_error":false}]}]"#,
    );
    assert_eq!(array, expected);
    // A prompt of nothing before an answer is none either.
    let array =
        written(&[said("a", Role::User, vec![text("")]), said("b", Role::Assistant, vec![text("hi")])]);
    assert_eq!(checks(&Messages::ANTHROPIC, array.as_bytes()), [""; 0], "{array}");
}

#[test]
fn calls_in_other_spellings_keep_their_arguments() {
    let chat = r#"[{"role":"user","content":"a"},
      {"role":"assistant","content":null,"tool_calls":[{"id":"one","type":"function","function":{"name":"n","arguments":{"at": 1.50}}}]},
      {"role":"tool","tool_call_id":"one","content":"x"},
      {"role":"assistant","content":null,"function_call":{"name":"old","arguments":"{\"b\": 2}"}},
      {"role":"function","name":"old","content":"gave"},
      {"role":"assistant","content":null,"function_call":{"name":"old","arguments":{"b":3}}},
      {"role":"function","name":"old","content":"more"}]"#;
    let responses = r#"[{"type":"message","role":"user","content":"a"},
      {"type":"function_call","call_id":"one","name":"n","arguments":{"at": 1.50}},
      {"type":"function_call_output","call_id":"one","output":"x"}]"#;
    for (adapter, array, wanted) in [
        (Messages::CHAT, chat, &[r#"{"at": 1.50}"#, r#"{"b": 2}"#, r#"{"b":3}"#][..]),
        (Messages::RESPONSES, responses, &[r#"{"at": 1.50}"#]),
    ] {
        let decoded = adapter.decode(array.as_bytes());
        assert_eq!(decoded.notes, [], "{array}");
        let calls: Vec<(String, String)> = decoded
            .entries
            .iter()
            .flat_map(|entry| &entry.parts)
            .filter_map(|part| match part {
                Part::ToolCall { call_id, arguments, .. } => Some((call_id.clone(), arguments.clone())),
                _ => None,
            })
            .collect();
        assert_eq!(calls.iter().map(|(_, arguments)| arguments.as_str()).collect::<Vec<_>>(), wanted);
        let answers: Vec<&str> = decoded.entries.iter().flat_map(Entry::answers).collect();
        assert_eq!(
            calls.iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>(),
            answers,
            "each has its result"
        );
        assert_eq!(checks(&adapter, array.as_bytes()), [""; 0]);
        check(&adapter, array.as_bytes()).unwrap_or_else(|broken| panic!("{broken}"));
        let detected = crate::registry::detect(array.as_bytes()).map(|(adapter, _)| adapter.format());
        assert_eq!(detected, Some(adapter.format()));
    }
}

#[test]
fn calls_that_say_the_same_get_ids_of_their_own() {
    let asked = r#"{"role":"assistant","content":null,"function_call":{"name":"status","arguments":"{}"}}"#;
    let gave = |what: &str| format!(r#"{{"role":"function","name":"status","content":"{what}"}}"#);
    let array =
        format!(r#"[{{"role":"user","content":"a"}},{asked},{},{asked},{}]"#, gave("open"), gave("done"));
    let entries = Messages::CHAT.decode(array.as_bytes()).entries;
    for to in [Messages::ANTHROPIC, Messages::CHAT, Messages::RESPONSES] {
        let written = to.encode(&entries);
        assert_eq!(checks(&to, &written), [""; 0]);
        let again = to.decode(&written).entries;
        let ids: std::collections::HashSet<&str> = again.iter().flat_map(Entry::calls).collect();
        let answers: Vec<&str> = again.iter().flat_map(Entry::answers).collect();
        assert_eq!((ids.len(), answers.len()), (2, 2), "{}", String::from_utf8_lossy(&written));
    }
}

#[test]
fn calls_are_closed_and_results_come_home_where_a_conversation_is_odd() {
    // A prompt came between call and result, one call was never answered, and one result has no call.
    let odd = r#"[{"role":"user","content":"a"},
      {"role":"assistant","content":[{"type":"tool_use","id":"one","name":"n","input":{}},{"type":"tool_use","id":"two","name":"n","input":{}}]},
      {"role":"user","content":"wait"},
      {"role":"user","content":[{"type":"tool_result","tool_use_id":"one","content":"late"},{"type":"tool_result","tool_use_id":"none","content":"stray"}]},
      {"role":"assistant","content":"b"}]"#;
    let entries = Messages::ANTHROPIC.decode(odd.as_bytes()).entries;
    for to in [Messages::ANTHROPIC, Messages::CHAT, Messages::RESPONSES] {
        let array = to.encode(&entries);
        let said = String::from_utf8_lossy(&array).into_owned();
        assert_eq!(checks(&to, &array), [""; 0], "{said}");
        for word in ["late", "stray", "Closed by Stemmata", "wait"] {
            assert!(said.contains(word), "{word}: {said}");
        }
    }
}

/// A conversation that the API summarized, beside an answer; one attempt before that failed.
pub(crate) const ANTHROPIC_COMPACTED: &str = r#"[
  {"role": "user", "content": "Which bells ring at noon?"},
  {"role": "assistant", "content": [{"type": "compaction", "content": null}, {"type": "text", "text": "The east bell."}]},
  {"role": "user", "content": "And at dusk?"},
  {"role": "assistant", "content": [
    {"type": "compaction", "content": "The user asked for the bells. East rings at noon.", "signature": "c2lnbmVk"},
    {"type": "text", "text": "The west bell does."}
  ]},
  {"role": "user", "content": "Thanks."}
]
"#;

/// The same in the Responses API, whose summaries only the provider reads.
pub(crate) const RESPONSES_COMPACTED: &str = r#"[
 {"type":"message","role":"user","content":"Which bells ring at noon?"},
 {"type":"message","role":"assistant","content":[{"type":"output_text","text":"The east bell."}]},
 {"type":"message","role":"user","content":"And at dusk?"},
 {"type":"compaction","id":"cmp_1","encrypted_content":"b25seSB0aGUgcHJvdmlkZXI="},
 {"type":"message","role":"assistant","content":[{"type":"output_text","text":"The west bell does."}]},
 {"type":"message","role":"user","content":"Thanks."}
]
"#;

#[test]
fn arrays_with_compactions_keep_the_laws() {
    for (adapter, sample, entries) in
        [(Messages::ANTHROPIC, ANTHROPIC_COMPACTED, 5), (Messages::RESPONSES, RESPONSES_COMPACTED, 6)]
    {
        let name = adapter.format();
        let report = passes(&adapter, name.as_str(), sample.as_bytes());
        assert_eq!((report.entries, report.notes), (entries, Vec::new()), "{name}");
        assert_eq!(checks(&adapter, sample.as_bytes()), [""; 0], "{name}");
        assert_eq!(crate::registry::detect(sample.as_bytes()).map(|(own, _)| own.format()), Some(name));
    }
}

/// Returns the context of a chain, oldest commit first, as JSON, and the compactions that were skipped.
fn context(adapter: &Messages, commits: &[(CommitType, &str)], stop: PlanStop) -> (serde_json::Value, u64) {
    let mut chain = Chain::new(adapter);
    for (commit_type, bytes) in commits {
        chain.push(*commit_type, bytes.as_bytes());
    }
    let (plan, bytes) = chain.context(stop);
    let text = String::from_utf8_lossy(&bytes);
    (serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}")), plan.skipped_compactions)
}

fn texts(list: &serde_json::Value) -> Vec<&str> {
    let mut texts = Vec::new();
    for message in list.as_array().expect("a list") {
        match &message["content"] {
            serde_json::Value::String(text) => texts.push(text.as_str()),
            serde_json::Value::Array(blocks) => texts.extend(
                blocks.iter().filter_map(|block| block["text"].as_str().or(block["content"].as_str())),
            ),
            _ => texts.extend(message["encrypted_content"].as_str()),
        }
    }
    texts
}

const STATE: CommitType = CommitType::Snapshot { restated_entries: 0 };

#[test]
fn a_context_begins_at_the_last_compaction_within_a_state() {
    let (begin, _) = context(&Messages::ANTHROPIC, &[(STATE, ANTHROPIC_COMPACTED)], PlanStop::Compaction);
    let expected = ["The user asked for the bells. East rings at noon.", "The west bell does.", "Thanks."];
    assert_eq!(texts(&begin), expected);
    let (begin, _) = context(&Messages::RESPONSES, &[(STATE, RESPONSES_COMPACTED)], PlanStop::Compaction);
    assert_eq!(texts(&begin), ["b25seSB0aGUgcHJvdmlkZXI=", "The west bell does.", "Thanks."]);
}

#[test]
fn a_compaction_block_beside_an_answer_keeps_the_answer_at_the_root() {
    let all =
        ["Which bells ring at noon?", "The east bell.", "And at dusk?", "The west bell does.", "Thanks."];
    for (adapter, sample) in
        [(Messages::ANTHROPIC, ANTHROPIC_COMPACTED), (Messages::RESPONSES, RESPONSES_COMPACTED)]
    {
        let (root, skipped) = context(&adapter, &[(STATE, sample)], PlanStop::Root);
        assert_eq!((texts(&root).as_slice(), skipped), (all.as_slice(), 1), "{}", adapter.format());
    }
    // The same as commits of a program: what was added, the compaction, and what follows.
    let answer = r#"[{"role":"assistant","content":[{"type":"compaction","content":"so far"},{"type":"text","text":"b"}]}]"#;
    let (user, thanks) = (r#"[{"role":"user","content":"a"}]"#, r#"[{"role":"user","content":"c"}]"#);
    for middle in [CommitType::Compaction, CommitType::Delta] {
        let chain = [(CommitType::Delta, user), (middle, answer), (CommitType::Delta, thanks)];
        let (root, skipped) = context(&Messages::ANTHROPIC, &chain, PlanStop::Root);
        assert_eq!((texts(&root), skipped), (vec!["a", "b", "c"], 1), "{middle:?}");
        let (since, _) = context(&Messages::ANTHROPIC, &chain, PlanStop::Compaction);
        assert_eq!(texts(&since), ["so far", "b", "c"], "{middle:?}");
    }
}

#[test]
fn a_compaction_that_failed_is_none() {
    let failed = r#"[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"compaction","content":null},{"type":"text","text":"b"}]}]"#;
    assert_eq!(Messages::ANTHROPIC.compactions(failed.as_bytes()), []);
    let (since, _) = context(&Messages::ANTHROPIC, &[(STATE, failed)], PlanStop::Compaction);
    assert_eq!(texts(&since), ["a", "b"]);
    let told = Messages::ANTHROPIC.told(failed.as_bytes()).entries;
    assert_eq!(told.iter().map(|entry| entry.parts.len()).collect::<Vec<_>>(), [1, 1]);
}

#[test]
fn a_summary_that_a_state_begins_with_stays_at_the_root() {
    let state = r#"[{"role":"assistant","content":[{"type":"compaction","content":"so far"}]},{"role":"user","content":"c"}]"#;
    assert_eq!(checks(&Messages::ANTHROPIC, state.as_bytes()), [""; 0], "the API takes it");
    for stop in [PlanStop::Root, PlanStop::Compaction] {
        let (list, skipped) = context(&Messages::ANTHROPIC, &[(STATE, state)], stop);
        assert_eq!((texts(&list), skipped), (vec!["so far", "c"], 0));
    }
    let kept = r#"[{"role":"user","content":"a"},{"type":"compaction","encrypted_content":"x"},{"role":"user","content":"c"}]"#;
    let made = Messages::RESPONSES.compactions(kept.as_bytes());
    let made: Vec<_> = made.iter().map(|one| (one.entries_before, one.entries_through)).collect();
    assert_eq!(made, [(0, 2)], "messages of the user in front of it are what the API kept");
    let (list, _) = context(&Messages::RESPONSES, &[(STATE, kept)], PlanStop::Compaction);
    assert_eq!(texts(&list), ["a", "x", "c"]);
}

#[test]
fn another_runtime_is_told_the_api_s_summary_by_the_user() {
    let told = Messages::ANTHROPIC.told(ANTHROPIC_COMPACTED.as_bytes()).entries;
    let said: Vec<_> = told.iter().map(|entry| (entry.role, entry.kind.clone())).collect();
    let message = EntryKind::Message;
    assert_eq!(
        said,
        [
            (Role::User, message.clone()),
            (Role::Assistant, message.clone()),
            (Role::User, message.clone()),
            (Role::User, EntryKind::CompactionSummary),
            (Role::Assistant, message.clone()),
            (Role::User, message),
        ]
    );
    let sealed = Messages::RESPONSES.told(RESPONSES_COMPACTED.as_bytes()).entries;
    assert_eq!(sealed.iter().filter(|entry| is_sealed(entry)).count(), 1);
    for (from, sample) in
        [(Messages::ANTHROPIC, ANTHROPIC_COMPACTED), (Messages::RESPONSES, RESPONSES_COMPACTED)]
    {
        for to in [Messages::ANTHROPIC, Messages::CHAT, Messages::RESPONSES] {
            let entries = from.told(sample.as_bytes()).entries;
            let translated = crate::translate::translate(entries, &from.format(), &to.format());
            let array = to.encode(&translated.entries);
            let what = format!("{} to {}: {}", from.format(), to.format(), String::from_utf8_lossy(&array));
            assert_eq!(checks(&to, &array), [""; 0], "{what}");
            let is_sealed = from.format() == Messages::RESPONSES.format();
            let holds_item = String::from_utf8_lossy(&array).contains("b25seSB0aGUgcHJvdmlkZXI");
            assert_eq!(holds_item, is_sealed && from.format() == to.format(), "{what}");
        }
    }
}
