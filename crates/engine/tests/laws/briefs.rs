//! The brief: made before a client compacts, handed over behind it, and never more than its session may still say.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;
use stemmata_engine::{
    CaptureOptions, Engine, ForgetOptions, ForgetTarget, HandedBrief, Nudged, StoreRules, Update,
};
use stemmata_model::{Principal, Trigger};
use stemmata_testkit::faulty::FaultyStore;
use stemmata_testkit::memory::MemoryStore;

use crate::support::{Folder, answer, engine, engine_on, import, new_store, record, user, uuid};

/// Calls a tool and answers the call.
fn used(number: u32, tool: &str, input: &serde_json::Value, said: &str, is_error: bool) -> String {
    let call = json!({ "id": format!("msg_{number}"), "role": "assistant", "content": [
        { "type": "tool_use", "id": format!("t{number}"), "name": tool, "input": input }] });
    let result = json!({ "role": "user", "content": [
        { "type": "tool_result", "tool_use_id": format!("t{number}"), "content": said, "is_error": is_error }] });
    record("assistant", number, Some(number - 1), &call.to_string())
        + &record("user", number + 1, Some(number), &result.to_string())
}

/// A session at work: so many turns of talk, then one with something of everything that a brief tells.
fn worked(turns: u32) -> String {
    let mut lines = String::new();
    let mut number = 1;
    for turn in 0..turns {
        lines += &user(number, (turn > 0).then(|| number - 1), "and what about this");
        lines += &answer(number + 1, number, "it is as it was");
        number += 2;
    }
    let before = (turns > 0).then(|| number - 1);
    lines += &user(number, before, "Write the parser. You must never touch the file legacy.rs in this work.");
    let todos = json!({ "todos": [
        { "content": "write the parser", "status": "in_progress", "activeForm": "writing" },
        { "content": "test the parser", "status": "pending", "activeForm": "testing" }] });
    lines += &used(number + 1, "TodoWrite", &todos, "ok", false);
    let edit =
        json!({ "file_path": "/old/src/parser.rs", "old_string": "a", "new_string": "fn parse_line() {}" });
    lines += &used(number + 3, "Edit", &edit, "The file /old/src/parser.rs has been updated.", false);
    let test = json!({ "command": "cargo test --workspace" });
    lines += &used(number + 5, "Bash", &test, "Exit code 101\nerror[E0308]: mismatched types", true);
    lines +=
        &answer(number + 7, number + 6, "We decided to use a recursive descent parser because it is simple.");
    // Times need two digits of seconds.
    let at = |line: &str| {
        let (head, rest) = line.split_once("T00:00:").unwrap_or((line, ""));
        let (seconds, rest) = rest.split_once('.').unwrap_or_default();
        let seconds: u32 = seconds.parse().unwrap_or_default();
        format!("{head}T{:02}:{:02}:{:02}.{rest}\n", seconds / 3_600, seconds / 60 % 60, seconds % 60)
    };
    lines.lines().map(at).collect()
}

/// What a client writes when it compacts.
fn compacted(number: u32) -> String {
    let boundary = json!({ "parentUuid": null, "logicalParentUuid": uuid(number - 1), "isSidechain": false,
        "type": "system", "subtype": "compact_boundary", "content": "Conversation compacted", "uuid": uuid(number),
        "timestamp": "2026-01-01T20:00:00.000Z", "compactMetadata": { "trigger": "auto", "preTokens": 9 },
        "cwd": "/old", "sessionId": "s" });
    let summary = json!({ "parentUuid": uuid(number), "isSidechain": false, "type": "user", "isCompactSummary": true,
        "uuid": uuid(number + 1), "timestamp": "2026-01-01T20:00:01.000Z", "cwd": "/old", "sessionId": "s",
        "message": { "role": "user", "content": "We worked." } });
    format!("{boundary}\n{summary}\n")
}

