//! `doctor`: what a client's loader would make of a transcript, without changing anything.
//!
//! What loaders stumble over is known to the adapters; here a file is read line by line.

use std::path::Path;

use stemmata_model::FormatId;
use stemmata_runtimes::adapter::{Shape, Validation};

use crate::capture::cursor::OpenFile;
use crate::capture::document;
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
                let lines = bytes.split_inclusive(|byte| *byte == b'\n').count();
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
