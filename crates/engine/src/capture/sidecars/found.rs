//! The files in a session's folders, within bounds. Looks at names and stamps; `read` reads one.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use stemmata_model::{Note, NoteCode, plural};
use stemmata_runtimes::clients::{SIDECAR_DEPTH_MAX, Sidecars};
use stemmata_store::is_temporary;

use super::{SESSION_SIDECAR_BYTES_MAX, SESSION_SIDECARS_MAX, SIDECAR_BYTES_MAX};
use crate::capture::cursor::FileStamp;
use crate::error::{EngineError, Result};

/// A path as the store keeps it, at most.
const PATH_BYTES_MAX: usize = 4_096;

/// A file that was found.
#[derive(Debug)]
pub(crate) struct FoundSidecar {
    /// Its absolute path.
    pub(crate) path: String,
    /// What it was when it was found.
    pub(crate) stamp: FileStamp,
}

impl FoundSidecar {
    /// Reads the file, unless another one took its name since it was found.
    ///
    /// # Errors
    /// `Io`.
    pub(crate) fn read(&self) -> Result<Vec<u8>> {
        let path = Path::new(&self.path);
        let file = File::open(path).map_err(EngineError::io("open", path))?;
        let opened = file.metadata().map_err(EngineError::io("read", path))?;
        if !opened.is_file() || FileStamp::of(&opened) != self.stamp {
            let changed = std::io::Error::other("it changed while it was read; the next capture takes it");
            return Err(EngineError::io("read", path)(changed));
        }
        let mut bytes = Vec::new();
        file.take(self.stamp.length).read_to_end(&mut bytes).map_err(EngineError::io("read", path))?;
        Ok(bytes)
    }
}

/// The files of a session, and what was left out.
#[derive(Debug, Default)]
pub(crate) struct FoundSidecars {
    files: Vec<FoundSidecar>,
    bytes: u64,
    /// Files that are too long, or beyond what one session may have, and one of them.
    beyond: (u64, Option<PathBuf>),
    /// Files and folders whose names or contents cannot be read, and one of them.
    unreadable: (u64, Option<PathBuf>),
}

impl FoundSidecars {
    pub(crate) const fn is_empty(&self) -> bool {
        self.files.is_empty() && self.beyond.0 == 0 && self.unreadable.0 == 0
    }

    pub(crate) fn files(&self) -> &[FoundSidecar] {
        &self.files
    }

    pub(crate) const fn left_out(&self) -> u64 {
        self.beyond.0 + self.unreadable.0
    }

    /// Says what was left out.
    pub(crate) fn notes(&self) -> Vec<Note> {
        let mut notes = Vec::new();
        if let (count, Some(one)) = &self.beyond {
            let message = format!(
                "{} beside the transcript left out, as {}: a file may have {} MiB, and a session {} files and {} MiB",
                plural(*count, "file"),
                one.display(),
                SIDECAR_BYTES_MAX >> 20,
                SESSION_SIDECARS_MAX,
                SESSION_SIDECAR_BYTES_MAX >> 20,
            );
            notes.push(Note::new(NoteCode::TooLarge, message));
        }
        if let (count, Some(one)) = &self.unreadable {
            let message = format!(
                "{} beside the transcript could not be read, as {}",
                plural(*count, "file"),
                one.display()
            );
            notes.push(Note::new(NoteCode::Degraded, message));
        }
        notes
    }

    /// Adds the files of a folder and of the folders in it, in the order of their names. Links are not followed: one may lead
    /// anywhere.
    pub(crate) fn look(&mut self, kept: &Sidecars, folder: &Path) {
        let is_folder = |folder: &Path| fs::symlink_metadata(folder).is_ok_and(|found| found.is_dir());
        if is_folder(folder) && folder.parent().is_some_and(is_folder) {
            self.look_into(kept, folder, SIDECAR_DEPTH_MAX);
        }
    }

    fn look_into(&mut self, kept: &Sidecars, folder: &Path, depth: usize) {
        let Some(below) = depth.checked_sub(1) else { return Self::note(&mut self.beyond, folder) };
        let Ok(listed) = fs::read_dir(folder) else { return Self::note(&mut self.unreadable, folder) };
        // More than may be taken, so that what is left out is counted; and a bound, so that no folder is read without end.
        let listed = listed.take(SESSION_SIDECARS_MAX.saturating_mul(2));
        let mut entries: Vec<PathBuf> = listed.filter_map(|entry| Some(entry.ok()?.path())).collect();
        entries.sort();
        for path in entries {
            let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
            if metadata.is_dir() {
                self.look_into(kept, &path, below);
            } else if metadata.is_file() {
                self.take(kept, &path, FileStamp::of(&metadata));
            }
        }
    }

    fn take(&mut self, kept: &Sidecars, path: &Path, stamp: FileStamp) {
        let name = path.file_name().and_then(|name| name.to_str());
        let text = path.to_str().filter(|text| text.len() <= PATH_BYTES_MAX);
        let (Some(name), Some(text)) = (name, text) else { return Self::note(&mut self.unreadable, path) };
        // A file of ours that an interrupted `fork` left has no name yet.
        if kept.is_transcript(name) || is_temporary(name) {
            return;
        }
        let all = self.bytes.saturating_add(stamp.length);
        let is_beyond = stamp.length > SIDECAR_BYTES_MAX
            || all > SESSION_SIDECAR_BYTES_MAX
            || self.files.len() >= SESSION_SIDECARS_MAX;
        if is_beyond {
            return Self::note(&mut self.beyond, path);
        }
        self.bytes = all;
        self.files.push(FoundSidecar { path: text.to_owned(), stamp });
    }

    fn note((count, one): &mut (u64, Option<PathBuf>), path: &Path) {
        *count += 1;
        one.get_or_insert_with(|| path.to_owned());
    }
}
