//! `stats`: sessions, active time, tokens and cost, a row for each day, project, client or model.

use std::path::Path;

use stemmata_api::v1::{Stats, StatsBy, StatsRequest, StatsRow};

use crate::args::browse::{Stats as Arguments, StatsRows};
use crate::commands::list::say_rest;
use crate::commands::search::progress;
use crate::commands::{here, project, rows};
use crate::errors::{CliError, Exit};
use crate::output::outline::span;
use crate::output::size::{count, grouped};
use crate::output::style::{Style, tame};
use crate::output::table::{Cell, Column, Table, cell, fit_end};
use crate::output::time;
use crate::wiring::App;

/// Columns that what a row is of keeps where others are left out for it.
const KEY_COLUMNS_MIN: usize = 16;

/// Columns that the numbers take together, with the cost.
const NUMBER_COLUMNS: usize = 56;

/// What a narrow terminal leaves out, in this order.
const LEFT_OUT: &[&str] = &["CACHED", "SESSIONS"];

/// Runs the command.
pub(crate) fn run(app: &App, args: &Arguments) -> Result<Exit, CliError> {
    let here = args.here.then(|| here(app));
    let since = args.since.as_deref().map(|text| time::parse(text, app.now())).transpose()?;
    let until = args.until.as_deref().map(|text| time::parse_end(text, app.now())).transpose()?;
    let request = StatsRequest {
        by: match args.by {
            StatsRows::Day => StatsBy::Day,
            StatsRows::Week => StatsBy::Week,
            StatsRows::Month => StatsBy::Month,
            StatsRows::Project => StatsBy::Project,
            StatsRows::Client => StatsBy::Client,
            StatsRows::Model => StatsBy::Model,
        },
        project: args.project.as_deref().map(|text| project(app, text)).or(here),
        client: args.client.clone(),
        since,
        until,
        utc_offset_minutes: offset_minutes(app),
        prices: app.config.settings(&app.environment)?.prices,
    };
    let mut stats = progress::watched(app, |control| Ok(app.service()?.stats(&request, control)?))?;
    let wanted = rows(args.limit, app.console.json);
    let is_cut = stats.rows.len() > wanted;
    stats.rows.truncate(wanted);
    if !app.console.json {
        app.console.notes(&stats.notes);
        if stats.rows.is_empty() {
            app.console.say("Nothing to count.");
            app.console.hint("`stemma list` shows the sessions");
            return Ok(Exit::Done);
        }
    }
    let exit = app.answer(&stats, || Ok(table(app, &stats)))?;
    say_rest(app, is_cut);
    Ok(exit)
}

/// Returns how many minutes this machine's clocks are before UTC.
fn offset_minutes(app: &App) -> i32 {
    let now = jiff::Timestamp::from_microsecond(app.now().as_micros()).unwrap_or_default();
    app.zone().to_offset(now).seconds() / 60
}

fn table(app: &App, stats: &Stats) -> String {
    let head = match stats.by {
        StatsBy::Day => "DAY",
        StatsBy::Week => "WEEK OF",
        StatsBy::Month => "MONTH",
        StatsBy::Project => "PROJECT",
        StatsBy::Client => "CLIENT",
        StatsBy::Model => "MODEL",
    };
    let mut columns = vec![
        (head, Column::Flexible),
        ("SESSIONS", Column::Right),
        ("ACTIVE", Column::Right),
        ("IN", Column::Right),
        ("CACHED", Column::Right),
        ("OUT", Column::Right),
    ];
    let has_cost = stats.total.cost_micros.is_some();
    columns.extend(has_cost.then_some(("COST", Column::Right)));
    let mut table = Table::new(&columns);
    let width = app.console.width;
    let key_columns = if app.console.is_cut() {
        width.saturating_sub(NUMBER_COLUMNS).max(KEY_COLUMNS_MIN)
    } else {
        usize::MAX
    };
    for row in &stats.rows {
        let key = match (&row.key, stats.by) {
            // Of a path, the end says more.
            (Some(dir), StatsBy::Project) => {
                fit_end(&tame(app.environment.shown(Path::new(dir))), key_columns)
            }
            (Some(key), _) => tame(key),
            (None, _) => "(not said)".to_owned(),
        };
        table.row(cells(row, cell(Style::Plain, key), has_cost));
    }
    table.row(cells(&stats.total, cell(Style::Strong, "total"), has_cost));
    table.narrowed(LEFT_OUT, KEY_COLUMNS_MIN, width).render(width)
}

fn cells(row: &StatsRow, key: Cell, has_cost: bool) -> Vec<Cell> {
    let tokens = |of: fn(&stemmata_api::v1::ReportedTokens) -> u64| {
        cell(Style::Plain, row.tokens.as_ref().map_or_else(|| "–".to_owned(), |tokens| count(of(tokens))))
    };
    let out = row.tokens.as_ref().map_or_else(
        || "–".to_owned(),
        |tokens| format!("{}{}", if tokens.output_partial { "≥" } else { "" }, count(tokens.output)),
    );
    let mut cells = vec![
        key,
        cell(Style::Plain, grouped(row.sessions)),
        cell(Style::Plain, span(row.active_seconds)),
        tokens(|of| of.input.saturating_add(of.cache_read).saturating_add(of.cache_write)),
        tokens(|of| of.cache_read),
        cell(Style::Plain, out),
    ];
    cells.extend(has_cost.then(|| cell(Style::Plain, row.cost_micros.map_or_else(|| "–".to_owned(), money))));
    cells
}

/// Returns a sum in whole units and hundredths.
fn money(micros: u64) -> String {
    let hundredths = micros.saturating_add(5_000) / 10_000;
    format!("{}.{:02}", grouped(hundredths / 100), hundredths % 100)
}

#[cfg(test)]
mod tests {
    #[test]
    fn money_is_rounded_to_hundredths() {
        for (micros, shown) in [(0, "0.00"), (4_999, "0.00"), (5_000, "0.01"), (1_234_567_890, "1,234.57")] {
            assert_eq!(super::money(micros), shown);
        }
    }
}
