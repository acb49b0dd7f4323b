//! What `resume` and `fork` share: placing a commit where the client looks, and telling how to go on.
//!
//! How a context is placed, and whether the client will take it, is the engine's.

use std::collections::BTreeMap;

use stemmata_api::v1::Losses;
use stemmata_engine::{PlaceOptions, Placed, RUNTIMES, runtime_of};
use stemmata_model::CommitId;
use stemmata_store::{Page, Session, SessionFilter};

use crate::args::give::Placement;
use crate::commands::stop;
use crate::errors::CliError;
use crate::output::size::many;
use crate::wiring::App;
use stemmata_service::wire;

/// Sessions that are looked at to find the newest version of the client.
const VERSION_ROWS_MAX: usize = 50;

/// Reasons of losses that are told to a person; `--json` has them all.
const LOSS_REASONS_MAX: usize = 8;

/// Places a commit as a new session.
pub(crate) fn place(app: &App, ctx: CommitId, args: &Placement) -> Result<Placed, CliError> {
    let engine = app.engine()?;
    let runtime = match &args.runtime {
        Some(runtime) => runtime.clone(),
        None => engine.runtime_of_commit(ctx)?,
    };
    let place = RUNTIMES.iter().find(|place| place.runtime == runtime).ok_or_else(|| {
        let known: Vec<&str> = RUNTIMES.iter().map(|place| place.runtime).collect();
        let known = known.join(", ");
        CliError::Usage(format!("`{runtime}` is no runtime whose sessions can be placed; these are: {known}"))
    })?;
    let config_dir = app
        .homes()
        .config_dir(place)
        .ok_or(CliError::NoHome { what: "the client's sessions", variable: place.variable })?;
    let cwd = match &args.cwd {
        Some(cwd) => app.environment.absolute(cwd),
        None => app.environment.current_dir.clone(),
    };
    if !cwd.is_dir() {
        return Err(CliError::Usage(format!("{} is no directory to work in", cwd.display())));
    }
    let client_version = match &args.client_version {
        Some(version) => Some(version.clone()),
        None => newest_version(app, &runtime)?,
    };
    let options = PlaceOptions {
        runtime: Some(runtime),
        config_dir,
        cwd,
        stop: stop(app, &args.stop)?,
        at_entry: args.at.clone(),
        client_version,
        with_secrets: args.with_secrets,
    };
    let placed = engine.place(ctx, &options)?;
    if let Some(losses) = &placed.losses {
        say_losses(app, &wire::losses(losses));
    }
    Ok(placed)
}

/// Finds the commit that the user means. A session means its newest one, brought up to date first.
pub(crate) fn newest(app: &App, reference: &str) -> Result<CommitId, CliError> {
    let engine = app.engine()?;
    match engine.find_session(reference) {
        Ok(Some(session)) => Ok(engine.current(&session)?),
        Ok(None) | Err(_) => app.find(reference),
    }
}

/// Returns the version of the client that wrote the newest session of this machine: most likely the one that
/// will read what is placed.
fn newest_version(app: &App, runtime: &str) -> Result<Option<String>, CliError> {
    let machine = &app.engine()?.identity().machine;
    let filter = SessionFilter { main_only: true, ..SessionFilter::default() };
    let newest = app.engine()?.store().sessions(&filter, Page { skip: 0, rows_max: VERSION_ROWS_MAX })?;
    let is_its =
        |session: &Session| &session.key.machine == machine && runtime_of(&session.format) == runtime;
    let mut versions = newest.into_iter().filter(is_its);
    Ok(versions.find_map(|session| session.version))
}

/// Says what a translation kept, and what it did not.
pub(crate) fn say_losses(app: &App, losses: &Losses) {
    let mut told =
        format!("Translated from {} to {}: {} kept", losses.from, losses.to, many(losses.kept, "entry"));
    for (count, what) in [(losses.changed, "of them changed"), (losses.dropped, "dropped")] {
        if count > 0 {
            told = format!("{told}, {count} {what}");
        }
    }
    app.console.say(&told);
    let mut reasons: BTreeMap<&str, u64> = BTreeMap::new();
    for loss in &losses.entries {
        *reasons.entry(loss.reason.as_str()).or_default() += 1;
    }
    let mut reasons: Vec<(&str, u64)> = reasons.into_iter().collect();
    reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    for (reason, count) in reasons.into_iter().take(LOSS_REASONS_MAX) {
        app.console.say(&format!("  {count} × {reason}"));
    }
}

/// Says which prompt was cut off, so that it can be edited and sent again.
pub(crate) fn say_prompt(app: &App, placed: &Placed) {
    if let Some(prompt) = &placed.prompt {
        app.console.say("The fork ends before this prompt; edit it and send it again:");
        app.console.say(&format!("  {}", prompt.replace('\n', "\n  ")));
    }
}
