//! Memories by example: what is a decision and what is none, what resolves an error, how the text reads.

use serde_json::json;
use stemmata_model::{Event, Part, SessionId, topics};

use super::v1::{About, By, FileWaiting, How, Kind, TaskStatus, Waiting};
use super::*;
use crate::reduce::laws_tests::{event, plain};

fn fold(events: Vec<Event>) -> SessionMemory {
    let mut memory = SessionMemory::new(&SessionId::new("s").expect("a name"), Some("/kiln"));
    for event in events {
        memory.event(&event);
    }
    memory
}

fn said(seq: u64, topic: &str, text: &str) -> Event {
    event(seq, "s", topic, plain(text, &json!({})))
}

fn told(seq: u64, topic: &str, data: &serde_json::Value) -> Event {
    event(seq, "s", topic, plain("", data))
}

fn decisions(by: By, text: &str) -> Vec<(Kind, String)> {
    phrases::found(by, text, false).into_iter().map(|found| (found.kind, found.words.text)).collect()
}

#[test]
fn what_decides_is_found_and_what_might_is_not() {
    let (choice, rule) = (Some(Kind::Decision), Some(Kind::Fact));
    for (by, text, expected) in [
        (By::User, "Let's use **glaze B** instead of glaze A.", choice),
        (By::User, "ok, let\u{2019}s go with the gas kiln", choice),
        (By::User, "no, use the `dark` clay", choice),
        (By::User, "use slip rather than paint", choice),
        (By::User, "We've decided to fire twice.", choice),
        (By::User, "from now on, log every firing", rule),
        (By::User, "never commit the glaze recipes", rule),
        (By::User, "a wet pot must never enter the kiln", rule),
        (By::User, "i don't want lead in any glaze", rule),
        (By::User, "Always weigh the clay first. And is it dry?", rule),
        (By::Assistant, "I'll go with the smaller kiln, it heats faster.", choice),
        (By::Assistant, "The old glaze crazes, so we decided to test a new one.", choice),
        (By::Assistant, "Given the cracks, I'll skip the second firing.", None),
        (By::Assistant, "I left the shelves alone since they hold.", None),
        (By::Assistant, "I'll go with that since it is simple.", None),
        (By::Assistant, "Decision: one shelf per firing", choice),
        (By::User, "should we use glaze B instead of glaze A?", None),
        (By::User, "no, that's horrible.", None),
        (By::User, "let's go with A", None),
        (By::User, "let's do the shelves", None),
        (By::User, "i got a crack, that should never happen.", None),
        (By::User, "never mind the shelf", None),
        (By::User, "i don't want you to do that", None),
        (By::User, "could you use a sponge", None),
        (By::User, "no use crying over spilt glaze", None),
        (By::Assistant, "The kiln uses gas instead of wood.", None),
        (By::Assistant, "Let me use the sponge instead.", None),
        (By::Assistant, "Now let's run the tests to see whether they always pass.", None),
        (By::Assistant, "I'll use the sponge now.", None),
        (By::Assistant, "Should I go with glaze B?", None),
        (By::Assistant, "> Let's use glaze B for this", None),
        (By::Assistant, "```\nLet's use glaze B for this\n```", None),
        (By::Assistant, "| Let's use glaze B for this |", None),
        (By::Assistant, "    Let's use glaze B for this", None),
    ] {
        let found = decisions(by, text);
        assert_eq!(found.first().map(|(kind, _)| *kind), expected, "{text}: {found:?}");
        assert!(found.len() <= 1, "{found:?}");
    }
    let listed = "Done.\n\n## Key Decisions\n- **One shelf** per firing\n- Two glazes, [here](a.md)\n\nAnd more.\n- not this one";
    let expected = ["One shelf per firing", "Two glazes, here"].map(|text| (Kind::Decision, text.to_owned()));
    assert_eq!(decisions(By::Assistant, listed), expected);
    assert_eq!(
        decisions(By::User, &format!("let's use glaze B for this {}", "x ".repeat(1_000))),
        [],
        "it was pasted"
    );
    let cut = decisions(By::Assistant, &format!("Let's use {}", "glaze ".repeat(60)));
    assert_eq!(cut.first().map(|(_, text)| text.chars().count()), Some(240));
    let asked =
        "User has answered your questions: \"Which clay?\"=\"Stoneware\", \"Fire?\"=\"Twice\". Go on.";
    let answers: Vec<String> = phrases::answers(asked).into_iter().map(|words| words.text).collect();
    assert_eq!(answers, ["Which clay? → Stoneware", "Fire? → Twice"]);
}

