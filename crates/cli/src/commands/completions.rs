//! `completions`: a completion script for a shell.

use clap::CommandFactory;

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
pub(super) fn script(shell: clap_complete::Shell) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "stemma", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}
