//! What of a model's summary is used, and what is dropped for which reason.

use proptest::prelude::*;
use stemmata_model::{Entry, EntryId, Part, Role};

use super::*;
use crate::compact::names::each_name;

fn entries() -> Vec<Entry> {
    let said = |role, text: &str| {
        Entry::said(EntryId::new("e").expect("a name"), role, vec![Part::Text(text.to_owned())])
    };
    vec![
        said(
            Role::User,
            "Please never touch the public API of src/client.rs, and keep retries at five. Look at how the pool of \
             connections behaves when the other side is slow, too.",
        ),
        said(Role::Assistant, "I change retry_limit in src/client.rs because the server drops slow clients."),
        said(Role::Tool, "error[E0308]: mismatched types in src/retry.rs"),
    ]
}

/// Those entries, and what was done beside them: a file was edited twice, tests failed, a formatter did not.
fn done() -> Vec<Entry> {
    let edit = serde_json::json!({ "file_path": "src/client.rs", "old_string": "a", "new_string": "b" });
    let mut entries = entries();
    let calls = called(&[("Edit", edit.clone(), "ok", false), ("Edit", edit, "ok", false)]);
    entries.extend(calls.into_iter().skip(1));
    entries.extend(recorded("$ cargo test → fail\n$ cargo fmt → ok"));
    entries
}

/// Calls of commands that ended as the lines of a summary have it.
fn recorded(lines: &str) -> Vec<Entry> {
    let mut calls = Vec::new();
    for (command, status) in lines.lines().filter_map(|line| line.strip_prefix("$ ")?.rsplit_once(" → ")) {
        let arguments = serde_json::json!({ "command": command });
        let mut call = |printed, is_error| calls.push(("Bash", arguments.clone(), printed, is_error));
        if status.ends_with("(failed before)") {
            call("", true);
        }
        match status.split(' ').next() {
            Some("ok") => call("", false),
            Some("fail") => call("", true),
            _ => call("Command running in background with ID: b1", false),
        }
    }
    let mut entries = called(&calls);
    entries.remove(0);
    for (at, part) in entries.iter_mut().flat_map(|entry| &mut entry.parts).enumerate() {
        if let Part::ToolCall { call_id, .. } | Part::ToolResult { call_id, .. } = part {
            *call_id = format!("recorded{}", at / 2);
        }
    }
    entries
}

fn check(answer: &str) -> Result<Checked, SummarizeError> {
    let known = Known { entries: &done(), numbers: &[11, 12, 13], root: "" };
    checked(answer, &known, 2_000)
}

#[test]
fn what_was_said_stays() {
    let answer = "Goal:\nRetries stay at five @11\nretry_limit in src/client.rs was changed, the server drops slow clients. @12\n\
                  The person said \"never touch the public API\" @11\n`cargo test` still fails with E0308 @13";
    let made = check(answer).expect("usable");
    assert_eq!((made.text.as_str(), made.dropped), (answer, Vec::new()));
}

#[test]
fn each_kind_of_claim_that_does_not_hold_is_dropped() {
    for (sentence, why) in [
        ("src/server.rs was changed too @12", WhyDropped::UnknownName),
        ("max_retry_count is five @11", WhyDropped::UnknownName),
        ("Retries stay at five @99", WhyDropped::WrongEntry),
        ("src/retry.rs does not compile @11", WhyDropped::WrongEntry),
        ("cargo test passes now @13", WhyDropped::Contradicts),
        ("cargo fmt failed @13", WhyDropped::Contradicts),
        ("src/client.rs was deleted @12", WhyDropped::Contradicts),
        ("The person said \"rewrite the public API\" @11", WhyDropped::WrongQuote),
    ] {
        let made =
            check(&format!("The server drops slow clients @12\n{sentence}")).expect("the first is usable");
        let want = vec![Dropped { sentence: sentence.to_owned(), why }];
        assert_eq!(
            (made.text.as_str(), made.dropped),
            ("The server drops slow clients @12", want),
            "{sentence}"
        );
    }
}

#[test]
fn an_answer_with_nothing_in_it_is_none() {
    for answer in ["", "  \n", "Goal:\n\nNext steps:", "Goal: src/unknown_file.rs is wanted"] {
        assert_eq!(check(answer), Err(SummarizeError::Empty), "{answer:?}");
    }
}

#[test]
fn an_answer_that_is_the_conversation_is_not_used() {
    let all: Vec<String> = entries().iter().map(|entry| texts(&entry.parts).join(" ")).collect();
    let error = check(&format!("Here is it: {}", all.join("\n"))).expect_err("a copy");
    assert!(error.to_string().contains("the conversation itself"), "{error}");
}

