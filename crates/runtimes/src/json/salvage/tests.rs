//! The laws of lines that are no single record.

use proptest::prelude::*;

use super::*;
use crate::json::{Object, parse_line};

fn is_record(object: Field<'_>) -> bool {
    crate::json::members(object).is_some_and(|members| {
        ["type", "uuid"].iter().all(|name| members.iter().any(|member| member.name == *name))
    })
}

fn record(number: usize, text: &str) -> String {
    let inside = Object::new().text("type", "text").text("text", text).finish();
    Object::new()
        .text("uuid", &number.to_string())
        .text("type", "user")
        .raw("message", &format!("{{\"content\":[{inside}]}}"))
        .finish()
}

fn records(parts: &[Salvaged<'_>]) -> Vec<String> {
    parts.iter().filter_map(|part| Some(part.record.as_ref()?.clone().into_owned())).collect()
}

fn check(line: &[u8]) -> Vec<Salvaged<'_>> {
    let parts = salvage(line, true, is_record);
    let mut at = 0;
    for part in &parts {
        assert_eq!(part.range.start, at);
        assert!(part.start >= at && part.start <= part.range.end);
        at = part.range.end;
        if let Some(record) = &part.record {
            assert!(parse_line(record.as_bytes(), |field| Ok(field.raw())).is_ok());
            // Each ASCII byte of the text is where the place says.
            for (index, byte) in record.bytes().enumerate().filter(|(_, byte)| byte.is_ascii()) {
                assert_eq!(line.get(part.place(line, index)), Some(&byte));
            }
        }
    }
    assert_eq!(at, line.len());
    parts
}

fn glue() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["", " ", ",", "\0\0", "garbage", "}", ",\0 ", "\u{2028}", "]", "\u{feff}"])
}

proptest! {
    #[test]
    fn records_on_one_line_are_all_found(
        texts in prop::collection::vec(any::<String>(), 1..5),
        glue in prop::collection::vec(glue(), 6),
        before in glue(),
    ) {
        let all: Vec<String> = texts.iter().enumerate().map(|(number, text)| record(number, text)).collect();
        let mut line = before.to_owned();
        for (record, glue) in all.iter().zip(&glue) {
            line.push_str(record);
            line.push_str(glue);
        }
        let parts = check(line.as_bytes());
        prop_assert_eq!(records(&parts), all);
        let reads_first = before.trim_ascii().is_empty() || before == "\u{feff}";
        prop_assert_eq!(parts.iter().map(|part| part.is_first).collect::<Vec<_>>(),
            (0..texts.len()).map(|number| number == 0 && reads_first).collect::<Vec<_>>());
    }

    #[test]
    fn a_whole_record_behind_a_torn_one_is_found(texts in any::<[String; 2]>(), cut in any::<prop::sample::Index>()) {
        let (torn, whole) = (record(0, &texts[0]), record(1, &texts[1]));
        let mut cut = cut.index(torn.len() - 1) + 1;
        while !torn.is_char_boundary(cut) {
            cut -= 1;
        }
        // A cut behind a backslash makes the quote that follows one of the torn text.
        prop_assume!(cut > 0 && !torn[..cut].ends_with('\\'));
        let line = format!("{}{whole}", &torn[..cut]);
        let parts = check(line.as_bytes());
        prop_assert_eq!(records(&parts), vec![whole]);
        prop_assert!(!parts.iter().any(|part| part.is_first));
    }

    #[test]
    fn bad_bytes_are_read_as_replacement_characters(text in any::<String>(), bad in prop::collection::vec(0x80_u8.., 1..4)) {
        let whole = record(0, &format!("{text}MARK"));
        let at = whole.find("MARK").unwrap();
        let line = [&whole.as_bytes()[..at], &bad, &whole.as_bytes()[at..]].concat();
        let parts = check(&line);
        prop_assert_eq!(records(&parts), vec![String::from_utf8_lossy(&line).into_owned()]);
        prop_assert!(parts[0].is_first);
    }

    #[test]
    fn any_bytes_are_taken_apart_without_a_gap(line in prop::collection::vec(any::<u8>(), 0..200)) {
        check(&line);
    }

    #[test]
    fn any_braces_are_taken_apart_without_a_gap(line in "[{}\\[\\]\":,a\\\\ ]{0,80}") {
        check(line.as_bytes());
    }
}

#[test]
fn a_hostile_line_is_read_over_so_often_and_no_more() {
    let torn = format!("{{\"x\":[{},", record(0, "a"));
    for line in [
        torn.repeat(5_000),
        "{\"a\":".repeat(100_000),
        "{\"".repeat(200_000),
        "{\"type\":{\"uuid\":[".repeat(50_000),
    ] {
        check(line.as_bytes());
    }
}
