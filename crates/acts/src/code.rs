//! The calls that code makes: Codex lets its model write JavaScript in place of calling its tools.
//!
//! Literals are read, nothing is run.

mod literal;

use serde_json::Value;

use literal::{Names, Reader};

/// Bytes of code that are looked at.
const CODE_BYTES_MAX: usize = 256 * 1024;
/// Calls, and values with a name, that are read at most: each may be as long as the code.
const READ_MAX: usize = 256;

/// A call within code.
pub(crate) struct Nested {
    /// The tool.
    pub(crate) name: String,
    /// What it is given; null where that is no literal.
    pub(crate) arguments: Value,
}

/// Returns the calls in their order: `tools.NAME(ARGUMENT)`.
pub(crate) fn calls(code: &str) -> Vec<Nested> {
    let end = code.floor_char_boundary(CODE_BYTES_MAX);
    let mut names = Names::new(4 * CODE_BYTES_MAX);
    let mut found = Vec::new();
    let mut read = 0;
    let mut rest = code.get(..end).unwrap_or_default();
    while !rest.is_empty() && read < READ_MAX {
        let mut reader = Reader { rest, names: &names };
        if reader.skip_text() {
            rest = reader.rest;
            continue;
        }
        let Some(word) = reader.word() else {
            let mut characters = rest.chars();
            characters.next();
            rest = characters.as_str();
            continue;
        };
        rest = reader.rest;
        match word {
            // The value itself is looked at again: it may hold calls.
            "const" | "let" | "var" => {
                read += 1;
                let called = reader.spaced_word().filter(|_| reader.is_next("="));
                if let Some((name, value)) = called.and_then(|name| Some((name, reader.value()?))) {
                    names.keep(name, value);
                }
            }
            "tools" if reader.is_next(".") => {
                read += 1;
                let called = reader.spaced_word().filter(|_| reader.is_next("("));
                if let Some(name) = called {
                    let arguments = reader.value().unwrap_or(Value::Null);
                    found.push(Nested { name: name.to_owned(), arguments });
                }
            }
            _ => {}
        }
    }
    found
}
