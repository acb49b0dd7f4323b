//! What is derived of a conversation, rule by rule, and the laws.

use proptest::prelude::*;
use stemmata_model::{EntryId, Estimate, Part};

use super::super::counters::item_counters;
use super::*;

fn id(name: &str) -> EntryId {
    EntryId::new(name).expect("a name")
}

fn text(name: &str, role: Role, text: &str) -> Entry {
    Entry::said(id(name), role, vec![Part::Text(text.to_owned())])
}

fn call(name: &str, call: &str, tool: &str, arguments: &str) -> Entry {
    let (call_id, tool, arguments) = (call.to_owned(), tool.to_owned(), arguments.to_owned());
    Entry::said(id(name), Role::Assistant, vec![Part::ToolCall { call_id, name: tool, arguments }])
}

fn result(name: &str, call: &str, is_error: bool, said: &str) -> Entry {
    let parts = vec![Part::Text(said.to_owned())];
    Entry::said(id(name), Role::Tool, vec![Part::ToolResult { call_id: call.to_owned(), is_error, parts }])
}

fn derived(entries: &[Entry], hints: &[Hint], tasks: Option<GivenTasks<'_>>) -> Derived {
    let counters: Vec<ItemCounters> = entries.iter().map(|entry| item_counters(entry, &Estimate)).collect();
    let counters: Vec<&ItemCounters> = counters.iter().collect();
    derive(DeriveRequest { entries, counters: &counters, hints, tasks }).expect("a graph")
}

fn conversation() -> Vec<Entry> {
    vec![
        text("system-1", Role::System, "You write Rust."),
        text("prompt-1", Role::User, "fix the parser"),
        call("call-1", "toolu_1", "Bash", "{\"command\":\"cargo test\"}"),
        result("result-1", "toolu_1", true, "Exit code 101\nerror: test failed"),
        call(
            "call-2",
            "toolu_2",
            "Edit",
            "{\"file_path\":\"/w/src/parse.rs\",\"old_string\":\"a\",\"new_string\":\"b\"}",
        ),
        result("result-2", "toolu_2", false, "The file /w/src/parse.rs has been updated."),
        call("call-3", "toolu_3", "Bash", "{\"command\":\"cargo test\"}"),
        result("result-3", "toolu_3", false, "test result: ok"),
        text("prompt-2", Role::User, "now the docs; see /w/src/parse.rs"),
        call("call-4", "toolu_4", "Bash", "{\"command\":\"cargo doc\"}"),
        result("result-4", "toolu_4", true, "Exit code 101\nerror: no docs"),
        text("answer-1", Role::Assistant, "It failed."),
        text("prompt-3", Role::User, "go on"),
        call("call-5", "toolu_5", "Bash", "{\"command\":\"cargo clippy\"}"),
        result("result-5", "toolu_5", true, "Exit code 101\nerror: lint"),
    ]
}

#[test]
fn content_and_rows_follow_from_what_was_said_and_done() {
    let items = derived(&conversation(), &[], None).items;
    let content: Vec<&str> = items.iter().map(|item| item.content.as_str()).collect();
    assert_eq!(
        content,
        [
            "system_prompt",
            "current_task",
            "task_history",
            "task_history",
            "active_code",
            "active_code",
            "task_history",
            "task_history",
            "task_history",
            "task_history",
            "task_history",
            "task_history",
            "recent_feedback",
            "other",
            "other",
        ]
    );
    let rows: Vec<(&str, Row)> =
        items.iter().filter_map(|item| Some((item.id.as_str(), item.row?))).collect();
    let resolved = Row::ResolvedError;
    let critical = Row::CriticalError;
    // `cargo doc` failed in an earlier turn and was never tried again: nobody knows whether that matters.
    assert_eq!(
        rows,
        [("call-1", resolved), ("result-1", resolved), ("call-5", critical), ("result-5", critical)]
    );
}

#[test]
fn references_are_later_entries_that_name_a_file_an_id_or_a_call_but_not_the_own_group() {
    let mut entries = conversation();
    entries.push(text(
        "answer-2",
        Role::Assistant,
        "As toolu_3 showed, and in prompt-1: src/parse.rs:12 is right.",
    ));
    entries[4].meta.cwd = Some("/w".to_owned());
    let items = derived(&entries, &[], None).items;
    let count = |name: &str| {
        let item = items.iter().find(|item| item.id.as_str() == name).expect("an item");
        (item.reference_count, item.is_referenced_recently)
    };
    assert_eq!(count("prompt-1"), (1, true));
    assert_eq!(count("call-3"), (1, true));
    assert_eq!(count("result-3"), (1, true));
    assert_eq!(count("call-2"), (2, true), "the prompt and the answer; its own result names the file too");
    assert_eq!(count("call-1"), (0, false));
}

