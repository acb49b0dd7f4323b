//! One look at what is watched: captures what is new there, and says what to try again.
//!
//! When to look is the agenda's; this is the same capture as an import's, of complete lines only.

use std::path::{Path, PathBuf};

use crate::capture::events;
use crate::capture::homes::may_be_transcript;
use crate::capture::import::{ImportFailure, ImportedSession};
use crate::capture::survey::FileState;
use crate::capture::transcript::CaptureOptions;
use crate::capture::watch::Look;
use crate::engine::Engine;
use crate::error::{EngineError, Result};

/// What a look found.
#[derive(Debug, Default)]
pub struct Looked {
    /// Sessions with new commits, in the order of their paths.
    pub captured: Vec<ImportedSession>,
    /// Files that could not be captured, and may be the next time.
    pub failures: Vec<ImportFailure>,
    /// Files that were looked at.
    pub files: usize,
}

impl Engine {
    /// Captures what is new in what `look` names; `roots` is all that is watched. What is gone, held back, or no
    /// transcript is passed over: it is nothing to try again.
    ///
    /// # Errors
    /// Store errors; everything about single files and folders is in the result.
    pub fn look(
        &self,
        look: &Look,
        roots: &[PathBuf],
        options: &CaptureOptions,
        threads: usize,
    ) -> Result<Looked> {
        let paths = match look {
            Look::At(paths) => {
                let is_wanted = |path: &PathBuf| path.is_dir() || may_be_transcript(path);
                let mut wanted: Vec<PathBuf> =
                    paths.iter().map(|path| of_event(path)).filter(is_wanted).collect();
                wanted.dedup();
                wanted
            }
            Look::Everything => self.changed_below(roots)?,
        };
        let mut looked = Looked { files: paths.len(), ..Looked::default() };
        if paths.is_empty() {
            return Ok(looked);
        }
        let report = self.import(&paths, options, threads, &|_| {})?;
        looked.captured =
            report.sessions.into_iter().filter(|session| session.captured.new_commits > 0).collect();
        looked.failures = report.failures.into_iter().filter(may_go_better).collect();
        Ok(looked)
    }

    fn changed_below(&self, roots: &[PathBuf]) -> Result<Vec<PathBuf>> {
        let found = self.survey(roots)?;
        let is_news = |state| matches!(state, FileState::New | FileState::Changed);
        Ok(found.into_iter().filter(|file| is_news(file.state)).map(|file| file.path).collect())
    }
}

/// Returns what a change is of: of an event its folder.
fn of_event(path: &Path) -> PathBuf {
    let folder = events::folder_of(path).filter(|folder| events::is_folder(folder));
    folder.unwrap_or(path).to_owned()
}

fn may_go_better(failure: &ImportFailure) -> bool {
    match &failure.error {
        EngineError::NotATranscript { .. } | EngineError::HeldBack { .. } => false,
        EngineError::Io { source, .. } => source.kind() != std::io::ErrorKind::NotFound,
        _ => true,
    }
}
