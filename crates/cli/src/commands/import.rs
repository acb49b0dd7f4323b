//! `import`: shows what was found, reads it with progress, and says honestly how it went.
//!
//! What a transcript is and where commits end is the engine's.

use std::collections::BTreeMap;
use std::path::PathBuf;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use stemmata_api::v1;
use stemmata_engine::{
    CaptureOptions, Engine, EngineError, ErrorKind, FileState, HeldBack, ImportProgress, ImportReport, Quota,
    QuotaPlan, RUNTIMES,
};
use stemmata_model::Timestamp;

use crate::args::capture::Import;
use crate::commands::{log, pack, status};
use crate::errors::{CliError, Exit};
use crate::output::put;
use crate::output::size::{self, many};
use crate::output::style::Style;
use crate::output::time;
use crate::wiring::App;
use stemmata_service::wire;

/// Failures and notes that a summary lists one by one; `--json` has all.
const LISTED_MAX: usize = 10;

/// Sessions that are shown after an import: enough to recognize one's own.
const NEWEST_SHOWN: usize = 5;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Import) -> Result<Exit, CliError> {
    let paths = paths(app, args)?;
    if paths.is_empty() {
        return nothing_found(app);
    }
    let engine = app.engine()?;
    hold_pause(app, engine, &paths, args)?;
    hold_quota(app)?;
    let options = CaptureOptions {
        granularity: args.granularity.unwrap_or(app.settings.granularity),
        full: args.full,
        ..CaptureOptions::import()
    };
    let began = std::time::Instant::now();
    let progress = Progress::start(app, engine, &paths, args.full)?;
    let told = |step: &ImportProgress<'_>| progress.step(step);
    let report = engine.import(
        &paths,
        &options,
        args.threads.map_or(app.settings.import_threads, usize::from),
        &told,
    )?;
    progress.end();
    let elapsed_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    let result = wire::import::import(&report, elapsed_ms);
    if app.console.json {
        app.console.json(&result)?;
    } else {
        app.console.text(&summary(app, &report, &result))?;
        next_step(app, &paths, &result)?;
    }
    pack::after_import(app)?;
    Ok(exit(&report))
}

/// Refuses to take in more where the store is as large as it may become; warns before that.
pub(crate) fn hold_quota(app: &App) -> Result<(), CliError> {
    match app.home()?.hold_quota() {
        Ok(quota) => {
            if let Some(warning) = quota.and_then(quota_warning).filter(|_| !app.console.quiet) {
                app.console.warn(&warning);
            }
            Ok(())
        }
        Err(EngineError::QuotaReached { quota, plan }) => Err(CliError::Quota {
            used: size::bytes(quota.used_bytes),
            bound: size::bytes(quota.bound_bytes),
            plan: quota_plan(&plan),
        }),
        Err(error) => Err(error.into()),
    }
}

/// Returns what to say of how full the store is; none while there is plenty of free space.
pub(crate) fn quota_warning(quota: Quota) -> Option<String> {
    quota.is_near().then(|| {
        format!(
            "the store takes {} of the {} that `store.quota_mib` allows ({} %)",
            size::bytes(quota.used_bytes),
            size::bytes(quota.bound_bytes),
            quota.percent()
        )
    })
}

/// Returns what would make room, one line each: what packing would free, and which old sessions are large.
fn quota_plan(plan: &QuotaPlan) -> String {
    let mut text = String::from("What would make room:\n");
    put!(
        text,
        "  about {:>7}  `stemma gc` packs what is in the inbox ({})\n",
        size::bytes(plan.packable_bytes),
        size::bytes(plan.inbox_bytes)
    );
    if plan.deletable_bytes > 0 {
        let bytes = size::bytes(plan.deletable_bytes);
        put!(text, "  about {bytes:>7}  `stemma gc` deletes what was condemned before\n");
    }
    if plan.retired_bytes > 0 {
        let bytes = size::bytes(plan.retired_bytes);
        put!(text, "  up to {bytes:>7}  `stemma gc` lets go by `retention.…`, after the grace\n");
    }
    for session in &plan.sessions {
        let title = session.title.as_deref().unwrap_or("untitled");
        let bytes = size::bytes(session.bytes);
        put!(text, "  up to {bytes:>7}  `stemma forget {}` ({title})\n", session.session);
    }
    text.push_str("  or a larger bound: `stemma config set store.quota_mib N`\n");
    text
}

