//! One look at what is watched: captures what is new there, and says what to try again.
//!
//! When to look is the agenda's; this is the same capture as an import's, of complete lines only.

use std::path::{Path, PathBuf};

use crate::capture::cursor::Cursor;
use crate::capture::database::{self, Which, is_database};
use crate::capture::events;
use crate::capture::homes::may_be_transcript;
use crate::capture::import::{ImportFailure, ImportedSession};
use crate::capture::options::CaptureOptions;
use crate::capture::survey::FileState;
use crate::capture::watch::Look;
use crate::engine::Engine;
use crate::error::{EngineError, Result};

/// Sessions of a database that are compared with what is known of them when it changed: the client works in a handful
/// at once. All of them are whenever everything is looked at.
const RECENT_MAX: usize = 64;

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
        let mut failures = Vec::new();
        let paths = match look {
            Look::At(paths) => {
                let (databases, others): (Vec<_>, Vec<_>) =
                    paths.iter().map(|path| of_event(path)).partition(|path| is_database(path));
                let is_wanted = |path: &PathBuf| {
                    path.is_dir() || may_be_transcript(path) || database::session_in(path).is_some()
                };
                let mut wanted: Vec<PathBuf> = others.into_iter().filter(is_wanted).collect();
                // Each event of a folder of events names the folder.
                wanted.dedup();
                for database in databases {
                    match self.changed_in(&database) {
                        Ok(sessions) => wanted.extend(sessions),
                        Err(error) => failures.push(ImportFailure { path: database, error }),
                    }
                }
                wanted
            }
            Look::Everything => {
                let (changed, failed) = self.changed_below(roots)?;
                failures = failed;
                changed
            }
        };
        failures.retain(|failure| may_go_better(failure) || is_database(&failure.path));
        let mut looked = Looked { files: paths.len(), failures, ..Looked::default() };
        if paths.is_empty() {
            return Ok(looked);
        }
        let report = self.import(&paths, options, threads, &|_| {})?;
        looked.captured =
            report.sessions.into_iter().filter(|session| session.captured.new_commits > 0).collect();
        looked.failures.extend(report.failures.into_iter().filter(may_go_better));
        Ok(looked)
    }

    fn changed_below(&self, roots: &[PathBuf]) -> Result<(Vec<PathBuf>, Vec<ImportFailure>)> {
        let found = self.survey_of(roots, false)?;
        let is_news = |state| matches!(state, FileState::New | FileState::Changed);
        let changed = found.files.into_iter().filter(|file| is_news(file.state)).map(|file| file.path);
        // A folder that cannot be listed is told by an import; of a database all sessions are behind the failure.
        let failures = found.failures.into_iter().filter(|failure| is_database(&failure.path));
        Ok((changed.collect(), failures.collect()))
    }

    /// Returns the sessions of a database that are not as they were read, of those that were written last.
    pub(crate) fn changed_in(&self, database: &Path) -> Result<Vec<PathBuf>> {
        let mut changed = Vec::new();
        for (path, modified_ns) in database::sessions(database, Which::Latest(RECENT_MAX))?.found {
            let cursor = self.store.cursor(&self.session_key(&path))?;
            let seen = cursor.as_deref().and_then(Cursor::decode).map(|cursor| cursor.stamp.modified_ns);
            if seen != Some(modified_ns) {
                changed.push(path);
            }
        }
        Ok(changed)
    }
}

/// Returns what a change is of: of an event its folder.
fn of_event(path: &Path) -> PathBuf {
    let folder = events::folder_of(path).filter(|folder| events::is_folder(folder));
    folder.unwrap_or(path).to_owned()
}

fn may_go_better(failure: &ImportFailure) -> bool {
    match &failure.error {
        EngineError::NotATranscript { .. }
        | EngineError::UnknownSchema { .. }
        | EngineError::HeldBack { .. } => false,
        EngineError::Io { source, .. } => source.kind() != std::io::ErrorKind::NotFound,
        _ => true,
    }
}
