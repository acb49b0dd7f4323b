//! `children`: the commits that continue one.

use stemmata_api::v1;
use stemmata_model::Commit;

use crate::args::browse::Children;
use crate::commands::{ROWS_MAX, log};
use crate::errors::{CliError, Exit};
use crate::output::commit;
use crate::wiring::App;
use stemmata_service::wire;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Children) -> Result<Exit, CliError> {
    let ctx = app.find(&args.reference)?;
    let engine = app.engine()?;
    let children = engine.store().children(ctx, ROWS_MAX)?;
    if app.console.json {
        let commits = wire::commit::commits(engine, &children)?;
        app.console.json(&v1::Children { of: ctx.to_string(), commits })?;
        return Ok(Exit::Done);
    }
    if children.is_empty() {
        app.console.say(&format!("Nothing continues {ctx}: it is a tip."));
    }
    app.console.long_text(&lines(app, &children)?)?;
    Ok(Exit::Done)
}

/// Returns one line for each commit.
pub(crate) fn lines(app: &App, commits: &[Commit]) -> Result<String, CliError> {
    log::commit_table(app, &app.engine()?.describe(&commit::ids_of(commits))?)
}
