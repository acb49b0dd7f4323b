//! Taking placed copies back: which ones nobody went on with, and what is left of them in the client's folder.
//!
//! Whether a client has one open is asked elsewhere (`home::holders`).

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use stemmata_model::{Closure, Commit, CommitId, CommitType, Timestamp};
use stemmata_store::maintain::forget::Forget;
use stemmata_store::{Placement, ResolveScope, Session};

use super::record::keyed;
use crate::capture::kept::{is_session_kept, is_session_there};
use crate::engine::Engine;
use crate::error::{EngineError, Result};

/// Copies that are looked at.
const COPIES_MAX: usize = 10_000;

/// Commits of one time that are looked at for a compaction.
const TIES_MAX: usize = 16;

/// What is left of a placed copy where its client looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyFile {
    /// The file, as it was placed.
    AsPlaced,
    /// Nothing.
    Gone,
    /// Something else.
    Changed,
    /// It was handed to the client, which keeps it where only the client deletes it.
    TakenIn,
}

/// Returns the file that was written for a copy's client to take in, where the client keeps sessions in a storage of its own.
pub fn handed_over(copy: &Session) -> Option<PathBuf> {
    let path = Path::new(&copy.key.path);
    let home = path.parent()?.parent().filter(|_| is_session_kept(path))?;
    Some(home.join("stemmata").join(format!("{}.json", copy.session)))
}

impl Engine {
    /// Returns the placed copies of this machine that nobody went on with, the last one first. Reads no file.
    ///
    /// # Errors
    /// Store errors.
    pub fn idle_copies(&self) -> Result<Vec<Session>> {
        let mut copies = self.store.unused_sessions(COPIES_MAX)?;
        copies.retain(|copy| copy.key.machine == self.identity.machine);
        let mut idle = Vec::new();
        for copy in copies {
            if self.is_idle_copy(&copy)? {
                idle.push((self.placed_at(&copy)?, copy));
            }
        }
        idle.sort_by(|(one_at, one), (other_at, other)| {
            other_at.cmp(one_at).then_with(|| one.key.path.cmp(&other.key.path))
        });
        Ok(idle.into_iter().map(|(_, copy)| copy).collect())
    }

    /// Returns when a copy was placed. Once it was read, its row says when the conversation in it began.
    ///
    /// # Errors
    /// Store errors.
    pub fn placed_at(&self, copy: &Session) -> Result<Option<Timestamp>> {
        let placement = self.store.placement(&copy.key.machine, &copy.key.path)?;
        Ok(placement.map(|placement| placement.placed_at).or(copy.started_at))
    }

    /// Returns what is left of a placed copy.
    ///
    /// # Errors
    /// Store errors, `Io`.
    pub fn copy_file(&self, copy: &Session) -> Result<CopyFile> {
        let path = Path::new(&copy.key.path);
        let file = match File::open(path) {
            Ok(file) if path.is_file() => file,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                // A session within a database, or a file that its client has packed since.
                return Ok(if is_session_there(path) { CopyFile::TakenIn } else { CopyFile::Gone });
            }
            Ok(_) | Err(_) => return Ok(CopyFile::Changed),
        };
        let placement = self.store.placement(&copy.key.machine, &copy.key.path)?;
        let is_as_placed = placement.map_or(Ok(false), |placement| self.is_as_placed(file, &placement))?;
        Ok(if is_as_placed { CopyFile::AsPlaced } else { CopyFile::Changed })
    }

    fn is_as_placed(&self, mut file: File, placement: &Placement) -> Result<bool> {
        let failed =
            |source| EngineError::Io { operation: "read", path: placement.path.clone().into(), source };
        if file.metadata().map_err(failed)?.len() != placement.placed_bytes {
            return Ok(false);
        }
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(&mut file).map_err(failed)?;
        let found = keyed(&self.store.identity()?.secret, *hasher.finalize().as_bytes());
        Ok(found == placement.keyed_hash)
    }

    /// Lets a copy go whose file is gone, and the commit that was made to place it, unless another copy was placed from the same one.
    /// What it was placed from stays, and may be placed again.
    ///
    /// # Errors
    /// Store errors.
    pub fn leave_copy(&self, copy: &Session) -> Result<()> {
        let others = self.store.unused_sessions(COPIES_MAX)?;
        let is_shared = others.iter().any(|other| other.tip == copy.tip && other.key != copy.key);
        let own_tip = copy.tip.filter(|_| !is_shared);
        let tip = own_tip.map(|tip| self.store.commit(tip)).transpose()?.flatten();
        let is_made = |commit: &Commit| -> Result<bool> {
            Ok(commit.closure == Closure::Covered || self.is_translation(commit)?)
        };
        let made =
            tip.map(|tip| Ok::<_, EngineError>(is_made(&tip)?.then_some(tip.id))).transpose()?.flatten();
        self.store.forget(&Forget {
            unroot: made.into_iter().collect(),
            sessions: vec![copy.key.clone()],
            even_sighted: true,
            is_final: false,
            ..Forget::new(self.clock.now(), self.identity.principal("stemma")?)
        })?;
        Ok(())
    }

    /// Returns the compaction that was made here last, unless another commit was made here after it.
    ///
    /// # Errors
    /// Store errors.
    pub fn last_compaction(&self) -> Result<Option<(CommitId, Timestamp)>> {
        let scope = ResolveScope::Principal(self.identity.principal("stemma")?);
        for id in self.store.resolve(&scope, self.clock.now(), TIES_MAX)? {
            let commit = self.store.commit(id)?;
            let compaction =
                commit.filter(|commit| matches!(commit.core.commit_type, CommitType::Compaction));
            if let Some(commit) = compaction {
                return Ok(Some((id, commit.core.created_at)));
            }
        }
        Ok(None)
    }
}
