//! `repair`: a copy that the client takes, and never the transcript itself.

use serde_json::{Value, json};
use stemmata_testkit::claude::ClaudeSession;

use crate::stage::Stage;

/// A session whose second record lost its parent, and which was cut while its last line was written.
fn broken() -> Vec<u8> {
    let mut lines = ClaudeSession::new(7).turns(3).build().lines;
    let last = lines.len() - 1;
    let mut record: Value = serde_json::from_str(&lines[last]).unwrap();
    record.as_object_mut().unwrap().remove("parentUuid");
    lines[last] = record.to_string();
    let mut bytes = (lines.join("\n") + "\n").into_bytes();
    bytes.extend_from_slice(b"{\"type\":\"assistant\",\"mess");
    bytes
}

#[test]
fn a_copy_beside_the_transcript_says_line_by_line_what_was_mended() {
    let stage = Stage::new();
    let bytes = broken();
    let path = stage.home.write("in/a.jsonl", &bytes);
    let name = path.to_str().unwrap();
    stage.run(&["doctor", name, "--client-version", "2.1.39"]).code(6).complains(&["stemma repair"]);
    let dry = stage.run(&["repair", name, "--client-version", "2.1.39", "--dry-run"]).ok();
    dry.complains(&["would repair: ", "Nothing was written"]);
    insta::assert_snapshot!("repaired", stage.told(&["repair", name, "--client-version", "2.1.39"]));
    assert_eq!(std::fs::read(&path).unwrap(), bytes, "the transcript stays");
    let copy = path.with_file_name("a.repaired.jsonl");
    let copied = copy.to_str().unwrap();
    let found = stage.run(&["doctor", copied, "--client-version", "2.1.39", "--json"]).ok().json();
    assert_eq!(found["transcripts"][0]["messages_sent"], found["transcripts"][0]["messages_present"]);
    stage
        .run(&["repair", name, "--client-version", "2.1.39"])
        .code(5)
        .complains(&["a.repaired.jsonl exists already", "--out"]);
    // What was repaired has nothing to repair, and no copy of it is made.
    insta::assert_snapshot!(
        "nothing_to_repair",
        stage.told(&["repair", copied, "--client-version", "2.1.39"])
    );
    assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 2);
    // And it can be gone on with.
    stage.import(&copy);
    stage.run(&["resume", copied, "--here", "--print"]).ok();
}

#[test]
fn the_copy_goes_where_it_is_asked_to_and_never_over_the_transcript() {
    let stage = Stage::new();
    let path = stage.home.write("a.jsonl", &broken());
    let name = path.to_str().unwrap();
    stage.run(&["repair", name, "--out", name]).code(5).complains(&["never changed in its place"]);
    let out = stage.home.path().join("mended.jsonl");
    let said = stage.json(&["repair", name, "--client-version", "2.1.39", "--out", out.to_str().unwrap()]);
    assert_eq!((said["out"].as_str(), said["format"].as_str()), (out.to_str(), Some("claude-code-v1")));
    assert_eq!(said["messages_sent"], said["messages_present"]);
    let kinds: Vec<&Value> =
        said["changes"].as_array().unwrap().iter().map(|change| &change["kind"]).collect();
    assert!(kinds.contains(&&json!("parent")) && kinds.ends_with(&[&json!("torn_tail")]), "{kinds:?}");
    let streamed = stage.run(&["repair", name, "--client-version", "2.1.39", "--out", "-"]).ok().stdout;
    assert_eq!(streamed, std::fs::read(&out).unwrap(), "the same file always gives the same bytes");
    let whole = stage.home.path().join("whole.jsonl");
    stage
        .run(&[
            "repair",
            out.to_str().unwrap(),
            "--client-version",
            "2.1.39",
            "--out",
            whole.to_str().unwrap(),
        ])
        .ok();
    assert_eq!(std::fs::read(&whole).unwrap(), streamed, "what has nothing to mend comes back as it is");
}