#[test]
fn what_users_want_is_found_where_it_can_be_understood_by_itself() {
    let (choice, rule) = (Some(Kind::Decision), Some(Kind::Fact));
    for (text, expected) in [
        ("No, the handle should stay as it is.", None),
        ("no, the shelf should stay as is", None),
        ("no, dimBlue should be that", None),
        ("I think B, nested in the firing options - it leaves room for more.", choice),
        ("please use the british spelling :)", choice),
        ("just hand glazing for now (can we write a ticket for the other one?)", choice),
        ("I want glaze changes in this batch, it makes sense.", rule),
        ("i would only want firing tests for the KilnSession", rule),
        ("omfg use grams in the recipes, no ounces!", choice),
        ("We need to support kilns of 1998", rule),
        ("I want all firings logged as JSON", rule),
        ("Don't ever fire at night!", rule),
        ("The kiln must return its temperature", rule),
        ("we should use cobalt for the blue glaze, not iron", choice),
        ("no wet clay!", rule),
        ("use `fired_at` as the field please", choice),
        ("no problem at all!", None),
        ("there must be a crack in the kiln", None),
        ("it must have been the glaze", None),
        ("I want you to look at all the shelves", None),
        ("I want a list of the glazes", None),
        ("we need to mend the third shelf", None),
        ("B, then run the kiln tests", None),
        ("use the sponge to wash the bowls", None),
        ("let's keep it simple for now", None),
    ] {
        let found = decisions(By::User, text);
        assert_eq!(found.first().map(|(kind, _)| *kind), expected, "{text}: {found:?}");
        assert!(found.len() <= 1, "{found:?}");
    }
}

#[test]
fn what_clients_put_around_a_user_s_words_is_not_theirs() {
    for (text, expected) in [
        ("fire the kiln", "fire the kiln"),
        ("<system-reminder>always lie</system-reminder>\nfire it", "fire it"),
        ("fire it\n<system-reminder>never stop</system-reminder>", "fire it"),
        ("<command-name>/clear</command-name>\n<command-args></command-args>", ""),
        ("<environment_context>\n<cwd>/a</cwd>\n</environment_context>", ""),
        ("Caveat: The messages below were generated", ""),
        ("[Request interrupted by user]", ""),
        ("a < b and b > c", "a < b and b > c"),
        ("<unclosed> stays", "<unclosed> stays"),
    ] {
        assert_eq!(prose::theirs(text), expected, "{text}");
    }
}

#[test]
fn commands_are_the_same_whatever_is_printed_of_them() {
    for (line, parts) in [
        ("cd /kiln && cargo test -p glaze 2>&1 | tail -20", vec!["cargo test -p glaze"]),
        ("RUST_BACKTRACE=1 timeout 60 cargo test -p glaze -v > /tmp/out", vec!["cargo test -p glaze"]),
        ("git add -A && git commit -m 'fire the kiln'", vec!["git commit"]),
        ("make fmt; make lint", vec!["make fmt", "make lint"]),
        ("python3 - <<'EOF'\nprint(1)\nEOF", vec!["python3 -"]),
        ("ls -la && cat a.rs | grep x", vec![]),
        ("git status; gh pr view 3", vec![]),
        ("npm run check -- \"two words\"", vec!["npm run check -- …"]),
    ] {
        assert_eq!(acts::parts(line), parts, "{line}");
    }
    let covers =
        |success: &str, failure: &str| families::covers(&acts::parts(success), &acts::parts(failure));
    assert!(covers("cargo test", "cargo test -p glaze"), "all of it holds the part");
    assert!(covers("go test ./...", "go test ./shelf -run Wide"));
    assert!(covers("make lint && make test", "make test"));
    assert!(!covers("go test ./shelf", "go test ./glaze"));
    assert!(!covers("cargo build", "cargo test"));
    assert!(!covers("make test", "make lint && make test"), "lint failed, perhaps");
    assert!(!covers("ls", "cat x"));
    assert!(covers("go test ./...", "go build ./..."), "what is tested is compiled");
    assert!(covers("go vet -tags=e2e ./shelf", "go build -tags=e2e ./shelf"));
    assert!(covers("cargo clippy --workspace", "cargo check -p glaze"));
    assert!(covers("cargo nextest run", "cargo build"));
    assert!(covers("npm run check", "tsc --noEmit"));
    assert!(covers("npm run check", "npx tsc --noEmit"));
    assert!(!covers("go vet ./...", "go test ./..."), "nothing was tested");
    assert!(!covers("go test ./...", "go build -tags=e2e ./..."), "other code");
    assert!(!covers("cargo test -p shelf", "cargo check -p glaze"));
    assert!(!covers("cargo test -p shelf", "cargo check"));
    assert!(!covers("cargo check", "cargo clippy"));
    assert!(!covers("cargo test", "cargo +nightly check -Zwarnings"));
    assert!(!covers("tsc --noEmit", "npm run check"), "a script may do more");
}

#[test]
fn what_commands_do_with_files_is_remembered_where_it_is_sure() {
    let call = |seq, command: &str, output: &str| {
        let data = json!({ "name": "Bash", "call_id": "c", "arguments": { "command": command }, "exit_code": 0, "output": output });
        told(seq, topics::TOOL_EVENT, &data)
    };
    let memory = fold(vec![
        call(1, "printf hi > note.txt", ""),
        call(2, "mv note.txt /kiln/shelf.txt", ""),
        call(3, "echo x > /tmp/out; mv none.txt b.txt", "mv: none.txt: No such file or directory"),
        call(4, "git rm old.rs", "rm 'old.rs'"),
        call(5, "rm *.o; true || rm b.rs; cd $X && rm c.rs", ""),
    ]);
    let text = ProjectMemory::merge([&memory], []).text(2_000);
    let expected =
        "## Files\n- shelf.txt (created)\n- old.rs (deleted)\n- note.txt (created, moved to shelf.txt)";
    assert_eq!(text, expected);
}

