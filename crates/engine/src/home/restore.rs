//! Making the state of a ledger anew, also of a damaged one: what it was made from, and what was wrong on the way.
//!
//! Putting a backup in the place of a store is `replace`'s.

use std::io::ErrorKind;

use stemmata_api::v1::{RestoredLedger, RestoredReducer};
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

impl Home {
    /// Makes the state of a ledger anew and saves it. Of one in files, `repair` sets damaged lines aside first; without it a
    /// line in the middle stops everything, and nothing is folded. Idempotent.
    ///
    /// # Errors
    /// `LedgerMissing`; `Refused` where there are no lines to set aside; store errors.
    pub fn restore_state(&self, ledger: &LedgerId, repair: bool) -> Result<RestoredLedger> {
        let engine = self.engine()?;
        match engine.log.ledger(ledger) {
            Ok(None) => return Err(StoreError::LedgerMissing(ledger.clone()).into()),
            Err(error) if error.kind() != StoreErrorKind::Corrupt => return Err(error.into()),
            Ok(Some(_)) | Err(_) => {}
        }
        let mut restored = RestoredLedger {
            ledger: ledger.clone(),
            root: None,
            last: "0".to_owned(),
            engine: "store".to_owned(),
            reducers: Vec::new(),
            transcripts: 0,
            read: 0,
            quarantined: 0,
            lost: Vec::new(),
            notes: Vec::new(),
        };
        if self.restore_files(ledger, repair, &mut restored)? {
            engine.fold_restored(ledger, &mut restored)?;
        }
        // What was met on the way is in the notes, once.
        drop(self.ledger_findings());
        Ok(restored)
    }

    /// Restores the files of a ledger that is kept in files. Says whether it can be read.
    fn restore_files(&self, ledger: &LedgerId, repair: bool, restored: &mut RestoredLedger) -> Result<bool> {
        let Some(files) = self.ledger_files()? else {
            if repair {
                let reason =
                    "this ledger is in the store; `stemma verify --repair` repairs a store".to_owned();
                return Err(EngineError::Refused { what: Refusal::RepairLedger, reasons: vec![reason] });
            }
            restored.notes.extend(self.version_one().iter().map(note));
            return Ok(true);
        };
        "files".clone_into(&mut restored.engine);
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
    fn fold_restored(&self, ledger: &LedgerId, restored: &mut RestoredLedger) -> Result<()> {
        self.fold_saved::<MemoryReducer>(ledger, restored)?;
        self.fold_saved::<StateSnapshotter>(ledger, restored)?;
        let remembered = self.remember(ledger)?;
        add(restored, remembered.notes);
        (restored.transcripts, restored.read) = (remembered.transcripts, remembered.read);
        if let Some(known) = self.log.ledger(ledger)? {
            (restored.last, restored.root) = (known.last.to_string(), known.root);
        }
        Ok(())
    }

    /// Folds what is after a reducer's saved state, and saves that.
    fn fold_saved<R: Reducer>(&self, ledger: &LedgerId, restored: &mut RestoredLedger) -> Result<()> {
        let folded = self.fold::<R>(ledger, None)?;
        match self.save_folded(ledger, &folded, true) {
            // What somebody may only read is told all the same.
            Err(error) if may_not_write(&error) => {
                let message = "nothing here may be written, so the state was not saved".to_owned();
                add(restored, vec![Note::new(NoteCode::Degraded, message)]);
            }
            saved => drop(saved?),
        }
        let (name, saved_through) = (R::NAME.to_owned(), folded.saved_through.to_string());
        restored.reducers.push(RestoredReducer { name, saved_through, replayed: folded.replayed });
        add(restored, folded.notes);
        Ok(())
    }
}

/// Adds notes, each once.
fn add(restored: &mut RestoredLedger, notes: Vec<Note>) {
    for note in notes {
        if !restored.notes.contains(&note) {
            restored.notes.push(note);
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
