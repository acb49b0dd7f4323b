//! Which ledger a directory means: the look at the folder is this machine's.

use std::path::{Path, PathBuf};

use stemmata_api::{Answer, v1};
use stemmata_engine::{Absent, Engine, EngineError, ErrorKind, Project, repository_top};
use stemmata_model::{LedgerId, Note};

use super::Host;
use crate::fault::Fault;

/// Asks for the ledger of a directory's project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerOfRequest {
    /// The directory, absolute.
    pub dir: PathBuf,
    /// The name or the id of a project that is meant instead, where there is no such directory.
    pub name: Option<String>,
    /// What to do where there is none.
    pub make: MakeLedger,
    /// Whether one that cannot be read will do, too.
    pub even_damaged: bool,
}

/// When a project that has no ledger gets one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MakeLedger {
    /// Not by being asked for.
    Never,
    /// As soon as somebody asks, where it is a repository, or a folder that sessions worked in.
    Looked,
    /// Always.
    Always,
}

/// The ledger of a directory's project.
#[derive(Debug, Clone, PartialEq)]
pub struct LedgerOf {
    /// Its id.
    pub ledger: LedgerId,
    /// What the user should know about how it was found.
    pub notes: Vec<v1::Note>,
}

impl Host {
    /// Returns the ledger of a directory's project.
    ///
    /// # Errors
    /// `no_ledger_here` where it has none and none is made; `ledger_damaged`, `file_not_found`; for a name that no project has, or
    /// several have, what a filter of a search is refused with.
    pub fn ledger_of(&self, request: &LedgerOfRequest) -> Answer<LedgerOf> {
        self.with_engine(|engine| {
            let (ledger, notes) = found(engine, request)?;
            Ok(LedgerOf { ledger, notes })
        })
    }
}

/// Returns the top of the repository or worktree that a directory is in, else the directory: what `here` means.
pub fn project_here(dir: &Path) -> PathBuf {
    repository_top(dir).unwrap_or_else(|| dir.to_owned())
}

fn found(engine: &Engine, request: &LedgerOfRequest) -> Result<(LedgerId, Vec<Note>), Fault> {
    let of_project = |project: Project| (project.ledger, project.notes);
    let named = match request.name.as_deref().filter(|_| !request.dir.is_dir()) {
        Some(name) => Some(PathBuf::from(engine.project_dir(name)?)),
        None => None,
    };
    let dir = named.as_ref().unwrap_or(&request.dir);
    if request.make == MakeLedger::Always {
        return Ok(of_project(engine.project_at(dir)?));
    }
    let makes = request.make == MakeLedger::Looked;
    match engine.known_project_at(dir) {
        Ok(Some(project)) => Ok(of_project(project)),
        Ok(None) if makes && is_repository(dir) => Ok(of_project(engine.project_at(dir)?)),
        Ok(None) => {
            let known = engine.project_by_place(dir, makes)?;
            known.map(of_project).ok_or_else(|| {
                EngineError::NothingThere { what: Absent::Ledger, place: dir.display().to_string() }.into()
            })
        }
        // Its directory is gone; what was done there is not.
        Err(missing) if !dir.exists() => {
            if let Some(known) = dir.to_str().map(|dir| engine.ledger_of_gone(dir)).transpose()?.flatten() {
                return Ok((known, Vec::new()));
            }
            engine.project_by_place(dir, makes)?.map(of_project).ok_or_else(|| missing.into())
        }
        Err(unread) if request.even_damaged && unread.kind() == ErrorKind::Corrupt => {
            let marked = engine.marked_ledger_at(dir)?;
            marked.map(|ledger| (ledger, Vec::new())).ok_or_else(|| unread.into())
        }
        Err(error) => Err(error.into()),
    }
}

fn is_repository(dir: &Path) -> bool {
    dir.ancestors().any(|folder| folder.join(".git").exists())
}
