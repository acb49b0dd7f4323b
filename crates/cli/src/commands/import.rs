//! `import`: shows what was found, reads it with progress, and says honestly how it went.
//!
//! What a transcript is and where commits end is the engine's.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use stemmata_api::v1::{self, Import as Imported, SessionDetails, SessionsRequest};
use stemmata_api::{Code, Control, Progress, Step, Unit};
use stemmata_model::{NoteCode, Timestamp};
use stemmata_service::{Host, ImportRequest, Reader, alike};

use crate::args::capture::Import;
use crate::commands::{bundle, home, list, pack, status};
use crate::errors::{CliError, Exit};
use crate::output::size::{self, many};
use crate::output::style::Style;
use crate::output::{left_out, session, time};
use crate::wiring::App;

/// Failures and notes that a summary lists one by one; `--json` has all.
const LISTED_MAX: usize = 10;

/// Kinds of secrets that people see.
const KINDS_MAX: usize = 5;

/// Columns of the title of a session with secrets.
const TITLE_COLUMNS: usize = 40;

/// Sessions that are shown after an import: enough to recognize one's own.
const NEWEST_SHOWN: usize = 5;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Import) -> Result<Exit, CliError> {
    imported(app, args, true)
}

/// Imports as the command does and says only what went wrong: `setup` says the rest.
pub(super) fn quietly(app: &App, args: &Import) -> Result<Exit, CliError> {
    imported(app, args, false)
}

fn imported(app: &App, args: &Import, tells: bool) -> Result<Exit, CliError> {
    if let [path] = args.paths.as_slice()
        && bundle::is_one(path)
    {
        return bundle::import_file(app, path);
    }
    let host = app.host()?;
    let paths = paths(app, host, args)?;
    if paths.is_empty() && !app.console.json {
        nothing_found(app, host);
        return Ok(Exit::Done);
    }
    app.opened_host()?;
    let request = ImportRequest {
        paths,
        are_named: !args.paths.is_empty(),
        full: args.full,
        granularity: args.granularity,
        threads: args.threads,
        briefs: args.brief,
        reader: if tells && !app.console.json && !app.console.quiet {
            Reader::Person
        } else {
            Reader::Program
        },
    };
    // Before it is said what was found.
    if let Some(warning) = host.hold_quota()?.filter(|_| !app.console.quiet) {
        app.console.warn(&warning);
    }
    let progress = Bar::start(app, host, &request)?;
    let result = host.import(&request, &Control { progress: &progress, ..Control::none() });
    // What is done behind the reading is done before its summary: the command ends when it says so.
    let behind = result.as_ref().map(|result| {
        progress.says("indexing what is new");
        let settled = host.settle_after_import(result);
        progress.says("packing");
        (settled, host.pack_after_import())
    });
    progress.end();
    let (settled, packed) = behind.map_err(Clone::clone)?;
    let result = result?;
    if tells && app.console.json {
        app.console.json(&result)?;
    } else if !app.console.json && (tells || exit(&result) != Exit::Done) {
        app.console.text(&summary(app, &result)?)?;
        next_step(app, &request.paths, &result)?;
    }
    settled?;
    if let Some(packed) = packed?.filter(|_| tells) {
        app.console.say(&pack::line(&packed));
    }
    Ok(exit(&result))
}

/// Returns what to read: what was named, else the homes of clients, else what was given for machines without.
fn paths(app: &App, host: &Host, args: &Import) -> Result<Vec<PathBuf>, CliError> {
    if !args.paths.is_empty() {
        return Ok(args.paths.iter().map(|path| app.environment.absolute(path)).collect());
    }
    let folders = host.clients_folders();
    let Some(or) = &args.or else { return Ok(folders) };
    if app.opened_host()?.survey(&folders)?.is_any() {
        return Ok(folders);
    }
    app.console.say("No sessions on this machine yet.");
    Ok(vec![app.environment.absolute(or)])
}

