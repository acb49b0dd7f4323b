//! Checkpoints in files of this machine, and the working tree beside them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use stemmata_api::v1::{
    CheckpointDrift, CheckpointFileRequest, CheckpointLoaded, CheckpointSaved, CheckpointTask, Note,
    SessionRequest,
};
use stemmata_api::{Answer, Code, Control, Problem, Service};
use stemmata_engine::{
    CHECKPOINT_FILE_BYTES_MAX, CheckpointFile, TempFiles, create_private, git_head, tree_root,
};
use stemmata_model::{NoteCode, WORK_FILES_MAX};
use stemmata_store::read_bounded;

use super::Host;
use crate::fault::{Fault, io_failed};
use crate::local::checkpoint_file::parsed;

/// Asks to save the checkpoint of a commit.
#[derive(Debug, Clone)]
pub struct SaveCheckpointRequest {
    /// The commit.
    pub ctx: String,
    /// Tokens that the model takes, where somebody says so.
    pub window: Option<u64>,
    /// The folder of the file; made where it is not there.
    pub folder: PathBuf,
    /// A folder of the working tree, absolute. Absent: where the session works.
    pub worktree: Option<PathBuf>,
}

/// Asks to load a checkpoint.
#[derive(Debug, Clone)]
pub struct LoadCheckpointRequest {
    /// The file.
    pub path: PathBuf,
    /// A folder of the working tree to compare with, absolute.
    pub worktree: PathBuf,
}

impl Host {
    /// Saves the checkpoint of a commit in a new file for its owner alone: whole or not at all, and never in the place of another.
    ///
    /// # Errors
    /// `file_exists`, `not_a_directory`, `io_failed`, `disk_full`, and those of
    /// [`checkpoint_file`](stemmata_api::GiveBack::checkpoint_file).
    pub fn save_checkpoint(
        &self,
        service: &dyn Service,
        request: &SaveCheckpointRequest,
    ) -> Answer<CheckpointSaved> {
        let mut bytes = Vec::new();
        let asked = CheckpointFileRequest { ctx: request.ctx.clone(), window: request.window };
        let made = service.checkpoint_file(&asked, &mut bytes, &Control::none())?;
        let mut file = parsed(&bytes)?;
        let (tree, missing) = tree_of(service, request.worktree.as_deref(), &file);
        let is_all = tree.is_none_or(|tree| file.look_at(&tree_root(&tree)));
        let text = file.render();
        self.with(|home| {
            let path = request.folder.join(file.name());
            write_new(&home.temp_files(), &path, text.as_bytes())?;
            let more =
                || format!("more files were touched than have checksums: {WORK_FILES_MAX}, the latest");
            let messages = (!is_all).then(more).into_iter().chain(missing);
            let note = |message| Note::new(NoteCode::Degraded, message);
            Ok(CheckpointSaved {
                path: path.to_string_lossy().into_owned(),
                ctx: made.ctx,
                timestamp: file.timestamp,
                bytes: text.len() as u64,
                git_head: file.state.git_head.clone(),
                files: file.state.file_checksums.len() as u64,
                notes: messages.map(note).collect(),
            })
        })
    }

    /// Loads a checkpoint: checks the file, compares its checksums with a working tree, and gives the context. A file that is
    /// refused stores nothing.
    ///
    /// # Errors
    /// `file_not_found`, `checkpoint_file_bad`, and those of
    /// [`load_checkpoint_file`](stemmata_api::GiveBack::load_checkpoint_file).
    pub fn load_checkpoint(
        &self,
        service: &dyn Service,
        request: &LoadCheckpointRequest,
    ) -> Answer<CheckpointLoaded> {
        let path = &request.path;
        let bytes = self.with(|_| read(path))?;
        let file = parsed(&bytes).map_err(|problem| at_path(path, problem))?;
        let root = tree_root(&request.worktree);
        let drift = file.drift(&root);
        let given = service.load_checkpoint_file(&mut bytes.as_slice())?;
        Ok(loaded(path, &file, (drift, git_head(&root)), given))
    }
}

