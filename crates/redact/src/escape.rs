//! Text with its escapes resolved, and the way back: which bytes of the source a stretch of it came from.
//! Not a validator: what is no escape stays as it is, so that torn and foreign text can be looked at too.

pub(crate) mod prefix;

const ESC: u8 = 0x1b;
/// Longest control sequence that is taken for one: two colours of three numbers each have 38 bytes.
const CONTROL_BYTES_MAX: usize = 48;
/// Longest link or title of a terminal.
const COMMAND_BYTES_MAX: usize = 2048;

/// Longest second half of a word that a colour cuts.
const WORD_BYTES_MAX: usize = 256;

/// One resolved escape.
#[derive(Debug, Clone, Copy)]
struct Unit {
    at: usize,
    len: usize,
    source_at: usize,
    source_len: usize,
}

/// A text with one level of JSON escapes resolved.
#[derive(Debug)]
pub(crate) struct View {
    pub(crate) text: Vec<u8>,
    units: Vec<Unit>,
}

impl View {
    /// Resolves one level of escapes. `None` when there is none.
    pub(crate) fn of(source: &[u8]) -> Option<View> {
        memchr::memchr(b'\\', source)?;
        let mut view = View { text: Vec::with_capacity(source.len()), units: Vec::new() };
        let mut rest = source;
        while let Some(found) = memchr::memchr(b'\\', rest) {
            let (plain, escape) = rest.split_at(found);
            view.text.extend_from_slice(plain);
            let mut utf8 = [0; 4];
            let (resolved, source_len) = resolve(escape, &mut utf8);
            view.units.push(Unit {
                at: view.text.len(),
                len: resolved.len(),
                source_at: source.len() - escape.len(),
                source_len,
            });
            view.text.extend_from_slice(resolved);
            rest = escape.get(source_len..).unwrap_or_default();
        }
        view.text.extend_from_slice(rest);
        Some(view)
    }

    /// Takes out what colours a text and moves a cursor in it. `None` when there is nothing of that.
    pub(crate) fn without_colours(source: &[u8]) -> Option<View> {
        memchr::memchr(ESC, source)?;
        let mut view = View { text: Vec::with_capacity(source.len()), units: Vec::new() };
        let mut rest = source;
        while let Some(found) = memchr::memchr(ESC, rest) {
            let (plain, sequence) = rest.split_at(found);
            view.text.extend_from_slice(plain);
            let body = sequence.get(1..).unwrap_or_default();
            if let Some(len) = control_len(body) {
                let source_at = source.len() - sequence.len();
                view.units.push(Unit { at: view.text.len(), len: 0, source_at, source_len: 1 + len });
                rest = body.get(len..).unwrap_or_default();
            } else {
                view.text.push(ESC);
                rest = body;
            }
        }
        view.text.extend_from_slice(rest);
        (!view.units.is_empty()).then_some(view)
    }

    /// Returns where in the source the word ends that something cuts that was taken out at `end`; `end` where none goes on there.
    pub(crate) fn word_end(&self, end: usize) -> usize {
        let unit = self.units.get(self.units.partition_point(|unit| unit.source_at < end));
        let Some(unit) = unit.filter(|unit| unit.source_at == end && unit.len == 0) else { return end };
        let is_word =
            |byte: &&u8| byte.is_ascii_alphanumeric() || **byte >= 0x80 || b"_+/=~!#$%^&*-.".contains(byte);
        let rest = self.text.get(unit.at..).unwrap_or_default();
        let len = rest.iter().take(WORD_BYTES_MAX).take_while(is_word).count();
        let word = rest.get(..len).unwrap_or_default();
        let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || *byte >= 0x80;
        let len = word.iter().rposition(is_letter).map_or(0, |at| at + 1);
        if word.first().is_some_and(is_letter) { self.source_end(unit.at + len) } else { end }
    }

    /// Returns the source position where the text at `at` begins; an escape counts as a whole.
    pub(crate) fn source_start(&self, at: usize) -> usize {
        let known = self.units.partition_point(|unit| unit.at <= at);
        match known.checked_sub(1).and_then(|index| self.units.get(index)) {
            None => at,
            Some(unit) if at < unit.at + unit.len => unit.source_at,
            Some(unit) => unit.source_at + unit.source_len + (at - unit.at - unit.len),
        }
    }

    /// Returns the source position where the text before `end` ends; an escape counts as a whole.
    pub(crate) fn source_end(&self, end: usize) -> usize {
        let known = self.units.partition_point(|unit| unit.at < end);
        match known.checked_sub(1).and_then(|index| self.units.get(index)) {
            None => end,
            Some(unit) if end < unit.at + unit.len => unit.source_at + unit.source_len,
            Some(unit) => unit.source_at + unit.source_len + (end - unit.at - unit.len),
        }
    }
}