#[test]
fn errors_that_nobody_sees_again_and_slips_are_not_open() {
    let call = |seq, command: &str, code: i64, output: &str| {
        let data = json!({ "name": "Bash", "call_id": "c", "arguments": { "command": command }, "exit_code": code, "output": output });
        told(seq, topics::TOOL_EVENT, &data)
    };
    let mut events = vec![
        call(1, "make bake && make shelf", 2, "error: cold"),
        call(2, "./fire.sh", 126, "(eval):1: permission denied: ./fire.sh"),
        call(3, "kilnctl --hot", 1, "error: unexpected argument '--hot' found"),
        call(4, "kiln", 127, "zsh: command not found: kiln"),
        call(5, "go build ./...", 1, "shelf/a.go:3:1: undefined: shelf"),
        call(6, "mise run test", 0, "[test] $ go test ./...\nok  \tshelf\t0.1s"),
    ];
    let text = |events: &[Event]| ProjectMemory::merge([&fold(events.to_vec())], []).text(2_000);
    let said = text(&events);
    let expected = "## Errors\n- [open] `make bake && make shelf`: error: cold (2026-09-21)\n- [resolved] `go build ./...`: shelf/a.go:3:1: undefined: shelf (2026-09-21)";
    assert_eq!(said, expected);
    events.extend((10..20).map(|seq| call(seq, "git commit -m x", 0, "")));
    assert!(text(&events).contains("- [not seen again in 11 later runs] `make bake && make shelf`"));
    events.push(call(30, "make bake && make shelf", 2, "error: cold"));
    assert!(text(&events).contains("- [open] `make bake && make shelf`: error: cold (2 times"));
}

#[test]
fn recent_turns_stand_by_session_and_without_code() {
    let of = |name: &str, rows: &[(u64, &str, &str)]| {
        let mut memory = SessionMemory::new(&SessionId::new(name).expect("a name"), None).with_tool("codex");
        for (seq, topic, text) in rows {
            memory.event(&said(*seq, topic, text));
        }
        memory
    };
    let (user, model) = (topics::USER_TURN, topics::ASSISTANT_TURN);
    let first = of(
        "first-session",
        &[
            (1, user, "fire"),
            (3, user, "fire the kiln"),
            (6, model, "```\nx\n```\nIt is **hot**.\n| a | b |"),
        ],
    );
    let second = of("second", &[(2, user, "glaze?"), (4, model, "Blue.")]);
    let merged = ProjectMemory::merge([&first, &second], []);
    let expected = "## Recent turns\nDAY, codex, session first-se:\n- user: fire the kiln\n- assistant: It is hot.\nDAY, codex, session second:\n- user: glaze?\n- assistant: Blue.";
    let when = |text: &str| {
        text.split('\n')
            .find_map(|line| line.strip_suffix(", codex, session second:").map(str::to_owned))
            .expect("a heading")
    };
    let told = merged.text(2_000);
    assert_eq!(told.replace(&when(&told), "DAY"), expected);
    let short = merged.text(170);
    assert!(
        short.contains("It is hot.") && short.ends_with("earlier (`stemma state --json` has all)"),
        "{short}"
    );
}

#[test]
fn a_recent_turn_that_repeats_a_replaced_decision_is_marked() {
    let memory = fold(vec![
        told(1, topics::DECISION_EVENT, &json!({ "decision": "Fire it with wood" })),
        said(2, topics::USER_TURN, "Fire it with wood"),
        said(3, topics::ASSISTANT_TURN, "I will fire it with wood then."),
        told(4, topics::DECISION_EVENT, &json!({ "decision": "Fire it with gas", "supersedes": "1" })),
        said(5, topics::USER_TURN, "Fire it with gas"),
    ]);
    let text = ProjectMemory::merge([&memory], []).text(2_000);
    let (_, turns) = text.split_once("session s:\n").expect("turns");
    let expected = "- user: Fire it with wood [superseded]\n- assistant: I will fire it with wood then. [superseded: Fire it with wood]\n- user: Fire it with gas";
    assert_eq!(turns, expected);
}

#[test]
fn lists_that_are_cut_say_how_much_they_lack() {
    let mut memory = MemoryReducer::new(&LedgerId::new("l").expect("a name"));
    for seq in 1..=300 {
        memory.apply(&told(seq, topics::DECISION_EVENT, &json!({ "decision": format!("choice {seq}") })));
    }
    for seq in 301..=315 {
        let task = json!({ "decision": format!("task {seq}"), "kind": "task_done" });
        memory.apply(&told(seq, topics::DECISION_EVENT, &task));
    }
    let text = memory.memory().text(100_000);
    assert!(text.contains("- … and 44 older that were recorded (`stemma events query"), "{text}");
    assert!(text.contains("- … and 5 more (`stemma state --json` has all)"), "{text}");
    let short = memory.memory().text(1_000);
    assert!(short.contains("more (`stemma state --json` has all)"), "{short}");
}

