//! Tests that one pass says what level by level says.

use proptest::prelude::*;

use super::*;
use crate::claude_code::samples_tests::line;
use crate::json::any_json;

/// Fails where one pass says something else; returns whether it says anything.
fn agrees(line: &[u8]) -> bool {
    let whole = Whole::parse(line).ok();
    let by_level = Record::parse(line).ok().map(|record| {
        let message = record.message.and_then(Message::of);
        let content = Content::of(message.and_then(|message| message.content));
        Whole { record, inside: Inside { message, content } }
    });
    assert_eq!(whole, by_level, "{}", String::from_utf8_lossy(line));
    whole.is_some()
}

#[test]
fn lines_as_a_client_writes_them_are_read() {
    for letter in "UATZRIBCdxmsSrbc".chars() {
        assert!(agrees(&line(letter, 7)), "{letter}");
    }
    assert!(agrees(b"{\"type\":\"user\",\"message\":{\"content\":\"a \\ud83d \\n text\"},\"uuid\":\"u\"}\n"));
}

#[test]
fn rare_shapes_are_read_and_broken_lines_are_not() {
    for text in [
        "{\"message\":null}",
        "{\"message\":\"no object\"}",
        "{\"message\":{\"content\":7}}",
        "{\"message\":{\"content\":[\"text\",{\"type\":\"tool_use\",\"id\":\"c\"}]}}",
        "{\"type\":\"user\"}\r\n",
    ] {
        assert!(agrees(text.as_bytes()), "{text}");
    }
    for text in [
        "",
        "{",
        "[1]",
        "{} x",
        "{\"message\":{\"content\":\"a\tb\"}}",
        "{\"message\":{\"content\":\"\\q\"}}",
        "{\"a\tb\":1}",
        "{\"type\":\"user\",\"uu",
    ] {
        assert!(!agrees(text.as_bytes()), "{text}");
    }
}

#[test]
fn the_last_of_duplicate_keys_wins() {
    assert!(agrees(
        br#"{"uuid":"a","message":{"id":"m1","content":[{"id":"c","id":"d"}]},"uuid":"b","message":{"content":[],"content":"x"}}"#
    ));
}

/// Keys that matter, and some that do not.
const KEYS: [&str; 9] =
    ["message", "content", "id", "type", "tool_use_id", "uuid", "parentUuid", "ty\\u0070e", "x"];

proptest! {
    #[test]
    fn one_pass_agrees_on_any_json(text in any_json(&KEYS), at in any::<prop::sample::Index>()) {
        agrees(text.as_bytes());
        agrees(format!("{{\"message\":{text}}}").as_bytes());
        agrees(format!("{{\"message\":{{\"content\":{text}}}}}").as_bytes());
        agrees(text.as_bytes().get(..at.index(text.len() + 1)).unwrap_or_default());
    }

    #[test]
    fn one_pass_agrees_on_altered_lines(letter in proptest::sample::select("UATZRIBCdxm".chars().collect::<Vec<_>>()), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut line = line(letter, 3);
        let at = at.index(line.len());
        line[at] = byte;
        agrees(&line);
    }
}
