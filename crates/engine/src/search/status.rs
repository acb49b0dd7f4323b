//! The state and the size of the index.

use stemmata_api::v1::{IndexState, IndexStatus};
use stemmata_prompt::search::TERMS_VERSION;
use stemmata_store::IndexError;

use super::settle::SettleError;
use super::words::BEHIND_COUNTED;
use crate::engine::Engine;
use crate::error::Result;

/// What is said of no index.
const MISSING: IndexStatus = IndexStatus {
    state: IndexState::Missing,
    entries: 0,
    bytes: 0,
    segments: 0,
    behind_commits: 0,
    skipped_commits: 0,
    notes: Vec::new(),
};

impl Engine {
    /// Returns the state and the size of the index. Changes nothing.
    ///
    /// # Errors
    /// Store errors.
    pub fn index_report(&self) -> Result<IndexStatus> {
        if !self.index.is_there() {
            let behind_commits = self.store.stored_after(None, BEHIND_COUNTED)?.len() as u64;
            return Ok(IndexStatus { behind_commits, ..MISSING });
        }
        match self.reported() {
            Ok(report) => Ok(report),
            Err(SettleError::Engine(error)) => Err(error),
            Err(SettleError::Index(error)) => {
                let state = match error {
                    IndexError::Newer { .. } => IndexState::Newer,
                    IndexError::OtherStore | IndexError::Older { .. } => IndexState::Older,
                    _ => IndexState::Damaged,
                };
                Ok(IndexStatus { state, bytes: self.index_bytes(), ..MISSING })
            }
        }
    }

    fn reported(&self) -> Result<IndexStatus, SettleError> {
        let Some(index) = self.index.index(self.store.identity()?.store_id)? else {
            return Ok(MISSING);
        };
        let (meta, usage) = (index.meta()?, index.usage()?);
        let after = meta.watermark.through.map(|(at, _)| at);
        let behind_commits = self.store.stored_after(after, BEHIND_COUNTED)?.len() as u64;
        let state = match behind_commits {
            _ if meta.terms != TERMS_VERSION => IndexState::Older,
            0 => IndexState::Whole,
            _ => IndexState::Behind,
        };
        Ok(IndexStatus {
            state,
            entries: usage.entries,
            bytes: usage.bytes,
            segments: usage.segments,
            behind_commits,
            skipped_commits: index.reader()?.skipped()?,
            notes: Vec::new(),
        })
    }

    /// Returns the bytes of all files of the index, with those of damaged indexes that were set aside; 0 without an index.
    pub fn index_bytes(&self) -> u64 {
        let mut folders: Vec<std::path::PathBuf> = self.index.dir().map(Into::into).into_iter().collect();
        let mut bytes = 0_u64;
        // The index's folder, and the folders in it of indexes that were set aside.
        while let Some(folder) = folders.pop() {
            let Ok(files) = std::fs::read_dir(folder) else { continue };
            for file in files.flatten() {
                match file.metadata() {
                    Ok(found) if found.is_dir() => folders.push(file.path()),
                    Ok(found) => bytes = bytes.saturating_add(found.len()),
                    Err(_) => {}
                }
            }
        }
        bytes
    }
}
