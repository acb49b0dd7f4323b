//! One ledger as one process sees it: its catalog, kept up to date with what others write, and who may write.
//!
//! What is written is `append`'s and `rewrite`'s.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use stemmata_model::LedgerId;

use super::Notes;
use super::append::Ticket;
use super::catalog::Catalog;
use super::finding::Finding;
use super::folder::{EVENTS, Folder, Held, Hold, INDEX, Waiting, damaged, failed, stopped};
use super::index;
use super::line::{self, IntegrityMode, Record, decode, root_link};
use super::meta::Meta;
use super::scan::{Damaged, Fault, Rest, scan};
use crate::error::StoreError;
use crate::files::{NewFile, OpenFile};

/// A ledger.
#[derive(Debug)]
pub(super) struct Desk {
    pub(super) id: LedgerId,
    pub(super) folder: Folder,
    view: Mutex<View>,
    pub(super) queue: Mutex<Queue>,
    pub(super) turn: Condvar,
}

/// Appends of threads that wait.
#[derive(Debug, Default)]
pub(super) struct Queue {
    pub(super) waiting: VecDeque<Arc<Ticket>>,
    /// Whether a thread is writing for others.
    pub(super) is_busy: bool,
}

/// What is known of the file.
#[derive(Debug, Default)]
pub(super) struct View {
    /// Whether this process has the lock alone: then nobody else changes anything, and the catalog is right.
    is_alone: bool,
    /// Bytes that the file has to keep without need before it is written anew: more after that failed.
    pub(super) waste_min: u64,
    pub(super) loaded: Option<Loaded>,
}

/// A file that was read.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) file: Arc<dyn OpenFile>,
    pub(super) mode: IntegrityMode,
    pub(super) generation: u64,
    pub(super) catalog: Catalog,
    pub(super) rest: Option<Rest>,
    /// Bytes when it was looked at last.
    pub(super) length: u64,
    /// Events that the index has.
    pub(super) indexed: usize,
    /// Whether there is an index that does not fit. It is taken away before the file grows, lest it fit by then.
    pub(super) is_index_wrong: bool,
    /// The greatest number that other files say was durable.
    pub(super) proven: u64,
    /// The file, open for writing.
    pub(super) pen: Option<Box<dyn NewFile>>,
}

/// The lock of a ledger, had alone.
#[derive(Debug)]
pub(super) struct Alone<'a> {
    pub(super) desk: &'a Desk,
    _lock: Held,
}

impl Drop for Alone<'_> {
    fn drop(&mut self) {
        // Before the lock goes: from then on others may write.
        self.desk.view().is_alone = false;
    }
}

impl Desk {
    pub(super) fn new(id: LedgerId, folder: Folder) -> Self {
        Self { id, folder, view: Mutex::default(), queue: Mutex::default(), turn: Condvar::new() }
    }

