//! The page about the command line, from the definitions that parse it.

use std::fmt::Write;

use clap::{Arg, Command, CommandFactory};

use stemmata_api::operation::{Row, rows};

use crate::args::Cli;
use crate::args::asked::{Asks, asks};
use crate::output::put;
use crate::reference::{head, in_cell};

/// Returns the page.
pub(super) fn page() -> String {
    let mut root = Cli::command().term_width(100);
    root.build();
    let mut text = head(
        "Command line",
        "Every command with its flags and examples, as `stemma help COMMAND` shows them. Data goes to standard output, \
         everything else to standard error. What `--json` prints is in [json.md](json.md), what the exit codes mean in \
         [exit-codes.md](exit-codes.md).",
    );
    text.push_str("| command | what it does |\n| --- | --- |\n");
    for command in visible(&root) {
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        writeln!(text, "| [`{0}`](#stemma-{0}) | {1} |", command.get_name(), in_cell(&about))
            .expect("a string takes it");
    }
    text.push_str("\n## Flags of every command\n\n");
    let global: Vec<&Arg> =
        root.get_arguments().filter(|arg| arg.is_global_set() && !arg.is_hide_set()).collect();
    text.push_str(&flags(&global));
    text.push_str(&with_a_service(&root));
    for command in visible(&root) {
        text.push_str(&section(command, "stemma", 2));
    }
    text.truncate(text.trim_end().len());
    text + "\n"
}

fn visible(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|sub| !sub.is_hide_set() && sub.get_name() != "help")
}

/// Says of each command what it does where a service is named, and what it asks: from the rows of the operations.
fn with_a_service(root: &Command) -> String {
    let mut text = "\n## With a service\n\nWhat a command does where `--server`, `STEMMATA_SERVER` or the setting `server.url` names a \
                    service. One that is about this machine refuses the flag, and ignores variable and setting. Requests are those of \
                    [http.md](http.md); where none is named, the command makes its answer of several.\n\n\
                    | command | what it does | the request |\n| --- | --- | --- |\n"
        .to_owned();
    for name in visible(root).map(Command::get_name) {
        let heads = rows().map(Row::head);
        let is_own = |command: &&str| command.split(' ').next() == Some(name);
        let requests: Vec<String> = heads
            .filter(|head| head.commands.iter().any(&is_own))
            .map(|head| format!("`{} {}`", head.method.name(), head.path))
            .collect();
        let (does, requests) = match asks(name) {
            Asks::There => ("asks there".to_owned(), requests.join(", ")),
            Asks::ThenHere => {
                ("brings the session here, then acts here".to_owned(), "`POST /v1/bundles/export`".to_owned())
            }
            Asks::Nobody(reason) => (format!("acts here: {reason}"), String::new()),
        };
        put!(text, "| `{name}` | {does} | {requests} |\n");
    }
    text
}

fn section(command: &Command, above: &str, level: usize) -> String {
    let name = format!("{above} {}", command.get_name());
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage:").trim();
    let mut text = format!("\n{} {name}\n\n{about}.\n\n```\n{usage}\n```\n", "#".repeat(level));
    let own: Vec<&Arg> = command
        .get_arguments()
        .filter(|arg| {
            !arg.is_global_set() && !arg.is_hide_set() && !matches!(arg.get_id().as_str(), "help" | "version")
        })
        .collect();
    if !own.is_empty() {
        text.push('\n');
        text.push_str(&flags(&own));
    }
    if let Some(after) = command.get_after_help() {
        text.push_str(&examples(&after.to_string()));
    }
    for sub in visible(command) {
        text.push_str(&section(sub, &name, level + 1));
    }
    text
}

fn flags(args: &[&Arg]) -> String {
    let mut text = "| flag | what it does |\n| --- | --- |\n".to_owned();
    for arg in args {
        let mut about = arg.get_help().map(ToString::to_string).unwrap_or_default();
        let values: Vec<String> = arg
            .get_possible_values()
            .iter()
            .filter(|_| arg.get_action().takes_values())
            .map(|value| format!("`{}`", value.get_name()))
            .collect();
        if !values.is_empty() {
            put!(about, ": {}", values.join(", "));
        }
        let defaults: Vec<String> =
            arg.get_default_values().iter().map(|value| format!("`{}`", value.to_string_lossy())).collect();
        if !defaults.is_empty() && arg.get_action().takes_values() && !arg.is_hide_default_value_set() {
            put!(about, " [default: {}]", defaults.join(", "));
        }
        writeln!(text, "| `{}` | {} |", name(arg), in_cell(&about)).expect("a string takes it");
    }
    text
}

fn name(arg: &Arg) -> String {
    let value = arg
        .get_value_names()
        .filter(|_| arg.get_action().takes_values())
        .and_then(|names| names.first())
        .map(ToString::to_string);
    match (arg.get_short(), arg.get_long(), value) {
        (None, None, value) => {
            let value = value.unwrap_or_else(|| arg.get_id().to_string());
            if arg.is_required_set() { value } else { format!("[{value}]") }
        }
        (short, long, value) => {
            let short = short.map(|short| format!("-{short}"));
            let long = long.map(|long| format!("--{long}"));
            let names: Vec<String> = short.into_iter().chain(long).collect();
            let value = value.map(|value| format!(" {value}")).unwrap_or_default();
            format!("{}{value}", names.join(", "))
        }
    }
}

/// Sets the lines of examples as code and leaves the rest as text.
fn examples(after: &str) -> String {
    let mut text = String::new();
    let mut was_code = false;
    for line in after.lines() {
        let is_code = line.starts_with("  ");
        if is_code != was_code {
            text.push_str(if is_code { "\n```\n" } else { "```\n" });
            was_code = is_code;
        }
        match (is_code, line) {
            (_, "Examples:" | "") => {}
            (true, line) => writeln!(text, "{}", line.trim_start()).expect("a string takes it"),
            (false, line) => write!(text, "\n{line}\n").expect("a string takes it"),
        }
    }
    if was_code {
        text.push_str("```\n");
    }
    text
}
