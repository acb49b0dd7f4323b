//! A JSON tokenizer that keeps positions and accepts a torn end.
//! Not a parser of values: it decodes nothing and builds nothing.

/// Deepest nesting that is read as JSON; anything deeper is text. No client writes a tenth of it.
pub(crate) const DEPTH_MAX: usize = 512;

/// What the tokenizer saw. Positions are bytes in the line; those of strings are without the quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Token {
    /// An object or array begins at this byte.
    Open { at: usize, object: bool },
    /// An object or array ends before this byte.
    Close { end: usize },
    /// A field's name.
    Key { start: usize, end: usize },
    /// A string value; the line may end inside it.
    Text { start: usize, end: usize },
    /// A number or a word.
    Scalar,
}

/// The line is no JSON (nor the beginning of any) from some byte on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NotJson;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expect {
    /// A value.
    Value,
    /// A value, or the end of the array that has just begun.
    FirstElement,
    /// A name, or the end of the object that has just begun.
    FirstKey,
    Key,
    Colon,
    /// A comma or the end of the container; at the top, nothing or one more value.
    Next,
}

/// Tokens of one line. Ends without an error at the end of the line, wherever that is.
#[derive(Debug)]
pub(crate) struct Tokens<'a> {
    line: &'a [u8],
    at: usize,
    expect: Expect,
    objects: Vec<bool>,
    failed: bool,
}

impl<'a> Tokens<'a> {
    pub(crate) fn of(line: &'a [u8]) -> Tokens<'a> {
        Tokens { line, at: 0, expect: Expect::Value, objects: Vec::new(), failed: false }
    }

    fn step(&mut self) -> Result<Option<Token>, NotJson> {
        loop {
            let Some(byte) = self.skip_blanks() else {
                return Ok(None);
            };
            match (self.expect, byte) {
                (Expect::Colon, b':') => self.advance(Expect::Value),
                (Expect::Next, b',') if !self.objects.is_empty() => {
                    let next = if self.objects.last() == Some(&true) { Expect::Key } else { Expect::Value };
                    self.advance(next);
                }
                (Expect::Next, b'}') if self.objects.last() == Some(&true) => return Ok(Some(self.close())),
                (Expect::Next, b']') if self.objects.last() == Some(&false) => return Ok(Some(self.close())),
                // Two records on one line: a client that died and went on writes that.
                (Expect::Next, b'{' | b'[') if self.objects.is_empty() => return self.open(byte).map(Some),
                (Expect::FirstKey, b'}') | (Expect::FirstElement, b']') => return Ok(Some(self.close())),
                (Expect::FirstKey | Expect::Key, b'"') => {
                    let (start, end) = self.string();
                    self.expect = Expect::Colon;
                    return Ok(Some(Token::Key { start, end }));
                }
                (Expect::Value | Expect::FirstElement, b'"') => {
                    let (start, end) = self.string();
                    self.expect = Expect::Next;
                    return Ok(Some(Token::Text { start, end }));
                }
                (Expect::Value | Expect::FirstElement, b'{' | b'[') => return self.open(byte).map(Some),
                (Expect::Value | Expect::FirstElement, b'-' | b'0'..=b'9' | b't' | b'f' | b'n') => {
                    return self.scalar().map(Some);
                }
                _ => return Err(NotJson),
            }
        }
    }

    fn skip_blanks(&mut self) -> Option<u8> {
        let rest = self.line.get(self.at..)?;
        let blanks = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n')).count();
        self.at += blanks;
        rest.get(blanks).copied()
    }

    fn advance(&mut self, next: Expect) {
        self.at += 1;
        self.expect = next;
    }

    fn open(&mut self, byte: u8) -> Result<Token, NotJson> {
        if self.objects.len() >= DEPTH_MAX {
            return Err(NotJson);
        }
        let (at, object) = (self.at, byte == b'{');
        self.objects.push(object);
        self.advance(if object { Expect::FirstKey } else { Expect::FirstElement });
        Ok(Token::Open { at, object })
    }

    fn close(&mut self) -> Token {
        self.objects.pop();
        self.advance(Expect::Next);
        Token::Close { end: self.at }
    }

    /// Reads the string whose opening quote is at the current byte.
    fn string(&mut self) -> (usize, usize) {
        let start = self.at + 1;
        let mut at = start;
        loop {
            let rest = self.line.get(at..).unwrap_or_default();
            match memchr::memchr2(b'"', b'\\', rest) {
                Some(found) if rest.get(found) == Some(&b'"') => {
                    self.at = at + found + 1;
                    return (start, at + found);
                }
                Some(found) => at += found + 2,
                None => {
                    self.at = self.line.len();
                    return (start, self.line.len());
                }
            }
        }
    }

    fn scalar(&mut self) -> Result<Token, NotJson> {
        let rest = self.line.get(self.at..).unwrap_or_default();
        let len = rest
            .iter()
            .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
            .count();
        let word = rest.get(..len).unwrap_or_default();
        let torn = len == rest.len();
        let known = [&b"true"[..], b"false", b"null"]
            .iter()
            .any(|name| word == *name || (torn && name.starts_with(word)));
        let number =
            word.iter().all(|byte| byte.is_ascii_digit() || matches!(byte, b'+' | b'-' | b'.' | b'e' | b'E'));
        if !known && !number {
            return Err(NotJson);
        }
        self.at += len;
        self.expect = Expect::Next;
        Ok(Token::Scalar)
    }
}

impl Iterator for Tokens<'_> {
    type Item = Result<Token, NotJson>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let step = self.step();
        self.failed = step.is_err();
        step.transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::{DEPTH_MAX, NotJson, Token, Tokens};
    use proptest::prelude::*;

