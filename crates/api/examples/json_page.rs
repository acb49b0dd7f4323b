//! Prints docs/reference/json.md, the page about `--json`, from the schemas of the wire types; `cargo xtask generate` runs it.
//!
//! Not a part of `stemma`, which is built without schemas (docs/decisions/0019-one-schema-derive.md), nor of `xtask`, which
//! every task has to build first.

use std::fmt::Write as _;
use std::io::Write as _;

use stemmata_api::operations::OPERATIONS;
use stemmata_api::schema::{DescribedType, JsonType, TypeOf, requests, responses};

fn main() -> std::io::Result<()> {
    std::io::stdout().lock().write_all(page().as_bytes())
}

/// Returns the page.
fn page() -> String {
    let mut text = "<!-- Written by `cargo xtask generate`; do not edit. -->\n# JSON output\n\nWith `--json`, a command prints \
         one JSON object on standard output. When it fails, it prints one [Problem](#problem) on standard error and ends with an \
         [exit code](exit-codes.md); [errors.md](errors.md) lists all codes of problems. A code other than 0 with an object on standard output \
         means that the command did its work and found something: files that could not be read, damage, secrets. What is written to \
         standard output by `--out -` comes without an object; `events follow` prints one object a line. The shapes are a contract: fields may be added, none changes its meaning or goes \
         away, so ignore what you do not know. A field marked *optional* is left out where it has no value. Times are \
         RFC 3339 in UTC with microseconds, sizes are bytes, ids are always whole.\n\n"
        .to_owned();
    text.push_str("| command | prints |\n| --- | --- |\n");
    for operation in OPERATIONS.iter() {
        for command in operation.commands {
            writeln!(text, "| `stemma {command} --json` | {} |", link(&operation.response.name()))
                .expect("a string takes it");
        }
    }
    text.push_str(
        "\nThese commands read one JSON object from standard input or a file. A field that is not known is refused; one that is marked \
         *optional* may be left out.\n\n| command | reads |\n| --- | --- |\n",
    );
    let read = requests();
    for operation in OPERATIONS.iter() {
        let Some(name) = operation.request.map(TypeOf::name) else { continue };
        for command in operation.commands.iter().filter(|_| read.iter().any(|one| one.name == name)) {
            writeln!(text, "| `stemma {command}` | {} |", link(&name)).expect("a string takes it");
        }
    }
    for described in responses().iter().chain(&read) {
        section(&mut text, described);
    }
    text
}

fn section(text: &mut String, described: &DescribedType) {
    let DescribedType { name, about, fields } = described;
    writeln!(text, "\n## {name}\n\n{about}\n\n| field | type | what it says |\n| --- | --- | --- |")
        .expect("a string takes it");
    for field in fields {
        let optional = if field.is_optional { ", optional" } else { "" };
        let about = field.about.replace('|', "\\|");
        writeln!(text, "| `{}` | {}{optional} | {about} |", field.name, words(&field.json))
            .expect("a string takes it");
    }
}

fn words(json: &JsonType) -> String {
    match json {
        JsonType::Any => "any".to_owned(),
        JsonType::Boolean => "boolean".to_owned(),
        JsonType::Number => "number".to_owned(),
        JsonType::String => "string".to_owned(),
        JsonType::ArrayOf(items) => format!("array of {}", words(items)),
        JsonType::Type(name) => link(name),
    }
}

fn link(name: &str) -> String {
    format!("[{name}](#{})", name.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_link_leads_to_a_section() {
        let page = page();
        for target in page.split("](#").skip(1).filter_map(|rest| rest.split(')').next()) {
            assert!(page.to_lowercase().contains(&format!("\n## {target}\n")), "{target}");
        }
        assert!(page.ends_with('\n') && !page.ends_with("\n\n"));
    }

    /// A help text that leads nowhere is worse than none.
    #[test]
    fn help_texts_name_sections_that_are_there() {
        let page = page();
        let help = include_str!("../../cli/src/args/prompts.rs");
        let named: Vec<&str> = help
            .split(" of docs/reference/json.md")
            .filter_map(|before| before.strip_suffix('`')?.rsplit('`').next())
            .collect();
        assert!(named.len() >= 5, "{named:?}");
        for name in named {
            assert!(page.contains(&format!("\n## {name}\n")), "no section {name}");
        }
    }

    #[test]
    fn types_are_in_the_words_of_json() {
        let names = JsonType::ArrayOf(Box::new(JsonType::Type("Note".to_owned())));
        assert_eq!(words(&names), "array of [Note](#note)");
        assert_eq!(words(&JsonType::Any), "any");
    }
}
