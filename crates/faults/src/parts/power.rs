//! Power cuts under all files of the stores, SQLite's and ours, on a mounted disk of our own.

use std::time::Instant;

use stemmata_testkit::disk::{Disk, Image};

use super::Effort;
use super::cuts::{Share, TOP, cut, record};
use crate::mount::Mounted;
use crate::report::Row;
use crate::script::Reference;
use crate::stage::{Stage, scratch};

/// States that the short form looks at, about.
const SHORT_STATES: usize = 90;

/// Runs the workload on a recorded disk, then cuts the power at each operation.
///
/// # Errors
/// Where the workload cannot be run, or states cannot be written.
pub fn run(reference: &Reference, effort: Effort) -> anyhow::Result<Row> {
    let started = Instant::now();
    let mut row = Row::new("power");
    let scratch = scratch()?;
    let (mount, outside) = (scratch.path().join("mount"), scratch.path().join("outside"));
    std::fs::create_dir_all(&mount)?;
    std::fs::create_dir_all(&outside)?;
    let disk = Disk::new();
    disk.plant(TOP, &Image::default());
    let recorded = {
        let mounted = Mounted::new(&disk, &mount)?;
        // The paths of transcripts stand in the store: they are the ones that the checks will use.
        let stage = Stage::new(&mounted.path.join(TOP), &outside, effort.seed);
        record(&disk, &stage, reference, &|| Ok(()))?
    };
    let share = Share::of(effort, &recorded, SHORT_STATES);
    let stage = Stage::new(&scratch.path().join("states"), &outside, effort.seed);
    cut(&recorded, reference, &stage, &share, &mut row)?;
    row.took = started.elapsed();
    Ok(row)
}
