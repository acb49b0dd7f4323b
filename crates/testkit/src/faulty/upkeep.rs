//! Upkeep, which never fails.

use stemmata_model::CommitId;
use stemmata_store::maintain::collect::{Amount, Collect, Collected};
use stemmata_store::maintain::costs::{ContentCost, Counted};
use stemmata_store::maintain::forget::{Forget, Forgotten, Tombstone};
use stemmata_store::{Damage, OnDisk, Store, StoreError, Upkeep, Verified};

use super::FaultyStore;

impl<S: Store> Store for FaultyStore<S> {}

impl<S: Store> Upkeep for FaultyStore<S> {
    fn forget(&self, wish: &Forget) -> Result<Forgotten, StoreError> {
        self.inner.forget(wish)
    }

    fn collect(&self, wish: &Collect) -> Result<Collected, StoreError> {
        self.inner.collect(wish)
    }

    fn condemned(&self) -> Result<Amount, StoreError> {
        self.inner.condemned()
    }

    fn costs(&self, of: &[CommitId], counted: &mut Counted) -> Result<Vec<ContentCost>, StoreError> {
        self.inner.costs(of, counted)
    }

    fn lift(&self, of: &Tombstone) -> Result<u64, StoreError> {
        self.inner.lift(of)
    }

    fn verify(&self, found: &mut dyn FnMut(Damage)) -> Result<Verified, StoreError> {
        self.inner.verify(found)
    }

    fn on_disk(&self) -> Option<&dyn OnDisk> {
        self.inner.on_disk()
    }
}
