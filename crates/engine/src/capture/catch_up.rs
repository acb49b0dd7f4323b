//! Brings the sessions of one working directory up to date: what a person means by «this session» may not have
//! been read yet.
//!
//! Only where clients keep the sessions of that directory, and those of it that are known; everything else is
//! `import`'s.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use stemmata_model::Trigger;
use stemmata_runtimes::adapter::PlaceRequest;
use stemmata_runtimes::registry;
use stemmata_runtimes::translate::runtime_of;
use stemmata_store::{Page, SessionFilter};

use crate::capture::database::{self, Which, is_database};
use crate::capture::homes::{RuntimeHome, find};
use crate::capture::import::ImportFailure;
use crate::capture::kept::is_session_there;
use crate::capture::options::CaptureOptions;
use crate::capture::source::{is_packed, is_transcript_name, look};
use crate::capture::transcript_file::Transcript;
use crate::engine::Engine;
use crate::error::{EngineError, Result};
use crate::verbs::doctor::is_subagent;

/// Transcripts that are looked at, the latest written first: a person works in a handful of sessions at once.
const FILES_MAX: usize = 16;

/// Folders of single days that are looked at, the latest first: a session lies in the folder of the day it began on, and
/// grows there.
const DAYS_MAX: usize = 60;

/// Characters of an id by which a file is found: of fewer there may be many.
const NAMED_CHARS_MIN: usize = 8;

/// Folders of single days in which a session is looked for by its name: one that works now rarely began earlier.
const NAMED_DAYS_MAX: usize = 7;

/// Files whose first records are read for the directory that they name, where a folder holds sessions of all.
const HEADS_MAX: usize = 256;

impl Engine {
    /// Captures what the latest sessions of a working directory have produced since they were read, and those that
    /// were never read. Complete lines only, as a hook does. A file that fails does not stop the others.
    ///
    /// # Errors
    /// `Io` where a folder that exists cannot be listed.
    pub fn catch_up(&self, homes: &[RuntimeHome], cwd: &Path) -> Result<Vec<ImportFailure>> {
        let mut failures = Vec::new();
        let mut paths = self.known_in(homes, cwd)?;
        for home in homes {
            if is_database(&home.transcripts) {
                paths.extend(kept_in(&home.transcripts, Which::In(cwd, FILES_MAX), &mut failures));
                continue;
            }
            let days = by_day(&home.transcripts);
            // Sessions of all directories lie in a day's folder.
            let of_days = latest(&days)?.into_iter().filter(|path| !is_packed(path)).take(HEADS_MAX);
            paths.extend(of_days.filter(|path| works_in(path, cwd)).take(FILES_MAX));
            let folders = self.folders_of(home, cwd).into_iter().filter(|_| days.is_empty());
            for folder in folders {
                paths.extend(latest(&[folder])?.into_iter().take(FILES_MAX));
            }
        }
        self.read_on(paths, &mut failures);
        Ok(failures)
    }

    /// Does for all directories what [`Engine::catch_up`] does for one: of each home the transcripts that were written last, but
    /// no subagent's, since what is asked for is the latest session. An unchanged one is recognized by its stamp and not read.
    pub fn catch_up_everywhere(&self, homes: &[RuntimeHome]) -> Vec<ImportFailure> {
        let mut failures = Vec::new();
        let mut paths = BTreeSet::new();
        for home in homes {
            if is_database(&home.transcripts) {
                paths.extend(kept_in(&home.transcripts, Which::Latest(FILES_MAX), &mut failures));
                continue;
            }
            let found = find(std::slice::from_ref(&home.transcripts));
            failures.extend(found.failures.into_iter().map(|(path, error)| ImportFailure { path, error }));
            let mut files: Vec<PathBuf> = found.files.into_iter().map(|file| file.path).collect();
            files.retain(|path| !is_subagent(path));
            files.sort_by_cached_key(|path| std::cmp::Reverse(written(path)));
            paths.extend(files.into_iter().take(FILES_MAX));
        }
        self.read_on(paths, &mut failures);
        failures
    }

    /// Captures what some transcripts hold beyond what is stored. What is no transcript or is held back is passed over.
    fn read_on(&self, paths: BTreeSet<PathBuf>, failures: &mut Vec<ImportFailure>) {
        for path in paths {
            match self.capture(&path, &CaptureOptions::live(Trigger::Explicit)) {
                // What a database holds in an unknown form is a failure already.
                Ok(_)
                | Err(
                    EngineError::NotATranscript { .. }
                    | EngineError::UnknownSchema { .. }
                    | EngineError::HeldBack { .. },
                ) => {}
                Err(error) => failures.push(ImportFailure { path, error }),
            }
        }
        if let Err(error) = self.mend_times_to_come() {
            tracing::debug!(%error, "times to come stay");
        }
    }

    /// Returns transcripts of a working directory, those that were written last first: of its known sessions, and what lies
    /// in the folders that clients keep for it. None is opened: what was captured of each may be of different times, and
    /// reading on is for who asks.
    ///
    /// # Errors
    /// `Io` where a folder that exists cannot be listed, store errors.
    pub fn written_here(&self, homes: &[RuntimeHome], cwd: &Path) -> Result<Vec<PathBuf>> {
        let mut paths = self.known_in(homes, cwd)?;
        for home in homes.iter().filter(|home| !is_database(&home.transcripts)) {
            for folder in
                self.folders_of(home, cwd).into_iter().filter(|_| by_day(&home.transcripts).is_empty())
            {
                paths.extend(latest(&[folder])?.into_iter().take(FILES_MAX));
            }
        }
        let mut paths: Vec<PathBuf> = paths.into_iter().collect();
        paths.sort_by_cached_key(|path| std::cmp::Reverse(written(path)));
        Ok(paths)
    }

