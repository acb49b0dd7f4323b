//! Calls and their answers, as conversations have them.

use serde_json::json;
use stemmata_model::{EntryId, Role};

use super::*;
use crate::act::FileChange;

fn entry(parts: Vec<Part>) -> Entry {
    Entry::said(EntryId::new("e").expect("an id"), Role::Assistant, parts)
}

fn call(id: &str, name: &str, arguments: &serde_json::Value) -> Part {
    Part::ToolCall { call_id: id.to_owned(), name: name.to_owned(), arguments: arguments.to_string() }
}

fn result(id: &str, is_error: bool, text: &str) -> Part {
    Part::ToolResult { call_id: id.to_owned(), is_error, parts: vec![Part::Text(text.to_owned())] }
}

#[test]
fn what_failed_or_was_refused_changes_nothing() {
    let edit = json!({"file_path": "a", "old_string": "x", "new_string": "y"});
    let rm = json!({"command": "rm a.rs"});
    for (name, arguments, answer, expected) in [
        ("Edit", &edit, Some((false, "done")), Some(Certainty::Sure)),
        ("Edit", &edit, Some((true, "no such text")), None),
        ("Edit", &edit, Some((true, "The user doesn't want to proceed")), None),
        ("Edit", &edit, None, Some(Certainty::Likely)),
        ("Bash", &rm, Some((false, "")), Some(Certainty::Likely)),
        ("Bash", &rm, Some((true, "Exit code 1\nmake: *** [all] Error 2")), Some(Certainty::Possible)),
        ("Bash", &rm, Some((false, "rm: a.rs: No such file or directory")), Some(Certainty::Possible)),
        ("Bash", &rm, Some((true, "Permission to use Bash has been denied")), None),
        (
            "Bash",
            &rm,
            Some((false, "ISC License\n\nPermission to use, copy, modify")),
            Some(Certainty::Likely),
        ),
    ] {
        let mut parts = vec![call("c", name, arguments)];
        parts.extend(answer.map(|(is_error, text)| result("c", is_error, text)));
        let entries = [entry(parts)];
        let uses = tool_uses(&entries);
        let found: Vec<Certainty> = uses[0].files().iter().map(|file| file.certainty).collect();
        assert_eq!(found, Vec::from_iter(expected), "{name} {answer:?}");
    }
}

#[test]
fn a_long_command_ends_with_the_call_that_waits_for_it() {
    let entries = [
        entry(vec![call("1", "exec_command", &json!({"cmd": "make > log.txt"}))]),
        entry(vec![result("1", false, "Process running with session ID 7")]),
        entry(vec![call("2", "write_stdin", &json!({"session_id": 7}))]),
        entry(vec![result("2", false, "Process running with session ID 7")]),
        entry(vec![call("3", "write_stdin", &json!({"session_id": 7}))]),
        entry(vec![result("3", false, "Process exited with code 2\nerror: no kiln")]),
    ];
    let uses = tool_uses(&entries[..4]);
    assert_eq!(uses[0].outcome, Outcome::Running { handle: Some("7".to_owned()) });
    let uses = tool_uses(&entries);
    assert_eq!(uses[0].outcome, Outcome::Failed { why: "error: no kiln".to_owned() });
    assert_eq!(uses[0].files()[0].change, FileChange::Write { text: None });
}

#[test]
fn an_id_that_is_given_twice_is_answered_at_its_latest_call() {
    let one = json!({"file_path": "a", "content": "x"});
    let entries = [
        entry(vec![call("c", "Write", &one), result("c", true, "no")]),
        entry(vec![call("c", "Write", &one), result("c", false, "yes"), result("none", true, "who")]),
    ];
    let uses = tool_uses(&entries);
    assert_eq!(uses.iter().map(|used| used.files().len()).collect::<Vec<_>>(), [0, 1]);
}

#[test]
fn an_editor_with_one_open_file_says_which_in_its_answer() {
    let action = |line: &str| json!({ "command": line });
    let shown = "[File: /srv/cup.py (18 lines total)]\n1:import glaze";
    let refused =
        "Your proposed edit has introduced new syntax error(s).\n[File: /srv/cup.py (17 lines total)]";
    for (name, arguments, answer, expected) in [
        ("bash", action("create cup.py"), shown, "Write { text: None } cup.py"),
        ("bash", action("open cup.py 12"), shown, "Read cup.py"),
        (
            "bash",
            action("edit 1:2\nwith open('x') as f:\nend_of_edit"),
            shown,
            "Edit with open('x') as f: /srv/cup.py",
        ),
        ("bash", action("edit 1:2\nmv a b\nend_of_edit"), refused, ""),
        ("edit", json!({"search": "a", "replace": "glaze"}), shown, "Edit glaze /srv/cup.py"),
        ("edit", json!({"search": "a", "replace": "b"}), "no file is open", ""),
    ] {
        let entries = [entry(vec![call("c", name, &arguments), result("c", false, answer)])];
        let uses = tool_uses(&entries);
        let told = |file: FileAct| match &file.change {
            FileChange::Edit { .. } => format!("Edit {} {}", file.added_lines().join("|"), file.path),
            change => format!("{change:?} {}", file.path),
        };
        let found: Vec<String> = uses[0].files().into_iter().map(told).collect();
        assert_eq!(found, Vec::from_iter((!expected.is_empty()).then(|| expected.to_owned())), "{arguments}");
    }
}

#[test]
fn items_that_say_call_and_end_in_one_are_calls() {
    let item = |kind: &str, json: serde_json::Value| Part::Opaque {
        runtime: "codex-exec".to_owned(),
        kind: kind.to_owned(),
        json: json!({"type": "item.completed", "item": json}).to_string(),
    };
    let changes = json!([{"path": "/srv/a", "kind": "add"}, {"path": "/srv/b", "kind": "delete"}]);
    let entries = [entry(vec![
        item("file_change", json!({"id": "1", "changes": changes, "status": "completed"})),
        item("file_change", json!({"id": "2", "changes": changes, "status": "failed"})),
        item("todo_list", json!({"id": "3", "items": [{"text": "glaze", "completed": true}]})),
        item("collab_tool_call", json!({"id": "4"})),
    ])];
    let uses = tool_uses(&entries);
    let files: Vec<usize> = uses.iter().map(|used| used.files().len()).collect();
    assert_eq!(files, [2, 0, 0], "the third is not a file, the fourth nobody knows");
    assert!(matches!(uses[2].tasks().next(), Some(TaskAct::Write { tasks }) if !tasks[0].status.is_open()));
}
