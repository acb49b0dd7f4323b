//! A store that fails where a test says: at its N-th batch, before or after applying it, or at a content.
//!
//! What a crash of a process does is tested with real processes, not here.

mod plan;

use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use stemmata_model::{
    ArtifactId, ArtifactPrefix, Commit, CommitId, CommitPrefix, EventSeq, LedgerId, MachineId, SessionId,
    Sighting, Timestamp, Topic,
};
use stemmata_store::maintain::backup::BackedUp;
use stemmata_store::maintain::collect::{Amount, Collect, Collected};
use stemmata_store::maintain::costs::{ContentCost, Counted};
use stemmata_store::maintain::forget::{Forget, Forgotten, Redirects, Tombstone};
use stemmata_store::maintain::repair::{RepairOutcome, RepairSource};
use stemmata_store::{
    Annotations, Append, Appended, AuditRecord, BatchOutcome, Coverage, Damage, Described, DueKey, EventKey,
    EventLog, EventPage, EventQuery, Keyed, Ledger, LedgerChange, Link, PackOptions, Packed, Page, PartOf,
    Placement, Places, Receipt, ResolveScope, SavedState, Session, SessionFilter, SessionKey, Sink, Store,
    StoreError, StoreIdentity, StoredAt, TipFilter, UnseenKey, Usage, Verified, Write,
};

use self::plan::{Pages, Plan};

/// A [`Store`] around another one, whose batches fail on demand.
pub struct FaultyStore<S> {
    inner: S,
    plan: Mutex<Plan>,
    pages: Mutex<Pages<S>>,
    reads: AtomicU64,
}

impl<S> fmt::Debug for FaultyStore<S> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("FaultyStore").finish_non_exhaustive()
    }
}

impl<S: Store> FaultyStore<S> {
    /// Wraps a store; nothing fails until [`FaultyStore::fail`].
    pub fn new(inner: S) -> Self {
        let pages = Pages { bytes_max: usize::MAX, meddler: None };
        Self { inner, plan: Mutex::default(), pages: Mutex::new(pages), reads: AtomicU64::new(0) }
    }

    /// Returns how often commits and what stands beside them were asked for, contents left out: one query each, or a few.
    pub fn reads(&self) -> u64 {
        self.reads.load(Ordering::Relaxed)
    }

    fn read(&self) -> &S {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.looked_at()
    }

    fn looked_at(&self) -> &S {
        let mut plan = self.plan.lock().unwrap_or_else(PoisonError::into_inner);
        plan.looks += 1;
        let looks = plan.looks;
        let meddler = plan.at_read.take_if(|(number, _)| *number == looks);
        drop(plan);
        if let Some((_, act)) = meddler {
            act();
        }
        &self.inner
    }

    /// Has the batch with this number fail (1 = the next one), once.
    pub fn fail(&self, number: u64, fault: Fault) {
        let mut plan = self.plan.lock().unwrap_or_else(PoisonError::into_inner);
        plan.fault = Some((plan.calls + number, fault));
    }

    /// Has somebody else act right before the batch with this number (1 = the next one), once. It may use this store.
    pub fn meddle(&self, number: u64, act: impl FnOnce() + Send + 'static) {
        let mut plan = self.plan.lock().unwrap_or_else(PoisonError::into_inner);
        plan.meddler = Some((plan.calls + number, Box::new(act)));
    }

    /// Has somebody else act right before the read with this number (1 = the next one), once, of commits, sessions or contents. It
    /// may use this store.
    pub fn meddle_at_read(&self, number: u64, act: impl FnOnce() + Send + 'static) {
        let mut plan = self.plan.lock().unwrap_or_else(PoisonError::into_inner);
        plan.at_read = Some((plan.looks + number, Box::new(act)));
    }

    /// Returns whether somebody is still to act.
    pub fn has_meddler(&self) -> bool {
        let plan = self.plan.lock().unwrap_or_else(PoisonError::into_inner);
        plan.meddler.is_some() || plan.at_read.is_some()
    }

    /// From now on has somebody else act on the store within after each page of events, before its reader can.
    pub fn after_pages(&self, act: impl FnMut(&S) + Send + 'static) {
        self.pages().meddler = Some(Box::new(act));
    }

    /// Has somebody else act after the next page of events only.
    pub fn after_one_page(&self, act: impl FnOnce(&S) + Send + 'static) {
        let mut once = Some(act);
        self.after_pages(move |store| once.take().into_iter().for_each(|act| act(store)));
    }

    /// From now on has a page of events say no more than so many bytes.
    pub fn narrow_pages(&self, bytes_max: usize) {
        self.pages().bytes_max = bytes_max;
    }