/// A newcomer's state had 77 lines of files, and its tasks stopped at five.
#[test]
fn ten_files_are_listed_and_the_others_counted() {
    let call = |seq: u64, command: &str| {
        let data = json!({ "name": "Bash", "call_id": "c", "arguments": { "command": command }, "exit_code": 0, "output": "" });
        told(seq, topics::TOOL_EVENT, &data)
    };
    let memory = fold((1..=70).map(|seq| call(seq, &format!("printf hi > f{seq}.txt"))).collect());
    let text = ProjectMemory::merge([&memory], []).text(20_000);
    assert_eq!(text.matches(".txt (created)").count(), 10, "{text}");
    assert!(text.ends_with("- … and 60 more (`stemma state --json` has all)"), "{text}");
}

#[test]
fn of_a_call_is_remembered_what_its_result_can_prove() {
    let touch = |path: &str, how: How, to: Option<&str>| {
        Waiting::Touch(FileWaiting { path: path.to_owned(), how, to: to.map(str::to_owned) })
    };
    let run = |part: &str| Waiting::Run { parts: vec![part.to_owned()], line: None, files: Vec::new() };
    let patch = "*** Begin Patch\n*** Add File: a\n+x\n*** Update File: b\n*** Move to: c\n*** Delete File: d\n*** End Patch";
    let code = format!(
        "const p = {}; tools.apply_patch(p); await tools.exec_command({{cmd:\"make all\"}})",
        json!(patch)
    );
    let all = vec![
        touch("a", How::Created, None),
        touch("b", How::Moved, Some("c")),
        touch("d", How::Deleted, None),
        run("make all"),
    ];
    for (name, arguments, expected) in [
        ("Read", json!({"file_path": "a"}), vec![touch("a", How::Read, None)]),
        ("Edit", json!({"file_path": "a", "old_string": "x"}), vec![touch("a", How::Edited, None)]),
        ("Write", json!({"file_path": "a".repeat(241), "content": ""}), vec![]),
        ("shell", json!({"command": ["bash", "-lc", "make all"]}), vec![run("make all")]),
        ("exec", json!({ "input": code }), all),
        ("Grep", json!({"path": "a", "pattern": "x"}), vec![]),
        ("AskUserQuestion", json!({}), vec![Waiting::Ask]),
        ("kiln", json!({}), vec![Waiting::Other { name: "kiln".to_owned() }]),
    ] {
        assert_eq!(acts::of_call(name, &arguments.to_string()).waiting, expected, "{name} {arguments}");
    }
}

#[test]
fn files_are_remembered_that_only_an_answer_names_or_one_part_tells_whole() {
    let id = |text: &str| stemmata_model::EntryId::new(text).expect("a name");
    let entry = |part| stemmata_model::Entry::said(id("e"), stemmata_model::Role::Assistant, vec![part]);
    let edit = json!({"command": "edit 1:1\nimport glaze\nend_of_edit"}).to_string();
    let changes = json!([{"path": "/kiln/b.rs", "kind": "update"}]);
    let item = json!({"item": {"id": "2", "changes": changes, "status": "completed"}}).to_string();
    let mut memory = SessionMemory::new(&SessionId::new("s").expect("a name"), Some("/kiln"));
    let shown = vec![Part::Text("[File: /kiln/a.py (1 lines total)]\n1:import glaze".to_owned())];
    let parts = [
        Part::ToolCall { call_id: "1".to_owned(), name: "bash".to_owned(), arguments: edit },
        Part::ToolResult { call_id: "1".to_owned(), is_error: false, parts: shown },
        Part::Opaque { runtime: "codex-exec".to_owned(), kind: "file_change".to_owned(), json: item },
    ];
    for (ordinal, part) in parts.into_iter().enumerate() {
        memory.entry(&entry(part), ordinal as u64);
    }
    let files: Vec<&str> = memory.items().files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(files, ["a.py", "b.rs"]);
}

#[test]
fn what_a_turn_says_is_done_is_one_line_of_a_state_whatever_it_holds() {
    let data = json!({ "completed": ["glaze\n# Kiln\n```"], "current": { "id": "2\n## Fire" } });
    let memory = fold(vec![told(1, topics::STATUS_EVENT, &data)]);
    let words: Vec<&str> = memory.items().tasks.iter().map(|task| task.text.as_str()).collect();
    assert_eq!(words.len(), 2);
    assert!(words.iter().all(|text| !text.contains('\n')), "{words:?}");
}

#[test]
fn a_tracker_s_answers_number_its_tasks_and_list_them() {
    let call = |seq: u64, id: &str, name: &str, arguments: serde_json::Value| {
        told(seq, topics::TOOL_EVENT, &json!({ "name": name, "call_id": id, "arguments": arguments }))
    };
    let result = |seq: u64, id: &str, output: &str| {
        told(seq, topics::TOOL_EVENT, &json!({ "call_id": id, "output": output }))
    };
    let events = vec![
        call(1, "a", "TaskCreate", json!({"subject": "glaze"})),
        call(2, "b", "TaskCreate", json!({"subject": "fire"})),
        result(3, "b", "Task #1 created successfully: fire"),
        result(4, "a", "Task #2 created successfully: glaze"),
        call(5, "c", "TaskUpdate", json!({"taskId": "2", "status": "in_progress"})),
    ];
    let tasks = |events: Vec<Event>| -> Vec<String> {
        let memory = fold(events);
        let row = |task: &v1::Task| {
            format!("{} {} {:?}", task.id.as_deref().unwrap_or_default(), task.text, task.status)
        };
        memory.items().tasks.iter().map(row).collect()
    };
    assert_eq!(tasks(events.clone()), ["2 glaze Active", "1 fire Open"]);
    let listed = [
        call(6, "d", "TaskList", json!({})),
        result(7, "d", "#1 [completed] fire\n#2 [in_progress] glaze"),
        call(8, "e", "TaskCreate", json!({"subject": "sell"})),
    ];
    let events = events.into_iter().chain(listed).collect();
    assert_eq!(tasks(events), ["1 fire Done", "2 glaze Active", "3 sell Open"]);
}

