//! The part of the seam for upkeep: what keeps a store small, clean and whole over years.
//!
//! What is to go and when is the engine's to decide; requests and answers are those of `maintain`.

use std::path::Path;

use stemmata_model::CommitId;

use super::Commits;
use crate::error::StoreError;
use crate::maintain::backup::BackedUp;
use crate::maintain::collect::{Amount, Collect, Collected};
use crate::maintain::costs::{ContentCost, Counted};
use crate::maintain::forget::{Forget, Forgotten, Tombstone};
use crate::maintain::pack::{PackOptions, Packed};
use crate::maintain::repair::{RepairOutcome, RepairSource};

/// One thing that `verify` found wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// Stable name of the check.
    pub check: &'static str,
    /// The commit or artifact it is about, as text.
    pub object: String,
    /// What is wrong, one sentence without a final stop.
    pub message: String,
}

/// What `verify` looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Verified {
    /// Contents whose hash was recomputed.
    pub contents: u64,
    /// Commits whose id, parent, depth and length were recomputed.
    pub commits: u64,
    /// Sightings, timelines and links whose ends were looked up.
    pub references: u64,
    /// Files that nothing refers to, as a crash leaves them: harmless, and removed by the next packing.
    pub leftover_files: u64,
    /// Byte of the log at which a last transaction begins that is not whole: a crash leaves it so before anybody was
    /// told that it is stored. More than one changed bit in the last transaction looks the same.
    pub unfinished_log_at: Option<u64>,
    /// Rows that are not what was written and that nothing could give back: a repair keeps them as they are, marked.
    pub kept_rows: u64,
}

/// Forgetting, collecting, counting and verifying.
///
/// - **Planned, then applied**: a request may carry what a dry run answered; where anything else would go by now, nothing goes.
/// - **Nothing is left**: what was forgotten is in no answer, and in no file once the call returns. Where a file could not be
///   cleaned the answer says so, and the next opening does it.
pub trait Upkeep: Commits {
    /// Forgets, in one transaction, and leaves nothing of it in any file of the store. What something else needs
    /// stays, and the result says why; what was forgotten leaves tombstones, so that nothing brings it back. A dry
    /// run is the same, but changes nothing.
    ///
    /// # Errors
    /// As [`Commits::commit_batch`]; `PlanMoved`. Nothing is forgotten then, or all of it is and the next opening cleans the files.
    fn forget(&self, wish: &Forget) -> Result<Forgotten, StoreError>;

    /// Condemns what nobody needs, and deletes what an earlier call condemned and whose grace is over, if nobody
    /// needs it still. What is condemned can be read and built on, which revives it.
    ///
    /// # Errors
    /// As [`Commits::commit_batch`]; `PlanMoved`.
    fn collect(&self, wish: &Collect) -> Result<Collected, StoreError>;

    /// Counts what is condemned.
    fn condemned(&self) -> Result<Amount, StoreError>;

    /// Returns what the contents of commits take, in the order of `of`, at most
    /// [`COSTED_COMMITS_MAX`](crate::maintain::costs::COSTED_COMMITS_MAX) at once. A literal content counts whole for
    /// the first commit that names any of it, in this call or in earlier ones with the same `counted`; so the sum
    /// over a walk counts every content once. Composed contents cost what the literals do that they name.
    ///
    /// # Errors
    /// `CommitMissing`, `Bound`.
    fn costs(&self, of: &[CommitId], counted: &mut Counted) -> Result<Vec<ContentCost>, StoreError>;

    /// Takes back all tombstones of the forgetting that left this one, and says how many that were. What was
    /// forgotten does not come back by that: it may come back.
    ///
    /// # Errors
    /// As [`Commits::commit_batch`].
    fn lift(&self, of: &Tombstone) -> Result<u64, StoreError>;

    /// Recomputes everything that can be recomputed and reports each damage to `found`; goes on after one.
    ///
    /// # Errors
    /// Only where the storage cannot be read at all.
    fn verify(&self, found: &mut dyn FnMut(Damage)) -> Result<Verified, StoreError>;

    /// Returns the store as files of this machine; `None` where it is none.
    fn on_disk(&self) -> Option<&dyn OnDisk>;
}

/// What a store can do whose contents are files of this machine.
///
/// Apart from [`Upkeep`], because a backend on a server has no folder to copy to, nothing to pack, and other copies to mend from. A
/// part that is not there says so before anything is tried; methods that fail would say it afterwards.
pub trait OnDisk: Send + Sync {
    /// Moves contents from where writes put them to where they take least room. Nothing that can be read
    /// changes; reads and writes go on meanwhile, and a write waits for one short transaction at most. Two at
    /// once are harmless: one of them says that it did nothing (`Packed::busy`).
    ///
    /// # Errors
    /// `Locked`, `Full`, `ReadOnly`, `Io`, `Backend`: what was moved before stays moved, and all can be read.
    fn pack(&self, options: &PackOptions) -> Result<Packed, StoreError>;

    /// Verifies, and mends what can be mended: damaged contents and packs from sound copies in `from`, what follows
    /// from commits by recomputing it. Nothing is replaced before what replaces it was held to its hash, so that
    /// nothing gets worse; what is still wrong is in the result.
    ///
    /// # Errors
    /// `Locked`, `Full`, `ReadOnly`, `Backend` where the storage refuses; what was mended before stays.
    fn repair(&self, from: &[RepairSource<'_>]) -> Result<RepairOutcome, StoreError>;

    /// Copies the store as it is at one moment into a folder, which is a store itself. Readers and writers go on.
    /// A folder with an earlier backup of this store is brought up to date.
    ///
    /// # Errors
    /// `Refused` for a folder that is no backup of this store, `NoRoom`, `Locked` while another backup goes there,
    /// `Io`. What was in the folder before is as it was then.
    fn backup(&self, to: &Path) -> Result<BackedUp, StoreError>;
}
