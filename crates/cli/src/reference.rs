//! The pages that the program knows about itself, for `docs/reference`.
//!
//! Everything in them comes from where it is defined: the command line, the wire types, the tables of codes and
//! keys. Nothing is written here twice.

mod cli;

use stemmata_api::Code;

use stemmata_service::clients;

use crate::config::{self, template_fields};
use crate::environment::variables;
use crate::errors::Exit;
use crate::output::put;

/// Returns every page: its file name and its text.
pub(crate) fn pages() -> Vec<(&'static str, String)> {
    vec![
        ("cli.md", cli::page()),
        ("exit-codes.md", exit_codes()),
        ("errors.md", errors()),
        ("configuration.md", configuration()),
        ("environment.md", environment()),
    ]
}

/// What every generated page begins with.
fn head(title: &str, about: &str) -> String {
    format!("<!-- Written by `cargo xtask generate`; do not edit. -->\n# {title}\n\n{about}\n\n")
}

/// Escapes text for a cell of a table.
fn in_cell(text: &str) -> String {
    text.trim().replace('|', "\\|").replace('\n', " ")
}

fn exit_codes() -> String {
    let mut text = head(
        "Exit codes",
        "What a script can tell from how `stemma` ended. Stable: codes may be added, none changes its meaning. \
         The message on standard error says more, with the next step after `hint:`.",
    );
    text.push_str("| code | meaning |\n| --- | --- |\n");
    for exit in Exit::ALL {
        put!(text, "| {} | {} |\n", exit.code(), in_cell(exit.meaning()));
    }
    text
}

fn errors() -> String {
    let mut text = head(
        "Errors",
        "Every problem that `stemma` can report. The code is stable: codes may be added, none changes its name or kind. With \
         `--json` a failed command prints it as one JSON object on standard error. In a hint, `{name}` stands for what the \
         problem is about. The exit code follows from the kind.",
    );
    text.push_str("| code | what it says | kind | exit code | hint |\n| --- | --- | --- | --- | --- |\n");
    for row in Code::ALL.iter().map(|code| code.row()) {
        let kind = serde_json::to_value(row.kind).ok();
        let kind = kind.as_ref().and_then(|kind| kind.as_str()).unwrap_or_default();
        let hint = in_cell(row.hint.unwrap_or_default());
        put!(text, "| `{}` | {} | {kind} | {} | {hint} |\n", row.code, row.title, row.kind.exit_code());
    }
    text
}

fn configuration() -> String {
    let mut text = head(
        "Configuration",
        "Layers, later ones win: default, file, environment, flag. `stemma config` shows what is in force and where \
         it comes from, `stemma config path` where the file is, `stemma config set KEY VALUE` changes one line of it, `stemma config unset KEY` \
         removes one. \
         The file is TOML: the part of a key before the dot is its section.",
    );
    text.push_str("| key | what it does | default | environment | flag |\n| --- | --- | --- | --- | --- |\n");
    for key in config::all() {
        put!(
            text,
            "| `{}` | {} | {} | `{}` | {} |\n",
            key.key,
            in_cell(key.about),
            in_cell(&key.default.to_string()),
            key.variable,
            key.flag.map(|flag| format!("`{flag}`")).unwrap_or_default()
        );
    }
    text.push_str("\n```toml\n[capture]\ngranularity = \"turn\"\n\n[import]\nthreads = 2\n```\n");
    text.push_str(
        "\n## Templates\n\nA section `[templates.NAME]` describes a kind of agent for `stemma start --template NAME`; \
         `stemma config` lists what is there.\n\n| field | what it is |\n| --- | --- |\n",
    );
    for (field, about) in template_fields() {
        put!(text, "| `{field}` | {} |\n", in_cell(&about));
    }
    let client = clients::launched().next().map_or(("", ""), |client| (client.id, client.program));
    put!(
        text,
        "\n```toml\n[templates.reviewer]\nruntime = \"{}\"\ncommand = [\"{}\", \"--model\", \"opus\"]\n\
         system_prompt = \"Review what you are shown; change nothing.\"\ntools = [\"Read\", \"Grep\"]\n```\n",
        client.0,
        client.1
    );
    text
}

fn environment() -> String {
    let mut text = head(
        "Environment",
        "The variables that `stemma` reads, once, when it starts. An empty one counts as not set.",
    );
    text.push_str("| variable | what it does |\n| --- | --- |\n");
    for (name, about) in variables() {
        put!(text, "| `{name}` | {} |\n", in_cell(&about));
    }
    for key in config::all() {
        put!(text, "| `{}` | Sets `{}`. |\n", key.variable, key.key);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_the_same_every_time_and_end_with_a_line() {
        let pages = pages();
        assert_eq!(pages, super::pages());
        for (name, text) in pages {
            assert!(text.ends_with('\n') && !text.ends_with("\n\n"), "{name}");
            assert!(!text.contains('\u{1b}'), "{name}");
        }
    }
}
