//! The seam's part for upkeep over the database, and what can be done with its files.
//!
//! Each refuses where the store was not opened for maintenance; what it does is `maintain`'s, `packs`', `repair`'s and `backup`'s.

use std::path::Path;

use stemmata_model::CommitId;

use super::{SqliteStore, backup, collect, packs, waited};
use crate::error::StoreError;
use crate::maintain::backup::BackedUp;
use crate::maintain::collect::{Amount, Collect, Collected};
use crate::maintain::costs::{ContentCost, Counted};
use crate::maintain::forget::{Forget, Forgotten, Tombstone};
use crate::maintain::pack::{PackOptions, Packed};
use crate::maintain::repair::{RepairOutcome, RepairSource};
use crate::rules::bounds::check_costed;
use crate::seam::{Damage, OnDisk, Store, Upkeep, Verified};

impl Store for SqliteStore {}

impl Upkeep for SqliteStore {
    fn forget(&self, wish: &Forget) -> Result<Forgotten, StoreError> {
        self.hold_maintained("forgetting")?;
        self.forget_all(wish).map_err(|error| waited(error, &self.options))
    }

    fn collect(&self, wish: &Collect) -> Result<Collected, StoreError> {
        self.hold_maintained("collecting")?;
        self.collect_all(wish).map_err(|error| waited(error, &self.options))
    }

    fn condemned(&self) -> Result<Amount, StoreError> {
        self.read(|reader| collect::condemned(reader.connection()))
    }

    fn costs(&self, of: &[CommitId], counted: &mut Counted) -> Result<Vec<ContentCost>, StoreError> {
        check_costed(of)?;
        self.read(|reader| reader.costs(of, counted))
    }

    fn lift(&self, of: &Tombstone) -> Result<u64, StoreError> {
        self.hold_maintained("lifting tombstones")?;
        self.lift_all(of).map_err(|error| waited(error, &self.options))
    }

    fn verify(&self, found: &mut dyn FnMut(Damage)) -> Result<Verified, StoreError> {
        let mut verified = self.read(|reader| Ok(reader.verify(found)))?;
        self.verify_log(&mut verified, found)?;
        Ok(verified)
    }

    fn on_disk(&self) -> Option<&dyn OnDisk> {
        Some(self)
    }
}

impl OnDisk for SqliteStore {
    fn pack(&self, options: &PackOptions) -> Result<Packed, StoreError> {
        self.hold_maintained("packing")?;
        packs::pack(&self.maintained(), options).map_err(|error| waited(error, &self.options))
    }

    fn repair(&self, from: &[RepairSource<'_>]) -> Result<RepairOutcome, StoreError> {
        self.hold_maintained("repairing")?;
        self.repair_all(from).map_err(|error| waited(error, &self.options))
    }

    fn backup(&self, to: &Path) -> Result<BackedUp, StoreError> {
        backup::backup(&self.path, &self.options, to).map_err(|error| waited(error, &self.options))
    }
}
