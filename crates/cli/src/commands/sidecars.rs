//! `sidecars`: the files that were captured beside a session's transcript.

use stemmata_api::v1::{Sidecars, SidecarsRequest};

use crate::args::browse;
use crate::errors::{CliError, Exit};
use crate::output::put;
use crate::output::size::{self, many};
use crate::output::style::Style;
use crate::output::table::{Column, Table, cell};
use crate::wiring::App;

/// Runs the command.
pub(crate) fn run(app: &App, args: &browse::Sidecars) -> Result<Exit, CliError> {
    let ctx = app.ctx(&args.context)?;
    let found = app.service()?.sidecars(&SidecarsRequest { ctx })?;
    if found.sidecars.is_empty() && !app.console.json {
        app.console.say("No files were captured beside this session's transcript.");
    }
    app.answer(&found, || told(app, &found))
}

fn told(app: &App, found: &Sidecars) -> Result<String, CliError> {
    if found.sidecars.is_empty() {
        return Ok(String::new());
    }
    let ids = app.short_ids(found.sidecars.iter().map(|sidecar| sidecar.ctx))?;
    let mut table = Table::new(&[
        ("COMMIT", Column::Left),
        ("BYTES", Column::Right),
        ("FILE", Column::Flexible),
        ("", Column::Left),
    ]);
    for sidecar in &found.sidecars {
        let mark = if sidecar.altered { "secrets replaced" } else { "" };
        table.row(vec![
            cell(Style::Id, ids.cut(sidecar.ctx)),
            cell(Style::Strong, size::bytes(sidecar.bytes)),
            cell(Style::Plain, format!("{}/{}", sidecar.folder, sidecar.name)),
            cell(Style::Warning, mark),
        ]);
    }
    let mut text = table.render(app.console.width);
    let files = u64::try_from(found.sidecars.len()).unwrap_or(u64::MAX);
    put!(
        text,
        "\n{}, {}; `stemma native COMMIT` writes one\n",
        many(files, "file"),
        size::bytes(found.bytes)
    );
    Ok(text)
}
