//! Laws of what a provider is sent, over made-up conversations, judged by the validators of the three APIs' arrays.

use proptest::prelude::*;
use serde_json::Value;
use stemmata_model::{Entry, EntryId, EntryKind, ImageSource, Part, Role};

use super::{Api, Conversation, Messages, RequestBody, request_body};
use crate::chain_tests::checks;

const APIS: [(Api, Messages, &str); 3] = [
    (Api::Anthropic, Messages::ANTHROPIC, "messages"),
    (Api::ChatCompletions, Messages::CHAT, "messages"),
    (Api::Responses, Messages::RESPONSES, "input"),
];

fn text(text: &str) -> Part {
    Part::Text(text.to_owned())
}

fn said(id: &str, role: Role, parts: Vec<Part>) -> Entry {
    Entry::said(EntryId::new(id).expect("a name"), role, parts)
}

fn call(id: &str) -> Part {
    Part::ToolCall { call_id: id.to_owned(), name: "bash".to_owned(), arguments: r#"{"c":"ls"}"#.to_owned() }
}

fn result(id: &str, parts: Vec<Part>) -> Part {
    Part::ToolResult { call_id: id.to_owned(), is_error: false, parts }
}

fn image(media_type: &str) -> Part {
    Part::Image { media_type: media_type.to_owned(), source: ImageSource::Base64("aGk=".to_owned()) }
}

fn body(api: Api, system: &str, entries: &[Entry], pending: &[Part]) -> RequestBody {
    let of = Conversation { system: system.to_owned(), entries: entries.to_vec(), pending: pending.to_vec() };
    let body = request_body(api, &of);
    assert_eq!(body, request_body(api, &of), "the same conversation gives the same bytes");
    body
}

fn value(body: &RequestBody) -> Value {
    serde_json::from_str(&body.json).expect("JSON")
}

/// A conversation by letters: `u` a prompt, `a` an answer, `c` an answer that calls two tools, whose results follow it, `i` a result with
/// an image, `b` blank texts, `s` a summary.
fn conversation(letters: &str) -> Vec<Entry> {
    let mut entries = Vec::new();
    for (at, letter) in letters.chars().enumerate() {
        let (id, one, two) = (format!("e{at}"), format!("k{at}"), format!("l{at}"));
        match letter {
            'u' => entries.push(said(&id, Role::User, vec![text(&format!("prompt {at}"))])),
            'a' => entries.push(said(&id, Role::Assistant, vec![text(&format!("answer {at}"))])),
            'b' => entries.push(said(&id, Role::Assistant, vec![text(" \n")])),
            's' => {
                let summary = Part::Summary { text: format!("summary {at}"), covers: Vec::new() };
                let kind = EntryKind::CompactionSummary;
                entries.push(Entry { kind, ..said(&id, Role::User, vec![summary]) });
            }
            'i' => {
                entries.push(said(&id, Role::Assistant, vec![call(&one)]));
                let parts = vec![text("seen"), image("image/png"), image("image/tiff")];
                entries.push(said(&format!("r{at}"), Role::Tool, vec![result(&one, parts)]));
            }
            _ => {
                entries.push(said(&id, Role::Assistant, vec![text("I look."), call(&one), call(&two)]));
                // In another order than they were called, and in entries of their own.
                for (number, name) in [(1, &two), (2, &one)] {
                    let parts = vec![text(&format!("output {at} {number}"))];
                    entries.push(said(&format!("r{at}{number}"), Role::Tool, vec![result(name, parts)]));
                }
            }
        }
    }
    entries
}

/// Blocks, each with who says it.
type Blocks = Vec<(String, Value)>;

/// The places of a message list's breakpoints, and the list without them.
fn without_breakpoints(messages: &Value) -> (Vec<(usize, usize)>, Blocks) {
    let (mut places, mut blocks) = (Vec::new(), Vec::new());
    for (at, message) in messages.as_array().expect("a list").iter().enumerate() {
        let role = message["role"].as_str().expect("a role").to_owned();
        for (number, block) in message["content"].as_array().expect("blocks").iter().enumerate() {
            let mut block = block.clone();
            if block.as_object_mut().expect("an object").remove("cache_control").is_some() {
                places.push((at, number));
            }
            blocks.push((role.clone(), block));
        }
    }
    (places, blocks)
}

/// What Anthropic's provider caches: every block up to the last breakpoint.
fn cached(body: &Value) -> (Value, Blocks) {
    let messages = body["messages"].as_array().expect("a list");
    let (places, blocks) = without_breakpoints(&body["messages"]);
    let length = places.last().map_or(0, |(at, number)| {
        let before = messages.iter().take(*at).map(|one| one["content"].as_array().expect("blocks").len());
        before.sum::<usize>() + number + 1
    });
    (body["system"].clone(), blocks.into_iter().take(length).collect())
}

#[test]
fn an_anthropic_request_has_blocks_pairs_and_breakpoints() {
    let entries = conversation("uca");
    let now = [text("# State\n\nTwo tasks are open."), text("go on")];
    let body = body(Api::Anthropic, "You are a builder.\n", &entries, &now);
    let expected = concat!(
        r#"{"system":[{"type":"text","text":"You are a builder.","cache_control":{"type":"ephemeral"}}],"#,
        r#""messages":[{"role":"user","content":[{"type":"text","text":"prompt 0"}]},"#,
        r#"{"role":"assistant","content":[{"type":"text","text":"I look."},"#,
        r#"{"type":"tool_use","id":"k1","name":"bash","input":{"c":"ls"}},"#,
        r#"{"type":"tool_use","id":"l1","name":"bash","input":{"c":"ls"}}]},"#,
        r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"k1","content":"output 1 2","is_error":false},"#,
        r#"{"type":"tool_result","tool_use_id":"l1","content":"output 1 1","is_error":false}]},"#,
        r#"{"role":"assistant","content":[{"type":"text","text":"answer 2","cache_control":{"type":"ephemeral"}}]},"#,
        r##"{"role":"user","content":[{"type":"text","text":"# State\n\nTwo tasks are open."},{"type":"text","text":"go on"}]}]}"##,
    );
    assert_eq!((body.json.as_str(), body.stable, body.breakpoints), (expected, 4, 2));
}

