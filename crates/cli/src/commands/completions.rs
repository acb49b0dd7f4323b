//! `completions`: a completion script for a shell.

use clap::CommandFactory;

use crate::args::Cli;
use crate::args::maintain::Completions;
use crate::errors::{CliError, Exit};
use crate::wiring::App;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Completions) -> Result<Exit, CliError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "stemma", &mut script);
    app.console.text(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}
