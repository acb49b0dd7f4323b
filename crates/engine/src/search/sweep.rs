//! Forgetting reaches what was made of the store: the index, briefs and files of outputs.
//!
//! The store remembers that this is due in the transaction that forgets, so that a crash before the cut loses nothing:
//! the next process that may change the index finishes it.

use std::sync::Arc;

use stemmata_model::{Closure, Commit, CommitId};
use stemmata_store::{DueKey, Index, IndexError, IndexLock, IndexedState, StoredAt};

use super::settle::SettleError;
use crate::engine::Engine;
use crate::error::{Result, with_cause};

/// Commits of the store that are compared with the index at once.
const PAGE_COMMITS: usize = 512;

impl Engine {
    /// Removes what the store no longer has from briefs, from files of outputs, from temporary files of dead processes, and from
    /// the index with its files. What one of them refuses keeps none of the others from being done. Returns what is left to do, and
    /// why: what was asked for is done, so that this is no error.
    ///
    /// # Errors
    /// Store errors.
    pub(crate) fn sweep(&self) -> Result<Option<String>> {
        let (mut left, index) = self.sweep_apart()?;
        left.extend(index);
        Ok((!left.is_empty()).then(|| left.join("; ")))
    }

    /// Returns apart why files stay, and why something stays in the index.
    fn sweep_apart(&self) -> Result<(Vec<String>, Option<String>)> {
        // Read before the files are swept: what is forgotten meanwhile stays due.
        let due = self.store.index_due()?;
        Ok((self.sweep_files(), self.sweep_index(&due)?))
    }

    /// Does what came to be due behind the lock of the index, and returns why something stays in the index. A file that stays is no
    /// trouble of a search.
    pub(super) fn sweep_behind_lock(&self) -> Result<Option<String>> {
        if self.store.index_due()?.is_empty() || self.index.is_locked() {
            return Ok(None);
        }
        let (files, index) = self.sweep_apart()?;
        warn_of_files(&files);
        Ok(index)
    }

    /// Clears the briefs, which are made again, and removes files of outputs that are stored no longer, and what dead processes
    /// left. Returns why a file stays.
    fn sweep_files(&self) -> Vec<String> {
        let done = [self.briefs.clear(), self.sweep_outputs(), self.leftovers.sweep()];
        let failed = done.into_iter().filter_map(Result::err);
        failed.map(|error| with_cause(&error)).collect()
    }

    fn sweep_index(&self, due: &[DueKey]) -> Result<Option<String>> {
        if self.index.dir().is_none() {
            return Ok(None);
        }
        let left = |reason: String| Ok(Some(format!("the search index: {reason}")));
        match self.try_sweep(due) {
            Ok(true) => Ok(None),
            // It looks between two pages at what is due, so that nobody waits for all that it has to do.
            Ok(false) | Err(SettleError::Index(IndexError::Moved)) => {
                left("another process settles it, and removes this next".to_owned())
            }
            Err(SettleError::Engine(error)) => Err(error),
            Err(SettleError::Index(error)) => left(error.to_string()),
        }
    }

    /// The same only where the store says that it is due: what every command can pay. Says nothing while another process has the
    /// index: that one does it.
    ///
    /// # Errors
    /// As [`Engine::sweep`].
    pub(crate) fn sweep_if_marked(&self) -> Result<Option<String>> {
        if self.store.index_due()?.is_empty() || self.index.is_locked() { Ok(None) } else { self.sweep() }
    }

