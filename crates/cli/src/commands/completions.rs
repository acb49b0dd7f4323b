//! `completions`: a completion script for a shell.
//!
//! bash, zsh and fish ask `stemma complete`, so that sessions and tags are offered, and a script outlives the version that wrote it.
//! The dynamic scripts of `clap_complete` would do the same, but that part of it is unstable. Other shells get its static script.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Cli;
use crate::args::maintain::Completions;
use crate::errors::{CliError, Exit};
use crate::wiring::App;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Completions) -> Result<Exit, CliError> {
    app.console.text(&script(args.shell))?;
    Ok(Exit::Done)
}

/// Returns the script for a shell.
pub(super) fn script(shell: Shell) -> String {
    let own = match shell {
        Shell::Bash => Some(include_str!("completions/bash.sh")),
        Shell::Zsh => Some(include_str!("completions/zsh.sh")),
        Shell::Fish => Some(include_str!("completions/fish.fish")),
        _ => None,
    };
    if let Some(script) = own {
        return script.to_owned();
    }
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "stemma", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}
