//! Text as a snippet shows it: without the codes by which programs colour a terminal, and with escapes read.
//!
//! Only for what is shown. Words, phrases and texts are searched in what was really said.

use std::borrow::Cow;
use std::iter::Peekable;
use std::str::Chars;

/// Characters of a code of a terminal at most; a longer one is text.
const CODE_CHARS_MAX: usize = 32;
/// Escaped line ends from which on a line is the text of another one, as in JSON. One or two also stand in a program's source.
const ESCAPED_ENDS_MIN: usize = 3;
/// How programs write the escape character where they cannot write it: as JSON, C, Rust and shells do.
const WRITTEN_ESCAPES: [&str; 6] = ["\\u001b", "\\u001B", "\\x1b", "\\x1B", "\\u{1b}", "\\033"];

/// Returns the text without codes of terminals, and with the escapes read of each line that is another text in quotes.
pub(super) fn plain(text: &str) -> Cow<'_, str> {
    let is_clean = !text.contains(['\u{1b}', '\\', '\r', '\u{8}']);
    if is_clean {
        return Cow::Borrowed(text);
    }
    let lines = text.split('\n').map(|line| {
        let line = without_codes(line);
        // A carriage return goes back to the beginning of the line: what comes after it is what was seen last.
        let line = line.trim_end_matches('\r').rsplit('\r').next().unwrap_or_default().to_owned();
        if is_escaped(&line) { unescaped(&line) } else { line }
    });
    Cow::Owned(lines.collect::<Vec<_>>().join("\n"))
}

fn without_codes(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let after = match first {
            '\u{1b}' => rest.strip_prefix(first),
            '\\' => WRITTEN_ESCAPES.iter().find_map(|escape| rest.strip_prefix(escape)),
            _ => None,
        };
        if let Some((after, bytes)) = after.and_then(|after| Some((after, code_bytes(after)?))) {
            rest = after.get(bytes..).unwrap_or_default();
            continue;
        }
        if first != '\u{1b}' && first != '\u{8}' {
            plain.push(first);
        }
        rest = rest.get(first.len_utf8()..).unwrap_or_default();
    }
    plain
}

/// Returns the bytes of the code behind an escape character: `[` with numbers and a letter, or `]` up to its end.
fn code_bytes(after: &str) -> Option<usize> {
    let is_title = after.starts_with(']');
    if !is_title && !after.starts_with('[') {
        return None;
    }
    let ends = |char: char| if is_title { char == '\u{7}' } else { ('@'..='~').contains(&char) };
    let (at, last) = after.char_indices().skip(1).take(CODE_CHARS_MAX).find(|(_, char)| ends(*char))?;
    Some(at + last.len_utf8())
}

fn is_escaped(line: &str) -> bool {
    let ends = line.matches("\\n").count();
    ends >= ESCAPED_ENDS_MIN || (ends > 0 && line.contains("\\\""))
}

fn unescaped(line: &str) -> String {
    let mut read = String::with_capacity(line.len());
    let mut chars = line.chars().peekable();
    while let Some(char) = chars.next() {
        match escape(char, &mut chars) {
            Some(meant) => read.push(meant),
            None => read.push(char),
        }
    }
    read
}

/// Reads what follows a backslash, where that is an escape.
fn escape(char: char, chars: &mut Peekable<Chars<'_>>) -> Option<char> {
    let meant = match (char, chars.peek()?) {
        ('\\', 'n') => '\n',
        ('\\', 't') => '\t',
        ('\\', 'r') => ' ',
        ('\\', quoted @ ('"' | '\\' | '/')) => *quoted,
        _ => return None,
    };
    chars.next();
    Some(meant)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn colours_and_escapes_are_no_part_of_what_is_shown() {
        for (text, wanted) in [
            ("\u{1b}[31merror\u{1b}[0m: no", "error: no"),
            (r"\u001b[1;31merror\u001b[0m: \x1b[2Kno \033[0m", "error: no "),
            ("\u{1b}]0;title\u{7}shell", "shell"),
            ("10 %\r20 %\r100 %\r", "100 %"),
            (
                r#"{"stdout":"one\ntwo\n","said":"\"yes\""}"#,
                "{\"stdout\":\"one\ntwo\n\",\"said\":\"\"yes\"\"}",
            ),
            (r"one\ntwo\nthree\nfour", "one\ntwo\nthree\nfour"),
            // A program's source, and a path.
            (r#"printf("%s\n", name);"#, r#"printf("%s\n", name);"#),
            (r"C:\new\temp", r"C:\new\temp"),
            (r"\d+\[x", r"\d+\[x"),
        ] {
            assert_eq!(plain(text), wanted, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_shown_without_escape_characters(text in "(\\PC|[\u{1b}\u{8}\r\n\\\\\\[\\]nu01bm;\"]){0,80}") {
            let shown = plain(&text);
            let has_escapes = shown.contains(['\u{1b}', '\u{8}']);
            prop_assert!(!has_escapes);
            if !text.contains(['\u{1b}', '\\', '\r', '\u{8}']) {
                prop_assert_eq!(shown, text.as_str());
            }
        }
    }
}
