//! `bundle`: chains as one portable file.
//!
//! What is in a bundle, and whether it is sound, is the service's; here files are opened and results told.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use stemmata_api::v1::{
    BUNDLE_COMMITS_MAX, BundleExportRequest, BundleExported, BundleHaveRequest, BundleImportRequest,
    BundleImported, BundleShowRequest, BundleShown,
};
use stemmata_api::{Code, Control, Problem};
use stemmata_model::CommitId;
use stemmata_service::{FileBytes, is_bundle, parse_have, render_have};

use crate::args::bundle::{Bounds, Bundle, BundleCommand, Chains, Export, Have, Import, Show};
use crate::commands::launch::quoted;
use crate::commands::read_input;
use crate::errors::{CliError, Exit};
use crate::output::file::Target;
use crate::output::size::{self, many};
use crate::output::style::{Style, tame};
use crate::output::{put, session};
use crate::wiring::App;

/// Bytes of a list of commits at most: what a list of the largest number of them takes as JSON.
const HAVE_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Bytes of a file's beginning that tell a bundle.
const HEAD_BYTES: u64 = 64;

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

/// Returns the commits and the directory that were named.
fn chosen(app: &App, chains: &Chains) -> Result<(Vec<String>, Option<String>), CliError> {
    let commits: Result<_, _> = chains.references.iter().map(|reference| app.ctx(reference)).collect();
    let absolute = |dir: &PathBuf| app.environment.absolute(dir).to_string_lossy().into_owned();
    Ok((commits?, chains.project.as_ref().map(absolute)))
}

fn export(app: &App, args: &Export) -> Result<Exit, CliError> {
    let (commits, project) = chosen(app, &args.chains)?;
    let have = match &args.have {
        None => Vec::new(),
        Some(path) => parse_have(&String::from_utf8_lossy(&read_input(path, HAVE_BYTES_MAX)?))?,
    };
    let target = Target::of(&args.out);
    // A device or a pipe is written to, not replaced.
    let is_taken = matches!(&target, Target::File(path) if std::fs::symlink_metadata(path).is_ok_and(|file| !is_device(&file)));
    if is_taken && !args.force {
        let detail = format!("{} exists; `--force` replaces it", args.out.display());
        return Err(Box::new(Problem::new(Code::FileExists, detail)).into());
    }
    let request = BundleExportRequest { commits, project, all: args.chains.all, have };
    let service = app.service()?;
    let done = target
        .write(&app.temp_files(), |out| Ok(service.export_bundle(&request, out, &Control::none())?))?;
    app.console.notes(&done.notes);
    match target.path() {
        None => app.console.say(told_export(&done, "written").trim_end()),
        Some(path) if app.console.json => app.console.json(&BundleExported { path: Some(path), ..done })?,
        Some(path) => app.console.text(&told_export(&done, &format!("written to {path}")))?,
    }
    Ok(Exit::Done)
}

fn is_device(file: &std::fs::Metadata) -> bool {
    !file.is_file() && !file.is_dir() && !file.file_type().is_symlink()
}

/// Counts the files beside transcripts; nothing where there are none.
fn beside(files: u64) -> String {
    if files == 0 { String::new() } else { format!(" and {} beside transcripts", many(files, "file")) }
}

fn told_export(done: &BundleExported, how: &str) -> String {
    let mut text = format!(
        "{} {how}: {} in {}{}, {} of content\n",
        Style::Strong.paint(&size::bytes(done.bytes)),
        many(done.commits.saturating_sub(done.sidecar_commits), "commit"),
        many(done.sessions, "session"),
        beside(done.sidecars),
        size::bytes(done.content_bytes)
    );
    if !done.prerequisites.is_empty() {
        put!(
            text,
            "It continues {}, which the receiver has\n",
            listed(&done.prerequisites, |id| id.to_string())
        );
    }
    text
}

/// Opens a bundle; what cannot be read twice is kept in a file without a name first.
fn open(app: &App, path: &Path) -> Result<FileBytes, CliError> {
    let failed = |source| CliError::io("read", path, source);
    let mut input: Box<dyn std::io::Read> = if path.as_os_str() == "-" {
        Box::new(std::io::stdin().lock())
    } else {
        let file = File::open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if metadata.is_file() {
            return Ok(FileBytes(file));
        }
        if metadata.is_dir() {
            return Err(CliError::Usage(format!("{} is a directory, not a bundle", path.display())));
        }
        Box::new(file)
    };
    Ok(app.host()?.spool(path, &mut input)?)
}

/// Says whether a file is a bundle, by its bytes. What cannot be read is none, and who reads it says why.
pub(super) fn is_one(path: &Path) -> bool {
    let mut head = Vec::new();
    let read = |file: File| file.take(HEAD_BYTES).read_to_end(&mut head);
    let is_file = std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file());
    is_file && File::open(path).and_then(read).is_ok() && is_bundle(&head)
}

