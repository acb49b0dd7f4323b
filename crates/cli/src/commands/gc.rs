//! `gc`: lets go of what retention says and of what nobody needs, and packs the rest.

use stemmata_engine::{CollectOptions, CollectReport, RetentionRules};
use stemmata_store::maintain::collect::Amount;
use stemmata_store::{PackOptions, Packed};

use crate::args::keep::Gc;
use crate::config::Key;
use crate::errors::{CliError, Exit};
use crate::output::put;
use crate::output::session;
use crate::output::size::{self, many};
use crate::output::style::Style;
use crate::output::wire;
use crate::wiring::App;

/// Retired sessions that people see; `--json` has all.
const LINES_MAX: usize = 10;

/// Days of grace where nothing is configured.
const GRACE_DAYS: u32 = 14;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Gc) -> Result<Exit, CliError> {
    let engine = app.engine()?;
    let grace_days = args.grace_days.unwrap_or_else(|| configured_grace(app));
    let options = CollectOptions { rules: rules(app)?, grace_days, dry_run: args.dry_run };
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

/// Finds out what `gc` would do as it is configured.
pub(crate) fn plan(app: &App) -> Result<CollectReport, CliError> {
    let options = CollectOptions { rules: rules(app)?, grace_days: configured_grace(app), dry_run: true };
    Ok(app.engine()?.collect(&options)?)
}

fn configured_grace(app: &App) -> u32 {
    number(app, Key::GraceDays).unwrap_or(GRACE_DAYS)
}

fn number(app: &App, key: Key) -> Option<u32> {
    app.config.get(key).and_then(|text| text.parse().ok())
}

/// Reads the rules of retention from the configuration.
fn rules(app: &App) -> Result<RetentionRules, CliError> {
    let mut rules = RetentionRules {
        sessions_days: number(app, Key::SessionsDays),
        subagents_days: number(app, Key::SubagentsDays),
        provisional_days: number(app, Key::ProvisionalDays),
        keep_last: number(app, Key::KeepLast).unwrap_or(0),
        projects: Vec::new(),
    };
    let projects = app.config.get(Key::RetentionProjects).unwrap_or_default();
    for part in projects.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (path, days) = crate::config::project_days(part).map_err(CliError::Usage)?;
        let path = app.environment.absolute(std::path::Path::new(path));
        rules.projects.push((path.to_string_lossy().into_owned(), days));
    }
    Ok(rules)
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
