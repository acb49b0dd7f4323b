//! Files of this machine that go to a store or come from one.

use std::fs::File;
use std::io;
use std::path::Path;
use std::time::Duration;

use stemmata_api::{Answer, ByteSource};
use stemmata_engine::{BundleSource as _, EngineError};
use stemmata_model::CommitId;
use stemmata_store::{Files as _, Patience, SystemFiles};

use crate::fault::problem_of;

/// How long a process waits for others that change the same file. Each is done in a moment, unless it was stopped.
const CHANGE_WAIT: Duration = Duration::from_secs(10);

/// An open file as a source of bytes.
#[derive(Debug)]
pub struct FileBytes(pub File);

impl ByteSource for FileBytes {
    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<usize> {
        self.0.read_at(at, into)
    }
}

/// Reads a list of commits that another store has, as `render_have` or `--json` writes it.
///
/// # Errors
/// `have_list_bad` names the line.
pub fn parse_have(text: &str) -> Answer<Vec<CommitId>> {
    stemmata_engine::parse_have(text).map_err(|error| problem_of(&EngineError::from(error)).into())
}

/// Runs `change` while no other process runs one for the same file, so that what it read is still there when it writes. The lock is a
/// file beside it, or beside what a link leads to, and is gone afterwards.
///
/// # Errors
/// What `change` fails with; by `failed` the system's own, and where another process holds the file for ten seconds.
pub fn change_alone<T, E>(
    path: &Path,
    failed: impl Fn(io::Error) -> E,
    change: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let lock = path.with_file_name(format!(".{name}.lock"));
    let held = Patience::each(CHANGE_WAIT).until(|| SystemFiles.lock(&lock)).map_err(&failed)?;
    if held.is_none() {
        let reason = format!("another process holds {}", lock.display());
        return Err(failed(io::Error::new(io::ErrorKind::TimedOut, reason)));
    }
    let changed = change();
    // While it is held: whoever waits for it takes the file of this name, and not one without a name.
    let _left = SystemFiles.remove(&lock);
    changed
}
