//! `snapshot`: the whole context of a commit as one commit below it.

use stemmata_api::v1::{Named, SnapshotRequest};

use crate::args::capture::Snapshot;
use crate::errors::{CliError, Exit};
use crate::wiring::App;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Snapshot) -> Result<Exit, CliError> {
    let request = SnapshotRequest { ctx: app.ctx(&args.reference)?, stop: app.stop(&args.stop)? };
    named(app, &app.service()?.snapshot(&request)?)
}

/// Prints one commit's id, whole, because programs read it.
pub(crate) fn named(app: &App, named: &Named) -> Result<Exit, CliError> {
    app.answer(named, || Ok(format!("{}\n", named.id)))
}
