//! `tag`: a name for a commit.

use stemmata_engine::Update;

use crate::args::annotate::Tag;
use crate::commands::update;
use crate::errors::{CliError, Exit};
use crate::wiring::App;

/// Runs the command.
pub(crate) fn run(app: &App, args: Tag) -> Result<Exit, CliError> {
    let ctx = app.find(&args.reference)?;
    let names = vec![args.name];
    let update = if args.remove {
        Update { remove_tags: names, ..Update::default() }
    } else {
        Update { add_tags: names, ..Update::default() }
    };
    update::apply(app, ctx, update)
}
