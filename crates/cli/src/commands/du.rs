//! `du`: how many bytes were captured, and how many they take.

mod chains;

use stemmata_api::v1;

use crate::args::maintain::Du;
use crate::errors::{CliError, Exit};
use crate::output::size::{self, many};
use crate::output::style::Style;
use crate::output::table::{Column, Table, cell};
use crate::wiring::App;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Du) -> Result<Exit, CliError> {
    if args.chains {
        return chains::run(app, args);
    }
    let usage = app.service()?.usage()?;
    app.answer(&usage, || Ok(told(&usage, app.console.width)))
}

fn told(usage: &v1::Du, width: usize) -> String {
    let mut table =
        Table::new(&[("", Column::Left), ("", Column::Right), ("", Column::Right), ("", Column::Flexible)]);
    let rest = usage.physical_bytes.saturating_sub(usage.content_bytes);
    let rows = [
        ("captured", usage.logical_bytes, "bytes read, each commit counted once"),
        ("distinct", usage.distinct_bytes, "without duplicates"),
        ("compressed", usage.content_bytes, "what that takes"),
        ("  in packs", usage.packed_bytes, "where it takes least room"),
        ("  to be packed", usage.inbox_bytes, "`stemma pack` makes it smaller"),
        ("metadata", rest, "commits, indexes and free pages"),
        ("on disk", usage.physical_bytes, "all files of the store"),
    ];
    let index = usage.index_bytes.map(|bytes| ("search index", bytes, "beside the store; can be rebuilt"));
    let (first, rest) = rows.split_at(1);
    let beside = (usage.sidecars > 0).then_some((
        "  beside transcripts",
        usage.sidecar_bytes,
        "of it: long outputs of tools, backups",
    ));
    for (name, bytes, about) in first.iter().copied().chain(beside).chain(rest.iter().copied()).chain(index) {
        table.row(vec![
            cell(Style::Plain, name),
            cell(Style::Strong, size::bytes(bytes)),
            cell(Style::Plain, size::percent(bytes, usage.logical_bytes)),
            cell(Style::Faint, about),
        ]);
    }
    let files = match usage.sidecars {
        0 => String::new(),
        files => format!(", and {} beside transcripts", many(files, "file")),
    };
    format!(
        "{} in {}, with subagents and copies{files}\n{}",
        many(usage.commits, "commit"),
        many(usage.sessions, "session"),
        table.render(width)
    )
}
