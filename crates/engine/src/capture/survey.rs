//! Surveys transcripts without capturing them: which are new, changed, or as they were.
//!
//! Looks at cursors and the first bytes of files; never changes anything.

use std::path::PathBuf;

use stemmata_store::SessionKey;
use stemmata_store::maintain::forget::Tombstone;

use crate::capture::captured::UnreadRecords;
use crate::capture::cursor::Cursor;
use crate::capture::homes::{FoundFile, find};
use crate::capture::import::ImportFailure;
use crate::capture::source::is_packed;
use crate::capture::transcript_file::Transcript;
use crate::engine::Engine;
use crate::error::{EngineError, Result};

/// What a capture of a file would find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileState {
    /// A transcript that was never read.
    New,
    /// A transcript that changed since it was read, or a file that its client keeps beside it; or one that a capture
    /// reads again because the rules for secrets changed. Newer shipped rules alone change no session that is stored.
    Changed,
    /// A transcript that is as it was when it was read, with the files beside it.
    Unchanged,
    /// A transcript that somebody does not want captured.
    HeldBack,
    /// A file with a transcript's name that begins like none of a known format.
    Unknown,
    /// Nothing to import: it is empty, was forgotten, cannot be read, or a failure of its database counts it.
    Other,
}

impl FileState {
    /// Says whether a file is a transcript that is imported, or would be but for what somebody wants.
    pub const fn is_transcript(self) -> bool {
        match self {
            Self::New | Self::Changed | Self::Unchanged | Self::HeldBack => true,
            Self::Unknown | Self::Other => false,
        }
    }
}

/// A file that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SurveyedFile {
    /// Its path.
    pub path: PathBuf,
    /// Its bytes.
    pub bytes: u64,
    /// What a capture of it would find.
    pub state: FileState,
    /// The version of its format that it names and that is not known.
    pub unknown_version: Option<String>,
    /// Records of it that were captured and are not understood.
    pub unread: UnreadRecords,
    /// When a session that is no file was written last, in nanoseconds since 1970; none for files.
    pub modified_ns: Option<i128>,
}

/// What an import would find.
#[derive(Debug, Default)]
pub struct Survey {
    /// Files, in the order of their paths.
    pub files: Vec<SurveyedFile>,
    /// What could not be looked at: folders, and databases of which sessions are of a version that is not read.
    pub failures: Vec<ImportFailure>,
    /// Files below folders that are no transcripts by their names, nor files of one.
    pub others: Vec<PathBuf>,
}

impl Survey {
    /// Adds what was found elsewhere.
    pub fn add(&mut self, other: Self) {
        self.files.extend(other.files);
        self.failures.extend(other.failures);
        self.others.extend(other.others);
    }
}

impl Engine {
    /// Looks at what an import of `paths` would look at, in the order of their paths.
    ///
    /// # Errors
    /// Store errors. A file or folder that cannot be read is left to the import to report.
    pub fn survey(&self, paths: &[PathBuf]) -> Result<Vec<SurveyedFile>> {
        Ok(self.survey_all(paths)?.files)
    }

    /// Looks at files as [`Engine::survey`] does, and says what else is there.
    ///
    /// # Errors
    /// Store errors.
    pub fn survey_all(&self, paths: &[PathBuf]) -> Result<Survey> {
        self.survey_of(paths, true)
    }

