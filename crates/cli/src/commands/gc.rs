//! `gc`: lets go of what retention says and of what nobody needs, and packs the rest.

use stemmata_engine::{CollectOptions, CollectReport};
use stemmata_store::maintain::collect::Amount;
use stemmata_store::{PackOptions, Packed};

use crate::args::keep::Gc;
use crate::errors::{CliError, Exit};
use crate::output::put;
use crate::output::session;
use crate::output::size::{self, many};
use crate::output::style::Style;
use crate::wiring::App;
use stemmata_service::wire;

/// Retired sessions that people see; `--json` has all.
const LINES_MAX: usize = 10;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Gc) -> Result<Exit, CliError> {
    let engine = app.engine()?;
    let grace_days = args.grace_days.unwrap_or(app.settings.grace_days);
    let options = CollectOptions { rules: app.settings.retention.clone(), grace_days, dry_run: args.dry_run };
    let report = engine.collect(&options)?;
    let packed =
        if args.dry_run { Packed::default() } else { engine.store().pack(&PackOptions::new(app.now()))? };
    if app.console.json {
        app.console.json(&wire::keep::collected(&report, &packed, grace_days, args.dry_run))?;
    } else {
        app.console.text(&told(&report, &packed, grace_days, args.dry_run))?;
    }
    Ok(Exit::Done)
}

fn told(report: &CollectReport, packed: &Packed, grace_days: u32, dry_run: bool) -> String {
    let mut text = String::new();
    for retired in report.retired.iter().take(LINES_MAX) {
        let one = &retired.session;
        put!(
            text,
            "{}  {} ({})\n",
            Style::Id.paint(&session::short(one)),
            session::title(one),
            retired.because
        );
    }
    if report.retired.len() > LINES_MAX {
        put!(text, "… and {} more sessions\n", report.retired.len() - LINES_MAX);
    }
    let done = &report.collected;
    let would = if dry_run { "Would be " } else { "" };
    let mut line = |what: &str, amount: Amount, after: &str| {
        if amount != Amount::default() {
            let what = if dry_run { what.to_lowercase() } else { what.to_owned() };
            put!(
                text,
                "{would}{what}: {}, {}{after}\n",
                many(amount.commits, "commit"),
                many(amount.contents, "unneeded content")
            );
        }
    };
    line("Deleted", done.deleted, "");
    line(
        "Condemned",
        done.condemned,
        &format!("; deleted in {} unless used", many(u64::from(grace_days), "day")),
    );
    line("Waiting", done.waiting, " condemned before");
    if done.revived > 0 {
        put!(text, "Needed again: {}\n", done.revived);
    }
    if packed.contents > 0 {
        put!(
            text,
            "Packed: {}, {} where they took {}\n",
            many(packed.contents, "content"),
            size::bytes(packed.pack_bytes),
            size::bytes(packed.inbox_bytes)
        );
    }
    if packed.busy {
        text.push_str("Another process is packing; that was left to it.\n");
    }
    if text.is_empty() {
        text.push_str("Nothing to collect.\n");
    }
    text
}
