//! Batches, which fail as the test says, and reads, before which somebody else may act.

use std::ops::Range;

use stemmata_model::{ArtifactId, Commit, CommitId, LedgerId, MachineId, Sighting, Timestamp};
use stemmata_store::maintain::forget::{Redirects, Tombstone};
use stemmata_store::{
    Annotations, AuditRecord, BatchOutcome, CommitFilter, Commits, Coverage, Described, Link, Page, PartOf,
    Placement, ResolveScope, Session, SessionFilter, SessionKey, Sink, Store, StoreError, StoreIdentity,
    TipFilter, Usage, Write,
};

use super::FaultyStore;

impl<S: Store> Commits for FaultyStore<S> {
    fn commit_batch(&self, batch: Vec<Write>) -> Result<BatchOutcome, StoreError> {
        self.write(|| self.apply(batch))
    }

    fn commit(&self, id: CommitId) -> Result<Option<Commit>, StoreError> {
        self.read().commit(id)
    }

    fn ancestors(&self, from: CommitId, limit: usize) -> Result<Vec<Commit>, StoreError> {
        self.read().ancestors(from, limit)
    }

    fn children(&self, of: CommitId, limit: usize) -> Result<Vec<Commit>, StoreError> {
        self.read().children(of, limit)
    }

    fn below(&self, from: &[CommitId], limit: usize) -> Result<Vec<Commit>, StoreError> {
        self.read().below(from, limit)
    }

    fn described(&self, of: &[CommitId]) -> Result<Vec<Described>, StoreError> {
        self.read().described(of)
    }

    fn tips(&self, filter: &TipFilter, page: Page) -> Result<Vec<Commit>, StoreError> {
        self.read().tips(filter, page)
    }

    fn listed(&self, filter: &CommitFilter, page: Page) -> Result<Vec<Commit>, StoreError> {
        self.read().listed(filter, page)
    }

    fn commits_after(&self, after: Option<CommitId>, limit: usize) -> Result<Vec<Commit>, StoreError> {
        self.read().commits_after(after, limit)
    }

    fn content_length(&self, id: ArtifactId) -> Result<Option<u64>, StoreError> {
        if self.is_lost(id) { Ok(None) } else { self.looked_at().content_length(id) }
    }

    fn read_content(
        &self,
        id: ArtifactId,
        range: Option<Range<u64>>,
        sink: &mut Sink<'_>,
    ) -> Result<(), StoreError> {
        if self.is_lost(id) {
            return Err(StoreError::ContentMissing(id));
        }
        self.looked_at().read_content(id, range, sink)
    }

    fn content_parts(&self, id: ArtifactId) -> Result<Option<Vec<PartOf>>, StoreError> {
        if self.is_lost(id) { Ok(None) } else { self.looked_at().content_parts(id) }
    }

    fn read_contents(
        &self,
        ids: &[ArtifactId],
        sink: &mut dyn FnMut(usize, &[u8]) -> std::io::Result<()>,
    ) -> Result<(), StoreError> {
        // What is read before a lost content is handed out, as one by one.
        let whole = ids.iter().position(|id| self.is_lost(*id)).unwrap_or(ids.len());
        self.looked_at().read_contents(ids.get(..whole).unwrap_or_default(), sink)?;
        ids.get(whole).map_or(Ok(()), |lost| Err(StoreError::ContentMissing(*lost)))
    }

    fn sightings(&self, commit: CommitId, limit: usize) -> Result<Vec<Sighting>, StoreError> {
        self.read().sightings(commit, limit)
    }

    fn sessions(&self, filter: &SessionFilter, page: Page) -> Result<Vec<Session>, StoreError> {
        self.read().sessions(filter, page)
    }

    fn session(&self, key: &SessionKey) -> Result<Option<Session>, StoreError> {
        self.read().session(key)
    }

    fn resolve(
        &self,
        scope: &ResolveScope,
        at: Timestamp,
        limit: usize,
    ) -> Result<Vec<CommitId>, StoreError> {
        self.inner.resolve(scope, at, limit)
    }

    fn annotations(&self, commit: CommitId) -> Result<Annotations, StoreError> {
        self.read().annotations(commit)
    }

    fn tagged(&self, tag: &str, limit: usize) -> Result<Vec<CommitId>, StoreError> {
        self.inner.tagged(tag, limit)
    }

    fn audit(&self, commit: CommitId, limit: usize) -> Result<Vec<AuditRecord>, StoreError> {
        self.read().audit(commit, limit)
    }

    fn links(&self, commit: CommitId, limit: usize) -> Result<Vec<Link>, StoreError> {
        self.read().links(commit, limit)
    }

    fn anchored(&self, hashes: &[u64], limit: usize) -> Result<Vec<(u64, CommitId)>, StoreError> {
        self.inner.anchored(hashes, limit)
    }

    fn coverage(&self, commit: CommitId) -> Result<Option<Coverage>, StoreError> {
        self.read().coverage(commit)
    }

    fn last_covered(&self, ledger: &LedgerId) -> Result<Option<Coverage>, StoreError> {
        self.inner.last_covered(ledger)
    }

    fn cursor(&self, key: &SessionKey) -> Result<Option<Vec<u8>>, StoreError> {
        self.read().cursor(key)
    }

    fn placement(&self, machine: &MachineId, path: &str) -> Result<Option<Placement>, StoreError> {
        self.read().placement(machine, path)
    }

    fn identity(&self) -> Result<StoreIdentity, StoreError> {
        self.inner.identity()
    }

    fn usage(&self) -> Result<Usage, StoreError> {
        self.inner.usage()
    }

    fn tombstones(&self, of: &[Tombstone]) -> Result<Vec<Tombstone>, StoreError> {
        self.read().tombstones(of)
    }

    fn redirects(&self, after: Option<CommitId>, limit: usize) -> Result<Redirects, StoreError> {
        self.inner.redirects(after, limit)
    }

    fn has_tombstones(&self) -> Result<bool, StoreError> {
        self.inner.has_tombstones()
    }
}
