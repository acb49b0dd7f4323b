//! Forgetting reaches the index: what the store no longer has is cut out of it, and out of its files.
//!
//! The store remembers that this is due in the transaction that forgets, so that a crash before the cut loses nothing:
//! the next process that may change the index finishes it.

use stemmata_model::Closure;
use stemmata_store::{Index, IndexError, IndexLock, StoreError, StoredAt};

use super::events::are_events_due;
use super::settle::SettleError;
use crate::engine::Engine;
use crate::error::Result;

impl Engine {
    /// Cuts what the store no longer has out of the index, and out of its files.
    ///
    /// # Errors
    /// `Unclean` where something is in the way: it is due still then. Store errors.
    pub(crate) fn sweep(&self) -> Result<()> {
        if self.index.dir().is_none() {
            return Ok(());
        }
        let unclean = |reason: String| {
            let reason = format!("the search index: {reason}");
            Err(StoreError::Unclean { reason }.into())
        };
        match self.try_sweep() {
            Ok(()) => Ok(()),
            Err(SettleError::Engine(error)) => Err(error),
            Err(SettleError::Index(IndexError::Moved)) => unclean("another process settles it".to_owned()),
            Err(SettleError::Index(error)) => unclean(error.to_string()),
        }
    }

    /// The same only where the store says that it is due: what every command can pay.
    ///
    /// # Errors
    /// As [`Engine::sweep`].
    pub(crate) fn sweep_if_marked(&self) -> Result<()> {
        if self.store.index_due()?.is_empty() { Ok(()) } else { self.sweep() }
    }

    fn try_sweep(&self) -> Result<(), SettleError> {
        let due = self.store.index_due()?;
        if self.index.dir().is_some_and(|dir| !dir.exists()) {
            // Nobody has begun an index: whoever does reads the store as it is now.
            return if due.is_empty() { Ok(()) } else { Ok(self.store.index_done(&due)?) };
        }
        if due.is_empty() && !self.index.is_there() {
            return Ok(());
        }
        let Some(lock) = self.index.lock_patiently()? else { return Err(IndexError::Moved.into()) };
        let store_id = self.store.identity()?.store_id;
        let opened = match self.index.index_locked(store_id, &lock) {
            // What cannot be read cannot be cut; what is set aside is removed with the rest.
            Err(IndexError::Damaged { .. } | IndexError::OtherStore) => {
                self.index.quarantine(self.clock.now(), &lock)?;
                self.index.index_locked(store_id, &lock)?
            }
            opened => opened?,
        };
        opened.map_or(Ok(()), |index| self.sweep_locked(&index, &lock))
    }

    /// Returns the first commit that the index has to be cut before, where one from `first` on went: an open turn that the
    /// index has may be covered by what went, and stay in the store for another session. What it says is not searched any
    /// more.
    fn first_orphan(&self, index: &Index, first: StoredAt) -> Result<StoredAt, SettleError> {
        let open = index.reader()?.open()?;
        for (at, id) in open.into_iter().take_while(|(at, _)| *at < first) {
            if self.store.commit(id)?.is_some_and(|commit| commit.closure == Closure::Covered) {
                return Ok(at);
            }
        }
        Ok(first)
    }

    /// The same by who has the lock.
    pub(crate) fn sweep_locked(&self, index: &Index, lock: &IndexLock) -> Result<(), SettleError> {
        let due = self.store.index_due()?;
        let mut ledgers = Vec::new();
        self.each_ledger(|ledger| {
            ledgers.push(ledger.clone());
            Ok(())
        })?;
        let are_events_due = are_events_due(index, &ledgers)?;
        if due.is_empty() && !are_events_due {
            return Ok(());
        }
        if are_events_due {
            index.drop_events(lock)?;
        }
        if let Some(first) = due.iter().filter_map(|key| key.first()).min() {
            let first = self.first_orphan(index, first)?;
            index.cut(lock, first)?;
        }
        let mut gone = Vec::new();
        let mut places = Vec::new();
        index.reader()?.places(&mut |row, place| places.push((row, place.key)))?;
        for (row, key) in places {
            if self.store.session(&key)?.is_none() {
                gone.push(row);
            }
        }
        if !gone.is_empty() {
            index.drop_places(lock, &gone)?;
        }
        if let Some(reason) = index.clean(lock)? {
            return Err(StoreError::Unclean { reason: format!("the search index: {reason}") }.into());
        }
        Ok(self.store.index_done(&due)?)
    }
}
