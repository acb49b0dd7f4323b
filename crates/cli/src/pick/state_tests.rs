//! Laws of what a picker makes of events, whatever their order.

use proptest::prelude::*;
use stemmata_api::{Code, Problem};

use super::super::{Effect, Listing, Preview, Row, Target};
use super::*;

fn setup(text: &str) -> Setup {
    Setup { text: text.to_owned(), near: "~/shop".to_owned(), enter: Act::Show, color: false }
}

/// A list of so many rows; the last is an event.
fn listing(rows: usize) -> Listing {
    let row = |at: usize| Row {
        place: vec![],
        line: vec![],
        target: Target {
            reference: (at + 1 < rows).then(|| format!("ctx-{at}")),
            entry: None,
            session: None,
            prompt: None,
            opens: at.is_multiple_of(2).then(|| format!("s-{at}")),
            id: format!("ctx-{at}"),
        },
        focus: None,
    };
    Listing { rows: (0..rows).map(row).collect(), about: String::new(), has_more: rows > 3 }
}

fn broken() -> Box<Problem> {
    Box::new(Problem::new(Code::RegexBad, "it is not a regular expression"))
}

/// An event in the making: the numbers of answers are those that were asked for last, or older ones.
#[derive(Debug, Clone, Copy)]
enum Made {
    Key(Key),
    Listed { age: u64, rows: Option<usize> },
    Previewed { age: u64 },
    Preparing,
    Prepared,
    Resized,
}

fn made() -> impl Strategy<Value = Made> {
    let keys = vec![
        Key::Char('a'),
        Key::Char(' '),
        Key::Char('語'),
        Key::Erase,
        Key::EraseNext,
        Key::EraseWord,
        Key::Left,
        Key::Right,
        Key::Home,
        Key::End,
        Key::Clear,
        Key::Up,
        Key::Down,
        Key::PageUp,
        Key::PageDown,
        Key::First,
        Key::Last,
        Key::Widen,
        Key::Enter,
        Key::Resume,
        Key::Fork,
        Key::Copy,
    ];
    prop_oneof![
        4 => proptest::sample::select(keys).prop_map(Made::Key),
        2 => (0..3_u64, proptest::option::of(0..6_usize)).prop_map(|(age, rows)| Made::Listed { age, rows }),
        1 => (0..3_u64).prop_map(|age| Made::Previewed { age }),
        1 => proptest::sample::select(vec![Made::Preparing, Made::Prepared, Made::Resized]),
    ]
}

fn event(made: Made, pick: &Pick) -> Event {
    match made {
        Made::Key(key) => Event::Key(key),
        Made::Listed { age, rows } => {
            Event::Listed(pick.lists.0.saturating_sub(age), rows.map(listing).ok_or_else(broken))
        }
        Made::Previewed { age } => {
            Event::Previewed(pick.previews.saturating_sub(age), Ok(Preview::default()))
        }
        Made::Preparing => Event::Preparing { done: 1, total: None },
        Made::Prepared => Event::Prepared(Ok(None)),
        Made::Resized => Event::Resized,
    }
}

