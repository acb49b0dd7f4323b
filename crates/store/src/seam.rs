//! The one seam to storage: a transactional write and a handful of reads.
//!
//! Everything a backend must promise stands on [`Store`]; what callers do with it is the engine's.

use std::ops::Range;
use std::path::Path;

use stemmata_model::{
    ArtifactId, ArtifactPrefix, Commit, CommitId, CommitPrefix, LedgerId, MachineId, Principal, SessionId,
    Sighting, Timestamp, to_u64,
};

use crate::bounds::check_described;
use crate::error::StoreError;
use crate::filters::{SessionFilter, TipFilter};
use crate::ledger::{Appended, Coverage, EventLog};
use crate::maintain::backup::BackedUp;
use crate::maintain::collect::{Amount, Collect, Collected};
use crate::maintain::costs::{ContentCost, Counted};
use crate::maintain::forget::{Forget, Forgotten, Redirects, Tombstone};
use crate::maintain::pack::{PackOptions, Packed};
use crate::maintain::repair::{RepairOutcome, RepairSource};
use crate::stored::{DueKey, StoredAt, UnseenKey};
use crate::write::{Annotations, AuditRecord, Link, Placement, Session, SessionKey, Write};

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

/// What a batch changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BatchOutcome {
    /// Contents that were not there before.
    pub new_contents: u64,
    /// Commits that were not there before.
    pub new_commits: u64,
    /// Bytes that literal parts have that were not there before, uncompressed.
    pub new_bytes: u64,
    /// Bytes that they take in storage.
    pub stored_bytes: u64,
    /// Where the events of the last append are; none where nothing was appended.
    pub appended: Option<Appended>,
}

/// Where `resolve` looks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResolveScope {
    /// Checkpoints of one principal.
    Principal(Principal),
    /// Checkpoints of one session.
    Session(SessionId),
    /// Checkpoints of sessions that worked in this directory or below it.
    Project(String),
}

/// A page of a listing: skip so many rows, return at most so many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// Rows to skip.
    pub skip: u64,
    /// Rows to return at most; at most [`PAGE_ROWS_MAX`].
    pub rows_max: usize,
}

/// What makes this store different from every other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreIdentity {
    /// A random id, made with the store.
    pub store_id: [u8; 16],
    /// A random key for hashes of raw bytes: never shown, never leaves the store.
    pub secret: [u8; 32],
}

/// How much there is, and what it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Commits.
    pub commits: u64,
    /// Sessions.
    pub sessions: u64,
    /// Files that clients keep beside transcripts.
    pub sidecars: u64,
    /// Commits that are states of these files; `commits` counts them too.
    pub sidecar_commits: u64,
    /// Native bytes of all their states; `logical_bytes` counts them too.
    pub sidecar_bytes: u64,
    /// Distinct contents.
    pub contents: u64,
    /// Native bytes of all commits, each counted once: what was captured.
    pub logical_bytes: u64,
    /// Bytes of all literal parts, uncompressed: what is distinct.
    pub distinct_bytes: u64,
    /// Bytes that the literal parts take, compressed: in the inbox and in packs.
    pub content_bytes: u64,
    /// Of these, bytes that wait in the inbox to be packed.
    pub inbox_bytes: u64,
    /// Of these, bytes of pack files.
    pub packed_bytes: u64,
    /// Pack files.
    pub packs: u64,
    /// Bytes of all files of the store.
    pub physical_bytes: u64,
}

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

/// Links of one commit that [`Store::described`] returns at most: a listing shows a few, a tree all of any real session.
pub const DESCRIBED_LINKS_MAX: usize = 1_000;

/// Sightings of one commit that [`Store::described`] returns at most: a commit is seen in its transcript and in copies of it.
pub const DESCRIBED_SIGHTINGS_MAX: usize = 1_000;

