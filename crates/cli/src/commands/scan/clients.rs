//! `scan --clients`: secrets in the clients' own transcripts, with file and line.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use stemmata_api::Control;
use stemmata_api::v1::{ClientFinding, ClientScan};

use crate::errors::{CliError, Exit};
use crate::output::put;
use crate::output::size::{self, many, more, plural};
use crate::output::style::{Style, tame};
use crate::wiring::App;

/// Lines of one file that people see; `--json` has all.
const LINES_MAX: usize = 10;

/// Runs the command.
pub(super) fn run(app: &App, limit: u64) -> Result<Exit, CliError> {
    let scanned = app.opened_host()?.scan_clients(limit, &Control::none())?;
    for unread in &scanned.unread {
        app.console.warn(&format!(
            "not read: {}: {}",
            app.environment.shown(Path::new(&unread.path)),
            unread.reason
        ));
    }
    app.answer(&scanned, || Ok(text(app, &scanned)))?;
    if !app.console.json && !scanned.findings.is_empty() {
        app.console.hint(
            "rotate these secrets: they are in plain text in the clients' files, whatever Stemmata redacts",
        );
    }
    Ok(match (scanned.findings.is_empty(), scanned.unread.is_empty()) {
        (true, true) => Exit::Done,
        (true, false) => Exit::Partial,
        (false, _) => Exit::Found,
    })
}

fn text(app: &App, scanned: &ClientScan) -> String {
    let mut files: BTreeMap<(&str, &str), Vec<&ClientFinding>> = BTreeMap::new();
    for found in &scanned.findings {
        files.entry((&found.client, &found.path)).or_default().push(found);
    }
    let mut text = String::new();
    for ((client, path), found) in &files {
        put!(text, "{}  {}\n", app.environment.shown(Path::new(path)), Style::Faint.paint(client));
        let mut rows: Vec<String> = Vec::new();
        for one in found {
            let kind = Style::Warning.paint(&tame(&one.kind));
            rows.push(format!("  line {}  {kind}  {}", one.line, Style::Faint.paint(&one.fingerprint)));
        }
        rows.dedup();
        for row in rows.iter().take(LINES_MAX) {
            put!(text, "{row}\n");
        }
        text.push_str(&more(rows.len(), LINES_MAX, "  ", ""));
    }
    let read = format!("{} ({})", many(scanned.files, "transcript"), size::bytes(scanned.bytes));
    if scanned.findings.is_empty() {
        put!(text, "{}: no secrets in {read}\n", Style::Good.paint("Clean"));
    } else {
        let different: BTreeSet<&str> =
            scanned.findings.iter().map(|found| found.fingerprint.as_str()).collect();
        put!(
            text,
            "{}: {} at {} in {} of {read}\n",
            Style::Warning.paint("Found"),
            plural(different.len(), "secret"),
            plural(scanned.findings.len(), "place"),
            plural(files.len(), "file")
        );
    }
    text
}