    fn is_json(line: &str) -> bool {
        Tokens::of(line.as_bytes()).all(|token| token.is_ok())
    }

    #[test]
    fn every_beginning_of_json_is_read() {
        let line = r#" {"a":[1,-2.5e3,true,null,"x\"y\\"],"b":{},"c":[],"d":"é"} "#;
        for end in 0..=line.len() {
            assert!(Tokens::of(&line.as_bytes()[..end]).all(|token| token.is_ok()), "{end}");
        }
        assert!(is_json(r#"{"a":1}{"b":2}"#));
    }

    #[test]
    fn text_is_not_json() {
        for line in [
            "hello",
            "[INFO] x",
            "{a: 1}",
            r#"{"a" 1}"#,
            r#"{"a":1,}"#,
            "[1 2]",
            "[}",
            r#""a": 1"#,
            "trux",
            "1 2",
        ] {
            assert_eq!(Tokens::of(line.as_bytes()).last(), Some(Err(NotJson)), "{line}");
        }
        assert!(is_json(&"[".repeat(DEPTH_MAX)));
        assert!(!is_json(&"[".repeat(DEPTH_MAX + 1)));
    }

    proptest! {
        #[test]
        fn whatever_a_parser_accepts_is_read(text in "[ -~]{0,40}", key in "\\PC{0,9}", number in any::<i64>()) {
            let value = serde_json::json!({ key.clone(): [text.clone(), number, null, { "k": text.clone() }] });
            let line = value.to_string();
            let mut strings = Vec::new();
            for token in Tokens::of(line.as_bytes()) {
                if let Token::Text { start, end } = token.unwrap() {
                    strings.push(serde_json::from_str::<String>(&line[start - 1..=end]).unwrap());
                }
            }
            prop_assert_eq!(strings, vec![text.clone(), text]);
        }

        #[test]
        fn no_bytes_upset_it(line in proptest::collection::vec(any::<u8>(), 0..200)) {
            for token in Tokens::of(&line) {
                if let Ok(Token::Text { start, end } | Token::Key { start, end }) = token {
                    prop_assert!(start <= line.len() && end <= line.len());
                }
            }
        }
    }
}
