//! Laws of translation, over made-up and real conversations.

use stemmata_model::{Entry, EntryKind, FormatId, Part, Role};

use super::*;
use crate::adapter::Adapter;
use crate::chain_tests::{self, checked};
use crate::claude_code::ClaudeCode;
use crate::claude_code::samples_tests::{corpus_files, transcript};
use crate::codex::Codex;
use crate::codex::samples_tests::rollout;
use crate::gemini::Gemini;
use crate::gemini::samples_tests::session;
use crate::pi::Pi;
use crate::pi::samples_tests::session as pi_session;

fn format(name: &str) -> FormatId {
    FormatId::new(name).expect("a name")
}

/// Translates bytes and reads what was written.
fn across(bytes: &[u8], from: &dyn Adapter, to: &dyn Adapter) -> (Vec<u8>, Losses) {
    let done = translate(from.decode(bytes).entries, &from.format(), &to.format());
    (to.encode(&done.entries), done.report)
}

/// The texts of parts.
fn texts(parts: &[Part]) -> impl Iterator<Item = &str> {
    parts.iter().filter_map(|part| match part {
        Part::Text(text) | Part::Summary { text, .. } => Some(text.as_str()),
        _ => None,
    })
}

/// What must survive every way: who said what, every call and every result, in order.
fn said(bytes: &[u8], adapter: &dyn Adapter) -> Vec<(Role, String)> {
    let mut said = Vec::new();
    for entry in adapter.decode(bytes).entries {
        if !entry.meta.visibility.agent || entry.role == Role::System || entry.meta.sidechain.is_some() {
            continue;
        }
        for part in &entry.parts {
            let text = match part {
                Part::Text(text) if !text.is_empty() => text.clone(),
                Part::Summary { text, .. } => format!("summary {text}"),
                Part::ToolCall { call_id, name, arguments } => format!("{call_id} {name} {arguments}"),
                Part::ToolResult { call_id, parts, .. } => {
                    format!("{call_id} {}", texts(parts).collect::<Vec<_>>().join("\n"))
                }
                _ => continue,
            };
            said.push((entry.role, text));
        }
    }
    said
}

fn fatal(bytes: &[u8], adapter: &dyn Adapter) -> Vec<String> {
    let verdict = checked(adapter, bytes);
    assert_eq!(verdict.messages_sent, verdict.messages_present, "{:?}", verdict.findings);
    let is_fatal = |finding: &&crate::adapter::Finding| finding.severity == crate::adapter::Severity::Fatal;
    verdict.findings.iter().filter(is_fatal).map(|finding| finding.message.clone()).collect()
}

/// Where conversations of Claude Code go, before they come back.
const WAYS: [&[&dyn Adapter]; 3] = [&[&Codex::LEGACY], &[&Gemini], &[&Codex::LEGACY, &Pi::V3]];