#[test]
fn the_answer_has_its_limit() {
    let known = Known { entries: &entries(), numbers: &[], root: "" };
    let answer = "Retries stay at five. The server drops slow clients.";
    let made = checked(answer, &known, 30).expect("the first is usable");
    assert_eq!(made.text, "Retries stay at five.");
    assert_eq!(made.dropped.first().map(|dropped| dropped.why), Some(WhyDropped::NoRoom));
}

/// A conversation in which things were run, said and counted.
fn worked() -> Vec<Entry> {
    let entry = |role, parts| Entry::said(EntryId::new("e").expect("a name"), role, parts);
    let run = |id: &str, command: &str, printed: &str, is_error| {
        let arguments = serde_json::json!({ "command": command, "cwd": "/w/mill" }).to_string();
        let parts = vec![Part::Text(printed.to_owned())];
        [
            entry(
                Role::Assistant,
                vec![Part::ToolCall { call_id: id.to_owned(), name: "bash".to_owned(), arguments }],
            ),
            entry(Role::Tool, vec![Part::ToolResult { call_id: id.to_owned(), is_error, parts }]),
        ]
    };
    let asked = "Mend src/mill.rs: the wheel turns at 1,287 rpm, 99 % of /w/mill/docs/limit.md; the CLI listens on 8.443.";
    let mut entries = vec![entry(Role::User, vec![Part::Text(asked.to_owned())])];
    entries.extend(run(
        "1",
        "cargo test -p mill --locked",
        "test result: FAILED. 40 passed; 1 failed\nerror[E0308]: mismatched",
        true,
    ));
    entries.extend(run("2", "cargo test -p mill --locked", "test result: ok. 41 passed; 0 failed", false));
    entries.extend(run("3", "sed -n 1,5p src/mill.rs\ngrep \"turn\" lib/wheel.rs", "5 lines", false));
    entries
}

fn judged(entries: &[Entry], sentence: &str) -> Option<WhyDropped> {
    let known = Known { entries, numbers: &[], root: "/w/mill" };
    let made = checked(&format!("The wheel turns.\n{sentence}"), &known, 2_000).expect("the first is usable");
    made.dropped.first().map(|dropped| dropped.why)
}

#[test]
fn what_the_entries_support_stays_however_it_is_written() {
    for sentence in [
        "1287 rpm, 1,287 rpm and about 1,290 rpm",
        "99 percent",
        "99%",
        "Port 8443 is used",
        "Between 40 and 41 tests passed.",
        "All tests pass.",
        "The tests pass now, 41 of them.",
        "Alle 41 Tests bestehen.",
        "The suite failed before.",
        "`cargo test -p mill` passes",
        "cargo test -p mill --locked passes",
        "- `src/mill.rs`: mended",
        "| src/mill.rs | 41 |",
        "mill.rs and wheel.rs are read",
        "docs/limit.md and /w/mill/src/mill.rs:5",
        "`grep \"turn\" lib/wheel.rs` was run",
        "E0308 was seen",
        "1. Mend src/mill.rs",
        "The client and/or the server",
        "Run it twice ×2",
        "The tests must pass.",
        "./src/mill.rs",
        "the --locked flag and -p",
    ] {
        assert_eq!(judged(&worked(), sentence), None, "{sentence}");
    }
}

#[test]
fn what_the_entries_do_not_support_is_dropped_for_its_reason() {
    for (sentence, why) in [
        ("The port is 8444.", WhyDropped::UnknownNumber),
        ("All 99 tests pass, 7 were skipped.", WhyDropped::UnknownNumber),
        ("1400 rpm", WhyDropped::UnknownNumber),
        ("The file /etc/shadow was edited.", WhyDropped::UnknownName),
        ("| ~/.ssh/id_rsa | read |", WhyDropped::UnknownName),
        (r"C:\Windows\system32 was read", WhyDropped::UnknownName),
        ("etc/passwd.bak/x is there", WhyDropped::UnknownName),
        ("The command `rm -rf /srv/data` was run.", WhyDropped::UnknownName),
        ("$ rm -rf all → ok", WhyDropped::UnknownName),
        ("Es wurde rm -rf benutzt", WhyDropped::UnknownName),
        ("`cargo test -p mill --release` was run", WhyDropped::UnknownName),
        ("Error E0999 is open", WhyDropped::UnknownName),
        ("<think>They seem tired.</think>", WhyDropped::Thought),
        ("<reasoning>They seem", WhyDropped::Thought),
    ] {
        assert_eq!(judged(&worked(), sentence), Some(why), "{sentence}");
    }
    // Without the last run.
    let failed = worked().into_iter().take(3).collect::<Vec<_>>();
    let quiet = &failed[..1];
    let known = |entries, sentence| {
        let known = Known { entries, numbers: &[], root: "" };
        checked(&format!("The wheel turns.\n{sentence}"), &known, 2_000)
            .expect("usable")
            .dropped
            .first()
            .map(|one| one.why)
    };
    for sentence in ["All tests pass.", "Die Tests sind grün.", "- The suite passes"] {
        assert_eq!(known(&failed[..], sentence), Some(WhyDropped::Contradicts), "{sentence}");
        assert_eq!(known(quiet, sentence), Some(WhyDropped::UnknownOutcome), "{sentence}");
    }
}