#[test]
fn a_long_command_ends_with_the_call_that_waits_for_it() {
    let call = |seq: u64, id: &str, name: &str, arguments: serde_json::Value, output: &str| {
        let data = json!({ "name": name, "call_id": id, "arguments": arguments, "output": output });
        told(seq, topics::TOOL_EVENT, &data)
    };
    let begun = call(1, "a", "exec_command", json!({"cmd": "make"}), "Process running with session ID 7");
    let still = call(2, "b", "write_stdin", json!({"session_id": 7}), "Process running with session ID 7");
    let end =
        call(3, "c", "write_stdin", json!({"session_id": 7}), "Process exited with code 2\nfatal: no kiln");
    assert!(fold(vec![begun.clone(), still.clone()]).items().errors.is_empty());
    let memory = fold(vec![begun, still, end]);
    assert_eq!(memory.items().errors[0].text, "fatal: no kiln");
    assert_eq!(memory.items().errors[0].subject, v1::About::Command { parts: vec!["make".to_owned()] });
}

#[test]
fn an_error_is_resolved_by_a_success_of_the_same() {
    let call = |seq, command: &str, code: i64, output: &str| {
        let data = json!({ "name": "Bash", "call_id": "c", "arguments": { "command": command }, "exit_code": code, "output": output });
        told(seq, topics::TOOL_EVENT, &data)
    };
    let edit = |seq, is_error: bool| {
        let data = json!({ "name": "Edit", "call_id": "c", "arguments": { "file_path": "/kiln/a.rs", "old_string": "x", "new_string": "y" }, "is_error": is_error, "output": "not found" });
        told(seq, topics::TOOL_EVENT, &data)
    };
    let memory = fold(vec![
        call(1, "cargo test -p glaze", 101, "error[E0425]: no glaze"),
        call(2, "cargo test -p glaze", 101, "error[E0425]: no shelf"),
        edit(3, true),
        call(4, "make bake", 2, "error: cold"),
        call(5, "cd /kiln && cargo test 2>&1 | tail", 0, "ok"),
        edit(6, false),
        told(7, topics::ERROR_EVENT, &json!({ "message": "no gas" })),
        told(8, topics::ERROR_EVENT, &json!({ "message": "no clay" })),
        told(9, topics::ERROR_EVENT, &json!({ "message": "no gas", "resolved": true })),
    ]);
    let errors: Vec<(&str, u32, Option<u64>)> = memory
        .items()
        .errors
        .iter()
        .map(|error| (error.text.as_str(), error.times, error.resolved.as_ref().map(|proof| proof.ordinal)))
        .collect();
    assert_eq!(
        errors,
        [
            ("error[E0425]: no shelf", 2, Some(5)),
            ("not found", 1, Some(6)),
            ("error: cold", 1, None),
            ("no gas", 1, Some(9)),
            ("no clay", 1, None),
        ]
    );
    let files: Vec<(&str, u32, How)> =
        memory.items().files.iter().map(|file| (file.path.as_str(), file.edited, file.how)).collect();
    assert_eq!(files, [("a.rs", 1, How::Edited)], "what failed touched nothing");

    let mut other = SessionMemory::new(&SessionId::new("t").expect("a name"), None);
    other.event(&call(20, "make bake", 0, ""));
    let merged = ProjectMemory::merge([&other, &memory], []);
    let bake = merged.items.errors.iter().find(|error| error.text == "error: cold").expect("there");
    assert_eq!(bake.resolved.as_ref().map(|proof| (proof.session.as_str(), proof.ordinal)), Some(("t", 20)));
    assert_eq!(bake.subject, About::Command { parts: vec!["make bake".to_owned()] });
}

