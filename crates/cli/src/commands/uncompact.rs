//! `uncompact`: the context from before the nearest compaction.

use stemmata_api::Chains as _;
use stemmata_api::v1;

use crate::args::give::Uncompact;
use crate::commands::materialize;
use crate::errors::{CliError, Exit};
use crate::output::commit::ShortIds;
use crate::output::file::Target;
use crate::output::style::Style;
use crate::wiring::App;
use stemmata_service::wire;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Uncompact) -> Result<Exit, CliError> {
    let Some(out) = &args.out else { return named(app, &args.reference) };
    let ctx = app.find(&args.reference)?;
    let engine = app.engine()?;
    let target = Target::of(out);
    let (before, made) = target.write(|out| Ok(engine.uncompact(ctx, out)?))?;
    app.console.notes(&made.notes);
    let context = wire::context::materialized(Some(before), "compaction", &made, target.path());
    match target {
        Target::Standard => {}
        Target::File(_) if app.console.json => {
            app.console.json(&v1::Uncompacted { id: before.to_string(), context: Some(context) })?;
        }
        Target::File(path) => {
            let ids = ShortIds::of(engine, &[before])?;
            app.console.text(&format!("{}\n", ids.shown(before)))?;
            app.console.say(&format!("{} written to {}", materialize::told(&made), path.display()));
        }
    }
    Ok(Exit::Done)
}

/// Names the commit just before the compaction.
fn named(app: &App, reference: &str) -> Result<Exit, CliError> {
    let before = app.service()?.before_compaction(&v1::CommitRequest { ctx: app.ctx(reference)? })?;
    let ids = app.short_ids([before.id.as_str()])?;
    let exit = app.answer(&before, || Ok(format!("{}\n", ids.painted(&before.id))))?;
    if !app.console.json {
        let (hint, id) = (Style::Hint.paint("hint"), ids.cut(&before.id));
        app.console.say(&format!("{hint}: `stemma resume {id}` carries on from there"));
    }
    Ok(exit)
}
