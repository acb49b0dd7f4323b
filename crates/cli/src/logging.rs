//! The log in the data directory: what ran, how it ended, and what the engine says about its own work.
//!
//! Never content of a transcript, and never arguments of the command line, which may hold both text and secrets.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

/// Bytes of one log file at most, but for the last line.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// Log files that are kept: the one being written and the older ones.
const FILES_MAX: u32 = 5;

/// What is logged unless `STEMMATA_LOG` says otherwise.
const FILTER_DEFAULT: &str = "info";

/// What is wrong with the log.
#[derive(Debug)]
pub(crate) enum LogTrouble {
    /// It cannot be written, as in a store that is read-only.
    Unwritable(String),
    /// `STEMMATA_LOG` is not understood.
    Filter(String),
}

/// Starts logging into a folder. A log that cannot be opened is no reason to do nothing, so it is only reported.
pub(crate) fn start(folder: &Path, filter: Option<&str>) -> Result<(), LogTrouble> {
    let log = RotatingLog::open(folder.to_owned()).map_err(|error| {
        LogTrouble::Unwritable(format!("nothing is logged: {} cannot be written ({error})", folder.display()))
    })?;
    let parsed = EnvFilter::try_new(filter.unwrap_or(FILTER_DEFAULT));
    let wrong = parsed
        .as_ref()
        .err()
        .map(|error| format!("`STEMMATA_LOG` is not understood ({error}); `info` is logged"));
    let filter = parsed.unwrap_or_else(|_| EnvFilter::new(FILTER_DEFAULT));
    // A record that cannot be written, as on a full disk, is not printed either: hooks print nothing.
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(false)
        .with_writer(log)
        .log_internal_errors(false)
        .finish();
    // Fails only where a test in this process was first.
    let _set = tracing::subscriber::set_global_default(subscriber);
    wrong.map_or(Ok(()), |wrong| Err(LogTrouble::Filter(wrong)))
}

/// A file that is put aside when it is full.
struct RotatingLog {
    folder: PathBuf,
    open: Mutex<Open>,
}

struct Open {
    file: File,
    bytes: u64,
}

impl RotatingLog {
    fn open(folder: PathBuf) -> io::Result<Self> {
        let open = Open::at(&folder)?;
        Ok(Self { folder, open: Mutex::new(open) })
    }
}

impl Open {
    fn at(folder: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.create(true).append(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(name(folder, 0))?;
        let bytes = file.metadata()?.len();
        Ok(Self { file, bytes })
    }

    fn rotate(&mut self, folder: &Path) -> io::Result<()> {
        for number in (0..FILES_MAX - 1).rev() {
            let from = name(folder, number);
            if from.exists() {
                std::fs::rename(&from, name(folder, number + 1))?;
            }
        }
        *self = Self::at(folder)?;
        Ok(())
    }
}

/// `stemma.log`, then `stemma.1.log` and so on, the oldest last.
fn name(folder: &Path, number: u32) -> PathBuf {
    folder.join(if number == 0 { "stemma.log".to_owned() } else { format!("stemma.{number}.log") })
}

/// Writes one record.
struct Record<'a> {
    log: &'a RotatingLog,
    open: MutexGuard<'a, Open>,
}

impl Write for Record<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.open.bytes >= FILE_BYTES_MAX {
            self.open.rotate(&self.log.folder)?;
        }
        let written = self.open.file.write(bytes)?;
        self.open.bytes += u64::try_from(written).unwrap_or(u64::MAX);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.open.file.flush()
    }
}

impl<'a> MakeWriter<'a> for RotatingLog {
    type Writer = Record<'a>;

    fn make_writer(&'a self) -> Self::Writer {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        Record { log: self, open }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_files_of_a_mebibyte_are_kept_and_only_the_owner_reads_them() {
        let folder = tempfile::tempdir().unwrap();
        let log = RotatingLog::open(folder.path().to_owned()).unwrap();
        let line = vec![b'x'; 64 * 1024];
        for _ in 0..16 * 8 {
            log.make_writer().write_all(&line).unwrap();
        }
        let mut found: Vec<(String, u64)> = std::fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| {
                let entry = entry.unwrap();
                let metadata = entry.metadata().unwrap();
                #[cfg(unix)]
                assert_eq!(std::os::unix::fs::MetadataExt::mode(&metadata) & 0o777, 0o600);
                (entry.file_name().into_string().unwrap(), metadata.len())
            })
            .collect();
        found.sort();
        let names = ["stemma.1.log", "stemma.2.log", "stemma.3.log", "stemma.4.log", "stemma.log"];
        let expected: Vec<(String, u64)> =
            names.iter().map(|name| ((*name).to_owned(), FILE_BYTES_MAX)).collect();
        assert_eq!(found, expected);
    }
}