/// Calls of tools with what they printed.
pub(super) fn called(calls: &[(&str, serde_json::Value, &str, bool)]) -> Vec<Entry> {
    let entry = |role, part| Entry::said(EntryId::new("e").expect("a name"), role, vec![part]);
    let mut entries = vec![entry(Role::User, Part::Text("The wheel turns.".to_owned()))];
    for (at, (name, arguments, printed, is_error)) in calls.iter().enumerate() {
        let (call_id, name, arguments) = (at.to_string(), (*name).to_owned(), arguments.to_string());
        let parts = vec![Part::Text((*printed).to_owned())];
        let result = Part::ToolResult { call_id: call_id.clone(), is_error: *is_error, parts };
        entries.extend([
            entry(Role::Assistant, Part::ToolCall { call_id, name, arguments }),
            entry(Role::Tool, result),
        ]);
    }
    entries
}

pub(super) fn judged_with(entries: &[Entry], block: &str, sentence: &str) -> Option<WhyDropped> {
    let entries = [entries, &recorded(block)].concat();
    let known = Known { entries: &entries, numbers: &[], root: "" };
    let made = checked(&format!("The wheel turns.\n{sentence}"), &known, 2_000).expect("the first is usable");
    made.dropped.first().map(|dropped| dropped.why)
}

#[test]
fn only_what_runs_a_check_shows_how_it_ended() {
    let bash = |command: &str| ("Bash", serde_json::json!({ "command": command }));
    let file = |path: &str| serde_json::json!({ "file_path": path });
    for ((name, arguments), printed) in [
        (("Read", file("docs/spec.md")), "The wheel turns. 12 passed, test result: ok"),
        (("Edit", file("tests/wheel.rs")), "The file was updated"),
        (("Grep", serde_json::json!({ "pattern": "test" })), "tests/wheel.rs"),
        (bash("cat tests/README.md"), "all tests pass"),
        (bash("git checkout test"), "Switched to branch 'test'"),
        (bash("git log --grep test"), "1 test passed"),
        (bash("cargo fmt"), ""),
        (bash("npm install"), "added 3 packages"),
        (bash("npm install -D vitest"), "added 3 packages"),
        (bash("yarn add jest"), "success"),
        (bash("cargo test --no-run"), "Finished test"),
        (bash("pytest --collect-only"), "3 tests collected"),
        (bash("make docs"), ""),
        (bash("ruff check ."), "All checks passed!"),
        (bash("npm run check:types"), ""),
        (bash("git commit -m 'All tests pass'"), "[main 1a2b3c] All tests pass"),
        (bash("cargo build"), "Finished dev"),
        (bash("cargo test &"), "Command running in background with ID: b1"),
        (bash("cargo test"), "The user doesn't want to proceed with this tool use."),
    ] {
        let entries = called(&[(name, arguments, printed, printed.starts_with("The user"))]);
        let why = judged_with(&entries, "", "All tests pass.");
        assert_eq!(why, Some(WhyDropped::UnknownOutcome), "{name} {printed}");
    }
    for (command, printed, sentence) in [
        ("cargo test -p mill", "test result: ok. 3 passed", "All tests pass, and it compiles."),
        ("cd mill && uv run pytest -q", "3 passed in 0.1s", "All tests pass."),
        ("./scripts/run-tests.sh", "fine", "The tests pass."),
        ("make check", "", "All checks pass."),
        ("make", "", "All tests pass."),
        ("cargo clippy --all-targets", "Finished", "Clippy is clean and the build passes."),
        ("npm run build", "", "The build succeeded."),
        ("docker compose run app ci.sh", "== 3 passed ==", "The tests pass."),
    ] {
        let entries = called(&[("Bash", serde_json::json!({ "command": command }), printed, false)]);
        assert_eq!(judged_with(&entries, "", sentence), None, "{command}");
    }
    let broken = [(
        "Bash",
        serde_json::json!({ "command": "cargo test 2>&1 | tail" }),
        "error: could not compile `mill`",
        false,
    )];
    for (sentence, why) in [
        ("The build is broken.", None),
        ("All tests pass.", Some(WhyDropped::Contradicts)),
        ("Clippy is clean.", Some(WhyDropped::UnknownOutcome)),
    ] {
        assert_eq!(judged_with(&called(&broken), "", sentence), why, "{sentence}");
    }
}

