//! `update`: a commit's summary, notes and tags.

use stemmata_api::v1;
use stemmata_engine::Update;
use stemmata_model::CommitId;

use crate::args::annotate;
use crate::errors::{CliError, Exit};
use crate::output::commit::ShortIds;
use crate::output::style::{Style, tame};
use crate::wiring::App;

/// Runs the command.
pub(crate) fn run(app: &App, args: annotate::Update) -> Result<Exit, CliError> {
    let ctx = app.find(&args.reference)?;
    let update = Update {
        summary: args.summary,
        add_tags: args.tag,
        remove_tags: args.untag,
        notes: args.note,
        pin: None,
    };
    apply(app, ctx, update)
}

/// Applies changes and shows how the commit stands now.
pub(crate) fn apply(app: &App, ctx: CommitId, update: Update) -> Result<Exit, CliError> {
    let engine = app.engine()?;
    engine.update(ctx, update, &app.principal()?)?;
    let annotations = engine.store().annotations(ctx)?;
    let summary = engine.summary_of(ctx)?;
    if app.console.json {
        app.console.json(&v1::Changed {
            id: ctx.to_string(),
            summary: summary.text,
            tags: annotations.tags,
            notes: annotations.notes,
            pinned: annotations.pinned,
        })?;
        return Ok(Exit::Done);
    }
    let ids = ShortIds::of(engine, &[ctx])?;
    let tags: Vec<String> = annotations.tags.iter().map(|tag| format!(" #{}", tame(tag))).collect();
    let pinned = if annotations.pinned { " pinned" } else { "" };
    app.console.text(&format!(
        "{}  {}{}{pinned}\n",
        ids.shown(ctx),
        tame(&summary.text),
        Style::Branch.paint(&tags.concat())
    ))?;
    Ok(Exit::Done)
}
