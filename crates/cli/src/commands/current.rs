//! `current`: what a session knows right now, as a commit.
//!
//! Which session is meant: the one that is named, the hook's, or the one that this process belongs to.

use stemmata_service::Whose;

use crate::args::capture::Current;
use crate::commands::hook;
use crate::errors::{CliError, Exit};
use crate::wiring::App;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Current) -> Result<Exit, CliError> {
    let whose = match &args.session {
        Some(text) => Whose::Named(text.clone()),
        None if args.hook => hook::with_input(app, Whose::of_hook)?,
        None => Whose::Process(app.process()),
    };
    let current = app.opened_host()?.current(&whose, &app.environment.current_dir)?;
    current.unread.iter().for_each(|unread| app.console.warn(unread));
    app.console.notes(&current.notes);
    app.printed(&current.named, || Ok(format!("{}\n", current.named.id)))
}