/// What a summary, a glyph of a font or another command with the same beginning says is no outcome.
#[test]
fn what_only_looks_like_an_outcome_shows_none() {
    let lint = called(&[("Bash", serde_json::json!({ "command": "eslint ." }), "", false)]);
    assert_eq!(judged_with(&lint, "", "The build is green."), Some(WhyDropped::UnknownOutcome));
    assert_eq!(judged_with(&[], "", "\u{e0b0} tests pass."), Some(WhyDropped::UnknownOutcome));
    let block = "$ cargo test -p mill → ok\n$ echo \"x → ok\" → fail";
    let why = judged_with(&[], block, "`cargo test -p mill-core` passes.");
    assert!(why.is_some(), "{why:?}");
    assert_eq!(judged_with(&[], block, "`cargo test -p mill` passes."), None);
}

#[test]
fn a_status_that_says_nothing_is_no_outcome_and_a_named_command_hides_none() {
    let entries = called(&[("Bash", serde_json::json!({ "command": "cargo test" }), "1 failed", true)]);
    let block = "$ cargo fmt → ok\n$ ./deploy.sh → running @3\n$ make all → no answer\n$ make doc → ok ×2 (failed before)";
    for (sentence, why) in [
        ("`cargo fmt` passed.", None),
        ("`./deploy.sh` was run.", None),
        ("`make doc` failed at first, and passes now.", None),
        ("`./deploy.sh` succeeded.", Some(WhyDropped::UnknownOutcome)),
        ("`make all` passes", Some(WhyDropped::UnknownOutcome)),
        ("`make all` failed", Some(WhyDropped::UnknownOutcome)),
        ("`cargo fmt` is clean and all tests pass.", Some(WhyDropped::Contradicts)),
        ("After `cargo fmt` the tests pass.", Some(WhyDropped::Contradicts)),
        ("All tests pass, no code was changed.", Some(WhyDropped::Contradicts)),
        ("The tests fail, though nothing was changed.", None),
    ] {
        assert_eq!(judged_with(&entries, block, sentence), why, "{sentence}");
    }
}

#[test]
fn a_list_of_numbers_alone_takes_no_square_time() {
    let line: String = (0..60_000).map(|number| format!("{number}. ")).collect();
    assert_eq!(sentences(&line).count(), 1);
}

#[test]
fn headings_and_hidden_characters_of_an_answer_do_not_come_along() {
    let known = Known { entries: &worked(), numbers: &[], root: "" };
    let made = checked("## Pinned, verbatim\u{2028}# Goal\u{202e}\nThe wheel\u{200b} turns.", &known, 2_000)
        .expect("usable");
    assert_eq!(made.text, "> Pinned, verbatim\nGoal\nThe wheel turns.");
}

proptest! {
    #[test]
    fn law_every_name_of_a_checked_answer_was_said_before(
        answer in "([a-z_]{1,12}(\\.rs|/[a-z]{1,6}|@[0-9]{1,3})?[ .\n]){1,40}", chars_max in 0..400_usize,
    ) {
        let entries = entries();
        let known = Known { entries: &entries, numbers: &[], root: "" };
        if let Ok(made) = checked(&answer, &known, chars_max) {
            prop_assert!(made.text.chars().count() <= chars_max);
            let said = Said::of(&known);
            let (claim, _) = without_numbers(&made.text);
            each_name(&claim, "", &mut |name| assert!(said.knows(name.text), "{}", name.text));
        }
    }

    #[test]
    fn any_answer_is_read(answer in "\\PC{0,500}") {
        let _checked = check(&answer);
    }

    #[test]
    fn sentences_joined_are_the_line(line in "\\PC{0,200}") {
        prop_assert_eq!(sentences(&line).collect::<String>(), line);
    }
}
