//! The seam to storage, in four parts: [`Commits`], [`Follow`], [`Upkeep`] and [`EventLog`].
//!
//! Everything that a backend must promise is said of the part; what callers do with it is the engine's. Parts, because a backend
//! is written and tested one after the other, and because who needs one of them should not ask for all.

mod commits;
mod follow;
mod names;
mod upkeep;

pub use self::commits::{
    BatchOutcome, Commits, DESCRIBED_LINKS_MAX, DESCRIBED_SIGHTINGS_MAX, Described, PartOf, ResolveScope,
    Sink, StoreIdentity, Usage,
};
pub use self::follow::{DueKey, DueStamp, Follow, STORED_AT_BYTES_MAX, StoredAt, UnseenKey};
pub use self::names::{END_CHARS_MIN, IdPart, Names};
pub use self::upkeep::{Damage, OnDisk, Upkeep, Verified};
use crate::ledger::EventLog;

/// Bytes of one literal part at most: a read verifies a whole part before it hands out any of it, so this
/// bounds the memory of reading a content of any size.
pub const PART_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Parts of one content at most; with [`PART_BYTES_MAX`] that is 256 GiB.
pub const PARTS_MAX: usize = 65_536;

/// Writes in one batch at most, so that a transaction stays short.
pub const BATCH_WRITES_MAX: usize = 16_384;

/// Commits in one chain at most: every line that a command reads under `stemma run` may be one.
pub const DEPTH_MAX: u64 = 1_000_000;

/// Rows that one page of a listing holds at most.
pub const PAGE_ROWS_MAX: usize = 10_000;

/// Bytes that a content of one `Write::Hole` had at most: sums over a chain stay within 63 bits.
pub const HOLE_BYTES_MAX: u64 = 1 << 40;

/// Hashes of one `Write::Anchors`, and of one look-up, at most.
pub const ANCHORS_MAX: usize = 1_024;

/// Bytes of an engine's cursor at most.
pub const CURSOR_BYTES_MAX: usize = 64 * 1024;

/// Records of changes in one merge at most.
pub const MERGED_RECORDS_MAX: usize = 10_000;

/// A page of a listing: skip so many rows, return at most so many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// Rows to skip.
    pub skip: u64,
    /// Rows to return at most; at most [`PAGE_ROWS_MAX`].
    pub rows_max: usize,
}

/// A whole store: all parts of the seam over one set of data, so that one transaction may hold commits and events.
///
/// A backend says so itself: three parts that lie in different places don't keep that promise.
pub trait Store: Follow + Upkeep + EventLog {}
