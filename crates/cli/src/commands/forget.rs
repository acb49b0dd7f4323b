//! `forget`: shows what would go and what still needs it, asks, and lets go.

use stemmata_api::v1;
use stemmata_engine::{ForgetOptions, ForgetReport, ForgetTarget};
use stemmata_store::Session;
use stemmata_store::maintain::forget::Keep;

use crate::args::keep::Forget;
use crate::commands::confirm::{Final, confirmed, warn_unfinished};
use crate::errors::{CliError, Exit};
use crate::output::commit::ShortIds;
use crate::output::put;
use crate::output::session;
use crate::output::size::{self, many};
use crate::output::style::{Style, tame};
use crate::wiring::App;
use stemmata_service::wire;

/// Lines of one kind that people see; `--json` has all.
const LINES_MAX: usize = 10;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Forget) -> Result<Exit, CliError> {
    if let Some(text) = &args.undo {
        return undo(app, text);
    }
    let target = target(app, args)?;
    let engine = app.engine()?;
    let options = |dry_run| -> Result<ForgetOptions, CliError> {
        Ok(ForgetOptions {
            everywhere: args.everywhere,
            even_pinned: args.even_pinned,
            dry_run,
            by: app.principal()?,
        })
    };
    let plan = engine.forget(&target, &options(true)?)?;
    if args.dry_run {
        return show(app, &plan, true);
    }
    if !args.yes {
        let act = Final {
            what: "forgetting",
            plan: &told(app, &plan, true)?,
            is_nothing: is_nothing(&plan),
            question: "Forget this, for good? [y/N] ",
            declined: "Nothing was forgotten.",
        };
        if !confirmed(app, &act)? {
            return Ok(Exit::Done);
        }
    }
    let done = engine.forget(&target, &options(false)?)?;
    show(app, &done, false)
}

fn target(app: &App, args: &Forget) -> Result<ForgetTarget, CliError> {
    if let Some(project) = &args.project {
        let path = app.environment.absolute(project);
        return Ok(ForgetTarget::Project(path.to_string_lossy().into_owned()));
    }
    let reference = args.reference.as_deref().unwrap_or_default();
    match super::scrub::named_session(app, reference)? {
        Some(session) => Ok(ForgetTarget::Session(session.key)),
        None => Ok(ForgetTarget::Commit(app.find(reference)?)),
    }
}

fn undo(app: &App, text: &str) -> Result<Exit, CliError> {
    let lifted = app.engine()?.unforget(text)?;
    if app.console.json {
        app.console.json(&v1::Unforgotten { lifted })?;
    } else {
        app.console
            .text("It may be imported again: `stemma import` takes in what its transcript still holds.\n")?;
    }
    Ok(Exit::Done)
}

fn show(app: &App, report: &ForgetReport, dry_run: bool) -> Result<Exit, CliError> {
    if app.console.json {
        app.console.json(&wire::keep::forget(report, dry_run))?;
    } else {
        app.console.text(&told(app, report, dry_run)?)?;
        warn_unfinished(app, report.forgotten.unfinished.as_deref());
    }
    Ok(Exit::Done)
}

fn is_nothing(report: &ForgetReport) -> bool {
    let done = &report.forgotten;
    done.removed.is_empty()
        && done.cut.is_empty()
        && done.sealed.is_empty()
        && report.sessions.is_empty()
        && done.events == 0
}

