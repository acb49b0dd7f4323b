//! One row a tool of every runtime, and what it does.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::act::Certainty;

/// An act in few words.
fn told(act: &Act) -> String {
    match act {
        Act::File(file) => {
            let lines = file.added_lines().join("|");
            match &file.change {
                FileChange::Read => format!("read {}", file.path),
                FileChange::Write { .. } => format!("write {} +{lines}", file.path),
                FileChange::Edit { .. } => format!("edit {} +{lines}", file.path),
                FileChange::Delete => format!("delete {}", file.path),
                FileChange::Move { to } => format!("move {} to {to}", file.path),
            }
        }
        Act::Command(command) => {
            let folder = command.folder.as_deref().map(|folder| format!(" in {folder}"));
            format!("run {}{}", command.line, folder.unwrap_or_default())
        }
        Act::Follow { handle } => format!("follow {}", handle.as_deref().unwrap_or_default()),
        Act::Tasks(TaskAct::Write { tasks }) => {
            let row = |task: &Task| format!("{} {}", task.status.as_str(), task.text);
            format!("tasks {}", tasks.iter().map(row).collect::<Vec<_>>().join("|"))
        }
        Act::Tasks(TaskAct::Add { text }) => format!("add {text}"),
        Act::Tasks(TaskAct::Change { id, status, .. }) => {
            format!("change {id} {}", status.map_or("", TaskStatus::as_str))
        }
        other => format!("{other:?}").to_lowercase(),
    }
}

fn told_of(name: &str, arguments: &str) -> String {
    acts(Call { name, arguments }).iter().map(told).collect::<Vec<_>>().join(", ")
}

#[test]
fn files_are_read_and_changed_by_tools_of_every_runtime() {
    for (name, arguments, expected) in [
        ("Read", json!({"file_path": "a"}), "read a"),
        ("read_file", json!({"absolute_path": "a"}), "read a"),
        ("read_many_files", json!({"include": ["a", "b/*.rs"]}), "read a, read b/*.rs"),
        ("open", json!({"path": "a"}), "read a"),
        ("Write", json!({"file_path": "a", "content": "x\ny\n"}), "write a +x|y"),
        ("write", json!({"path": "a", "content": "x"}), "write a +x"),
        ("write_file", json!({"file_path": "a", "content": "x"}), "write a +x"),
        ("Edit", json!({"file_path": "a", "old_string": "x\ny", "new_string": "y\nz"}), "edit a +z"),
        ("Edit", json!({"file_path": "a", "old_string": "x\ny", "new_string": "y"}), "edit a +"),
        ("edit", json!({"path": "a", "oldText": "x", "newText": "x\nx"}), "edit a +x"),
        ("edit", json!({"path": "a", "oldText": "x"}), "edit a +"),
        ("edit", json!({"path": "a", "edits": [{"oldText": "x", "newText": "y"}]}), "edit a +y"),
        ("edit", json!({"filePath": "a", "oldString": "x", "newString": "y"}), "edit a +y"),
        ("replace", json!({"file_path": "a", "old_string": "x", "new_string": "y"}), "edit a +y"),
        (
            "MultiEdit",
            json!({"file_path": "a", "edits": [{"old_string": "x", "new_string": "y"}, {"old_string": "", "new_string": "z"}]}),
            "edit a +y|z",
        ),
        ("NotebookEdit", json!({"notebook_path": "a", "new_source": "y"}), "edit a +y"),
        ("NotebookEdit", json!({"notebook_path": "a", "edit_mode": "delete"}), "edit a +"),
        ("str_replace_editor", json!({"command": "view", "path": "a"}), "read a"),
        ("str_replace_editor", json!({"command": "create", "path": "a", "file_text": "x"}), "write a +x"),
        (
            "file_editor",
            json!({"command": "str_replace", "path": "a", "old_str": "x", "new_str": "y"}),
            "edit a +y",
        ),
        (
            "file_editor",
            json!({"command": "insert", "path": "a", "insert_line": 3, "new_str": "y"}),
            "edit a +y",
        ),
        ("delete_file", json!({"path": "a"}), "delete a"),
        ("move_file", json!({"path": "a", "destination": "b"}), "move a to b"),
        ("patch_file", json!({"path": "a", "old_string": "x", "new_string": "y"}), "edit a +y"),
        ("mcp__x__create_file", json!({"path": "a", "content": "x"}), "unknown"),
        ("Write", json!({"file_path": "a\u{0}", "content": "x"}), "unknown"),
        ("run", json!({"n": 1}), "unknown"),
        ("Grep", json!({"path": "a", "pattern": "x"}), "search"),
    ] {
        assert_eq!(told_of(name, &arguments.to_string()), expected, "{name} {arguments}");
    }
    for nonsense in ["nonsense", "[]", "null", r#"{"$serde_json::private::RawValue":"x"}"#] {
        assert_eq!(told_of("Write", nonsense), "unknown", "{nonsense}");
    }
}

