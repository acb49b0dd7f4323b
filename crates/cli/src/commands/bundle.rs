//! `bundle`: chains as one portable file.
//!
//! What is in a bundle, and whether it is sound, is the engine's; here files are opened and results told.

use std::fs::File;
use std::path::Path;

use stemmata_api::v1;
use stemmata_engine::{
    BundleExported, BundleImportOptions, BundleImported, BundleLimits, BundleSelection, BundleSummary,
    Engine, EngineError, Refusal, parse_have, render_have,
};
use stemmata_model::CommitId;

use crate::args::bundle::{Bounds, Bundle, BundleCommand, Chains, Export, Have, Import, Show};
use crate::commands::read_input;
use crate::errors::{CliError, Exit};
use crate::output::commit::ShortIds;
use crate::output::file::Target;
use crate::output::size::{self, many};
use crate::output::style::{Style, tame};
use crate::output::table::fit;
use crate::output::{put, session};
use crate::wiring::App;
use stemmata_service::wire;

/// Bytes of a list of commits at most: what a list of the largest number of them takes as JSON.
const HAVE_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Columns of a title.
const TITLE_COLUMNS: usize = 60;

/// Commits that a line names.
const LISTED_MAX: usize = 5;

/// Sessions that people are shown.
const SHOWN_MAX: usize = 20;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Bundle) -> Result<Exit, CliError> {
    match &args.command {
        BundleCommand::Export(args) => export(app, args),
        BundleCommand::Import(args) => import(app, args),
        BundleCommand::Show(args) => show(app, args),
        BundleCommand::Have(args) => have(app, args),
    }
}

fn selection(app: &App, chains: &Chains) -> Result<BundleSelection, CliError> {
    if chains.all {
        return Ok(BundleSelection::All);
    }
    if let Some(project) = &chains.project {
        let project = app.environment.absolute(project);
        return Ok(BundleSelection::Project(project.to_string_lossy().into_owned()));
    }
    if chains.references.is_empty() {
        return Err(CliError::Usage("say what to take: commits, `--project DIR` or `--all`".to_owned()));
    }
    let commits = chains.references.iter().map(|reference| app.find(reference));
    Ok(BundleSelection::Commits(commits.collect::<Result<_, _>>()?))
}

fn export(app: &App, args: &Export) -> Result<Exit, CliError> {
    let what = selection(app, &args.chains)?;
    let have = match &args.have {
        None => Vec::new(),
        Some(path) => {
            let text = String::from_utf8_lossy(&read_input(path, HAVE_BYTES_MAX)?).into_owned();
            parse_have(&text).map_err(EngineError::from)?
        }
    };
    let target = Target::of(&args.out);
    // A device or a pipe is written to, not replaced.
    let is_taken = matches!(&target, Target::File(path) if std::fs::symlink_metadata(path).is_ok_and(|file| !is_device(&file)));
    if is_taken && !args.force {
        return Err(CliError::Engine(EngineError::Refused {
            what: Refusal::WriteBundle,
            reasons: vec![format!("{} exists; `--force` replaces it", args.out.display())],
        }));
    }
    let engine = app.engine()?;
    let done = target.write(|out| Ok(engine.export_bundle(&what, &have, out)?))?;
    app.console.notes(&done.notes);
    match target {
        Target::File(path) => {
            let path = path.to_string_lossy().into_owned();
            if app.console.json {
                app.console.json(&exported(&done, path))?;
            } else {
                app.console.text(&told_export(&done, &format!("written to {path}")))?;
            }
        }
        Target::Standard => app.console.say(told_export(&done, "written").trim_end()),
    }
    Ok(Exit::Done)
}

fn is_device(file: &std::fs::Metadata) -> bool {
    !file.is_file() && !file.is_dir() && !file.file_type().is_symlink()
}

fn exported(done: &BundleExported, path: String) -> v1::BundleExported {
    v1::BundleExported {
        path,
        tips: names(&done.tips),
        commits: done.commits,
        known_commits: done.known_commits,
        prerequisites: names(&done.prerequisites),
        sessions: done.sessions,
        content_bytes: done.content_bytes,
        bytes: done.bytes,
        notes: wire::notes(&done.notes),
    }
}

