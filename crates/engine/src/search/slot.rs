//! Where an engine's index is, and the index itself once somebody searches.
//!
//! Opened on first use: commands that do not search pay nothing, and hooks have none.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use stemmata_prompt::search::TERMS_VERSION;
use stemmata_store::{Files, Index, IndexError, IndexLock, IndexName, IndexOptions, Patience, SystemFiles};

use super::keeper::Asked;

/// The place of an index.
#[derive(Debug, Default)]
pub(crate) struct IndexSlot {
    place: Option<Place>,
    opened: Mutex<Option<Arc<Index>>>,
    /// What is asked of the thread that settles it, where there is one.
    pub(super) asked: Arc<Asked>,
}

#[derive(Debug)]
struct Place {
    dir: PathBuf,
    patience: Patience,
    files: Arc<dyn Files>,
}

impl IndexSlot {
    /// Returns the slot of an index in a folder.
    pub(crate) fn at(dir: &Path, patience: Patience) -> Self {
        let files = Arc::new(SystemFiles);
        Self {
            place: Some(Place { dir: dir.to_owned(), patience, files }),
            opened: Mutex::default(),
            asked: Arc::default(),
        }
    }

    /// Returns the folder, or `None` if the engine has no index.
    pub(crate) fn dir(&self) -> Option<&Path> {
        self.place.as_ref().map(|place| place.dir.as_path())
    }

    /// Returns whether there is an index already.
    pub(crate) fn is_there(&self) -> bool {
        self.dir().is_some_and(|dir| dir.join("current").exists())
    }

    /// Returns whether nothing was ever begun in the folder, and nothing set aside.
    pub(crate) fn is_empty(&self) -> bool {
        let is_part = |name: &String| name != Index::LOCK;
        let names = self.place.as_ref().map(|place| place.files.list(&place.dir));
        names.is_some_and(|names| match names {
            Ok(names) => !names.iter().any(is_part),
            Err(error) => error.kind() == std::io::ErrorKind::NotFound,
        })
    }

    /// Returns whether another process changes the index at this moment.
    pub(crate) fn is_locked(&self) -> bool {
        self.dir().is_some_and(Path::exists) && matches!(self.lock(), Ok(None))
    }

    /// Returns the index, opened or made; the one that the folder names now.
    pub(crate) fn index(&self, store_id: [u8; 16]) -> Result<Option<Arc<Index>>, IndexError> {
        let Some(place) = &self.place else { return Ok(None) };
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(index) = opened.as_ref().filter(|index| index.is_current()) {
            return Ok(Some(Arc::clone(index)));
        }
        *opened = None;
        let index = Arc::new(Index::open(&place.dir, place.options(store_id))?);
        *opened = Some(Arc::clone(&index));
        Ok(Some(index))
    }

    /// The same for who has the lock: where there is none, or one that this version cannot follow the store with, an empty one
    /// takes its place.
    pub(crate) fn index_locked(
        &self,
        store_id: [u8; 16],
        lock: &IndexLock,
    ) -> Result<Option<Arc<Index>>, IndexError> {
        if self.is_there() {
            match self.index(store_id) {
                Ok(Some(index)) if index.meta()?.terms != TERMS_VERSION => {}
                Err(IndexError::OtherStore | IndexError::Older { .. }) => {}
                opened => return opened,
            }
        }
        if let Some(index) = self.begin_anew(store_id, lock)? {
            index.publish(lock)?;
        }
        self.index(store_id)
    }

    /// Takes the lock that a process needs to change the index. Returns `None` if another process has it.
    pub(crate) fn lock(&self) -> Result<Option<IndexLock>, IndexError> {
        let Some(place) = &self.place else { return Ok(None) };
        Index::lock(&place.dir, place.files.as_ref())
    }

    /// Waits for that lock, as long as the store's: for what somebody asked of the index itself.
    pub(crate) fn lock_patiently(&self) -> Result<Option<IndexLock>, IndexError> {
        let Some(place) = &self.place else { return Ok(None) };
        place.patience.until(|| Index::lock(&place.dir, place.files.as_ref()))
    }

    /// Begins another index beside the one there is.
    pub(crate) fn begin_anew(
        &self,
        store_id: [u8; 16],
        lock: &IndexLock,
    ) -> Result<Option<Index>, IndexError> {
        let Some(place) = &self.place else { return Ok(None) };
        Index::begin_anew(&place.dir, place.options(store_id), lock).map(Some)
    }

    /// Returns what the folder names as its index: what is found damaged is known by it.
    pub(crate) fn named(&self) -> Result<Option<IndexName>, IndexError> {
        self.dir().map_or(Ok(None), Index::named)
    }

    /// Sets a damaged index aside, unless another process has done so since it was found.
    pub(crate) fn quarantine(
        &self,
        found: &IndexName,
        at: stemmata_model::Timestamp,
        lock: &IndexLock,
    ) -> Result<(), IndexError> {
        let Some(place) = &self.place else { return Ok(()) };
        *self.opened.lock().unwrap_or_else(PoisonError::into_inner) = None;
        Index::quarantine(&place.dir, place.files.as_ref(), (found, at), lock).map(drop)
    }
}

impl Place {
    fn options(&self, store_id: [u8; 16]) -> IndexOptions {
        IndexOptions {
            files: Arc::clone(&self.files),
            patience: self.patience.clone(),
            terms: TERMS_VERSION,
            store_id,
            can_write: true,
        }
    }
}