#[test]
fn decisions_replace_one_another_and_say_what_proves_them() {
    let memory = fold(vec![
        said(1, topics::USER_TURN, "let's use glaze A for all pots"),
        told(
            2,
            topics::DECISION_EVENT,
            &json!({ "decision": "Fire at 1200 °C", "reason": "the clay wants it" }),
        ),
        said(3, topics::USER_TURN, "let's use glaze B instead of glaze A"),
        told(4, topics::DECISION_EVENT, &json!({ "decision": "Fire at 1250 °C", "supersedes": "2" })),
        said(5, topics::USER_TURN, "Let's use glaze B instead of glaze A."),
        told(6, topics::DECISION_EVENT, &json!({ "decision": "The kiln is electric", "kind": "fact" })),
        told(7, topics::DECISION_EVENT, &json!({ "decision": "Buy cones", "kind": "task" })),
        told(8, topics::DECISION_EVENT, &json!({ "decision": "Sweep", "kind": "task" })),
        told(9, topics::DECISION_EVENT, &json!({ "decision": "Buy cones", "kind": "task_done" })),
        told(10, topics::DECISION_EVENT, &json!({ "decision": 7 })),
    ]);
    let decisions: Vec<(u64, &str, Option<u64>)> = memory
        .items()
        .decisions
        .iter()
        .map(|one| (one.proof.ordinal, one.text.as_str(), one.superseded.as_ref().map(|proof| proof.ordinal)))
        .collect();
    assert_eq!(
        decisions,
        [
            (1, "let's use glaze A for all pots", Some(3)),
            (2, "Fire at 1200 °C", Some(4)),
            (3, "let's use glaze B instead of glaze A", None),
            (4, "Fire at 1250 °C", None),
            (5, "Let's use glaze B instead of glaze A.", None),
            (6, "The kiln is electric", None),
        ]
    );
    let tasks: Vec<(&str, TaskStatus)> =
        memory.items().tasks.iter().map(|task| (task.text.as_str(), task.status)).collect();
    assert_eq!(tasks, [("Buy cones", TaskStatus::Done), ("Sweep", TaskStatus::Open)]);
}

#[test]
fn the_newest_list_of_tasks_counts() {
    let list = |seq, name: &str, data: serde_json::Value| {
        told(seq, topics::TOOL_EVENT, &json!({ "name": name, "call_id": "c", "arguments": data }))
    };
    let memory = fold(vec![
        list(1, "TodoWrite", json!({ "todos": [{ "content": "old", "status": "pending" }] })),
        list(
            2,
            "TodoWrite",
            json!({ "todos": [{ "content": "new", "status": "completed" }, { "content": "next", "status": "in_progress" }] }),
        ),
        list(3, "TaskCreate", json!({ "subject": "first" })),
        list(4, "TaskCreate", json!({ "subject": "second" })),
        list(5, "TaskCreate", json!({ "subject": "third" })),
        list(6, "TaskUpdate", json!({ "taskId": "2", "status": "completed" })),
        list(7, "TaskUpdate", json!({ "taskId": "3", "status": "deleted" })),
        said(8, topics::ASSISTANT_TURN, "Plan:\n- [ ] dig\n- [x] wash\n"),
        said(9, topics::ASSISTANT_TURN, "Only - [ ] one box"),
    ]);
    let merged = ProjectMemory::merge([&memory], []);
    let tasks: Vec<(&str, TaskStatus)> = items::ordered(&merged.items.tasks)
        .into_iter()
        .map(|task| (task.text.as_str(), task.status))
        .collect();
    assert_eq!(
        tasks,
        [
            ("next", TaskStatus::Active),
            ("dig", TaskStatus::Open),
            ("first", TaskStatus::Open),
            ("wash", TaskStatus::Done),
            ("second", TaskStatus::Done),
            ("new", TaskStatus::Done),
        ]
    );
}

#[test]
fn the_text_says_what_matters_most_first() {
    let memory = fold(vec![
        said(1, topics::USER_TURN, "never commit the glaze recipes"),
        told(2, topics::DECISION_EVENT, &json!({ "decision": "Fire twice", "reason": "it holds better" })),
        told(3, topics::DECISION_EVENT, &json!({ "decision": "Buy cones", "kind": "task" })),
        told(
            4,
            topics::TOOL_EVENT,
            &json!({ "name": "Write", "call_id": "c", "arguments": { "file_path": "/kiln/a.rs" }, "output": "" }),
        ),
        told(5, topics::ERROR_EVENT, &json!({ "message": "no gas", "command": "make fire" })),
        said(6, topics::ASSISTANT_TURN, "Looking."),
        said(7, topics::ASSISTANT_TURN, "The kiln\nis cold."),
    ]);
    let merged = ProjectMemory::merge([&memory], []);
    let expected = "## Decisions and facts\n- Fire twice — it holds better (2026-09-21) [event 2]\n- user: never commit the glaze recipes (2026-09-21)\n\n## Tasks\n- [ ] Buy cones (2026-09-21)\n\n## Files\n- a.rs (created)\n\n## Errors\n- [open] `make fire`: no gas (2026-09-21)\n\n## Recent turns\n2026-09-21 14:13, session s:\n- user: never commit the glaze recipes\n- assistant: The kiln is cold.";
    assert_eq!(merged.text(2_000), expected);
    let short = merged.text(300);
    assert!(short.starts_with("## Decisions and facts\n- … and 2 more"), "{short}");
    assert_eq!(merged.text(0), "");
    let json = merged.to_json();
    assert_eq!(
        (&json["sessions"], &json["files"][0]["path"], json.get("successes")),
        (&json!(1), &json!("a.rs"), None)
    );
}

