//! `scan`: says what today's rules would find in what is stored, and never what it is.

use std::collections::BTreeMap;

use stemmata_engine::{ForgetTarget, FoundIn, ScanTarget, SecretFound};
use stemmata_model::CommitId;

use crate::args::secrets::Scan;
use crate::errors::{CliError, Exit};
use crate::output::commit::ShortIds;
use crate::output::put;
use crate::output::size::{self, many};
use crate::output::style::Style;
use crate::output::v1;
use crate::wiring::App;

/// Findings that people see; `--json` has all.
const LINES_MAX: usize = 40;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Scan) -> Result<Exit, CliError> {
    let engine = app.engine()?;
    let target = match &args.reference {
        None => ScanTarget::All(args.after),
        Some(reference) => ScanTarget::Commits(commits(app, reference)?),
    };
    let mut found: Vec<SecretFound> = Vec::new();
    let limit = usize::try_from(args.limit).unwrap_or(usize::MAX);
    let scanned = engine.scan(&target, &mut |secret| {
        found.push(secret);
        found.len() < limit
    })?;
    let is_cut = found.len() >= limit;
    let exit = if found.is_empty() { Exit::Done } else { Exit::Found };
    let next = scanned.last.filter(|_| is_cut && args.reference.is_none());
    if app.console.json {
        app.console.json(&v1::Scan {
            commits: scanned.commits,
            bytes: scanned.bytes,
            holes: scanned.holes,
            next: next.map(|id| id.to_string()),
            findings: found.iter().map(wire).collect(),
        })?;
        return Ok(exit);
    }
    let mut text = told(app, &found)?;
    let looked = format!("{} in {}", size::bytes(scanned.bytes), many(scanned.commits, "commit"));
    if found.is_empty() {
        put!(text, "{}: nothing found in {looked}\n", Style::Good.paint("Clean"));
    } else {
        let all = many(u64::try_from(found.len()).unwrap_or(u64::MAX), "finding");
        put!(text, "{}: {all} in {looked}\n", Style::Warning.paint("Found"));
        let hint = Style::Hint.paint("hint");
        put!(text, "{hint}: `stemma scrub REF --dry-run` shows what replacing them would change\n");
    }
    if let Some(next) = next {
        put!(text, "{}: `stemma scan --after {next}` goes on\n", Style::Hint.paint("hint"));
    }
    app.console.text(&text)?;
    Ok(exit)
}

/// Returns what a name means: all that a session holds, or a commit with all that it continues.
fn commits(app: &App, reference: &str) -> Result<Vec<CommitId>, CliError> {
    let engine = app.engine()?;
    let named = super::scrub::named_session(app, reference)?;
    if let Some(session) = named {
        return Ok(engine.commits_held_by(&ForgetTarget::Session(session.key))?);
    }
    let ctx = app.find(reference)?;
    let chain = engine.store().ancestors(ctx, usize::MAX)?;
    Ok(chain.into_iter().map(|commit| commit.id).collect())
}

fn wire(found: &SecretFound) -> v1::ScanFinding {
    v1::ScanFinding {
        commit: found.commit.to_string(),
        line: match found.place {
            FoundIn::Line(line) => Some(line),
            FoundIn::Annotation | FoundIn::Session(_) => None,
        },
        field: match found.place {
            FoundIn::Session(field) => Some(field.to_owned()),
            FoundIn::Line(_) | FoundIn::Annotation => None,
        },
        entry: found.entry.clone(),
        kind: found.kind.clone(),
        bytes: found.bytes,
        fingerprint: found.fingerprint.clone(),
    }
}

fn told(app: &App, found: &[SecretFound]) -> Result<String, CliError> {
    let mut text = String::new();
    let shown: Vec<&SecretFound> = found.iter().take(LINES_MAX).collect();
    let ids: Vec<CommitId> = shown.iter().map(|found| found.commit).collect();
    let ids = ShortIds::of(app.engine()?, &ids)?;
    for one in &shown {
        let place = match one.place {
            FoundIn::Line(line) => format!("line {line}"),
            FoundIn::Annotation => "its summary, tags or notes".to_owned(),
            FoundIn::Session(field) => format!("the {field} of its session"),
        };
        let (kind, print) = (&one.kind, Style::Faint.paint(&one.fingerprint));
        put!(text, "{}  {place}  {kind}  {print}\n", ids.shown(one.commit));
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
