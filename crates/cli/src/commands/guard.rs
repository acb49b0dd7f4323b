//! `guard`: how full the window of a context is, and what a prune would drop.

use std::path::Path;

use stemmata_api::read_request;
use stemmata_api::v1::{GuardItem, GuardReport, GuardRequest, TURN_BYTES_MAX};
use stemmata_model::json_text;

use crate::args::window::Guard;
use crate::commands::{place, read_input};
use crate::errors::{CliError, Exit};
use crate::output::put;
use crate::output::size::{grouped, many};
use crate::output::style::{Style, tame};
use crate::output::table::{Column, Table, cell, fit};
use crate::wiring::App;

/// Entries that a person sees go; `--json` has them all.
const SHOWN_MAX: usize = 20;

/// Columns of the bar.
const BAR_COLUMNS: u64 = 50;

/// Columns of a model's name.
const MODEL_COLUMNS: usize = 64;

/// Characters of an id that stands for an entry without a number.
const ID_CHARS_MAX: usize = 24;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Guard) -> Result<Exit, CliError> {
    let ctx = match (&args.entries, &args.reference) {
        (Some(_), _) => None,
        (None, Some(reference)) => Some(place::newest(app, reference)?),
        (None, None) => Some(place::latest(app, args.last, false)?.ctx.to_string()),
    };
    let request = GuardRequest {
        ctx,
        entries: None,
        limits: None,
        task: None,
        completed: Vec::new(),
        compacts: false,
        window: args.window,
        counter: args.counter.clone(),
        overhead_tokens: args.overhead,
        tasks_completed: args.completed,
        next_operation: args.next.clone(),
    };
    let request = match &args.entries {
        Some(file) => with_entries(app, file, request)?,
        None => request,
    };
    let report = app.service()?.guard(&request)?;
    app.answer(&report, || {
        app.console.notes(&report.notes);
        Ok(told(&report, app.console.width))
    })
}

/// Returns a request about the entries of a file: what the flags say is stronger than what the file says.
fn with_entries(app: &App, file: &Path, flags: GuardRequest) -> Result<GuardRequest, CliError> {
    let path = if file == Path::new("-") { file.to_owned() } else { app.environment.absolute(file) };
    let bytes = read_input(&path, TURN_BYTES_MAX)?;
    let text = json_text(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes));
    let is_list = text.trim_start().starts_with('[');
    let text = if is_list { format!("{{\"entries\":{text}}}") } else { text.into_owned() };
    let given: GuardRequest = read_request(text.as_bytes())?;
    Ok(GuardRequest {
        window: flags.window.or(given.window),
        counter: flags.counter.or(given.counter),
        overhead_tokens: flags.overhead_tokens.max(given.overhead_tokens),
        tasks_completed: flags.tasks_completed.max(given.tasks_completed),
        next_operation: flags.next_operation.or(given.next_operation),
        ..given
    })
}

/// Says what was cut, archived and compacted of entries before anything is pruned.
fn shrunk(report: &GuardReport) -> String {
    let Some(given) = &report.given else { return String::new() };
    let mut text = String::new();
    if !given.cut.is_empty() {
        put!(text, "outputs of tools that would be cut: {}\n", grouped(given.cut.len() as u64));
    }
    let archived: usize = given.archived.iter().map(|one| one.entries.len()).sum();
    if archived > 0 {
        put!(text, "old results would be archived: {}\n", many(archived as u64, "entry"));
    }
    if let Some(made) = &given.compaction {
        let covered = many(made.covers.len() as u64, "entry");
        put!(text, "a summary would stand for {covered} and leave {} tokens\n", grouped(made.tokens_after));
    } else if given.compaction_due {
        put!(text, "a compaction is due: {}\n", tame(&given.compaction_reason));
    }
    text
}

fn told(report: &GuardReport, width: usize) -> String {
    if report.limit == 0 {
        return unjudged(report);
    }
    let mut text = format!("{}\n", bar(report));
    let style = zone_style(&report.zone);
    let assumed = if report.limit_assumed { " assumed" } else { "" };
    put!(
        text,
        "{}: {} of{assumed} {} tokens ({}), {}\n",
        style.paint(&report.zone),
        grouped(report.tokens),
        grouped(report.limit),
        percent(report.ratio),
        report.recommendation
    );
    put!(text, "tokens in the window, {}\n", rests(report));
    text.push_str(&overhead(report));
    put!(text, "window of {}\n", tame(&report.limit_from));
    if report.limit_assumed {
        put!(text, "{}: `--window N` gives its real size\n", Style::Hint.paint("hint"));
    }
    if report.hidden > 0 {
        put!(text, "hidden from the model already: {}\n", many(report.hidden, "entry"));
    }
    if let Some(at) = report.client.as_ref().and_then(|client| client.compacts_at) {
        put!(text, "its client compacts at {} tokens\n", grouped(at));
    }
    if !report.triggers.is_empty() {
        put!(text, "a checkpoint is due: {}\n", report.triggers.join(", "));
    }
    text.push_str(&shrunk(report));
    text.push_str(&plan(report, width));
    text
}

