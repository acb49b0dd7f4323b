//! Words that are code: paths, flags, codes; and what calls were given. Not whether somebody said them.

use serde_json::Value;
use stemmata_model::Part;

/// Whether a word is a path, a flag or a code such as `E0308`, and no prose such as `and/or`.
pub(super) fn is_code(word: &str) -> bool {
    let parts = || word.split('/').filter(|part| !part.is_empty());
    let is_path = ["/", "~/", "./", "../"].iter().any(|start| word.starts_with(start)) || word.contains('\\');
    let is_folder = word.contains('/')
        && (parts().count() > 2 || !word.chars().all(|char| char.is_alphabetic() || char == '/'));
    let is_flag = word.trim_start_matches('-').len() < word.len()
        && word.trim_start_matches('-').starts_with(|char: char| char.is_ascii_alphabetic());
    let is_plain = word.chars().all(|char| char.is_ascii_alphanumeric());
    let has_digits = is_plain
        && word.starts_with(|char: char| char.is_ascii_alphabetic())
        && word.contains(|char: char| char.is_ascii_digit());
    is_path || is_folder && !word.starts_with(|char: char| char.is_ascii_digit()) || is_flag || has_digits
}

/// Returns a path without the number of a line behind it.
pub(super) fn without_line(word: &str) -> &str {
    let path = word.trim_end_matches(|char: char| char.is_ascii_digit() || char == ':');
    if path.contains('/') && word.get(path.len()..).is_some_and(|rest| rest.starts_with(':')) {
        path
    } else {
        word
    }
}

/// Returns the texts in the arguments of calls.
pub(super) fn argument_texts(parts: &[Part]) -> Vec<String> {
    let mut found = Vec::new();
    for part in parts {
        let Part::ToolCall { arguments, .. } = part else { continue };
        let mut values: Vec<Value> = serde_json::from_str(arguments).into_iter().collect();
        while let Some(value) = values.pop() {
            match value {
                Value::String(text) => found.push(text),
                Value::Array(within) => values.extend(within),
                Value::Object(within) => values.extend(within.into_iter().map(|(_, value)| value)),
                Value::Null | Value::Bool(_) | Value::Number(_) => {}
            }
        }
    }
    found
}
