//! `doctor`: what a client's loader would make of a transcript, without changing anything.
//!
//! What loaders stumble over is known to the adapters; here a file is read line by line.

use std::path::Path;

use stemmata_model::FormatId;
use stemmata_runtimes::adapter::Validation;

use crate::capture::cursor::OpenFile;
use crate::capture::lines::Lines;
use crate::capture::reading::{detect_version, open};
use crate::engine::Engine;
use crate::error::Result;

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
    /// Reads a transcript as its client's loader would, of the version that is given, else of the one that wrote it.
    ///
    /// # Errors
    /// `NotATranscript` for a file of no known format, `Io` and `LineTooLong` with the place.
    pub fn doctor(path: &Path, client_version: Option<&str>) -> Result<Diagnosis> {
        let (file, stamp) = open(path)?;
        let (adapter, detection) = detect_version(OpenFile { file: &file, path })?;
        let mut validator = adapter.validator(client_version.or(detection.version.as_deref()));
        let mut lines = Lines::of(file, path, (0, 1), stamp.length)?;
        while let Some(line) = lines.next()? {
            validator.line(line.bytes);
        }
        Ok(Diagnosis {
            format: detection.format,
            version: detection.version,
            lines: lines.next_number() - 1,
            bytes: stamp.length,
            validation: validator.finish(),
        })
    }
}
