//! `repair` of a transcript: a mended copy for its client's loader. The store's own repair is in `repair`.
//!
//! What is mended is the adapters' to know; here a file is read, whole, and never written.

use std::path::Path;

use stemmata_model::FormatId;
use stemmata_runtimes::adapter::{Finding, Severity, Shape, Validation};
use stemmata_runtimes::repair::{Change, repair};

use crate::capture::kept::Kept;
use crate::capture::lines::split_lines;
use crate::capture::transcript_file::Transcript;
use crate::engine::Engine;
use crate::error::{EngineError, Refusal, Result};
use crate::verbs::doctor::history::History;

/// Bytes of a transcript that is repaired at most: it is held in memory, some times over.
const MENDED_BYTES_MAX: u64 = 1 << 30;

/// A transcript as its client would take it whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mended {
    /// Its format.
    pub format: FormatId,
    /// The version of the client that wrote it, where it says so.
    pub version: Option<String>,
    /// The transcript; the same bytes where nothing had to be changed.
    pub bytes: Vec<u8>,
    /// Whether it is one document, in which changes are told by messages and not by lines.
    pub is_document: bool,
    /// What was changed, in the order of the lines.
    pub changes: Vec<Change>,
    /// What the loader would still stumble over.
    pub validation: Validation,
}

impl Engine {
    /// Reads a transcript and mends what its client's loader would stumble over, of the version that `version` returns for the
    /// client, else of the newest that is known. The file stays as it is. The same file always gives the same bytes.
    ///
    /// # Errors
    /// `Refused` with reasons where the client would not take the result whole either; `NotATranscript`, `Io`,
    /// `LineTooLong`, `DocumentTooLong`.
    pub fn mend(path: &Path, version: &dyn Fn(&FormatId) -> Option<String>) -> Result<Mended> {
        let mut opened = Transcript::open_whole(path)?;
        if opened.stamp().length > MENDED_BYTES_MAX {
            let reason = format!("{} has more than {MENDED_BYTES_MAX} bytes", path.display());
            return Err(EngineError::Refused { what: Refusal::Repair, reasons: vec![reason] });
        }
        let (adapter, detection) = opened.detected()?;
        let detection = detection.clone();
        let is_document = adapter.shape() == Shape::Document;
        let bytes = if is_document {
            opened.document()?
        } else {
            let mut bytes = Vec::new();
            let mut lines = opened.lines(0, 1)?;
            while let Some(line) = lines.next()? {
                bytes.extend_from_slice(line.bytes);
            }
            bytes
        };
        let judged_by = version(&detection.format);
        let history = History::of(adapter, &opened, path)?;
        let mut repaired = repair(adapter, &bytes, judged_by.as_deref());
        if let Some(history) = history {
            // Only here the other files are at hand.
            let mut validator = adapter.validator(judged_by.as_deref());
            history.read_into(validator.as_mut())?;
            split_lines(&repaired.bytes).for_each(|line| validator.line(line));
            repaired.validation = validator.finish();
        }
        // Where that cannot be found out, doctor says so.
        let unloaded = Kept::of(opened.path()).and_then(|kept| kept.unloaded().ok().flatten());
        if let Some(unloaded) = unloaded
            && unloaded.is_joined
        {
            // The copy holds what the client looks for in another place.
            let message = unloaded.message();
            repaired.changes.insert(0, Change { line: None, kind: "joined", message });
        }
        if !repaired.validation.is_accepted() {
            let fatal = repaired.validation.findings.iter().filter(|found| found.severity == Severity::Fatal);
            return Err(EngineError::Refused {
                what: Refusal::Repair,
                reasons: fatal.map(told).take(10).collect(),
            });
        }
        Ok(Mended {
            format: detection.format,
            version: detection.version,
            bytes: repaired.bytes,
            is_document,
            changes: repaired.changes,
            validation: repaired.validation,
        })
    }
}

fn told(finding: &Finding) -> String {
    match finding.line {
        Some(line) => format!("line {line}: {}", finding.message),
        None => finding.message.clone(),
    }
}
