//! The store's own files: a copy elsewhere, what takes their place, and what mends them.

use std::path::{Path, PathBuf};

use stemmata_api::v1::{BackedUp, Migration, MigrationStep, Repaired, Restored, Verify};
use stemmata_api::{Answer, PlanDigest};
use stemmata_store::maintain::migrate::MigrationPlan;

use super::Host;
use crate::digest::{digest_of, hold};
use crate::wire::maintain as wire;

impl Host {
    /// Copies the store into a folder, or brings an earlier copy there up to date.
    ///
    /// # Errors
    /// `not_on_disk`, `store_refused`, `no_room`.
    pub fn backup(&self, to: &Path) -> Answer<BackedUp> {
        self.with(|home| Ok(wire::backed_up(to, &home.backup(to)?)))
    }

    /// Puts what a backup holds in the place of the store. There is no plan of it to hold to: a copy is verified before
    /// anything is replaced, and nothing is deleted. With `dry_run` only the copy is made, verified and removed again.
    ///
    /// # Errors
    /// `store_in_use`, `not_a_store`, `store_damaged`, `no_room`.
    pub fn restore(&self, from: &Path, dry_run: bool) -> Answer<Restored> {
        self.with(|home| {
            let done = if dry_run { home.check_restore(from)? } else { home.restore(from)? };
            Ok(Restored {
                path: home.store_dir().to_string_lossy().into_owned(),
                from: from.to_string_lossy().into_owned(),
                commits: done.verified.commits,
                contents: done.verified.contents,
                aside: done.aside.as_ref().map(|path| path.to_string_lossy().into_owned()),
                dry_run,
            })
        })
    }

    /// Says what would bring the store to this version, with the plan's digest where there is something to do.
    ///
    /// # Errors
    /// `not_a_store`, `store_too_new`, `store_locked`.
    pub fn plan_migration(&self) -> Answer<Migration> {
        self.with(|home| Ok(planned(&home.plan_migration()?)))
    }

    /// Does the steps of exactly this plan, with a backup first. Where no step is needed, nothing is done, whatever the digest.
    ///
    /// # Errors
    /// `plan_stale`, `store_in_use`, `store_damaged`, `no_room`, `disk_full`.
    pub fn apply_migration(&self, plan: &PlanDigest) -> Answer<Migration> {
        self.with(|home| {
            let found = home.plan_migration()?;
            if let Some(digest) = &planned(&found).digest {
                hold(plan, Some(digest))?;
            }
            Ok(wire::migrated(&home.migrate(&found)?))
        })
    }

    /// Says what going back to the version before this one would do: one step.
    ///
    /// # Errors
    /// `not_a_store`, `store_too_new`, `store_locked`.
    pub fn plan_roll_back(&self) -> Answer<Migration> {
        self.with(|home| {
            let plan = wire::migration(&home.plan_migration()?);
            let step = MigrationStep {
                to: plan.found.saturating_sub(1),
                kind: "rollback".to_owned(),
                about: "the version before".to_owned(),
            };
            Ok(Migration { steps: vec![step], ..plan })
        })
    }

    /// Goes back to the version before this one. Commits that only the newer store has stay behind in it only where
    /// `leaves_commits`; that store is kept.
    ///
    /// # Errors
    /// `store_refused`, `store_in_use`.
    pub fn roll_back(&self, leaves_commits: bool) -> Answer<Migration> {
        self.with(|home| {
            let plan = home.plan_migration()?;
            Ok(wire::rolled_back(&plan, &home.roll_back(&plan, leaves_commits)?))
        })
    }

    /// Mends what can be mended from backups, other stores and bundles, and from transcripts that are still there. What is
    /// damaged still is part of the answer. `named` says how people call a place.
    ///
    /// # Errors
    /// `no_copy_there`, and those of opening a store or a bundle.
    pub fn repair_store(&self, from: &[PathBuf], named: &dyn Fn(&Path) -> String) -> Answer<Verify> {
        self.with(|home| {
            let outcome = home.repair(from, named)?;
            let repaired = outcome.repaired.iter();
            Ok(Verify {
                repaired: repaired
                    .map(|own| Repaired { object: own.object.clone(), from: own.from.clone() })
                    .collect(),
                ..wire::verified(&outcome.verified, &outcome.remaining, 0)
            })
        })
    }
}

/// Returns a plan with its digest, where there is something to do.
fn planned(plan: &MigrationPlan) -> Migration {
    let planned = wire::migration(plan);
    let digest = (!plan.steps.is_empty()).then(|| digest_of("host.migrate", &(), &planned));
    Migration { digest, ..planned }
}
