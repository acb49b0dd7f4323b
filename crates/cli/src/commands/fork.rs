//! `fork`: a commit as a new session beside the old one.

use std::path::Path;

use crate::args::give::Fork;
use crate::commands::launch::Launch;
use crate::commands::place::{self, Manner, Target};
use crate::errors::{CliError, Exit};
use crate::output::size::{self, many};
use crate::output::style::Style;
use crate::wiring::App;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Fork) -> Result<Exit, CliError> {
    let found = place::found_here(app, &args.reference, &args.placement)?;
    let target = Target::of(app, found, args.placement.at.as_deref());
    let manner = Manner { reuses: false, starts: false };
    let Some(placed) = place::place(app, target, manner, &args.placement)? else { return Ok(Exit::Done) };
    if app.console.json {
        app.console.json(&placed)?;
        return Ok(Exit::Done);
    }
    app.console.notes(&placed.notes);
    let command = Launch::of(&placed).shown(app);
    if placed.dry_run {
        place::say_prompt(app, &placed);
        place::say_plan(app, &placed, &command)?;
        return Ok(Exit::Done);
    }
    if args.print {
        place::say_prompt(app, &placed);
        app.console.text(&format!("{command}\n"))?;
        return Ok(Exit::Done);
    }
    let ids = app.short_ids([placed.ctx])?;
    app.console.text(&format!(
        "{} {} as session {}: {}, {}\n  {}\n",
        Style::Good.paint("Forked"),
        Style::Id.paint(&ids.cut(placed.ctx)),
        placed.session_id,
        many(placed.messages, "message"),
        size::bytes(placed.bytes),
        app.environment.shown(Path::new(&placed.path)),
    ))?;
    place::say_prompt(app, &placed);
    app.console.hint(&format!("`{command}` starts it"));
    Ok(Exit::Done)
}