proptest! {
    #[test]
    fn what_is_done_is_done_to_what_is_selected(all in proptest::collection::vec(made(), 0..60), height in 0..5_usize) {
        let mut pick = Pick::new(setup("drop"));
        pick.begin();
        for made in all {
            pick.height = height;
            let event = event(made, &pick);
            let is_of_text = match event {
                Event::Key(Key::Char(_) | Key::Clear | Key::EraseWord) => true,
                Event::Key(Key::Widen) => !pick.is_inside(),
                _ => false,
            };
            let effects = pick.update(event);
            let rows = pick.listing.rows.len();
            prop_assert!(pick.selected < rows.max(1));
            let selected = pick.row().map(|row| row.target.clone());
            let asks = effects.iter().any(|effect| matches!(effect, Effect::List(..)));
            prop_assert!(!is_of_text || asks);
            for effect in effects {
                match effect {
                    Effect::List(number, asked) => {
                        prop_assert_eq!((number, asked.text, asked.is_wide), (pick.lists.0, pick.line.text().to_owned(), pick.is_wide));
                    }
                    Effect::Preview(number, row) => {
                        prop_assert_eq!((number, Some(row.target)), (pick.previews, selected.clone()));
                    }
                    Effect::Copy(id) => {
                        prop_assert!(!pick.is_stale());
                        prop_assert_eq!(Some(&id), selected.as_ref().map(|target| &target.id));
                        prop_assert_eq!(Some(id), pick.copied.clone());
                    }
                    Effect::End(Ended::Chosen(_, target)) => {
                        // Never of a list that was made for another text.
                        prop_assert!(!pick.is_stale() && target.reference.is_some());
                        prop_assert_eq!(Some(target), selected.clone());
                    }
                    Effect::End(_) => prop_assert!(false, "nobody left"),
                }
            }
        }
        let left = pick.update(Event::Key(Key::Leave));
        prop_assert_eq!(left, vec![Effect::End(Ended::Left)]);
    }
}

fn pressed(pick: &mut Pick, keys: &[Key]) -> Vec<Effect> {
    keys.iter().flat_map(|key| pick.update(Event::Key(*key))).collect()
}

#[test]
fn what_is_chosen_before_its_list_is_there_is_done_once_it_is() {
    let mut pick = Pick::new(setup(""));
    assert_eq!(pick.begin().len(), 1);
    pick.update(Event::Listed(pick.lists.0, Ok(listing(3))));
    assert_eq!(pressed(&mut pick, &[Key::Down, Key::Char('x'), Key::Resume]).len(), 2);
    let number = pick.lists.0;
    assert_eq!(pick.update(Event::Listed(number - 1, Ok(listing(3)))), []);
    let target = listing(2).rows[0].target.clone();
    let chosen = pick.update(Event::Listed(number, Ok(listing(2))));
    assert_eq!(chosen, [Effect::End(Ended::Chosen(Act::Resume, target))]);
}

#[test]
fn more_rows_come_where_somebody_moves_down_to_them_and_keys_act_meanwhile() {
    let mut pick = Pick::new(setup(""));
    pick.begin();
    pick.update(Event::Listed(pick.lists.0, Ok(listing(5))));
    let asked = pressed(&mut pick, &[Key::Last]);
    let rows = asked.iter().find_map(|effect| match effect {
        Effect::List(_, asked) => Some(asked.rows),
        _ => None,
    });
    assert_eq!(rows, Some(ROWS_FIRST * ROWS_TIMES));
    assert_eq!(pressed(&mut pick, &[Key::Up, Key::Down]).len(), 2, "it is asked for once");
    pressed(&mut pick, &[Key::Up]);
    let chosen = pressed(&mut pick, &[Key::Enter]);
    assert!(matches!(&chosen[..], [Effect::End(Ended::Chosen(Act::Show, target))] if target.id == "ctx-3"));
    pick.update(Event::Listed(pick.lists.0, Ok(Listing { has_more: false, ..listing(9) })));
    assert_eq!(pick.row().map(|row| row.target.id.as_str()), Some("ctx-3"), "the selection stays");
    assert_eq!(pressed(&mut pick, &[Key::Last]).len(), 1, "there is no more");
    // What is typed begins with a screen again.
    let typed = pressed(&mut pick, &[Key::Char('x')]);
    assert!(matches!(&typed[..], [Effect::List(_, asked)] if asked.rows == ROWS_FIRST));
    assert_eq!(pressed(&mut pick, &[Key::Copy]), [], "the id of the old list is not copied");
    let copied = pick.update(Event::Listed(pick.lists.0, Ok(listing(2))));
    assert_eq!(copied[0], Effect::Copy("ctx-0".to_owned()));
}

