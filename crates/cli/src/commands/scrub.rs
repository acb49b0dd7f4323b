//! `scrub`: shows what would be replaced in what is stored, asks, and replaces it.

use stemmata_api::Control;
use stemmata_api::v1::{Scrub as Scrubbed, ScrubRequest};

use crate::args::secrets::Scrub;
use crate::commands::confirm::{Final, confirmed, shown, told_stores_left, unasked, warn_unfinished};
use crate::commands::unread;
use crate::errors::{CliError, Exit};
use crate::output::put;
use crate::output::session;
use crate::output::size::{many, more, plural};
use crate::output::style::Style;
use crate::wiring::App;

/// Lines of one kind that people see; `--json` has all.
const LINES_MAX: usize = 10;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Scrub) -> Result<Exit, CliError> {
    let service = app.service()?;
    let request = ScrubRequest {
        reference: args.reference.clone(),
        path: args.reference.as_ref().map(|reference| app.path_of(reference)),
        all: args.all,
    };
    let plan = || service.plan_scrub(&request, &Control::none());
    let apply = |digest: &_| service.apply_scrub(&request, digest, &Control::none());
    if args.yes && !args.dry_run {
        return show(app, &unasked(plan, |plan| plan.digest.as_ref(), apply)?);
    }
    let plan = plan()?;
    if args.dry_run {
        return show(app, &plan);
    }
    let act = Final {
        what: "scrubbing cannot be undone",
        plan: &told(app, &plan)?,
        is_nothing: is_nothing(&plan),
        question: "Redact these permanently? [y/N] ",
        declined: "Nothing was changed.",
    };
    if !confirmed(app, &act)? {
        unread::warn(app, "checked", &plan.unread);
        return Ok(exit(&plan));
    }
    show(app, &apply(&shown(plan.digest.as_ref()))?)
}

fn show(app: &App, done: &Scrubbed) -> Result<Exit, CliError> {
    if let Some(meant) = &done.meant {
        app.say_redirected(meant);
    }
    unread::warn(app, "scrubbed", &done.unread);
    app.answer(done, || {
        let stores = if is_nothing(done) { &[] } else { done.stores_left.as_slice() };
        Ok(format!("{}{}", told(app, done)?, told_stores_left(app, stores, done.dry_run)))
    })?;
    if app.console.json {
        return Ok(exit(done));
    }
    warn_unfinished(app, done.unfinished.as_deref());
    if !done.dry_run && !is_nothing(done) {
        app.console.hint(
            "rotate these secrets: clients' transcripts, bundles and backups still hold them; `stemma scan` \
             finds them in other sessions",
        );
    }
    Ok(exit(done))
}

/// Where a ledger could not be read to its end, not all was done.
fn exit(done: &Scrubbed) -> Exit {
    if done.unread.is_empty() { Exit::Done } else { Exit::Partial }
}

fn told(app: &App, done: &Scrubbed) -> Result<String, CliError> {
    let mut text = String::new();
    if is_nothing(done) {
        let mut looked = many(done.looked_at, "commit");
        if done.events_looked_at > 0 {
            put!(looked, " and {}", many(done.events_looked_at, "event"));
        }
        let verdict = if done.unread.is_empty() {
            Style::Good.paint("Clean")
        } else {
            Style::Warning.paint("Incomplete")
        };
        put!(text, "{verdict}: nothing to redact in {looked}\n");
        return Ok(text);
    }
    for one in &done.kinds {
        put!(text, "{}: {}\n", one.kind, one.findings);
    }
    if done.rewritten > 0 || done.dirty > 0 {
        let verb = if done.dry_run { "Would redact them" } else { "Redacted them" };
        put!(
            text,
            "{}: {} with findings, {} with new ids{}\n",
            Style::Warning.paint(verb),
            many(done.dirty, "commit"),
            many(done.rewritten, "commit"),
            match done.sidecars {
                0 => String::new(),
                files => format!("; {} beside transcripts among them", many(files, "file")),
            }
        );
    }
    text.push_str(&told_of_ledgers(done));
    let ids = app.short_sessions(done.sessions.iter().take(LINES_MAX))?;
    for (id, title) in ids.iter().zip(&done.titles) {
        put!(text, "  {}  {}\n", Style::Id.paint(id), session::title_of(title));
    }
    text.push_str(&more(done.sessions.len(), LINES_MAX, "  ", " sessions"));
    Ok(text)
}

fn is_nothing(done: &Scrubbed) -> bool {
    done.rewritten == 0 && done.dirty == 0 && done.ledgers.is_empty() && done.events_forgotten == 0
}

fn told_of_ledgers(done: &Scrubbed) -> String {
    let mut text = String::new();
    if done.ledgers.is_empty() && done.events_forgotten == 0 {
        return text;
    }
    let (verb, events) =
        if done.dry_run { ("Would forget", done.events) } else { ("Forgot", done.events_forgotten) };
    put!(text, "{}: {}", Style::Warning.paint(verb), many(events, "event"));
    if !done.ledgers.is_empty() {
        put!(text, "; what was derived from the events of {}", plural(done.ledgers.len(), "ledger"));
    }
    text.push('\n');
    text
}