fn hooked(engine: &Engine, path: &Path) {
    let options = CaptureOptions::live(Trigger::Compaction);
    assert!(matches!(engine.nudge(path, &options), Ok(Nudged::Captured(_))), "a hook captures it");
}

fn handed(engine: &Engine, path: &Path) -> HandedBrief {
    engine.handed_brief(path, true).expect("read")
}

/// What only a brief tells that was made of the record.
const CONSTRAINT: &str = "You must never touch the file legacy.rs in this work.";

/// A folder, an engine that keeps briefs in it, and a session of which one was made.
fn briefed() -> (Folder, Engine, PathBuf) {
    let folder = Folder::new();
    let engine = engine().with_briefs(folder.path());
    let path = folder.write("s.jsonl", worked(2).as_bytes());
    import(&engine, &path);
    assert!(engine.prepare_brief(&path).expect("made"));
    (folder, engine, path)
}

fn kept(folder: &Folder) -> usize {
    std::fs::read_dir(folder.path().join("briefs")).map_or(0, Iterator::count)
}

#[test]
fn a_brief_tells_what_a_summary_is_likely_to_lose_and_its_hook_reads_no_history() {
    let reads = |turns: u32| {
        let folder = Folder::new();
        let store = Arc::new(FaultyStore::new(MemoryStore::default()));
        let engine = engine_on("m1", store.clone()).with_briefs(folder.path());
        let path = folder.write("s.jsonl", worked(turns).as_bytes());
        let tip = import(&engine, &path).session.tip.expect("a tip");
        engine.leave_brief_due(&path).expect("left");
        assert!(engine.prepare_brief(&path).expect("made"));
        folder.append("s.jsonl", compacted(2 * turns + 9).as_bytes());
        hooked(&engine, &path);
        let before = store.reads();
        let told = handed(&engine, &path);
        let reads = store.reads() - before;
        assert!(!told.is_missing);
        let text = told.text.expect("something to tell");
        let number = 2 * turns + 1;
        for wanted in [
            "\nTasks that were open:\n> [in_progress] write the parser\n> [pending] test the parser\n"
                .to_owned(),
            format!("\n> @{number} {CONSTRAINT}\n"),
            format!("\n> @{} We decided to use a recursive descent parser", number + 7),
            format!("\n> src/parser.rs edited @{}", number + 3),
            "cargo test --workspace".to_owned(),
            " --entry @N` shows the entry of an `@N`, `stemma diff ctx-".to_owned(),
        ] {
            assert!(text.contains(&wanted), "`{wanted}` is not in {text}");
        }
        assert!(text.encode_utf16().count() <= 10_000);
        // Whenever it is made, and by whomever: the same commit, the same words.
        assert_eq!(engine.brief(tip).expect("made"), engine.brief(tip).expect("made"));
        assert!(!engine.is_brief_due(&path), "it was told");
        reads
    };
    let (few, many) = (reads(60), reads(240));
    assert_eq!(few, many, "what a hook reads does not grow with the history");
    assert!(many < 150, "{many} reads");
}

#[test]
fn a_brief_of_what_was_forgotten_is_never_handed_over() {
    let (folder, engine, path) = briefed();
    let other = folder.write("other.jsonl", worked(1).replace("\"s\"", "\"other\"").as_bytes());
    import(&engine, &other);
    assert!(engine.prepare_brief(&other).expect("made"));
    let session = engine.find_session("s").expect("read").expect("a session");
    let by = Principal::new("ada@m1").expect("a name");
    let options = ForgetOptions { everywhere: true, even_pinned: true, by };
    engine.forget(&ForgetTarget::Session(session.key), &options).expect("forgotten");
    assert_eq!((handed(&engine, &path), kept(&folder)), (HandedBrief::default(), 0));
    assert!(!engine.prepare_brief(&path).expect("nothing to make it of"));
    // A store that has forgotten, and a program that died before it removed the briefs.
    let (_folder, engine, path) = briefed();
    engine.store().leave_index_due().expect("left");
    let told = handed(&engine, &path);
    assert!(told.is_missing && !told.text.expect("tasks").contains(CONSTRAINT));
}