/// Refuses to read what was named while everything is paused: who names a path expects it to be read.
fn hold_pause(app: &App, engine: &Engine, paths: &[PathBuf], args: &Import) -> Result<(), CliError> {
    let paused = engine.policy().paused(app.now()).filter(|_| !args.paths.is_empty());
    match (paused, paths.first()) {
        (Some(pause), Some(path)) => Err(CliError::Engine(EngineError::HeldBack {
            path: path.clone(),
            reason: HeldBack::Paused(pause.clone()),
        })),
        _ => Ok(()),
    }
}

/// Returns what to read: what was named, else the homes of clients, else what was given for machines without.
fn paths(app: &App, args: &Import) -> Result<Vec<PathBuf>, CliError> {
    if !args.paths.is_empty() {
        return Ok(args.paths.iter().map(|path| app.environment.absolute(path)).collect());
    }
    let homes: Vec<PathBuf> = app.homes().existing().into_iter().map(|home| home.transcripts).collect();
    let Some(or) = &args.or else { return Ok(homes) };
    let found = app.engine()?.survey(&homes)?;
    if found.iter().any(|file| file.state != FileState::Other) {
        return Ok(homes);
    }
    app.console.say("No sessions on this machine yet.");
    Ok(vec![app.environment.absolute(or)])
}

/// Without arguments and without any client's home there is nothing to read, which is no failure.
fn nothing_found(app: &App) -> Result<Exit, CliError> {
    if app.console.json {
        app.console.json(&wire::import::import(&ImportReport::default(), 0))?;
        return Ok(Exit::Done);
    }
    let homes = app.homes();
    let looked: Vec<String> = RUNTIMES
        .iter()
        .filter_map(|place| Some((place, homes.config_dir(place)?)))
        .map(|(place, path)| {
            let folder = place.transcripts.first().map_or(path.clone(), |folder| path.join(folder));
            format!("{}: {}", place.shown, app.environment.shown(&folder))
        })
        .collect();
    let looked = if looked.is_empty() { "no home directory".to_owned() } else { looked.join(", ") };
    app.console.say(&format!("No sessions on this machine yet (looked in {looked})."));
    app.console.say(&format!(
        "{}: `stemma import examples/` reads the small sessions that come with the source, and `stemma import PATH` \
         any transcript or folder",
        Style::Hint.paint("hint")
    ));
    Ok(Exit::Done)
}

/// Shows how far the work is, where a person watches.
struct Progress {
    bar: ProgressBar,
}

