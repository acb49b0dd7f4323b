//! `status`: where things are, what is stored, and what is not yet imported.

mod hooks;

use std::path::Path;

use stemmata_api::v1;
use stemmata_engine::{FileState, SETTINGS_BYTES_MAX, SurveyedFile, UntrustedRules, days_kept};
use stemmata_model::Timestamp;
use stemmata_store::read_bounded;

use crate::commands::import;
use crate::errors::{CliError, Exit};
use crate::output::put;
use crate::output::size::{self, many, plural};
use crate::output::style::Style;
use crate::output::table::{Column, Table, cell};
use crate::output::time;
use crate::wiring::App;
use stemmata_service::wire;

/// Days before a client deletes a transcript in which there is a warning.
const DUE_DAYS: u64 = 7;

const SECONDS_PER_DAY: u64 = 86_400;

/// Transcripts that people see by name; `--json` has all.
const LISTED_MAX: usize = 10;

/// Runs the command.
pub(crate) fn run(app: &App) -> Result<Exit, CliError> {
    let status = status(app)?;
    if app.console.json {
        app.console.json(&status)?;
        return Ok(Exit::Done);
    }
    app.console.text(&told(app, &status))?;
    let hint = Style::Hint.paint("hint");
    if !status.pending.is_empty() {
        app.console.say(&format!("{hint}: `stemma import` reads what is new"));
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

fn status(app: &App) -> Result<v1::Status, CliError> {
    let engine = app.engine()?;
    let home = app.home()?;
    let mut homes = Vec::new();
    let mut pending = Vec::new();
    let mut held_back = 0;
    let mut used = hooks::Used::default();
    for found in app.homes().existing() {
        let files = engine.survey(std::slice::from_ref(&found.transcripts))?;
        let transcripts: Vec<&SurveyedFile> =
            files.iter().filter(|file| file.state != FileState::Other).collect();
        used.see(app, found.runtime, &transcripts)?;
        held_back += transcripts.iter().filter(|file| file.state == FileState::HeldBack).count();
        homes.push(v1::Home {
            runtime: found.runtime.to_owned(),
            path: found.config_dir.to_string_lossy().into_owned(),
            transcripts: u64::try_from(transcripts.len()).unwrap_or(u64::MAX),
            bytes: transcripts.iter().map(|file| file.bytes).sum(),
        });
        let days = days_kept(found.runtime, settings(&found.config_dir).as_deref());
        pending.extend(transcripts.into_iter().filter_map(|file| waiting(app, file, days)));
    }
    let rules = match engine.rules() {
        Ok((_, version)) => version.to_owned(),
        Err(error) => format!("cannot be used, so that nothing is captured: {error}"),
    };
    let usage = engine.store().usage()?;
    let trouble = hooks::last_trouble(app)?;
    Ok(v1::Status {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        home: home.dir().to_string_lossy().into_owned(),
        store: home.store_dir().to_string_lossy().into_owned(),
        config: app.config.file().map(|path| path.to_string_lossy().into_owned()),
        machine: engine.identity().machine.to_string(),
        machine_label: engine.identity().machine_label.clone(),
        rules,
        usage: Some(wire::maintain::usage(usage)),
        quota: home.quota_of(&usage).and_then(import::quota_warning),
        hook_trouble_at: trouble.as_ref().map(|trouble| Timestamp::from_micros(trouble.at).to_string()),
        hook_trouble: trouble.map(|trouble| trouble.reason),
        hooks: hooks::all(app, &used)?,
        left_by_hooks: u64::try_from(home.markers().count()).unwrap_or(u64::MAX),
        set_aside: home.streams().aside().iter().map(|path| path.to_string_lossy().into_owned()).collect(),
        untrusted_rules: untrusted(app)?,
        homes,
        pending,
        held_back: u64::try_from(held_back).unwrap_or(u64::MAX),
        paused: engine.policy().paused(app.now()).map(ToString::to_string),
    })
}

/// Returns the rules of projects that were met and do not count.
fn untrusted(app: &App) -> Result<Vec<v1::UntrustedRules>, CliError> {
    let of = |rules: UntrustedRules| v1::UntrustedRules {
        path: rules.path.to_string_lossy().into_owned(),
        reason: rules.reason,
    };
    Ok(app.home()?.untrusted_rules()?.into_iter().map(of).collect())
}

/// Returns the text of a client's settings, for how long it keeps what it wrote.
fn settings(config_dir: &Path) -> Option<String> {
    let bytes = read_bounded(&config_dir.join("settings.json"), SETTINGS_BYTES_MAX).ok()??;
    String::from_utf8(bytes).ok()
}

/// Returns the days until a file that nobody writes to any more is deleted.
fn days_left(app: &App, path: &Path, days: u64) -> Option<u64> {
    let modified = std::fs::metadata(path).ok()?.modified().ok()?;
    let since = modified.duration_since(std::time::UNIX_EPOCH).ok()?.as_secs();
    let now = u64::try_from(app.now().as_micros() / 1_000_000).ok()?;
    Some(days.saturating_sub(now.saturating_sub(since) / SECONDS_PER_DAY))
}

fn waiting(app: &App, file: &SurveyedFile, days: Option<u64>) -> Option<v1::Pending> {
    let state = match file.state {
        FileState::New => "new",
        FileState::Changed => "changed",
        FileState::Unchanged | FileState::HeldBack | FileState::Other => return None,
    };
    Some(v1::Pending {
        path: file.path.to_string_lossy().into_owned(),
        state: state.to_owned(),
        bytes: file.bytes,
        days_left: days.and_then(|days| days_left(app, &file.path, days)),
    })
}

fn told(app: &App, status: &v1::Status) -> String {
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
    if let Some(usage) = &status.usage {
        let stored = format!(
            "{} in {}; {} captured, {} on disk",
            many(usage.commits, "commit"),
            many(usage.sessions, "session"),
            size::bytes(usage.logical_bytes),
            size::bytes(usage.physical_bytes)
        );
        row("stored", stored);
        if let Ok(engine) = app.engine()
            && let Ok(condemned) = engine.store().condemned()
            && (condemned.commits > 0 || condemned.contents > 0)
        {
            let (commits, contents) =
                (many(condemned.commits, "commit"), many(condemned.contents, "content"));
            row("condemned", format!("{commits}, {contents}; `stemma gc` deletes them after the grace"));
        }
    }
    for home in &status.homes {
        let found = format!(
            "{}: {} ({})",
            shown(&home.path),
            many(home.transcripts, "transcript"),
            size::bytes(home.bytes)
        );
        row(&home.runtime, found);
    }
    if status.held_back > 0 {
        row("excluded", format!("{} (`stemma exclude --list`)", many(status.held_back, "transcript")));
    }
    if let Some(paused) = &status.paused {
        row("paused", paused.clone());
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
        let at = status.hook_trouble_at.as_deref().and_then(|text| Timestamp::parse(text).ok());
        let ago = at.map(|at| format!("{}: ", time::ago(at, app.now()))).unwrap_or_default();
        row("hook trouble", format!("{ago}{trouble}"));
    }
    let mut text = table.render(app.console.width);
    text.push_str(&hooks::warnings(app, &status.hooks));
    text.push_str(&waiting_lines(app, status));
    text
}

fn waiting_lines(app: &App, status: &v1::Status) -> String {
    if status.homes.is_empty() {
        return "No client's home was found on this machine.\n".to_owned();
    }
    if status.pending.is_empty() {
        return format!("{}\n", Style::Good.paint("Everything is imported."));
    }
    let mut text = format!("{} not yet imported:\n", plural(status.pending.len(), "transcript"));
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
        put!(text, "  {:<7}  {:>7}  {path}\n", file.state, size::bytes(file.bytes));
    }
    if status.pending.len() > LISTED_MAX {
        put!(text, "  … and {} more (`--json` lists all)\n", status.pending.len() - LISTED_MAX);
    }
    text
}