#[test]
fn a_brief_holds_for_the_line_that_it_was_made_of() {
    for is_rewritten in [false, true] {
        let (folder, engine, path) = briefed();
        if is_rewritten {
            let other = worked(2).replace("You must never touch", "Feel free to touch");
            folder.write(
                path.strip_prefix(folder.path()).expect("within").to_str().expect("text"),
                other.as_bytes(),
            );
            import(&engine, &path);
        }
        // The turn that was open when it was made closes.
        folder.append("s.jsonl", compacted(13).as_bytes());
        hooked(&engine, &path);
        let told = handed(&engine, &path);
        assert_eq!(told.is_missing, is_rewritten);
        assert_eq!(told.text.expect("something").contains(CONSTRAINT), !is_rewritten);
        if !is_rewritten {
            // Another compaction before which none was made: this one tells too little.
            folder.append("s.jsonl", compacted(15).as_bytes());
            hooked(&engine, &path);
            assert!(handed(&engine, &path).is_missing);
        }
    }
}

#[test]
fn a_session_of_another_project_is_told_nothing_of_this_one() {
    let (folder, engine, path) = briefed();
    let other = folder
        .write("other.jsonl", worked(1).replace("legacy.rs", "mine.rs").replace("/old", "/new").as_bytes());
    import(&engine, &other);
    let text = handed(&engine, &other).text.expect("its own tasks");
    assert!(!text.contains("legacy.rs"), "{text}");
    // Nor where somebody gives one session's file the name of another's.
    let brief = |name: &str| folder.path().join("briefs").join(name);
    let own = std::fs::read_dir(brief("")).expect("briefs").flatten().next().expect("one").path();
    assert!(engine.prepare_brief(&other).expect("made"));
    for file in std::fs::read_dir(brief("")).expect("briefs").flatten() {
        if file.path() != own {
            std::fs::copy(&own, file.path()).expect("copied");
        }
    }
    let told = handed(&engine, &other);
    assert!(told.is_missing && !told.text.expect("its own tasks").contains("legacy.rs"));
    assert!(handed(&engine, &path).text.expect("a brief").contains(CONSTRAINT));
}

#[test]
fn a_brief_that_is_gone_or_damaged_is_absent_and_what_people_say_is_told_at_once() {
    let (folder, engine, path) = briefed();
    let tip = engine.find_session("s").expect("read").and_then(|session| session.tip).expect("a tip");
    let by = Principal::new("ada@m1").expect("a name");
    let says = |update: Update| engine.update(tip, update, &by).expect("said");
    says(Update { notes: vec!["The port is 81".to_owned()], ..Update::default() });
    let text = handed(&engine, &path).text.expect("a brief");
    assert!(text.contains("> The port is 81\n") && text.contains(CONSTRAINT), "{text}");
    for bytes in [&b"{\"store\":"[..], b"[]", b"\xff", b""] {
        for file in std::fs::read_dir(folder.path().join("briefs")).expect("briefs").flatten() {
            folder.write(&format!("briefs/{}", file.file_name().to_string_lossy()), bytes);
        }
        let told = handed(&engine, &path);
        let text = told.text.expect("what is cheap to read");
        assert!(told.is_missing && text.contains("> The port is 81\n"), "{text}");
        assert!(text.contains("> [in_progress] write the parser\n") && !text.contains(CONSTRAINT), "{text}");
    }
    assert!(engine.prepare_brief(&path).expect("made anew"));
    assert!(!handed(&engine, &path).is_missing);
}

