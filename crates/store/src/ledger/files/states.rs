//! Reading and changing the saved states of a ledger, with what that means for folds that are under way.
//!
//! How they are written is `snapshot`'s.

use stemmata_model::{LedgerId, to_u64};

use super::FileLog;
use super::desk::Desk;
use super::finding::Finding;
use super::folder::{EVENTS, Folder, Hold, SNAPSHOT, failed};
use super::rewrite;
use super::snapshot::{self, SNAPSHOT_BYTES_MAX, States};
use crate::error::StoreError;
use crate::ledger::SavedState;
use crate::rules::checks::{check_epoch, check_reach, check_state};

/// What a change of states is for a ledger's epoch.
#[derive(Clone, Copy)]
pub(super) enum Epoch {
    /// It may be any.
    Any,
    /// It has to be this one still.
    Is(u64),
    /// It ends: no fold that is under way is saved.
    Ends,
}

impl FileLog {
    pub(super) fn states(&self, folder: &Folder) -> Result<States, StoreError> {
        let Some(read) = folder.read(SNAPSHOT, SNAPSHOT_BYTES_MAX)? else { return Ok(States::new()) };
        let read = read.and_then(|bytes| snapshot::decode(&bytes));
        Ok(read.unwrap_or_else(|reason| {
            // States are derived: without them everything is folded anew.
            self.notes.note(Finding::SnapshotUnreadable { path: folder.path(SNAPSHOT), reason });
            States::new()
        }))
    }

    /// Says whether there are states that cannot be read.
    fn is_unreadable(folder: &Folder) -> Result<bool, StoreError> {
        let read = folder.read(SNAPSHOT, SNAPSHOT_BYTES_MAX)?;
        Ok(read.is_some_and(|read| read.and_then(|bytes| snapshot::decode(&bytes)).is_err()))
    }

    /// Changes the saved states of a ledger; false where there is none.
    pub(super) fn change_states(
        &self,
        desk: &Desk,
        epoch: Epoch,
        change: impl FnOnce(&mut States) -> bool,
    ) -> Result<bool, StoreError> {
        if !desk.folder.is_there()? {
            return Ok(false);
        }
        let _lock = desk.folder.lock(Hold::Alone)?;
        let Some(meta) = desk.folder.meta()? else { return Ok(false) };
        match epoch {
            Epoch::Any => {}
            Epoch::Is(epoch) => check_epoch(&desk.id, Some(epoch), meta.generation)?,
            Epoch::Ends => drop(rewrite::next_generation(desk)?),
        }
        // Where words have to go, a file that cannot be read goes too: it may hold them.
        let ends = matches!(epoch, Epoch::Ends);
        let is_unreadable = ends && Self::is_unreadable(&desk.folder)?;
        let mut states = self.states(&desk.folder)?;
        if !change(&mut states) && !is_unreadable {
            return Ok(true);
        }
        let text = snapshot::encode(&states);
        let bytes = to_u64(text.len());
        if bytes > SNAPSHOT_BYTES_MAX {
            let (value, bound) = (bytes, SNAPSHOT_BYTES_MAX);
            return Err(StoreError::Bound { what: "bytes of all saved states of a ledger", value, bound });
        }
        // What is folded in is durable before the state is: else other events could take the place of those it knows.
        let events = desk.folder.path(EVENTS);
        self.options.files.sync_file(&events).map_err(failed("syncing", &events))?;
        desk.folder.write(SNAPSHOT, &text)?;
        Ok(true)
    }

    pub(super) fn save(
        &self,
        ledger: &LedgerId,
        epoch: Epoch,
        states: Vec<SavedState>,
    ) -> Result<(), StoreError> {
        states.iter().try_for_each(check_state)?;
        self.writing("saving states")?;
        if let Some(loaded) = &self.desk(ledger).reading(&self.notes)?.loaded {
            check_reach(&states, loaded.catalog.last())?;
        }
        let is_there = self.change_states(&self.desk(ledger), epoch, |kept| {
            kept.extend(states.into_iter().map(|state| (state.name.clone(), state)));
            true
        })?;
        if is_there { Ok(()) } else { Err(StoreError::LedgerMissing(ledger.clone())) }
    }
}