#[test]
fn the_other_apis_say_how_much_stays() {
    let entries = conversation("uc");
    let chat = body(Api::ChatCompletions, "You are a builder.", &entries, &[text("go on")]);
    let expected = concat!(
        r#"{"messages":[{"role":"system","content":"You are a builder."},{"role":"user","content":"prompt 0"},"#,
        r#"{"role":"assistant","content":"I look.","tool_calls":["#,
        r#"{"id":"k1","type":"function","function":{"name":"bash","arguments":"{\"c\":\"ls\"}"}},"#,
        r#"{"id":"l1","type":"function","function":{"name":"bash","arguments":"{\"c\":\"ls\"}"}}]},"#,
        r#"{"role":"tool","tool_call_id":"k1","content":"output 1 2"},"#,
        r#"{"role":"tool","tool_call_id":"l1","content":"output 1 1"},{"role":"user","content":"go on"}]}"#,
    );
    assert_eq!((chat.json.as_str(), chat.stable, chat.breakpoints), (expected, 5, 0));
    let responses = body(Api::Responses, "You are a builder.", &entries, &[text("go on")]);
    let expected = concat!(
        r#"{"instructions":"You are a builder.","input":["#,
        r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"prompt 0"}]},"#,
        r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"I look."}]},"#,
        r#"{"type":"function_call","call_id":"k1","name":"bash","arguments":"{\"c\":\"ls\"}"},"#,
        r#"{"type":"function_call","call_id":"l1","name":"bash","arguments":"{\"c\":\"ls\"}"},"#,
        r#"{"type":"function_call_output","call_id":"k1","output":"output 1 2"},"#,
        r#"{"type":"function_call_output","call_id":"l1","output":"output 1 1"},"#,
        r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"go on"}]}]}"#,
    );
    assert_eq!((responses.json.as_str(), responses.stable), (expected, 6));
}

