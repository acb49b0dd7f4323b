//! `resume`: places a commit and starts the client with it in this terminal.

use stemmata_model::CommitId;
use stemmata_store::Session;

use crate::args::give::Resume;
use crate::commands::launch::Launch;
use crate::commands::place;
use crate::errors::{CliError, Exit};
use crate::output::size::many;
use crate::output::table::fit;
use crate::output::{session, time};
use crate::wiring::App;
use stemmata_service::wire;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Resume) -> Result<Exit, CliError> {
    let ctx = target(app, args)?;
    let placed = place::place(app, ctx, &args.placement)?;
    if app.console.json {
        app.console.json(&wire::context::placed(&placed))?;
        return Ok(Exit::Done);
    }
    app.console.notes(&placed.notes);
    place::say_prompt(app, &placed);
    let launch = Launch::of(&placed);
    let command = launch.shown(app);
    if args.print {
        app.console.text(&format!("{command}\n"))?;
        return Ok(Exit::Done);
    }
    app.console.say(&format!("Placed {}; starting `{command}`", many(placed.messages, "message")));
    launch.start(app)
}

/// Finds what to resume. A session that goes on since the last import is brought up to date first.
fn target(app: &App, args: &Resume) -> Result<CommitId, CliError> {
    let engine = app.engine()?;
    let latest = match &args.reference {
        Some(reference) => return place::newest(app, reference),
        None if args.last => engine.latest_session(None)?,
        None => app.session_here()?,
    };
    say_which(app, &latest);
    Ok(engine.current(&latest)?)
}

fn say_which(app: &App, latest: &Session) {
    let when = latest.last_at.map(|point| time::ago(point, app.now())).unwrap_or_default();
    app.console.say(&format!(
        "Resuming «{}» ({}, {when}, {})",
        fit(&session::title(latest), 60),
        session::short(latest),
        session::project(latest)
    ));
}
