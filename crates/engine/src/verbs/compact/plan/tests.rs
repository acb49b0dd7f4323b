//! Which entries of a window are covered and which are kept.

use super::*;
use stemmata_model::Part;

/// Entries by letters: `u` a prompt, `a` an answer, `c` a call, `r` its result, `S` a summary. Each has about 10 tokens.
fn window(letters: &str) -> Vec<Entry> {
    let entry = |(at, letter): (usize, char)| {
        let text = "forty characters are about ten tokens...".to_owned();
        let call_id = format!("c{}", at - usize::from(letter == 'r'));
        let (role, part) = match letter {
            'u' | 'S' => (Role::User, Part::Text(text)),
            'c' => (Role::Assistant, Part::ToolCall { call_id, name: text, arguments: "{}".to_owned() }),
            'r' => (Role::Tool, Part::ToolResult { call_id, is_error: false, parts: vec![Part::Text(text)] }),
            _ => (Role::Assistant, Part::Text(text)),
        };
        let mut entry = Entry::said(EntryId::new(format!("e{at}")).expect("a name"), role, vec![part]);
        if letter == 'S' {
            entry.kind = EntryKind::CompactionSummary;
        }
        entry
    };
    letters.chars().enumerate().map(entry).collect()
}

#[test]
fn a_window_is_split_at_turns_and_never_within_a_tool_group() {
    let rows = [
        ("uauaua", KeepRecent::Tokens(Tokens(45)), Some(2)),
        ("uauaua", KeepRecent::Tokens(Tokens(25)), Some(4)),
        ("ucrcrcrcr", KeepRecent::Tokens(Tokens(45)), Some(5)),
        ("ucrcrcrcr", KeepRecent::Tokens(Tokens(1)), Some(7)),
        ("uauaua", KeepRecent::Tokens(Tokens(1_000)), Some(4)),
        ("uacrcrcr", KeepRecent::Tokens(Tokens(1_000)), Some(6)),
        ("cr", KeepRecent::Tokens(Tokens(1_000)), None),
        ("cr", KeepRecent::Tokens(Tokens(1)), None),
        ("Sua", KeepRecent::Tokens(Tokens(25)), Some(2)),
        ("Su", KeepRecent::Tokens(Tokens(1)), None),
        ("Suaua", KeepRecent::Tokens(Tokens(1_000)), Some(3)),
        ("S", KeepRecent::Entries(1), None),
        ("", KeepRecent::Entries(1), None),
        ("uaucr", KeepRecent::Entries(1), Some(3)),
        ("ua", KeepRecent::Entries(5), Some(1)),
    ];
    for (letters, keep, expected) in rows {
        let found = recent(&window(letters), keep);
        if let Some(to) = expected {
            assert_eq!(found.ok(), Some(Covered { from: 0, to }), "{letters} {keep:?}");
        } else {
            let error = found.expect_err(letters);
            assert!(
                matches!(error, EngineError::Refused { what: Refusal::NothingToCompact, .. }),
                "{letters}: {error}"
            );
        }
    }
}

#[test]
fn a_border_has_an_id_of_its_own() {
    let mut twice = window("uauaua");
    twice[4].id = twice[0].id.clone();
    let found = recent(&twice, KeepRecent::Tokens(Tokens(25))).expect("a split");
    assert_eq!(found.to, 5, "the next entry with an id of its own");
}

#[test]
fn a_range_across_a_tool_group_is_refused_with_its_bounds() {
    let window = window("uacrua");
    let numbers = window.iter().map(|entry| &entry.id).zip(11..).collect();
    let rows = [
        (("e0", "e4"), Ok((0, 4))),
        (("@12", "@15"), Ok((1, 4))),
        (("e0", "e3"), Err("at @13 to @14")),
        (("e3", "e4"), Err("at @13 to @14")),
        (("e4", "e0"), Err("does not come after")),
        (("e4", "e4"), Err("does not come after")),
        (("e4", "e9"), Err("e9")),
        (("@1", "e4"), Err("EntryInContext")),
    ];
    for (names, expected) in rows {
        match (range(&window, &numbers, names), expected) {
            (Ok(found), Ok((from, to))) => assert_eq!(found, Covered { from, to }),
            (Err(error), Err(part)) => assert!(format!("{error:?}").contains(part), "{names:?}: {error:?}"),
            (found, _) => panic!("{names:?}: {found:?}"),
        }
    }
}
