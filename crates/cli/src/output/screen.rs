//! What may reach a terminal: text, line ends, tabs and the styles that `Style` made; nothing else.
//!
//! Transcripts, file names and errors hold other people's text, and a terminal obeys what it reads. All output for
//! people passes [`finish`], all bytes that may land on a terminal pass [`Screened`]; no caller has to remember to clean.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::sync::LazyLock;

use crate::output::style::Style;

/// Begins a mark; foreign text has none, because [`is_unsafe`] counts it.
const ESCAPE: char = '\u{1b}';

/// What styles are marked with until they reach a stream: a number that no transcript can know, drawn once a process.
/// Escape sequences themselves would not do: a transcript could hold the same ones.
static NONCE: LazyLock<String> = LazyLock::new(|| uuid::Uuid::new_v4().simple().to_string());

/// Stands for a character that is left out and has no picture of its own.
const LEFT_OUT: char = '\u{fffd}';

/// Marks text with a style. [`finish`] turns the marks into what the stream takes.
pub(crate) fn mark(style: Style, text: &str) -> String {
    let nonce = &*NONCE;
    format!("{ESCAPE}{nonce}{}{text}{ESCAPE}{nonce}{}", style.code(), Style::Plain.code())
}

/// Returns text as a stream takes it: marks become colour or nothing, and what a terminal would obey is replaced.
pub(crate) fn finish(text: &str, color: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(ESCAPE) {
        let (before, from) = rest.split_at(at);
        replace(before, &mut out);
        let after = from.get(ESCAPE.len_utf8()..).unwrap_or_default();
        let styled = after.strip_prefix(NONCE.as_str()).and_then(|after| {
            let mut characters = after.chars();
            let style = Style::of_code(characters.next()?)?;
            Some((style, characters.as_str()))
        });
        if let Some((style, after)) = styled {
            if color {
                out.push_str(&style.sequence());
            }
            rest = after;
        } else {
            out.push(shown(ESCAPE));
            rest = after;
        }
    }
    replace(rest, &mut out);
    out
}

/// Returns foreign text as part of one line: what a terminal would obey and what would break the line becomes a space.
pub(crate) fn tame(text: impl AsRef<str>) -> String {
    text.as_ref()
        .chars()
        .map(|character| if character.is_control() || is_unsafe(character) { ' ' } else { character })
        .collect()
}

/// Appends text without what a terminal would obey. A line that ends as on Windows ends as here.
fn replace(text: &str, out: &mut String) {
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\r' if characters.peek() == Some(&'\n') => {}
            character if is_unsafe(character) => out.push(shown(character)),
            character => out.push(character),
        }
    }
}

/// Returns whether a terminal or a reader would take a character for something else than text: controls, marks of
/// direction that reorder a line, and characters that nobody sees and programs read.
pub(crate) const fn is_unsafe(character: char) -> bool {
    matches!(character,
        '\u{0}'..='\u{8}' | '\u{b}'..='\u{1f}' | '\u{7f}'..='\u{9f}'
        // Direction.
        | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{206f}'
        // Other line ends than ours, blanks without width, annotations. Joiners stay: scripts and emoji need them.
        | '\u{2028}' | '\u{2029}' | '\u{200b}' | '\u{2060}'..='\u{2064}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
        | '\u{180e}' | '\u{ad}'
        // Letters that are blank, and selectors: a row of them is text that nobody sees. The last two choose how a sign
        // looks, and stay.
        | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' | '\u{180b}'..='\u{180d}' | '\u{fe00}'..='\u{fe0d}'
        // Tags, and selectors that carry hidden bytes.
        | '\u{e0000}'..='\u{e0fff}')
}

/// Returns what is shown for a character: a control's picture, where there is one.
fn shown(character: char) -> char {
    match u32::from(character) {
        code @ 0..=0x1f => char::from_u32(0x2400 + code).unwrap_or(LEFT_OUT),
        0x7f => '\u{2421}',
        _ => LEFT_OUT,
    }
}

/// How [`Screened`] replaces a character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// As text: by what is shown for it.
    Text,
    /// As JSON: by its escape, which reads as the same value.
    Json,
}

/// A writer that replaces what a terminal would obey, in constant memory, wherever the bytes are cut.
#[derive(Debug)]
pub(crate) struct Screened<W: Write> {
    out: W,
    form: Form,
    /// The beginning of a character, or a carriage return whose line end may follow.
    held: Vec<u8>,
}

impl<W: Write> Screened<W> {
    /// Makes a writer before another one.
    pub(crate) const fn new(out: W, form: Form) -> Self {
        Self { out, form, held: Vec::new() }
    }

