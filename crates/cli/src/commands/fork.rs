//! `fork`: a commit as a new session beside the old one.

use crate::args::give::Fork;
use crate::commands::launch::Launch;
use crate::commands::place;
use crate::errors::{CliError, Exit};
use crate::output::commit::ShortIds;
use crate::output::size::{self, many};
use crate::output::style::Style;
use crate::wiring::App;
use stemmata_service::wire;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Fork) -> Result<Exit, CliError> {
    let ctx = app.find(&args.reference)?;
    let placed = place::place(app, ctx, &args.placement)?;
    if app.console.json {
        app.console.json(&wire::context::placed(&placed))?;
        return Ok(Exit::Done);
    }
    app.console.notes(&placed.notes);
    let command = Launch::of(&placed).shown(app);
    if args.print {
        place::say_prompt(app, &placed);
        app.console.text(&format!("{command}\n"))?;
        return Ok(Exit::Done);
    }
    let ids = ShortIds::of(app.engine()?, &[placed.ctx])?;
    app.console.text(&format!(
        "{} {} as session {}: {}, {}\n  {}\n",
        Style::Good.paint("Forked"),
        ids.shown(placed.ctx),
        placed.session,
        many(placed.messages, "message"),
        size::bytes(placed.bytes),
        app.environment.shown(&placed.path),
    ))?;
    place::say_prompt(app, &placed);
    app.console.say(&format!("{}: `{command}` starts it", Style::Hint.paint("hint")));
    Ok(Exit::Done)
}