#[test]
fn tasks_and_hints_of_the_caller_are_stronger_than_what_is_derived() {
    let node = |name: &str, depends_on: &[&str]| TaskNode {
        name: name.to_owned(),
        depends_on: depends_on.iter().map(|name| (*name).to_owned()).collect(),
        is_completed: false,
    };
    let nodes = [node("parser", &[]), node("docs", &["parser"])];
    let mut hints = vec![Hint::default(); 9];
    hints[1].task = Some("parser".to_owned());
    hints[8] = Hint {
        task: Some("docs".to_owned()),
        reference_count: Some(7),
        row: Some(Row::ProjectGuidelines),
        is_pinned: true,
        ..Hint::default()
    };
    let found = derived(&conversation(), &hints, Some(GivenTasks { tasks: &nodes, current: "docs" }));
    let tasks: Vec<&str> = found.items.iter().filter_map(|item| item.task.as_deref()).collect();
    assert_eq!(
        tasks,
        [vec!["parser"; 8], vec!["docs"; 7]].concat(),
        "an entry is of the task of the one before"
    );
    let prompt = &found.items[8];
    assert_eq!((prompt.content, prompt.reference_count), (ContentType::CurrentTask, 7));
    assert_eq!((prompt.row, prompt.is_pinned), (Some(Row::ProjectGuidelines), true));
    assert_eq!(found.items[1].content, ContentType::TaskHistory);
    let cycle = [node("docs", &["docs"])];
    let request = DeriveRequest {
        entries: &[],
        counters: &[],
        hints: &[],
        tasks: Some(GivenTasks { tasks: &cycle, current: "docs" }),
    };
    assert!(matches!(derive(request), Err(TaskGraphError::Cycle { .. })));
}

#[test]
fn the_lines_of_one_message_and_groups_that_share_an_entry_are_one_group() {
    let mut entries = vec![
        text("thinking", Role::Assistant, "let me see"),
        call("call-a", "a", "Bash", "{}"),
        call("call-b", "b", "Bash", "{}"),
        Entry::said(
            id("both"),
            Role::Tool,
            ["a", "b"]
                .map(|call| Part::ToolResult { call_id: call.to_owned(), is_error: false, parts: Vec::new() })
                .to_vec(),
        ),
        call("open", "c", "Bash", "{}"),
    ];
    entries[0].meta.message_id = Some("m1".to_owned());
    entries[1].meta.message_id = Some("m1".to_owned());
    let items = derived(&entries, &[], None).items;
    let groups: Vec<Option<u32>> = items.iter().map(|item| item.group).collect();
    assert_eq!(groups, [Some(0), Some(0), Some(0), Some(0), Some(2)]);
    assert_eq!(
        items.iter().map(|item| item.is_open).collect::<Vec<bool>>(),
        [false, false, false, false, true]
    );
}

#[test]
fn results_that_no_answer_followed_are_held_with_their_calls() {
    let mut entries = vec![
        call("call-a", "a", "Bash", "{}"),
        result("result-a", "a", false, "old"),
        call("call-b", "b", "Bash", "{}"),
        call("call-c", "c", "Bash", "{}"),
        result("result-b", "b", false, "new"),
        result("result-c", "c", false, "new"),
        text("and", Role::User, "and now"),
    ];
    let open = |entries: &[Entry]| {
        derived(entries, &[], None).items.iter().map(|item| item.is_open).collect::<Vec<_>>()
    };
    assert_eq!(open(&entries), [false, false, true, true, true, true, false]);
    entries.push(text("answer", Role::Assistant, "seen"));
    assert_eq!(open(&entries), [false; 8]);
}

#[test]
fn the_summary_of_a_compaction_is_essential_and_a_time_is_that_of_the_entry_before() {
    let mut entries = conversation();
    entries[1].kind = EntryKind::CompactionSummary;
    entries[1].timestamp = Some(Timestamp::from_micros(7));
    let items = derived(&entries, &[], None).items;
    assert!(items[1].is_essential && !items[2].is_essential);
    assert_eq!((items[0].at, items[5].at), (None, Some(Timestamp::from_micros(7))));
}

proptest! {
    #[test]
    fn any_conversation_has_an_item_for_each_entry_and_whole_groups(
        kinds in proptest::collection::vec((0..5_u8, 0..6_usize, "[a-z/._ ]{0,30}"), 0..40), hints in 0..50_usize,
    ) {
        let entries: Vec<Entry> = kinds.iter().enumerate().map(|(at, (kind, call_id, said))| {
            let (name, call_id) = (format!("entry-{at}"), format!("toolu_{call_id}"));
            match kind {
                0 => text(&name, Role::User, said),
                1 => text(&name, Role::Assistant, said),
                2 => call(&name, &call_id, "Read", &format!("{{\"file_path\":\"{said}\"}}")),
                3 => result(&name, &call_id, said.len() % 2 == 0, said),
                _ => text(&name, Role::System, said),
            }
        }).collect();
        let found = derived(&entries, &vec![Hint::default(); hints], None);
        prop_assert_eq!(found.items.len(), entries.len());
        for tools in stemmata_model::group_tools(&entries) {
            let mut groups: Vec<Option<u32>> =
                tools.calls.iter().chain(&tools.results).map(|at| found.items[*at].group).collect();
            groups.dedup();
            prop_assert!(groups.len() == 1 && groups[0].is_some());
        }
        // Later entries only: a prefix of the conversation is told nothing of what comes after it.
        prop_assert!(found.items.last().is_none_or(|last| last.reference_count == 0));
    }
}
