//! What made-up sessions promise: valid lines, whole links, whole tool pairs, the same for ever.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::*;
use crate::rng::Rng;

fn sessions() -> Vec<ClaudeSession> {
    let mut sessions = Vec::new();
    for version in Dialect::versions() {
        for seed in 0..6 {
            let session = ClaudeSession::new(seed).version(version).turns(7).parallel(3);
            let session = session.compactions(2).rewinds(2).subagents(2);
            sessions.push(session.keep_messages(seed % 2 == 0));
        }
    }
    sessions
}

fn parsed(lines: &[String]) -> Vec<Value> {
    lines
        .iter()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

fn blocks(line: &Value) -> Vec<Value> {
    match line.pointer("/message/content") {
        Some(Value::Array(blocks)) => blocks.clone(),
        _ => Vec::new(),
    }
}

#[test]
fn links_and_tool_pairs_are_whole() {
    for session in sessions() {
        let transcript = session.build();
        assert_eq!(faults(&transcript.lines), Vec::<String>::new());
        for file in &transcript.subagents {
            let lines = parsed(&file.lines);
            assert_eq!(lines[0]["parentUuid"], Value::Null);
            assert!(lines.iter().all(|line| line["isSidechain"] == true));
            assert_eq!(faults(&file.lines), Vec::<String>::new());
        }
    }
}

#[test]
fn faults_are_found() {
    let at = |uuid: &str, parent: Option<&str>| At::new(uuid, parent, crate::clock::START);
    let lines = Lines::new("2.1.39", "s");
    let prompt = lines.user(&at("1", None), "hello");
    let call = lines.tool_use(&at("2", Some("1")), &Api::new("msg_1"), ("toolu_1", "Bash"), "{}");
    let answer = |parent: &str| {
        let result = ToolResult {
            tool_use_id: "toolu_1".to_owned(),
            content: String::new(),
            is_error: false,
            structured: "{}".to_owned(),
            assistant_uuid: parent.to_owned(),
        };
        lines.tool_result(&at("3", Some(parent)), &result)
    };
    let whole = [prompt.clone(), call.clone(), answer("2")];
    assert_eq!(faults(&whole), Vec::<String>::new());
    for broken in [
        vec!["{".to_owned()],
        vec![prompt.clone(), prompt.clone()],
        vec![lines.user(&at("1", Some("0")), "hello")],
        vec![prompt.clone(), call.clone()],
        vec![prompt.clone(), answer("1")],
        vec![prompt.clone(), call.clone(), answer("1")],
    ] {
        assert_ne!(faults(&broken), Vec::<String>::new(), "{broken:?}");
    }
}

#[test]
fn a_session_has_what_was_asked_for() {
    for session in sessions() {
        let transcript = session.build();
        let lines = parsed(&transcript.lines);
        let count = |test: &dyn Fn(&Value) -> bool| lines.iter().filter(|line| test(line)).count();
        assert_eq!(count(&|line| line["subtype"] == "compact_boundary"), 2);
        assert_eq!(count(&|line| line["isCompactSummary"] == true), 2);
        let prompts = count(&|line| {
            line["type"] == "user"
                && line["isSidechain"] == false
                && line["isCompactSummary"] != true
                && line["message"]["content"].is_string()
        });
        assert_eq!(prompts, 7);
        let mut prompt_parents = BTreeMap::<String, usize>::new();
        for line in lines.iter().filter(|line| line["message"]["content"].is_string()) {
            *prompt_parents.entry(line["parentUuid"].to_string()).or_default() += 1;
        }
        let inline = count(&|line| line["isSidechain"] == true && line["message"]["content"].is_string());
        let files = transcript.subagents.len();
        assert_eq!(inline + files, 2, "subagents");
        let again: usize = prompt_parents.values().map(|count| count - 1).sum();
        assert!(again >= 2, "two rewinds start a second branch: {prompt_parents:?}");
    }
}

#[test]
fn kept_messages_exist_and_hold_whole_pairs() {
    let session = ClaudeSession::new(9).version("2.1.330").turns(6).compactions(2);
    let transcript = session.keep_messages(true).build();
    let lines = parsed(&transcript.lines);
    let mut kept_count = 0;
    for line in &lines {
        let Some(uuids) = line.pointer("/compactMetadata/preservedMessages/uuids").and_then(Value::as_array)
        else {
            continue;
        };
        let kept: Vec<&Value> =
            lines.iter().filter(|line| line["uuid"].is_string() && uuids.contains(&line["uuid"])).collect();
        assert_eq!(kept.len(), uuids.len());
        let answered = kept.iter().flat_map(|line| blocks(line));
        let open = answered.fold(0, |open, block| {
            open + i32::from(block["type"] == "tool_use") - i32::from(block["type"] == "tool_result")
        });
        assert_eq!(open, 0);
        kept_count += kept.len();
    }
    assert!(kept_count > 0);
}

#[test]
fn a_seed_always_gives_the_same_bytes_and_time_goes_forward() {
    for session in sessions() {
        let first = session.build();
        assert_eq!(first, session.build());
        let mut streamed = Vec::new();
        let bytes = session.write_to(&mut streamed).expect("memory");
        assert_eq!(u64::try_from(streamed.len()), Ok(bytes));
        assert_eq!(String::from_utf8(streamed).expect("UTF-8"), first.text());
        let mut last = String::new();
        for line in parsed(&first.lines) {
            if line["isSidechain"] == false {
                let time = line["timestamp"].as_str().expect("a time").to_owned();
                assert!(time > last, "{time} after {last}");
                last = time;
            }
        }
    }
    let id = |seed, version| ClaudeSession::new(seed).version(version).build().session_id;
    let ids = [id(1, "2.1.39"), id(2, "2.1.39"), id(1, "2.0.76"), id(1, "1.0.60")];
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len());
}

#[test]
fn sessions_grow_to_the_asked_size() {
    for bytes in [50_000, 500_000, 3_000_000] {
        let session = ClaudeSession::new(5).approx_bytes(bytes).compactions(3);
        let written = session.write_to(&mut std::io::sink()).expect("a sink");
        assert!(written >= bytes && written < bytes + 400_000, "{written} for {bytes}");
    }
}

#[test]
fn a_planted_secret_is_in_its_line() {
    let mut rng = Rng::new(11);
    let lines = Lines::new("2.1.39", "11111111-1111-4111-8111-111111111111");
    let at = At::new("22222222-2222-4222-8222-222222222222", None, crate::clock::START);
    for secret in Secret::ALL {
        for place in Place::ALL {
            let planted = lines.planted_secret(&at, secret, place, &mut rng);
            let _: Value = serde_json::from_str(&planted.line).expect("JSON");
            let escaped = planted.secret.replace('\n', "\\n");
            assert!(planted.line.contains(&escaped), "{secret:?} {place:?}");
        }
    }
}

#[test]
fn every_version_has_its_own_key_order() {
    let at = At::new("u", Some("p"), crate::clock::START);
    let starts = Dialect::versions().map(|version| {
        let line = Lines::new(version, "s").assistant_text(&at, &Api::new("msg_1"), "hi");
        let value = line.replace('"', "");
        let at_message = value.find("message:{").expect("a message");
        let at_cwd = value.find("cwd:").expect("a folder");
        (at_cwd < at_message, value.contains("message:{model"))
    });
    assert_eq!(starts, [(true, false), (true, true), (true, true), (false, false)]);
}