/// What is known of a commit beside its chain and its contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Described {
    /// The commit.
    pub commit: Commit,
    /// Its summary, tags, notes and pin.
    pub annotations: Annotations,
    /// How many changes of these there were.
    pub changes: u64,
    /// Its sightings, as [`Store::sightings`] has them, at most [`DESCRIBED_SIGHTINGS_MAX`].
    pub sightings: Vec<Sighting>,
    /// Links that start or end at it.
    pub links: Vec<Link>,
    /// How far it covers a ledger, as [`Store::coverage`] has it.
    pub coverage: Option<Coverage>,
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

/// A range of a literal content, one of those that a content consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartOf {
    /// The literal content.
    pub of: ArtifactId,
    /// Bytes from its start.
    pub offset: u64,
    /// Bytes of the range.
    pub length: u64,
}

/// Takes bytes of a content in order; an error stops the read and comes back as `StoreError::Sink`.
pub type Sink<'a> = dyn FnMut(&[u8]) -> std::io::Result<()> + 'a;

/// A context store, and the log of events beside it: one transaction may hold both.
///
/// - **Atomic and durable**: `commit_batch` applies all of a batch or none of it, and when it returns the
///   batch survives a power cut (memory backends excepted, which say so).
/// - **Idempotent**: repeating a batch changes nothing.
/// - **Ordered**: a batch sees everything that batches acknowledged before it wrote.
/// - **Concurrent**: every method may be called from any thread and, for backends with files, any process.
/// - **Verified**: content is checked against its hash before a byte of it is handed out.
/// - **Bounded**: listings take a page, walks a limit, parts and batches have the bounds named above.
pub trait Store: EventLog + crate::Names {
    /// Applies writes in order as one transaction.
    ///
    /// # Errors
    /// `ParentMissing`, `CommitMissing` (sightings, sessions, links and annotations need their commits),
    /// `ContentMissing`, `Conflict`, `CursorMoved`, `TipMoved`, `EpochMoved`, `Bound`, `Empty` for a batch that cannot be applied; `Locked`,
    /// `Full`, `ReadOnly`, `Backend` where the storage refuses. Nothing of the batch is there then.
    fn commit_batch(&self, batch: Vec<Write>) -> Result<BatchOutcome, StoreError>;

    /// Returns a commit.
    ///
    /// # Errors
    /// `Backend` where the storage fails, as for every read below.
    fn commit(&self, id: CommitId) -> Result<Option<Commit>, StoreError>;

    /// Returns ids that start so, ascending.
    fn commits_in(&self, prefix: CommitPrefix, limit: usize) -> Result<Vec<CommitId>, StoreError>;

    /// Returns the commit and its ancestors towards the root, at most `limit`.
    ///
    /// # Errors
    /// `CommitMissing` when `from` is not there.
    fn ancestors(&self, from: CommitId, limit: usize) -> Result<Vec<Commit>, StoreError>;

    /// Returns commits whose parent is this one, in the order they were stored; none where it is not there.
    fn children(&self, of: CommitId, limit: usize) -> Result<Vec<Commit>, StoreError>;

    /// Returns commits and all that continue them, at most `limit`: those asked for first, in their order, then the children
    /// of each commit before those of the next one, in the order they were stored. None of one that is not there. None of
    /// those asked for may continue another one.
    ///
    /// # Errors
    /// `Bound` for more than [`PAGE_ROWS_MAX`] commits.
    fn below(&self, from: &[CommitId], limit: usize) -> Result<Vec<Commit>, StoreError> {
        check_described(from)?;
        let mut found: Vec<Commit> = Vec::new();
        for id in from.iter().take(limit) {
            found.extend(self.commit(*id)?);
        }
        let mut next = 0;
        while let Some(commit) = found.get(next).filter(|_| found.len() < limit) {
            let children = self.children(commit.id, limit - found.len())?;
            found.extend(children);
            next += 1;
        }
        Ok(found)
    }

