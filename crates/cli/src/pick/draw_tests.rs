//! How pickers look, and that no text gets a terminal to obey.

use proptest::prelude::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use stemmata_api::{Code, Problem};

use super::super::keys::Key;
use super::super::state::{Event, Setup};
use super::super::{Listing, Target};
use super::*;
use crate::output::screen::is_unsafe;

fn pick(text: &str) -> Pick {
    let mut pick =
        Pick::new(Setup { text: text.to_owned(), near: "~/shop".to_owned(), enter: Act::Show, color: true });
    pick.begin();
    pick
}

fn row(at: usize, said: &str) -> Row {
    let id = format!("ctx-{at}");
    Row {
        place: vec![
            (Style::Faint, "2h ago    ".to_owned()),
            (Style::Faint, "claude-code  ".to_owned()),
            (Style::Branch, "shop            ".to_owned()),
        ],
        line: vec![(Style::Plain, said.to_owned())],
        target: Target {
            reference: Some(id.clone()),
            entry: None,
            session: None,
            prompt: None,
            opens: None,
            id,
        },
        focus: None,
    }
}

fn drawn(pick: &Pick, width: u16, height: u16) -> TestBackend {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(pick, frame)).unwrap();
    terminal.backend().clone()
}

fn listed(pick: &mut Pick, rows: Vec<Row>, about: &str) {
    // Numbers of answers count from the first list, which `begin` asks for.
    let listing = Listing { rows, about: about.to_owned(), has_more: false };
    for number in 0..9 {
        pick.update(Event::Listed(number, Ok(listing.clone())));
    }
    for number in 0..9 {
        let lines = (0..20).map(|at| vec![(Style::Plain, format!("line {at} of what was said"))]).collect();
        pick.update(Event::Previewed(number, Ok(Preview { lines, focus: 9 })));
    }
}

#[test]
fn frames() {
    let mut first = pick("");
    let mut all = vec![drawn(&first, 60, 6).to_string()];
    let rows = (0..30)
        .map(|at| row(at, &format!("row {at} says something that is longer than the line is")))
        .collect();
    listed(&mut first, rows, "30 hits · 1,234 entries searched");
    for _ in 0..3 {
        first.update(Event::Key(Key::Down));
    }
    all.push(drawn(&first, 80, 16).to_string());
    all.push(drawn(&first, 50, 16).to_string());
    first.update(Event::Preparing { done: 1_200, total: Some(3_000) });
    for char in "why did we drop the retries".chars() {
        first.update(Event::Key(Key::Char(char)));
    }
    all.push(drawn(&first, 60, 8).to_string());
    for _ in 0..12 {
        first.update(Event::Key(Key::Left));
    }
    all.push(drawn(&first, 20, 5).to_string());
    first.update(Event::Key(Key::Home));
    all.push(drawn(&first, 20, 5).to_string());
    let mut wide = pick("(");
    wide.update(Event::Key(Key::Widen));
    for number in 0..9 {
        let problem = Problem::new(Code::RegexBad, "`(` is not a regular expression");
        wide.update(Event::Listed(number, Err(Box::new(problem))));
    }
    all.push(drawn(&wide, 60, 5).to_string());
    insta::assert_snapshot!(all.join("\n"));
}

/// Text of what a terminal obeys, of wide characters and of those that stack.
fn hostile() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("\u{1b}[2J".to_owned()),
        Just("\u{1b}]52;c;eA==\u{7}".to_owned()),
        Just("\u{9b}31m\u{202e}\u{2066}\u{200b}\u{e0041}".to_owned()),
        Just("\r\n\t\0".to_owned()),
        Just("漢字👩‍💻".to_owned()),
        Just(format!("e{}", "\u{301}".repeat(300))),
        Just("x".repeat(2_000)),
        any::<char>().prop_map(String::from),
    ];
    proptest::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn no_text_speaks_to_the_terminal_whatever_its_size(
        texts in proptest::collection::vec(hostile(), 1..5), typed in hostile(), size in (0..70_u16, 0..25_u16), focus in 0..9_usize,
    ) {
        let mut pick = pick(&typed);
        pick.setup.near = texts[0].clone();
        let rows = texts.iter().enumerate().map(|(at, text)| row(at, text)).collect();
        listed(&mut pick, rows, &texts[0]);
        let lines = texts.iter().map(|text| vec![(Style::Plain, text.clone())]).collect();
        pick.preview = Some(Preview { lines, focus });
        let screen = drawn(&pick, size.0, size.1);
        for cell in screen.buffer().content() {
            prop_assert!(!cell.symbol().chars().any(|char| char.is_control() || is_unsafe(char)), "{:?}", cell.symbol());
            prop_assert!(cell.symbol().width() <= 2, "{:?}", cell.symbol());
        }
    }
}
