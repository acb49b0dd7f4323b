//! `doctor`: what a client's loader would make of a transcript, without changing anything.
//!
//! What loaders stumble over is known to the adapters; here a file is read line by line.

use std::path::{Path, PathBuf};

use stemmata_model::{CommitId, FormatId};
use stemmata_runtimes::adapter::{Shape, Validation};

use crate::capture::cursor::OpenFile;
use crate::capture::document;
use crate::capture::lines::{Lines, split_lines};
use crate::capture::reading::{detect_version, open};
use crate::engine::Engine;
use crate::error::{EngineError, Result, Wanted};

/// What was found out about a transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnosis {
    /// Its format.
    pub format: FormatId,
    /// The version of the client that wrote it, where it says so.
    pub version: Option<String>,
    /// Its lines.
    pub lines: u64,
    /// Its bytes.
    pub bytes: u64,
    /// What the loader would stumble over, and how much it would send.
    pub validation: Validation,
}

impl Engine {
    /// Returns the transcript of a session or of a commit that was read from a file of this machine. `path` is the name as a
    /// whole path.
    ///
    /// # Errors
    /// `TranscriptGone` where only the store still has it; `NotFound`, `Ambiguous`, store errors.
    pub fn named_transcript(&self, text: &str, path: &Path) -> Result<PathBuf> {
        let is_path = Path::new(text).components().count() > 1;
        let session = match self.find_session(text)? {
            None if is_path => self.find_session(&path.to_string_lossy())?,
            session => session,
        };
        if let Some(session) = session {
            return there(PathBuf::from(session.key.path), session.tip);
        }
        // Where several sessions go by a prefix, commits are what is offered to choose from.
        let (seen, ctx) = match self.find(text) {
            Ok(ctx) => (self.show(ctx)?.sightings, Some(ctx)),
            Err(EngineError::NotFound { .. }) => (Vec::new(), None),
            Err(error) => return Err(error),
        };
        let mut here = seen.into_iter().filter(|sighting| sighting.machine == self.identity.machine);
        match here.find_map(|sighting| sighting.source) {
            Some(source) => there(PathBuf::from(source.path), ctx),
            None => Err(EngineError::NotFound { what: Wanted::Transcript, text: text.to_owned() }),
        }
    }

    /// Reads a transcript as its client's loader would, of the version that is given, else of the one that wrote it.
    ///
    /// # Errors
    /// `NotATranscript` for a file of no known format, `Io`, `LineTooLong` and `DocumentTooLong` with the place.
    pub fn doctor(path: &Path, client_version: Option<&str>) -> Result<Diagnosis> {
        let (file, stamp) = open(path)?;
        let (adapter, detection) = detect_version(OpenFile { file: &file, path })?;
        let mut validator = adapter.validator(client_version.or(detection.version.as_deref()));
        let mut count = 0;
        match adapter.shape() {
            Shape::Lines => {
                let mut lines = Lines::of(file, path, (0, 1), stamp.length)?;
                while let Some(line) = lines.next()? {
                    validator.line(line.bytes);
                }
                count += lines.next_number() - 1;
            }
            Shape::Document => {
                let bytes = document::read(OpenFile { file: &file, path }, stamp)?;
                validator.line(&bytes);
                let lines = split_lines(&bytes).count();
                count += u64::try_from(lines).expect("a count fits 64 bits");
            }
        }
        Ok(Diagnosis {
            format: detection.format,
            version: detection.version,
            lines: count,
            bytes: stamp.length,
            validation: validator.finish(),
        })
    }
}

/// Returns the path of a transcript that is still there, or says what the store has of it.
fn there(path: PathBuf, tip: Option<CommitId>) -> Result<PathBuf> {
    // A session of a database or of a bundle has no file of its own; who reads it says what is wrong with it.
    let is_file = path.is_absolute() && path.parent().is_some_and(|folder| !folder.is_file());
    match tip {
        Some(ctx) if is_file && !path.exists() => Err(EngineError::TranscriptGone { path, ctx }),
        _ => Ok(path),
    }
}
