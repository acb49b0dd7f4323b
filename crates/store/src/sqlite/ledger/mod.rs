//! Ledgers in the database: their rows, and what is read, let go of and forgotten of them.
//!
//! Appending is `write::ledger`'s. Specified in `docs/format/store.md`.

pub(super) mod forget;
pub(super) mod keys;
mod log;
pub(super) mod names;
pub(super) mod output;
pub(super) mod query;
mod read;
pub(super) use read::{coverage, marked};
pub(super) mod rows;