    /// Returns what is known of commits, in the order that they are asked for; those that are not there are left out. As
    /// [`Store::commit`] and the reads below say it of each, but in a few queries.
    ///
    /// # Errors
    /// `Bound` for more than [`PAGE_ROWS_MAX`] commits.
    fn described(&self, of: &[CommitId]) -> Result<Vec<Described>, StoreError> {
        check_described(of)?;
        let mut all = Vec::with_capacity(of.len());
        for id in of {
            let Some(commit) = self.commit(*id)? else { continue };
            let changes = self.audit(*id, usize::MAX)?.len();
            all.push(Described {
                commit,
                annotations: self.annotations(*id)?,
                changes: to_u64(changes),
                sightings: self.sightings(*id, DESCRIBED_SIGHTINGS_MAX)?,
                links: self.links(*id, DESCRIBED_LINKS_MAX)?,
                coverage: self.coverage(*id)?,
            });
        }
        Ok(all)
    }

    /// Returns commits without children that are not covered, newest `created_at` first. With a filter, those that it holds
    /// and that no other one that it holds follows. A snapshot in another format than its parent, which adds nothing, is then
    /// passed over.
    fn tips(&self, filter: &TipFilter, page: Page) -> Result<Vec<Commit>, StoreError>;

    /// Returns all commits in the order of their ids, after one of them: for walks over the whole store.
    fn commits_after(&self, after: Option<CommitId>, limit: usize) -> Result<Vec<Commit>, StoreError>;

    /// Returns all commits in the order that they were stored, after one of them, with where they stand: for what follows the
    /// store, as an index does. A commit that is closed, covered, cut or filled again stays where it is; one that was
    /// removed and is stored again stands at the end.
    fn stored_after(
        &self,
        after: Option<StoredAt>,
        limit: usize,
    ) -> Result<Vec<(StoredAt, Commit)>, StoreError>;

    /// Returns the commits that a session saw, as [`Store::stored_after`] does. A commit comes after those of them that it
    /// continues.
    fn seen_by(
        &self,
        session: &SessionKey,
        after: Option<StoredAt>,
        limit: usize,
    ) -> Result<Vec<(StoredAt, Commit)>, StoreError>;

    /// Returns the length of a content in bytes.
    fn content_length(&self, id: ArtifactId) -> Result<Option<u64>, StoreError>;

    /// Returns artifact ids that start so, ascending.
    fn artifacts_in(&self, prefix: ArtifactPrefix, limit: usize) -> Result<Vec<ArtifactId>, StoreError>;

    /// Hands a range of a content (all of it for `None`) to `sink`, in pieces of at most [`PART_BYTES_MAX`].
    /// Each part is verified before it is handed out; a whole read also verifies the whole hash.
    ///
    /// # Errors
    /// `ContentMissing`, `Corrupt` (names the artifact), `Sink` (the sink's own error), `Bound` for a range
    /// beyond the end.
    fn read_content(
        &self,
        id: ArtifactId,
        range: Option<Range<u64>>,
        sink: &mut Sink<'_>,
    ) -> Result<(), StoreError>;

    /// Returns the ranges of literal contents that a content consists of, in order; one range, all of itself, for a
    /// literal one, and none where it is not there. How a store keeps a content is its own affair and may change;
    /// the bytes never do.
    ///
    /// # Errors
    /// `Corrupt` where the list cannot be read.
    fn content_parts(&self, id: ArtifactId) -> Result<Option<Vec<PartOf>>, StoreError>;

    /// Hands whole contents to `sink`, in order, each piece with the number of its content in `ids`. Cheaper than
    /// one by one where there are many; backends with transactions read one state of the store.
    ///
    /// # Errors
    /// As [`Store::read_content`]; what was handed out before stays handed out.
    fn read_contents(
        &self,
        ids: &[ArtifactId],
        sink: &mut dyn FnMut(usize, &[u8]) -> std::io::Result<()>,
    ) -> Result<(), StoreError> {
        ids.iter()
            .enumerate()
            .try_for_each(|(number, id)| self.read_content(*id, None, &mut |bytes| sink(number, bytes)))
    }

    /// Returns a commit's sightings, the first (smallest `observed_at`, then machine) first.
    fn sightings(&self, commit: CommitId, limit: usize) -> Result<Vec<Sighting>, StoreError>;

