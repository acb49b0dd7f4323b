//! Answers of all runtimes, and what they say of how a call ended.

use std::borrow::Cow;

use super::*;

fn ended(judged: Judged, is_error: bool, text: &str) -> Outcome {
    outcome(judged, &Answer { is_error, text: Cow::Borrowed(text) })
}

#[test]
fn a_result_says_how_a_command_ended() {
    let failed = |line: &str| Outcome::Failed { why: line.to_owned() };
    for (is_error, text, is_checking, expected) in [
        (false, "all good", false, Outcome::Passed),
        (true, "Exit code 2\nmake: *** [all] Error 2", true, failed("make: *** [all] Error 2")),
        (false, "Chunk ID: 1\nProcess exited with code 0\nOutput:\nfine", true, Outcome::Passed),
        (
            false,
            "Process exited with code 101\nOutput:\nerror[E0425]: no glaze",
            true,
            failed("error[E0425]: no glaze"),
        ),
        (false, "x\n\nCommand exited with code 1", false, failed("x")),
        (
            false,
            "running 3 tests\ntest result: FAILED. 1 passed",
            true,
            failed("test result: FAILED. 1 passed"),
        ),
        (false, "a page about --- FAIL: lines", false, Outcome::Passed),
        (true, "Exit code 1", false, Outcome::Unclear),
        (true, "The user doesn't want to proceed with this tool use.", false, Outcome::Refused),
        (false, "{\"exit_code\":3,\"output\":\"one\\nfatal: no kiln\\n\"}", false, failed("fatal: no kiln")),
        (
            true,
            "Exit code 1\nwarning: x\n\u{1b}[31mshelf/a.go:3:1: undefined shelf\u{1b}[0m",
            true,
            failed("shelf/a.go:3:1: undefined shelf"),
        ),
    ] {
        assert_eq!(ended(Judged::Command { is_checking }, is_error, text), expected, "{text}");
    }
    assert_eq!(
        ended(Judged::Tool, true, "<tool_use_error>No such kiln</tool_use_error>"),
        failed("No such kiln")
    );
}

#[test]
fn each_client_s_words_for_a_failure_are_known() {
    let failed = |why: &str| Outcome::Failed { why: why.to_owned() };
    let none = "cat: x.txt: No such file or directory";
    let command = Judged::Command { is_checking: false };
    for (judged, is_error, text, expected) in [
        (command, true, format!("Exit code 1\n{none}"), failed(none)),
        (command, true, none.to_owned(), failed(none)),
        (command, false, format!("Process exited with code 1\nOutput:\n{none}"), failed(none)),
        (command, false, format!("{none}\n\nCommand exited with code 1"), failed(none)),
        (
            command,
            false,
            format!(
                "<untrusted_context>\nOutput: {none}\nExit Code: 1\nProcess Group PGID: 6012\n</untrusted_context>"
            ),
            failed(none),
        ),
        (command, false, format!("Script failed\n{none}"), failed(none)),
        (Judged::Change, false, "Exit code: 1\nOutput:\nno such lines".to_owned(), failed("no such lines")),
        (Judged::Change, false, "Exit code: 0\nOutput:\nSuccess".to_owned(), Outcome::Passed),
        (Judged::Tool, false, "Exit code: 1 is what a file says".to_owned(), Outcome::Passed),
        (
            command,
            false,
            "Script running with cell ID 18".to_owned(),
            Outcome::Running { handle: Some("18".to_owned()) },
        ),
        (
            command,
            false,
            "Command running in background with ID: b1f. Output is below".to_owned(),
            Outcome::Running { handle: Some("b1f".to_owned()) },
        ),
    ] {
        assert_eq!(ended(judged, is_error, &text), expected, "{text}");
    }
}
