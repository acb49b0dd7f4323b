//! The first part of the seam: a transactional write, and what is read back of it.
//!
//! Everything that happens to a store day by day. Who follows it is [`Follow`](super::Follow)'s, what keeps it small and whole is
//! [`Upkeep`](super::Upkeep)'s.

use std::ops::Range;

use stemmata_model::{
    ArtifactId, Commit, CommitId, LedgerId, MachineId, Principal, SessionId, Sighting, Timestamp, to_u64,
};

use super::{Names, Page};
use crate::error::StoreError;
use crate::filters::{CommitFilter, SessionFilter, TipFilter};
use crate::ledger::{Appended, Coverage};
use crate::maintain::forget::{Redirects, Tombstone};
use crate::rules::bounds::check_described;
use crate::write::{Annotations, AuditRecord, Link, Placement, Session, SessionKey, Write};

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

/// Links of one commit that [`Commits::described`] returns at most: a listing shows a few, a tree all of any real session.
pub const DESCRIBED_LINKS_MAX: usize = 1_000;

/// Sightings of one commit that [`Commits::described`] returns at most: a commit is seen in its transcript and in copies of it.
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
    /// Its sightings, as [`Commits::sightings`] has them, at most [`DESCRIBED_SIGHTINGS_MAX`].
    pub sightings: Vec<Sighting>,
    /// Links that start or end at it.
    pub links: Vec<Link>,
    /// How far it covers a ledger, as [`Commits::coverage`] has it.
    pub coverage: Option<Coverage>,
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

/// Commits, contents and what is said of them.
///
/// - **Atomic and durable**: `commit_batch` applies all of a batch or none of it, and when it returns the
///   batch survives a power cut (memory backends excepted, which say so).
/// - **Idempotent**: repeating a batch changes nothing.
/// - **Ordered**: a batch sees everything that batches acknowledged before it wrote.
/// - **Concurrent**: every method may be called from any thread and, for backends with files, any process.
/// - **Verified**: content is checked against its hash before a byte of it is handed out.
/// - **Bounded**: listings take a page, walks a limit, parts and batches have the bounds that `store` names.
///
/// A batch may hold writes of events, which [`EventLog`](crate::EventLog) reads: they are of the same transaction.
pub trait Commits: Names + Send + Sync {
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
    /// `Bound` for more than [`PAGE_ROWS_MAX`](super::PAGE_ROWS_MAX) commits.
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
    /// [`Commits::commit`] and the reads below say it of each, but in a few queries.
    ///
    /// # Errors
    /// `Bound` for more than [`PAGE_ROWS_MAX`](super::PAGE_ROWS_MAX) commits.
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

    /// Returns the commits that a filter holds, newest `created_at` first, then by their ids.
    fn listed(&self, filter: &CommitFilter, page: Page) -> Result<Vec<Commit>, StoreError>;

    /// Returns all commits in the order of their ids, after one of them: for walks over the whole store.
    fn commits_after(&self, after: Option<CommitId>, limit: usize) -> Result<Vec<Commit>, StoreError>;

    /// Returns the length of a content in bytes.
    fn content_length(&self, id: ArtifactId) -> Result<Option<u64>, StoreError>;

    /// Hands a range of a content (all of it for `None`) to `sink`, in pieces of at most [`PART_BYTES_MAX`](super::PART_BYTES_MAX).
    /// Each part is verified before it is handed out; a whole read also verifies the whole hash. The sink may take its time: no
    /// transaction waits for it.
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
    /// one by one where there are many. No transaction waits for the sink, so a content may be forgotten between two others.
    ///
    /// # Errors
    /// As [`Commits::read_content`]; what was handed out before stays handed out.
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
    /// given, then of the commits' ids. Covered commits hold none. At most [`ANCHORS_MAX`](super::ANCHORS_MAX) hashes.
    fn anchored(&self, hashes: &[u64], limit: usize) -> Result<Vec<(u64, CommitId)>, StoreError>;

    /// Returns how far a commit covers a ledger: the first, by its id, of those that were said of it.
    fn coverage(&self, commit: CommitId) -> Result<Option<Coverage>, StoreError>;

    /// Returns the commit that covers most of a ledger; of several that cover as much the one with the greatest id.
    fn last_covered(&self, ledger: &LedgerId) -> Result<Option<Coverage>, StoreError>;

    /// Returns an engine's cursor of a session.
    fn cursor(&self, key: &SessionKey) -> Result<Option<Vec<u8>>, StoreError>;

    /// Returns the latest placement at a path of a machine.
    fn placement(&self, machine: &MachineId, path: &str) -> Result<Option<Placement>, StoreError>;

    /// Returns those of `of` that were forgotten. Costs next to nothing where nothing ever was.
    fn tombstones(&self, of: &[Tombstone]) -> Result<Vec<Tombstone>, StoreError>;

    /// Returns what commits became when they were scrubbed, as pairs of then and now in the order of the first, after
    /// one of them; at most `limit`.
    fn redirects(&self, after: Option<CommitId>, limit: usize) -> Result<Redirects, StoreError>;

    /// Returns whether anything was ever forgotten, and not taken back.
    fn has_tombstones(&self) -> Result<bool, StoreError>;

    /// Returns what makes this store different from every other.
    fn identity(&self) -> Result<StoreIdentity, StoreError>;

    /// Returns how much there is.
    fn usage(&self) -> Result<Usage, StoreError>;
}
