//! A session that goes from one runtime to another and back, captured all the way.

use std::path::Path;

use stemmata_engine::{CaptureOptions, Engine, PlaceOptions, Placed, Stop, Tier};
use stemmata_model::{CommitId, CommitType, FormatId, Part, Role, Trigger};
use stemmata_runtimes::registry;
use stemmata_testkit::claude::ClaudeSession;

use crate::support::{Folder, chain, engine, import, placing};

fn place_in(engine: &Engine, folder: &Folder, ctx: CommitId, runtime: &str) -> Placed {
    let options = PlaceOptions { runtime: Some(runtime.to_owned()), ..placing(folder) };
    engine.place(ctx, &options).expect("placed")
}

/// What is said in some bytes, in order.
fn said(format: &str, bytes: &[u8]) -> Vec<(Role, String)> {
    let adapter = registry::by_format(&FormatId::new(format).expect("a name")).expect("a format");
    let mut said = Vec::new();
    for entry in adapter.decode(bytes).entries {
        if !entry.meta.visibility.agent || entry.role == Role::System {
            continue;
        }
        for part in &entry.parts {
            match part {
                Part::Text(text) if !text.is_empty() => said.push((entry.role, text.clone())),
                Part::ToolCall { call_id, name, arguments } => {
                    said.push((entry.role, format!("{call_id} {name} {arguments}")));
                }
                Part::ToolResult { call_id, parts, .. } => {
                    let texts =
                        parts.iter().map(|part| if let Part::Text(text) = part { text.as_str() } else { "" });
                    said.push((entry.role, format!("{call_id} {}", texts.collect::<String>())));
                }
                _ => {}
            }
        }
    }
    said
}

fn append(path: &Path, lines: &[&str]) {
    use std::io::Write as _;
    let mut file = std::fs::OpenOptions::new().append(true).open(path).expect("a placed file");
    for line in lines {
        writeln!(file, "{line}").expect("written");
    }
}

const CODEX_TURN: [&str; 5] = [
    r#"{"timestamp":"2027-01-15T08:00:01.000Z","type":"event_msg","payload":{"type":"task_started","turn_id":"t"}}"#,
    r#"{"timestamp":"2027-01-15T08:00:02.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"and in codex?"}]}}"#,
    r#"{"timestamp":"2027-01-15T08:00:03.000Z","type":"response_item","payload":{"type":"function_call","name":"exec_command","arguments":"{\"cmd\":\"ls\"}","call_id":"call_9"}}"#,
    r#"{"timestamp":"2027-01-15T08:00:04.000Z","type":"response_item","payload":{"type":"function_call_output","call_id":"call_9","output":"note.txt"}}"#,
    r#"{"timestamp":"2027-01-15T08:00:05.000Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"the same"}]}}"#,
];

#[test]
fn a_session_moves_to_codex_and_back_as_one_history() {
    let (engine, folder) = (engine(), Folder::new());
    let transcript = ClaudeSession::new(7).turns(3).build();
    let source =
        folder.write("3f9c1d20-5a5b-4c8e-9d1a-0b7e6f4a2c11.jsonl", &crate::support::bytes_of(&transcript));
    let tip = import(&engine, &source).session.tip.expect("a tip");

    // There: a snapshot below the tip, placed as Codex's own session.
    let there = place_in(&engine, &folder, tip, "codex");
    let losses = there.losses.as_ref().expect("it was translated");
    assert_eq!((losses.from.as_str(), losses.to.as_str()), ("claude-code-v1", "codex-legacy-v1"));
    assert_eq!(there.resume_command[..2], ["codex", "resume"]);
    let snapshot = chain(&engine, there.ctx).pop().expect("a commit");
    assert_eq!(snapshot.core.parent, Some(tip));
    assert!(matches!(snapshot.core.commit_type, CommitType::Snapshot { .. }));
    let mut context = Vec::new();
    engine.materialize(Some(tip), None, Stop::Compaction, &mut context).expect("a context");
    let placed = std::fs::read(&there.path).expect("a file");
    let (was, is) = (said("claude-code-v1", &context), said("codex-legacy-v1", &placed));
    let words = |all: &[(Role, String)]| -> Vec<Role> { all.iter().map(|(role, _)| *role).collect() };
    assert_eq!(words(&is), words(&was));
    // The same commit and format: the same snapshot.
    assert_eq!(place_in(&engine, &folder, tip, "codex").ctx, there.ctx);

    // What the client appends is a child of it.
    append(&there.path, &CODEX_TURN);
    let live = engine.capture(&there.path, &CaptureOptions::live(Trigger::SessionEnd)).expect("captured");
    let codex_tip = live.session.tip.expect("a tip");
    let commits = chain(&engine, codex_tip);
    assert!(
        commits.iter().any(|commit| commit.id == tip) && commits.iter().any(|commit| commit.id == there.ctx)
    );
    assert_eq!(live.new_commits, 1);

    // And back, where it goes on once more.
    let back = place_in(&engine, &folder, codex_tip, "claude-code");
    let placed = std::fs::read(&back.path).expect("a file");
    let returned = said("claude-code-v1", &placed);
    assert_eq!(returned[..was.len()], was[..], "every word, call and result came back");
    let new: Vec<&str> = returned[was.len()..].iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(new, ["and in codex?", "call_9 Bash {\"command\":\"ls\"}", "call_9 note.txt", "the same"]);

    // One history: everything to the root, said once.
    let mut whole = Vec::new();
    let made = engine.materialize(Some(back.ctx), None, Stop::Root, &mut whole).expect("the whole");
    assert_eq!((made.tier, said("claude-code-v1", &whole)), (Tier::Transcoded, returned.clone()));
    // And so it is placed, although the runtime is the one that it comes from.
    let options = PlaceOptions { stop: Stop::Root, ..placing(&folder) };
    let again = engine.place(codex_tip, &options).expect("placed");
    let placed = std::fs::read(&again.path).expect("a file");
    assert_eq!(words(&said("codex-legacy-v1", &placed)), words(&returned));
    assert!(!String::from_utf8_lossy(&placed).contains("parentUuid"), "a line of the other runtime");
}

#[test]
fn a_runtime_that_nobody_knows_is_refused_by_name() {
    let (engine, folder) = (engine(), Folder::new());
    let transcript = ClaudeSession::new(7).turns(1).build();
    let source =
        folder.write("3f9c1d20-5a5b-4c8e-9d1a-0b7e6f4a2c11.jsonl", &crate::support::bytes_of(&transcript));
    let tip = import(&engine, &source).session.tip.expect("a tip");
    let options = PlaceOptions { runtime: Some("abacus".to_owned()), ..placing(&folder) };
    let error = engine.place(tip, &options).expect_err("refused").to_string();
    assert!(error.contains("`abacus`") && error.contains("codex"), "{error}");
}
