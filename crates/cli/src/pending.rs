//! `run/pending`: transcripts that hooks could not capture, a marker each, until a command has captured them.
//!
//! A command claims a marker by renaming it to a name of its own, captures, and deletes only that name: what a hook leaves
//! meanwhile, about the same transcript too, is another file and stays. A claim is locked while its command works, so the
//! marker of a command that died is claimed anew by the next one.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use stemmata_store::{SystemFiles, write_whole};

use crate::errors::CliError;
use crate::heard;
use crate::home::{DataHome, create_private};

/// Markers that one command claims at most; the rest is for the next one, which begins behind the last.
const TAKEN_MAX: usize = 64;

/// Of these, claims of other processes.
const CLAIMED_MAX: usize = 8;

/// Markers that are listed at most; a hook leaves one for each transcript.
const LISTED_MAX: usize = 100_000;

/// Bytes of a marker at most.
const MARKER_BYTES_MAX: u64 = 64 * 1024;

/// Names that are tried for a claim.
const CLAIMS_MAX: u32 = 1_000;

const MARKER: &str = ".json";
const CLAIM: &str = ".claim-";

/// The file that names the last marker which a command claimed.
const TURN: &str = "turn";

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

/// A transcript that was left, for this process to capture.
#[derive(Debug)]
pub(crate) struct Left {
    /// The transcript.
    pub(crate) transcript: PathBuf,
    /// The marker, where this process has claimed it; none where a living one has it, and may be at it for long. Who asks
    /// what is stored wants the answer now, and to capture twice what is there once does no harm.
    claim: Option<Claim>,
}

/// A marker that this process has claimed. Dropped, it is there for the next command again.
#[derive(Debug)]
struct Claim {
    file: PathBuf,
    marker: PathBuf,
    lock: File,
}

fn folder(home: &DataHome) -> PathBuf {
    home.run().join("pending")
}

/// Leaves a transcript for the next command; the latest reason stays.
pub(crate) fn leave(home: &DataHome, path: &Path, reason: &str, at: i64) -> Result<(), CliError> {
    let folder = folder(home);
    create_private(&folder)?;
    let name = stemmata_model::artifact_id(path.as_os_str().as_encoded_bytes()).to_string();
    let name = format!("{}{MARKER}", name.get(4..36).unwrap_or("transcript"));
    write(&folder.join(name), &Marker { path: Some(path.to_owned()), reason: reason.to_owned(), at })
}

/// Keeps what went wrong last in `run`.
pub(crate) fn trouble(home: &DataHome, reason: &str, at: i64) -> Result<(), CliError> {
    heard::trouble(home, "run", None, (reason, at))
}

/// Writes a marker, whole or not at all.
pub(crate) fn write(path: &Path, marker: &Marker) -> Result<(), CliError> {
    let text = serde_json::to_string(marker).unwrap_or_default();
    let failed = |source| CliError::io("write", path, source);
    write_whole(&SystemFiles, path, failed, |out| out.write_all(text.as_bytes()).map_err(failed))
}

/// Reads a marker; none where there is none, or nothing that is one.
pub(crate) fn read(file: &Path) -> Option<Marker> {
    let mut text = String::new();
    File::open(file).ok()?.take(MARKER_BYTES_MAX).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

/// Counts the transcripts that hooks left and no command has captured.
pub(crate) fn count(home: &DataHome) -> usize {
    stems(&folder(home)).len()
}

/// Returns the names of markers without what a claim adds to them, and whether there is more than a claim.
fn stems(folder: &Path) -> BTreeMap<String, bool> {
    let mut stems = BTreeMap::new();
    for name in names(folder) {
        let claimed = name.split_once(CLAIM).map(|(stem, _)| (stem, false));
        let found = claimed.or_else(|| name.strip_suffix(MARKER).map(|stem| (stem, true)));
        if let Some((stem, is_marker)) = found.filter(|(stem, _)| !stem.is_empty() && !stem.starts_with('.'))
        {
            *stems.entry(stem.to_owned()).or_default() |= is_marker;
        }
    }
    stems
}

fn names(folder: &Path) -> impl Iterator<Item = String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    entries.flatten().take(LISTED_MAX).filter_map(|entry| entry.file_name().into_string().ok())
}

