//! What of a model's summary of one made-up session is left out, and what stays.

use stemmata_model::{Entry, EntryId, Part, Role};

use super::WhyDropped::{self, Contradicts, Thought, UnknownName, UnknownNumber, UnknownOutcome, WrongQuote};
use super::tests::{called, judged_with};
use super::{Known, checked};

/// A session: tests passed, the linter could not compile, one file was edited, and the agent thought something that it told nobody.
fn session() -> Vec<Entry> {
    let bash = |command: &str| serde_json::json!({ "command": command });
    let edit = serde_json::json!({ "file_path": "src/mill.rs", "old_string": "a", "new_string": "b" });
    let mut entries = called(&[
        ("Bash", bash("cargo test"), "test result: ok. 41 passed; 0 failed", false),
        ("Edit", edit, "The file was updated.", false),
        ("Bash", bash("cargo clippy"), "error: could not compile `mill`", true),
    ]);
    let text = "The miller seems to be tired of all this grinding.".to_owned();
    let said = Part::Text("The port is 8080. Never run npm publish, and never push to main.".to_owned());
    for (role, part) in
        [(Role::Assistant, Part::Thinking { text, signature: None, encrypted: None }), (Role::User, said)]
    {
        entries.push(Entry::said(EntryId::new("e").expect("a name"), role, vec![part]));
    }
    entries
}

/// What a model may say of that session, and why it is left out.
const UNSHOWN: &[(WhyDropped, &[&str])] = &[
    (
        Contradicts,
        &[
            "It compiles.",
            "The build works.",
            "The build is fixed.",
            "The compile errors are gone.",
            "Compilation went fine.",
            "No warnings remain.",
            "clippy: 0 warnings",
            "Clippy gave zero warnings.",
            "No lint errors.",
            "Linting went through.",
            "Der Build läuft.",
            "Clippy\n  passes.",
            "src/mill.rs is gone.",
            "src/mill.rs was moved.",
            "src/mill.rs was created.",
            "src/mill.rs was removed.",
            "Deleted: src/mill.rs",
            "mill.rs was deleted.",
        ],
    ),
    (
        UnknownOutcome,
        &[
            "It was released.",
            "Deployed to production.",
            "The change was pushed to main.",
            "Pull request merged.",
            "The database was migrated.",
            "Approved by the user.",
        ],
    ),
    (
        UnknownNumber,
        &[
            "The port is ٨٠٨١.",
            "The port is ８４４４.",
            "10k rows",
            "It listens at 0x1F91.",
            "1e6 rows",
            "½ of it is done.",
            "Ninety-nine tests were written.",
            "It takes eight thousand turns.",
            "It takes a dozen turns.",
        ],
    ),
    (
        UnknownName,
        &[
            "The Makefile was edited.",
            "Edited the Dockerfile.",
            "LICENSE was added.",
            "The file .env is there.",
            "The host example.com is used.",
            "$ npm publish",
            "- $ npm publish → ok",
            "Ran npm publish.",
            "Ran npm install.",
            "Executed sudo reboot.",
            "`npm publish` was run.",
            "```\nnpm install\n```",
            "npm install",
        ],
    ),
    (
        Thought,
        &[
            "The miller seems to be tired of all this grinding.",
            "- the miller\nReasoning: he is tired",
            "**Thought:** It is late.",
            "(thinking) It is late.",
            "Thoughts:\nIt is late.",
        ],
    ),
    (
        WrongQuote,
        &["He said ‘grind it all night’.", "He said 'grind it all night'.", "Er sagte „grind it all night“."],
    ),
    (UnknownOutcome, &["The release was shipped, and published."]),
];

#[test]
fn what_a_session_does_not_show_is_left_out_however_it_is_written() {
    for (why, sentences) in UNSHOWN {
        for sentence in *sentences {
            assert_eq!(judged_with(&session(), "", sentence), Some(*why), "{sentence}");
        }
    }
}

#[test]
fn what_a_session_shows_stays_however_it_is_written() {
    for sentence in [
        "The tests pass, all 41 of them.",
        "The port is ٨٠٨٠.",
        "The port is 0x1F90.",
        "Clippy does not compile.",
        "Clippy fails.",
        "src/mill.rs was edited.",
        "src/mill.rs: added a limit",
        "Ran cargo test.",
        "Ran cargo clippy again, which failed.",
        "`cargo test` was run.",
        "Never run npm publish.",
        "Not yet pushed to main.",
        "It must be pushed to main.",
        "Next: merged branches are removed",
        "The user said 'never push to main'.",
        "It isn't the miller's fault.",
        "The wheel\nturns",
        "One of the two wheels turns, e.g. the first.",
        "The tests cover the fixed limit",
    ] {
        assert_eq!(judged_with(&session(), "", sentence), None, "{sentence}");
    }
}

/// A name of a file is no record of a run.
#[test]
fn what_looks_like_a_record_is_none() {
    let edit = serde_json::json!({ "file_path": "$ cargo test → ok", "old_string": "a", "new_string": "b" });
    let failed = ("Bash", serde_json::json!({ "command": "cargo test" }), "1 failed", true);
    let entries = called(&[("Edit", edit, "The file was updated.", false), failed]);
    assert_eq!(judged_with(&entries, "", "`cargo test` passed."), Some(WhyDropped::Contradicts));
}

#[test]
fn no_line_of_an_answer_is_taken_for_what_stands_below_it() {
    let known = Known { entries: &session(), numbers: &[], root: "" };
    let answer =
        "Pinned, verbatim\n---\n@6: The wheel turns.\n[Pinned] push to main\n## Commands\nThe wheel turns.";
    let made = checked(answer, &known, 2_000).expect("usable");
    assert_eq!(
        made.text,
        "> Pinned, verbatim\n> ---\n> @6: The wheel turns.\n> [Pinned] push to main\n> Commands\nThe wheel turns."
    );
}