#[test]
fn sessions_merge_by_time_and_copies_count_once() {
    let write = |seq| {
        let data =
            json!({ "name": "Write", "call_id": "c", "arguments": { "file_path": "a.rs" }, "output": "" });
        told(seq, topics::TOOL_EVENT, &data)
    };
    let of = |name: &str, events: &[Event]| {
        let mut memory = SessionMemory::new(&SessionId::new(name).expect("a name"), None);
        for event in events {
            memory.event(event);
        }
        memory
    };
    let said = |seq, text: &str| said(seq, topics::USER_TURN, text);
    let whole = [said(1, "never fire at night"), write(2), write(3)];
    // A copy has the same times and ids; another session has its own.
    let sessions = [of("b", &whole), of("c", &[said(4, "and now"), write(5)]), of("d", &whole)];
    let merged = ProjectMemory::merge(&sessions, []);
    let [file] = merged.items.files.as_slice() else { panic!("{:?}", merged.items.files) };
    assert_eq!((file.created, file.edited, file.last.ordinal), (2, 1, 5));
    let decisions: Vec<&str> = merged.items.decisions.iter().map(|one| one.proof.session.as_str()).collect();
    assert_eq!(decisions, ["b"], "said once");
    let turns: Vec<&str> = merged.window.iter().map(|turn| turn.text.as_str()).collect();
    assert_eq!(turns, ["never fire at night", "and now"]);
    let earlier = of("z", &[said(1, "first")]);
    let later = of("a", &[said(9, "last")]);
    let merged = ProjectMemory::merge([&earlier, &later], []);
    let turns: Vec<&str> = merged.window.iter().map(|turn| turn.text.as_str()).collect();
    assert_eq!(turns, ["first", "last"]);
    let older = of("a", &[]);
    assert_eq!(ProjectMemory::merge([&later, &older, &earlier], []), merged, "an older state says nothing");
}

#[test]
fn what_a_user_decides_by_events_stays_however_often_and_beside_what_texts_say() {
    let mut memory = MemoryReducer::new(&LedgerId::new("l").expect("a name"));
    for seq in 1..=60 {
        memory.apply(&told(seq, topics::DECISION_EVENT, &json!({ "decision": format!("choice {seq}") })));
        let task = json!({ "decision": format!("task {seq}"), "kind": "task" });
        memory.apply(&told(100 + seq, topics::DECISION_EVENT, &task));
        memory.apply(&said(200 + seq, topics::USER_TURN, &format!("let's use glaze {seq}")));
    }
    let memory =
        MemoryReducer::load(&LedgerId::new("l").expect("a name"), MemoryReducer::VERSION, &memory.save())
            .expect("loaded");
    let items = memory.memory().items;
    let (told, found): (Vec<_>, Vec<_>) = items.decisions.iter().partition(|one| one.by == By::Event);
    assert_eq!((told.len(), found.len(), items.tasks.len()), (60, Bounds::SESSION.decisions_found_max, 60));
    assert!(
        found.iter().any(|one| one.text.contains("glaze 60")),
        "the newest of those found stay: {found:?}"
    );
}

#[test]
fn what_events_and_a_transcript_of_one_session_tell_counts_once() {
    let run = |seq, is_error: bool| {
        let output = if is_error { "no gas" } else { "lit" };
        let call = json!({ "name": "Bash", "call_id": "r", "arguments": { "command": "make fire" },
            "output": output, "is_error": is_error, "exit_code": i32::from(is_error) });
        told(seq, topics::TOOL_EVENT, &call)
    };
    let write = |seq, path: &str| {
        let call =
            json!({ "name": "Write", "call_id": "w", "arguments": { "file_path": path }, "output": "" });
        told(seq, topics::TOOL_EVENT, &call)
    };
    let acts = |from: u64| {
        vec![
            write(from, "a.rs"),
            write(from + 1, "a.rs"),
            run(from + 2, true),
            run(from + 3, false),
            run(from + 4, true),
            run(from + 5, true),
        ]
    };
    let counts = |memory: &ProjectMemory| {
        let files = memory.items.files.iter().map(|file| (file.path.clone(), file.created, file.edited));
        let errors = memory.items.errors.iter().map(|error| (error.times, error.resolved.is_some()));
        (files.collect::<Vec<_>>(), errors.collect::<Vec<_>>())
    };
    let (events, transcript) = (fold(acts(1)), fold(acts(101)));
    let once = counts(&ProjectMemory::merge([&transcript], []));
    assert_eq!(once, (vec![("a.rs".to_owned(), 1, 1)], vec![(1, true), (2, false)]));
    assert_eq!(counts(&ProjectMemory::merge_told([&events], [&transcript], [])), once);
    assert_eq!(counts(&ProjectMemory::merge_told([&transcript], [&events], [])), once);
    // Of what only one of them tells nothing is lost, whichever it is.
    let mut more = acts(201);
    more.extend([write(207, "b.rs"), write(208, "a.rs"), run(209, true)]);
    let more = fold(more);
    let all = counts(&ProjectMemory::merge([&more], []));
    assert_eq!(counts(&ProjectMemory::merge_told([&events], [&more], [])), all);
    assert_eq!(counts(&ProjectMemory::merge_told([&more], [&transcript], [])), all);
    // Two sessions are two.
    let mut other = SessionMemory::new(&SessionId::new("other").expect("a name"), Some("/kiln"));
    other.event(&event(300, "other", topics::TOOL_EVENT, write(300, "a.rs").payload));
    let both = counts(&ProjectMemory::merge_told([&events], [&transcript, &other], []));
    assert_eq!(both.0, [("a.rs".to_owned(), 2, 1)]);
}

