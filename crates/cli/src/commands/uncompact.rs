//! `uncompact`: the context from before the nearest compaction.

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
    let ctx = app.find(&args.reference)?;
    let engine = app.engine()?;
    let Some(out) = &args.out else {
        let (_, before) = engine.before_compaction(ctx)?;
        if app.console.json {
            app.console.json(&v1::Uncompacted { id: before.to_string(), context: None })?;
            return Ok(Exit::Done);
        }
        let ids = ShortIds::of(engine, &[before])?;
        app.console.text(&format!("{}\n", ids.shown(before)))?;
        let hint = Style::Hint.paint("hint");
        app.console.say(&format!("{hint}: `stemma resume {}` carries on from there", ids.text(before)));
        return Ok(Exit::Done);
    };
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
