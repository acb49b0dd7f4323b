//! `scrub`: shows what would be replaced in what is stored, asks, and replaces it.

use stemmata_engine::{ScrubOptions, ScrubReport, ScrubTarget};
use stemmata_store::Session;

use crate::args::secrets::Scrub;
use crate::commands::confirm::{Final, confirmed, warn_unfinished};
use crate::commands::unread;
use crate::errors::{CliError, Exit};
use crate::output::put;
use crate::output::session;
use crate::output::size::many;
use crate::output::style::Style;
use crate::wiring::App;
use stemmata_service::wire;

/// Lines of one kind that people see; `--json` has all.
const LINES_MAX: usize = 10;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Scrub) -> Result<Exit, CliError> {
    let engine = app.engine()?;
    let target = target(app, args)?;
    let options =
        |dry_run| -> Result<ScrubOptions, CliError> { Ok(ScrubOptions { dry_run, by: app.principal()? }) };
    if args.dry_run || !args.yes {
        let plan = engine.scrub(&target, &options(true)?)?;
        if args.dry_run {
            return show(app, &plan, true);
        }
        let act = Final {
            what: "scrubbing",
            plan: &told(&plan, true),
            is_nothing: is_nothing(&plan),
            question: "Replace these, for good? [y/N] ",
            declined: "Nothing was changed.",
        };
        if !confirmed(app, &act)? {
            unread::warn(app, "looked at", &plan.unread)?;
            return Ok(exit(&plan));
        }
    }
    let done = engine.scrub(&target, &options(false)?)?;
    show(app, &done, false)
}

fn target(app: &App, args: &Scrub) -> Result<ScrubTarget, CliError> {
    let Some(reference) = args.reference.as_deref().filter(|_| !args.all) else {
        return Ok(ScrubTarget::All);
    };
    match named_session(app, reference)? {
        Some(session) => Ok(ScrubTarget::Session(session.key)),
        None => Ok(ScrubTarget::Commit(app.find(reference)?)),
    }
}

/// Returns the session that a name means, by its transcript or its id.
pub(crate) fn named_session(app: &App, reference: &str) -> Result<Option<Session>, CliError> {
    let engine = app.engine()?;
    let path = app.environment.absolute(std::path::Path::new(reference));
    Ok(match engine.find_session(&path.to_string_lossy())? {
        Some(session) => Some(session),
        None => engine.find_session(reference)?,
    })
}

fn show(app: &App, report: &ScrubReport, dry_run: bool) -> Result<Exit, CliError> {
    unread::warn(app, "scrubbed", &report.unread)?;
    if app.console.json {
        app.console.json(&wire::secrets::scrub(report, dry_run))?;
        return Ok(exit(report));
    }
    app.console.text(&told(report, dry_run))?;
    warn_unfinished(app, report.forgotten.unfinished.as_deref());
    if !dry_run && !is_nothing(report) {
        let hint = Style::Hint.paint("hint");
        app.console.say(&format!(
            "{hint}: what leaked is to be changed where it came from; clients' transcripts, bundles and backups \
             still hold it; `stemma scan` says whether it stands in other sessions"
        ));
    }
    Ok(exit(report))
}

/// Where a ledger could not be read to its end, not all was done.
fn exit(report: &ScrubReport) -> Exit {
    if report.unread.is_empty() { Exit::Done } else { Exit::Partial }
}

fn told(report: &ScrubReport, dry_run: bool) -> String {
    let mut text = String::new();
    if is_nothing(report) {
        let mut looked = many(report.looked_at, "commit");
        if report.events_looked_at > 0 {
            put!(looked, " and {}", many(report.events_looked_at, "event"));
        }
        let verdict = if report.unread.is_empty() {
            Style::Good.paint("Clean")
        } else {
            Style::Warning.paint("Incomplete")
        };
        put!(text, "{verdict}: nothing to replace in {looked}\n");
        return text;
    }
    for (kind, count) in &report.kinds {
        put!(text, "{kind}: {count}\n");
    }
    if report.rewritten > 0 || report.dirty > 0 {
        let verb = if dry_run { "Would replace them" } else { "Replaced them" };
        put!(
            text,
            "{}: {} with findings, {} with new ids\n",
            Style::Warning.paint(verb),
            many(report.dirty, "commit"),
            many(report.rewritten, "commit")
        );
    }
    text.push_str(&told_of_ledgers(report, dry_run));
    for one in report.sessions.iter().take(LINES_MAX) {
        put!(text, "  {}  {}\n", Style::Id.paint(&session::short(one)), session::title(one));
    }
    if report.sessions.len() > LINES_MAX {
        put!(text, "  … and {} more sessions\n", report.sessions.len() - LINES_MAX);
    }
    text
}

fn is_nothing(report: &ScrubReport) -> bool {
    report.rewritten == 0 && report.dirty == 0 && report.ledgers.is_empty() && report.events_forgotten == 0
}

fn told_of_ledgers(report: &ScrubReport, dry_run: bool) -> String {
    let mut text = String::new();
    if report.ledgers.is_empty() && report.events_forgotten == 0 {
        return text;
    }
    let (verb, events) =
        if dry_run { ("Would forget", report.events) } else { ("Forgot", report.events_forgotten) };
    put!(text, "{}: {}", Style::Warning.paint(verb), many(events, "event"));
    if !report.ledgers.is_empty() {
        put!(text, "; what was made of the events of {}", many(count(report.ledgers.len()), "ledger"));
    }
    text.push('\n');
    text
}

fn count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}
