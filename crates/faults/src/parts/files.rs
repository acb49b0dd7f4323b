//! The files that we write ourselves (packs, bundles, backups, restores) on a simulated disk in this process: power
//! cuts, failing and torn operations, without a mount.
//!
//! SQLite's files are real and sound here; the mounted parts are about those.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use stemmata_testkit::disk::{Disk, Image};
use stemmata_testkit::files::RecordedFiles;

use super::Effort;
use super::cuts::{Share, TOP, cut, record};
use super::failing::{self, Ground, Short};
use crate::report::Row;
use crate::script::Reference;
use crate::stage::{Stage, scratch};

/// States that the short form looks at, about.
const SHORT_STATES: usize = 50;

/// What the short form tries.
const SHORT: Short = Short { percent: 30, operations_max: 14 };

/// Cuts the power at each operation on our own files.
///
/// # Errors
/// Where the workload cannot be run, or states cannot be written.
pub fn cuts(reference: &Reference, effort: Effort) -> anyhow::Result<Row> {
    let started = Instant::now();
    let mut row = Row::new("files cut");
    let scratch = scratch()?;
    let ground = Folder::new(scratch.path(), effort.seed)?;
    let (stage, files) = ground.recorded(TOP, &Image::default())?;
    let recorded = record(&ground.disk, &stage, reference, &|| files.catch_up())?;
    let share = Share::of(effort, &recorded, SHORT_STATES);
    let states = Stage::new(&scratch.path().join("states"), &ground.outside, effort.seed);
    cut(&recorded, reference, &states, &share, &mut row)?;
    row.took = started.elapsed();
    Ok(row)
}

/// Fails each operation on our own files in turn.
///
/// # Errors
/// Where states cannot be written.
pub fn fails(reference: &Reference, effort: Effort) -> anyhow::Result<Row> {
    let started = Instant::now();
    let mut row = Row::new("files fail");
    let scratch = scratch()?;
    let ground = Folder::new(scratch.path(), effort.seed)?;
    failing::each(&ground, reference, effort, SHORT, &mut row)?;
    row.took = started.elapsed();
    Ok(row)
}

/// Folders of the system, each recorded on a folder of the same name of one disk.
struct Folder {
    disk: Disk,
    path: PathBuf,
    outside: PathBuf,
    seed: u64,
}

impl Folder {
    fn new(scratch: &Path, seed: u64) -> anyhow::Result<Self> {
        let (path, outside) = (scratch.join("real"), scratch.join("outside"));
        std::fs::create_dir_all(&path)?;
        std::fs::create_dir_all(&outside)?;
        Ok(Self { disk: Disk::new(), path: std::fs::canonicalize(path)?, outside, seed })
    }

    fn recorded(&self, top: &str, image: &Image) -> anyhow::Result<(Stage, Arc<RecordedFiles>)> {
        let folder = self.path.join(top);
        image.write(&folder)?;
        self.disk.plant(top, image);
        let files = Arc::new(RecordedFiles::new(&self.disk, top, &folder)?);
        let stage = Stage::new(&folder, &self.outside, self.seed);
        Ok((Stage { files: Arc::<RecordedFiles>::clone(&files), ..stage }, files))
    }
}

impl Ground for Folder {
    fn disk(&self) -> &Disk {
        &self.disk
    }

    fn stage(&self, top: &str, image: &Image) -> anyhow::Result<Stage> {
        Ok(self.recorded(top, image)?.0)
    }

    fn clear(&self, top: &str) -> anyhow::Result<()> {
        self.disk.uproot(top);
        Ok(std::fs::remove_dir_all(self.path.join(top))?)
    }
}