fn told(app: &App, report: &ForgetReport, dry_run: bool) -> Result<String, CliError> {
    let done = &report.forgotten;
    let mut text = String::new();
    for one in report.sessions.iter().take(LINES_MAX) {
        put!(text, "{}  {}\n", Style::Id.paint(&session::short(one)), session::title(one));
    }
    if report.sessions.len() > LINES_MAX {
        put!(text, "… and {} more\n", report.sessions.len() - LINES_MAX);
    }
    if is_nothing(report) {
        put!(text, "Nothing {} forgotten.\n", if dry_run { "would be" } else { "was" });
    } else {
        let verb = if dry_run { "Would forget" } else { "Forgot" };
        put!(
            text,
            "{}: {}, {} of content",
            Style::Warning.paint(verb),
            many(count(done.removed.len() + done.cut.len() + done.cut_too.len()), "commit"),
            size::bytes(done.bytes)
        );
        if done.events > 0 {
            put!(text, ", {}", many(done.events, "event"));
        }
        if !done.cut.is_empty() {
            put!(text, "; {}", holes(count(done.cut.len() + done.cut_too.len()), dry_run));
        }
        text.push('\n');
        for ledger in report.ledgers.iter().take(LINES_MAX) {
            put!(text, "{}: all of its events, and what was made of them\n", tame(ledger.as_str()));
        }
        if report.ledgers.len() > LINES_MAX {
            put!(text, "… and of {} more ledgers\n", report.ledgers.len() - LINES_MAX);
        }
        if !done.sealed.is_empty() {
            let sealed = many(count(done.sealed.len()), "commit");
            put!(
                text,
                "{sealed} came here as a hole; nothing {} it now\n",
                if dry_run { "would fill" } else { "fills" }
            );
        }
    }
    let keeps = |reason: Keep| done.kept.iter().filter(|kept| kept.because == reason).count();
    for (reason, words) in [
        (Keep::Child, "needed by what goes on from them"),
        (Keep::Session, "part of other sessions"),
        (Keep::Ticket, "referred to by a ticket or a thread"),
        (Keep::Pin, "pinned"),
        (Keep::Tag, "tagged"),
    ] {
        if keeps(reason) > 0 {
            put!(text, "Stays: {}, {words}\n", many(count(keeps(reason)), "commit"));
        }
    }
    text.push_str(&told_others(app, report)?);
    let holds_on = !done.kept.is_empty() || (!report.copies.is_empty() && done.cut.is_empty());
    if dry_run && holds_on {
        put!(text, "{}: `--everywhere` cuts it out of branches and copies too\n", Style::Hint.paint("hint"));
    }
    Ok(text)
}

fn told_others(app: &App, report: &ForgetReport) -> Result<String, CliError> {
    let mut text = String::new();
    let engine = app.engine()?;
    let named: Vec<_> = report.branches.iter().map(|branch| branch.from).collect();
    let known: Vec<_> = named.into_iter().take(LINES_MAX).collect();
    let ids = ShortIds::of(engine, &known)?;
    for branch in report.branches.iter().take(LINES_MAX) {
        put!(text, "  branch from {}  {}\n", ids.text(branch.from), whose(branch.session.as_ref()));
    }
    if report.branches.len() > LINES_MAX {
        put!(text, "  … and {} more branches\n", report.branches.len() - LINES_MAX);
    }
    for copy in report.copies.iter().take(LINES_MAX) {
        let shared = many(count(copy.commits.len()), "commit");
        put!(text, "  the same entries in {shared}  {}\n", whose(copy.session.as_ref()));
    }
    if report.copies.len() > LINES_MAX {
        put!(text, "  … and {} more copies\n", report.copies.len() - LINES_MAX);
    }
    if !report.spared.is_empty() {
        let spared = many(count(report.spared.len()), "commit");
        put!(text, "Spared: {spared} of them, pinned or tagged (`--even-pinned`)\n");
    }
    Ok(text)
}

fn whose(owner: Option<&Session>) -> String {
    owner.map_or_else(
        || "(no session)".to_owned(),
        |owner| format!("{}  {}", session::short(owner), session::title(owner)),
    )
}

fn holes(count: u64, dry_run: bool) -> String {
    match (dry_run, count) {
        (true, 1) => "1 would be a hole in its chain".to_owned(),
        (true, _) => format!("{count} would be holes in their chains"),
        (false, 1) => "1 is a hole in its chain now".to_owned(),
        (false, _) => format!("{count} are holes in their chains now"),
    }
}

fn count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}
