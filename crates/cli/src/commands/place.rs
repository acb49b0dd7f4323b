//! What `resume`, `fork` and `start` share: placing a commit where the client looks, and telling how to go on.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use stemmata_api::Control;
use stemmata_api::v1::{Found, Losses, Placed};
use stemmata_service::PlaceRequest;

use crate::args::give::Placement;
use crate::errors::CliError;
use crate::output::size::many;
use crate::wiring::App;

/// Reasons of losses that are told to a person; `--json` has them all.
const LOSS_REASONS_MAX: usize = 8;

/// Places a commit as a new session.
pub(crate) fn place(
    app: &App,
    (ctx, at): (String, Option<String>),
    args: &Placement,
) -> Result<Placed, CliError> {
    let service = app.service()?;
    let request = PlaceRequest {
        ctx,
        runtime: args.runtime.clone(),
        cwd: cwd(app, args.cwd.as_deref()),
        stop: app.stop(&args.stop)?,
        at,
        client_version: args.client_version.clone(),
        with_secrets: args.with_secrets,
    };
    let placed = app.host()?.place(service, &request, &Control::none())?;
    say_losses(app, placed.losses.as_ref());
    Ok(placed)
}

/// Returns the directory to work in: the one that was named, else the current one.
pub(crate) fn cwd(app: &App, named: Option<&Path>) -> PathBuf {
    named.map_or_else(|| app.environment.current_dir.clone(), |cwd| app.environment.absolute(cwd))
}

/// Finds what to place: a commit, and the entry of it to end before, where a prompt is named (`4a36:3`).
pub(crate) fn target(app: &App, found: Found, at: Option<&str>) -> (String, Option<String>) {
    match found.prompt {
        Some(prompt) if at.is_none() => (prompt.of, Some(prompt.entry)),
        _ => (app.told(found), at.map(str::to_owned)),
    }
}

/// Finds the commit that the user means. A session means its newest one, brought up to date first.
pub(crate) fn newest(app: &App, reference: &str) -> Result<String, CliError> {
    Ok(app.told(found_newest(app, reference)?))
}

/// Finds what the user means as [`newest`] does, with the prompt that was named where one was.
pub(crate) fn found_newest(app: &App, reference: &str) -> Result<Found, CliError> {
    let service = app.service()?;
    Ok(app.host()?.newest(service, &app.reference(reference))?)
}

/// Finds the latest session of the current directory, or of all, brought up to date; with `is_loadable` one that its client can
/// go on with.
pub(crate) fn latest(
    app: &App,
    of_all: bool,
    is_loadable: bool,
) -> Result<stemmata_service::Latest, CliError> {
    let here = (!of_all).then_some(app.environment.current_dir.as_path());
    let latest = app.opened_host()?.latest(here, is_loadable)?;
    latest.unread.iter().for_each(|unread| app.console.warn(unread));
    Ok(latest)
}

/// Says what a translation kept, and what it did not.
pub(crate) fn say_losses(app: &App, losses: Option<&Losses>) {
    let Some(losses) = losses else { return };
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