/// Without arguments and without any client's home there is nothing to read, which is no failure.
fn nothing_found(app: &App, host: &Host) {
    let looked = host.looked_in().into_iter();
    let looked: Vec<String> =
        looked.map(|(client, folder)| format!("{client}: {}", app.environment.shown(&folder))).collect();
    let looked = if looked.is_empty() { "no home directory".to_owned() } else { looked.join(", ") };
    app.console.say(&format!("No sessions on this machine yet (looked in {looked})."));
    app.console.hint("`stemma import examples/` reads the small sessions that come with the source, and `stemma import PATH` \
         any transcript or folder");
}

/// Shows how far the work is, where a person watches.
struct Bar {
    bar: ProgressBar,
}

impl Bar {
    fn start(app: &App, host: &Host, request: &ImportRequest) -> Result<Self, CliError> {
        let watched = app.console.err.is_terminal && !app.console.quiet;
        let total =
            if app.console.json || app.console.quiet { None } else { Some(found(app, host, request)?) };
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

    /// Says what is done now.
    fn says(&self, what: &'static str) {
        self.bar.set_message(what);
    }

    fn end(&self) {
        self.bar.finish_and_clear();
    }
}

impl Progress for Bar {
    fn step(&self, step: &Step<'_>) {
        match (step.unit, step.total) {
            (Unit::Bytes, _) => self.bar.set_position(step.done),
            (_, Some(files)) => self.bar.set_message(format!("{} of {}", step.done, many(files, "file"))),
            _ => {}
        }
    }
}

/// Says what is about to be read, and returns the bytes of all files that are looked at.
fn found(app: &App, host: &Host, request: &ImportRequest) -> Result<u64, CliError> {
    let found = host.survey(&request.paths)?;
    if found.transcripts == 0 {
        return Ok(found.looked_bytes);
    }
    let news = if request.full {
        "reading all from the start".to_owned()
    } else {
        format!("{} new, {} changed", found.new, found.changed)
    };
    app.console.say(&format!(
        "Found {} ({}) in {}: {news}",
        many(found.transcripts, "transcript"),
        size::bytes(found.bytes),
        places(app, &request.paths),
    ));
    Ok(found.looked_bytes)
}

/// Names where it was looked, the first few of them.
fn places(app: &App, paths: &[PathBuf]) -> String {
    let places: Vec<String> = paths.iter().take(3).map(|path| app.environment.shown(path)).collect();
    let more = if paths.len() > places.len() { " …" } else { "" };
    format!("{}{more}", places.join(", "))
}

/// The whole result for a person: counts, sizes, what was replaced, what was degraded, what failed.
fn summary(app: &App, result: &Imported) -> Result<String, CliError> {
    let totals = &result.totals;
    let mut lines = Vec::new();
    if totals.new_commits > 0 || totals.sidecars > 0 || (totals.sessions > 0 && !app.console.quiet) {
        lines.push(headline(result));
        if totals.bytes_stored > 0 {
            lines.push(format!(
                "  {} read, {} stored, {}",
                size::bytes(totals.bytes_in),
                size::bytes(totals.bytes_stored),
                time::took(Timestamp::EPOCH, millis(totals.elapsed_ms)),
            ));
        }
    }
    if totals.sidecars > 0 {
        let altered = match totals.sidecars_altered {
            0 => String::new(),
            altered => format!(", secrets replaced in {}", size::count(altered)),
        };
        lines.push(format!(
            "  {} beside transcripts: {} read, {} stored{altered}",
            many(totals.sidecars, "file"),
            size::bytes(totals.sidecar_bytes),
            size::bytes(totals.sidecar_bytes_stored),
        ));
    }
    if totals.copies > 0 {
        let whose = if totals.copies == 1 { "its original" } else { "their originals" };
        lines.push(format!("  {} linked to {whose}", many(totals.copies, "duplicate")));
    }
    lines.extend(redacted(app, result)?);
    lines.extend(left_out::lines(app, &result.left_out));
    lines.extend(notes(app, result));
    lines.extend(failures(app, result));
    let mut text = lines.join("\n");
    text.push('\n');
    Ok(if lines.is_empty() { String::new() } else { text })
}

/// Says which kinds of secrets were redacted, and that they are still where the client wrote them.
fn redacted(app: &App, result: &Imported) -> Result<Vec<String>, CliError> {
    let mut kinds: BTreeMap<&str, u64> = BTreeMap::new();
    for one in result.sessions.iter().flat_map(|session| &session.redacted) {
        *kinds.entry(&one.kind).or_default() += one.count;
    }
    let sessions = result.sessions.iter().filter(|session| !session.redacted.is_empty());
    let Some(first) = sessions.clone().next() else { return Ok(Vec::new()) };
    let id = app.short_sessions([&first.session_id])?.concat();
    let first = first.title.as_deref().unwrap_or(first.session_id.as_str());
    let first = app.console.fit(&session::title_of(first), TITLE_COLUMNS);
    let others = sessions.count().saturating_sub(1);
    let place = if others == 0 {
        format!("{id} «{first}»")
    } else {
        format!("{id} «{first}» and {}", size::plural(others, "other session"))
    };
    let names: Vec<&str> = kinds.keys().copied().take(KINDS_MAX).collect();
    let more = if kinds.len() > names.len() { ", …" } else { "" };
    let mut lines = vec![format!(
        "  {} {} in {place} ({}{more})",
        Style::Warning.paint("Redacted"),
        many(kinds.values().sum(), "secret"),
        names.join(", ")
    )];
    if !app.console.quiet {
        lines.push(
            "    They are still in the clients' own files: rotate them; `stemma scan --clients` lists them"
                .to_owned(),
        );
    }
    Ok(lines)
}

fn headline(result: &Imported) -> String {
    let totals = &result.totals;
    // Which of them are copies of one session is only known of all: the count of sessions follows.
    let transcripts = size::plural(result.sessions.len(), "transcript");
    let commits = many(totals.commits, "commit");
    match totals.new_commits {
        0 => format!("{transcripts} with {commits}: nothing new"),
        new if new == totals.commits => {
            format!("{} {transcripts} with {commits}, all new", Style::Good.paint("Imported"))
        }
        new => format!(
            "{} {transcripts} with {commits}, {} of them new",
            Style::Good.paint("Imported"),
            size::grouped(new)
        ),
    }
}

fn millis(millis: u64) -> Timestamp {
    Timestamp::from_micros(i64::try_from(millis).unwrap_or(i64::MAX).saturating_mul(1000))
}

fn notes(app: &App, result: &Imported) -> Vec<String> {
    let all: Vec<(&str, &v1::Note)> = result
        .sessions
        .iter()
        .flat_map(|imported| imported.notes.iter().map(|note| (imported.path.as_str(), note)))
        // Each session that is still written ends so; nothing is lost, and there is nothing to do.
        .filter(|(_, note)| note.code != NoteCode::TornTail)
        .collect();
    if app.console.quiet {
        return Vec::new();
    }
    // Each file of a forgotten project has such a note. The first one is shown, with their number.
    let (forgotten, rest): (Vec<_>, Vec<_>) =
        all.iter().partition(|(_, note)| note.code == NoteCode::Forgotten);
    let [(path, first), _, ..] = forgotten.as_slice() else { return listed(app, &all) };
    let many = size::plural(forgotten.len(), "note");
    let path = app.environment.shown(Path::new(path));
    let mut lines = vec![
        format!("  {many} about what was forgotten, the first of {path} (`--json` lists all):"),
        format!("      {}", first.message),
    ];
    lines.extend(listed(app, &rest));
    lines
}

fn listed(app: &App, all: &[(&str, &v1::Note)]) -> Vec<String> {
    if all.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![format!("  {}:", size::plural(all.len(), "note"))];
    let mut last = None;
    for (path, note) in all.iter().take(LISTED_MAX) {
        if last != Some(path) {
            lines.push(format!("    {}", app.environment.shown(Path::new(path))));
            last = Some(path);
        }
        let line = note.line.map(|line| format!("line {line}: ")).unwrap_or_default();
        lines.push(format!("      {line}{}", note.message));
    }
    lines.extend(more(all.len()));
    lines
}

fn failures(app: &App, result: &Imported) -> Vec<String> {
    if result.failures.is_empty() {
        return Vec::new();
    }
    let count = size::plural(result.failures.len(), "file");
    let mut lines = vec![format!("{} could not be imported:", Style::Error.paint(&count))];
    let kinds = alike(&result.failures, |failure| {
        (failure.path.clone(), [&failure.error[..], &failure.causes.concat()].concat())
    });
    for (failure, others) in kinds.iter().take(LISTED_MAX) {
        // Errors about the file name it; errors about the store do not.
        if !failure.error.contains(&failure.path) {
            lines.push(format!("  {}", app.environment.shown(Path::new(&failure.path))));
        }
        lines.push(format!("  {}", failure.error));
        lines.extend(failure.causes.iter().map(|cause| format!("    caused by: {cause}")));
        let hint = failure.hint.as_ref();
        lines.extend(hint.map(|hint| format!("    {}: {hint}", Style::Hint.paint("hint"))));
        if *others > 0 {
            lines.push(format!(
                "    the same of {} (`--json` lists all)",
                size::plural(*others, "other file")
            ));
        }
    }
    lines.extend(more(kinds.len()));
    lines
}

fn more(count: usize) -> Option<String> {
    let rest = count.checked_sub(LISTED_MAX).filter(|rest| *rest > 0)?;
    Some(format!("    … and {rest} more (`--json` lists all)"))
}

/// Says what one has now, shows the newest sessions, and says what to do with them.
fn next_step(app: &App, paths: &[PathBuf], result: &Imported) -> Result<(), CliError> {
    if result.totals.new_commits > 0 {
        // With `--quiet`, the results are enough.
        if app.console.quiet {
            return Ok(());
        }
        let request = SessionsRequest {
            folded: true,
            details: Some(SessionDetails::Figures),
            ..SessionsRequest::all()
        };
        let newest = list::sessions(app, &request, NEWEST_SHOWN)?.sessions;
        let held = home::after_import(app)?;
        app.console.text(&format!(
            "\n{held}\n{}\n{}",
            Style::Strong.paint("Newest"),
            list::table(app, &newest)
        ))?;
        say_next(app, &newest);
    } else if result.totals.sessions > 0 || result.totals.failures > 0 {
        // The summary says all that there is to say.
    } else if result.totals.excluded > 0 {
        app.console.say("Nothing else was found there.");
    } else {
        app.console.say(&format!("No transcripts found in {}.", places(app, paths)));
        app.console.say(&status::examples_hint());
    }
    Ok(())
}

/// Says how to go on with the newest session that a client can continue.
fn say_next(app: &App, newest: &[v1::Session]) {
    let placeable = newest.iter().find(|session| App::is_continued(&session.client));
    if let Some(session) = placeable {
        let id = session::short(session);
        app.console.hint(&format!("`stemma resume {id}` continues it, `stemma show {id}` reads it"));
    } else if let Some(session) = newest.first() {
        let id = session::short(session);
        let resume = App::resume_command(&id, &session.client);
        app.console.hint(&format!("`stemma show {id}` reads it, `{resume}` continues it elsewhere"));
    }
}

/// A full disk or a locked store stops everything, so it names the result; else some failed and others did not.
fn exit(result: &Imported) -> Exit {
    let of = |failure: &v1::Failure| Exit::of_code(failure.exit_code);
    let stopping = result.failures.iter().find(|failure| {
        matches!(of(failure), Exit::Full | Exit::Locked) && failure.code != Code::DatabaseBusy.row().code
    });
    match (stopping, result.failures.first()) {
        (Some(failure), _) => of(failure),
        (None, None) => Exit::Done,
        (None, Some(failure)) if result.sessions.is_empty() => of(failure),
        (None, Some(_)) => Exit::Partial,
    }
}