#[test]
fn of_two_that_ask_for_a_due_brief_one_is_told() {
    let (_folder, engine, path) = briefed();
    assert!(!engine.is_brief_due(&path));
    engine.leave_brief_due(&path).expect("left");
    engine.leave_brief_due(&path).expect("left twice is left once");
    let due = std::thread::scope(|scope| {
        let ask = || engine.is_brief_due(&path);
        let asked = [scope.spawn(ask), scope.spawn(ask)];
        asked.map(|one| one.join().expect("an answer"))
    });
    assert_eq!(due.iter().filter(|due| **due).count(), 1);
    // Two that make it at once: both end, and a whole one is there.
    let made = std::thread::scope(|scope| {
        let make = || engine.prepare_brief(&path).is_ok();
        [scope.spawn(make), scope.spawn(make)].map(|one| one.join().expect("an answer"))
    });
    assert_eq!(made, [true, true]);
    assert!(engine.prepare_brief(&path).expect("made") && !handed(&engine, &path).is_missing);
}

#[test]
fn briefs_are_their_owners_and_hold_no_secret() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = Folder::new();
    let engine = engine().with_briefs(folder.path());
    let secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let path = folder.write("s.jsonl", worked(1).replace("legacy.rs", secret).as_bytes());
    import(&engine, &path);
    assert!(engine.prepare_brief(&path).expect("made"));
    for file in std::fs::read_dir(folder.path().join("briefs")).expect("briefs").flatten() {
        assert_eq!(file.metadata().expect("there").permissions().mode() & 0o777, 0o600);
        let text = std::fs::read_to_string(file.path()).expect("text");
        assert!(text.contains("You must never touch") && !text.contains(secret), "{text}");
    }
}

/// A line of a brief is cut where it is long: what is left of a secret there is one that no rule knows any more.
#[test]
fn a_line_of_a_brief_holds_no_part_of_a_secret() {
    let rules = "[[rules]]\nkind = 'ticket'\nkeywords = ['ACME-']\nregex = 'ACME-[A-Z]{40}'\n";
    // Capitals: no id beside it can look like a part of one.
    let ticket = format!("ACME-{}", "QUUX".repeat(10));
    for before in (0..480).step_by(40) {
        let folder = Folder::new();
        let store = new_store();
        let text = worked(1).replace("legacy.rs", &format!("{} {ticket}", "x".repeat(before)));
        let path = folder.write("s.jsonl", text.as_bytes());
        // Stored before there was such a rule.
        import(&engine_on("m1", Arc::clone(&store)), &path);
        let rules = StoreRules { name: "secrets.toml".to_owned(), text: rules.to_owned() };
        let engine = engine_on("m1", store).with_briefs(folder.path()).with_rules(rules);
        assert!(engine.prepare_brief(&path).expect("made"));
        for file in std::fs::read_dir(folder.path().join("briefs")).expect("briefs").flatten() {
            let text = std::fs::read_to_string(file.path()).expect("text");
            assert!(text.contains("You must never touch") && !text.contains("QUUX"), "{before}: {text}");
        }
    }
}

/// What was stored before there was a rule is replaced when it is handed over, and a marker is longer than such a secret.
#[test]
fn a_brief_keeps_to_its_size_with_markers_in_the_place_of_short_secrets() {
    let folder = Folder::new();
    let store = new_store();
    let path = folder.write("s.jsonl", worked(1).as_bytes());
    let before = engine_on("m1", Arc::clone(&store));
    let tip = import(&before, &path).session.tip.expect("a tip");
    let by = Principal::new("ada@m1").expect("a name");
    for number in 0..40 {
        let note = format!("{number}: {}", "AC-QUUX and then ".repeat(30));
        before.update(tip, Update { notes: vec![note], ..Update::default() }, &by).expect("noted");
    }
    let rules =
        "[[rules]]\nkind = 'ticket-of-the-accounting-people'\nkeywords = ['AC-']\nregex = 'AC-[A-Z]{4}'\n";
    let rules = StoreRules { name: "secrets.toml".to_owned(), text: rules.to_owned() };
    let engine = engine_on("m1", store).with_briefs(folder.path()).with_rules(rules);
    let text = handed(&engine, &path).text.expect("something to tell");
    let units = text.encode_utf16().count();
    assert!((5_000..=10_000).contains(&units), "{units}");
    assert!(!text.contains("QUUX"), "{text}");
}
