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

use std::sync::Arc;

use rusqlite::Connection;

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
        &mut self,
        act: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        // A migration verifies within its own transaction.
        if !self.connection.is_autocommit() {
            return act(&self.connection);
        }
        let transaction = self.connection.transaction().during("beginning to read")?;
        act(&transaction)
    }

    pub(super) const fn connection(&self) -> &Connection {
        &self.connection
    }
}