    /// Looks at files as [`Engine::survey_all`] does. Their versions cost a read of each file that is not known yet, which who only
    /// asks what changed need not pay.
    pub(super) fn survey_of(&self, paths: &[PathBuf], names_versions: bool) -> Result<Survey> {
        let found = find(paths);
        let failures = found.failures.into_iter().map(|(path, error)| ImportFailure { path, error });
        let mut survey = Survey { files: Vec::new(), failures: failures.collect(), others: found.others };
        for file in found.files {
            let mut opened = Transcript::open(&file.path);
            let path = &file.path;
            let key = opened.as_ref().map_or_else(|_| self.session_key(path), |opened| self.key_of(opened));
            let cursor = self.store.cursor(&key)?.map(|bytes| Cursor::decode(&bytes));
            let state = self.file_state((&file, &key), &mut opened, cursor.as_ref())?;
            let cursor = cursor.flatten();
            let is_known = cursor.as_ref().is_some_and(|cursor| cursor.is_version_known);
            let unread = cursor.map(|cursor| cursor.unread.seen).unwrap_or_default();
            let is_due = matches!(state, FileState::New | FileState::Changed);
            let is_read = names_versions && (is_due || (state == FileState::Unchanged && !is_known));
            let FoundFile { path, bytes, modified_ns, .. } = file;
            let unknown_version = match opened {
                Ok(mut opened) if is_read => {
                    // What is compressed shows only unpacked whether it is damaged.
                    let loaded = if is_due && is_packed(&path) { opened.load(None) } else { Ok(()) };
                    match loaded.and_then(|()| opened.unknown_version()) {
                        Ok(version) => version,
                        Err(error @ EngineError::Damaged { .. }) => {
                            survey.failures.push(ImportFailure { path: path.clone(), error });
                            None
                        }
                        Err(_) => None,
                    }
                }
                Ok(_) => None,
                Err(error) => {
                    // A file that is gone by now was no less than its client wanted.
                    let is_gone = std::fs::symlink_metadata(&path).is_err();
                    let failure = (!is_gone && state == FileState::Other).then(|| (path.clone(), error));
                    survey.failures.extend(failure.map(|(path, error)| ImportFailure { path, error }));
                    None
                }
            };
            survey.files.push(SurveyedFile { path, bytes, state, unknown_version, unread, modified_ns });
        }
        Ok(survey)
    }

    /// Returns the state of a file, which has this cursor.
    fn file_state(
        &self,
        (file, key): (&FoundFile, &SessionKey),
        opened: &mut Result<Transcript>,
        cursor: Option<&Option<Cursor>>,
    ) -> Result<FileState> {
        match self.held_back(&file.path, opened.as_mut().ok()) {
            Ok(None) => {}
            Ok(Some(_)) => {
                // A database holds sessions only; of what is in a file the name says too little.
                let is_one =
                    opened.as_mut().is_ok_and(|opened| opened.is_kept() || opened.detected().is_ok());
                return Ok(if is_one { FileState::HeldBack } else { FileState::Other });
            }
            Err(error) => return unread(error, file, cursor.and_then(Option::as_ref)),
        }
        if cursor.is_none() && !self.store.tombstones(&[Tombstone::Transcript(key.clone())])?.is_empty() {
            return Ok(FileState::Other);
        }
        let Some(cursor) = cursor.and_then(Option::as_ref) else {
            return match opened.as_mut().map(|opened| opened.detected().map(drop)) {
                Ok(Ok(())) => Ok(FileState::New),
                Ok(Err(error)) => unread(error, file, None),
                // Why it cannot be opened is among the failures.
                Err(_) => Ok(FileState::Other),
            };
        };
        let Ok(opened) = opened else {
            let is_there = std::fs::metadata(&file.path).is_ok();
            return Ok(if is_there { FileState::Changed } else { FileState::Other });
        };
        let is_there_still = match file.modified_ns {
            Some(modified_ns) => modified_ns == cursor.stamp.modified_ns,
            None => opened.still_is(&cursor.stamp),
        };
        // Where reading stopped at a line that is too long, what follows is not stored.
        let is_whole = cursor.seen_bytes >= cursor.stamp.length;
        let is_same = is_there_still
            && is_whole
            && self.scrubber_of_file(opened).is_ok_and(|scrubber| cursor.earlier_under(&scrubber).is_some())
            && !self.has_new_sidecars(key)?;
        if is_same {
            return Ok(FileState::Unchanged);
        }
        // What was written over it may be something else.
        match opened.detected() {
            Err(error @ EngineError::NotATranscript { .. }) => unread(error, file, None),
            _ => Ok(FileState::Changed),
        }
    }
}

/// Returns the state of a file that cannot be read now. One such file does not end the whole listing.
fn unread(error: EngineError, file: &FoundFile, known: Option<&Cursor>) -> Result<FileState> {
    match (error, known) {
        (error @ EngineError::Store(_), _) => Err(error),
        (EngineError::NotATranscript { .. }, _) if file.bytes > 0 => Ok(FileState::Unknown),
        (EngineError::NotATranscript { .. } | EngineError::UnknownSchema { .. }, _)
        | (EngineError::Io { .. }, None) => Ok(FileState::Other),
        // An import says what is the matter.
        (_, None) => Ok(FileState::New),
        (_, Some(cursor)) if file.modified_ns == Some(cursor.stamp.modified_ns) => Ok(FileState::Unchanged),
        (_, Some(_)) => Ok(FileState::Changed),
    }
}
