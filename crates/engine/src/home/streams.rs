//! `run/streams`: what commands under `stemma run` print, one file each, until the store holds all of it.
//!
//! The file is the transcript: whatever becomes of the store or of this process, what stands in it is captured by the
//! next command. Its secrets are replaced before anything is written.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use stemmata_model::FormatId;
use stemmata_store::{read_bounded, write_file};

use super::create_private;
use crate::capture::captured::Captured;
use crate::capture::options::CaptureOptions;
use crate::capture::stream::timed_format;
use crate::error::{EngineError, Result};
use crate::temporary::TempFiles;

/// Files of a folder that are looked at.
const LISTED_MAX: usize = 10_000;

/// The endings of the files beside a stream: the directory that its command works in, and what the session is called.
const CWD: &str = "cwd";
const TITLE: &str = "title";

/// Bytes of such a file at most: no system has longer paths.
const BESIDE_BYTES_MAX: u64 = 16 * 1024;

/// How every timed line begins, as [`crate::StreamRecorder`] writes it.
const TIMED_BEGIN: &[u8; 6] = b"{\"t\":\"";

/// The streams of a data directory.
#[derive(Debug, Clone)]
pub struct Streams {
    folder: PathBuf,
}

/// Why a stream may be deleted: there is no other way to.
#[derive(Debug, Clone, Copy)]
pub enum StreamProof<'a> {
    /// A capture says how many of its bytes the store holds.
    Captured(&'a Captured),
    /// Nothing was ever written to it.
    Empty,
}

impl Streams {
    pub(crate) fn in_run(run: &Path) -> Self {
        Self { folder: run.join("streams") }
    }

    /// Returns where the stream of a session is, if it has one.
    pub fn path_of(&self, session: &str) -> PathBuf {
        let name = Path::new(session).file_name().unwrap_or_default().to_string_lossy();
        self.folder.join(format!("{name}.jsonl"))
    }

    /// Opens a new stream, locked for as long as the file is open: what is locked is still being written. The directory that the
    /// command works in and the session's title, without secrets, are kept beside it for another process that captures it.
    ///
    /// # Errors
    /// `Io` where a file cannot be created.
    pub fn open(&self, session: &str, cwd: &Path, title: Option<&str>) -> Result<(PathBuf, File)> {
        let path = self.path_of(session);
        create_private(&self.folder)?;
        // Locked before it has its name, since who finds a stream without a lock takes it away. The lock goes with the file.
        let begun = TempFiles::default().create_named(&self.folder);
        let file = begun.and_then(|begun| begun.persist(&path).map_err(|error| error.error));
        let file = file.map_err(EngineError::io("create", &path))?;
        // After that: without its stream nobody would ever remove it.
        for (ending, text) in [(CWD, Some(cwd.to_string_lossy())), (TITLE, title.map(Into::into))] {
            let beside = path.with_extension(ending);
            let written = text.map_or(Ok(()), |text| write_file(&beside, text.as_bytes()));
            written.map_err(EngineError::io("create", &beside))?;
        }
        Ok((path, file))
    }

    /// Returns streams whose writers are gone.
    pub fn left(&self) -> Vec<PathBuf> {
        let mut files = jsonl_in(&self.folder);
        files.retain(|path| !is_written(path));
        files
    }

    /// Deletes a stream that the store holds whole, or that is empty; returns whether it did. Whatever else it is, stays.
    pub fn remove(path: &Path, proof: StreamProof<'_>) -> bool {
        let held = match proof {
            StreamProof::Captured(captured) => captured.bytes_held,
            StreamProof::Empty => 0,
        };
        if std::fs::symlink_metadata(path).ok().map(|there| there.len()) != Some(held) {
            return false;
        }
        match std::fs::remove_file(path) {
            Ok(()) => {
                for ending in [CWD, TITLE] {
                    let _gone = std::fs::remove_file(path.with_extension(ending));
                }
                true
            }
            Err(error) => {
                tracing::debug!(%error, "a stream stays");
                false
            }
        }
    }

    /// Sets a stream aside that cannot be captured: it may be the only copy, so it is never deleted, and `status` names it.
    ///
    /// # Errors
    /// `Io` where it cannot be moved; `NotFound` where another process had it meanwhile.
    pub(super) fn set_aside(&self, path: &Path) -> Result<PathBuf> {
        let folder = self.aside_folder();
        create_private(&folder)?;
        let to = folder.join(path.file_name().unwrap_or_default());
        // Names hold a random id, so nothing is there already.
        std::fs::rename(path, &to).map_err(EngineError::io("set aside", path))?;
        for ending in [CWD, TITLE] {
            let _gone = std::fs::rename(path.with_extension(ending), to.with_extension(ending));
        }
        Ok(to)
    }

    /// Returns how a process captures a stream that another one records: in its format, with the directory and the title that
    /// are kept beside it.
    pub fn capture_options(path: &Path, options: CaptureOptions) -> CaptureOptions {
        let beside = |ending: &str| {
            let text = read_bounded(&path.with_extension(ending), BESIDE_BYTES_MAX).ok().flatten()?;
            String::from_utf8(text).ok().filter(|text| !text.is_empty())
        };
        let (cwd, title) = (beside(CWD).or(options.cwd), beside(TITLE));
        CaptureOptions { cwd, title, format: Self::format_of(path), ..options }
    }

    /// Returns the streams that were set aside.
    pub fn aside(&self) -> Vec<PathBuf> {
        jsonl_in(&self.aside_folder())
    }

    fn aside_folder(&self) -> PathBuf {
        self.folder.join("aside")
    }

    /// Returns the format of a stream where its first bytes are what we write before timed lines; another one says itself
    /// what it is.
    fn format_of(path: &Path) -> Option<FormatId> {
        let mut begin = [0; TIMED_BEGIN.len()];
        File::open(path).and_then(|mut file| file.read_exact(&mut begin)).ok()?;
        (begin == *TIMED_BEGIN).then(timed_format)
    }
}

fn jsonl_in(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut files: Vec<PathBuf> = entries.flatten().take(LISTED_MAX).map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "jsonl"));
    files.sort();
    files
}

fn is_written(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| file.try_lock_shared().is_err())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_left_once_its_writer_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let streams = Streams::in_run(folder.path());
        assert_eq!(streams.left(), Vec::<PathBuf>::new());
        let (path, file) = streams.open("s", Path::new("/kiln"), Some("echo hi")).unwrap();
        let options = Streams::capture_options(&path, CaptureOptions::import());
        assert_eq!((options.cwd.as_deref(), options.title.as_deref()), (Some("/kiln"), Some("echo hi")));
        assert_eq!(streams.left(), Vec::<PathBuf>::new());
        drop(file);
        assert_eq!(streams.left(), std::slice::from_ref(&path));
        std::io::Write::write_all(&mut File::options().append(true).open(&path).unwrap(), b"x").unwrap();
        assert!(!Streams::remove(&path, StreamProof::Empty), "nothing says that it is stored");
        let kept = streams.set_aside(&path).unwrap();
        assert_eq!((streams.left(), streams.aside()), (Vec::new(), vec![kept]));
    }
}
