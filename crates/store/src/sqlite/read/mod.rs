//! Reads: a connection that reads.
//!
//! Which connections there are is `pool`'s; writes go through one of their own.

pub(super) mod commits;
pub(super) mod contents;
mod costs;
mod described;
mod listings;
pub(super) mod literals;
pub(super) mod metadata;
pub(super) mod names;
mod sightings;
pub(super) mod verify;
pub(super) mod verify_events;
pub(super) mod windows;

use std::sync::Arc;

use rusqlite::{Connection, Transaction};

use super::failure::During;
use super::kinds::Kinds;
use super::ledger::names::Names;
use super::packs::Packs;
use crate::error::StoreError;

/// A connection that only reads.
pub(super) struct Reader {
    connection: Connection,
    kinds: Kinds,
    pub(super) names: Names,
    buffers: contents::Buffers,
    pub(super) packs: Arc<Packs>,
}

impl Reader {
    pub(super) fn new(connection: Connection, packs: Arc<Packs>) -> Self {
        Self {
            connection,
            kinds: Kinds::default(),
            names: Names::default(),
            buffers: contents::Buffers::default(),
            packs,
        }
    }

    /// Reads in one transaction: all that is read is one state of the store.
    pub(super) fn within_read<T>(
        &self,
        act: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let _state = one_state(&self.connection)?;
        act(&self.connection)
    }

    pub(super) const fn connection(&self) -> &Connection {
        &self.connection
    }
}

/// Begins a transaction that only reads and ends when it is dropped, unless the caller is within one: a migration verifies
/// within its own.
fn one_state(connection: &Connection) -> Result<Option<Transaction<'_>>, StoreError> {
    let is_alone = connection.is_autocommit();
    is_alone.then(|| connection.unchecked_transaction()).transpose().during("beginning to read")
}
