//! `scan`: finds secrets by the current rules, and never prints one.

mod clients;

use std::collections::BTreeMap;

use stemmata_api::Control;
use stemmata_api::v1::{Scan as Scanned, ScanFinding, ScanRequest};

use crate::args::secrets::Scan;
use crate::commands::unread;
use crate::errors::{CliError, Exit};
use crate::output::put;
use crate::output::size::{self, many, more, plural};
use crate::output::style::{Style, tame};
use crate::wiring::App;

/// Findings that people see; `--json` has all.
const LINES_MAX: usize = 40;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Scan) -> Result<Exit, CliError> {
    if args.clients {
        return clients::run(app, args.limit);
    }
    let request = ScanRequest {
        reference: args.reference.clone(),
        path: args.reference.as_ref().map(|reference| app.path_of(reference)),
        after: args.after.clone(),
        limit: Some(args.limit),
    };
    let scanned = app.service()?.scan(&request, &Control::none())?;
    if let Some(meant) = &scanned.meant {
        app.say_redirected(meant);
    }
    unread::warn(app, "scanned", &scanned.unread);
    app.answer(&scanned, || told(app, &scanned))?;
    // What was found is the graver news; that not all was looked at is said either way.
    Ok(match (scanned.findings.is_empty(), scanned.unread.is_empty()) {
        (true, true) => Exit::Done,
        (true, false) => Exit::Partial,
        (false, _) => Exit::Found,
    })
}

fn told(app: &App, scanned: &Scanned) -> Result<String, CliError> {
    let found = &scanned.findings;
    let mut text = findings(app, found)?;
    let looked = looked(scanned);
    if found.is_empty() && !scanned.unread.is_empty() {
        put!(text, "{}: nothing found in {looked}\n", Style::Warning.paint("Incomplete"));
    } else if found.is_empty() {
        put!(text, "{}: nothing found in {looked}\n", Style::Good.paint("Clean"));
    } else {
        let all = plural(found.len(), "finding");
        put!(text, "{}: {all} in {looked}\n", Style::Warning.paint("Found"));
        let hint = Style::Hint.paint("hint");
        let all = if found.iter().all(|found| found.commit.is_some()) { "REF" } else { "--all" };
        put!(text, "{hint}: `stemma scrub {all} --dry-run` shows what replacing them would change\n");
    }
    if let Some(next) = &scanned.next {
        put!(text, "{}: `stemma scan --after {}` continues\n", Style::Hint.paint("hint"), quoted(next));
    }
    Ok(text)
}

fn findings(app: &App, found: &[ScanFinding]) -> Result<String, CliError> {
    let mut text = String::new();
    let shown = found.get(..LINES_MAX).unwrap_or(found);
    let ids = app.short_ids(shown.iter().filter_map(|found| found.commit))?;
    for one in shown {
        let ledger = one.ledger.as_ref().map(tame).unwrap_or_default();
        let holder = match (&one.commit, &one.event, &one.state) {
            (Some(commit), _, _) => Style::Id.paint(&ids.cut(*commit)),
            (None, Some(event), _) => {
                let session = one.session_id.as_ref().map(tame).unwrap_or_default();
                format!("{ledger}#{event}  session {session}")
            }
            (None, None, state) => {
                format!("{ledger}  state {}", state.as_deref().map(tame).unwrap_or_default())
            }
        };
        let place = match (one.line, &one.field) {
            (Some(line), _) => format!("line {line}  "),
            (None, Some(field)) if one.commit.is_some() => format!("the {field} of its session  "),
            (None, Some(field)) => format!("its {field}  "),
            (None, None) if one.commit.is_some() => "its summary, tags or notes  ".to_owned(),
            (None, None) => String::new(),
        };
        put!(text, "{holder}  {place}{}  {}\n", one.kind, Style::Faint.paint(&one.fingerprint));
    }
    text.push_str(&more(found.len(), shown.len(), "", ""));
    let mut kinds: BTreeMap<&str, (u64, std::collections::BTreeSet<&str>)> = BTreeMap::new();
    for one in found {
        let (count, distinct) = kinds.entry(&one.kind).or_default();
        *count += 1;
        distinct.insert(&one.fingerprint);
    }
    for (kind, (count, distinct)) in kinds {
        put!(text, "{kind}: {count}, {} different\n", distinct.len());
    }
    Ok(text)
}

fn looked(scanned: &Scanned) -> String {
    let mut text = format!("{} in {}", size::bytes(scanned.bytes), many(scanned.commits, "commit"));
    if scanned.events > 0 {
        put!(text, " and {}", many(scanned.events, "event"));
    }
    text
}

/// Returns a place as a shell takes it: the name of a ledger may be any text.
fn quoted(place: &str) -> String {
    if place.chars().all(|own| own.is_ascii_alphanumeric() || "-_./:".contains(own)) {
        return place.to_owned();
    }
    format!("'{}'", tame(place).replace('\'', "'\\''"))
}
