//! Files of this machine that go to a store or come from one.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use stemmata_api::{Answer, ByteSource};
use stemmata_engine::{BundleSource as _, EngineError};
use stemmata_store::SystemFiles;

use crate::fault::problem_of;

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
pub fn parse_have(text: &str) -> Answer<Vec<String>> {
    let ids = stemmata_engine::parse_have(text).map_err(|error| problem_of(&EngineError::from(error)))?;
    Ok(ids.iter().map(ToString::to_string).collect())
}

/// Hands a writer to `write`; the file appears under its name, whole and durable, when that succeeds, in the place of an
/// older one.
///
/// # Errors
/// What `write` fails with; the system's own, by `failed`.
pub fn write_whole<T, E>(
    path: &Path,
    failed: impl Fn(io::Error) -> E,
    write: impl FnOnce(&mut dyn Write) -> Result<T, E>,
) -> Result<T, E> {
    stemmata_store::write_whole(&SystemFiles, path, failed, write)
}
