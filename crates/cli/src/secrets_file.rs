//! `secrets.toml`: the store's own rules for secrets, kept in the data directory by their owner.
//!
//! What they mean, and what follows where they make no sense, is the engine's.

use std::io::Read;
use std::path::Path;

use stemmata_engine::StoreRules;

use crate::errors::CliError;

/// Bytes of the file that are read at most: one more than make sense, so that the engine says so.
const FILE_BYTES_MAX: u64 = 256 * 1024 + 1;

/// Reads the rules of a data directory; none where there is no such file.
pub(crate) fn load(home: &Path) -> Result<Option<StoreRules>, CliError> {
    let path = home.join("secrets.toml");
    let mut bytes = Vec::new();
    let read = std::fs::File::open(&path).and_then(|file| file.take(FILE_BYTES_MAX).read_to_end(&mut bytes));
    match read {
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(CliError::io("read", &path, error)),
    }
    // What is no text is no TOML either, and its reader says so.
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Ok(Some(StoreRules { name: path.display().to_string(), text }))
}

/// Returns the rules of projects that were met and do not count, with the reason.
pub(crate) fn untrusted(
    _home: &crate::home::DataHome,
) -> Result<Vec<(std::path::PathBuf, String)>, CliError> {
    Ok(Vec::new())
}
