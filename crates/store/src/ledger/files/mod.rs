//! Ledgers as folders of files that a person can read: one event a line (`docs/format/ledger-files.md`).
//!
//! The portable engine, one writer at a time. What several ledgers and a store's commits share is not here.

mod answer;
mod append;
mod catalog;
mod desk;
mod finding;
mod folder;
#[cfg(any(test, feature = "conformance"))]
mod foreign;
mod index;
mod line;
mod meta;
mod names;
mod repair;
mod restore;
mod rewrite;
mod scan;
mod seal;
mod snapshot;
mod states;
mod survey;
mod v2;

pub use finding::Finding;
#[cfg(any(test, feature = "conformance"))]
pub use foreign::check_ledger_bytes;
pub use line::IntegrityMode;
pub use repair::Repaired;
pub use restore::Restored;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use stemmata_model::{EventSeq, LedgerId, SessionId, Timestamp, Topic};

use super::{
    Append, Appended, EventKey, EventLog, EventPage, EventQuery, Keyed, Ledger, LedgerChange, MARKS_MAX,
    Places, Receipt, SavedState,
};
use crate::error::StoreError;
use crate::files::{Files, SystemFiles};
use crate::maintain::surroundings::refuse_network;
use crate::patience::Patience;
use crate::rules::checks::{self, check_append, check_change, check_keys, check_marks, check_query};
use answer::answer;
use desk::Desk;
use folder::{EVENTS, Folder, Hold, META, failed, stopped};
use meta::{Meta, MetaFault};
use names::FolderName;
use scan::{Damaged, Rest};
use states::Epoch;

/// The folder below a home that ledgers are in.
const FOLDER: &str = "contexts-v2";

/// The lock that marks are given under: no ledger's folder begins with a dot.
const MARKS_LOCK: &str = ".lock";

/// Ledgers whose catalogs are kept in memory.
const DESKS_MAX: usize = 64;

/// Findings that are kept for who asks.
const FINDINGS_MAX: usize = 256;

/// How long another process is waited for, unless somebody says otherwise.
const LOCK_WAIT: Duration = Duration::from_secs(10);

/// How a folder of ledgers is opened.
#[derive(Debug, Clone)]
pub struct FileLogOptions {
    /// How lines of new ledgers are protected; ledgers that are there keep their own way.
    pub integrity: IntegrityMode,
    /// Whether nothing is to be written: reads then take no lock that keeps anybody from reading.
    pub read_only: bool,
    /// How long other processes are waited for.
    pub patience: Patience,
    /// Where the files are.
    pub files: Arc<dyn Files>,
    /// Whether a network file system is no reason to refuse: only where nothing else ever opens the ledgers.
    pub allow_network: bool,
}

impl Default for FileLogOptions {
    fn default() -> Self {
        Self {
            integrity: IntegrityMode::default(),
            read_only: false,
            patience: Patience::each(LOCK_WAIT),
            files: Arc::new(SystemFiles),
            allow_network: false,
        }
    }
}

/// An [`EventLog`] of folders with files that people can read, search and copy.
///
/// - **One writer at a time** has a ledger, across processes; others wait for it. Readers wait while something is
///   made durable.
/// - A **damaged** line stops everything that would have to read past it: reads, appends and listings fail as
///   `Damaged` until [`FileLog::repair`] has set it aside. Nothing is skipped.
/// - Finding events by their **keys** reads every line once a process that the index told of.
/// - Finding a ledger by its **mark** looks at every ledger's `meta.json`.
/// - **Forgetting** takes the quarantine of the ledger along, whole. Folders that were set aside as unreadable are not
///   looked into: a person removes them.
#[derive(Debug)]
pub struct FileLog {
    root: PathBuf,
    options: FileLogOptions,
    desks: Mutex<HashMap<LedgerId, Arc<Desk>>>,
    notes: Notes,
    is_closed: AtomicBool,
}

/// What was found in passing.
#[derive(Debug, Default)]
struct Notes(Mutex<Vec<Finding>>);

impl Notes {
    fn note(&self, finding: Finding) {
        let mut notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if notes.len() < FINDINGS_MAX && !notes.contains(&finding) {
            notes.push(finding);
        }
    }
}

impl FileLog {
    /// Returns the folder of the ledgers below a home: what is appended to them changes files in it.
    pub fn folder_in(home: &Path) -> PathBuf {
        home.join(FOLDER)
    }

    /// Says whether ledgers were ever kept in files below a home.
    pub fn is_in(home: &Path) -> bool {
        Self::folder_in(home).symlink_metadata().is_ok_and(|metadata| metadata.is_dir())
    }