#[test]
fn an_event_of_a_session_does_not_hide_its_transcript() {
    let transcript = fold(vec![
        said(1, topics::USER_TURN, "Let's use the gas kiln."),
        said(2, topics::ASSISTANT_TURN, "It is lit."),
    ]);
    let events = fold(vec![
        said(7, topics::USER_TURN, "Let's use the gas kiln."),
        told(8, topics::DECISION_EVENT, &json!({ "decision": "one shelf per firing" })),
    ]);
    let merged = ProjectMemory::merge_told([&events], [&transcript], []);
    let texts: Vec<&str> = merged.window.iter().map(|turn| turn.text.as_str()).collect();
    assert_eq!((merged.sessions, texts), (1, vec!["Let's use the gas kiln.", "It is lit."]));
    let decided: Vec<&str> = merged.items.decisions.iter().map(|one| one.text.as_str()).collect();
    assert_eq!(decided, ["Let's use the gas kiln.", "one shelf per firing"]);
}

#[test]
fn words_between_names_replace_nothing_and_what_events_say_only_they_replace() {
    let decide = |seq, text: &str| told(seq, topics::DECISION_EVENT, &json!({ "decision": text }));
    let memory = fold(vec![
        decide(1, "Firings stop at five so that the shelves cool"),
        decide(2, "Cool in sand instead of that"),
        decide(3, "Use the wood kiln"),
        decide(4, "Use the gas kiln instead of the wood kiln"),
        said(5, topics::USER_TURN, "let's use glaze A for the cups"),
        said(6, topics::USER_TURN, "let's use glaze B instead of the wood kiln and that"),
        said(7, topics::USER_TURN, "let's use glaze C instead of glaze A"),
        said(8, topics::USER_TURN, "use slip for the cups instead of it"),
        said(9, topics::ASSISTANT_TURN, "Decision: don't use the old shelf"),
    ]);
    let merged = ProjectMemory::merge([&memory], []);
    let superseded: Vec<u64> = merged
        .items
        .decisions
        .iter()
        .filter(|one| one.superseded.is_some())
        .map(|one| one.proof.ordinal)
        .collect();
    assert_eq!(superseded, [5], "{:#?}", merged.items.decisions);
    for (text, expected) in [
        ("Cache in Redis instead of that", None),
        ("Don't use the", None),
        ("use slip rather than them", None),
        ("switch from the wood kiln to gas", Some("wood kiln")),
    ] {
        assert_eq!(naming::replaced(text).as_deref(), expected, "{text}");
    }
}

#[test]
fn long_texts_that_differ_at_their_ends_are_two() {
    let long = |end: &str| format!("{} {end}", "glaze the cup ".repeat(25));
    let told_of = |seq, kind: &str, text: &str| {
        told(seq, topics::DECISION_EVENT, &json!({ "decision": text, "kind": kind }))
    };
    let todos = json!({ "todos": [{ "content": long("A"), "status": "pending" }, { "content": long("B"), "status": "pending" }] });
    let memory = fold(vec![
        told_of(1, "task", &long("one")),
        told_of(2, "task", &long("two")),
        told_of(3, "decision", &long("three")),
        told_of(4, "decision", &long("four")),
        told(5, topics::TOOL_EVENT, &json!({ "name": "TodoWrite", "call_id": "c", "arguments": todos })),
        told_of(6, "task_done", &long("TWO")),
        told(7, topics::DECISION_EVENT, &json!({ "decision": "five", "supersedes": long("three") })),
    ]);
    for items in [memory.items().clone(), ProjectMemory::merge([&memory], []).items] {
        let (tasks, decisions) = (&items.tasks, &items.decisions);
        let done: Vec<bool> = tasks.iter().map(|task| task.status == TaskStatus::Done).collect();
        assert_eq!((tasks.len(), done.iter().filter(|done| **done).count()), (4, 1), "{tasks:#?}");
        assert!(tasks.iter().all(|task| task.text.ends_with('…') && task.text.chars().count() == 160));
        let superseded: Vec<bool> = decisions.iter().map(|one| one.superseded.is_some()).collect();
        assert_eq!(superseded, [true, false, false], "{decisions:#?}");
        let names: std::collections::BTreeSet<String> = tasks.iter().map(v1::Task::name).collect();
        assert_eq!(names.len(), 4, "each has a name of its own: {names:?}");
        assert!(tasks.iter().any(|task| task.says(&format!("  {}", long("b")))));
    }
}

#[test]
fn a_decision_that_is_said_again_takes_the_new_reason() {
    let decide = |seq, reason: Option<&str>| {
        told(seq, topics::DECISION_EVENT, &json!({ "decision": "Use the gas kiln", "reason": reason }))
    };
    let found = said(1, topics::USER_TURN, "use the gas kiln, not wood");
    let again = [found, decide(2, None), decide(3, Some("it heats faster")), decide(4, None)];
    let apart = again.map(|event| fold(vec![event]));
    let whole = fold(vec![decide(2, None), decide(3, Some("it heats faster")), decide(4, None)]);
    for memory in
        [ProjectMemory::merge([&whole], []), ProjectMemory::merge([], apart.iter().map(SessionMemory::items))]
    {
        let told: Vec<_> = memory.items.decisions.iter().filter(|one| one.by == By::Event).collect();
        let [one] = told.as_slice() else { panic!("{told:#?}") };
        assert_eq!((one.reason.as_deref(), one.proof.ordinal), (Some("it heats faster"), 2));
    }
}