    /// Returns sessions, the one with the latest activity first.
    fn sessions(&self, filter: &SessionFilter, page: Page) -> Result<Vec<Session>, StoreError>;

    /// Returns one session.
    fn session(&self, key: &SessionKey) -> Result<Option<Session>, StoreError>;

    /// Returns the nearest checkpoints at or before a point in time by `created_at`: all that share that
    /// time, none when the first is later.
    fn resolve(&self, scope: &ResolveScope, at: Timestamp, limit: usize)
    -> Result<Vec<CommitId>, StoreError>;

    /// Returns summary, tags, notes and pin of a commit.
    fn annotations(&self, commit: CommitId) -> Result<Annotations, StoreError>;

    /// Returns commits that carry a tag, in the order of their ids.
    fn tagged(&self, tag: &str, limit: usize) -> Result<Vec<CommitId>, StoreError>;

    /// Returns the changes of a commit's annotations, oldest first.
    fn audit(&self, commit: CommitId, limit: usize) -> Result<Vec<AuditRecord>, StoreError>;

    /// Returns links that start or end at a commit.
    fn links(&self, commit: CommitId, limit: usize) -> Result<Vec<Link>, StoreError>;

    /// Returns which commits hold these anchors: for each hash at most `limit` of them, in the order of the hashes
    /// given, then of the commits' ids. Covered commits hold none. At most [`ANCHORS_MAX`] hashes.
    fn anchored(&self, hashes: &[u64], limit: usize) -> Result<Vec<(u64, CommitId)>, StoreError>;

    /// Returns how far a commit covers a ledger: the first, by its id, of those that were said of it.
    fn coverage(&self, commit: CommitId) -> Result<Option<Coverage>, StoreError>;

    /// Returns the commit that covers most of a ledger; of several that cover as much the one with the greatest id.
    fn last_covered(&self, ledger: &LedgerId) -> Result<Option<Coverage>, StoreError>;

    /// Returns an engine's cursor of a session.
    fn cursor(&self, key: &SessionKey) -> Result<Option<Vec<u8>>, StoreError>;

    /// Returns the latest placement at a path of a machine.
    fn placement(&self, machine: &MachineId, path: &str) -> Result<Option<Placement>, StoreError>;

    /// Returns what makes this store different from every other.
    fn identity(&self) -> Result<StoreIdentity, StoreError>;

    /// Returns how much there is.
    fn usage(&self) -> Result<Usage, StoreError>;

    /// Returns what the contents of commits take, in the order of `of`, at most
    /// [`COSTED_COMMITS_MAX`](crate::maintain::costs::COSTED_COMMITS_MAX) at once. A literal content counts whole for
    /// the first commit that names any of it, in this call or in earlier ones with the same `counted`; so the sum
    /// over a walk counts every content once. Composed contents cost what the literals do that they name.
    ///
    /// # Errors
    /// `CommitMissing`, `Bound`.
    fn costs(&self, of: &[CommitId], counted: &mut Counted) -> Result<Vec<ContentCost>, StoreError>;

    /// Moves contents from where writes put them to where they take least room. Nothing that can be read
    /// changes; reads and writes go on meanwhile, and a write waits for one short transaction at most. Two at
    /// once are harmless: one of them says that it did nothing (`Packed::busy`). A backend without packs has
    /// nothing to do, and says so by an empty result.
    ///
    /// # Errors
    /// `Locked`, `Full`, `ReadOnly`, `Io`, `Backend`: what was moved before stays moved, and all can be read.
    fn pack(&self, options: &PackOptions) -> Result<Packed, StoreError>;

    /// Forgets, in one transaction, and leaves nothing of it in any file of the store. What something else needs
    /// stays, and the result says why; what was forgotten leaves tombstones, so that nothing brings it back. A dry
    /// run is the same, but changes nothing.
    ///
    /// # Errors
    /// As [`Store::commit_batch`]; `PlanMoved`. Nothing is forgotten then, or all of it is and the next opening cleans the files.
    fn forget(&self, wish: &Forget) -> Result<Forgotten, StoreError>;

