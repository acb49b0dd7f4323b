//! The seam's part for upkeep in memory.
//!
//! There are no files: nothing is packed, mended or copied.

use stemmata_model::CommitId;
use stemmata_store::maintain::collect::{Amount, Collect, Collected};
use stemmata_store::maintain::costs::{ContentCost, Counted};
use stemmata_store::maintain::forget::{Forget, Forgotten, Tombstone};
use stemmata_store::rules::{self, bounds::check_costed};
use stemmata_store::{Damage, OnDisk, Store, StoreError, Upkeep, Verified};

use super::{MemoryStore, costs, count, forget, verify};

impl Store for MemoryStore {}

impl Upkeep for MemoryStore {
    fn forget(&self, wish: &Forget) -> Result<Forgotten, StoreError> {
        self.attempt("forgetting", wish.dry_run, |state| wish.checked(rules::forget::forget(state, wish)?))
    }

    fn collect(&self, wish: &Collect) -> Result<Collected, StoreError> {
        self.attempt("collecting", wish.dry_run, |state| wish.checked(rules::collect::collect(state, wish)?))
    }

    fn condemned(&self) -> Result<Amount, StoreError> {
        let state = self.lock();
        let (commits, contents) = (count(state.condemned.len()), count(state.orphans.len()));
        Ok(Amount { commits, contents, bytes: 0 })
    }

    fn costs(&self, of: &[CommitId], counted: &mut Counted) -> Result<Vec<ContentCost>, StoreError> {
        check_costed(of)?;
        let state = self.lock();
        of.iter().map(|commit| costs::cost_of(&state, *commit, counted)).collect()
    }

    fn lift(&self, of: &Tombstone) -> Result<u64, StoreError> {
        self.maintain("lifting tombstones", |state| forget::lift(state, of))
    }

    fn verify(&self, found: &mut dyn FnMut(Damage)) -> Result<Verified, StoreError> {
        Ok(verify::verify(&self.lock(), found))
    }

    fn on_disk(&self) -> Option<&dyn OnDisk> {
        None
    }
}
