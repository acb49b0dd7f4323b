//! Making the state of a ledger anew, also of a damaged one: what it was made from, and what was wrong on the way.
//!
//! Putting a backup in the place of a store is `replace`'s.

use std::io::ErrorKind;

use stemmata_model::{LedgerId, Note, NoteCode};
use stemmata_prompt::reduce::Reducer;
use stemmata_prompt::reduce::memory::MemoryReducer;
use stemmata_prompt::reduce::snapshot::StateSnapshotter;
use stemmata_store::{Finding, StoreError, StoreErrorKind};

use super::Home;
use crate::engine::Engine;
use crate::error::{EngineError, Refusal, Result};

/// The folder of version 1 in the data directory, and how many of its files are named at most.
const VERSION_ONE: &str = "contexts";
const VERSION_ONE_MAX: usize = 16;

/// What the state of a ledger was restored from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RestoredState {
    /// Where the project is; none for a cluster.
    pub root: Option<String>,
    /// The last event that can be read.
    pub last: u64,
    /// Whether the ledger is kept in files.
    pub in_files: bool,
    /// Each reducer; none where the ledger cannot be read past the damage.
    pub reducers: Vec<ReducedState>,
    /// Captured sessions that are in the memory.
    pub transcripts: u64,
    /// Events and entries that had to be read again.
    pub read: u64,
    /// Damaged lines that were set aside.
    pub quarantined: u64,
    /// Numbers of events that are lost.
    pub lost: Vec<String>,
    /// What was wrong, and what was done about it.
    pub notes: Vec<Note>,
}

/// What one reducer's state was restored from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReducedState {
    /// The reducer.
    pub name: &'static str,
    /// The last event that was in its saved state, 0 without one.
    pub saved_through: u64,
    /// Events after it that were folded again.
    pub replayed: u64,
}

impl Home {
    /// Makes the state of a ledger anew and saves it. Of one in files, `repair` sets damaged lines aside first; without it a
    /// line in the middle stops everything, and nothing is folded. Idempotent.
    ///
    /// # Errors
    /// `LedgerMissing`; `Refused` where there are no lines to set aside; store errors.
    pub fn restore_state(&self, ledger: &LedgerId, repair: bool) -> Result<RestoredState> {
        let engine = self.engine()?;
        match engine.log.ledger(ledger) {
            Ok(None) => return Err(StoreError::LedgerMissing(ledger.clone()).into()),
            Err(error) if error.kind() != StoreErrorKind::Corrupt => return Err(error.into()),
            Ok(Some(_)) | Err(_) => {}
        }
        let mut restored = RestoredState::default();
        if self.restore_files(ledger, repair, &mut restored)? {
            engine.fold_restored(ledger, &mut restored)?;
        }
        // What was met on the way is in the notes, once.
        drop(self.ledger_findings());
        Ok(restored)
    }

    /// Restores the files of a ledger that is kept in files. Says whether it can be read.
    fn restore_files(&self, ledger: &LedgerId, repair: bool, restored: &mut RestoredState) -> Result<bool> {
        let Some(files) = self.ledger_files()? else {
            if repair {
                let reason =
                    "this ledger is in the store; `stemma verify --repair` repairs a store".to_owned();
                return Err(EngineError::Refused { what: Refusal::RepairLedger, reasons: vec![reason] });
            }
            restored.notes.extend(self.version_one().iter().map(note));
            return Ok(true);
        };
        restored.in_files = true;
        let found = files.restore(ledger, self.options.clock.now())?;
        restored.notes.extend(found.findings.iter().map(note));
        if repair && found.ledger.is_some() {
            let mended = files.repair(ledger)?;
            restored.quarantined = mended.quarantined;
            restored.lost = mended.lost.iter().map(ToString::to_string).collect();
            restored.notes.extend(mended.findings.iter().map(note));
        }
        restored.notes.dedup();
        // A line in the middle stops every reader until somebody has it set aside.
        Ok(repair || !found.findings.iter().any(Finding::stops))
    }

    /// Names files of version 1 in the data directory, which ledgers in files name themselves: nothing reads them.
    fn version_one(&self) -> Vec<Finding> {
        let folder = self.dir.join(VERSION_ONE);
        let Ok(entries) = std::fs::read_dir(&folder) else { return Vec::new() };
        let is_one = |name: &str| {
            name.strip_prefix("context-").is_some_and(|rest| rest.strip_suffix(".json").is_some())
        };
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let mut names: Vec<String> = names.filter(|name| is_one(name)).collect();
        names.sort();
        names.truncate(VERSION_ONE_MAX);
        names.into_iter().map(|name| Finding::VersionOne { path: folder.join(name) }).collect()
    }
}

impl Engine {
    fn fold_restored(&self, ledger: &LedgerId, restored: &mut RestoredState) -> Result<()> {
        self.fold_saved::<MemoryReducer>(ledger, restored)?;
        self.fold_saved::<StateSnapshotter>(ledger, restored)?;
        let remembered = self.remember(ledger)?;
        restored.add(remembered.notes);
        (restored.transcripts, restored.read) = (remembered.transcripts, remembered.read);
        if let Some(known) = self.log.ledger(ledger)? {
            (restored.last, restored.root) = (known.last, known.root);
        }
        Ok(())
    }

    /// Folds what is after a reducer's saved state, and saves that.
    fn fold_saved<R: Reducer>(&self, ledger: &LedgerId, restored: &mut RestoredState) -> Result<()> {
        let folded = self.fold::<R>(ledger, None)?;
        match self.save_folded(ledger, &folded, true) {
            // What somebody may only read is told all the same.
            Err(error) if may_not_write(&error) => {
                let message = "nothing here may be written, so the state was not saved".to_owned();
                restored.add(vec![Note::new(NoteCode::Degraded, message)]);
            }
            saved => drop(saved?),
        }
        let (saved_through, replayed) = (folded.saved_through, folded.replayed);
        restored.reducers.push(ReducedState { name: R::NAME, saved_through, replayed });
        restored.add(folded.notes);
        Ok(())
    }
}

impl RestoredState {
    /// Adds notes, each once.
    fn add(&mut self, notes: Vec<Note>) {
        for note in notes {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
    }
}

fn note(finding: &Finding) -> Note {
    Note::new(NoteCode::Degraded, finding.to_string())
}

fn may_not_write(error: &EngineError) -> bool {
    match error {
        EngineError::Store(StoreError::ReadOnly { .. }) => true,
        EngineError::Store(StoreError::Io { source, .. }) => source.kind() == ErrorKind::PermissionDenied,
        _ => false,
    }
}