impl Progress {
    fn start(app: &App, engine: &Engine, paths: &[PathBuf], full: bool) -> Result<Self, CliError> {
        let watched = app.console.err.is_terminal && !app.console.quiet;
        let total =
            if app.console.json || app.console.quiet { None } else { Some(found(app, engine, paths, full)?) };
        let target = if watched { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(total, target);
        let template = match total {
            Some(_) => "{spinner} {bar:24} {decimal_bytes} of {decimal_total_bytes}  {msg}",
            None => "{spinner} {decimal_bytes}  {msg}",
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        if watched {
            bar.enable_steady_tick(std::time::Duration::from_millis(120));
        }
        Ok(Self { bar })
    }

    fn step(&self, step: &ImportProgress<'_>) {
        self.bar.inc(step.bytes);
        self.bar.set_message(format!("{} of {}", step.done, size::plural(step.files, "file")));
    }

    fn end(&self) {
        self.bar.finish_and_clear();
    }
}

/// Says what is about to be read, and returns the bytes of all files that are looked at.
fn found(app: &App, engine: &Engine, paths: &[PathBuf], full: bool) -> Result<u64, CliError> {
    let files = engine.survey(paths)?;
    let of = |wanted: &[FileState]| -> (u64, u64) {
        let matching = files.iter().filter(|file| wanted.contains(&file.state));
        matching.fold((0, 0), |(count, bytes), file| (count + 1, bytes + file.bytes))
    };
    let looked_bytes = files.iter().map(|file| file.bytes).sum();
    let (all, all_bytes) = of(&[FileState::New, FileState::Changed, FileState::Unchanged]);
    if all == 0 {
        return Ok(looked_bytes);
    }
    let (fresh, _) = of(&[FileState::New]);
    let (changed, _) = of(&[FileState::Changed]);
    let news = if full {
        "reading all from the start".to_owned()
    } else {
        format!("{fresh} new, {changed} changed")
    };
    app.console.say(&format!(
        "Found {} ({}) in {}: {news}",
        many(all, "transcript"),
        size::bytes(all_bytes),
        places(app, paths),
    ));
    Ok(looked_bytes)
}

/// Names where it was looked, the first few of them.
fn places(app: &App, paths: &[PathBuf]) -> String {
    let places: Vec<String> = paths.iter().take(3).map(|path| app.environment.shown(path)).collect();
    let more = if paths.len() > places.len() { " …" } else { "" };
    format!("{}{more}", places.join(", "))
}

/// The whole result for a person: counts, sizes, what was replaced, what was degraded, what failed.
fn summary(app: &App, report: &ImportReport, result: &v1::Import) -> String {
    let totals = &result.totals;
    let mut lines = Vec::new();
    if totals.sessions > 0 {
        lines.push(headline(result));
        if totals.bytes_stored > 0 {
            lines.push(format!(
                "  {} of transcripts, {} stored for what is new ({}), in {}",
                size::bytes(totals.bytes_in),
                size::bytes(totals.bytes_stored),
                size::percent(totals.bytes_stored, totals.bytes_in),
                time::took(Timestamp::EPOCH, millis(totals.elapsed_ms)),
            ));
        }
    }
    if totals.copies > 0 {
        let copies =
            if totals.copies == 1 { "1 copy".to_owned() } else { format!("{} copies", totals.copies) };
        lines.push(format!("  {copies} of sessions that are here, linked to their originals"));
    }
    if totals.bytes_redacted > 0 {
        let held = result.sessions.iter().filter(|session| session.bytes_redacted > 0).count();
        lines.push(format!(
            "  secrets replaced in {}: {}",
            size::plural(held, "session"),
            size::bytes(totals.bytes_redacted)
        ));
    }
    if totals.skipped > 0 {
        let what = if totals.skipped == 1 { "is no transcript" } else { "are no transcripts" };
        lines.push(format!("  {} skipped that {what}:", many(totals.skipped, "file")));
        let paths = report.skipped.iter().take(LISTED_MAX);
        lines.extend(paths.map(|path| format!("    {}", app.environment.shown(path))));
        lines.extend(more(report.skipped.len()));
    }
    lines.extend(excluded(report));
    lines.extend(notes(app, report));
    lines.extend(failures(app, report));
    let mut text = lines.join("\n");
    text.push('\n');
    if lines.is_empty() { String::new() } else { text }
}

/// Says how many transcripts were left out because somebody wants it so, by reason.
fn excluded(report: &ImportReport) -> Vec<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for (_, reason) in &report.held_back {
        *counts.entry(reason.to_string()).or_default() += 1;
    }
    let line = |(reason, count)| format!("  {} excluded: {reason}", size::plural(count, "transcript"));
    counts.into_iter().map(line).collect()
}

fn headline(result: &v1::Import) -> String {
    let totals = &result.totals;
    let subagents = result.sessions.iter().filter(|session| session.parent_session.is_some()).count();
    let main = size::plural(result.sessions.len() - subagents, "session");
    let sessions =
        if subagents > 0 { format!("{main} and {}", size::plural(subagents, "subagent")) } else { main };
    let commits = many(totals.commits, "commit");
    match totals.new_commits {
        0 => format!("{sessions} with {commits}: nothing new"),
        new if new == totals.commits => {
            format!("{} {sessions} with {commits}, all new", Style::Good.paint("Imported"))
        }
        new => format!(
            "{} {sessions} with {commits}, {} of them new",
            Style::Good.paint("Imported"),
            size::grouped(new)
        ),
    }
}

fn millis(millis: u64) -> Timestamp {
    Timestamp::from_micros(i64::try_from(millis).unwrap_or(i64::MAX).saturating_mul(1000))
}

fn notes(app: &App, report: &ImportReport) -> Vec<String> {
    let all: Vec<(&stemmata_engine::ImportedSession, &stemmata_model::Note)> = report
        .sessions
        .iter()
        .flat_map(|imported| imported.captured.notes.iter().map(move |note| (imported, note)))
        .collect();
    if all.is_empty() || app.console.quiet {
        return Vec::new();
    }
    let mut lines = vec![format!("  {}:", size::plural(all.len(), "note"))];
    let mut last = None;
    for (imported, note) in all.iter().take(LISTED_MAX) {
        if last != Some(&imported.path) {
            lines.push(format!("    {}", app.environment.shown(&imported.path)));
            last = Some(&imported.path);
        }
        lines.push(format!("      {note}"));
    }
    lines.extend(more(all.len()));
    lines
}

fn failures(app: &App, report: &ImportReport) -> Vec<String> {
    if report.failures.is_empty() {
        return Vec::new();
    }
    let count = size::plural(report.failures.len(), "file");
    let mut lines = vec![format!("{} could not be imported:", Style::Error.paint(&count))];
    for failure in report.failures.iter().take(LISTED_MAX) {
        let error = failure.error.to_string();
        // Errors about the file name it; errors about the store do not.
        if !error.contains(&*failure.path.to_string_lossy()) {
            lines.push(format!("  {}", app.environment.shown(&failure.path)));
        }
        lines.push(format!("  {error}"));
        lines.extend(
            stemmata_service::causes(&failure.error)
                .into_iter()
                .map(|cause| format!("    caused by: {cause}")),
        );
        lines.extend(
            stemmata_service::problem_of(&failure.error)
                .hint
                .map(|hint| format!("    {}: {hint}", Style::Hint.paint("hint"))),
        );
    }
    lines.extend(more(report.failures.len()));
    lines
}

fn more(count: usize) -> Option<String> {
    let rest = count.checked_sub(LISTED_MAX).filter(|rest| *rest > 0)?;
    Some(format!("    … and {rest} more (`--json` lists all)"))
}

/// Shows the newest sessions of the store, and says what to do with them.
fn next_step(app: &App, paths: &[PathBuf], result: &v1::Import) -> Result<(), CliError> {
    if result.totals.sessions > 0 {
        let (lines, newest) = log::newest_lines(app, NEWEST_SHOWN)?;
        app.console.text(&format!("\n{}\n{lines}", Style::Strong.paint("Newest")))?;
        if let Some(newest) = newest {
            app.console.say(&format!(
                "{}: `stemma resume {newest}` carries on with the first, `stemma log` shows all",
                Style::Hint.paint("hint")
            ));
        }
    } else if result.totals.excluded > 0 && result.totals.failures == 0 {
        app.console.say("Nothing else was found there.");
    } else if result.totals.sessions == 0 && result.totals.failures == 0 {
        app.console.say(&format!("No transcripts found in {}.", places(app, paths)));
        app.console.say(&status::examples_hint());
    }
    Ok(())
}

/// A full disk or a locked store stops everything, so it names the result; else some failed and others did not.
fn exit(report: &ImportReport) -> Exit {
    let stopping = report.failures.iter().find(|failure| {
        !matches!(failure.error, EngineError::Busy { .. })
            && matches!(failure.error.kind(), ErrorKind::Full | ErrorKind::Locked)
    });
    match (stopping, report.failures.first()) {
        (Some(failure), _) => Exit::of(stemmata_service::problem_of(&failure.error).kind),
        (None, None) => Exit::Done,
        (None, Some(failure)) if report.sessions.is_empty() => {
            Exit::of(stemmata_service::problem_of(&failure.error).kind)
        }
        (None, Some(_)) => Exit::Partial,
    }
}
