//! `checkpoint --out` and `--load`: checkpoints as files.

use std::path::Path;

use stemmata_api::v1::{CheckpointLoaded, CheckpointSaved};
use stemmata_service::{LoadCheckpointRequest, SaveCheckpointRequest};

use crate::args::capture::Checkpoint;
use crate::commands::place;
use crate::errors::{CliError, Exit};
use crate::output::put;
use crate::output::size::{bytes, grouped, many};
use crate::output::style::tame;
use crate::wiring::App;

/// Files of each kind, and tasks, that a person sees; `--json` has them all.
const SHOWN_MAX: usize = 20;

/// Writes the checkpoint of a commit into a folder.
pub(crate) fn save(app: &App, args: &Checkpoint, folder: &Path) -> Result<Exit, CliError> {
    let ctx = match &args.reference {
        Some(reference) => place::newest(app, reference)?,
        None => place::latest(app, false, false)?.ctx.to_string(),
    };
    let request = SaveCheckpointRequest {
        ctx,
        window: args.window,
        folder: app.environment.absolute(folder),
        worktree: args.worktree.as_ref().map(|tree| app.environment.absolute(tree)),
    };
    let saved = app.host()?.save_checkpoint(app.service()?, &request)?;
    app.answer(&saved, || {
        app.console.notes(&saved.notes);
        Ok(told_saved(&saved))
    })
}

/// Loads a checkpoint from a file.
pub(crate) fn load(app: &App, args: &Checkpoint, path: &Path) -> Result<Exit, CliError> {
    let path = app.environment.absolute(path);
    let request = LoadCheckpointRequest { path, worktree: worktree(app, args) };
    let loaded = app.host()?.load_checkpoint(app.service()?, &request)?;
    app.answer(&loaded, || {
        app.console.notes(&loaded.notes);
        Ok(told_loaded(&loaded))
    })
}

fn worktree(app: &App, args: &Checkpoint) -> std::path::PathBuf {
    let here = || app.environment.current_dir.clone();
    args.worktree.as_ref().map_or_else(here, |tree| app.environment.absolute(tree))
}

fn told_saved(saved: &CheckpointSaved) -> String {
    let mut text = format!("{}\n", tame(&saved.path));
    put!(text, "{} of {}, {}", bytes(saved.bytes), saved.ctx, many(saved.files, "checksum"));
    if let Some(head) = &saved.git_head {
        put!(text, ", git {}", tame(head));
    }
    text.push('\n');
    text
}

fn told_loaded(loaded: &CheckpointLoaded) -> String {
    let from = if loaded.imported { "imported from the file" } else { "in this store" };
    let mut text = format!("{} ({from}), checkpoint of {}\n", loaded.ctx, loaded.timestamp);
    if let Some(phase) = &loaded.phase {
        put!(text, "phase: {}\n", tame(phase));
    }
    let limit = loaded.limit.map(|limit| format!(" of {}", grouped(limit))).unwrap_or_default();
    put!(
        text,
        "window: {}{limit} tokens, {}; {} completed\n",
        grouped(loaded.size),
        many(loaded.errors, "error"),
        many(loaded.tasks_completed, "task")
    );
    for task in loaded.task_queue.iter().take(SHOWN_MAX) {
        put!(text, "  [{}] {}\n", tame(&task.status), tame(&task.text));
    }
    more(&mut text, loaded.task_queue.len());
    if loaded.git_head != loaded.git_head_now {
        let head = |head: &Option<String>| head.as_deref().map_or_else(|| "none".to_owned(), tame);
        put!(text, "git was at {}, and is at {}\n", head(&loaded.git_head), head(&loaded.git_head_now));
    }
    let drift = &loaded.drift;
    let lists = [&drift.changed, &drift.missing, &drift.new, &drift.unread];
    if lists.iter().all(|list| list.is_empty()) {
        put!(text, "{} as they were\n", many(drift.same, "file"));
    }
    for (what, files) in ["changed", "missing", "new", "not compared"].into_iter().zip(lists) {
        for file in files.iter().take(SHOWN_MAX) {
            put!(text, "{what}: {}\n", tame(file));
        }
        more(&mut text, files.len());
    }
    text
}

fn more(text: &mut String, count: usize) {
    if count > SHOWN_MAX {
        put!(text, "  and {} more, with `--json`\n", count - SHOWN_MAX);
    }
}
