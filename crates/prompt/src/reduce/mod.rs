//! Reducers: pure folds over the events of a ledger.
//!
//! Where events come from, and when a state is saved, is not known here.

pub(crate) mod cut;
#[cfg(test)]
mod laws_tests;
pub mod memory;
pub mod snapshot;

use stemmata_model::{Event, Json, LedgerId};

/// A pure fold over the events of one ledger, in their order.
///
/// - **Deterministic**: the same events give a state whose saved form has the same bytes.
/// - **Resumable**: a state that was saved after any event, loaded, and given the events after it, is the state of a
///   full replay.
/// - **Bounded**: a saved form is never longer than the reducer's bounds allow, whatever the events say.
/// - **Tolerant**: an event whose payload is gone, or whose topic is not the reducer's, changes nothing that others rely
///   on, and nothing that an event says makes it panic.
pub trait Reducer: Sized {
    /// By which name its states are saved.
    const NAME: &'static str;

    /// Which fold this is: it rises whenever the same events give another state, or the saved form changes.
    const VERSION: u32;

    /// Begins with no event folded in.
    fn new(ledger: &LedgerId) -> Self;

    /// Folds the next event in.
    fn apply(&mut self, event: &Event);

    /// Returns the state: JSON with sorted keys and without floats.
    fn save(&self) -> Json;

    /// Takes a state back that [`save`](Self::save) gave.
    ///
    /// # Errors
    /// [`LoadError`] where it is of another version or is none of this reducer's for this ledger. Replay the ledger from
    /// its beginning then: [`restore`] does the first half of that.
    fn load(ledger: &LedgerId, version: u32, state: &Json) -> Result<Self, LoadError>;
}

/// Why a saved state cannot be gone on from.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// Another version of the reducer made it.
    #[error(
        "the saved state of reducer `{name}` is of version {found}, this is version {expected}; replay the ledger from its beginning"
    )]
    Version {
        /// The reducer.
        name: &'static str,
        /// The version that made it.
        found: u32,
        /// The version that was to read it.
        expected: u32,
    },
    /// It is not what the reducer writes.
    #[error(
        "the saved state of reducer `{name}` cannot be read: {reason}; replay the ledger from its beginning"
    )]
    Nonsense {
        /// The reducer.
        name: &'static str,
        /// What is wrong with it.
        reason: String,
    },
}

impl LoadError {
    /// Checks a version.
    ///
    /// # Errors
    /// `Version` where it is not the reducer's.
    pub fn check_version<R: Reducer>(found: u32) -> Result<(), Self> {
        if found == R::VERSION {
            return Ok(());
        }
        Err(Self::Version { name: R::NAME, found, expected: R::VERSION })
    }

    /// Says what is wrong with a state.
    pub fn nonsense<R: Reducer>(reason: impl Into<String>) -> Self {
        Self::Nonsense { name: R::NAME, reason: reason.into() }
    }
}

/// Goes on from a saved state where that can be read. Else begins anew and says why: the caller then replays all events
/// and tells the user.
pub fn restore<R: Reducer>(ledger: &LedgerId, saved: Option<(u32, &Json)>) -> (R, Option<LoadError>) {
    match saved.map(|(version, state)| R::load(ledger, version, state)) {
        Some(Ok(reducer)) => (reducer, None),
        Some(Err(error)) => (R::new(ledger), Some(error)),
        None => (R::new(ledger), None),
    }
}
