//! `tag`: a name for a commit.

use stemmata_engine::Update;

use crate::args::annotate::Tag;
use crate::commands::update;
use crate::errors::{CliError, Exit};
use crate::wiring::App;

/// Commits of one tag that are counted.
const NAMED_MAX: usize = 1_000;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Tag) -> Result<Exit, CliError> {
    let ctx = app.find(&args.reference)?;
    let names = vec![args.name.clone()];
    if args.remove {
        return update::apply(app, ctx, Update { remove_tags: names, ..Update::default() });
    }
    let exit = update::apply(app, ctx, Update { add_tags: names, ..Update::default() })?;
    let count = app.engine()?.store().tagged(&args.name, NAMED_MAX)?.len();
    if count > 1 {
        app.console
            .warn(&format!("`{}` names {count} commits now, so only an id tells them apart", args.name));
    }
    Ok(exit)
}
