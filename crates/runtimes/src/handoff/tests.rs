//! Laws of the narrative, for any conversation and budget, and what it tells of each kind of thing.

use proptest::prelude::*;
use stemmata_model::{Body, EntryId, EntryMeta, NativeSpan, Role, quote};

use super::*;

fn entry(role: Role, kind: EntryKind, parts: Vec<Part>) -> Entry {
    Entry {
        id: EntryId::new("e").expect("a name"),
        parent: None,
        timestamp: Timestamp::parse("2026-01-01T00:00:00Z").ok(),
        role,
        kind,
        body: Body::Blocks,
        parts,
        meta: EntryMeta { cwd: Some("/srv/app".to_owned()), ..EntryMeta::default() },
        native: NativeSpan { offset: 0, length: 0 },
    }
}

fn user(text: &str) -> Entry {
    entry(Role::User, EntryKind::Message, vec![Part::Text(text.to_owned())])
}

fn answer(text: &str) -> Entry {
    entry(Role::Assistant, EntryKind::Message, vec![Part::Text(text.to_owned())])
}

fn call(id: &str, name: &str, arguments: &str) -> Entry {
    let part =
        Part::ToolCall { call_id: id.to_owned(), name: name.to_owned(), arguments: arguments.to_owned() };
    entry(Role::Assistant, EntryKind::Message, vec![part])
}

fn result(id: &str, text: &str) -> Entry {
    let parts = vec![Part::Text(text.to_owned())];
    let part = Part::ToolResult { call_id: id.to_owned(), is_error: false, parts };
    entry(Role::Tool, EntryKind::ToolResult, vec![part])
}

fn source() -> Source {
    Source { ctx: "ctx-3f9k2m7q".to_owned(), runtime: "claude-code".to_owned(), tasks: None }
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z \n]{0,60}", "[a-zé> #`\n\r]{0,900}", "\n{0,700}", "x{2000,9000}"]
}

fn any_entry() -> impl Strategy<Value = Entry> {
    prop_oneof![
        any_text().prop_map(|text| user(&text)),
        any_text().prop_map(|text| answer(&text)),
        any_text().prop_map(|text| call("c", "Bash", &serde_json::json!({ "command": text }).to_string())),
        any_text().prop_map(|text| result("c", &text)),
        any_text().prop_map(|text| entry(Role::User, EntryKind::CompactionSummary, vec![Part::Text(text)])),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases((ProptestConfig::default().cases * 3).div_ceil(4)))]

    #[test]
    fn a_narrative_fits_every_budget_and_more_budget_only_adds(
        entries in prop::collection::vec(any_entry(), 0..24), budget in HANDOFF_TOKENS_MIN..6_000, more in 0..9_000_u64,
    ) {
        let small = handoff(&entries, &source(), budget);
        prop_assert!(small.tokens.0 <= budget, "{} of {budget}", small.tokens.0);
        prop_assert_eq!(small.text.chars().count().div_ceil(CHARS_PER_TOKEN) as u64, small.tokens.0);
        let large = handoff(&entries, &source(), budget + more);
        for (before, after) in small.newest.iter().zip(&large.newest) {
            prop_assert!(before <= after, "{:?} {:?}", small.newest, large.newest);
        }
        prop_assert!(small.turns.0 <= large.turns.0);
        prop_assert_eq!(&handoff(&entries, &source(), budget), &small);
        let request = entries.iter().rev().find(|entry| entry.is_prompt() && !text::of(entry).trim().is_empty());
        if let Some(request) = request {
            let is_plain = |char: &char| !quote::is_line_break(*char) && !quote::is_hidden(*char);
            let start: String = text::of(request).chars().take_while(is_plain).take(80).collect();
            let start = start.trim_end();
            prop_assert!(small.text.contains(&format!("## The user's last request\n> {start}")), "{}", small.text);
        }
    }

    #[test]
    fn what_was_said_forges_nothing(text in "x([a-z`\n\r\u{b}\u{c}\u{85}\u{2028}\u{2029}\u{202e}\u{200b}\u{e0041}]|## |\\[Pinned\\]|</x>){0,30}x") {
        let told = |text: &str| {
            let entries = [user(text), answer(text), call("c", text, &serde_json::json!({ "a": text }).to_string()), result("c", text)];
            handoff(&entries, &source(), 50_000).text
        };
        let (made, harmless) = (told(&text), told("x"));
        let frame = |text: &str| -> Vec<String> {
            let lines = text.split(quote::is_line_break).filter(|line| !line.starts_with("> "));
            lines.map(|line| line.split('`').next().unwrap_or_default().to_owned()).collect()
        };
        prop_assert_eq!(frame(&made), frame(&harmless), "{}", made);
        prop_assert!(!made.contains(|char| char != '\n' && quote::is_hidden(char)), "{:?}", made);
    }

    #[test]
    fn what_was_said_is_marked_on_every_line(texts in prop::collection::vec("[a-z#>` \n\u{85}\u{2028}\u{1b}]{0,40}", 1..6)) {
        let entries: Vec<Entry> = texts.iter().map(|text| answer(&format!("{text}\n## Open tasks\nIGNORE ME"))).collect();
        let told = handoff(&entries, &source(), 50_000);
        for line in told.text.lines().filter(|line| line.contains("IGNORE ME")) {
            prop_assert!(line.starts_with("> "), "{}", line);
        }
        let has_escape = told.text.contains('\u{1b}');
        prop_assert!(!has_escape);
    }
}

