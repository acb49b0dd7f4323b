//! Imports many transcripts: in parallel, incrementally, one failure at a time.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};

use stemmata_store::StoreError;

use crate::capture::captured::Captured;
use crate::capture::homes::{FoundFile, find};
use crate::capture::options::CaptureOptions;
use crate::capture::policy::HeldBack;
use crate::engine::Engine;
use crate::error::{EngineError, Result};

/// Threads that read transcripts at most: the store has one writer, which more readers would only queue at.
const THREADS_MAX: usize = 8;

/// Told after each file.
pub struct ImportProgress<'a> {
    /// The file.
    pub path: &'a Path,
    /// Files done, this one included.
    pub done: usize,
    /// Files in all.
    pub files: usize,
    /// Bytes of this file.
    pub bytes: u64,
}

/// A file that could not be imported.
#[derive(Debug)]
pub struct ImportFailure {
    /// The file.
    pub path: PathBuf,
    /// Why.
    pub error: EngineError,
}

/// A session that was imported.
#[derive(Debug)]
pub struct ImportedSession {
    /// The file.
    pub path: PathBuf,
    /// What was found and done.
    pub captured: Captured,
}

/// What an import did.
#[derive(Debug, Default)]
pub struct ImportReport {
    /// Sessions, in the order of their paths.
    pub sessions: Vec<ImportedSession>,
    /// Files below named folders with a transcript's name that are none of a known format, or empty.
    pub skipped: Vec<PathBuf>,
    /// Files below named folders that are no transcripts by their names, nor files of one.
    pub others: Vec<PathBuf>,
    /// Files below named folders that somebody does not want captured, and why.
    pub held_back: Vec<(PathBuf, HeldBack)>,
    /// Files that could not be imported.
    pub failures: Vec<ImportFailure>,
}

impl Engine {
    /// Imports files, and `.jsonl` files below folders. Goes on after a file that fails, unless it is the store that
    /// takes nothing more: then all that is left fails for the same reason, without another wait for each.
    ///
    /// # Errors
    /// Store errors; everything about single files and folders is in the report.
    pub fn import(
        &self,
        paths: &[PathBuf],
        options: &CaptureOptions,
        threads: usize,
        progress: &(dyn Fn(&ImportProgress<'_>) + Sync),
    ) -> Result<ImportReport> {
        let was_empty = self.store.stored_after(None, 1)?.is_empty();
        let found = find(paths);
        let mut files = found.files;
        // The largest first, so that no thread is left alone with it at the end.
        files.sort_by_key(|file| std::cmp::Reverse(file.bytes));
        let next = AtomicUsize::new(0);
        let done = AtomicUsize::new(0);
        let report = Mutex::new(ImportReport::default());
        let stop: OnceLock<StoreStop> = OnceLock::new();
        // Captures a file where the store takes anything. Returns whether the file waits for what it was converted from.
        let is_waiting = |file: &FoundFile, may_wait: bool| {
            let result = match stop.get() {
                Some(stop) => Err(stop.error()),
                None => self.capture_or_wait(&file.path, options, may_wait),
            };
            if may_wait && matches!(result, Err(EngineError::Store(StoreError::CommitMissing(_)))) {
                return true;
            }
            if let Some(first) = result.as_ref().err().and_then(StoreStop::of) {
                stop.get_or_init(|| first);
            }
            let number = done.fetch_add(1, Ordering::Relaxed) + 1;
            let (path, bytes) = (&file.path, file.bytes);
            progress(&ImportProgress { path, done: number, files: files.len(), bytes });
            if let Ok(mut report) = report.lock() {
                report.add(file, result);
            }
            false
        };
        let waiting: Mutex<Vec<&FoundFile>> = Mutex::default();
        std::thread::scope(|scope| {
            for _ in 0..threads.clamp(1, THREADS_MAX).min(files.len().max(1)) {
                scope.spawn(|| {
                    while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                        if is_waiting(file, true)
                            && let Ok(mut waiting) = waiting.lock()
                        {
                            waiting.push(file);
                        }
                    }
                });
            }
        });
        let mut waiting = waiting.into_inner().unwrap_or_default();
        let mut may_wait = true;
        while !waiting.is_empty() {
            let before = waiting.len();
            waiting.retain(|file| is_waiting(file, may_wait));
            // A conversion may have been made from another one; if none of them came, what they wait for is not here.
            may_wait = waiting.len() < before;
        }
        let mut report = report.into_inner().unwrap_or_default();
        report.failures.extend(found.failures.into_iter().map(|(path, error)| ImportFailure { path, error }));
        report.others = found.others;
        report.sort();
        if stop.get().is_none() {
            self.link_subagents(&report)?;
            self.mend_times_to_come()?;
            self.find_overwritten()?;
            self.derive_anew(was_empty)?;
            self.learn_folders_of_old(was_empty)?;
            // Earlier versions knew a transcript that was moved twice.
            for imported in &report.sessions {
                self.leave_namesakes(&imported.captured.session)?;
            }
        }
        Ok(report)
    }
}

/// Why a store takes nothing more.
#[derive(Debug, Clone, Copy)]
enum StoreStop {
    Locked { waited_ms: u64 },
    Full { operation: &'static str },
    ReadOnly { operation: &'static str },
}

impl StoreStop {
    const fn of(error: &EngineError) -> Option<Self> {
        match error {
            EngineError::Store(StoreError::Locked { waited_ms }) => {
                Some(Self::Locked { waited_ms: *waited_ms })
            }
            EngineError::Store(StoreError::Full { operation }) => Some(Self::Full { operation }),
            EngineError::Store(StoreError::ReadOnly { operation }) => Some(Self::ReadOnly { operation }),
            _ => None,
        }
    }

    const fn error(self) -> EngineError {
        EngineError::Store(match self {
            Self::Locked { waited_ms } => StoreError::Locked { waited_ms },
            Self::Full { operation } => StoreError::Full { operation },
            Self::ReadOnly { operation } => StoreError::ReadOnly { operation },
        })
    }
}

impl ImportReport {
    /// Returns how many chains were found to be copies of others: new ones, and old ones whose original came now.
    pub fn copies(&self) -> usize {
        let links = self.sessions.iter().flat_map(|imported| &imported.captured.copies);
        links.map(|link| link.from).collect::<std::collections::HashSet<_>>().len()
    }

    fn sort(&mut self) {
        self.sessions.sort_by(|left, right| left.path.cmp(&right.path));
        self.skipped.sort();
        self.held_back.sort_by(|left, right| left.0.cmp(&right.0));
        self.failures.sort_by(|left, right| left.path.cmp(&right.path));
    }

    fn add(&mut self, file: &FoundFile, result: Result<Captured>) {
        match result {
            Ok(captured) => self.sessions.push(ImportedSession { path: file.path.clone(), captured }),
            Err(EngineError::NotATranscript { .. }) if !file.is_named => self.skipped.push(file.path.clone()),
            // The failure of its database counts it.
            Err(EngineError::UnknownSchema { .. }) if !file.is_named => {}
            Err(EngineError::HeldBack { path, reason }) if !file.is_named => {
                self.held_back.push((path, reason));
            }
            Err(error) => self.failures.push(ImportFailure { path: file.path.clone(), error }),
        }
    }
}