    /// Returns whether it could; not where another process has the lock, which nobody waits for.
    fn try_sweep(&self, due: &[DueKey]) -> Result<bool, SettleError> {
        if self.index.is_empty() {
            // Nobody has begun an index: whoever does reads the store as it is now.
            self.store.index_done(due)?;
            return Ok(true);
        }
        if due.is_empty() && !self.index.is_there() {
            return Ok(true);
        }
        // Another process may have set it aside by the time that this one has found it damaged.
        let named = self.index.named().unwrap_or_default();
        let Some(lock) = self.index.lock()? else { return Ok(false) };
        let store_id = self.store.identity()?.store_id;
        let opened = match (self.index.index_locked(store_id, &lock), named) {
            // What cannot be read cannot be cut; what is set aside is removed with the rest.
            (Err(IndexError::Damaged { .. }), Some(named)) => {
                self.index.quarantine(&named, self.clock.now(), &lock)?;
                self.index.index_locked(store_id, &lock)?
            }
            (opened, _) => opened?,
        };
        opened.map_or(Ok(true), |index| self.clean_locked(index, &lock, due).map(|_| true))
    }

    /// Does what is due, and returns the index to go on with. Sweeps files too, since the process that forgot may have died before it
    /// reached them. A file that cannot be removed keeps its record, and no command from going on: the next one that forgets, scrubs
    /// or collects tries again.
    pub(crate) fn sweep_locked(
        &self,
        index: Arc<Index>,
        lock: &IndexLock,
    ) -> Result<Arc<Index>, SettleError> {
        let due = self.store.index_due()?;
        let left = if due.is_empty() { Vec::new() } else { self.sweep_files() };
        warn_of_files(&left);
        self.clean_locked(index, lock, &due)
    }

    /// Cuts what is due out of the index, and returns the index to go on with: the one that was cleaned.
    fn clean_locked(
        &self,
        index: Arc<Index>,
        lock: &IndexLock,
        due: &[DueKey],
    ) -> Result<Arc<Index>, SettleError> {
        if !self.cut_due((&index, lock), due)? && !index.meta()?.is_unclean {
            return Ok(index);
        }
        index.clean(lock)?;
        // What was cleaned is another file, and only that one is searched from now on.
        let cleaned = self.index.index_locked(self.store.identity()?.store_id, lock)?;
        self.store.index_done(due)?;
        cleaned.ok_or(SettleError::Index(IndexError::Moved))
    }

    /// Takes out of the index what the store no longer has; its files may still hold it. Returns whether anything was due.
    fn cut_due(&self, (index, lock): (&Index, &IndexLock), due: &[DueKey]) -> Result<bool, SettleError> {
        let are_events_due = self.follow_epochs(index, lock)?;
        if due.is_empty() && !are_events_due {
            return Ok(false);
        }
        if are_events_due {
            index.drop_events(lock)?;
        }
        if let Some(first) = self.first_changed(index, due)? {
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
        Ok(true)
    }

    /// Returns the first commit where the index and the store differ, of those that the index has read. Collection mostly removes
    /// covered commits, which were never indexed, so that most often nothing has to be cut.
    fn first_changed(&self, index: &Index, due: &[DueKey]) -> Result<Option<StoredAt>, SettleError> {
        let Some(first) = due.iter().filter_map(|key| key.first).min() else { return Ok(None) };
        let reader = index.reader()?;
        let Some((through, _)) = reader.meta()?.watermark.through else { return Ok(None) };
        // The index may hold an open turn that a removed commit covers. The turn stays in the store if another session has it,
        // but search skips covered commits, so that the index is cut before it.
        for (at, id) in reader.open()?.into_iter().take_while(|(at, _)| *at < first) {
            if self.store.commit(id)?.is_some_and(|commit| commit.closure == Closure::Covered) {
                return Ok(Some(at));
            }
        }
        let mut after = first.before();
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
        let is_filled = is_gap && !is_forgotten && due.iter().any(|key| key.first == Some(*at));
        (*at, commit.id) == (held.0, held.1) && (is_gap || !is_forgotten) && !is_filled
    };
    let same = stored.iter().zip(held).take_while(|(stored, held)| is_alike(stored, held)).count();
    let parts = [stored.get(same).map(|found| found.0), held.get(same).map(|found| found.0)];
    parts.into_iter().flatten().min()
}

fn warn_of_files(reasons: &[String]) {
    for reason in reasons {
        tracing::warn!(reason, "a file still has forgotten data; `stemma gc` tries again");
    }
}