/// Claims what one command takes up, each marker as it is asked for: in the order of their names, from where the last
/// command stopped, around to there. So a marker that fails each time comes again only when all others had their turn.
/// Claims of dead processes come last, since one of these may be what killed its process.
pub(crate) fn claims(home: &DataHome) -> impl Iterator<Item = Left> + use<> {
    let folder = folder(home);
    let turn = folder.join(TURN);
    let last = read_turn(&turn);
    let (markers, claimed): (Vec<_>, Vec<_>) =
        stems(&folder).into_iter().partition(|(_, is_marker)| *is_marker);
    let mut order: Vec<String> = markers.into_iter().map(|(stem, _)| stem).collect();
    let first = order.partition_point(|stem| *stem <= last);
    order.rotate_left(first);
    let markers_max = TAKEN_MAX - claimed.len().min(CLAIMED_MAX);
    if order.len() > markers_max {
        order.truncate(markers_max);
        let stopped = order.last().map(String::as_str).unwrap_or_default();
        let failed = |source| CliError::io("write", &turn, source);
        let kept =
            write_whole(&SystemFiles, &turn, failed, |out| out.write_all(stopped.as_bytes()).map_err(failed));
        if let Err(error) = kept {
            tracing::warn!(%error, "the next command begins with the same markers");
        }
    }
    order.extend(claimed.into_iter().map(|(stem, _)| stem).take(CLAIMED_MAX));
    order.into_iter().filter_map(move |stem| claim(&folder, &stem))
}

fn read_turn(turn: &Path) -> String {
    let mut text = String::new();
    let read = File::open(turn).and_then(|file| file.take(MARKER_BYTES_MAX).read_to_string(&mut text));
    // Where it cannot be read every marker still has its turn, from the first on.
    if read.is_ok() { text } else { String::new() }
}

/// Claims a marker, or the claim on it of a process that died.
fn claim(folder: &Path, stem: &str) -> Option<Left> {
    let marker = folder.join(format!("{stem}{MARKER}"));
    let Some(file) = rename_free(&marker, folder, stem).or_else(|| left_by_the_dead(folder, stem)) else {
        let transcript = claims_on(folder, stem).find_map(|claimed| read(&claimed)?.path)?;
        return Some(Left { transcript, claim: None });
    };
    // Between its new name and this lock another command may take the claim for one of a dead process: then it has it.
    let lock = locked(&file)?;
    let Some(transcript) = read(&file).and_then(|found| found.path) else {
        tracing::warn!(marker = stem, "a marker names no transcript: `stemma import` finds what was left");
        remove(&file);
        return None;
    };
    Some(Left { transcript, claim: Some(Claim { file, marker, lock }) })
}

/// Renames a file to a claim that nobody has.
fn rename_free(from: &Path, folder: &Path, stem: &str) -> Option<PathBuf> {
    let own = std::process::id();
    let free = (0..CLAIMS_MAX).map(|number| folder.join(format!("{stem}{CLAIM}{own}-{number}")));
    let to = free.into_iter().find(|path| path.symlink_metadata().is_err())?;
    std::fs::rename(from, &to).ok().map(|()| to)
}

/// Takes over a claim whose process died: nobody holds its lock.
fn left_by_the_dead(folder: &Path, stem: &str) -> Option<PathBuf> {
    claims_on(folder, stem).find_map(|path| {
        let _lock = locked(&path)?;
        rename_free(&path, folder, stem)
    })
}

/// Returns the claims on a marker.
fn claims_on(folder: &Path, stem: &str) -> impl Iterator<Item = PathBuf> {
    let claim = format!("{stem}{CLAIM}");
    names(folder).filter(move |name| name.starts_with(&claim)).map(|name| folder.join(name))
}

fn locked(path: &Path) -> Option<File> {
    let file = File::open(path).ok()?;
    file.try_lock().ok().map(|()| file)
}

impl Left {
    /// Deletes the marker where it is claimed: what it names was captured since then, or never will be.
    pub(crate) fn done(self) {
        if let Some(claim) = &self.claim {
            remove(&claim.file);
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        // A marker of the same transcript that a hook left meanwhile says the same: one of them is enough.
        match std::fs::rename(&self.file, &self.marker) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                tracing::debug!(%error, "a claimed marker stays so, for the next command to take over");
            }
            _ => {}
        }
        // Not before: what is renamed here must not be taken for a dead process's meanwhile.
        let _unlocked = self.lock.unlock();
    }
}

fn remove(file: &Path) {
    if let Err(error) = std::fs::remove_file(file) {
        tracing::debug!(%error, "a marker stays");
    }
}

#[cfg(test)]
mod tests;
