//! JavaScript literals as JSON. What is no literal becomes null; what a template puts in stays as it is written.

use std::cell::Cell;
use std::collections::HashMap;

use serde_json::{Map, Value};

/// How deep values may lie within one another.
const DEPTH_MAX: usize = 16;

/// Values that have names.
pub(super) struct Names {
    /// Each with its length.
    values: HashMap<String, (Value, usize)>,
    /// Bytes that may still be taken from here: names of names of names would grow without end.
    left: Cell<usize>,
}

impl Names {
    pub(super) fn new(bytes_max: usize) -> Self {
        Self { values: HashMap::new(), left: Cell::new(bytes_max) }
    }

    pub(super) fn keep(&mut self, name: &str, value: Value) {
        let length = value.to_string().len();
        self.values.insert(name.to_owned(), (value, length));
    }

    fn take(&self, name: &str) -> Option<Value> {
        let (value, length) = self.values.get(name)?;
        self.left.set(self.left.get().checked_sub(*length)?);
        Some(value.clone())
    }
}

/// Reads code from its beginning on.
pub(super) struct Reader<'a, 'n> {
    pub(super) rest: &'a str,
    pub(super) names: &'n Names,
}

impl<'a> Reader<'a, '_> {
    /// Steps over a string or a comment that stands here.
    pub(super) fn skip_text(&mut self) -> bool {
        self.skip_comment() || (self.rest.starts_with(['"', '\'', '`']) && self.string().is_some())
    }

    pub(super) fn word(&mut self) -> Option<&'a str> {
        let is_of_word = |character: char| character.is_alphanumeric() || matches!(character, '_' | '$');
        let end = self.rest.find(|character| !is_of_word(character)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        (!word.is_empty()).then_some(word)
    }

    pub(super) fn spaced_word(&mut self) -> Option<&'a str> {
        self.skip_space();
        self.word()
    }

    /// Takes a mark that stands next.
    pub(super) fn is_next(&mut self, mark: &str) -> bool {
        self.skip_space();
        let after = self.rest.strip_prefix(mark);
        self.rest = after.unwrap_or(self.rest);
        after.is_some()
    }

    /// Reads the next value. Returns `None` where the code has anything but a literal there.
    pub(super) fn value(&mut self) -> Option<Value> {
        self.value_at(0)
    }

    fn value_at(&mut self, depth: usize) -> Option<Value> {
        self.skip_space();
        let first = self.rest.chars().next()?;
        match first {
            '{' if depth < DEPTH_MAX => Some(self.object(depth)),
            '[' if depth < DEPTH_MAX => Some(self.array(depth)),
            '"' | '\'' | '`' => {
                let mut text = self.string()?;
                while self.is_next("+") {
                    self.skip_space();
                    let more = if self.rest.starts_with(['"', '\'', '`']) {
                        self.string()
                    } else {
                        self.word().and_then(|name| self.names.take(name)?.as_str().map(str::to_owned))
                    };
                    text.push_str(&more?);
                }
                Some(Value::String(text))
            }
            '-' | '0'..='9' => {
                let is_of_number =
                    |character: char| character.is_ascii_alphanumeric() || "+-._".contains(character);
                let end = self.rest.find(|character| !is_of_number(character)).unwrap_or(self.rest.len());
                let (number, rest) = self.rest.split_at(end);
                self.rest = rest;
                serde_json::from_str(&number.replace('_', "")).ok()
            }
            _ => {
                let word = self.word()?;
                self.skip_space();
                let is_whole = !self.rest.starts_with(['.', '(', '[', '`']);
                let value = match word {
                    "true" => Some(Value::Bool(true)),
                    "false" => Some(Value::Bool(false)),
                    "null" | "undefined" => Some(Value::Null),
                    name => self.names.take(name),
                };
                value.filter(|_| is_whole)
            }
        }
    }

    fn object(&mut self, depth: usize) -> Value {
        let mut fields = Map::new();
        self.is_next("{");
        while !self.rest.is_empty() && !self.is_next("}") {
            let before = self.rest;
            let key = match self.rest.chars().next() {
                Some('"' | '\'') => self.string(),
                _ => self.word().map(str::to_owned),
            };
            if let Some(key) = key {
                let has_value = self.is_next(":");
                let value = if has_value { self.value_at(depth + 1) } else { self.names.take(&key) };
                fields.insert(key, value.unwrap_or(Value::Null));
            }
            self.skip_item(before);
        }
        Value::Object(fields)
    }

    fn array(&mut self, depth: usize) -> Value {
        let mut items = Vec::new();
        self.is_next("[");
        while !self.rest.is_empty() && !self.is_next("]") {
            let before = self.rest;
            items.push(self.value_at(depth + 1).unwrap_or(Value::Null));
            self.skip_item(before);
        }
        Value::Array(items)
    }

    /// Steps behind the comma that ends an item, or before the bracket that ends all of them.
    fn skip_item(&mut self, before: &str) {
        let mut depth = 0_usize;
        loop {
            self.skip_space();
            let Some(next) = self.rest.chars().next() else { return };
            match next {
                '}' | ']' | ')' if depth == 0 => {
                    // A bracket of the wrong kind would stop the reading for ever.
                    if std::ptr::eq(before, self.rest) {
                        self.skip(next);
                    }
                    return;
                }
                ',' if depth == 0 => return self.skip(next),
                '{' | '[' | '(' => depth += 1,
                '}' | ']' | ')' => depth -= 1,
                _ => {}
            }
            if !self.skip_text() {
                self.skip(next);
            }
        }
    }

    fn skip(&mut self, character: char) {
        self.rest = self.rest.get(character.len_utf8()..).unwrap_or_default();
    }

    fn skip_space(&mut self) {
        loop {
            self.rest = self.rest.trim_start();
            if !self.skip_comment() {
                return;
            }
        }
    }

    fn skip_comment(&mut self) -> bool {
        let end = match self.rest.as_bytes() {
            [b'/', b'/', ..] => "\n",
            [b'/', b'*', ..] => "*/",
            _ => return false,
        };
        self.rest = self.rest.get(2..).and_then(|text| text.split_once(end)).map_or("", |(_, rest)| rest);
        true
    }

    /// Reads a string. Returns `None` and consumes nothing where its closing quote is missing.
    fn string(&mut self) -> Option<String> {
        let mut characters = self.rest.chars();
        let quote = characters.next()?;
        let mut text = String::new();
        loop {
            match characters.next()? {
                character if character == quote => break,
                '\n' if quote != '`' => return None,
                '\\' => escape(&mut characters, &mut text)?,
                character => text.push(character),
            }
        }
        self.rest = characters.as_str();
        Some(text)
    }
}

