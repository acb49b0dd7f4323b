//! The store's files as a whole: a copy of them elsewhere, and what takes their place.
//!
//! What is copied, verified and exchanged is the store's; here is only where things go. Nothing is deleted: the store that was
//! there is moved aside.

use std::fs;
use std::path::{Path, PathBuf};

use stemmata_model::Timestamp;
use stemmata_store::maintain::backup::{BackedUp, Restored};
use stemmata_store::maintain::migrate::{Migrated, MigrationPlan, RolledBack};
use stemmata_store::{Files as _, SqliteStore, SystemFiles};

use super::{Home, machine};
use crate::error::{EngineError, Refusal, Result};

/// What names of stores begin with that were moved aside.
const ASIDE: &str = "store.before-";

/// The same of backups from before a migration.
const VERSION: &str = "store.v";

impl Home {
    /// Copies the store into a folder, or brings an earlier copy there up to date.
    ///
    /// # Errors
    /// `Refused` for a store that is on no disk; store errors.
    pub fn backup(&self, to: &Path) -> Result<BackedUp> {
        // What a killed backup leaves has a temporary name in one of these: the sweeps look there from now on. Where nothing can be
        // noted, as beside a store that is read-only, the backup is made all the same.
        let is_update = fs::read_dir(to).is_ok_and(|mut entries| entries.next().is_some());
        let around = to.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = if is_update { to } else { around };
        for above in folder.ancestors().collect::<Vec<_>>().into_iter().rev() {
            let _made = SystemFiles.make_directory(above);
        }
        let _noted = self.temp_files().create_named(folder);
        let engine = self.engine()?;
        let files = engine.store.on_disk().ok_or_else(|| EngineError::Refused {
            what: Refusal::Backup,
            reasons: vec!["this store keeps nothing on a disk".to_owned()],
        })?;
        let done = files.backup(to)?;
        machine::leave_in(&self.dir, to)?;
        Ok(done)
    }

    /// Puts what a backup holds in the place of the store; a copy of it is verified first. The machine that made the backup counts as
    /// this one, so that its sessions are still its own where the directory was lost.
    ///
    /// # Errors
    /// Store errors: the store is as it was then. `MachineFile` and `Io` where it is restored and only the machine could not be taken up.
    pub fn restore(&self, from: &Path) -> Result<Restored> {
        let _alone = self.recall()?;
        let aside = self.aside("restore");
        let done = SqliteStore::restore(from, &self.store_dir(), &aside, &self.store_options())?;
        machine::take_up_from(&self.dir, from, &self.options.machine, &|| self.alone())?;
        Ok(done)
    }

    /// Checks that [`Home::restore`] would succeed, and changes nothing.
    ///
    /// # Errors
    /// Store errors.
    pub fn check_restore(&self, from: &Path) -> Result<Restored> {
        let _alone = self.recall()?;
        let aside = self.aside("restore");
        Ok(SqliteStore::check_restore(from, &self.store_dir(), &aside, &self.store_options())?)
    }

    /// Returns what would bring the store to this version. Changes nothing.
    ///
    /// # Errors
    /// Store errors.
    pub fn plan_migration(&self) -> Result<MigrationPlan> {
        Ok(SqliteStore::migration_plan(&self.store_dir(), &self.store_options())?)
    }

    /// Does the steps of a plan, with a backup beside the store first.
    ///
    /// # Errors
    /// Store errors. The store is as it was then.
    pub fn migrate(&self, plan: &MigrationPlan) -> Result<Migrated> {
        let _alone = self.recall()?;
        let backup = self.backup_of(plan.found);
        Ok(SqliteStore::migrate(&self.store_dir(), &backup, &self.store_options())?)
    }

    /// Goes back to the version before the one of a plan. Commits that only the newer store has stay behind in it only where
    /// `leaves_commits`.
    ///
    /// # Errors
    /// Store errors. Nothing was changed then.
    pub fn roll_back(&self, plan: &MigrationPlan, leaves_commits: bool) -> Result<RolledBack> {
        let _alone = self.recall()?;
        let (backup, aside) = (self.backup_of(plan.found.saturating_sub(1)), self.aside("rollback"));
        let options = self.store_options();
        Ok(SqliteStore::roll_back(&self.store_dir(), &backup, &aside, leaves_commits, &options)?)
    }

    /// Returns where the backup of a version is: beside the store, named by the version.
    fn backup_of(&self, version: u32) -> PathBuf {
        self.dir.join(format!("{VERSION}{version}"))
    }

    /// Returns where the store that is there goes, named by what for and when.
    fn aside(&self, why: &str) -> PathBuf {
        self.dir.join(format!("{ASIDE}{why}-{}", compact(self.options.clock.now())))
    }

    /// Returns the stores that a restore, a rollback or a migration left beside this one, in the order of their names. Nothing that
    /// is forgotten goes from them.
    pub fn stores_aside(&self) -> Vec<PathBuf> {
        let mut names = SystemFiles.list(&self.dir).unwrap_or_default();
        let is_version =
            |name: &str| name.strip_prefix(VERSION).is_some_and(|version| version.parse::<u32>().is_ok());
        names.retain(|name| name.starts_with(ASIDE) || is_version(name));
        names.sort();
        names.into_iter().map(|name| self.dir.join(name)).collect()
    }
}

/// Returns a time as part of a file name: `20260309T120000Z`.
fn compact(time: Timestamp) -> String {
    let text = time.to_string();
    let seconds = text.split('.').next().unwrap_or(&text).trim_end_matches('Z');
    let plain: String = seconds.chars().filter(char::is_ascii_alphanumeric).collect();
    format!("{plain}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_in_names_are_short() {
        assert_eq!(compact("2026-03-09T12:00:00.000000Z".parse().unwrap()), "20260309T120000Z");
    }
}