    /// Returns the transcript that a client keeps a session of a directory in, by the session's id in its name. No file is
    /// opened for it.
    pub fn transcript_of(&self, homes: &[RuntimeHome], cwd: &Path, id: &str) -> Option<PathBuf> {
        let is_its = |path: &PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str());
            is_transcript_name(path) && name.is_some_and(|name| name.contains(id))
        };
        homes.iter().find_map(|home| {
            let kept = home.transcripts.join(id);
            if is_session_there(&kept) {
                return Some(kept);
            }
            if is_database(&home.transcripts) || id.len() < NAMED_CHARS_MIN {
                return None;
            }
            let mut folders = by_day(&home.transcripts);
            folders.truncate(NAMED_DAYS_MAX);
            folders.extend(self.folders_of(home, cwd));
            latest(&folders).ok()?.into_iter().find(is_its)
        })
    }

    /// Returns the transcripts of the directory's latest known sessions, wherever in a home they lie.
    fn known_in(&self, homes: &[RuntimeHome], cwd: &Path) -> Result<BTreeSet<PathBuf>> {
        let filter =
            SessionFilter { project: Some(cwd.to_string_lossy().into_owned()), ..SessionFilter::default() };
        let known = self.store.sessions(&filter, Page { skip: 0, rows_max: FILES_MAX })?;
        let own = known.into_iter().filter(|session| session.key.machine == self.identity.machine);
        let is_in_a_home = |path: &PathBuf| {
            homes.iter().any(|home| {
                let real = home.transcripts.canonicalize();
                path.starts_with(&home.transcripts) || real.is_ok_and(|real| path.starts_with(real))
            })
        };
        let paths = own.map(|session| PathBuf::from(session.key.path)).filter(is_in_a_home);
        Ok(paths.filter_map(|path| look(&path)).map(|(path, _)| path).collect())
    }

    /// Returns where the clients of a home put sessions that work in a directory.
    fn folders_of(&self, home: &RuntimeHome, cwd: &Path) -> Vec<PathBuf> {
        let request = PlaceRequest {
            session: self.ids.session(),
            cwd: cwd.to_string_lossy().into_owned(),
            origin_cwd: None,
            client_version: None,
            at: self.clock.now(),
            seed: [0; 32],
        };
        let adapters =
            registry::adapters().iter().filter(|adapter| runtime_of(&adapter.format()) == home.runtime);
        let mut folders: Vec<PathBuf> = adapters
            .filter_map(|adapter| {
                let place = adapter.client_place(&request);
                let (_, folder) = place.relative_path.split_last()?;
                Some(folder.iter().fold(home.config_dir.clone(), |path, part| path.join(part)))
            })
            .filter(|folder| folder.is_dir())
            .collect();
        folders.dedup();
        folders
    }
}

/// Returns the paths of sessions in a database; what is not read of it is a failure.
fn kept_in(database: &Path, which: Which<'_>, failures: &mut Vec<ImportFailure>) -> Vec<PathBuf> {
    let failed = |error| ImportFailure { path: database.to_owned(), error };
    match database::sessions(database, which) {
        Ok(sessions) => {
            failures.extend(sessions.unread.map(failed));
            sessions.found.into_iter().map(|(path, _)| path).collect()
        }
        Err(error) => {
            failures.push(failed(error));
            Vec::new()
        }
    }
}

/// Returns the latest folders of single days (`<year>/<month>/<day>`) below a folder, none where it has no such.
fn by_day(transcripts: &Path) -> Vec<PathBuf> {
    let mut days = Vec::new();
    for year in numbered(transcripts, 4) {
        for month in numbered(&year, 2) {
            days.extend(numbered(&month, 2));
            if days.len() >= DAYS_MAX {
                days.truncate(DAYS_MAX);
                return days;
            }
        }
    }
    days
}

/// Returns the folders whose name is so many digits, the greatest first.
fn numbered(folder: &Path, digits: usize) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let is_number =
        |name: &str| name.len() == digits && name.bytes().all(|character| character.is_ascii_digit());
    let mut found: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.file_name().and_then(|name| name.to_str()).is_some_and(is_number))
        .filter(|path| path.is_dir())
        .collect();
    found.sort();
    found.reverse();
    found
}

/// Returns the transcripts of some folders, those that were written last first.
pub(crate) fn latest(folders: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut found: Vec<(SystemTime, PathBuf)> = Vec::new();
    for folder in folders {
        let entries = std::fs::read_dir(folder).map_err(EngineError::io("list", folder))?;
        found.extend(entries.filter_map(|entry| {
            let path = entry.ok()?.path();
            let metadata = std::fs::metadata(&path).ok()?;
            let is_transcript = metadata.is_file() && is_transcript_name(&path);
            is_transcript.then(|| (metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH), path))
        }));
    }
    found.sort();
    Ok(found.into_iter().rev().map(|(_, path)| path).collect())
}

/// Returns when a file was written last.
fn written(path: &Path) -> Option<SystemTime> {
    std::fs::metadata(path).and_then(|metadata| metadata.modified()).ok()
}

/// Returns whether the first records of a transcript name a directory or one below it.
fn works_in(path: &Path, cwd: &Path) -> bool {
    Transcript::open(path)
        .and_then(|mut opened| opened.cwds())
        .is_ok_and(|known| known.iter().any(|known| known.starts_with(cwd)))
}
