//! `artifact read`: a range of a stored output of a tool, or of any other artifact.

use stemmata_api::v1::{ArtifactRange, ArtifactReadRequest, ArtifactUnit};

use crate::args::artifact::{ArtifactCommand, ArtifactRead, Span};
use crate::errors::{CliError, Exit};
use crate::output::size::grouped;
use crate::wiring::App;

/// Runs the command.
pub(crate) fn run(app: &App, command: &ArtifactCommand) -> Result<Exit, CliError> {
    match command {
        ArtifactCommand::Read(args) => read(app, args),
    }
}

fn read(app: &App, args: &ArtifactRead) -> Result<Exit, CliError> {
    let units = [
        (ArtifactUnit::Lines, args.lines),
        (ArtifactUnit::Bytes, args.bytes),
        (ArtifactUnit::Chars, args.chars),
    ];
    let range = |(unit, span): (ArtifactUnit, Option<Span>)| {
        span.map(|Span { from, to }| ArtifactRange { unit, from, to })
    };
    let request = ArtifactReadRequest {
        artifact: args.id.clone(),
        range: units.into_iter().find_map(range),
        bytes_max: None,
    };
    let read = app.service()?.read_artifact(&request)?;
    if read.is_cut && !app.console.json {
        let (to, bytes) = (read.to_byte, grouped(read.bytes));
        app.console.warn(&format!("this is a part of {bytes} bytes; continue with `--bytes {to}..`"));
    }
    app.answer(&read, || Ok(read.text.clone()))
}