    /// Condemns what nobody needs, and deletes what an earlier call condemned and whose grace is over, if nobody
    /// needs it still. What is condemned can be read and built on, which revives it.
    ///
    /// # Errors
    /// As [`Store::commit_batch`]; `PlanMoved`.
    fn collect(&self, wish: &Collect) -> Result<Collected, StoreError>;

    /// Returns for what an index of the commits has to be cut, least first: forgetting (of events, too), collecting and filling
    /// a hole leave the first commit concerned here, in their own transaction.
    fn index_due(&self) -> Result<Vec<DueKey>, StoreError>;

    /// Leaves what a forgetting leaves that removes no commit: before events are forgotten in a log that is not this store.
    fn leave_index_due(&self) -> Result<(), StoreError>;

    /// Removes reasons that [`Store::index_due`] returned, and none that was left again meanwhile. The caller holds the lock of the
    /// index, and has removed what they are about from the index's files under it.
    fn index_done(&self, keys: &[DueKey]) -> Result<(), StoreError>;

    /// Returns sessions, at most `limit`, that saw a commit which was stored before: an index may have passed it.
    fn index_unseen(&self, limit: usize) -> Result<Vec<UnseenKey>, StoreError>;

    /// Takes back what [`Store::index_unseen`] returned, and nothing that was left again meanwhile.
    fn index_unseen_done(&self, keys: &[UnseenKey]) -> Result<(), StoreError>;

    /// Counts what is condemned.
    fn condemned(&self) -> Result<Amount, StoreError>;

    /// Returns those of `of` that were forgotten. Costs next to nothing where nothing ever was.
    fn tombstones(&self, of: &[Tombstone]) -> Result<Vec<Tombstone>, StoreError>;

    /// Returns the ids of forgotten commits that start so, ascending. Sessions cannot be found by a part of their id: only a hash of
    /// it is stored.
    fn tombstones_in(&self, prefix: CommitPrefix, limit: usize) -> Result<Vec<CommitId>, StoreError>;

    /// Returns what commits became when they were scrubbed, as pairs of then and now in the order of the first, after
    /// one of them; at most `limit`.
    fn redirects(&self, after: Option<CommitId>, limit: usize) -> Result<Redirects, StoreError>;

    /// Returns whether anything was ever forgotten, and not taken back.
    fn has_tombstones(&self) -> Result<bool, StoreError>;

    /// Takes back all tombstones of the forgetting that left this one, and says how many that were. What was
    /// forgotten does not come back by that: it may come back.
    ///
    /// # Errors
    /// As [`Store::commit_batch`].
    fn lift(&self, of: &Tombstone) -> Result<u64, StoreError>;

    /// Recomputes everything that can be recomputed and reports each damage to `found`; goes on after one.
    ///
    /// # Errors
    /// Only where the storage cannot be read at all.
    fn verify(&self, found: &mut dyn FnMut(Damage)) -> Result<Verified, StoreError>;

    /// Verifies, and mends what can be mended: damaged contents and packs from sound copies in `from`, what follows
    /// from commits by recomputing it. Nothing is replaced before what replaces it was held to its hash, so that
    /// nothing gets worse; what is still wrong is in the result.
    ///
    /// # Errors
    /// `Locked`, `Full`, `ReadOnly`, `Backend` where the storage refuses; what was mended before stays.
    fn repair(&self, from: &[RepairSource<'_>]) -> Result<RepairOutcome, StoreError>;

    /// Copies the store as it is at one moment into a folder, which is a store itself. Readers and writers go on.
    /// A folder with an earlier backup of this store is brought up to date. None from a backend that keeps nothing
    /// which outlives it.
    ///
    /// # Errors
    /// `Refused` for a folder that is no backup of this store, `NoRoom`, `Locked` while another backup goes there,
    /// `Io`. What was in the folder before is as it was then.
    fn backup(&self, to: &Path) -> Result<Option<BackedUp>, StoreError>;
}
