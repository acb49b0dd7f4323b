//! `materialize`: the conversation as an agent should know it.

use stemmata_api::v1;
use stemmata_engine::{HANDOFF_TOKENS_DEFAULT, Materialized};
use stemmata_model::CommitId;

use crate::args::give::Materialize;
use crate::commands::place::say_losses;
use crate::commands::stop;
use crate::errors::{CliError, Exit};
use crate::output::file::Target;
use crate::output::size::{self, many};
use crate::output::wire;
use crate::wiring::App;

/// The name of the empty context.
const NONE: &str = "none";

/// Runs the command.
pub(crate) fn run(app: &App, args: &Materialize) -> Result<Exit, CliError> {
    let ctx = if args.reference == NONE { None } else { Some(app.find(&args.reference)?) };
    let stop = stop(app, &args.stop)?;
    let engine = app.engine()?;
    let target = Target::of(&args.out);
    let made = target.write(|out| {
        Ok(engine.materialize_best(ctx, args.format.as_ref(), (stop, HANDOFF_TOKENS_DEFAULT), out)?)
    })?;
    app.console.notes(&made.notes);
    if let Some(losses) = made.losses.as_ref().filter(|_| !app.console.json) {
        say_losses(app, losses);
    }
    let result = wire(ctx, &args.stop, &made, &target);
    match target {
        Target::Standard => {}
        Target::File(_) if app.console.json => app.console.json(&result)?,
        Target::File(path) => app.console.say(&format!("{} written to {}", told(&made), path.display())),
    }
    Ok(Exit::Done)
}

/// Returns the size of a context in words.
pub(crate) fn told(made: &Materialized) -> String {
    format!(
        "{}, about {} tokens ({})",
        many(made.counts.messages, "message"),
        size::count(made.counts.tokens),
        size::bytes(made.bytes.0),
    )
}

/// Returns the wire form of a context that was written.
pub(crate) fn wire(
    ctx: Option<CommitId>,
    stop: &str,
    made: &Materialized,
    target: &Target,
) -> v1::Materialized {
    let reparented = made.reparented.iter().map(|(entry, parent)| v1::Reparented {
        entry: entry.to_string(),
        parent: parent.as_ref().map(ToString::to_string),
    });
    v1::Materialized {
        ctx: ctx.map(|ctx| ctx.to_string()),
        stop: stop.to_owned(),
        format: made.format.to_string(),
        tier: made.tier.as_str().to_owned(),
        bytes: made.bytes.0,
        message_count: made.counts.messages,
        token_count: made.counts.tokens,
        entry_count: made.counts.entries,
        commits_read: made.commits_read,
        abandoned_entries: made.abandoned_entries,
        skipped_compactions: made.skipped_compactions,
        reparented: reparented.collect(),
        losses: made.losses.as_ref().map(wire::losses),
        notes: wire::notes(&made.notes),
        path: match target {
            Target::Standard => None,
            Target::File(path) => Some(path.to_string_lossy().into_owned()),
        },
    }
}