#[test]
fn commands_tasks_and_questions_are_read_of_every_runtime() {
    let list = |key: &str, text: &str| {
        json!({ key: [{ text: "glaze", "status": "in_progress" }, { text: "fire", "status": "completed" },
            { text: "sell", "status": "cancelled" }] })
    };
    let tasks = "tasks in_progress glaze|completed fire|cancelled sell";
    for (name, arguments, expected) in [
        ("Bash", json!({"command": "make all"}), "run make all"),
        ("shell", json!({"command": ["bash", "-lc", "make all"], "workdir": "/x"}), "run make all in /x"),
        (
            "command_execution",
            json!({"command": "/bin/bash -lc \"printf 'a\\\\n' > n && ls\""}),
            "run printf 'a\\n' > n && ls",
        ),
        ("Bash", json!({"command": "bash -c 'make all' && ls"}), "run bash -c 'make all' && ls"),
        ("local_shell", json!({"action": {"command": ["make", "all"]}}), "run make all"),
        ("exec_command", json!({"cmd": "make all", "workdir": "/x"}), "run make all in /x"),
        ("terminal", json!({"command": "make all"}), "run make all"),
        ("home_made", json!({"script": "make all"}), "run make all"),
        ("wait", json!({"cell_id": "18"}), "follow 18"),
        ("write_stdin", json!({"session_id": 86237, "chars": "y"}), "follow 86237"),
        ("TodoWrite", list("todos", "content"), tasks),
        ("todowrite", list("todos", "content"), tasks),
        ("update_plan", list("plan", "step"), tasks),
        ("write_todos", list("todos", "description"), tasks),
        ("task_tracker", list("task_list", "title"), tasks),
        ("task_tracker", json!({"command": "view"}), "tasks(list)"),
        ("TaskCreate", json!({"subject": "glaze", "description": "all"}), "add glaze"),
        ("TaskUpdate", json!({"taskId": "1", "status": "deleted"}), "change 1 cancelled"),
        ("TaskUpdate", json!({"taskId": 2, "description": "x"}), "change 2 "),
        ("TaskList", json!({}), "tasks(list)"),
        ("AskUserQuestion", json!({"questions": []}), "ask"),
        ("ExitPlanMode", json!({}), "ask"),
        ("Agent", json!({"prompt": "x"}), "subagent"),
        ("WebSearch", json!({"query": "x"}), "search"),
        ("web_fetch", json!({"prompt": "x"}), "fetch"),
        ("think", json!({}), "think"),
        ("Skill", json!({}), "client"),
    ] {
        assert_eq!(told_of(name, &arguments.to_string()), expected, "{name} {arguments}");
    }
}

const PATCH: &str = "*** Begin Patch\n*** Add File: a\n+x\n*** Update File: b\n*** Move to: c\n@@\n-y\n+\n z\n\
                     *** Update File: e\n*** Move to: f\n*** Delete File: d\n+no\n*** Update File: g\n-h\n*** End Patch";
const PATCHED: &str = "write a +x, move b to c, edit c +, move e to f, delete d, edit g +";

#[test]
fn patches_are_read_wherever_they_stand() {
    let call = format!("const p = {};\nawait tools.apply_patch(p);", json!(PATCH));
    for (name, arguments) in [
        ("apply_patch", PATCH.to_owned()),
        ("apply_patch", json!({ "input": PATCH }).to_string()),
        ("patch", json!({ "patchText": PATCH }).to_string()),
        ("shell", json!({ "command": ["apply_patch", PATCH] }).to_string()),
        ("Bash", json!({ "command": format!("apply_patch <<'EOF'\n{PATCH}\nEOF") }).to_string()),
        ("exec", call.clone()),
        ("exec", json!({ "input": call }).to_string()),
    ] {
        assert_eq!(told_of(name, &arguments), PATCHED, "{name} {arguments}");
    }
}

#[test]
fn code_says_which_calls_it_makes() {
    for (code, expected) in [
        ("await tools.exec_command({cmd:\"make all\", \"workdir\" : '/x', n: 1_0,})", "run make all in /x"),
        ("tools.exec_command({cmd: `make ${id}`})", "run make ${id}"),
        (
            "const cmd = 'make ' + \"a\\u0020b\\n\"; tools.exec_command({cmd, x: f(1, [2]), y: z.w})",
            "run make a b\n",
        ),
        (
            "const r = await Promise.all([tools.exec_command({cmd: 'a'}), tools.write_stdin({session_id: 7})]);",
            "run a, follow 7",
        ),
        ("// tools.exec_command({cmd: 'a'})\n/* tools.x( */ text('tools.exec_command({cmd:1})')", "client"),
        ("const all = ALL_TOOLS.filter(x => x)", "client"),
        ("tools.update_plan({plan: [{step: 'a', status: 'pending'}]})", "tasks pending a"),
        ("const o = {cmd: 'a'}; tools.exec_command(o)", "run a"),
        ("tools.exec_command(unknown(1))", "unknown"),
        ("const x = [)}; tools.exec_command({cmd: 'b'})", "run b"),
        ("tools.exec_command({cmd: '\\ud83d\\ude00'})", "run 😀"),
    ] {
        assert_eq!(told_of("exec", code), expected, "{code}");
    }
    let never_applied = format!("const p = {};", json!(PATCH));
    assert_eq!(told_of("exec", &never_applied), "client");
    let grows: String = std::iter::once("const a='x';".to_owned())
        .chain((0..200).map(|_| "const a=[a,a,a,a];".to_owned()))
        .collect();
    assert_eq!(told_of("exec", &grows), "client", "names of names end");
}

proptest! {
    #[test]
    fn any_call_is_read(
        name in "(exec|Bash|Edit|apply_patch|TodoWrite|read|[a-z_]{0,8})",
        arguments in "(\\PC|[\\[\\](){}\"'`\\\\:,+\n]|tools\\.|const a=|\\*\\*\\* Begin Patch\n|\\*\\*\\* Add File: ){0,40}",
    ) {
        let found = acts(Call { name: &name, arguments: &arguments });
        prop_assert!(!found.is_empty() && found.len() <= ACTS_MAX);
        for act in &found {
            match act {
                Act::File(file) => prop_assert!(!file.path.trim().is_empty()),
                // A command line alone never says for sure what happened to a file.
                Act::Command(command) => for file in command.files() {
                    prop_assert!(!file.path.trim().is_empty());
                    prop_assert!(file.certainty <= Certainty::Likely, "{file:?}");
                },
                _ => {}
            }
        }
    }
}
