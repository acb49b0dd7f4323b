//! The page about what `--json` prints, from the wire types themselves.

use std::fmt::Write;

use crate::output::v1::{INNER, PRINTED, Shape};
use crate::reference::{head, in_cell};

/// Returns the page.
pub(super) fn page() -> String {
    let mut text = head(
        "JSON output",
        "With `--json`, a command prints one JSON object on standard output; errors stay text on standard error and an \
         [exit code](exit-codes.md). The shapes are a contract: fields may be added, none changes its meaning or goes \
         away, so ignore what you do not know. A field marked *optional* is left out where it has no value. Times are \
         RFC 3339 in UTC with microseconds, sizes are bytes, ids are always whole.",
    );
    text.push_str("| command | prints |\n| --- | --- |\n");
    for printed in PRINTED {
        writeln!(text, "| `stemma {} --json` | {} |", printed.command, link(printed.shape.name))
            .expect("a string takes it");
    }
    let mut told: Vec<&str> = Vec::new();
    for shape in PRINTED.iter().map(|printed| &printed.shape).chain(INNER) {
        if !told.contains(&shape.name) {
            told.push(shape.name);
            text.push_str(&section(shape));
        }
    }
    text
}

fn link(name: &str) -> String {
    format!("[{name}](#{})", name.to_lowercase())
}

fn section(shape: &Shape) -> String {
    let mut text = format!(
        "\n## {}\n\n{}\n\n| field | type | what it says |\n| --- | --- | --- |\n",
        shape.name,
        shape.about.trim()
    );
    for field in shape.fields {
        let (json_type, about) = if field.is_flat {
            ("", format!("All fields of {}.", link(field.rust_type)))
        } else {
            ("x", in_cell(field.about))
        };
        if json_type.is_empty() {
            writeln!(text, "| … | | {about} |").expect("a string takes it");
        } else {
            writeln!(text, "| `{}` | {} | {about} |", field.name, json_of(field.rust_type))
                .expect("a string takes it");
        }
    }
    text
}

/// Returns the JSON type of a Rust type of the wire.
fn json_of(rust: &str) -> String {
    let inner = |outer: &str| rust.strip_prefix(outer).and_then(|rest| rest.strip_suffix('>')).map(str::trim);
    if let Some(inner) = inner("Option<") {
        return format!("{}, optional", json_of(inner));
    }
    if let Some(inner) = inner("Vec<") {
        return format!("array of {}", json_of(inner));
    }
    match rust {
        "String" => "string".to_owned(),
        "u64" => "number".to_owned(),
        "bool" => "boolean".to_owned(),
        "Raw" => "any".to_owned(),
        other => link(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_that_is_named_is_told() {
        let page = page();
        for shape in PRINTED.iter().map(|printed| &printed.shape).chain(INNER) {
            for field in shape.fields {
                let named = json_of(field.rust_type);
                if let Some(name) = named.split('[').nth(1).and_then(|rest| rest.split(']').next()) {
                    assert!(page.contains(&format!("\n## {name}\n")), "{name}");
                }
            }
        }
    }

    #[test]
    fn types_are_told_in_json_terms() {
        for (rust, json) in [
            ("Vec<String>", "array of string"),
            ("Option<Vec<u64>>", "array of number, optional"),
            ("Note", "[Note](#note)"),
        ] {
            assert_eq!(json_of(rust), json);
        }
    }
}