/// Returns the working tree of a checkpoint: the one that is named, else the session's own directory. Where that is gone, any
/// other one would say nothing of the session's work, so there is none, and the reason is told.
fn tree_of(
    service: &dyn Service,
    named: Option<&Path>,
    file: &CheckpointFile,
) -> (Option<PathBuf>, Option<String>) {
    if let Some(named) = named {
        return (Some(named.to_owned()), None);
    }
    let session = file.snapshot.session.clone().map(|reference| SessionRequest { reference });
    let known = session.and_then(|request| service.session(&request).ok());
    let why = match known.and_then(|session| session.cwd).map(PathBuf::from) {
        Some(folder) if folder.is_dir() => return (Some(folder), None),
        Some(folder) => format!("the session's directory {} is gone", folder.display()),
        None => "the session names no directory".to_owned(),
    };
    let message =
        format!("{why}: there is no git commit and no checksum; `--worktree DIR` names a working tree");
    (None, Some(message))
}

fn loaded(
    path: &Path,
    file: &CheckpointFile,
    (drift, git_head_now): (CheckpointDrift, Option<String>),
    given: stemmata_api::v1::CheckpointContext,
) -> CheckpointLoaded {
    let state = &file.state;
    let task = |task: &stemmata_model::WorkTask| CheckpointTask {
        id: task.id.clone(),
        text: task.text.clone(),
        status: task.status.clone(),
    };
    CheckpointLoaded {
        path: path.to_string_lossy().into_owned(),
        timestamp: file.timestamp,
        ctx: given.ctx,
        named_ctx: file.snapshot.ctx,
        imported: given.imported,
        phase: state.phase.clone(),
        tasks_completed: state.tasks_completed,
        task_queue: state.task_queue.iter().map(task).collect(),
        size: state.metrics.size_tokens,
        limit: state.metrics.limit_tokens,
        errors: state.metrics.errors,
        git_head: state.git_head.clone(),
        git_head_now,
        drift,
        notes: given.notes,
    }
}

/// Reads a file that somebody named. Looked at first: opening a pipe would wait for a writer.
fn read(path: &Path) -> Result<Vec<u8>, Fault> {
    let failed = |error: io::Error| io_failed("read", path, &error);
    if !fs::metadata(path).map_err(failed)?.is_file() {
        let detail = format!("{} is not a file", path.display());
        return Err(Problem::new(Code::CheckpointFileBad, detail).into());
    }
    let bytes = read_bounded(path, CHECKPOINT_FILE_BYTES_MAX + 1).map_err(failed)?;
    bytes.ok_or_else(|| failed(io::ErrorKind::NotFound.into()))
}

/// Names the file that cannot be loaded, and says how it is written again.
fn at_path(path: &Path, problem: Box<Problem>) -> Box<Problem> {
    let hint =
        "nothing was stored; write the file again with `stemma checkpoint --out DIR`, or copy it again";
    let detail = format!("{}: {}", path.display(), problem.detail);
    Box::new(Problem { detail, hint: Some(hint.to_owned()), ..*problem })
}

fn write_new(files: &TempFiles, path: &Path, bytes: &[u8]) -> Result<(), Fault> {
    let folder = path.parent().unwrap_or(path);
    if folder.exists() && !folder.is_dir() {
        return Err(Problem::new(Code::NotADirectory, format!("{} is not a folder", folder.display())).into());
    }
    create_private(folder)?;
    let failed = |error: io::Error| io_failed("write", path, &error);
    // Readable by its owner only.
    if files.write_new(path, failed, |out| out.write_all(bytes).map_err(failed))? {
        return Ok(());
    }
    Err(Problem::new(Code::FileExists, format!("{} exists", path.display()))
        .with("path", path.display())
        .into())
}
