//! Files of this machine that go to a store or come from one.

use std::fs::File;
use std::io;

use stemmata_api::{Answer, ByteSource};
use stemmata_engine::{BundleSource as _, EngineError};

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