fn told_export(done: &BundleExported, how: &str) -> String {
    let mut text = format!(
        "{} {how}: {} in {}, {} of content\n",
        Style::Strong.paint(&size::bytes(done.bytes)),
        many(done.commits, "commit"),
        many(done.sessions, "session"),
        size::bytes(done.content_bytes)
    );
    if !done.prerequisites.is_empty() {
        put!(text, "It continues {}, which the receiver has\n", listed(&done.prerequisites));
    }
    text
}

/// Opens a bundle; what cannot be read twice is kept in a file without a name first.
pub(super) fn open(app: &App, path: &Path) -> Result<File, CliError> {
    let failed = |source| CliError::io("read", path, source);
    let mut input: Box<dyn std::io::Read> = if path.as_os_str() == "-" {
        Box::new(std::io::stdin().lock())
    } else {
        let file = File::open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if metadata.is_file() {
            return Ok(file);
        }
        if metadata.is_dir() {
            return Err(CliError::Usage(format!("{} is a directory, no bundle", path.display())));
        }
        Box::new(file)
    };
    let folder = app.home()?.cache_dir();
    let kept = |source| CliError::io("write in", &folder, source);
    let mut file = tempfile::tempfile_in(&folder).map_err(kept)?;
    std::io::copy(&mut input, &mut file).map_err(failed)?;
    Ok(file)
}

const fn limits(bounds: &Bounds) -> BundleLimits {
    BundleLimits { commits_max: bounds.max_commits, content_bytes_max: bounds.max_bytes }
}

fn import(app: &App, args: &Import) -> Result<Exit, CliError> {
    let file = open(app, &args.file)?;
    let options = BundleImportOptions {
        limits: limits(&args.bounds),
        dry_run: args.dry_run,
        ..BundleImportOptions::default()
    };
    let done = app.engine()?.import_bundle(&file, &options)?;
    app.console.notes(&done.notes);
    if app.console.json {
        app.console.json(&imported(&done, args.dry_run))?;
    } else {
        app.console.text(&told_import(app, &done, args.dry_run)?)?;
    }
    Ok(Exit::Done)
}

fn imported(done: &BundleImported, dry_run: bool) -> v1::BundleImported {
    v1::BundleImported {
        tips: names(&done.summary.tips),
        commits: done.summary.commits,
        new_commits: done.new_commits,
        known_commits: done.known_commits,
        skipped_commits: done.skipped_commits,
        sessions: done.sessions,
        links_left_out: done.links_left_out,
        new_bytes: done.new_bytes,
        stored_bytes: done.stored_bytes,
        other_rules_commits: done.other_rules_commits,
        dry_run,
        notes: wire::notes(&done.notes),
    }
}

fn told_import(app: &App, done: &BundleImported, dry_run: bool) -> Result<String, CliError> {
    let mut text = format!(
        "{}: {} new, {} known",
        if dry_run { "Sound, nothing stored" } else { "Taken in" },
        many(done.new_commits, "commit"),
        size::count(done.known_commits)
    );
    if done.skipped_commits > 0 {
        put!(text, ", {} left out", size::count(done.skipped_commits));
    }
    put!(text, "; {} new or newer\n", many(done.sessions, "session"));
    if !dry_run {
        put!(
            text,
            "{} of content were not here and take {}\n",
            size::bytes(done.new_bytes),
            size::bytes(done.stored_bytes)
        );
    }
    if !done.summary.tips.is_empty() {
        put!(text, "It was made for {}\n", listed_here(app, &done.summary.tips)?);
    }
    Ok(text)
}

fn show(app: &App, args: &Show) -> Result<Exit, CliError> {
    let file = open(app, &args.file)?;
    let summary = Engine::show_bundle(&file, limits(&args.bounds))?;
    if app.console.json {
        app.console.json(&shown(&summary))?;
    } else {
        app.console.text(&told_show(&summary))?;
    }
    Ok(Exit::Done)
}

