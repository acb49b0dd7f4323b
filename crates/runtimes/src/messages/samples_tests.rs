//! Samples of arrays, and the laws that they keep.

use stemmata_model::{EntryKind, Part, Role, Timestamp};

use super::*;
use crate::chain_tests::checks;
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
