//! `snapshot`: the whole context of a commit as one commit below it.

use stemmata_api::v1;
use stemmata_model::CommitId;

use crate::args::capture::Snapshot;
use crate::commands::stop;
use crate::errors::{CliError, Exit};
use crate::wiring::App;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Snapshot) -> Result<Exit, CliError> {
    let ctx = app.find(&args.reference)?;
    let stop = stop(app, &args.stop)?;
    let made = app.engine()?.snapshot(ctx, stop)?;
    print_id(app, made)
}

/// Prints one commit's id, whole, because programs read it.
pub(crate) fn print_id(app: &App, id: CommitId) -> Result<Exit, CliError> {
    if !app.console.json {
        app.console.text(&format!("{id}\n"))?;
        return Ok(Exit::Done);
    }
    let shown = app.engine()?.show(id)?;
    app.console.json(&v1::Named {
        id: id.to_string(),
        session_id: shown.sightings.first().map(|sighting| sighting.session.to_string()),
        closure: shown.commit.closure.as_str().to_owned(),
    })?;
    Ok(Exit::Done)
}
