//! Tests of reading one line: fields, their places, and lines that are none.

use proptest::prelude::*;

use super::*;
use crate::claude_code::message::{Content, Message};

const LINE: &str = r#"{"parentUuid":null,"isSidechain":false,"cwd":"/tmp/a\"b","sessionId":"s-1","type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"ok"}]},"uuid":"u-1","timestamp":"2026-01-02T03:04:05.678Z","x":[1,{"type":"no"}]}"#;

#[test]
fn a_record_knows_its_fields_and_where_they_are() {
    let record = Record::parse(LINE.as_bytes()).expect("a record");
    assert!(record.is_type("user"));
    assert_eq!(record.parent(), ParentLink::Root);
    assert_eq!(record.uuid_text().as_deref(), Some("u-1"));
    assert_eq!(text(record.cwd).as_deref(), Some("/tmp/a\"b"));
    assert_eq!(record.time().map(|time| time.to_string()).as_deref(), Some("2026-01-02T03:04:05.678000Z"));
    let session = record.session_id.expect("a session");
    assert_eq!(LINE.get(session.span()), Some("\"s-1\""));
    assert!(record.is_user_besides_results(false));
    let content = Message::of(record.message.expect("a message")).expect("an object").content;
    let content = Content::of(content);
    assert!(content.has_tool_result());
    let block = content.blocks().next().expect("a block");
    let answered = block.tool_use_id.expect("an id");
    assert_eq!(LINE.get(answered.span()), Some("\"t1\""));
    assert!(matches!(Content::of(block.content), Content::Text(field) if field.raw() == "\"ok\""));
}

#[test]
fn the_last_of_duplicate_keys_wins() {
    let record = Record::parse(br#"{"uuid":"a","type":"user","uuid":"b"}"#).expect("a record");
    assert_eq!(record.uuid_text().as_deref(), Some("b"));
}

#[test]
fn escaped_keys_and_cut_surrogates_are_read() {
    let line = br#"{"\ud800":1,"\u0074ype":"us\u0065r","cwd":"cut \ud83d","gitBranch":"\ud83d\ude00"}"#;
    let record = Record::parse(line).expect("a record");
    assert!(record.is_type("user"));
    assert!(text(record.cwd).is_some_and(|cwd| cwd.starts_with("cut \u{fffd}")));
    assert_eq!(text(record.git_branch).as_deref(), Some("\u{1f600}"));
}

#[test]
fn what_is_no_record_says_why() {
    assert!(matches!(Record::parse(b"[1]"), Err(RecordError::NotObject)));
    assert!(matches!(Record::parse(b"7"), Err(RecordError::NotObject)));
    assert!(matches!(Record::parse(b""), Err(RecordError::NotJson(_))));
    assert!(matches!(Record::parse(b"{\"a\":1} x"), Err(RecordError::NotJson(_))));
    assert!(matches!(Record::parse(b"{\"a\":1"), Err(RecordError::NotJson(_))));
    assert!(matches!(Record::parse(b"\0\0"), Err(RecordError::NotJson(_))));
    assert!(matches!(Record::parse(b"{\"a\":\"\xff\"}"), Err(RecordError::NotUtf8 { offset: 6 })));
    assert!(Record::parse(b"{}\r\n").is_ok());
}

#[test]
fn deep_nesting_costs_no_stack() {
    let depth = 200_000;
    let line = format!("{{\"type\":\"user\",\"x\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
    assert!(Record::parse(line.as_bytes()).is_ok_and(|record| record.is_type("user")));
}

proptest! {
    #[test]
    fn any_bytes_are_a_record_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _record = Record::parse(&bytes);
    }

    #[test]
    fn strings_come_back_from_their_place(value in any::<String>(), before in any::<String>()) {
        let line = serde_json::json!({ "before": before, "cwd": value, "zafter": [before] }).to_string();
        let record = Record::parse(line.as_bytes()).expect("a record");
        let cwd = record.cwd.expect("a field");
        let decoded = cwd.text();
        prop_assert_eq!(decoded.as_deref(), Some(value.as_str()));
        prop_assert_eq!(line.get(cwd.span()), Some(cwd.raw()));
    }
}