    pub(super) fn view(&self) -> MutexGuard<'_, View> {
        self.view.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the ledger as it is now, for reading.
    pub(super) fn reading(&self, notes: &Notes) -> Result<MutexGuard<'_, View>, StoreError> {
        let mut waiting = Waiting::new(&self.folder.patience);
        loop {
            let mut view = self.view();
            // While this process has the lock alone, what it published is all there is.
            if view.is_alone {
                return Ok(view);
            }
            if let Some(_lock) = self.folder.try_lock(Hold::Shared)? {
                self.refresh(&mut view, notes)?;
                return Ok(view);
            }
            // The view is let go of while waiting: who has the lock may need it.
            drop(view);
            waiting.wait()?;
        }
    }

    /// Takes the ledger for writing: what a dead writer left half done is cut off.
    pub(super) fn alone(&self, notes: &Notes) -> Result<Alone<'_>, StoreError> {
        let lock = self.folder.lock(Hold::Alone)?;
        let mut view = self.view();
        if self.refresh(&mut view, notes)? {
            self.mend(&mut view, notes)?;
        }
        view.is_alone = true;
        Ok(Alone { desk: self, _lock: lock })
    }

    /// Takes the ledger without looking at it.
    pub(super) fn alone_unseen(&self) -> Result<Alone<'_>, StoreError> {
        let lock = self.folder.lock(Hold::Alone)?;
        self.view().lose();
        Ok(Alone { desk: self, _lock: lock })
    }

    /// Cuts off a torn end.
    pub(super) fn mend(&self, view: &mut View, notes: &Notes) -> Result<(), StoreError> {
        let Some(loaded) = &mut view.loaded else { return Ok(()) };
        let path = self.folder.path(EVENTS);
        match &loaded.rest {
            None => Ok(()),
            Some(Rest::Damaged(at)) => Err(stopped(&path, at)),
            Some(Rest::Torn(torn)) => {
                let mut pen = self.folder.files.extend(&path).map_err(failed("opening", &path))?;
                // Synced before anything comes after it: else a power cut could mix the two.
                pen.cut(torn.byte).and_then(|()| pen.sync()).map_err(failed("cutting", &path))?;
                self.folder.sweep()?;
                notes.note(Finding::of_torn(&path, torn));
                (loaded.length, loaded.rest) = (torn.byte, None);
                Ok(())
            }
        }
    }

    /// Looks at what is new; false where there is no ledger. Only with the lock, or where nobody ever wrote.
    pub(super) fn refresh(&self, view: &mut View, notes: &Notes) -> Result<bool, StoreError> {
        if let Some(loaded) = &mut view.loaded
            && self.is_same(loaded)?
        {
            let during = failed("reading", &self.folder.path(EVENTS));
            let length = loaded.file.length().map_err(&during)?;
            if length == loaded.length && loaded.rest.is_none() {
                return Ok(true);
            }
            if length >= loaded.catalog.end() {
                loaded.read_on().map_err(during)?;
                return Ok(true);
            }
        }
        view.loaded = None;
        let Some(meta) = self.folder.meta()? else { return Ok(false) };
        view.loaded = Some(self.load(&meta, notes)?);
        Ok(true)
    }

    fn is_same(&self, loaded: &Loaded) -> Result<bool, StoreError> {
        let path = self.folder.path(EVENTS);
        match loaded.file.is_at(&path) {
            Ok(Some(same)) => Ok(same),
            Ok(None) => Ok(self.folder.meta()?.is_some_and(|meta| meta.generation == loaded.generation)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(failed("looking at", &path)(error)),
        }
    }

    fn load(&self, meta: &Meta, notes: &Notes) -> Result<Loaded, StoreError> {
        let path = self.folder.path(EVENTS);
        let during = failed("reading", &path);
        let Some(file) = self.folder.open(EVENTS)? else {
            return Err(damaged(&path, "it is missing".to_owned()));
        };
        let proven = self.folder.proven()?;
        let mut loaded = Loaded { proven, ..Loaded::new(&self.id, file, meta) };
        let length = loaded.file.length().map_err(&during)?;
        let read = self.folder.read(INDEX, index::INDEX_BYTES_MAX)?;
        let is_there = read.is_some();
        if let Some(catalog) = self.indexed(&loaded, length, read, notes) {
            loaded.indexed = catalog.len();
            loaded.catalog = catalog;
            loaded.read_on().map_err(&during)?;
            if !matches!(loaded.rest, Some(Rest::Damaged(_))) && self.is_last_there(&loaded) {
                return Ok(loaded);
            }
            // The index may be what is wrong.
            loaded = Loaded { proven, ..Loaded::new(&self.id, loaded.file, meta) };
        }
        loaded.is_index_wrong = is_there;
        loaded.read_on().map_err(during)?;
        Ok(loaded)
    }

    fn indexed(
        &self,
        loaded: &Loaded,
        length: u64,
        read: Option<Result<Vec<u8>, String>>,
        notes: &Notes,
    ) -> Option<Catalog> {
        let read =
            read?.and_then(|bytes| index::decode(&bytes, loaded.catalog.clone(), loaded.generation, length));
        read.unwrap_or_else(|reason| {
            notes.note(Finding::IndexUnreadable { path: self.folder.path(INDEX), reason });
            None
        })
    }

    /// Says whether the last event that an index tells of stands where it says.
    fn is_last_there(&self, loaded: &Loaded) -> bool {
        let last = loaded.indexed.checked_sub(1);
        last.is_none_or(|last| loaded.record(last, &self.folder).is_ok())
    }
}

