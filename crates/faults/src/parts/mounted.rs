//! Operations that fail under all files of the stores, SQLite's and ours, on a mounted disk of our own.

use std::path::{Path, PathBuf};
use std::time::Instant;

use stemmata_testkit::disk::{Disk, Image};

use super::Effort;
use super::failing::{self, Ground, Short};
use crate::mount::Mounted;
use crate::report::Row;
use crate::script::Reference;
use crate::stage::{Stage, scratch};

/// What the short form tries.
const SHORT: Short = Short { percent: 40, operations_max: 40 };

/// Fails every operation of every step in turn.
///
/// # Errors
/// Where the disk cannot be mounted.
pub fn run(reference: &Reference, effort: Effort) -> anyhow::Result<Row> {
    let started = Instant::now();
    let mut row = Row::new("failing");
    let scratch = scratch()?;
    let ground = Mount::new(scratch.path(), effort.seed)?;
    failing::each(&ground, reference, effort, SHORT, &mut row)?;
    row.took = started.elapsed();
    Ok(row)
}

struct Mount {
    disk: Disk,
    mounted: Mounted,
    outside: PathBuf,
    seed: u64,
}

impl Mount {
    fn new(scratch: &Path, seed: u64) -> anyhow::Result<Self> {
        let (mount, outside) = (scratch.join("mount"), scratch.join("outside"));
        std::fs::create_dir_all(&mount)?;
        std::fs::create_dir_all(&outside)?;
        let disk = Disk::new();
        let mounted = Mounted::new(&disk, &mount)?;
        Ok(Self { disk, mounted, outside, seed })
    }
}

impl Ground for Mount {
    fn disk(&self) -> &Disk {
        &self.disk
    }

    fn stage(&self, top: &str, image: &Image) -> anyhow::Result<Stage> {
        self.disk.plant(top, image);
        Ok(Stage::new(&self.mounted.path.join(top), &self.outside, self.seed))
    }

    fn clear(&self, top: &str) -> anyhow::Result<()> {
        self.disk.uproot(top);
        Ok(())
    }
}
