//! `materialize`: the conversation as an agent should know it.

use stemmata_engine::{HANDOFF_TOKENS_DEFAULT, Materialized};

use crate::args::give::Materialize;
use crate::commands::place::say_losses;
use crate::commands::stop;
use crate::errors::{CliError, Exit};
use crate::output::file::Target;
use crate::output::size::{self, many};
use crate::wiring::App;
use stemmata_service::wire;

/// The name of the empty context.
const NONE: &str = "none";

/// Runs the command.
pub(crate) fn run(app: &App, args: &Materialize) -> Result<Exit, CliError> {
    let ctx = if args.reference == NONE { None } else { Some(app.find(&args.reference)?) };
    let stop = stop(app, &args.stop)?;
    let engine = app.engine()?;
    let target = Target::of(&args.out);
    let made = target.write(|out| {
        Ok(engine.materialize_best(ctx, args.format.as_ref(), (stop, HANDOFF_TOKENS_DEFAULT), out)?)
    })?;
    app.console.notes(&made.notes);
    if let Some(losses) = made.losses.as_ref().filter(|_| !app.console.json) {
        say_losses(app, losses);
    }
    let result = wire::context::materialized(ctx, &args.stop, &made, target.path());
    match target {
        Target::Standard => {}
        Target::File(_) if app.console.json => app.console.json(&result)?,
        Target::File(path) => app.console.say(&format!("{} written to {}", told(&made), path.display())),
    }
    Ok(Exit::Done)
}

/// Returns the size of a context in words.
pub(crate) fn told(made: &Materialized) -> String {
    format!(
        "{}, about {} tokens ({})",
        many(made.counts.messages, "message"),
        size::count(made.counts.tokens),
        size::bytes(made.bytes.0),
    )
}