/// Takes what colours a text out of it, also where its escapes are not resolved.
pub(crate) fn raw_without_colours(raw: &[u8]) -> Vec<u8> {
    let (mut text, mut at) = (Vec::with_capacity(raw.len()), 0);
    while let Some(rest) = raw.get(at..).filter(|rest| !rest.is_empty()) {
        let len = match rest {
            [ESC, body @ ..] => control_len(body).map(|len| 1 + len),
            [b'u', b'0', b'0', b'1', b'b' | b'B', body @ ..] if text.ends_with(b"\\") => {
                control_len(body).map(|len| 5 + len)
            }
            _ => None,
        };
        if let Some(len) = len {
            let escapes = text.iter().rev().take_while(|byte| **byte == b'\\').count();
            text.truncate(text.len() - escapes);
            at += len;
        } else {
            text.extend(rest.first());
            at += 1;
        }
    }
    text
}

/// Measures what follows the first byte of a control sequence: `[`, digits and signs, a letter; `(` and the name of a set; or `]`, a
/// link or a title, and a bell or ESC `\`.
fn control_len(body: &[u8]) -> Option<usize> {
    match body {
        [b'(', b'A'..=b'Z' | b'0'..=b'9', ..] => Some(2),
        [b'[', rest @ ..] => {
            let len =
                rest.iter().take(CONTROL_BYTES_MAX).take_while(|byte| (b' '..=b'?').contains(byte)).count();
            rest.get(len).is_some_and(|byte| (b'@'..=b'~').contains(byte)).then_some(len + 2)
        }
        [b']', rest @ ..] => {
            let window = rest.get(..COMMAND_BYTES_MAX).unwrap_or(rest);
            let len = memchr::memchr3(0x07, ESC, b'\n', window)?;
            match rest.get(len..)? {
                [0x07, ..] => Some(len + 2),
                [ESC, b'\\', ..] => Some(len + 3),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Resolves the escape at the beginning of `escape`: its bytes, and how many source bytes it takes.
fn resolve<'a>(escape: &'a [u8], utf8: &'a mut [u8; 4]) -> (&'a [u8], usize) {
    let simple: &[u8] = match escape.get(1) {
        Some(b'n') => b"\n",
        Some(b't') => b"\t",
        Some(b'r') => b"\r",
        Some(b'b') => b"\x08",
        Some(b'f') => b"\x0c",
        Some(b'"') => b"\"",
        Some(b'\\') => b"\\",
        Some(b'/') => b"/",
        Some(b'u') => return resolve_unicode(escape, utf8),
        // A lone backslash is text.
        _ => return (b"\\", 1),
    };
    (simple, 2)
}

fn resolve_unicode<'a>(escape: &[u8], utf8: &'a mut [u8; 4]) -> (&'a [u8], usize) {
    let Some(first) = code_unit(escape) else {
        return (b"\\", 1);
    };
    let second = escape.get(6..).and_then(code_unit);
    let (scalar, len) = match (first, second) {
        (0xd800..=0xdbff, Some(low @ 0xdc00..=0xdfff)) => {
            (0x1_0000 + ((first - 0xd800) << 10) + (low - 0xdc00), 12)
        }
        _ => (first, 6),
    };
    let resolved = char::from_u32(scalar).unwrap_or(char::REPLACEMENT_CHARACTER).encode_utf8(utf8);
    (resolved.as_bytes(), len)
}

fn code_unit(escape: &[u8]) -> Option<u32> {
    let hex = escape.strip_prefix(b"\\u")?.get(..4)?;
    hex.iter().try_fold(0, |value, &digit| Some(value << 4 | char::from(digit).to_digit(16)?))
}

#[cfg(test)]
mod tests {
    use super::View;

    #[test]
    fn resolves_as_a_json_parser_does() {
        for json in [r#""a\nb""#, r#""\u00e9\u20ac \ud83d\ude00""#, r#""\\\"\/\b\f\r\t""#, r#""\u0041KIA""#] {
            let expected: String = serde_json::from_str(json).unwrap();
            let view = View::of(&json.as_bytes()[1..json.len() - 1]).unwrap();
            assert_eq!(view.text, expected.as_bytes(), "{json}");
        }
    }

    #[test]
    fn foreign_escapes_stay() {
        for (source, expected) in
            [(r"\q\", r"\q\"), (r"\u12", r"\u12"), (r"\ud800x", "\u{fffd}x"), (r"\\\", r"\\")]
        {
            assert_eq!(View::of(source.as_bytes()).unwrap().text, expected.as_bytes(), "{source}");
        }
        assert!(View::of(b"plain").is_none());
    }

    #[test]
    fn positions_lead_back_to_whole_escapes() {
        let source = r"ab\ncd\u00e9ef";
        let view = View::of(source.as_bytes()).unwrap();
        assert_eq!(view.text, "ab\ncd\u{e9}ef".as_bytes());
        let back = |start, end| &source[view.source_start(start)..view.source_end(end)];
        assert_eq!(back(0, 2), "ab");
        assert_eq!(back(2, 3), r"\n");
        assert_eq!(back(3, 5), "cd");
        assert_eq!(back(5, 6), r"\u00e9");
        assert_eq!(back(6, 7), r"\u00e9");
        assert_eq!(back(0, 9), source);
        assert_eq!(back(7, 9), "ef");
    }
}
