//! Writes JSON objects whose keys keep the order they were given in.
//! Not a general serializer: recorded transcripts have a key order that a map would lose.

use std::fmt::Write as _;

/// An object being written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Object(String);

impl Object {
    /// Starts an empty object.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a value that is JSON already.
    #[must_use]
    pub fn raw(mut self, key: &str, value: &str) -> Self {
        if !self.0.is_empty() {
            self.0.push(',');
        }
        self.0.push_str(&string(key));
        self.0.push(':');
        self.0.push_str(value);
        self
    }

    /// Adds a string.
    #[must_use]
    pub fn text(self, key: &str, value: &str) -> Self {
        self.raw(key, &string(value))
    }

    /// Adds a string where there is one.
    #[must_use]
    pub fn some_text(self, key: &str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.text(key, value),
            None => self,
        }
    }

    /// Adds a string, or null where there is none.
    #[must_use]
    pub fn text_or_null(self, key: &str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.text(key, value),
            None => self.raw(key, "null"),
        }
    }

    /// Adds a whole number.
    #[must_use]
    pub fn number(self, key: &str, value: u64) -> Self {
        self.raw(key, &value.to_string())
    }

    /// Adds true or false.
    #[must_use]
    pub fn flag(self, key: &str, value: bool) -> Self {
        self.raw(key, if value { "true" } else { "false" })
    }

    /// Adds null.
    #[must_use]
    pub fn null(self, key: &str) -> Self {
        self.raw(key, "null")
    }

    /// Adds an object.
    #[must_use]
    pub fn object(self, key: &str, value: Object) -> Self {
        let value = value.finish();
        self.raw(key, &value)
    }

    /// Adds a list of values that are JSON already.
    #[must_use]
    pub fn list<S: AsRef<str>>(self, key: &str, values: &[S]) -> Self {
        let value = list(values);
        self.raw(key, &value)
    }

    /// Adds a list of strings.
    #[must_use]
    pub fn texts<S: AsRef<str>>(self, key: &str, values: &[S]) -> Self {
        let quoted: Vec<String> = values.iter().map(|value| string(value.as_ref())).collect();
        self.list(key, &quoted)
    }

    /// Adds all fields of another object.
    #[must_use]
    pub fn fields(mut self, other: &Self) -> Self {
        if !self.0.is_empty() && !other.0.is_empty() {
            self.0.push(',');
        }
        self.0.push_str(&other.0);
        self
    }

    /// Returns the object's JSON.
    pub fn finish(self) -> String {
        format!("{{{}}}", self.0)
    }
}

/// Returns the JSON of a string, escaped as JavaScript does it: non-ASCII stays.
pub fn string(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            control if control < ' ' => {
                write!(out, "\\u{:04x}", u32::from(control)).expect("a string takes every write");
            }
            other => out.push(other),
        }
    }
    out.push('"');
    out
}

/// Returns the JSON list of values that are JSON already.
pub fn list<S: AsRef<str>>(values: &[S]) -> String {
    let mut out = String::from("[");
    for (index, value) in values.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        out.push_str(value.as_ref());
    }
    out.push(']');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_come_back_from_their_json() {
        let text = "tab\t \"quote\" \\ \u{1}\u{8}\u{c}\r\n é ✓ 漢字 \u{7f}";
        assert_eq!(serde_json::from_str::<String>(&string(text)).expect("JSON"), text);
    }

    #[test]
    fn keys_keep_their_order() {
        let inner = Object::new().flag("z", true).null("a");
        let line = Object::new()
            .text("b", "x")
            .fields(&inner)
            .fields(&Object::new())
            .texts("list", &["1", "2"])
            .object("empty", Object::new())
            .finish();
        assert_eq!(line, r#"{"b":"x","z":true,"a":null,"list":["1","2"],"empty":{}}"#);
    }
}