    fn pages(&self) -> MutexGuard<'_, Pages<S>> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has every batch be packed after it is applied, so that all that is read comes out of packs.
    pub fn pack_always(&self) {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner).packs = true;
    }

    fn apply(&self, batch: Vec<Write>) -> Result<BatchOutcome, StoreError> {
        let outcome = self.inner.commit_batch(batch)?;
        self.pack_if_wished()?;
        Ok(outcome)
    }

    fn pack_if_wished(&self) -> Result<(), StoreError> {
        let packs = self.plan.lock().unwrap_or_else(PoisonError::into_inner).packs;
        if packs {
            self.inner.pack(&PackOptions::new(Timestamp::from_micros(0)))?;
        }
        Ok(())
    }

    /// Has a content be missing from now on. What is made of ranges of it stays readable.
    pub fn lose(&self, id: ArtifactId) {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner).lost.insert(id);
    }

    fn is_lost(&self, id: ArtifactId) -> bool {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner).lost.contains(&id)
    }

    /// Returns how many batches were tried so far.
    pub fn batches(&self) -> u64 {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner).calls
    }

    /// Returns the store within.
    pub const fn inner(&self) -> &S {
        &self.inner
    }

    /// Gives the store within up.
    pub fn into_inner(self) -> S {
        self.inner
    }

    fn next_fault(&self) -> Option<Fault> {
        let mut plan = self.plan.lock().unwrap_or_else(PoisonError::into_inner);
        plan.calls += 1;
        let calls = plan.calls;
        let meddler = plan.meddler.take_if(|(number, _)| *number == calls);
        drop(plan);
        if let Some((_, act)) = meddler {
            act();
        }
        let mut plan = self.plan.lock().unwrap_or_else(PoisonError::into_inner);
        plan.fault.take_if(|(number, _)| *number == calls).map(|(_, fault)| fault)
    }
}

fn failure() -> StoreError {
    StoreError::Full { operation: "a batch that the test lets fail" }
}

impl<S: Store> FaultyStore<S> {
    /// Writes something, unless this is the batch that fails.
    fn write<T>(&self, act: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
        match self.next_fault() {
            None => act(),
            Some(Fault::Before) => Err(failure()),
            Some(Fault::Beyond) => Err(StoreError::Bound { what: "commits of a chain", value: 2, bound: 1 }),
            Some(Fault::After) => act().and(Err(failure())),
        }
    }
}

/// Appends, states and changes count as batches.
impl<S: Store> EventLog for FaultyStore<S> {
    fn append(&self, append: Append) -> Result<Appended, StoreError> {
        self.write(|| {
            let appended = self.inner.append(append)?;
            self.pack_if_wished()?;
            Ok(appended)
        })
    }

    fn page(&self, ledger: &LedgerId, query: &EventQuery) -> Result<EventPage, StoreError> {
        let bytes_max = query.bytes_max.min(self.pages().bytes_max);
        let page = self.inner.page(ledger, &EventQuery { bytes_max, ..query.clone() });
        if let Some(act) = &mut self.pages().meddler {
            act(&self.inner);
        }
        page
    }

    fn keyed(&self, ledger: &LedgerId, keys: &[EventKey], now: Timestamp) -> Result<Vec<Keyed>, StoreError> {
        self.inner.keyed(ledger, keys, now)
    }

    fn ledger(&self, id: &LedgerId) -> Result<Option<Ledger>, StoreError> {
        self.inner.ledger(id)
    }

    fn ledgers(&self, after: Option<&LedgerId>, limit: usize) -> Result<Vec<Ledger>, StoreError> {
        self.inner.ledgers(after, limit)
    }

    fn ledger_marked(&self, mark: &str) -> Result<Option<LedgerId>, StoreError> {
        self.inner.ledger_marked(mark)
    }

    fn change_ledger(&self, change: LedgerChange) -> Result<(), StoreError> {
        self.write(|| self.inner.change_ledger(change))
    }

    fn receipt(&self, ledger: &LedgerId, topic: &Topic) -> Result<Option<Receipt>, StoreError> {
        self.inner.receipt(ledger, topic)
    }

    fn trim(&self, ledger: &LedgerId, topic: &Topic, through: EventSeq) -> Result<u64, StoreError> {
        self.inner.trim(ledger, topic, through)
    }

    fn forget_events(&self, session: &SessionId) -> Result<u64, StoreError> {
        self.inner.forget_events(session)
    }

    fn forget_places(&self, ledger: &LedgerId, places: &Places) -> Result<u64, StoreError> {
        self.inner.forget_places(ledger, places)
    }

    fn save_states(&self, ledger: &LedgerId, states: Vec<SavedState>) -> Result<(), StoreError> {
        self.write(|| self.inner.save_states(ledger, states))
    }