#[test]
fn a_rollout_whose_history_is_in_another_file_is_refused_with_the_reason() {
    let stage = Stage::new();
    let header = json!({ "timestamp": "2026-01-01T00:00:00.000Z", "ordinal": 0, "type": "session_meta", "payload": {
        "id": "01a1ffc3-10c3-7793-a024-3ccf54e49278", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/srv", "originator": "x",
        "cli_version": "0.169.0", "history_mode": "paginated", "history_base": { "thread_id": "01a1ffc3-10c3-7793-a024-3ccf54e49270",
        "end_ordinal_exclusive": 3, "end_byte_offset": 700 } } });
    let path = stage.home.write("rollout.jsonl", format!("{header}\n").as_bytes());
    let name = path.to_str().unwrap();
    stage.run(&["doctor", name, "--client-version", "2.1.39"]).code(6);
    stage
        .run(&["repair", name, "--client-version", "2.1.39"])
        .code(5)
        .complains(&["line 1: the history begins in session 01a1ffc3-10c3-7793-a024-3ccf54e49270, whose transcript is not there"]);
    assert!(!path.with_file_name("rollout.repaired.jsonl").exists());
}

#[test]
fn a_file_that_is_half_one_runtime_s_and_half_another_s() {
    let stage = Stage::new();
    let mut bytes = (ClaudeSession::new(3).turns(1).build().lines.join("\n") + "\n").into_bytes();
    bytes.extend_from_slice(
        b"{\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"type\":\"response_item\",\"payload\":{\"type\":\"message\",\
          \"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"hi\"}]}}\n{\"type\":\"user\",\"uu",
    );
    let path = stage.home.write("a.jsonl", &bytes);
    let said = stage.json(&["repair", path.to_str().unwrap(), "--client-version", "2.1.330"]);
    assert_eq!(said["changes"].as_array().unwrap().len(), 1, "{said}");
    let kept = std::fs::read_to_string(said["out"].as_str().unwrap()).unwrap();
    assert!(kept.ends_with("\"text\":\"hi\"}]}}\n"), "what is not known is kept");
}

#[test]
fn a_document_is_repaired_message_by_message() {
    let stage = Stage::new();
    let array = json!([
        { "role": "user", "content": "Which bells ring?" },
        { "role": "assistant", "content": [{ "type": "tool_use", "id": "toolu_01", "name": "look", "input": {} }] },
        { "role": "user", "content": "Go on" },
        { "role": "assistant", "content": "  " },
    ]);
    let path = stage.home.write("talk.json", array.to_string().as_bytes());
    let name = path.to_str().unwrap();
    stage.run(&["doctor", name, "--client-version", "2.1.39"]).code(6).complains(&["stemma repair"]);
    let told = stage.run(&["repair", name, "--client-version", "2.1.39"]).ok();
    let (first, second) =
        ("\n  message 4 says nothing", "\n  the call `toolu_01` in message 2 had no result");
    assert!(told.text().contains(first) && told.text().contains(second), "{}", told.text());
    let copy = path.with_file_name("talk.repaired.json");
    assert_eq!(stage.json(&["doctor", copy.to_str().unwrap()])["ok"], json!(true));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), array.to_string(), "the transcript stays");
    stage.import(&copy);
    stage.run(&["resume", copy.to_str().unwrap(), "--in", "claude-code", "--here", "--print"]).ok();
    // One that was cut while it was written keeps its whole messages; an import refuses it.
    let text = array.to_string();
    let cut = stage.home.write("cut.json", &text.as_bytes()[..text.len() - 30]);
    stage.run(&["import", cut.to_str().unwrap()]).code(1);
    let said = stage.json(&["repair", cut.to_str().unwrap()]);
    assert_eq!(said["changes"][0]["kind"], "torn_tail");
    assert_eq!(said["messages_sent"], json!(3), "{said}");
}