impl View {
    /// Forgets what is known of the file: whoever wants it waits for the lock and reads it anew.
    pub(super) fn lose(&mut self) {
        (self.loaded, self.is_alone) = (None, false);
    }
}

impl Loaded {
    pub(super) fn new(id: &LedgerId, file: Arc<dyn OpenFile>, meta: &Meta) -> Self {
        let catalog = Catalog::new(meta.base, root_link(id));
        let (mode, generation) = (meta.mode, meta.generation);
        Self {
            file,
            mode,
            generation,
            catalog,
            rest: None,
            length: 0,
            indexed: 0,
            is_index_wrong: false,
            proven: 0,
            pen: None,
        }
    }

    /// Reads what stands after what is known.
    pub(super) fn read_on(&mut self) -> io::Result<()> {
        self.length = self.file.length()?;
        let start = self.catalog.start();
        let catalog = &mut self.catalog;
        let rest = scan(self.file.as_ref(), &start, self.mode, &mut |batch| catalog.absorb(batch))?;
        self.ended(rest);
        Ok(())
    }

    /// Takes what a scan to the end of the file says. A file that ends before what was durable lost its end, however
    /// whole its lines are.
    pub(super) fn ended(&mut self, rest: Option<Rest>) {
        let last = self.catalog.last();
        let is_cut = last < self.proven && !matches!(rest, Some(Rest::Damaged(_)));
        self.rest = if is_cut {
            let line = line_of(self.catalog.len());
            let (byte, expected, fault) = (self.catalog.end(), last + 1, Fault::Cut(self.proven));
            Some(Rest::Damaged(Damaged { line, byte, expected, fault }))
        } else {
            rest
        };
    }

    /// Reads the bytes of a line, with its newline.
    pub(super) fn bytes(&self, at: usize) -> io::Result<Vec<u8>> {
        let Some(place) = self.catalog.places.get(at) else { return Err(io::ErrorKind::InvalidInput.into()) };
        let mut bytes = vec![0; usize::try_from(place.length).unwrap_or(usize::MAX)];
        self.file.read_at(place.byte, &mut bytes)?;
        Ok(bytes)
    }

    /// Reads the keys of the lines that only an index told of.
    pub(super) fn learn_keys(&mut self, folder: &Folder) -> Result<(), StoreError> {
        if self.catalog.keyless == 0 {
            return Ok(());
        }
        let mut keys = HashMap::new();
        for at in 0..self.catalog.keyless {
            let bytes = self.bytes(at).map_err(failed("reading", &folder.path(EVENTS)))?;
            if String::from_utf8_lossy(&bytes).contains(line::KEYS) {
                let record = self.record(at, folder)?;
                keys.extend(record.keys.into_iter().map(|keyed| (keyed.key, keyed)));
            }
        }
        // A key that was given again, when it was free, is of the later line.
        keys.extend(self.catalog.keys.drain());
        (self.catalog.keys, self.catalog.keyless) = (keys, 0);
        Ok(())
    }

    /// Reads a line.
    pub(super) fn record(&self, at: usize, folder: &Folder) -> Result<Record, StoreError> {
        let path = folder.path(EVENTS);
        let bytes = self.bytes(at).map_err(failed("reading", &path))?;
        let seq = self.catalog.seq_of(at);
        let read = match bytes.strip_suffix(b"\n") {
            Some(line) => decode(line, self.mode),
            None => Err("it does not end with a newline".to_owned()),
        };
        let read = read.and_then(|record| {
            let is_it = Some(record.event.seq) == seq;
            if is_it { Ok(record) } else { Err(format!("it is event {}", record.event.seq)) }
        });
        read.map_err(|reason| {
            let byte = self.catalog.places.get(at).map_or(0, |place| place.byte);
            damaged(
                &path,
                Finding::BadLine { path: path.clone(), line: line_of(at), byte, reason }.to_string(),
            )
        })
    }
}

/// Returns the line, counted from 1, of a place, counted from 0.
pub(super) fn line_of(at: usize) -> u64 {
    u64::try_from(at).expect("a place fits 64 bits") + 1
}