fn escape(characters: &mut std::str::Chars<'_>, text: &mut String) -> Option<()> {
    let escaped = characters.next()?;
    match escaped {
        'n' => text.push('\n'),
        't' => text.push('\t'),
        'r' => text.push('\r'),
        'b' => text.push('\u{8}'),
        'f' => text.push('\u{c}'),
        'v' => text.push('\u{b}'),
        '0' => text.push('\0'),
        '\n' => {}
        'x' => text.push(char::from_u32(digits(characters, 2)?)?),
        'u' => {
            let code = code_of(characters)?;
            let is_half = (0xd800..0xdc00).contains(&code) && characters.as_str().starts_with("\\u");
            let whole = if is_half {
                characters.nth(1);
                let low = code_of(characters)?;
                0x1_0000 + ((code - 0xd800) << 10) + (low.wrapping_sub(0xdc00) & 0x3ff)
            } else {
                code
            };
            text.push(char::from_u32(whole).unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        other => text.push(other),
    }
    Some(())
}

fn code_of(characters: &mut std::str::Chars<'_>) -> Option<u32> {
    let Some(rest) = characters.as_str().strip_prefix('{') else { return digits(characters, 4) };
    let (code, after) = rest.split_once('}')?;
    *characters = after.chars();
    u32::from_str_radix(code, 16).ok()
}

fn digits(characters: &mut std::str::Chars<'_>, count: usize) -> Option<u32> {
    let digits: String = characters.take(count).collect();
    u32::from_str_radix(&digits, 16).ok()
}
