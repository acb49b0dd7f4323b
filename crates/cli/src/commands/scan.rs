//! `scan`: says what today's rules would find in what is stored, and never what it is.

use std::collections::BTreeMap;

use stemmata_api::v1;
use stemmata_engine::{ForgetTarget, FoundIn, Holder, ScanPlace, ScanTarget, Scanned, SecretFound};
use stemmata_model::CommitId;

use crate::args::secrets::Scan;
use crate::commands::unread;
use crate::errors::{CliError, Exit};
use crate::output::commit::ShortIds;
use crate::output::put;
use crate::output::size::{self, many};
use crate::output::style::{Style, tame};
use crate::wiring::App;
use stemmata_service::wire;

/// Findings that people see; `--json` has all.
const LINES_MAX: usize = 40;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Scan) -> Result<Exit, CliError> {
    let engine = app.engine()?;
    let target = match &args.reference {
        None => ScanTarget::All(args.after.clone()),
        Some(reference) => named(app, reference)?,
    };
    let mut found: Vec<SecretFound> = Vec::new();
    let limit = usize::try_from(args.limit).unwrap_or(usize::MAX);
    let scanned = engine.scan(&target, &mut |secret| {
        found.push(secret);
        found.len() < limit
    })?;
    let is_cut = found.len() >= limit;
    // What was found is the graver news; that not all was looked at is said either way.
    let exit = match (found.is_empty(), scanned.unread.is_empty()) {
        (true, true) => Exit::Done,
        (true, false) => Exit::Partial,
        (false, _) => Exit::Found,
    };
    unread::warn(app, "scanned", &scanned.unread)?;
    let next = scanned.last.clone().filter(|_| is_cut && args.reference.is_none());
    if app.console.json {
        app.console.json(&v1::Scan {
            commits: scanned.commits,
            events: scanned.events,
            bytes: scanned.bytes,
            holes: scanned.holes,
            next: next.as_ref().map(ScanPlace::to_string),
            complete: scanned.unread.is_empty() && !is_cut,
            unread: wire::secrets::unread(&scanned.unread),
            findings: found.iter().map(wire::secrets::finding).collect(),
        })?;
        return Ok(exit);
    }
    let mut text = told(app, &found)?;
    let looked = looked(&scanned);
    if found.is_empty() && !scanned.unread.is_empty() {
        put!(text, "{}: nothing found in {looked}\n", Style::Warning.paint("Incomplete"));
    } else if found.is_empty() {
        put!(text, "{}: nothing found in {looked}\n", Style::Good.paint("Clean"));
    } else {
        let all = many(u64::try_from(found.len()).unwrap_or(u64::MAX), "finding");
        put!(text, "{}: {all} in {looked}\n", Style::Warning.paint("Found"));
        let hint = Style::Hint.paint("hint");
        let all =
            if found.iter().all(|found| matches!(found.holder, Holder::Commit(_))) { "REF" } else { "--all" };
        put!(text, "{hint}: `stemma scrub {all} --dry-run` shows what replacing them would change\n");
    }
    if let Some(next) = next {
        put!(text, "{}: `stemma scan --after {}` goes on\n", Style::Hint.paint("hint"), quoted(&next));
    }
    app.console.text(&text)?;
    Ok(exit)
}

/// Returns what a name means: all that a session holds and its events, or a commit with all that it continues.
fn named(app: &App, reference: &str) -> Result<ScanTarget, CliError> {
    let engine = app.engine()?;
    if let Some(session) = super::scrub::named_session(app, reference)? {
        let target = ForgetTarget::Session(session.key);
        return Ok(ScanTarget::These(engine.commits_held_by(&target)?, engine.sessions_held_by(&target)?));
    }
    let ctx = app.find(reference)?;
    let chain = engine.store().ancestors(ctx, usize::MAX)?;
    Ok(ScanTarget::These(chain.into_iter().map(|commit| commit.id).collect(), Vec::new()))
}

fn told(app: &App, found: &[SecretFound]) -> Result<String, CliError> {
    let mut text = String::new();
    let shown: Vec<&SecretFound> = found.iter().take(LINES_MAX).collect();
    let commits = shown.iter().filter_map(|found| match found.holder {
        Holder::Commit(commit) => Some(commit),
        Holder::Event { .. } | Holder::State { .. } => None,
    });
    let ids = ShortIds::of(app.engine()?, &commits.collect::<Vec<CommitId>>())?;
    for one in &shown {
        let holder = match &one.holder {
            Holder::Commit(commit) => ids.shown(*commit),
            Holder::Event { ledger, seq, session } => {
                format!("{}#{seq}  session {}", tame(ledger.as_str()), tame(session.as_str()))
            }
            Holder::State { ledger, name } => format!("{}  state {}", tame(ledger.as_str()), tame(name)),
        };
        let place = match one.place {
            FoundIn::Line(line) => format!("line {line}  "),
            FoundIn::Annotation => "its summary, tags or notes  ".to_owned(),
            FoundIn::Session(field) => format!("the {field} of its session  "),
            FoundIn::Event(field) => format!("its {field}  "),
            FoundIn::State => String::new(),
        };
        let (kind, print) = (&one.kind, Style::Faint.paint(&one.fingerprint));
        put!(text, "{holder}  {place}{kind}  {print}\n");
    }
    if found.len() > shown.len() {
        put!(text, "… and {} more\n", found.len() - shown.len());
    }
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
fn quoted(place: &ScanPlace) -> String {
    let text = place.to_string();
    if text.chars().all(|own| own.is_ascii_alphanumeric() || "-_./:".contains(own)) {
        return text;
    }
    format!("'{}'", tame(&text).replace('\'', "'\\''"))
}
