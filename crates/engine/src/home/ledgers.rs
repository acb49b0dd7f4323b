//! The ledgers of a data directory that are kept in files: in use, or left from when they were.

use std::path::PathBuf;
use std::sync::Arc;

use stemmata_store::{FileLog, FileLogOptions, Finding, IntegrityMode};

use super::Home;
use crate::error::Result;
use crate::settings::LedgerPlace;

impl Home {
    /// Returns the ledgers in files, where they are kept so.
    ///
    /// # Errors
    /// Store errors.
    pub fn ledger_files(&self) -> Result<Option<&Arc<FileLog>>> {
        match self.options.settings.ledgers {
            LedgerPlace::Store => Ok(None),
            LedgerPlace::Files { integrity } => {
                self.opened_files(integrity, self.options.settings.allows_network)
            }
        }
    }

    /// Returns the ledgers in files that are left where they are kept in the store now: what is forgotten goes there, too.
    pub(super) fn ledger_files_beside(&self) -> Result<Option<&Arc<FileLog>>> {
        match self.options.settings.ledgers {
            LedgerPlace::Store if FileLog::is_in(&self.dir) => {
                // Wherever it lies: nothing is appended to it.
                self.opened_files(IntegrityMode::default(), true)
            }
            LedgerPlace::Store | LedgerPlace::Files { .. } => Ok(None),
        }
    }

    fn opened_files(&self, integrity: IntegrityMode, allow_network: bool) -> Result<Option<&Arc<FileLog>>> {
        if self.ledgers.get().is_none() {
            let options = FileLogOptions {
                integrity,
                patience: self.patience(),
                allow_network,
                ..FileLogOptions::default()
            };
            let _raced = self.ledgers.set(Arc::new(FileLog::open(&self.dir, options)?));
        }
        Ok(self.ledgers.get())
    }

    /// Returns the folders whose files change when another process commits or appends, each with whether all below it counts.
    pub fn changing_folders(&self) -> Vec<(PathBuf, bool)> {
        let mut folders = vec![(self.store_dir(), false)];
        if let LedgerPlace::Files { .. } = self.options.settings.ledgers
            && FileLog::is_in(&self.dir)
        {
            folders.push((FileLog::folder_in(&self.dir), true));
        }
        folders
    }

    /// Returns what was found in ledgers in files since the last call: a write that did not finish, files that were passed
    /// over.
    pub fn ledger_findings(&self) -> Vec<Finding> {
        self.ledgers.get().map(|files| files.findings()).unwrap_or_default()
    }
}