    fn save_folded(&self, ledger: &LedgerId, epoch: u64, states: Vec<SavedState>) -> Result<(), StoreError> {
        self.write(|| self.inner.save_folded(ledger, epoch, states))
    }

    fn saved_states(&self, ledger: &LedgerId, prefix: &str) -> Result<Vec<SavedState>, StoreError> {
        self.inner.saved_states(ledger, prefix)
    }

    fn drop_states(&self, ledger: &LedgerId, prefix: &str) -> Result<(), StoreError> {
        self.inner.drop_states(ledger, prefix)
    }

    fn close(&self) -> Result<(), StoreError> {
        self.inner.close()
    }
}

impl<S: Store> Store for FaultyStore<S> {
    fn commit_batch(&self, batch: Vec<Write>) -> Result<BatchOutcome, StoreError> {
        self.write(|| self.apply(batch))
    }

    fn commit(&self, id: CommitId) -> Result<Option<Commit>, StoreError> {
        self.read().commit(id)
    }

    fn commits_in(&self, prefix: CommitPrefix, limit: usize) -> Result<Vec<CommitId>, StoreError> {
        self.inner.commits_in(prefix, limit)
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

    fn commits_after(&self, after: Option<CommitId>, limit: usize) -> Result<Vec<Commit>, StoreError> {
        self.read().commits_after(after, limit)
    }

    fn stored_after(
        &self,
        after: Option<StoredAt>,
        limit: usize,
    ) -> Result<Vec<(StoredAt, Commit)>, StoreError> {
        self.read().stored_after(after, limit)
    }

    fn seen_by(
        &self,
        session: &SessionKey,
        after: Option<StoredAt>,
        limit: usize,
    ) -> Result<Vec<(StoredAt, Commit)>, StoreError> {
        self.read().seen_by(session, after, limit)
    }

    fn content_length(&self, id: ArtifactId) -> Result<Option<u64>, StoreError> {
        if self.is_lost(id) { Ok(None) } else { self.looked_at().content_length(id) }
    }

    fn artifacts_in(&self, prefix: ArtifactPrefix, limit: usize) -> Result<Vec<ArtifactId>, StoreError> {
        self.inner.artifacts_in(prefix, limit)
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

    fn costs(&self, of: &[CommitId], counted: &mut Counted) -> Result<Vec<ContentCost>, StoreError> {
        self.inner.costs(of, counted)
    }

    fn pack(&self, options: &PackOptions) -> Result<Packed, StoreError> {
        self.inner.pack(options)
    }

    fn forget(&self, wish: &Forget) -> Result<Forgotten, StoreError> {
        self.inner.forget(wish)
    }

    fn collect(&self, wish: &Collect) -> Result<Collected, StoreError> {
        self.inner.collect(wish)
    }

    fn condemned(&self) -> Result<Amount, StoreError> {
        self.inner.condemned()
    }

    fn index_due(&self) -> Result<Vec<DueKey>, StoreError> {
        self.inner.index_due()
    }

    fn leave_index_due(&self) -> Result<(), StoreError> {
        self.write(|| self.inner.leave_index_due())
    }

    fn index_unseen(&self, limit: usize) -> Result<Vec<UnseenKey>, StoreError> {
        self.read().index_unseen(limit)
    }

    fn index_unseen_done(&self, keys: &[UnseenKey]) -> Result<(), StoreError> {
        self.write(|| self.inner.index_unseen_done(keys))
    }

    fn index_done(&self, keys: &[DueKey]) -> Result<(), StoreError> {
        self.write(|| self.inner.index_done(keys))
    }

    fn tombstones(&self, of: &[Tombstone]) -> Result<Vec<Tombstone>, StoreError> {
        self.read().tombstones(of)
    }

    fn tombstones_in(&self, prefix: CommitPrefix, limit: usize) -> Result<Vec<CommitId>, StoreError> {
        self.inner.tombstones_in(prefix, limit)
    }

    fn redirects(&self, after: Option<CommitId>, limit: usize) -> Result<Redirects, StoreError> {
        self.inner.redirects(after, limit)
    }

    fn has_tombstones(&self) -> Result<bool, StoreError> {
        self.inner.has_tombstones()
    }

    fn lift(&self, of: &Tombstone) -> Result<u64, StoreError> {
        self.inner.lift(of)
    }

    fn verify(&self, found: &mut dyn FnMut(Damage)) -> Result<Verified, StoreError> {
        self.inner.verify(found)
    }

    fn repair(&self, from: &[RepairSource<'_>]) -> Result<RepairOutcome, StoreError> {
        self.inner.repair(from)
    }

    fn backup(&self, to: &Path) -> Result<Option<BackedUp>, StoreError> {
        self.inner.backup(to)
    }
}

mod fault;
mod names;
pub use fault::Fault;
#[cfg(test)]
mod tests;
