//! `run/pending`: transcripts that hooks could not capture, a marker each, until a command has captured them.
//!
//! A command claims a marker by renaming it to a name of its own, captures, and deletes only that name: what a hook leaves
//! meanwhile, about the same transcript too, is another file and stays. A claim is locked while its command works, so the
//! marker of a command that died is claimed anew by the next one.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use stemmata_store::{read_bounded, write_file};

use super::create_private;
use crate::error::{EngineError, Result};

/// Of the markers that one command claims, claims of other processes at most.
const CLAIMED_MAX: usize = 8;

/// Markers that are listed at most; a hook leaves one for each transcript.
const LISTED_MAX: usize = 100_000;

/// Bytes of a marker at most.
const MARKER_BYTES_MAX: u64 = 64 * 1024;

/// Times that a claim is looked for: its owner may rename it meanwhile.
const READS_MAX: u32 = 3;

/// Names that are tried for a claim.
const CLAIMS_MAX: u32 = 1_000;

const MARKER: &str = ".json";
const CLAIM: &str = ".claim-";

/// The file that names the last marker which a command claimed.
const TURN: &str = "turn";

/// What a hook could not do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marker {
    /// The transcript, where it is about one.
    pub path: Option<PathBuf>,
    /// Why it was left.
    pub reason: String,
    /// When, in microseconds since 1970.
    pub at: i64,
}

/// The transcripts that hooks left.
#[derive(Debug, Clone)]
pub struct Markers {
    folder: PathBuf,
}

/// A transcript that was left, for this process to capture.
#[derive(Debug)]
pub(super) struct Left {
    /// The transcript.
    pub transcript: PathBuf,
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

impl Marker {
    /// Writes a marker, whole or not at all.
    ///
    /// # Errors
    /// `Io` where it cannot be written.
    pub fn write(&self, file: &Path) -> Result<()> {
        let text = serde_json::to_string(self).unwrap_or_default();
        write_file(file, text.as_bytes()).map_err(EngineError::io("write", file))
    }

    /// Reads a marker; none where there is none, or nothing that is one.
    pub fn read(file: &Path) -> Option<Self> {
        serde_json::from_slice(&read_bounded(file, MARKER_BYTES_MAX).ok()??).ok()
    }
}

impl Markers {
    pub(super) fn in_run(run: &Path) -> Self {
        Self { folder: run.join("pending") }
    }

    /// Leaves a transcript for the next command; the latest reason stays. `at` is in microseconds since 1970.
    ///
    /// # Errors
    /// `Io` where the marker cannot be written.
    pub fn leave(&self, path: &Path, reason: &str, at: i64) -> Result<()> {
        create_private(&self.folder)?;
        let name = stemmata_model::artifact_id(path.as_os_str().as_encoded_bytes()).to_string();
        let name = format!("{}{MARKER}", name.get(4..36).unwrap_or("transcript"));
        let marker = Marker { path: Some(path.to_owned()), reason: reason.to_owned(), at };
        marker.write(&self.folder.join(name))
    }

    /// Counts the transcripts that hooks left and no command has captured.
    pub fn count(&self) -> usize {
        stems(&self.folder).len()
    }

    /// Claims what one command takes up, `claims_max` at most, each marker as it is asked for: in the order of their names,
    /// from where the last command stopped, around to there. So a marker that fails each time comes again only when all
    /// others had their turn. Claims of dead processes come last, since one of these may be what killed its process.
    pub(super) fn claims(&self, claims_max: usize) -> impl Iterator<Item = Left> + use<> {
        let folder = self.folder.clone();
        let turn = folder.join(TURN);
        let (markers, claimed): (Vec<_>, Vec<_>) =
            stems(&folder).into_iter().partition(|(_, is_marker)| *is_marker);
        let mut order: Vec<String> = markers.into_iter().map(|(stem, _)| stem).collect();
        let claimed_max = claimed.len().min(CLAIMED_MAX).min(claims_max);
        if !order.is_empty() {
            let last = read_turn(&turn);
            let first = order.partition_point(|stem| *stem <= last);
            order.rotate_left(first);
        }
        if order.len() > claims_max - claimed_max {
            order.truncate(claims_max - claimed_max);
            let stopped = order.last().map(String::as_str).unwrap_or_default();
            if let Err(error) = write_file(&turn, stopped.as_bytes()) {
                tracing::warn!(%error, "the next command begins with the same markers");
            }
        }
        order.extend(claimed.into_iter().map(|(stem, _)| stem).take(claimed_max));
        order.into_iter().filter_map(move |stem| claim(&folder, &stem))
    }
}

/// Returns the names of markers without what a claim adds to them, and whether there is more than a claim.
///
/// A file that is renamed while its folder is listed may be in no part of the list: so the folder is listed twice.
fn stems(folder: &Path) -> BTreeMap<String, bool> {
    let mut stems = BTreeMap::new();
    for name in (0..2).flat_map(|_| names(folder)) {
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

fn read_turn(turn: &Path) -> String {
    let read = read_bounded(turn, MARKER_BYTES_MAX).ok().flatten();
    // Where it cannot be read every marker still has its turn, from the first on.
    read.and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default()
}

/// Claims a marker, or the claim on it of a process that died. Where a living process has it, the transcript is still named.
fn claim(folder: &Path, stem: &str) -> Option<Left> {
    let marker = folder.join(format!("{stem}{MARKER}"));
    let own = rename_free(&marker, folder, stem).and_then(|file| {
        // Between its new name and this lock another command may take the claim for one of a dead process: then it has it.
        let lock = locked(&file)?;
        Some((file, lock))
    });
    let Some((file, lock)) = own.or_else(|| left_by_the_dead(folder, stem)) else {
        let transcript = (0..READS_MAX)
            .find_map(|_| claims_on(folder, stem).find_map(|claimed| Marker::read(&claimed)?.path))?;
        return Some(Left { transcript, claim: None });
    };
    let Some(transcript) = Marker::read(&file).and_then(|found| found.path) else {
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

/// Takes over a claim whose process died: nobody holds its lock. The lock goes with the file to its new name, so that nobody
/// comes between.
fn left_by_the_dead(folder: &Path, stem: &str) -> Option<(PathBuf, File)> {
    claims_on(folder, stem).find_map(|path| {
        let lock = locked(&path)?;
        Some((rename_free(&path, folder, stem)?, lock))
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
    pub(super) fn done(self) {
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
