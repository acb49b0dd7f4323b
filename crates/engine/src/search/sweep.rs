//! Forgetting reaches what was made of the store: the index, briefs and files of outputs.
//!
//! The store remembers that this is due in the transaction that forgets, so that a crash before the cut loses nothing:
//! the next process that may change the index finishes it.

use std::sync::Arc;

use stemmata_model::{Closure, Commit, CommitId};
use stemmata_store::{DueKey, Index, IndexError, IndexLock, IndexedState, StoreError, StoredAt};

use super::settle::SettleError;
use crate::engine::Engine;
use crate::error::Result;

/// Commits of the store that are compared with the index at once.
const PAGE_COMMITS: usize = 512;

impl Engine {
    /// Removes what the store no longer has from briefs, from files of outputs, and from the index with its files. What one of them
    /// refuses keeps none of the others from being done.
    ///
    /// # Errors
    /// `Unclean` where something is in the way of the index, `Io` for a file. Store errors.
    pub(crate) fn sweep(&self) -> Result<()> {
        let files = self.sweep_files();
        self.sweep_index().and(files)
    }

    /// Clears the briefs, which are made again, and removes files of outputs that are stored no longer.
    fn sweep_files(&self) -> Result<()> {
        let (briefs, outputs) = (self.briefs.clear(), self.sweep_outputs());
        briefs.and(outputs)
    }

    fn sweep_index(&self) -> Result<()> {
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
            return Ok(self.index_done(&due)?);
        }
        if due.is_empty() && !self.index.is_there() {
            return Ok(());
        }
        // Another process may have set it aside by the time that this one has found it damaged.
        let named = self.index.named().unwrap_or_default();
        let Some(lock) = self.index.lock_patiently()? else { return Err(IndexError::Moved.into()) };
        let store_id = self.store.identity()?.store_id;
        let opened = match (self.index.index_locked(store_id, &lock), named) {
            // What cannot be read cannot be cut; what is set aside is removed with the rest.
            (Err(IndexError::Damaged { .. }), Some(named)) => {
                self.index.quarantine(&named, self.clock.now(), &lock)?;
                self.index.index_locked(store_id, &lock)?
            }
            (opened, _) => opened?,
        };
        opened.map_or(Ok(()), |index| self.sweep_locked(index, &lock).map(drop))
    }

    /// Cuts what is due out of the index, and returns the index to go on with: the one that was cleaned.
    pub(crate) fn sweep_locked(
        &self,
        index: Arc<Index>,
        lock: &IndexLock,
    ) -> Result<Arc<Index>, SettleError> {
        let due = self.store.index_due()?;
        let are_events_due = self.follow_epochs(&index, lock)?;
        if due.is_empty() && !are_events_due && !index.meta()?.is_unclean {
            return Ok(index);
        }
        if are_events_due {
            index.drop_events(lock)?;
        }
        if let Some(first) = self.first_changed(&index, &due)? {
            index.cut(lock, first)?;
        }
        let mut places = Vec::new();
        index.reader()?.places(&mut |row, place| places.push((row, place.key)))?;
        let mut gone = Vec::new();
        for (row, key) in places {
            if self.store.session(&key)?.is_none() {
                gone.push(row);
            }
        }
        index.drop_places(lock, &gone)?;
        index.clean(lock)?;
        // What was cleaned is another file, and only that one is searched from now on.
        let cleaned = self.index.index_locked(self.store.identity()?.store_id, lock)?;
        self.index_done(&due)?;
        cleaned.ok_or(SettleError::Index(IndexError::Moved))
    }

    /// Takes back what was due, once no file has it either: the process that forgot may have died before it reached them. Where a
    /// file stays, it is due still, and no search fails for that.
    ///
    /// # Errors
    /// Store errors.
    pub(super) fn index_done(&self, due: &[DueKey]) -> Result<()> {
        if due.is_empty() {
            return Ok(());
        }
        match self.sweep_files() {
            Ok(()) => Ok(self.store.index_done(due)?),
            Err(error) => {
                tracing::warn!(%error, "a file still has forgotten data; the next command tries again");
                Ok(())
            }
        }
    }

    /// Returns the first commit where the index and the store differ, of those that the index has read. Collection mostly removes
    /// covered commits, which were never indexed, so that most often nothing has to be cut.
    fn first_changed(&self, index: &Index, due: &[DueKey]) -> Result<Option<StoredAt>, SettleError> {
        let Some(first) = due.iter().filter_map(|key| key.first()).min() else { return Ok(None) };
        let reader = index.reader()?;
        let Some((through, _)) = reader.meta()?.watermark.through else { return Ok(None) };
        // The index may hold an open turn that a removed commit covers. The turn stays in the store if another session has it,
        // but search skips covered commits, so that the index is cut before it.
        for (at, id) in reader.open()?.into_iter().take_while(|(at, _)| *at < first) {
            if self.store.commit(id)?.is_some_and(|commit| commit.closure == Closure::Covered) {
                return Ok(Some(at));
            }
        }
        let mut after = StoredAt(first.0.saturating_sub(1));
        while after < through {
            let page = self.store.stored_after(Some(after), PAGE_COMMITS)?;
            let end = page.last().map_or(through, |(at, _)| (*at).min(through));
            let stored: Vec<&(StoredAt, Commit)> = page
                .iter()
                .filter(|(at, commit)| *at <= through && commit.closure != Closure::Covered)
                .collect();
            let held = reader.commits_between(after, end)?;
            if let Some(at) = first_difference(&stored, &held, due) {
                return Ok(Some(at));
            }
            after = end;
        }
        Ok(None)
    }
}

/// Returns where two lists of commits part: what is stored, and what an index holds of it.
fn first_difference(
    stored: &[&(StoredAt, Commit)],
    held: &[(StoredAt, CommitId, IndexedState)],
    due: &[DueKey],
) -> Option<StoredAt> {
    let is_alike = |(at, commit): &(StoredAt, Commit), held: &(StoredAt, CommitId, IndexedState)| {
        let is_gap = held.2 == IndexedState::Skipped;
        let is_forgotten = commit.closure == Closure::Forgotten;
        // A gap that is filled again is due by itself; other gaps are what nobody can read.
        let is_filled = is_gap && !is_forgotten && due.iter().any(|key| key.first() == Some(*at));
        (*at, commit.id) == (held.0, held.1) && (is_gap || !is_forgotten) && !is_filled
    };
    let same = stored.iter().zip(held).take_while(|(stored, held)| is_alike(stored, held)).count();
    let parts = [stored.get(same).map(|found| found.0), held.get(same).map(|found| found.0)];
    parts.into_iter().flatten().min()
}
