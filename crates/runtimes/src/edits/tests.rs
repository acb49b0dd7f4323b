//! Edits of every runtime's tools, and what is none.

use stemmata_model::{Body, EntryId, EntryKind, EntryMeta, NativeSpan, Role};

use super::*;

fn entry(role: Role, parts: Vec<Part>) -> Entry {
    Entry {
        id: EntryId::new("e").expect("a name"),
        parent: None,
        timestamp: None,
        role,
        kind: EntryKind::Message,
        body: Body::Blocks,
        parts,
        meta: EntryMeta::default(),
        native: NativeSpan { offset: 0, length: 0 },
    }
}

fn call(name: &str, arguments: &str) -> Entry {
    let part =
        Part::ToolCall { call_id: "c".to_owned(), name: name.to_owned(), arguments: arguments.to_owned() };
    entry(Role::Assistant, vec![part])
}

#[test]
fn each_runtime_s_tools_say_which_lines_are_new() {
    let patch =
        "*** Begin Patch\n*** Update File: src/a.rs\n@@ fn a\n context\n-old\n+one\n+two\n*** End Patch";
    let json = |key: &str, text: &str| serde_json::json!({ key: text }).to_string();
    let shell = serde_json::json!({ "cmd": ["bash", "-lc", format!("apply_patch <<'EOF'\n{patch}\nEOF")] })
        .to_string();
    let rows: [(&str, String, &str, &[&str], bool); 11] = [
        ("Write", r#"{"file_path":"/p/a.rs","content":"one\ntwo\n"}"#.into(), "/p/a.rs", &["one", "two"], true),
        ("write", r#"{"path":"a.rs","content":"one"}"#.into(), "a.rs", &["one"], true),
        ("write_file", r#"{"file_path":"a.rs","content":"one"}"#.into(), "a.rs", &["one"], true),
        (
            "Edit",
            r#"{"file_path":"/p/a.rs","old_string":"same\nold","new_string":"same\none\nsame"}"#.into(),
            "/p/a.rs",
            &["one", "same"],
            false,
        ),
        ("edit", r#"{"path":"a.rs","oldText":"x","newText":"one"}"#.into(), "a.rs", &["one"], false),
        ("edit", r#"{"filePath":"a.rs","oldString":"x","newString":"one"}"#.into(), "a.rs", &["one"], false),
        ("replace", r#"{"file_path":"a.rs","old_string":"x","new_string":"one"}"#.into(), "a.rs", &["one"], false),
        (
            "MultiEdit",
            r#"{"file_path":"a.rs","edits":[{"old_string":"x","new_string":"one"},{"old_string":"y","new_string":"two"}]}"#
                .into(),
            "a.rs",
            &["one", "two"],
            false,
        ),
        ("apply_patch", json("input", patch), "src/a.rs", &["one", "two"], false),
        ("apply_patch", patch.to_owned(), "src/a.rs", &["one", "two"], false),
        ("exec_command", shell, "src/a.rs", &["one", "two"], false),
    ];
    for (tool, arguments, path, lines, is_whole) in rows {
        let found = edits(&[call(tool, &arguments)]);
        let expected = FileEdit {
            entry: 0,
            call_id: "c".to_owned(),
            tool: tool.to_owned(),
            path: path.to_owned(),
            lines: lines.iter().map(ToString::to_string).collect(),
            is_whole,
        };
        assert_eq!(found, [expected], "{tool} {arguments}");
    }
}

#[test]
fn what_reads_what_deletes_and_what_failed_is_no_edit() {
    for (tool, arguments) in [
        ("Read", r#"{"file_path":"a.rs"}"#),
        ("Bash", r#"{"command":"cat a.rs"}"#),
        ("Grep", r#"{"path":"a.rs","pattern":"x","content":"y"}"#),
        ("apply_patch", "*** Begin Patch\n*** Delete File: a.rs\n+x\n*** End Patch"),
        ("Write", "no JSON"),
        ("Edit", r#"{"file_path":"a.rs","old_string":"same","new_string":"same"}"#),
    ] {
        assert_eq!(edits(&[call(tool, arguments)]), [], "{tool} {arguments}");
    }
    let result = Part::ToolResult { call_id: "c".to_owned(), is_error: true, parts: Vec::new() };
    let write = call("Write", r#"{"file_path":"a","content":"x"}"#);
    assert_eq!(edits(&[write, entry(Role::Tool, vec![result])]), []);
}

proptest::proptest! {
    #[test]
    fn any_arguments_give_edits_or_none(name in "(Write|Edit|apply_patch|exec_command)", arguments in ".{0,60}", key in "[a-z_]{1,12}", value in ".{0,40}") {
        edits(&[call(&name, &arguments)]);
        edits(&[call(&name, &serde_json::json!({ key: value, "file_path": "a" }).to_string())]);
        edits(&[call(&name, &format!("*** Begin Patch\n{arguments}"))]);
    }
}