fn shown(summary: &BundleSummary) -> v1::BundleShown {
    v1::BundleShown {
        tips: names(&summary.tips),
        prerequisites: names(&summary.prerequisites),
        commits: summary.commits,
        forgotten: summary.forgotten,
        contents: summary.contents,
        needed_contents: summary.needed_contents,
        unchecked: summary.unchecked,
        content_bytes: summary.content_bytes,
        bytes: summary.bytes,
        sightings: summary.sightings,
        changes: summary.changes,
        links: summary.links,
        placements: summary.placements,
        session_count: summary.session_count,
        sessions: summary.sessions.iter().map(wire::session::session).collect(),
        formats: summary.formats.iter().map(ToString::to_string).collect(),
        machines: summary.machines.iter().map(ToString::to_string).collect(),
        rules: summary.rules.iter().map(ToString::to_string).collect(),
    }
}

fn told_show(summary: &BundleSummary) -> String {
    let mut text = format!(
        "{}: {} in {}, {} of content in {}\n",
        Style::Good.paint("A sound bundle"),
        many(summary.commits, "commit"),
        many(summary.session_count, "session"),
        size::bytes(summary.content_bytes),
        size::bytes(summary.bytes)
    );
    let told =
        [("sighting", summary.sightings), ("change of summaries, tags, notes and pins", summary.changes)];
    for (what, count) in told.into_iter().chain([("link", summary.links), ("placement", summary.placements)])
    {
        if count > 0 {
            // Only the first word has a plural.
            let (word, rest) = what.split_once(' ').unwrap_or((what, ""));
            put!(text, "  {}", many(count, word));
            put!(text, "{}{rest}\n", if rest.is_empty() { "" } else { " " });
        }
    }
    if summary.forgotten > 0 {
        put!(text, "  {} whose contents were forgotten\n", many(summary.forgotten, "commit"));
    }
    if !summary.tips.is_empty() {
        put!(text, "made for   {}\n", listed(&summary.tips));
    }
    if !summary.prerequisites.is_empty() {
        put!(text, "continues  {}\n", listed(&summary.prerequisites));
    }
    for own in summary.sessions.iter().take(SHOWN_MAX) {
        put!(
            text,
            "session    {}  {}  {}\n",
            Style::Id.paint(&session::short(own)),
            Style::Faint.paint(&tame(own.principal.as_str())),
            fit(&session::title(own), TITLE_COLUMNS)
        );
    }
    let more = summary.session_count.saturating_sub(u64::try_from(SHOWN_MAX).unwrap_or(u64::MAX));
    if more > 0 {
        put!(text, "session    … and {more} more\n");
    }
    text
}

fn have(app: &App, args: &Have) -> Result<Exit, CliError> {
    let what = selection(app, &args.chains)?;
    let ids = app.engine()?.bundle_have(&what)?;
    if app.console.json {
        app.console.json(&v1::BundleHave { commits: names(&ids) })?;
    } else {
        app.console.text(&render_have(&ids))?;
    }
    Ok(Exit::Done)
}

fn names(ids: &[CommitId]) -> Vec<String> {
    ids.iter().map(ToString::to_string).collect()
}

/// Lists ids whole, for what need not be in the store.
fn listed(ids: &[CommitId]) -> String {
    listed_as(ids, |id| Style::Id.paint(&id.to_string()))
}

/// Lists ids as short as the store tells them apart.
fn listed_here(app: &App, ids: &[CommitId]) -> Result<String, CliError> {
    let shown = ids.get(..LISTED_MAX).unwrap_or(ids);
    let short = ShortIds::of(app.engine()?, shown)?;
    Ok(listed_as(ids, |id| short.shown(id)))
}

fn listed_as(ids: &[CommitId], name: impl Fn(CommitId) -> String) -> String {
    let names: Vec<String> = ids.iter().take(LISTED_MAX).map(|id| name(*id)).collect();
    let more = ids.len().saturating_sub(LISTED_MAX);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    names.join(", ") + &more
}
