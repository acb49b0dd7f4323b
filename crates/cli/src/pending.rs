//! `run/`: what hooks leave for the next command: transcripts that they could not capture, and their last trouble.
//!
//! A hook must never fail its client, so whatever goes wrong is kept here and told by `status`.

use std::io::Read;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use stemmata_store::{SystemFiles, write_whole};

use crate::errors::CliError;
use crate::home::{DataHome, create_private};

/// Transcripts that one command takes up at most; the rest stays for the next.
const TAKEN_MAX: usize = 64;

/// Bytes of a marker at most.
const MARKER_BYTES_MAX: u64 = 64 * 1024;

/// What a hook could not do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Marker {
    /// The transcript, where it is about one.
    pub(crate) path: Option<PathBuf>,
    /// Why it was left.
    pub(crate) reason: String,
    /// When, in microseconds since 1970.
    pub(crate) at: i64,
}

fn folder(home: &DataHome) -> PathBuf {
    home.run().join("pending")
}

fn trouble_file(home: &DataHome) -> PathBuf {
    home.run().join("hook-trouble.json")
}

/// Leaves a transcript for the next command; the latest reason stays.
pub(crate) fn leave(home: &DataHome, path: &Path, reason: &str, at: i64) -> Result<(), CliError> {
    let folder = folder(home);
    create_private(&folder)?;
    let name = stemmata_model::artifact_id(path.as_os_str().as_encoded_bytes()).to_string();
    let name = format!("{}.json", name.get(4..36).unwrap_or("transcript"));
    write(&folder.join(name), &Marker { path: Some(path.to_owned()), reason: reason.to_owned(), at })
}

/// Keeps the last trouble of a hook that named no transcript.
pub(crate) fn trouble(home: &DataHome, reason: &str, at: i64) -> Result<(), CliError> {
    write(&trouble_file(home), &Marker { path: None, reason: reason.to_owned(), at })
}

fn write(path: &Path, marker: &Marker) -> Result<(), CliError> {
    let text = serde_json::to_string(marker).unwrap_or_default();
    write_whole(
        &SystemFiles,
        path,
        |source| CliError::io("write", path, source),
        |out| out.write_all(text.as_bytes()).map_err(|source| CliError::io("write", path, source)),
    )
}

/// Returns what hooks left, the oldest names first, with the marker of each.
pub(crate) fn left(home: &DataHome) -> Vec<(PathBuf, Marker)> {
    let Ok(entries) = std::fs::read_dir(folder(home)) else { return Vec::new() };
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "json"));
    files.sort();
    files.truncate(TAKEN_MAX);
    files.into_iter().filter_map(|file| Some((file.clone(), read(&file)?))).collect()
}

/// Returns the last trouble of a hook.
pub(crate) fn last_trouble(home: &DataHome) -> Option<Marker> {
    read(&trouble_file(home))
}

fn read(file: &Path) -> Option<Marker> {
    let mut text = String::new();
    std::fs::File::open(file).ok()?.take(MARKER_BYTES_MAX).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

/// Takes a marker away: what it names was captured, or never will be.
pub(crate) fn done(marker: &Path) {
    if let Err(error) = std::fs::remove_file(marker) {
        tracing::debug!(%error, "a marker stays");
    }
}
