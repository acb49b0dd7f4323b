//! `native`: the transcript up to a commit, byte for byte.

use stemmata_api::v1;

use crate::args::give::Native;
use crate::errors::{CliError, Exit};
use crate::output::file::Target;
use crate::output::size;
use crate::wiring::App;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Native) -> Result<Exit, CliError> {
    let ctx = app.find(&args.reference)?;
    let target = Target::of(&args.out);
    let engine = app.engine()?;
    let bytes = target.write(|out| Ok(engine.native(ctx, out)?))?.0;
    let Target::File(path) = target else { return Ok(Exit::Done) };
    let path = path.to_string_lossy().into_owned();
    if app.console.json {
        app.console.json(&v1::Native { ctx: ctx.to_string(), bytes, path: Some(path) })?;
    } else {
        app.console.say(&format!("{} written to {path}", size::bytes(bytes)));
    }
    Ok(Exit::Done)
}
