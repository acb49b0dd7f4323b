//! `export`: a conversation to read, or for other programs.

use stemmata_api::v1;
use stemmata_engine::Projection;

use crate::args::give::Export;
use crate::commands::stop;
use crate::errors::{CliError, Exit};
use crate::output::file::Target;
use crate::output::size;
use crate::wiring::App;
use stemmata_service::wire;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Export) -> Result<Exit, CliError> {
    let ctx = app.find(&args.reference)?;
    let stop = stop(app, &args.stop)?;
    let by_ending =
        args.out.extension().and_then(|ending| ending.to_str()).and_then(Projection::of_extension);
    let projection = args.format.or(by_ending).unwrap_or(Projection::Markdown);
    let target = Target::of(&args.out);
    let engine = app.engine()?;
    let made = target.write(|out| Ok(engine.export(ctx, projection, stop, out)?))?;
    app.console.notes(&made.notes);
    let Target::File(path) = target else { return Ok(Exit::Done) };
    if app.console.json {
        app.console.json(&v1::Exported {
            ctx: ctx.to_string(),
            stop: args.stop.clone(),
            format: projection.as_str().to_owned(),
            bytes: made.bytes.0,
            entry_count: made.entries,
            notes: wire::notes(&made.notes),
            path: Some(path.to_string_lossy().into_owned()),
        })?;
    } else {
        let (size, form) = (size::bytes(made.bytes.0), projection.as_str());
        app.console.say(&format!("{size} written to {} ({form})", path.display()));
    }
    Ok(Exit::Done)
}
