//! Brings the sessions of one working directory up to date: what a person means by «this session» may not have
//! been read yet.
//!
//! Only where clients keep the sessions of that directory; everything else is `import`'s.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use stemmata_model::Trigger;
use stemmata_runtimes::adapter::PlaceRequest;
use stemmata_runtimes::registry;
use stemmata_runtimes::translate::runtime_of;

use crate::capture::homes::RuntimeHome;
use crate::capture::import::ImportFailure;
use crate::capture::transcript::CaptureOptions;
use crate::engine::Engine;
use crate::error::{EngineError, Result};

/// Transcripts that are looked at, the latest written first: a person works in a handful of sessions at once.
const FILES_MAX: usize = 16;

impl Engine {
    /// Captures what the latest sessions of a working directory have produced since they were read, and those that
    /// were never read. Complete lines only, as a hook does. A file that fails does not stop the others.
    ///
    /// # Errors
    /// `Io` where a folder that exists cannot be listed.
    pub fn catch_up(&self, homes: &[RuntimeHome], cwd: &Path) -> Result<Vec<ImportFailure>> {
        let mut failures = Vec::new();
        for home in homes {
            for folder in self.folders_of(home, cwd) {
                for path in latest(&folder)? {
                    match self.capture(&path, &CaptureOptions::live(Trigger::Explicit)) {
                        Ok(_) | Err(EngineError::NotATranscript { .. } | EngineError::HeldBack { .. }) => {}
                        Err(error) => failures.push(ImportFailure { path, error }),
                    }
                }
            }
        }
        Ok(failures)
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

/// Returns the transcripts of a folder that were written last.
fn latest(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).map_err(EngineError::io("list", folder))?;
    let mut found: Vec<(SystemTime, PathBuf)> = entries
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let metadata = std::fs::metadata(&path).ok()?;
            let is_transcript =
                metadata.is_file() && path.extension().is_some_and(|extension| extension == "jsonl");
            is_transcript.then(|| (metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH), path))
        })
        .collect();
    found.sort();
    Ok(found.into_iter().rev().take(FILES_MAX).map(|(_, path)| path).collect())
}
