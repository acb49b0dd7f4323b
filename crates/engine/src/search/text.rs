//! The text of an entry, as search reads it: what somebody or a tool said, in the order of its parts.
//!
//! No signatures, no images, no keys of arguments. A hit's snippet is cut from the same text that its words were taken from.

use serde_json::Value;
use stemmata_model::{Entry, Part};

/// How deep the arguments of a call are read; deeper ones are some program's data.
const ARGUMENTS_DEPTH_MAX: usize = 16;

/// Returns what an entry says.
pub(crate) fn text_of(entry: &Entry) -> String {
    text_of_parts(entry.parts.iter())
}

/// Returns what some parts of an entry say.
pub(super) fn text_of_parts<'p>(parts: impl Iterator<Item = &'p Part>) -> String {
    let mut text = String::new();
    parts.for_each(|part| add(part, &mut text));
    text
}

/// Returns the texts among the values of JSON data.
pub(super) fn text_of_data(data: &Value) -> String {
    let mut text = String::new();
    values(data, ARGUMENTS_DEPTH_MAX, &mut text);
    text
}

fn add(part: &Part, text: &mut String) {
    match part {
        Part::Text(said) | Part::Summary { text: said, .. } | Part::Thinking { text: said, .. } => {
            line(said, text);
        }
        Part::ToolCall { name, arguments, .. } => {
            line(name, text);
            match serde_json::from_str::<Value>(arguments) {
                Ok(value) => values(&value, ARGUMENTS_DEPTH_MAX, text),
                // A client that was interrupted leaves half of them.
                Err(_) => line(arguments, text),
            }
        }
        Part::ToolResult { parts, .. } => parts.iter().for_each(|part| add(part, text)),
        Part::File { name, .. } => line(name, text),
        Part::Image { .. } | Part::Opaque { .. } => {}
    }
}

/// Adds the texts among the values of arguments: names of parameters are the same in every call.
fn values(value: &Value, depth: usize, text: &mut String) {
    match value {
        Value::String(said) => line(said, text),
        Value::Array(values_in) if depth > 0 => {
            for value in values_in {
                values(value, depth - 1, text);
            }
        }
        Value::Object(fields) if depth > 0 => {
            for value in fields.values() {
                values(value, depth - 1, text);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {}
    }
}

fn line(said: &str, text: &mut String) {
    if said.is_empty() {
        return;
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(said);
}

#[cfg(test)]
mod tests {
    use stemmata_model::{EntryId, Role};

    use super::*;

    #[test]
    fn what_was_said_is_read_and_nothing_else() {
        let parts = vec![
            Part::Text("why?".to_owned()),
            Part::Thinking {
                text: "hm".to_owned(),
                signature: Some("c2ln".to_owned()),
                encrypted: Some("ZW5j".to_owned()),
            },
            Part::ToolCall {
                call_id: "call-1".to_owned(),
                name: "Edit".to_owned(),
                arguments: r#"{"file_path":"src/queue.rs","edits":[{"old":"retry()","all":true,"n":7}]}"#
                    .to_owned(),
            },
            Part::ToolCall {
                call_id: "call-2".to_owned(),
                name: "Bash".to_owned(),
                arguments: "{\"comm".to_owned(),
            },
            Part::ToolResult {
                call_id: "call-1".to_owned(),
                is_error: false,
                parts: vec![Part::Text("done".to_owned())],
            },
            Part::Opaque { runtime: "pi".to_owned(), kind: "x".to_owned(), json: "{}".to_owned() },
        ];
        let entry = Entry::said(EntryId::new("e1").expect("an id"), Role::Assistant, parts);
        assert_eq!(text_of(&entry), "why?\nhm\nEdit\nretry()\nsrc/queue.rs\nBash\n{\"comm\ndone");
    }
}
