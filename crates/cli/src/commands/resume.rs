//! `resume`: places a commit and starts the client with it in this terminal.

use stemmata_api::v1::Session;

use crate::args::give::Resume;
use crate::commands::launch::Launch;
use crate::commands::place;
use crate::errors::{CliError, Exit};
use crate::output::size::many;
use crate::output::table::fit;
use crate::output::{session, time};
use crate::wiring::App;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Resume) -> Result<Exit, CliError> {
    let target = target(app, args)?;
    let placed = place::place(app, target, &args.placement)?;
    if app.console.json {
        app.console.json(&placed)?;
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
fn target(app: &App, args: &Resume) -> Result<(String, Option<String>), CliError> {
    let at = args.placement.at.as_deref();
    if let Some(reference) = &args.reference {
        return Ok(place::target(app, place::found_newest(app, reference)?, at));
    }
    let latest = place::latest(app, args.last, args.placement.runtime.is_none())?;
    // A failure is one object on standard error then.
    if !app.console.json {
        say_which(app, &latest.session);
    }
    Ok((latest.ctx, at.map(str::to_owned)))
}

fn say_which(app: &App, latest: &Session) {
    let when = latest.last_at.as_deref().map(|point| time::ago(time::of_text(point), app.now()));
    app.console.say(&format!(
        "Resuming «{}» ({}, {}, {})",
        fit(&session::title_of(latest.title.as_deref().unwrap_or_default()), 60),
        session::short(latest),
        when.unwrap_or_default(),
        session::project_of(latest.cwd.as_deref())
    ));
}