#[test]
fn what_an_api_would_refuse_is_said_in_words() {
    let mut entries = conversation("u");
    let odd =
        Part::ToolCall { call_id: "k".to_owned(), name: "my tool.2".to_owned(), arguments: "{}".to_owned() };
    entries.push(said("c", Role::Assistant, vec![odd]));
    entries.push(said("r", Role::Tool, vec![result("k", vec![image("image/svg+xml")])]));
    let remote =
        |url: &str| Part::Image { media_type: String::new(), source: ImageSource::Url(url.to_owned()) };
    let now = [remote("gs://bucket/a.png"), remote("https://host/b.png"), text("look")];
    for (api, _, list) in APIS {
        let body = body(api, "", &entries, &now);
        for word in ["my_tool_2", "[image image/svg+xml]", "[image gs://bucket/a.png]", "https://host/b.png"]
        {
            assert!(body.json.contains(word), "{word}: {}", body.json);
        }
        assert!(!body.json.contains("\"system\"") && !body.json.contains("instructions"), "{}", body.json);
        assert!(value(&body)[list].is_array());
    }
}

fn letters() -> impl Strategy<Value = String> {
    proptest::collection::vec(proptest::sample::select(vec!['u', 'a', 'c', 'i', 'b', 's']), 0..14)
        .prop_map(|letters| letters.into_iter().collect())
}

proptest! {
    #[test]
    fn every_request_is_one_that_its_api_takes_and_ends_with_what_is_said_now(letters in letters()) {
        let entries = conversation(&letters);
        for (api, adapter, list) in APIS {
            let body = body(api, "who you are", &entries, &[text("pending words")]);
            let value = value(&body);
            let messages = value[list].as_array().expect("a list");
            let array = serde_json::to_vec(messages).expect("JSON");
            prop_assert_eq!(checks(&adapter, &array), [""; 0], "{}", body.json);
            let last = messages.last().expect("a message");
            prop_assert_eq!(last["role"].as_str(), Some("user"));
            prop_assert!(last.to_string().contains("pending words"), "{last}");
            prop_assert!(messages.iter().all(|one| one["content"] != "" && one["content"] != serde_json::json!([])));
            prop_assert!(body.stable < messages.len() && body.breakpoints <= 3);
            for word in entries.iter().flat_map(|entry| &entry.parts).filter_map(Part::as_text) {
                prop_assert!(word.trim().is_empty() || body.json.contains(word), "{word} is missing");
            }
        }
    }

    #[test]
    fn what_is_cached_in_a_turn_begins_the_next_one(letters in letters(), more in letters()) {
        let entries = conversation(&letters);
        // What was said in this turn is an entry of the next one, without what the prompt put before it.
        let mut later = conversation(&format!("{letters}u{more}"));
        let at = later.iter().position(|entry| entry.id.as_str() == format!("e{}", letters.len())).expect("there");
        later[at].parts = vec![text("pending words")];
        let now = [text("state of turn one"), text("pending words")];
        let next = [text("state of turn two"), text("other words")];
        for (api, _, list) in APIS {
            let (one, two) = (body(api, "who", &entries, &now), body(api, "who", &later, &next));
            let (first, second) = (value(&one), value(&two));
            let stays = |value: &Value| value[list].as_array().expect("a list").iter().take(one.stable).cloned().collect::<Vec<_>>();
            if api == Api::Anthropic {
                let ((system, blocks), (other_system, all)) = (cached(&first), (second["system"].clone(), without_breakpoints(&second["messages"]).1));
                prop_assert_eq!(system, other_system);
                prop_assert!(all.starts_with(&blocks), "{} {}", one.json, two.json);
                // The next turn marks the place where this one wrote its cache.
                let places = |body: &Value| without_breakpoints(&body["messages"]).0;
                if let Some(last) = places(&first).last().filter(|_| !more.contains('u')) {
                    prop_assert!(places(&second).contains(last), "{} {}", one.json, two.json);
                }
            } else {
                prop_assert_eq!(stays(&first), stays(&second));
            }
        }
    }
}
