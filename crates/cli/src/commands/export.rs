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
    let form = args.format.map_or_else(|| by_ending(&args.out), Ok)?;
    let (ctx, prompts) = if let Some((ctx, range)) = app.range(&args.reference)? {
        (ctx, Some(range))
    } else {
        let found = app.service()?.find(&app.reference(&args.reference))?;
        app.say_before(&args.reference, &found);
        (app.told(&found).to_string(), None)
    };
    let request = v1::ExportRequest { ctx, stop: app.stop(&args.stop)?, form, prompts };
    let (service, target) = (app.service()?, Target::of(&args.out));
    let made =
        target.write(&app.temp_files(), |out| Ok(service.export(&request, out, &Control::none())?))?;
    app.console.notes(&made.notes);
    let Some(path) = target.path() else { return Ok(Exit::Done) };
    let told = format!("{} written to {path} ({})", size::bytes(made.bytes), made.format);
    app.said(&v1::Exported { path: Some(path), ..made }, &told)
}

/// Returns the form that a file's ending means. A file without one has Markdown in it; what has another is not written as if it were.
fn by_ending(path: &Path) -> Result<ExportForm, CliError> {
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
    match ending.as_deref() {
        Some("html" | "htm") => Ok(ExportForm::Html),
        Some("md" | "markdown" | "txt") | None => Ok(ExportForm::Markdown),
        Some(ending) => {
            let forms = ExportForm::ALL.map(ExportForm::as_str).join("`, `");
            Err(CliError::Usage(format!(
                "`export` writes no .{ending} of its own: name what to write into it with `--format`, one of `{forms}`, or a file \
                 that ends with .html or .md"
            )))
        }
    }
}