    /// Writes what is held back, and flushes.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        let held = std::mem::take(&mut self.held);
        self.put(&String::from_utf8_lossy(&held))?;
        self.out.flush()
    }

    fn put(&mut self, text: &str) -> io::Result<()> {
        let mut out = String::with_capacity(text.len());
        match self.form {
            Form::Text => replace(text, &mut out),
            Form::Json => escape(text, &mut out),
        }
        self.out.write_all(out.as_bytes())
    }
}

fn escape(text: &str, out: &mut String) {
    for character in text.chars() {
        if is_unsafe(character) {
            let mut units = [0; 2];
            for unit in character.encode_utf16(&mut units) {
                write!(out, "\\u{unit:04x}").expect("a string takes any text");
            }
        } else {
            out.push(character);
        }
    }
}

impl<W: Write> Write for Screened<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut held = std::mem::take(&mut self.held);
        held.extend_from_slice(bytes);
        let whole = held.len() - unfinished(&held);
        let (now, later) = held.split_at(whole);
        self.held = later.to_vec();
        self.put(&String::from_utf8_lossy(now))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Returns how many bytes at the end may belong to what follows.
fn unfinished(bytes: &[u8]) -> usize {
    if bytes.last() == Some(&b'\r') {
        return 1;
    }
    let from = bytes.len().saturating_sub(3);
    let tail = bytes.get(from..).unwrap_or_default();
    let Some(at) = tail.iter().rposition(|byte| *byte >= 0xc0) else { return 0 };
    let begun = tail.get(at..).unwrap_or_default();
    match std::str::from_utf8(begun) {
        Err(error) if error.error_len().is_none() && error.valid_up_to() == 0 => begun.len(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Text of what a terminal obeys, of what styles look like, and of anything else.
    fn hostile() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            Just("\u{1b}[2J".to_owned()),
            Just("\u{1b}]0;title\u{7}".to_owned()),
            Just("\u{9b}31m".to_owned()),
            Just("\u{1b}[1m".to_owned()),
            Just("\u{202e}".to_owned()),
            Just("\u{e0041}\u{e007f}".to_owned()),
            Just("\r\n".to_owned()),
            Just("\r".to_owned()),
            "\\PC{0,8}",
            any::<char>().prop_map(String::from),
        ];
        proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
    }

    fn is_clean(text: &str) -> bool {
        !text.chars().any(is_unsafe)
    }

    proptest! {
        #[test]
        fn only_styles_of_ours_reach_a_terminal(before in hostile(), painted in hostile(), after in hostile()) {
            let text = format!("{before}{}{after}", Style::Error.paint(&painted));
            let plain = finish(&text, false);
            prop_assert!(is_clean(&plain));
            let colored = finish(&text, true);
            let (begin, end) = (Style::Error.sequence(), Style::Plain.sequence());
            let uncolored = if painted.is_empty() {
                colored
            } else {
                prop_assert_eq!(colored.matches('\u{1b}').count(), 2 + begin.matches('\u{1b}').count() - 1);
                colored.replacen(&begin, "", 1).replacen(&end, "", 1)
            };
            prop_assert_eq!(uncolored, plain);
        }

        #[test]
        fn where_bytes_are_cut_makes_no_difference(text in hostile(), cut in 1..8_usize, json in any::<bool>()) {
            let form = if json { Form::Json } else { Form::Text };
            let through = |size: usize| {
                let mut out = Vec::new();
                let mut screened = Screened::new(&mut out, form);
                for piece in text.as_bytes().chunks(size) {
                    screened.write_all(piece).unwrap();
                }
                screened.finish().unwrap();
                String::from_utf8(out).unwrap()
            };
            let whole = through(text.len().max(1));
            prop_assert_eq!(&through(cut), &whole);
            prop_assert!(is_clean(&whole));
        }

        #[test]
        fn json_reads_as_the_same_value(text in hostile()) {
            let mut out = Vec::new();
            let mut screened = Screened::new(&mut out, Form::Json);
            serde_json::to_writer(&mut screened, &text).unwrap();
            screened.finish().unwrap();
            prop_assert_eq!(serde_json::from_slice::<String>(&out).unwrap(), text);
        }

        #[test]
        fn tamed_text_is_one_line(text in hostile()) {
            let tamed = tame(&text);
            prop_assert!(is_clean(&tamed) && !tamed.contains(['\n', '\t']));
        }
    }

    #[test]
    fn text_that_is_none_of_a_terminals_business_stays() {
        for text in ["a\tb\n", "Grüße 你好 👩‍💻 ❤️ می‌خواهم", "└── a"] {
            assert_eq!(finish(text, true), text);
        }
        assert_eq!(finish("a\r\nb\rc\u{1b}[1m", true), "a\nb␍c␛[1m");
    }
}