/// A format that a conversation came to, what it is there, and what was lost on the way to it.
type Place = (&'static dyn Adapter, Vec<u8>, Losses);

/// Translates a conversation from place to place, and back to Claude Code; every loader takes it.
fn along(way: &[&'static dyn Adapter], bytes: &[u8], name: &str) -> Vec<Place> {
    let mut places: Vec<Place> = Vec::new();
    for to in way.iter().copied().chain([&ClaudeCode as &dyn Adapter]) {
        let (from, bytes) =
            places.last().map_or((&ClaudeCode as &dyn Adapter, bytes), |(at, bytes, _)| (*at, bytes));
        let (there, report) = across(bytes, from, to);
        // What a client loads is what is placed.
        let loaded = chain_tests::place(to, &chain_tests::request("/new/place"), &there).0;
        assert_eq!(fatal(&loaded, to), Vec::<String>::new(), "{name}: {}", to.format());
        places.push((to, there, report));
    }
    places
}

#[test]
fn a_conversation_comes_back_with_every_word_call_and_result() {
    let bytes = transcript("UATRAUTRZBCUTRA");
    for way in WAYS {
        let places = along(way, &bytes, "made up");
        for (_, _, report) in &places {
            // Of a checkpoint of Gemini's only the summary goes on.
            let changed = u64::from(report.from == "gemini-v1");
            assert_eq!((report.dropped, report.changed), (0, changed), "{report:?}");
        }
        let (_, back, _) = places.last().expect("a place");
        assert_eq!(said(back, &ClaudeCode), said(&bytes, &ClaudeCode));
    }
}

#[test]
fn real_conversations_come_back_with_every_word_call_and_result() {
    for (name, bytes) in corpus_files() {
        for way in WAYS {
            let places = along(way, &bytes, &name);
            let counts: Vec<usize> = places.iter().map(|(at, bytes, _)| words(bytes, *at).len()).collect();
            assert!(counts.windows(2).all(|pair| pair[0] == pair[1]), "{name}: {counts:?}");
            // The first way drops what belongs to no conversation: what it left comes through all others.
            let (first, there, _) = &places[0];
            let (_, back, _) = places.last().expect("a place");
            let (was, is) =
                (said(&across(there, *first, &ClaudeCode).0, &ClaudeCode), said(back, &ClaudeCode));
            assert_eq!(was.iter().zip(&is).find(|(was, is)| was != is), None, "{name}");
            assert_eq!(was.len(), is.len(), "{name}");
        }
    }
}

#[test]
fn tools_have_their_names_where_both_know_them() {
    let bytes = transcript("UT");
    let (there, _) = across(&bytes, &ClaudeCode, &Codex::LEGACY);
    let calls = said(&there, &Codex::LEGACY);
    assert_eq!(calls[1].1, r#"toolu_1 exec_command {"cmd":"ls"}"#);
    let renamed =
        tools::translate("Edit", r#"{ "new_string":"b", "file_path" : "x","n":1.50}"#, "claude-code", "pi");
    assert_eq!(
        (renamed.name.as_str(), renamed.arguments.as_str()),
        ("edit", r#"{ "newText":"b", "path" : "x","n":1.50}"#)
    );
    let kept = tools::translate("TodoWrite", "[]", "claude-code", "codex");
    assert_eq!((kept.name.as_str(), kept.arguments.as_str()), ("TodoWrite", "[]"));
    assert!(matches!(kept.without, Some(tools::Without::Kept)));
    assert_eq!(tools::translate("do it: now", "", "x", "y").name, "do_it__now");
}

#[test]
fn what_only_one_provider_can_read_is_dropped_for_another_and_said() {
    let bytes = rollout("HtUKWA", false);
    let (there, report) = across(&bytes, &Codex::LEGACY, &ClaudeCode);
    let losses: Vec<_> = report.entries.iter().map(|loss| (loss.action, loss.part.as_str())).collect();
    assert_eq!(losses, [(LossAction::Dropped, "thinking"), (LossAction::Changed, "opaque")]);
    let json = serde_json::to_string(&report).expect("JSON");
    assert_eq!(serde_json::from_str::<Losses>(&json).expect("a report"), report);
    assert_eq!(report.entries[0].reason, "a thought that only OpenAI can read");
    assert_eq!((report.kept, report.dropped, report.changed, report.unsaid), (3, 1, 1, 2));
    assert!(!String::from_utf8(there).expect("text").contains("gAAAA"));
    // The same provider gets it verbatim.
    let (same, report) = across(&bytes, &Codex::LEGACY, &Codex::PAGINATED);
    assert!(String::from_utf8(same).expect("text").contains("\"encrypted_content\":\"gAAAA\""));
    assert_eq!(report.entries, []);
}

/// A call whose tool a client does not have stays as it is, which changes nothing; an API has no tools of its own to lack.
#[test]
fn a_tool_that_the_target_lacks_is_no_change_and_an_api_lacks_none() {
    let mut call = ClaudeCode.decode(&transcript("UT")).entries;
    for part in call.iter_mut().flat_map(|entry| &mut entry.parts) {
        if let Part::ToolCall { name, .. } = part {
            "mcp__shop__open".clone_into(name);
        }
    }
    let report = |to: &str| translate(call.clone(), &format("claude-code-v1"), &format(to)).report;
    let told = report("codex-v1");
    let losses: Vec<_> = told.entries.iter().map(|loss| (loss.action, loss.tool.as_deref())).collect();
    assert_eq!(losses, [(LossAction::Kept, Some("mcp__shop__open"))]);
    assert_eq!((told.changed, told.dropped), (0, 0));
    for api in ["anthropic-messages-v1", "openai-chat-v1", "openai-responses-v1"] {
        assert_eq!(report(api).entries, [], "{api}");
    }
}

/// What becomes of a file in a prompt: whether it is one in what is written, and what the report says.
fn filed(media_type: &str, data: Option<&str>, to: &dyn Adapter) -> (String, Vec<String>) {
    let mut prompt = ClaudeCode.decode(&transcript("U")).entries.remove(0);
    let data = data.map(str::to_owned);
    let name = if data.is_some() { "n.x" } else { "file:///n.x" }.to_owned();
    prompt.parts = vec![Part::File { name, media_type: Some(media_type.to_owned()), data }];
    let done = translate(vec![prompt], &format("generic-v1"), &to.format());
    let written = String::from_utf8(to.encode(&done.entries)).expect("text");
    (written, done.report.entries.into_iter().map(|loss| loss.reason).collect())
}

#[test]
fn files_go_where_a_target_has_a_place_for_them() {
    let anthropic = crate::messages::Messages::ANTHROPIC;
    let targets: [(&dyn Adapter, &str, bool); 4] = [
        (&ClaudeCode, r#""type":"document""#, false),
        (&anthropic, r#""type":"document""#, false),
        (&Gemini, "inlineData", true),
        (&crate::opencode::Opencode, r#""type":"file""#, true),
    ];
    for (to, mark, takes_any) in targets {
        let what = to.format();
        let (written, losses) = filed("application/pdf", Some("JVBERi0="), to);
        assert!(
            written.contains(mark) && written.contains("JVBERi0=") && losses.is_empty(),
            "{what}: {written}"
        );
        let (written, losses) = filed("application/zip", Some("UEsDBA=="), to);
        assert_eq!(
            (written.contains("UEsDBA=="), losses.is_empty()),
            (takes_any, takes_any),
            "{what}: {written}"
        );
        // A path of this machine is no file for a model: it is named, and that is said.
        let (written, losses) = filed("application/pdf", None, to);
        assert!(written.contains("[file file:///n.x]"), "{what}: {written}");
        assert_eq!(losses, ["a file whose bytes are not at hand"], "{what}");
    }
    let (_, losses) = filed("application/pdf", Some("JVBERi0="), &Pi::V3);
    assert_eq!(losses, ["a file of type application/pdf, for which pi has no place"]);
    // The API takes text of one type.
    let (written, _) = filed("text/markdown", Some("# Bells"), &anthropic);
    assert!(written.contains(r##"{"type":"text","media_type":"text/plain","data":"# Bells"}"##), "{written}");
}

#[test]
fn what_is_cut_is_said_to_be() {
    for (length, wanted) in [
        (10, "a record of x (`k`), as text"),
        (3_000, "a record of x (`k`), as text, and only its first 2000 characters"),
    ] {
        let mut prompt = ClaudeCode.decode(&transcript("U")).entries.remove(0);
        let json = format!("\"{}\"", "a".repeat(length));
        prompt.parts = vec![Part::Opaque { runtime: "x".to_owned(), kind: "k".to_owned(), json }];
        let report = translate(vec![prompt], &format("generic-v1"), &format("claude-code-v1")).report;
        assert_eq!(report.entries.iter().map(|loss| loss.reason.as_str()).collect::<Vec<_>>(), [wanted]);
    }
}

#[test]
fn text_that_is_carried_as_base64_is_told_as_text() {
    let opencode = crate::opencode::Opencode;
    let in_opencode = r#"{"info":{"id":"ses_1","time":{"created":1}},"messages":[{"info":{"id":"msg_1","role":"user"},"parts":[{"id":"prt_1","type":"file","mime":"text/csv","filename":"n.csv","url":"data:text/csv;base64,bm9vbgo="},{"id":"prt_2","type":"file","mime":"text/csv","filename":"o.csv","url":"data:text/csv;base64,gP8="}]}]}"#;
    let in_gemini = r#"{"id":"m1","type":"user","timestamp":"2026-01-01T00:00:00.000Z","content":[{"inlineData":{"mimeType":"text/csv","data":"bm9vbgo="}}]}"#;
    let read: [(&dyn Adapter, &str); 2] = [(&opencode, in_opencode), (&Gemini, in_gemini)];
    for (from, bytes) in read {
        let entries = from.decode(bytes.as_bytes()).entries;
        let files: Vec<Part> = entries
            .iter()
            .flat_map(|entry| entry.parts.clone())
            .filter(|part| matches!(part, Part::File { .. }))
            .collect();
        let is_read = |part: &Part| matches!(part, Part::File { data: Some(data), .. } if data == "noon\n");
        assert!(files.first().is_some_and(is_read), "{files:?}");
        let chat = crate::messages::Messages::CHAT;
        let done = translate(entries, &from.format(), &chat.format());
        let written = String::from_utf8(chat.encode(&done.entries)).expect("text");
        assert!(
            written.contains("noon") && !written.contains("bm9vbgo") && !written.contains("gP8"),
            "{written}"
        );
    }
    // Gemini gets back what it wrote.
    let again = String::from_utf8(Gemini.encode(&Gemini.decode(in_gemini.as_bytes()).entries)).expect("text");
    assert!(again.contains(r#"{"inlineData":{"mimeType":"text/csv","data":"bm9vbgo="}}"#), "{again}");
}

#[test]
fn results_for_gemini_have_media_only_beside_their_text() {
    let result = |is_error| {
        let image = Part::Image {
            media_type: "image/png".to_owned(),
            source: stemmata_model::ImageSource::Base64("AAAA".to_owned()),
        };
        let parts = vec![image, Part::Text("one".to_owned()), Part::Text("two".to_owned())];
        Part::ToolResult { call_id: "c".to_owned(), is_error, parts }
    };
    for (is_error, key) in [(false, "output"), (true, "error")] {
        let mut entry = ClaudeCode.decode(&transcript("U")).entries.remove(0);
        entry.parts = vec![result(is_error)];
        let written = String::from_utf8(Gemini.encode(&[entry])).expect("text");
        let wanted = format!(
            r#""response":{{"{key}":"one\ntwo"}},"parts":[{{"inlineData":{{"mimeType":"image/png","data":"AAAA"}}}}]"#
        );
        assert!(written.contains(&wanted), "{written}");
    }
}

#[test]
fn grep_is_what_gemini_calls_it() {
    assert_eq!(tools::translate("Grep", "{}", "claude-code", "gemini").name, "grep_search");
    for name in ["grep_search", "search_file_content"] {
        assert_eq!(tools::translate(name, "{}", "gemini", "claude-code").name, "Grep");
    }
}

#[test]
fn answers_that_follow_each_other_are_one_message() {
    let (there, _) = across(&rollout("HtUAFRA", false), &Codex::LEGACY, &ClaudeCode);
    let entries: Vec<Entry> = ClaudeCode.decode(&there).entries;
    let ids: Vec<_> = entries.iter().map(|entry| entry.meta.message_id.as_deref().unwrap_or("-")).collect();
    assert_eq!(ids.len(), 5);
    assert!(ids[1] == ids[2] && ids[1] != ids[4] && ids[0] == "-" && ids[3] == "-", "{ids:?}");
    assert!(entries.iter().all(|entry| entry.kind != EntryKind::Instruction));
}

#[test]
fn formats_name_their_runtimes() {
    for (name, runtime) in [
        ("codex-v1", "codex"),
        ("codex-legacy-v1", "codex"),
        ("pi-v3", "pi"),
        ("claude-code-v1", "claude-code"),
    ] {
        assert_eq!(runtime_of(&format(name)), runtime);
    }
}

#[test]
fn a_conversation_comes_from_gemini_and_back() {
    let bytes = session("HEUSGRSASIUAGRA");
    let (there, _) = across(&bytes, &Gemini, &ClaudeCode);
    assert_eq!(fatal(&there, &ClaudeCode), Vec::<String>::new());
    let calls = said(&there, &ClaudeCode);
    assert_eq!(calls[1].1, r#"call_4 Bash {"command":"ls"}"#);
    let (back, _) = across(&there, &ClaudeCode, &Gemini);
    assert_eq!(fatal(&back, &Gemini), Vec::<String>::new());
    let own: Vec<_> =
        said(&bytes, &Gemini).into_iter().filter(|(_, text)| !text.starts_with("<session")).collect();
    assert_eq!(said(&back, &Gemini), own);
}

#[test]
fn messages_with_one_id_are_both_there() {
    let mut entries = Gemini.decode(&session("HUA")).entries;
    entries.push(entries[1].clone());
    let bytes = Gemini.encode(&entries);
    assert_eq!(said(&bytes, &Gemini).len(), 3);
    assert_eq!(checked(&Gemini, &bytes).messages_present, 3);
}

/// What was said, without texts of white space: Claude Code writes some, and no other client may send them back to it.
fn words(bytes: &[u8], adapter: &dyn Adapter) -> Said {
    said(bytes, adapter).into_iter().filter(|(_, text)| !text.trim().is_empty()).collect()
}

#[test]
fn texts_of_white_space_do_not_go_where_the_provider_refuses_them() {
    let chat = br#"[{"role":"user","content":"a"},{"role":"assistant","content":" \n"},{"role":"user","content":"b"},
        {"role":"assistant","content":"\t","tool_calls":[{"id":"t1","type":"function","function":{"name":"ls","arguments":"{}"}}]},
        {"role":"tool","tool_call_id":"t1","content":" "},{"role":"assistant","content":"c"}]"#;
    for to in [&ClaudeCode as &dyn Adapter, &crate::messages::Messages::ANTHROPIC] {
        let (there, report) = across(chat, &crate::messages::Messages::CHAT, to);
        let losses: Vec<_> = report.entries.iter().map(|loss| (loss.action, loss.part.as_str())).collect();
        assert!(losses.contains(&(LossAction::Dropped, "text")) && report.dropped == 1, "{report:?}");
        let entries = to.decode(&there).entries;
        let parts = entries.iter().flat_map(|entry| &entry.parts);
        assert!(!parts.clone().any(|part| matches!(part, Part::Text(text) if text.trim().is_empty())));
        assert_eq!(parts.filter(|part| matches!(part, Part::ToolResult { .. })).count(), 1);
    }
    let (there, report) = across(chat, &crate::messages::Messages::CHAT, &Pi::V3);
    assert_eq!((report.dropped, said(&there, &Pi::V3).len()), (0, 7));
}

/// Who said what.
type Said = Vec<(Role, String)>;

#[test]
fn what_a_pi_compaction_keeps_stands_behind_its_summary_elsewhere() {
    let bytes = pi_session("HUAkUA", 3);
    let order = |bytes: &[u8], adapter: &dyn Adapter| -> Vec<String> {
        said(bytes, adapter).into_iter().map(|(_, text)| text).collect()
    };
    let wanted = [
        "summary before that, 3 things happened",
        "please do thing 1",
        "done 2",
        "please do thing 4",
        "done 5",
    ];
    for adapter in [&ClaudeCode as &dyn Adapter, &Codex::LEGACY, &Pi::V3] {
        let (there, _) = across(&bytes, &Pi::V3, adapter);
        assert_eq!(order(&there, adapter), wanted, "{}", adapter.format());
        assert_eq!(fatal(&there, adapter), Vec::<String>::new());
    }
}

#[test]
fn parallel_calls_are_one_answer_in_pi() {
    let (there, _) = across(&rollout("HtUAFRA", false), &Codex::LEGACY, &Pi::V3);
    let entries = Pi::V3.decode(&there).entries;
    let parts: Vec<usize> = entries.iter().map(|entry| entry.parts.len()).collect();
    // Header, prompt, text and call in one, result, answer.
    assert_eq!(parts, [1, 1, 2, 1, 1]);
    let (back, _) = across(&pi_session("HUP12A", 3), &Pi::V3, &ClaudeCode);
    assert_eq!(fatal(&back, &ClaudeCode), Vec::<String>::new());
}

#[test]
fn reasoning_goes_through_pi_to_the_provider_that_made_it_and_to_no_other() {
    let bytes = pi_session("HUKA", 3);
    let has = |bytes: &[u8], text: &str| String::from_utf8_lossy(bytes).contains(text);
    assert!(has(&across(&bytes, &Pi::V3, &ClaudeCode).0, "c2ln"));
    assert!(!has(&across(&bytes, &Pi::V3, &Codex::LEGACY).0, "c2ln"));
    let (there, _) = across(&rollout("HtUKA", false), &Codex::LEGACY, &Pi::V3);
    assert!(has(&there, "gAAAA"));
    assert!(!has(&across(&there, &Pi::V3, &ClaudeCode).0, "gAAAA"));
}

#[test]
fn real_pi_sessions_go_elsewhere_with_every_word_call_and_result() {
    for (name, bytes) in crate::corpus_tests::files("pi", "jsonl") {
        let (pi, _) = crate::corpus_tests::adapter_of(&bytes).expect("a version");
        let was = said(&across(&bytes, pi, &Pi::V3).0, &Pi::V3);
        for adapter in [&ClaudeCode as &dyn Adapter, &Codex::LEGACY] {
            let (there, _) = across(&bytes, pi, adapter);
            assert_eq!(fatal(&there, adapter), Vec::<String>::new(), "{name}");
            let (back, _) = across(&there, adapter, &Pi::V3);
            assert_eq!(said(&back, &Pi::V3), was, "{name} to {}", adapter.format());
        }
    }
}

#[test]
fn entries_that_say_the_same_twice_stay_two() {
    let said = "{\"t\":\"2026-01-01T00:00:00Z\",\"fd\":\"stdin\",\"line\":\"again\"}\n{\"t\":\"2026-01-01T00:00:00Z\",\"fd\":\"stdout\",\"line\":\"no\"}\n";
    let entries = crate::captured::Captured::GENERIC.decode(said.repeat(3).as_bytes()).entries;
    assert_eq!(entries[0].id, entries[2].id, "they are named by what they say");
    let format = |name: &str| FormatId::new(name).expect("a name");
    let translated = translate(entries, &format("generic-v1"), &format("claude-code-v1")).entries;
    let ids: std::collections::HashSet<_> = translated.iter().map(|entry| &entry.id).collect();
    let messages: std::collections::HashSet<_> =
        translated.iter().filter_map(|entry| entry.meta.message_id.as_ref()).collect();
    assert_eq!((translated.len(), ids.len(), messages.len()), (6, 6, 3));
}

#[test]
fn that_a_tool_failed_is_reported_where_it_cannot_be_said() {
    let array = br#"[{"role":"user","content":"a"},
      {"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"n","input":{}},{"type":"tool_use","id":"t2","name":"n","input":{}}]},
      {"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":"fog"},
        {"type":"tool_result","tool_use_id":"t2","content":"sun"}]}]"#;
    let from = crate::messages::Messages::ANTHROPIC;
    for (to, wanted) in [
        (&crate::messages::Messages::CHAT as &dyn Adapter, 1),
        (&crate::messages::Messages::RESPONSES, 1),
        (&ClaudeCode, 0),
        (&crate::bureau::Bureau::AGENT, 0),
    ] {
        let (_, report) = across(array, &from, to);
        let losses: Vec<_> = report.entries.iter().filter(|loss| loss.part == "tool_error").collect();
        assert_eq!(losses.len(), wanted, "{}: {:?}", to.format(), report.entries);
        assert!(losses.iter().all(|loss| loss.action == LossAction::Changed));
    }
}

#[test]
fn results_of_calls_of_one_id_go_to_them_in_their_order() {
    let chat = r#"[{"role":"user","content":"press it"},
{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"press","arguments":"{\"n\":1}"}},{"id":"c","type":"function","function":{"name":"press","arguments":"{\"n\":2}"}}]},
{"role":"tool","tool_call_id":"c","content":"one"},{"role":"tool","tool_call_id":"c","content":"two"},
{"role":"assistant","content":"again","tool_calls":[{"id":"c","type":"function","function":{"name":"press","arguments":"{\"n\":3}"}}]},
{"role":"tool","tool_call_id":"c","content":"three"}]"#;
    let name = |name: &str| FormatId::new(name).expect("a name");
    let from = name("openai-chat-v1");
    let entries = crate::registry::by_format(&from).expect("known").decode(chat.as_bytes()).entries;
    for to in [
        "anthropic-messages-v1",
        "openai-chat-v1",
        "openai-responses-v1",
        "claude-code-v1",
        "codex-v1",
        "pi-v3",
        "gemini-v1",
        "opencode-v1",
    ] {
        let adapter = crate::registry::by_format(&name(to)).expect("known");
        let written = adapter.encode(&translate(entries.clone(), &from, &name(to)).entries);
        let read = adapter.decode(&written).entries;
        let mut calls: Vec<(String, String)> = Vec::new();
        let mut answers = std::collections::HashMap::new();
        for part in read.iter().flat_map(|entry| &entry.parts) {
            match part {
                Part::ToolCall { call_id, arguments, .. } => calls.push((call_id.clone(), arguments.clone())),
                Part::ToolResult { call_id, parts, .. } => {
                    answers.insert(call_id.clone(), format!("{parts:?}"));
                }
                _ => {}
            }
        }
        assert_eq!((calls.len(), answers.len()), (3, 3), "{to}: {calls:?}");
        for (number, word) in [(0, "one"), (1, "two"), (2, "three")] {
            let (call, arguments) = &calls[number];
            assert!(arguments.contains(&format!("{}", number + 1)), "{to}: {arguments}");
            assert!(answers[call].contains(word), "{to}: {call} got {}", answers[call]);
        }
    }
}
