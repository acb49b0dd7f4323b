//! `status`: where things are, what is stored, and what is not yet imported.

mod hooks;

use stemmata_api::v1;
use stemmata_service::StatusRequest;

use crate::commands::exclude;
use crate::errors::{CliError, Exit};
use crate::output::put;
use crate::output::size::{self, many, more, plural};
use crate::output::style::Style;
use crate::output::table::{Column, Table, cell};
use crate::output::{left_out, session, time};
use crate::wiring::App;

/// Days before a client deletes a transcript in which there is a warning.
const DUE_DAYS: u64 = 7;

/// Transcripts that people see by name; `--json` has all.
const LISTED_MAX: usize = 10;

/// Runs the command.
pub(crate) fn run(app: &App) -> Result<Exit, CliError> {
    let request = StatusRequest {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        config: app.config.file().map(std::path::Path::to_path_buf),
        program: app.environment.lasting_program(),
    };
    let status = app.opened_host()?.status(&request)?;
    app.answer(&status, || Ok(told(app, &status, &exclude::pauses_now(app)?)))?;
    if app.console.json {
        return Ok(Exit::Done);
    }
    if !status.pending.is_empty() {
        app.console.hint("`stemma import` reads what is new");
    } else if status.homes.is_empty() && status.usage.as_ref().is_none_or(|usage| usage.commits == 0) {
        app.console.say(&examples_hint());
    }
    Ok(Exit::Done)
}

/// Returns what to do where there is nothing to import.
pub(crate) fn examples_hint() -> String {
    format!(
        "{}: `stemma import examples/` reads the small sessions that come with the source",
        Style::Hint.paint("hint")
    )
}

fn told(app: &App, status: &v1::Status, pauses: &[String]) -> String {
    let shown = |path: &str| app.environment.shown(std::path::Path::new(path));
    let mut table = Table::new(&[("", Column::Left), ("", Column::Flexible)]);
    let mut row = |name: &str, text: String| {
        table.row(vec![cell(Style::Faint, name), cell(Style::Plain, text)]);
    };
    row("version", status.version.clone());
    row("data", shown(&status.home));
    if let Some(config) = &status.config {
        let note = if std::path::Path::new(config).exists() { "" } else { " (not there: defaults)" };
        row("config", format!("{}{note}", shown(config)));
    }
    row("machine", format!("{} ({})", status.machine_label, status.machine));
    row("redaction", format!("rules {}", status.rules));
    if let Some(reason) = app.log_trouble.get() {
        row("log", reason.clone());
    }
    if let Some(usage) = &status.usage {
        row("stored", stored(usage, status.sessions.as_ref()));
        if status.condemned_commits > 0 || status.condemned_contents > 0 {
            let (commits, contents) =
                (many(status.condemned_commits, "commit"), many(status.condemned_contents, "content"));
            row("condemned", format!("{commits}, {contents}; `stemma gc` deletes them after the grace"));
        }
    }
    if status.only_here_sessions > 0 {
        let what = format!(
            "{} ({}) whose transcripts are gone: `stemma recover` lists them",
            many(status.only_here_sessions, "session"),
            size::bytes(status.only_here_bytes)
        );
        row("only here", what);
    }
    for home in &status.homes {
        row(&home.runtime, home_line(&shown(&home.path), home));
    }
    for pause in pauses {
        row("paused", pause.clone());
    }
    if status.held_back > 0 {
        // A pause holds back what no exclusion does, and the count is of both.
        let name = if pauses.is_empty() { "excluded" } else { "held back" };
        row(name, format!("{} (`stemma exclude list`)", many(status.held_back, "transcript")));
    }
    if let Some(quota) = &status.quota {
        row("quota", quota.clone());
    }
    if status.left_by_hooks > 0 {
        row("hooks left", format!("{}, not read yet", many(status.left_by_hooks, "transcript")));
    }
    for path in &status.set_aside {
        row("set aside", format!("{}: a record of `run` that could not be stored", shown(path)));
    }
    for rules in &status.untrusted_rules {
        row("not trusted", format!("{}: {}", shown(&rules.path), rules.reason));
    }
    for client in &status.hooks {
        row("hooks", hooks::described(app, client));
    }
    if let Some(trouble) = &status.hook_trouble {
        let at = status.hook_trouble_at;
        let ago = at.map(|at| format!("{}: ", time::ago(at, app.now()))).unwrap_or_default();
        row("hook trouble", format!("{ago}{trouble}"));
    }
    let mut text = table.render(app.console.width);
    text.push_str(&hooks::warnings(app, &status.hooks));
    text.push_str(&waiting_lines(app, status));
    text
}

/// Says how much is stored.
fn stored(usage: &v1::Du, totals: Option<&v1::SessionTotals>) -> String {
    let sessions = match totals {
        Some(of) => session::counted(of.listed, of.subagents, of.copies),
        None => many(usage.sessions, "session"),
    };
    format!(
        "{} in {sessions}; {} captured, {} on disk",
        many(usage.commits, "commit"),
        size::bytes(usage.logical_bytes),
        size::bytes(usage.physical_bytes)
    )
}

/// Describes a client's home: what is there, and when the client deletes it.
fn home_line(shown: &str, home: &v1::Home) -> String {
    let transcripts = many(home.transcripts, "transcript");
    // Sessions in a database have no bytes of their own.
    let found = match home.bytes {
        0 => format!("{shown}: {transcripts}"),
        bytes => format!("{shown}: {transcripts} ({})", size::bytes(bytes)),
    };
    let Some(days) = home.deletes_after_days else { return found };
    let soon = match home.deletes_soon {
        0 => String::new(),
        soon => format!("; {soon} of them within {DUE_DAYS} days"),
    };
    format!("{found}; it deletes each after {}{soon}", many(days, "day"))
}

fn waiting_lines(app: &App, status: &v1::Status) -> String {
    if status.homes.is_empty() {
        return "No client's home was found on this machine.\n".to_owned();
    }
    let others = left_out::others(&status.unread, |one| one.count);
    let mut text = String::new();
    for sentence in left_out::sentences(app, &status.unread) {
        put!(text, "{}: {sentence}\n", Style::Warning.paint("warning"));
    }
    if status.pending.is_empty() && !status.unread.iter().any(v1::LeftOut::may_be_session) {
        let but = others.map(|others| format!(" but {others}: no transcripts")).unwrap_or_default();
        put!(text, "{}\n", Style::Good.paint(&format!("Everything is imported{but}.")));
        return text;
    }
    if let Some(others) = others {
        put!(text, "{others} beside the transcripts\n");
    }
    if status.pending.is_empty() {
        return text;
    }
    put!(text, "{} not yet imported:\n", plural(status.pending.len(), "transcript"));
    let due =
        status.pending.iter().filter(|file| file.days_left.is_some_and(|days| days <= DUE_DAYS)).count();
    if due > 0 {
        let what = if due == 1 { "its client deletes it" } else { "their clients delete them" };
        put!(
            text,
            "{}: {} within {DUE_DAYS} days: {what}; what is imported stays\n",
            Style::Warning.paint("warning"),
            plural(due, "transcript")
        );
    }
    for file in status.pending.iter().take(LISTED_MAX) {
        let path = app.environment.shown(std::path::Path::new(&file.path));
        let stopped = file.stopped.as_ref().map(|stopped| format!(" ({})", stopped.what));
        let stopped = stopped.unwrap_or_default();
        put!(text, "  {:<7}  {:>7}  {path}{stopped}\n", file.state, size::bytes(file.bytes));
    }
    text.push_str(&more(status.pending.len(), LISTED_MAX, "  ", " (`--json` lists all)"));
    text
}