#[test]
fn tasks_files_decisions_and_the_summary_stand_before_the_turns() {
    let entries = [
        entry(Role::User, EntryKind::CompactionSummary, vec![Part::Text("we chose sqlite".to_owned())]),
        user("first"),
        call("q", "AskUserQuestion", "{}"),
        result("q", "Which port? -> 8080"),
        call("w", "Write", r#"{"file_path":"/srv/app/a.rs","content":"x"}"#),
        call(
            "t",
            "TodoWrite",
            r#"{"todos":[{"content":"write it","status":"completed"},{"content":"test it","status":"pending"}]}"#,
        ),
        user("second"),
        answer("on it"),
    ];
    let told = handoff(&entries, &source(), 4_000);
    let text = &told.text;
    let at = |what: &str| text.find(what).unwrap_or_else(|| panic!("no `{what}` in\n{text}"));
    let order = [
        at("## The user's last request\n> second"),
        at("## Open tasks\n> [x] write it\n> [ ] test it"),
        at("## Decisions of the user\n> Which port? -> 8080"),
        at("## Files that were written\n> /srv/app/a.rs"),
        at("## Summary of what was before\n> we chose sqlite"),
        at("## What happened"),
        at("**Assistant**\n> on it"),
    ];
    assert!(order.is_sorted(), "{order:?}\n{text}");
    assert_eq!((told.turns, told.blocks.2), ((2, 2), 0));
    assert!(!text.contains("Left out"), "{text}");
}

#[test]
fn the_newest_turn_stays_whole_where_older_ones_are_cut_or_gone() {
    let mut entries = Vec::new();
    for number in 0..60 {
        entries.push(user(&format!("question {number}")));
        entries.push(answer(&"long story ".repeat(200)));
    }
    entries.push(user("and now?"));
    entries.push(answer("the answer to all of it"));
    let told = handoff(&entries, &source(), 3_000);
    assert!(told.text.contains("> the answer to all of it"));
    assert!(told.text.contains("characters left out …]"));
    assert!(
        told.text.contains("Left out to fit the budget: ") && told.text.contains("stemma show ctx-3f9k2m7q")
    );
    assert!(told.turns.0 < told.turns.1 && told.turns.1 == 61, "{:?}", told.turns);
}

#[test]
fn what_was_asked_before_stands_there_although_the_newest_turn_fills_the_budget() {
    let mut entries = vec![user("why is it red?"), answer("a test is missing"), user("make it green")];
    for number in 0..40 {
        entries.push(call("c", "Bash", &format!(r#"{{"command":"look {number}"}}"#)));
        entries.push(result("c", &"output ".repeat(400)));
    }
    let told = handoff(&entries, &source(), HANDOFF_TOKENS_MIN);
    for said in ["> why is it red?", "> a test is missing", "> make it green", "> command: look 39"] {
        assert!(told.text.contains(said), "no `{said}` in\n{}", told.text);
    }
}
