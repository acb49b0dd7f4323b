//! `gc`: deletes what retention has expired and what nothing references, then packs.

use stemmata_api::Control;
use stemmata_api::v1::{CollectRequest, CollectedAmount, Gc as Collected};

use crate::args::keep::Gc;
use crate::commands::confirm::{Final, confirmed, shown, unasked, warn_unfinished};
use crate::errors::{CliError, Exit};
use crate::output::put;
use crate::output::session;
use crate::output::size::{self, many, more};
use crate::output::style::Style;
use crate::wiring::App;

/// Retired sessions that people see; `--json` has all.
const LINES_MAX: usize = 10;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Gc) -> Result<Exit, CliError> {
    let service = app.service()?;
    let request = CollectRequest { grace_days: args.grace_days.map(u64::from) };
    let plan = || service.plan_collect(&request);
    let apply = |digest: &_| service.apply_collect(&request, digest, &Control::none());
    if args.yes && !args.dry_run {
        let done = unasked(plan, |plan| plan.digest.as_ref(), apply)?;
        return show(app, &done);
    }
    let planned = plan()?;
    if args.dry_run {
        return app.answer(&planned, || told(app, &planned));
    }
    let act = Final {
        what: "gc deletes data permanently",
        plan: &told(app, &planned)?,
        is_nothing: false,
        question: "Do this? [y/N] ",
        declined: "Nothing was deleted.",
    };
    // Packing loses nothing, so that nobody is asked about it.
    if deletes(&planned) && !confirmed(app, &act)? {
        return Ok(Exit::Done);
    }
    show(app, &apply(&shown(planned.digest.as_ref()))?)
}

fn show(app: &App, done: &Collected) -> Result<Exit, CliError> {
    let exit = app.answer(done, || told(app, done))?;
    warn_unfinished(app, done.unfinished.as_deref());
    Ok(exit)
}

/// Says whether something is deleted, or marked to be deleted by a later run.
fn deletes(planned: &Collected) -> bool {
    let is_some = |amount: &CollectedAmount| amount.commits > 0 || amount.contents > 0;
    is_some(&planned.deleted) || is_some(&planned.condemned) || !planned.retired.is_empty()
}

fn told(app: &App, done: &Collected) -> Result<String, CliError> {
    let mut text = String::new();
    let shown = done.retired.iter().take(LINES_MAX);
    let ids = app.short_sessions(shown.clone().map(|retired| &retired.session_id))?;
    for (retired, id) in shown.zip(&ids) {
        let id = Style::Id.paint(id);
        let title = session::title_of(retired.title.as_deref().unwrap_or_default());
        put!(text, "{id}  {title} ({})\n", retired.because);
    }
    text.push_str(&more(done.retired.len(), LINES_MAX, "", " sessions"));
    if done.sidecars > 0 {
        put!(text, "with {} beside transcripts\n", many(done.sidecars, "file"));
    }
    let dry_run = done.dry_run;
    let would = if dry_run { "Would be " } else { "" };
    let mut line = |what: &str, amount: &CollectedAmount, after: &str| {
        if amount.commits > 0 || amount.contents > 0 {
            let what = if dry_run { what.to_lowercase() } else { what.to_owned() };
            put!(
                text,
                "{would}{what}: {}, {}{after}\n",
                many(amount.commits, "commit"),
                many(amount.contents, "unneeded content")
            );
        }
    };
    line("Deleted", &done.deleted, "");
    line("Condemned", &done.condemned, &format!("; deleted in {} unless used", many(done.grace_days, "day")));
    line("Waiting", &done.waiting, " condemned before");
    if done.revived > 0 {
        put!(text, "Needed again: {}\n", done.revived);
    }
    if dry_run && done.inbox_bytes > 0 {
        put!(text, "Would be packed: {}\n", size::bytes(done.inbox_bytes));
    } else if done.packed_contents > 0 {
        put!(
            text,
            "Packed: {}, {} where they took {}\n",
            many(done.packed_contents, "content"),
            size::bytes(done.pack_bytes),
            size::bytes(done.inbox_bytes)
        );
    }
    if done.packing_busy {
        text.push_str("Another process is packing; that was left to it.\n");
    }
    if text.is_empty() {
        text.push_str("Nothing to collect.\n");
    }
    Ok(text)
}
