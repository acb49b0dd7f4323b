//! `native`: the transcript up to a commit, byte for byte.

use stemmata_api::{Control, v1};

use crate::args::give::Native;
use crate::errors::{CliError, Exit};
use crate::output::file::Target;
use crate::output::size;
use crate::wiring::App;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Native) -> Result<Exit, CliError> {
    let request = v1::NativeRequest::of(app.ctx(&args.reference)?);
    let (service, target) = (app.service()?, Target::of(&args.out));
    let native =
        target.write(&app.temp_files(), |out| Ok(service.native(&request, out, &Control::none())?))?;
    let Some(path) = target.path() else { return Ok(Exit::Done) };
    let told = format!("{} written to {path}", size::bytes(native.bytes));
    app.said(&v1::Native { path: Some(path), ..native }, &told)
}
