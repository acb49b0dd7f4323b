//! Rewriting packs: contents that are to go leave them, and what nobody needs any more is not kept.
//!
//! Which contents are to go is decided by who calls. First `prepare`, outside the write lock and with the lock
//! of packs held; then `apply`, within the transaction that removes the rows; after its commit
//! `Packs::remove_doomed`, and only then is the lock of packs let go.

mod apply;
mod prepare;
mod survey;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use super::encode::Placed;
use super::output::Laid;
use crate::pack::PackName;

pub(in crate::sqlite) use self::apply::{Swap, apply};
pub(in crate::sqlite) use self::prepare::prepare;

/// Which packs are rewritten although nothing of them is to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sqlite) enum Garbage {
    /// Only those of which something is to go.
    #[cfg(test)]
    Keep,
    /// Those too that hold more bytes that nobody needs than bytes that somebody does: for collection.
    Half,
    /// Those too that hold any bytes that nobody needs: for forgetting, because these may be older copies of
    /// what is to go.
    All,
}

/// How packs are rewritten.
#[derive(Debug, Clone, Copy)]
pub(in crate::sqlite) struct Policy {
    pub(in crate::sqlite) garbage: Garbage,
    /// The zstd level of blocks that are encoded again; none for the usual one.
    pub(in crate::sqlite) level: Option<i32>,
}

/// Packs that are written and durable, and what the database is to say of them.
#[derive(Debug, Default)]
pub(in crate::sqlite) struct Rewrite {
    /// The rows and names of packs that go.
    old: Vec<OldPack>,
    /// The packs that take their place.
    new: Vec<MovedPack>,
    /// Blocks of which nothing is left.
    dropped: Vec<i64>,
    /// Contents that go.
    gone: BTreeSet<i64>,
}

/// A pack that goes.
#[derive(Debug)]
struct OldPack {
    row: i64,
    name: PackName,
    bytes: u64,
    /// How many blocks the database knew of it.
    blocks: i64,
}

/// A pack that takes the place of others.
#[derive(Debug)]
struct MovedPack {
    name: PackName,
    bytes: u64,
    blocks: Vec<MovedBlock>,
}

/// A block in its new place, under the row that it has for life.
#[derive(Debug)]
struct MovedBlock {
    row: i64,
    laid: Laid,
    /// Its contents, where not all that it had are left.
    members: Option<Vec<Placed>>,
}

impl Rewrite {
    /// Says whether there is nothing to swap: no pack holds what is to go.
    pub(in crate::sqlite) fn is_empty(&self) -> bool {
        self.old.is_empty()
    }

    /// Bytes of files that go, and of those that take their place.
    #[cfg(test)]
    pub(in crate::sqlite) fn bytes(&self) -> (u64, u64) {
        (self.old.iter().map(|pack| pack.bytes).sum(), self.new.iter().map(|pack| pack.bytes).sum())
    }

    /// The names of files that were made: to be removed where the rewrite is not applied.
    pub(in crate::sqlite) fn made(&self) -> impl Iterator<Item = PackName> + '_ {
        self.new.iter().map(|pack| pack.name)
    }
}
