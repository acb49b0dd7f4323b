//! Mending what `verify` found: whole packs, single contents, and what follows from commits.
//!
//! Each step is a transaction of its own, and what replaces damaged bytes has their hash. The damaged bytes are not
//! kept: the hash proves that they say nothing more.

mod contents;
mod derived;
mod events;
mod rows;

use std::path::Path;

use stemmata_model::ArtifactId;

use super::{SqliteStore, backup, log_damage};
use crate::error::StoreError;
use crate::maintain::repair::{RepairOutcome, RepairSource, Repaired};
use crate::seam::{Damage, Upkeep, Verified};

/// Damages that one repair looks at, so that its memory is bounded; another one goes on with the rest.
const DAMAGES_MAX: usize = 100_000;

/// How long whoever writes packs is waited for.
const PACKS_WAIT_MS: u64 = 60_000;

impl SqliteStore {
    pub(super) fn repair_all(&self, sources: &[RepairSource<'_>]) -> Result<RepairOutcome, StoreError> {
        let (damages, verified) = self.damages()?;
        let mut repaired = self.repair_packs(sources)?;
        if damages.is_empty() && repaired.is_empty() && verified.kept_rows == 0 {
            return Ok(RepairOutcome { repaired, remaining: damages, verified });
        }
        {
            let _lock = self.packs.lock_patiently(PACKS_WAIT_MS)?;
            // Lists are mended last: most of them are whole again once their parts are.
            for pass in [contents::Pass::Literals, contents::Pass::Lists] {
                for id in self.damages()?.0.iter().filter_map(content_of) {
                    repaired.extend(self.repair_content(id, pass, sources)?);
                }
            }
            // Lengths are recomputed from contents: one that is still damaged may say anything of its own.
            let is_measured = !self.damages()?.0.iter().any(|damage| damage.check == "content_hash");
            repaired.extend(self.repair_derived(&damages, is_measured)?);
            repaired.extend(self.repair_rows(sources)?);
        }
        if damages.iter().any(|damage| damage.check == log_damage::CHECK) {
            repaired.extend(self.repair_log()?);
        }
        let (remaining, verified) = self.damages()?;
        Ok(RepairOutcome { repaired, remaining, verified })
    }

    fn damages(&self) -> Result<(Vec<Damage>, Verified), StoreError> {
        let mut damages = Vec::new();
        let verified = self.verify(&mut |damage| {
            if damages.len() < DAMAGES_MAX {
                damages.push(damage);
            }
        })?;
        Ok((damages, verified))
    }

    /// Brings back pack files that are missing or damaged, from folders that have them.
    fn repair_packs(&self, sources: &[RepairSource<'_>]) -> Result<Vec<Repaired>, StoreError> {
        let dir = self.path.parent().unwrap_or(&self.path);
        let files = self.options.files.as_ref();
        let _lock = self.packs.lock_patiently(PACKS_WAIT_MS)?;
        let found = |folder: &Path, file: &str| folder.join(file).is_file();
        let mut repaired = Vec::new();
        for pack in self.read(|reader| backup::packs::listed(reader.connection()))? {
            if pack.is_sound(files, &dir.join(backup::PACKS))? {
                continue;
            }
            for source in sources {
                let Some(folder) = source.packs.as_deref().filter(|folder| found(folder, &pack.file()))
                else {
                    continue;
                };
                if pack.replace(files, folder, &dir.join(backup::PACKS))? {
                    repaired.push(Repaired { object: pack.file(), from: source.name.clone() });
                    break;
                }
            }
        }
        if !repaired.is_empty() {
            self.packs.forget_files();
        }
        Ok(repaired)
    }
}

/// Returns the content that a damage is about.
fn content_of(damage: &Damage) -> Option<ArtifactId> {
    if damage.check == "content_hash" { damage.object.parse().ok() } else { None }
}