/// Returns the next step where a reference that nothing matches is a file.
pub(crate) fn hint_of_file(app: &App, problem: &Problem) -> Option<String> {
    let name = problem.about.get("name").filter(|_| problem.is(Code::ReferenceNotFound))?;
    let path = app.environment.absolute(Path::new(name));
    let shown = quoted(name);
    if is_one(&path) {
        return Some(format!(
            "`stemma bundle show {shown}` lists its sessions, `stemma import {shown}` imports them"
        ));
    }
    path.is_file().then(|| format!("`stemma import {shown}` reads it first"))
}

/// Imports a bundle that `import` was given.
pub(super) fn import_file(app: &App, file: &Path) -> Result<Exit, CliError> {
    let bounds = Bounds { max_commits: BUNDLE_COMMITS_MAX, max_bytes: None };
    import(app, &Import { file: file.to_owned(), dry_run: false, bounds })
}

fn import(app: &App, args: &Import) -> Result<Exit, CliError> {
    let request = BundleImportRequest {
        commits_max: Some(args.bounds.max_commits),
        content_bytes_max: args.bounds.max_bytes,
        dry_run: args.dry_run,
    };
    let file = open(app, &args.file)?;
    let done = app.service()?.import_bundle(&request, &file, &Control::none())?;
    app.console.notes(&done.notes);
    app.printed(&done, || told_import(app, &done))
}

fn told_import(app: &App, done: &BundleImported) -> Result<String, CliError> {
    let mut text = format!(
        "{}: {} new, {} known",
        if done.dry_run { "Sound, nothing stored" } else { "Imported" },
        many(done.new_commits, "commit"),
        size::count(done.known_commits)
    );
    if done.skipped_commits > 0 {
        put!(text, ", {} left out", size::count(done.skipped_commits));
    }
    put!(text, "; {}{} new or newer\n", many(done.sessions, "session"), beside(done.sidecars));
    if !done.dry_run {
        put!(
            text,
            "{} of new content, {} stored\n",
            size::bytes(done.new_bytes),
            size::bytes(done.stored_bytes)
        );
    }
    if !done.tips.is_empty() {
        let ids = app.short_ids(done.tips.iter().take(LISTED_MAX).copied())?;
        put!(text, "Its newest commits: {}\n", listed(&done.tips, |id| ids.cut(id)));
    }
    Ok(text)
}

fn show(app: &App, args: &Show) -> Result<Exit, CliError> {
    let request = BundleShowRequest {
        commits_max: Some(args.bounds.max_commits),
        content_bytes_max: args.bounds.max_bytes,
    };
    let file = open(app, &args.file)?;
    let shown = app.service()?.show_bundle(&request, &file, &Control::none())?;
    app.printed(&shown, || Ok(told_show(app, &shown)))
}

fn told_show(app: &App, summary: &BundleShown) -> String {
    let mut text = format!(
        "{}: {} in {}{}, {} of content in {}\n",
        Style::Good.paint("A sound bundle"),
        many(summary.commits.saturating_sub(summary.sidecar_commits), "commit"),
        many(summary.session_count, "session"),
        beside(summary.sidecars),
        size::bytes(summary.content_bytes),
        size::bytes(summary.bytes)
    );
    for (count, word, rest) in [
        (summary.sightings, "record", "of who captured a commit, when and where"),
        (summary.changes, "change", "of summaries, tags, notes and pins"),
        (summary.links, "link", "between sessions and copies of them"),
        (summary.placements, "session", "placed by `resume` or `fork`"),
    ] {
        if count > 0 {
            put!(text, "  {} {rest}\n", many(count, word));
        }
    }
    if summary.forgotten > 0 {
        put!(text, "  {} whose contents were forgotten\n", many(summary.forgotten, "commit"));
    }
    if !summary.tips.is_empty() {
        put!(text, "made for   {}\n", listed(&summary.tips, |id| id.to_string()));
    }
    if !summary.prerequisites.is_empty() {
        put!(text, "continues  {}\n", listed(&summary.prerequisites, |id| id.to_string()));
    }
    for own in summary.sessions.iter().take(SHOWN_MAX) {
        put!(
            text,
            "session    {}  {}  {}\n",
            Style::Id.paint(&tame(&own.session_id)),
            Style::Faint.paint(&tame(&own.principal)),
            app.console.fit(&session::title_of(own.title.as_deref().unwrap_or_default()), TITLE_COLUMNS)
        );
    }
    let more = summary.session_count.saturating_sub(u64::try_from(SHOWN_MAX).unwrap_or(u64::MAX));
    if more > 0 {
        put!(text, "session    … and {more} more\n");
    }
    text
}

fn have(app: &App, args: &Have) -> Result<Exit, CliError> {
    let (commits, project) = chosen(app, &args.chains)?;
    let request = BundleHaveRequest { commits, project, all: args.chains.all };
    let have = app.service()?.bundle_have(&request)?;
    app.printed(&have, || Ok(render_have(&have.commits)))
}

/// Lists ids; whole ones where they need not be in the store.
fn listed(ids: &[CommitId], shown: impl Fn(CommitId) -> String) -> String {
    let names: Vec<String> = ids.iter().map(|id| Style::Id.paint(&shown(*id))).collect();
    stemmata_model::listed(&names, LISTED_MAX)
}