/// Says what a context takes whose window is not known, beside a common one.
fn unjudged(report: &GuardReport) -> String {
    let mut text = format!("{} tokens in the window, {}\n", grouped(report.tokens), rests(report));
    put!(text, "{}", overhead(report));
    let model =
        report.model.as_deref().map(|name| format!(" of the model `{}`", fit(&tame(name), MODEL_COLUMNS)));
    put!(text, "the window{} is not known", model.unwrap_or_default());
    if let Some(common) = report.common_limit {
        let part = (report.tokens.saturating_mul(100) + common / 2) / common.max(1);
        put!(text, ": of {} that would be {part} %", grouped(common));
    }
    put!(
        text,
        "\n{}: `--window N` says how many tokens it takes, and judges it\n",
        Style::Hint.paint("hint")
    );
    text
}

/// Says what the tokens rest on.
fn rests(report: &GuardReport) -> String {
    let counter = tame(&report.counter);
    if report.tokens_from == "usage" {
        format!("as reported with the last answer; what came later is counted by {counter}")
    } else {
        format!("counted by {counter}")
    }
}

/// Says how much of the tokens no entry holds.
fn overhead(report: &GuardReport) -> String {
    if report.overhead_tokens == 0 {
        // A report is of the whole request; a count has only what is stored.
        let is_counted = report.tokens_from != "usage";
        return if is_counted {
            "without the system prompt and tools: `--overhead N` adds them\n"
        } else {
            ""
        }
        .to_owned();
    }
    let entries = report.tokens.saturating_sub(report.overhead_tokens);
    format!(
        "{} of them are the entries, {} the system prompt and tools\n",
        grouped(entries),
        grouped(report.overhead_tokens)
    )
}

/// Says what a prune would do.
fn plan(report: &GuardReport, width: usize) -> String {
    let mut text = String::new();
    if let Some(overflow) = &report.overflow {
        let largest = overflow.largest.as_ref().map_or_else(
            || "the system prompt and the tools".to_owned(),
            |id| {
                let item = report.items.iter().find(|item| item.entry == *id);
                item.map_or_else(|| tame(id.as_str()), name)
            },
        );
        put!(
            text,
            "{}: even the smallest context takes {} tokens; the largest of it is {largest} with {}\n",
            Style::Error.paint("overflow"),
            grouped(overflow.essential_tokens),
            grouped(overflow.largest_tokens)
        );
        return text;
    }
    let pruned: Vec<&GuardItem> = report.items.iter().filter(|item| item.decision == "prune").collect();
    if pruned.is_empty() {
        put!(text, "nothing would be pruned: the target is {} tokens\n", grouped(report.target));
        return text;
    }
    put!(
        text,
        "a prune would drop {} of {} and leave {} tokens; the target is {}\n\n",
        grouped(pruned.len() as u64),
        many(report.items.len() as u64, "entry"),
        grouped(report.tokens_after),
        grouped(report.target)
    );
    let mut table = Table::new(&[
        ("ENTRY", Column::Left),
        ("TOKENS", Column::Right),
        ("SCORE", Column::Right),
        ("CLASS", Column::Left),
        ("WHY IT GOES", Column::Flexible),
    ]);
    for item in pruned.iter().take(SHOWN_MAX) {
        table.row(vec![
            cell(Style::Id, name(item)),
            cell(Style::Plain, grouped(item.tokens)),
            cell(Style::Plain, item.score.to_string()),
            cell(Style::Faint, item.priority.clone()),
            cell(Style::Plain, item.reason.clone()),
        ]);
    }
    text.push_str(&table.render(width));
    if pruned.len() > SHOWN_MAX {
        put!(text, "and {} more: `--json` lists them all\n", grouped((pruned.len() - SHOWN_MAX) as u64));
    }
    text
}

fn name(item: &GuardItem) -> String {
    item.ordinal.map_or_else(|| fit(&tame(item.entry.as_str()), ID_CHARS_MAX), |number| format!("@{number}"))
}

fn zone_style(zone: &str) -> Style {
    match zone {
        "safe" => Style::Good,
        "warning" => Style::Warning,
        _ => Style::Error,
    }
}

fn percent(ratio: f64) -> String {
    format!("{:.1} %", ratio * 100.0)
}

/// Draws what is in use of the window, with `|` where the target is. `!` is beyond the end.
fn bar(report: &GuardReport) -> String {
    let columns = |tokens: u64| {
        let columns =
            u128::from(tokens) * u128::from(BAR_COLUMNS) / u128::from(report.limit.max(report.tokens).max(1));
        usize::try_from(columns).unwrap_or_default()
    };
    let (used, target, end) = (columns(report.tokens), columns(report.target), columns(report.limit));
    let all = usize::try_from(BAR_COLUMNS).unwrap_or_default();
    let sign = |at: usize| match at {
        at if at == target => '|',
        at if at >= end => '!',
        at if at < used => '#',
        _ => '.',
    };
    let bar: String = (0..all).map(sign).collect();
    format!("[{}]", zone_style(&report.zone).paint(&bar))
}
