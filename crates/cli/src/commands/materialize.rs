//! `materialize`: the conversation as an agent should know it.

use stemmata_api::Control;
use stemmata_api::v1::{self, Materialized};

use crate::args::give::Materialize;
use crate::commands::place::say_losses;
use crate::errors::{CliError, Exit};
use crate::output::file::Target;
use crate::output::size::{self, many};
use crate::wiring::App;

/// The name of the empty context.
const NONE: &str = "none";

/// Runs the command.
pub(crate) fn run(app: &App, args: &Materialize) -> Result<Exit, CliError> {
    let request = v1::MaterializeRequest {
        at: None,
        ctx: if args.reference == NONE { None } else { Some(app.ctx(&args.reference)?) },
        stop: app.stop(&args.stop)?,
        format: args.format.as_ref().map(ToString::to_string),
        budget_tokens: None,
    };
    let (service, target) = (app.service()?, Target::of(&args.out));
    let made =
        target.write(&app.temp_files(), |out| Ok(service.materialize(&request, out, &Control::none())?))?;
    app.console.notes(&made.notes);
    if !app.console.json {
        say_losses(app, made.losses.as_ref(), made.message_count);
    }
    let Some(path) = target.path() else { return Ok(Exit::Done) };
    let told = format!("{} written to {path}", told(&made));
    app.said(&Materialized { path: Some(path), ..made }, &told)
}

/// Returns the size of a context in words.
pub(crate) fn told(made: &Materialized) -> String {
    format!(
        "{}, about {} tokens ({})",
        many(made.message_count, "message"),
        size::count(made.token_count),
        size::bytes(made.bytes),
    )
}
