//! `export`: a conversation to read, or for other programs.

use std::path::Path;

use stemmata_api::Control;
use stemmata_api::v1::{self, ExportForm};

use crate::args::give::Export;
use crate::errors::{CliError, Exit};
use crate::output::file::Target;
use crate::output::size;
use crate::wiring::App;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Export) -> Result<Exit, CliError> {
    let request = v1::ExportRequest {
        ctx: app.ctx(&args.reference)?,
        stop: app.stop(&args.stop)?,
        form: args.format.or_else(|| by_ending(&args.out)).unwrap_or(ExportForm::Markdown),
    };
    let (service, target) = (app.service()?, Target::of(&args.out));
    let made =
        target.write(&app.temp_files(), |out| Ok(service.export(&request, out, &Control::none())?))?;
    app.console.notes(&made.notes);
    let Some(path) = target.path() else { return Ok(Exit::Done) };
    let told = format!("{} written to {path} ({})", size::bytes(made.bytes), made.format);
    app.said(&v1::Exported { path: Some(path), ..made }, &told)
}

/// Returns the form that a file's ending means, where one does.
fn by_ending(path: &Path) -> Option<ExportForm> {
    match path.extension()?.to_str()? {
        "html" | "htm" => Some(ExportForm::Html),
        "md" | "markdown" => Some(ExportForm::Markdown),
        _ => None,
    }
}
