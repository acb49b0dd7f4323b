//! Writes JSON objects in a given key order, with raw values inside.
//!
//! `serde_json::Value` would sort keys and respell numbers; arguments of tools must come back byte for byte.

use serde_json::value::RawValue;

/// A JSON object that is being written.
#[derive(Debug)]
pub(crate) struct Object {
    text: String,
}

impl Object {
    pub(crate) fn new() -> Self {
        Self { text: "{".to_owned() }
    }

    /// Adds a value that is JSON already; the caller has checked it.
    pub(crate) fn raw(mut self, key: &str, json: &str) -> Self {
        if self.text.len() > 1 {
            self.text.push(',');
        }
        self.text.push_str(&quote(key));
        self.text.push(':');
        self.text.push_str(json);
        self
    }

    pub(crate) fn text(self, key: &str, text: &str) -> Self {
        self.raw(key, &quote(text))
    }

    pub(crate) fn optional(self, key: &str, text: Option<&str>) -> Self {
        self.raw(key, &text.map_or_else(|| "null".to_owned(), quote))
    }

    /// Adds a text that is there, and nothing for one that is not.
    pub(crate) fn given(self, key: &str, text: Option<&str>) -> Self {
        self.given_raw(key, text.map(quote).as_deref())
    }

    /// Adds JSON that is there, and nothing for one that is not.
    pub(crate) fn given_raw(self, key: &str, json: Option<&str>) -> Self {
        if let Some(json) = json { self.raw(key, json) } else { self }
    }

    pub(crate) fn flag(self, key: &str, flag: bool) -> Self {
        self.raw(key, if flag { "true" } else { "false" })
    }

    pub(crate) fn number(self, key: &str, number: u64) -> Self {
        self.raw(key, &number.to_string())
    }

    pub(crate) fn finish(mut self) -> String {
        self.text.push('}');
        self.text
    }
}

/// Returns a list of elements that are JSON already.
pub(crate) fn list<S: AsRef<str>>(elements: impl IntoIterator<Item = S>) -> String {
    let mut text = "[".to_owned();
    for element in elements {
        text.extend([if text.len() > 1 { "," } else { "" }, element.as_ref()]);
    }
    text + "]"
}

/// Appends a line of JSON lines.
pub(crate) fn push_line(out: &mut Vec<u8>, line: &str) {
    out.extend_from_slice(line.as_bytes());
    out.push(b'\n');
}

/// Returns a text as a JSON string.
pub(crate) fn quote(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Returns a JSON text on one line, none where it is no JSON. The same bytes unless it was spread over lines.
pub(crate) fn one_line(json: &str) -> Option<String> {
    let raw: &RawValue = serde_json::from_str(json).ok()?;
    // Inside a string a line break would be no JSON, so these are white space.
    Some(raw.get().replace(['\n', '\r'], " "))
}
