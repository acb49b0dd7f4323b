//! `children`: the commits that continue one.

use stemmata_engine::HistoryRow;
use stemmata_model::{Commit, CommitId};

use crate::args::browse::Children;
use crate::commands::{ROWS_MAX, log};
use crate::errors::{CliError, Exit};
use crate::output::commit::{self, ShortIds};
use crate::output::v1;
use crate::wiring::App;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Children) -> Result<Exit, CliError> {
    let ctx = app.find(&args.reference)?;
    let engine = app.engine()?;
    let children = engine.store().children(ctx, ROWS_MAX)?;
    if app.console.json {
        let commits: Result<_, CliError> = children.iter().map(|child| commit::wire(engine, child)).collect();
        app.console.json(&v1::Children { of: ctx.to_string(), commits: commits? })?;
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
    let engine = app.engine()?;
    let found: Vec<CommitId> = commits.iter().map(|commit| commit.id).collect();
    let ids = ShortIds::of(engine, &found)?;
    let mut text = String::new();
    for commit in commits {
        let row = HistoryRow { commit: commit.clone(), summary: engine.summary(commit)? };
        text.push_str(&log::commit_line(app, ids, &row)?);
    }
    Ok(text)
}