#[test]
fn the_first_rows_are_there_before_the_rest_of_the_screen() {
    let mut pick = Pick::new(setup(""));
    pick.height = 20;
    pick.begin();
    let listed = |pick: &mut Pick, rows| {
        let due = pick.update(Event::Listed(pick.lists.0, Ok(listing(rows))));
        due.iter().find_map(|effect| match effect {
            Effect::List(_, asked) => Some(asked.rows),
            _ => None,
        })
    };
    assert_eq!(listed(&mut pick, ROWS_FIRST), Some(ROWS_FIRST * ROWS_TIMES));
    assert_eq!(pick.row().map(|row| row.target.id.as_str()), Some("ctx-0"), "and keys act on them");
    assert_eq!(listed(&mut pick, ROWS_FIRST * ROWS_TIMES), None, "the screen is full");
}

#[test]
fn a_session_is_gone_into_and_left_as_it_was() {
    let mut pick = Pick::new(setup("kiln"));
    pick.begin();
    pick.update(Event::Listed(pick.lists.0, Ok(listing(5))));
    pressed(&mut pick, &[Key::Down, Key::Down]);
    let inside = pressed(&mut pick, &[Key::Right]);
    assert!(
        matches!(&inside[..], [Effect::List(_, asked)] if asked.within.as_deref() == Some("s-2") && asked.text.is_empty())
    );
    // The cursor moves in what is typed there, and Tab has no meaning.
    pick.update(Event::Listed(pick.lists.0, Ok(listing(3))));
    assert_eq!(pressed(&mut pick, &[Key::Widen]), []);
    pressed(&mut pick, &[Key::Char('a'), Key::Left, Key::Right]);
    assert!(pick.is_inside());
    let late = pick.lists.0;
    pressed(&mut pick, &[Key::Left, Key::Left]);
    assert!(!pick.is_inside() && !pick.is_listing());
    assert_eq!(
        pick.update(Event::Listed(late, Ok(listing(1)))),
        [],
        "what was asked for there comes too late"
    );
    assert_eq!((pick.line.text(), pick.row().map(|row| row.target.id.as_str())), ("kiln", Some("ctx-2")));
    // A row of no session has none to go into; at the beginning of the text there is nothing to leave.
    pressed(&mut pick, &[Key::Down]);
    assert_eq!(pressed(&mut pick, &[Key::Right]), []);
    assert_eq!(pressed(&mut pick, &[Key::Home, Key::Left]), []);
}

#[test]
fn a_list_that_is_brought_up_to_date_keeps_its_selection() {
    let mut pick = Pick::new(setup(""));
    pick.begin();
    pick.update(Event::Listed(pick.lists.0, Ok(listing(4))));
    pressed(&mut pick, &[Key::Down, Key::Down]);
    // Where nothing was taken in nothing is listed again.
    assert_eq!(pick.update(Event::Prepared(Ok(None))), []);
    pick.update(Event::Preparing { done: 1, total: Some(2) });
    assert_eq!(pick.update(Event::Prepared(Ok(None))).len(), 1);
    let mut newer = listing(5);
    newer.rows.insert(
        0,
        Row {
            target: Target { reference: None, id: "new".into(), ..newer.rows[0].target.clone() },
            ..newer.rows[0].clone()
        },
    );
    pick.update(Event::Listed(pick.lists.0, Ok(newer)));
    assert_eq!(pick.row().map(|row| row.target.id.as_str()), Some("ctx-2"));
}

#[test]
fn an_event_of_a_ledger_has_no_session_and_says_so() {
    let mut pick = Pick::new(setup(""));
    pick.begin();
    pick.update(Event::Listed(pick.lists.0, Ok(listing(1))));
    assert_eq!(pressed(&mut pick, &[Key::Enter]), []);
    assert!(pick.message.as_deref().is_some_and(|said| said.contains("ctx-0 has no session")));
    assert_eq!(pressed(&mut pick, &[Key::Copy]), [Effect::Copy("ctx-0".to_owned())]);
    // A list that cannot be made says why, and the next one is as ever.
    pressed(&mut pick, &[Key::Char('(')]);
    pick.update(Event::Listed(pick.lists.0, Err(broken())));
    assert_eq!((pick.message.as_deref(), pick.row()), (Some("it is not a regular expression"), None));
}
