//! `git install` and `git uninstall`, and the trailer that the hook adds.

use std::path::{Path, PathBuf};

use stemmata_service::{GitHookChange, GitHookRequest, TrailerRequest, TrailerStage};

use crate::args::git::{Git, GitCommand, GitInstall, GitTrailer};
use crate::commands::install::diff;
use crate::errors::{CliError, Exit};
use crate::wiring::App;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Git) -> Result<Exit, CliError> {
    match &args.command {
        GitCommand::Install(args) => change(app, args, false),
        GitCommand::Uninstall(args) => change(app, args, true),
        GitCommand::Trailer(args) => Ok(trailer(app, args)),
    }
}

fn change(app: &App, args: &GitInstall, removes: bool) -> Result<Exit, CliError> {
    let request = GitHookRequest {
        dir: app.environment.current_dir.clone(),
        program: app.environment.lasting_program(),
        removes,
        dry_run: args.dry_run,
    };
    let done = app.host()?.git_hook(&request)?;
    if args.diff && !app.console.json {
        for (path, before, after) in done.texts.iter().filter(|(_, before, after)| before != after) {
            app.console.text(&diff(&app.environment.shown(path), before, after))?;
        }
    }
    let mut told = changes(app, &done, args.dry_run);
    if args.dry_run && done.texts.iter().any(|(_, before, after)| before != after) {
        told.push("Nothing was written (`--dry-run`)".to_owned());
    }
    app.said(&done.hook, &told.join("\n"))
}

/// Says for each hook what becomes of it. One that would be empty is deleted.
pub(super) fn changes(app: &App, done: &GitHookChange, dry_run: bool) -> Vec<String> {
    let line = |(path, before, after): &(PathBuf, String, String)| {
        let shown = app.environment.shown(path);
        let (would, did) = match (before.is_empty(), after.is_empty()) {
            _ if before == after => return format!("{shown}: nothing to change"),
            (true, _) => ("Would create", "Created"),
            (false, true) => ("Would remove", "Removed"),
            (false, false) => ("Would update", "Updated"),
        };
        format!("{} {shown}", if dry_run { would } else { did })
    };
    done.texts.iter().map(line).collect()
}

/// Adds the trailer. Whatever goes wrong, the commit goes on.
fn trailer(app: &App, args: &GitTrailer) -> Exit {
    let stage = match args.source.as_deref() {
        _ if args.written => TrailerStage::Written,
        // The message of a merge or a squash is git's own, an amended one has what it had, and of one that is still its
        // template git sees that nobody wrote it only while nothing is added.
        Some("merge" | "squash" | "commit" | "template") => TrailerStage::NotOurs,
        Some(_) => TrailerStage::Given,
        None => TrailerStage::Editor,
    };
    if let Err(error) = try_trailer(app, &args.message, stage) {
        tracing::warn!(error = ?error.exit(), "no trailer was added");
    }
    Exit::Done
}

fn try_trailer(app: &App, message: &Path, stage: TrailerStage) -> Result<(), CliError> {
    let request = TrailerRequest {
        message: app.environment.absolute(message),
        dir: app.environment.current_dir.clone(),
        process: app.process(),
        stage,
    };
    let added = app.host()?.trailer(&request);
    app.say_notes()?;
    added?;
    Ok(())
}
