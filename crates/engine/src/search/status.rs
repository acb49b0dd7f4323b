//! The state and the size of the index.

use stemmata_prompt::search::TERMS_VERSION;
use stemmata_store::IndexError;

use super::settle::SettleError;
use super::words::BEHIND_COUNTED;
use crate::engine::Engine;
use crate::error::Result;

/// The state of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IndexState {
    /// It has everything that the store has.
    Whole,
    /// It does not have the newest commits.
    Behind,
    /// There is no index.
    #[default]
    Missing,
    /// It cannot be read. The next search rebuilds it.
    Damaged,
    /// An older version made it. The next search rebuilds it.
    Older,
    /// A newer version made it.
    Newer,
}

impl IndexState {
    /// Returns the name used in JSON output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::Behind => "behind",
            Self::Missing => "missing",
            Self::Damaged => "damaged",
            Self::Older => "older",
            Self::Newer => "newer",
        }
    }
}

/// The state and the size of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IndexReport {
    /// The state.
    pub state: IndexState,
    /// Entries and events that it holds.
    pub entries: u64,
    /// Bytes of its files.
    pub bytes: u64,
    /// Its segments, each sorted by term.
    pub segments: u64,
    /// Commits that it does not have yet, counted up to 10,000.
    pub behind_commits: u64,
    /// Commits that are not searched, because they cannot be read, were forgotten or are too long.
    pub skipped_commits: u64,
}

impl Engine {
    /// Returns the state and the size of the index. Changes nothing.
    ///
    /// # Errors
    /// Store errors.
    pub fn index_report(&self) -> Result<IndexReport> {
        if !self.index.is_there() {
            let behind_commits = self.store.stored_after(None, BEHIND_COUNTED)?.len() as u64;
            return Ok(IndexReport { behind_commits, ..IndexReport::default() });
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
                Ok(IndexReport { state, bytes: self.index_bytes(), ..IndexReport::default() })
            }
        }
    }

    fn reported(&self) -> Result<IndexReport, SettleError> {
        let Some(index) = self.index.index(self.store.identity()?.store_id)? else {
            return Ok(IndexReport::default());
        };
        let (meta, usage) = (index.meta()?, index.usage()?);
        let after = meta.watermark.through.map(|(at, _)| at);
        let behind_commits = self.store.stored_after(after, BEHIND_COUNTED)?.len() as u64;
        let state = match behind_commits {
            _ if meta.terms != TERMS_VERSION => IndexState::Older,
            0 => IndexState::Whole,
            _ => IndexState::Behind,
        };
        Ok(IndexReport {
            state,
            entries: usage.entries,
            bytes: usage.bytes,
            segments: usage.segments,
            behind_commits,
            skipped_commits: index.reader()?.skipped()?,
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
