//! `resume`: places a commit and starts the client with it in this terminal.

use stemmata_api::v1::{Placed, Session};

use crate::args::give::Resume;
use crate::commands::launch::Launch;
use crate::commands::place::{self, Manner, Target};
use crate::errors::{CliError, Exit};
use crate::output::size::many;
use crate::output::table::fit;
use crate::output::{session, time};
use crate::wiring::App;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Resume) -> Result<Exit, CliError> {
    let target = target(app, args)?;
    let manner =
        Manner { reuses: !args.copy, starts: !args.print && (args.placement.dry_run || !app.console.json) };
    let Some(placed) = place::place(app, target, manner, &args.placement)? else { return Ok(Exit::Done) };
    if app.console.json {
        app.console.json(&placed)?;
        return Ok(Exit::Done);
    }
    app.console.notes(&placed.notes);
    place::say_prompt(app, &placed);
    let launch = Launch::of(&placed);
    let command = launch.shown(app);
    if placed.dry_run {
        place::say_plan(app, &placed, &command)?;
        return Ok(Exit::Done);
    }
    if args.print {
        app.console.text(&format!("{command}\n"))?;
        return Ok(Exit::Done);
    }
    let placed = place::settled(app, placed, &args.placement)?;
    let launch = Launch::of(&placed);
    app.console.say(&format!("{}; starting `{}`", begun(&placed), launch.shown(app)));
    launch.start(app)
}

/// Says what the client continues with, and why with a copy.
fn begun(placed: &Placed) -> String {
    let messages = many(placed.messages, "message");
    if placed.own_session {
        return format!("Resuming its own session, {messages}");
    }
    let why = placed.copied_because.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
    format!("Placed a copy of {messages}{why}")
}

/// Finds what to resume. A session that goes on since the last import is brought up to date first.
fn target(app: &App, args: &Resume) -> Result<Target, CliError> {
    let at = args.placement.at.as_deref();
    if let Some(reference) = &args.reference {
        return Ok(Target::of(app, place::found_here(app, reference, &args.placement)?, at));
    }
    place::refuse_plan(app, &args.placement)?;
    let latest = place::latest(app, args.last, args.placement.runtime.is_none())?;
    app.bring_here(&latest.ctx.to_string())?;
    // A failure is one object on standard error then.
    if !app.console.json {
        say_which(app, &latest.session);
    }
    Ok(Target {
        ctx: latest.ctx,
        at: at.map(str::to_owned),
        session: Some(latest.session.session_id.to_string()),
    })
}

fn say_which(app: &App, latest: &Session) {
    let when = latest.last_at.map(|point| time::ago(point, app.now()));
    app.console.say(&format!(
        "Resuming «{}» ({}, {}, {})",
        fit(&session::title_of(latest.title.as_deref().unwrap_or_default()), 60),
        session::short(latest),
        when.unwrap_or_default(),
        session::project_of(latest.cwd.as_deref())
    ));
}
