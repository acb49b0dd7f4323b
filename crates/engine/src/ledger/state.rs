//! What is known of a project, what of it is still to be done, and whether a replay says the same.
//!
//! What is folded, and how, is the reducers'.

use stemmata_api::v1::ReplayedReducer;
use stemmata_model::{Json, LedgerId, Note};
use stemmata_prompt::reduce::Reducer;
use stemmata_prompt::reduce::memory::MemoryReducer;
use stemmata_prompt::reduce::memory::v1::{Task, TaskStatus};
use stemmata_prompt::reduce::snapshot::StateSnapshotter;

use super::{Folded, Remembered, Remembering};
use crate::engine::Engine;
use crate::error::Result;

/// What is known of a project or a cluster.
#[derive(Debug, Clone)]
pub struct LedgerState {
    /// Where the project is; none for a cluster.
    pub root: Option<String>,
    /// What is remembered, and what it was made of.
    pub remembered: Remembered,
    /// What a cluster's agents published; none where none did.
    pub published: Option<PublishedState>,
}

/// What a cluster's agents published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishedState {
    /// As text for people and models.
    pub text: String,
    /// By section.
    pub data: Json,
}

impl Engine {
    /// Returns what is known of a ledger, as it was after an event or as it is now: also of captured sessions what was said
    /// up to the event's time. What was folded of the present is saved where that saves time. Past its last event a ledger is as it is now.
    ///
    /// # Errors
    /// Store errors.
    pub fn state_of(&self, ledger: &LedgerId, at: Option<u64>) -> Result<LedgerState> {
        self.state_within(ledger, Remembering { at, ..Remembering::NOW })
    }

    /// Returns what [`Engine::state_of`] does without what came in bundles: a prompt takes nobody's word for what was decided.
    pub(crate) fn own_state_of(&self, ledger: &LedgerId, at: Option<u64>) -> Result<LedgerState> {
        self.state_within(ledger, Remembering { at, wants_foreign: false })
    }

    fn state_within(&self, ledger: &LedgerId, asked: Remembering) -> Result<LedgerState> {
        let at = asked.at;
        let (remembered, _) = self.remember_of(ledger, asked)?;
        let snapshot = self.fold::<StateSnapshotter>(ledger, at)?;
        self.save_folded(ledger, &snapshot, false)?;
        let text = snapshot.reducer.text();
        let published =
            (!text.is_empty()).then(|| PublishedState { text, data: Json::of(&snapshot.reducer.data()) });
        let root = self.log.ledger(ledger)?.and_then(|known| known.root);
        Ok(LedgerState { root, remembered, published })
    }

    /// Returns the tasks of a project that are not done, and what the user should know of how they were found.
    ///
    /// # Errors
    /// Store errors.
    pub fn open_tasks(&self, ledger: &LedgerId) -> Result<(Vec<Task>, Vec<Note>)> {
        let Remembered { memory, notes, .. } = self.remember(ledger)?;
        let open = memory.items.tasks.into_iter().filter(|task| task.status != TaskStatus::Done);
        Ok((open.collect(), notes))
    }

    /// Folds a ledger's events anew with each reducer and says whether that gives what its saved state leads to; where
    /// it `mends`, the new state is saved in its place. Returns the last event that was folded, too.
    ///
    /// # Errors
    /// Store errors.
    pub fn compare_states(&self, ledger: &LedgerId, mends: bool) -> Result<(u64, [ReplayedReducer; 2])> {
        let memory = self.compare_state::<MemoryReducer>(ledger, mends)?;
        let snapshot = self.compare_state::<StateSnapshotter>(ledger, mends)?;
        Ok((memory.0.max(snapshot.0), [memory.1, snapshot.1]))
    }

    fn compare_state<R: Reducer>(&self, ledger: &LedgerId, mends: bool) -> Result<(u64, ReplayedReducer)> {
        let saved: Folded<R> = self.fold(ledger, None)?;
        let whole: Folded<R> = self.replay(ledger)?;
        // Events may have come between the two.
        let saved =
            if saved.through == whole.through { saved } else { self.fold(ledger, Some(whole.through))? };
        let same = saved.reducer.save() == whole.reducer.save();
        if mends {
            self.save_anew(ledger, &whole)?;
        }
        let mut notes = saved.notes;
        notes.extend(whole.notes);
        notes.dedup();
        let saved_through = saved.saved_through.to_string();
        Ok((whole.through, ReplayedReducer { name: R::NAME.to_owned(), saved_through, same, notes }))
    }
}
