//! The context store: one transactional seam, content verified on read, and its backends.
//!
//! Blocking by design. What commits mean, and when they are made, is the engine's.

#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
mod error;
mod files;
mod filters;
mod index;
mod ledger;
pub mod maintain;
mod pack;
mod patience;
pub mod rules;
mod seam;
mod sqlite;
pub mod state;
mod varint;
mod write;

pub use error::{StoreError, StoreErrorKind};
pub use files::{
    FileLock, Files, NewFile, OpenFile, SystemFiles, TEMPORARY, hold_temporary, is_temporary, read_bounded,
    remove_unlocked, write_file, write_whole,
};
pub use filters::{CommitFilter, SessionFilter, TipFilter};
pub use index::{
    COMMIT_ENTRIES_MAX, CommitSet, EachTerm, EntryRef, Index, IndexBatch, IndexEntry, IndexError, IndexLock,
    IndexMeta, IndexName, IndexOptions, IndexPlace, IndexReader, IndexUsage, IndexedCommit, IndexedEvent,
    IndexedLedger, IndexedState, Occurrence, PostingsBound, PostingsRead, SegmentFamily, SegmentRead,
    SharedPast, Watermark,
};
pub use ledger::{
    APPEND_KEYS_MAX, Append, Appended, BATCH_EVENTS_MAX, CURSOR_STATES, ClusterFile, Coverage, DerivedEvents,
    Durability, EVENT_AT_US_MAX, EVENT_BYTES_MAX, EventKey, EventLog, EventPage, EventQuery, ExportedCluster,
    FileLog, FileLogOptions, Finding, IntegrityMode, Keyed, Ledger, LedgerChange, MARK_BYTES_MAX, MARKS_MAX,
    NewKey, OUTPUT_BYTES_MAX, OUTPUT_EVENTS_MAX, Order, Places, QUERY_TOPICS_MAX, Receipt, Repaired,
    Restored, STATE_BYTES_MAX, SavedState, export_cluster,
};
pub use maintain::pack::{PackOptions, Packed};
pub use patience::{Patience, Wait};
pub use rules::annotation::{merged_annotations, standing_records};
pub use rules::bounds::EVENT_PAGE_BYTES_MAX;
pub use seam::{
    ANCHORS_MAX, BATCH_WRITES_MAX, BatchOutcome, CURSOR_BYTES_MAX, Commits, DEPTH_MAX, DESCRIBED_LINKS_MAX,
    DESCRIBED_SIGHTINGS_MAX, Damage, Described, DueKey, DueStamp, END_CHARS_MIN, Follow, HOLE_BYTES_MAX,
    IdPart, MERGED_RECORDS_MAX, Names, OnDisk, PAGE_ROWS_MAX, PART_BYTES_MAX, PARTS_MAX, Page, PartOf,
    ResolveScope, STORED_AT_BYTES_MAX, Sink, Store, StoreIdentity, StoredAt, UnseenKey, Upkeep, Usage,
    Verified,
};
pub use sqlite::{OpenFor, SqliteOptions, SqliteState, SqliteStore};
pub use write::{
    Annotation, Annotations, AuditRecord, ContentPart, Link, LinkKind, NewCommit, NewContent, NewHole,
    Placement, SIDECAR_FORMAT, Session, SessionKey, SessionOrigin, Write,
};
