//! Completion files that `setup` wrote for shells, so that `uninstall --all` can remove them.
//!
//! Not what is in them: a caller brings the script. One that somebody changed since stays.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use stemmata_api::Answer;
use stemmata_engine::create_private;
use stemmata_store::{read_bounded, write_file};

use super::made::missing_folders;
use super::{read_text, replace};
use crate::fault::{Fault, io_failed};
use crate::host::Host;

/// Bytes of the record at most: a few scripts of a few hundred lines each.
const RECORD_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// A file that was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct CompletionFile {
    path: PathBuf,
    text: String,
    /// Folders that were made for it, the innermost first.
    folders: Vec<PathBuf>,
}

impl Host {
    /// Writes a shell's completion file, and remembers that it did.
    ///
    /// # Errors
    /// `io_failed`.
    pub fn write_completions(&self, path: &Path, script: &str) -> Answer<()> {
        let write = || -> Result<(), Fault> {
            let _alone = self.alone_unless(false)?;
            let mut files = self.completion_files();
            let mut folders = missing_folders(path);
            if let Some(at) = files.iter().position(|file| file.path == path) {
                folders.extend(files.swap_remove(at).folders);
            }
            files.push(CompletionFile { path: path.to_owned(), text: script.to_owned(), folders });
            // A record of a file that is not there harms nobody, and a file without a record would stay.
            self.record_completions(&files)?;
            replace(&self.home.temp_files(), path, Some(script))
        };
        write().map_err(|fault| fault.0)
    }

    /// Removes the completion files that [`Host::write_completions`] wrote and nobody changed since, and folders that it made and
    /// that hold nothing else. Returns them; with `dry_run` the files that would go.
    ///
    /// # Errors
    /// `io_failed`.
    pub fn remove_completions(&self, dry_run: bool) -> Answer<Vec<PathBuf>> {
        let remove = || -> Result<Vec<PathBuf>, Fault> {
            let _alone = self.alone_unless(dry_run)?;
            let files = self.completion_files();
            let is_ours = |file: &&CompletionFile| {
                read_text(&file.path).is_ok_and(|text| text.as_ref() == Some(&file.text))
            };
            let mut removed: Vec<PathBuf> =
                files.iter().filter(is_ours).map(|file| file.path.clone()).collect();
            if dry_run || files.is_empty() {
                return Ok(removed);
            }
            for path in &removed {
                std::fs::remove_file(path).map_err(|source| io_failed("remove", path, &source))?;
            }
            let folders = files.iter().flat_map(|file| &file.folders);
            // One that holds something else is not removed: that is the system's own rule.
            removed.extend(folders.filter(|folder| std::fs::remove_dir(folder).is_ok()).cloned());
            let record = self.completions_record();
            std::fs::remove_file(&record).map_err(|source| io_failed("remove", &record, &source))?;
            Ok(removed)
        };
        remove().map_err(|fault| fault.0)
    }

    fn completions_record(&self) -> PathBuf {
        self.home.run_dir().join("made").join("completions.json")
    }

    /// Returns what was written; nothing where the record is lost: then the files stay, which harms nobody.
    fn completion_files(&self) -> Vec<CompletionFile> {
        let bytes = read_bounded(&self.completions_record(), RECORD_BYTES_MAX).ok().flatten();
        bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    }

    fn record_completions(&self, files: &[CompletionFile]) -> Result<(), Fault> {
        let record = self.completions_record();
        let failed = |source: &std::io::Error| io_failed("write", &record, source);
        let text = serde_json::to_vec(files).map_err(|error| failed(&error.into()))?;
        create_private(record.parent().unwrap_or(&record))?;
        write_file(&record, &text).map_err(|error| failed(&std::io::Error::other(error)))
    }
}
