//! A store that fails where a test says: at its N-th batch, before or after applying it, or at a content.
//!
//! What a crash of a process does is tested with real processes, not here.

mod commits;
mod events;
mod fault;
mod follow;
mod names;
mod plan;
#[cfg(test)]
mod tests;
mod upkeep;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use stemmata_model::{ArtifactId, Timestamp};
use stemmata_store::{BatchOutcome, PackOptions, Store, StoreError, Write};

pub use self::fault::Fault;
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
        if let Some(files) = self.inner.on_disk().filter(|_| packs) {
            files.pack(&PackOptions::new(Timestamp::from_micros(0)))?;
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
