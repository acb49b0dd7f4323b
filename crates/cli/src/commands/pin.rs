//! `pin` and `unpin`: protection from collection.

use stemmata_engine::Update;

use crate::args::annotate::Pin;
use crate::commands::update;
use crate::errors::{CliError, Exit};
use crate::wiring::App;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Pin, pin: bool) -> Result<Exit, CliError> {
    let ctx = app.find(&args.reference)?;
    update::apply(app, ctx, Update { pin: Some(pin), ..Update::default() })
}