    /// Opens the ledgers in the folder `contexts-v2` below a home, which must be there. The folder is made by the first
    /// write.
    ///
    /// # Errors
    /// `Io` where the home cannot be looked at, `Network` where it lies on other machines' disks, `NotAStore` where a
    /// link has the folder's name.
    pub fn open(home: &Path, options: FileLogOptions) -> Result<Self, StoreError> {
        options.files.list(home).map_err(failed("opening", home))?;
        let root = home.join(FOLDER);
        if !options.allow_network {
            // Neither a lock nor the length of a file holds there for everybody.
            refuse_network(options.files.as_ref(), &root)?;
        }
        if options.files.is_link(&root).map_err(failed("opening", &root))? {
            return Err(folder::linked(&root));
        }
        Ok(Self {
            root,
            options,
            desks: Mutex::default(),
            notes: Notes::default(),
            is_closed: AtomicBool::new(false),
        })
    }

    /// Returns what was found in passing since the last call: ends that were cut off, derived files that were ignored.
    pub fn findings(&self) -> Vec<Finding> {
        std::mem::take(&mut *self.notes.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns a ledger as far as its lines can be read: one that is damaged keeps no other one from being listed. What it
    /// has after the damage is not counted, and that is noted.
    fn listed(&self, desk: &Desk) -> Result<Option<Ledger>, StoreError> {
        self.described(desk, |at| {
            self.notes.note(Finding::of_damaged(&desk.folder.path(EVENTS), at));
            Ok(())
        })
    }

    /// Returns what is known of a ledger; what is to be done where its lines are damaged is the caller's.
    fn described(
        &self,
        desk: &Desk,
        damaged: impl FnOnce(&Damaged) -> Result<(), StoreError>,
    ) -> Result<Option<Ledger>, StoreError> {
        let view = desk.reading(&self.notes)?;
        let Some(loaded) = &view.loaded else { return Ok(None) };
        if let Some(Rest::Damaged(at)) = &loaded.rest {
            damaged(at)?;
        }
        let (last, last_at) = (loaded.catalog.last(), loaded.catalog.last_at);
        Ok(desk.folder.meta()?.map(|meta| meta.ledger(last, last_at)))
    }

    /// Says whether something may be written now.
    fn writing(&self, operation: &'static str) -> Result<(), StoreError> {
        if self.is_closed.load(Ordering::Acquire) {
            return Err(StoreError::Closed { operation });
        }
        if self.options.read_only { Err(StoreError::ReadOnly { operation }) } else { Ok(()) }
    }

    fn desk(&self, id: &LedgerId) -> Arc<Desk> {
        let mut desks = self.desks.lock().unwrap_or_else(PoisonError::into_inner);
        if desks.len() >= DESKS_MAX && !desks.contains_key(id) {
            // Only those that nobody is at.
            desks.retain(|_, desk| Arc::strong_count(desk) > 1);
        }
        let folder = || self.folder(append::folder(&self.root, id));
        Arc::clone(desks.entry(id.clone()).or_insert_with(|| Arc::new(Desk::new(id.clone(), folder()))))
    }

    fn folder(&self, dir: PathBuf) -> Folder {
        Folder { files: Arc::clone(&self.options.files), dir, patience: self.options.patience.clone() }
    }

    /// Returns the ledgers that there are, by id, without looking at their events.
    fn ids(&self) -> Result<Vec<LedgerId>, StoreError> {
        let names = match self.options.files.list(&self.root) {
            Ok(names) => names,
            Err(error) if folder::is_missing(&error) => return Ok(Vec::new()),
            Err(error) => return Err(failed("listing", &self.root)(error)),
        };
        let mut ids = Vec::new();
        for name in names {
            match names::read(&name) {
                FolderName::Ledger(id) => ids.push(id),
                FolderName::Shortened => {
                    ids.extend(self.known(&self.folder(self.root.join(&name)))?.map(|meta| meta.id));
                }
                FolderName::Other => {}
            }
        }
        ids.sort();
        Ok(ids)
    }

    /// Reads what is known of a ledger; none where the folder is not one of ours, which is noted.
    fn known(&self, folder: &Folder) -> Result<Option<Meta>, StoreError> {
        if folder.is_link()? {
            self.notes.note(Finding::Linked { path: folder.dir.clone() });
            return Ok(None);
        }
        let read = folder.read_meta()?;
        if let Err(MetaFault::Misplaced(ledger)) = read {
            self.notes.note(Finding::Misplaced { path: folder.dir.clone(), ledger });
            return Ok(None);
        }
        match folder.meta_of(read) {
            Err(StoreError::TooNew { found, .. }) => {
                self.notes.note(Finding::OtherVersion { path: folder.path(META), version: found });
                Ok(None)
            }
            Err(StoreError::NotAStore { reason, .. }) => {
                self.notes.note(Finding::OtherProgram { path: folder.dir.clone(), reason });
                Ok(None)
            }
            known => known,
        }
    }

    /// Refuses marks that other ledgers have. One that cannot be read may have any: while there is one, nothing new is
    /// given away.
    fn check_taken(&self, change: &LedgerChange) -> Result<(), StoreError> {
        let own = self.known(&self.desk(&change.ledger).folder)?.map(|meta| meta.marks).unwrap_or_default();
        if change.marks.iter().all(|mark| own.contains(mark)) {
            return Ok(());
        }
        for ledger in self.ids()?.into_iter().filter(|other| *other != change.ledger) {
            let known = self.known(&self.folder(append::folder(&self.root, &ledger)))?;
            let taken = known.and_then(|meta| change.marks.iter().find(|mark| meta.marks.contains(mark)));
            if let Some(mark) = taken {
                return Err(StoreError::MarkTaken { mark: mark.clone(), ledger });
            }
        }
        Ok(())
    }

    fn apply_change(&self, desk: &Desk, change: LedgerChange) -> Result<(), StoreError> {
        self.make_folder(desk)?;
        let alone = desk.alone(&self.notes)?;
        let found = desk.folder.meta()?;
        let is_new = found.is_none();
        let mut meta =
            found.unwrap_or_else(|| Meta::new(desk.id.clone(), change.now, self.options.integrity));
        let before = meta.clone();
        checks::change(change, &mut meta.marks, (&mut meta.root, &mut meta.compacted_at))?;
        if is_new {
            return self.make_ledger(&alone, &meta);
        }
        // Whoever wrote it may have ended before its name was durable.
        if meta == before { desk.folder.sync() } else { desk.folder.write(META, &meta.encode()) }
    }
}

impl EventLog for FileLog {
    fn append(&self, append: Append) -> Result<Appended, StoreError> {
        check_append(&append)?;
        self.writing("appending events")?;
        self.queue(&self.desk(&append.ledger), append)
    }

    fn page(&self, ledger: &LedgerId, query: &EventQuery) -> Result<EventPage, StoreError> {
        check_query(query)?;
        let desk = self.desk(ledger);
        let view = desk.reading(&self.notes)?;
        answer(&view, &desk, query)
    }

    fn keyed(&self, ledger: &LedgerId, keys: &[EventKey], now: Timestamp) -> Result<Vec<Keyed>, StoreError> {
        check_keys(keys.len())?;
        let desk = self.desk(ledger);
        let mut view = desk.reading(&self.notes)?;
        let Some(loaded) = &mut view.loaded else { return Ok(Vec::new()) };
        loaded.learn_keys(&desk.folder)?;
        let known = keys.iter().filter_map(|key| loaded.catalog.keys.get(key).copied());
        Ok(known.filter(|keyed| keyed.holds(now)).collect())
    }

    fn ledger(&self, id: &LedgerId) -> Result<Option<Ledger>, StoreError> {
        let desk = self.desk(id);
        self.described(&desk, |at| Err(stopped(&desk.folder.path(EVENTS), at)))
    }

    fn ledgers(&self, after: Option<&LedgerId>, limit: usize) -> Result<Vec<Ledger>, StoreError> {
        let mut ledgers = Vec::new();
        for id in self.ids()?.iter().filter(|id| after.is_none_or(|after| *id > after)) {
            if ledgers.len() >= limit {
                break;
            }
            let desk = self.desk(id);
            match self.known(&desk.folder) {
                Ok(None) => {}
                Ok(Some(_)) => ledgers.extend(self.listed(&desk)?),
                // What it is known by cannot be read. That it is there can be told.
                Err(error @ StoreError::LedgerDamaged { .. }) => {
                    self.note_unread(&error);
                    let meta = Meta::new(id.clone(), Timestamp::EPOCH, self.options.integrity);
                    ledgers.push(meta.ledger(0, None));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(ledgers)
    }

    fn ledger_marked(&self, mark: &str) -> Result<Option<LedgerId>, StoreError> {
        // One that cannot be read may have the mark, unless another has it: a mark is of one ledger only.
        let mut unread = None;
        for id in self.ids()? {
            match self.known(&self.desk(&id).folder) {
                Ok(Some(meta)) if meta.marks.iter().any(|own| own == mark) => {
                    if let Some(error) = &unread {
                        self.note_unread(error);
                    }
                    return Ok(Some(id));
                }
                Ok(_) => {}
                Err(error @ StoreError::LedgerDamaged { .. }) => unread = unread.or(Some(error)),
                Err(error) => return Err(error),
            }
        }
        unread.map_or(Ok(None), Err)
    }

    fn change_ledger(&self, change: LedgerChange) -> Result<(), StoreError> {
        check_change(&change)?;
        self.writing("changing a ledger")?;
        let desk = self.desk(&change.ledger);
        if change.marks.is_empty() {
            return self.apply_change(&desk, change);
        }
        // More than a ledger may have at all: refused before a folder is made for it.
        check_marks(change.marks.len().min(MARKS_MAX + 1))?;
        self.make_root()?;
        let all = self.marks_lock()?;
        self.check_taken(&change)?;
        let done = self.apply_change(&desk, change);
        drop(all);
        done
    }

    fn receipt(&self, ledger: &LedgerId, topic: &Topic) -> Result<Option<Receipt>, StoreError> {
        let desk = self.desk(ledger);
        let view = desk.reading(&self.notes)?;
        Ok(view.loaded.as_ref().and_then(|loaded| loaded.catalog.receipts.get(topic).copied()))
    }

    fn trim(&self, ledger: &LedgerId, topic: &Topic, through: EventSeq) -> Result<u64, StoreError> {
        self.writing("trimming a ledger")?;
        self.trim_ledger(&self.desk(ledger), topic, through)
    }

    fn forget_events(&self, session: &SessionId) -> Result<u64, StoreError> {
        self.writing("forgetting events")?;
        let (mut forgotten, mut failed) = (0, None);
        for id in self.ids()? {
            let desk = self.desk(&id);
            let known = self.known(&desk.folder);
            match known.and_then(|known| known.map_or(Ok(0), |_| self.forget_in(&desk, session))) {
                Ok(count) => forgotten += count,
                // The others forget even so.
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        failed.map_or(Ok(forgotten), Err)
    }

    fn forget_places(&self, ledger: &LedgerId, places: &Places) -> Result<u64, StoreError> {
        self.writing("forgetting events")?;
        let desk = self.desk(ledger);
        if self.known(&desk.folder)?.is_some() { self.forget_at(&desk, places) } else { Ok(0) }
    }

    fn save_states(&self, ledger: &LedgerId, states: Vec<SavedState>) -> Result<(), StoreError> {
        self.save(ledger, Epoch::Any, states)
    }

    fn save_folded(&self, ledger: &LedgerId, epoch: u64, states: Vec<SavedState>) -> Result<(), StoreError> {
        self.save(ledger, Epoch::Is(epoch), states)
    }

    fn saved_states(&self, ledger: &LedgerId, prefix: &str) -> Result<Vec<SavedState>, StoreError> {
        // The file is replaced in one step: no lock is needed to read it whole.
        let states = self.states(&self.desk(ledger).folder)?;
        Ok(states.into_values().filter(|state| state.name.starts_with(prefix)).collect())
    }

    fn drop_states(&self, ledger: &LedgerId, prefix: &str) -> Result<(), StoreError> {
        self.writing("dropping states")?;
        let dropped = self.change_states(&self.desk(ledger), Epoch::Ends, |kept| {
            let before = kept.len();
            kept.retain(|name, _| !name.starts_with(prefix));
            kept.len() != before
        });
        dropped.map(drop)
    }

    fn close(&self) -> Result<(), StoreError> {
        if self.is_closed.swap(true, Ordering::AcqRel) || self.options.read_only {
            return Ok(());
        }
        let desks: Vec<Arc<Desk>> = self.desks_now().values().map(Arc::clone).collect();
        for desk in desks {
            let is_behind =
                desk.view().loaded.as_ref().is_some_and(|loaded| loaded.indexed < loaded.catalog.len());
            // What others wrote meanwhile does not matter: an index tells how far it goes.
            if is_behind && let Ok(_lock) = desk.folder.lock(Hold::Alone) {
                rewrite::write_index(&desk);
            }
        }
        Ok(())
    }
}

impl FileLog {
    /// Notes a ledger that was passed over.
    fn note_unread(&self, error: &StoreError) {
        if let StoreError::LedgerDamaged { path, finding } = error {
            self.notes.note(Finding::PassedOver { path: PathBuf::from(path), reason: finding.clone() });
        }
    }

    fn desks_now(&self) -> MutexGuard<'_, HashMap<LedgerId, Arc<Desk>>> {
        self.desks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the lock that marks are given under.
    fn marks_lock(&self) -> Result<Box<dyn crate::files::FileLock>, StoreError> {
        let path = self.root.join(MARKS_LOCK);
        let mut waiting = folder::Waiting::new(&self.options.patience);
        loop {
            if let Some(lock) = self.options.files.lock(&path).map_err(failed("locking", &path))? {
                return Ok(lock);
            }
            waiting.wait()?;
        }
    }
}
