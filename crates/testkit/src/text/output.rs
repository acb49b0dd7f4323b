//! Made-up shell commands and what they print.
//! Not run anywhere.

use crate::rng::Rng;

use super::code::Language;
use super::expand;
use super::grammar::choices;

/// Returns a shell command as an agent runs it on a project in that language.
pub fn command(rng: &mut Rng, language: Language) -> String {
    let own = match language {
        Language::Rust => "out_rust_commands",
        Language::Go => "out_go_commands",
        Language::TypeScript => "out_node_commands",
        Language::Python => "out_python_commands",
        Language::Elixir => "out_elixir_commands",
        Language::Shell | Language::Markdown | Language::Config => "out_commands",
    };
    let template = if rng.chance(50) { rng.pick(choices(own)) } else { rng.pick(choices("out_commands")) };
    expand(rng, template)
}

/// Returns what such a command prints.
pub fn command_output(rng: &mut Rng, command: &str, language: Language) -> String {
    let templates = if command.contains("status") {
        "out_status"
    } else if command.contains("log") {
        "out_log"
    } else if command.contains("diff") || command.contains("git show") {
        "out_diff"
    } else if command.contains("grep") || command.starts_with("rg ") {
        "out_grep"
    } else if command.contains("ls") || command.contains("find") {
        "out_listing"
    } else if command.contains("commit") || command.contains("push") {
        "out_commit"
    } else if command.contains("test") {
        tests_of(language)
    } else if command.contains("build") || command.contains("check") || command.contains("lint") {
        builds_of(language)
    } else {
        "out_other"
    };
    let repeats = if rng.chance(70) { 1 } else { rng.range(2, 6) };
    (0..repeats)
        .map(|_| {
            let template = rng.pick(choices(templates));
            expand(rng, template)
        })
        .collect::<Vec<_>>()
        .join("\n")
}

const fn tests_of(language: Language) -> &'static str {
    match language {
        Language::Go => "out_go_tests",
        Language::TypeScript | Language::Config | Language::Markdown => "out_node_tests",
        Language::Python => "out_python_tests",
        Language::Elixir => "out_elixir_tests",
        Language::Rust | Language::Shell => "out_rust_tests",
    }
}

const fn builds_of(language: Language) -> &'static str {
    match language {
        Language::Go => "out_go_builds",
        Language::TypeScript | Language::Config | Language::Markdown => "out_node_builds",
        Language::Python | Language::Elixir | Language::Rust | Language::Shell => "out_rust_builds",
    }
}
