//! Operations that fail: each in turn, with each error; the program hears of it, goes on, and tries again.

use std::time::Instant;

use stemmata_engine::{EngineError, ErrorKind};
use stemmata_store::{StoreError, StoreErrorKind};
use stemmata_testkit::disk::{Disk, Failure, Fault};
use stemmata_testkit::rng::Rng;

use super::Effort;
use crate::check::{Verdict, damage, kept, others};
use crate::mount::Mounted;
use crate::report::Row;
use crate::script::{Act, Reference, STEPS, Step};
use crate::stage::{Stage, scratch};

/// Operations of one step at most: a guard against a step that never ends.
const OPERATIONS_MAX: u64 = 100_000;

/// The short form fails one operation in so many of a hundred pairs of a step and a failure.
const SHORT_PERCENT: u64 = 45;

/// The last operation of a step that the short form may fail; a step of fewer passes unharmed.
const SHORT_OPERATIONS_MAX: u64 = 40;

/// Fails every operation of every step in turn.
///
/// # Errors
/// Where the disk cannot be mounted.
pub fn run(reference: &Reference, effort: Effort) -> anyhow::Result<Row> {
    let started = Instant::now();
    let mut row = Row::new("failing");
    let scratch = scratch()?;
    let (mount, outside) = (scratch.path().join("mount"), scratch.path().join("outside"));
    std::fs::create_dir_all(&mount)?;
    std::fs::create_dir_all(&outside)?;
    let disk = Disk::new();
    let mounted = Mounted::new(&disk, &mount)?;
    let mut rng = Rng::new(effort.seed ^ 0x6661_696c);
    let mut run = 0_u64;
    let wanted = |step: &Step| effort.step.is_none_or(|name| name == step.name);
    for (number, step) in STEPS.iter().enumerate().filter(|(_, step)| wanted(step)) {
        for failure in Failure::ALL {
            if effort.short && !rng.chance(SHORT_PERCENT) {
                continue;
            }
            let mut at = if effort.short { rng.range(0, SHORT_OPERATIONS_MAX) } else { 0 };
            while at < OPERATIONS_MAX {
                run += 1;
                let top = format!("run-{run}");
                disk.plant(&top, &reference.images[number]);
                let stage =
                    Stage { disk: mounted.path.join(&top), outside: outside.clone(), seed: effort.seed };
                let tried = Tried { disk: &disk, stage: &stage, step, reference, number };
                let fired = tried.fail(Fault { failure, at }, &mut row);
                disk.uproot(&top);
                if !fired {
                    break;
                }
                row.faults += 1;
                at += 1;
                if effort.short {
                    break;
                }
            }
            // Reads are counted apart: the other failures come at the same operations.
            if matches!(failure, Failure::Io | Failure::Read) {
                row.operations += at;
            }
        }
    }
    row.took = started.elapsed();
    Ok(row)
}

struct Tried<'a> {
    disk: &'a Disk,
    stage: &'a Stage,
    step: &'a Step,
    reference: &'a Reference,
    number: usize,
}

impl Tried<'_> {
    /// Does the step with a fault; once more without it, on the same engine where there is one; and looks. Says
    /// whether the fault came.
    fn fail(&self, fault: Fault, row: &mut Row) -> bool {
        let (before, after) =
            (&self.reference.ledgers[self.number], &self.reference.ledgers[self.number + 1]);
        let place = format!("`{}`, {fault:?}", self.step.name);
        let mut verdict = Verdict::default();
        self.disk.arm(fault);
        let opened = self.stage.engine(self.step.day);
        let (engine, error) = match opened {
            Ok(engine) => {
                let act = Act { stage: self.stage, engine: &engine, ledger: before, day: self.step.day };
                let error = (self.step.act)(&act).err();
                (Some(engine), error)
            }
            Err(error) => (None, Some(error)),
        };
        let fired = self.disk.disarm();
        if let Some(error) = &error {
            if !fired {
                verdict.unreadable.push(format!("without a fault: {error:#}"));
            } else if !is_clear(error, fault.failure) {
                row.unclear += 1;
                row.note(format!("{place}: unclear: {error:#}"));
            }
        }
        let engine = match engine.map_or_else(|| self.stage.engine(self.step.day), Ok) {
            Ok(engine) => engine,
            Err(error) => {
                verdict.unreadable.push(format!("it does not open when the fault is over: {error:#}"));
                row.judge(&verdict, &place);
                return fired;
            }
        };
        if let Err(error) =
            (self.step.act)(&Act { stage: self.stage, engine: &engine, ledger: before, day: self.step.day })
        {
            verdict.unreadable.push(format!("again, when the fault is over: {error:#}"));
        } else {
            kept(&engine, after, &mut verdict);
        }
        drop(engine);
        others(self.stage, after, self.step.day, |_| false, &mut verdict);
        match self.stage.engine(self.step.day) {
            Ok(engine) => {
                damage(&engine, &mut verdict);
                if verdict.is_sound() {
                    kept(&engine, after, &mut verdict);
                }
            }
            Err(error) => verdict.unreadable.push(format!("it does not open again: {error:#}")),
        }
        row.judge(&verdict, &place);
        fired
    }
}

/// Says whether an error names what is wrong: no space as no space, a failing device as the system's failure.
fn is_clear(error: &anyhow::Error, failure: Failure) -> bool {
    let kinds = error.chain().find_map(|cause| {
        let engine = cause.downcast_ref::<EngineError>().map(EngineError::kind);
        let store = cause.downcast_ref::<StoreError>().map(StoreError::kind);
        (engine.is_some() || store.is_some()).then_some((engine, store))
    });
    match (failure, kinds) {
        (_, None) => false,
        // SQLite says of a sync only that it failed.
        (Failure::Full, Some(_)) if is_failed_sync(error) => true,
        (Failure::Full, Some((engine, store))) => {
            engine == Some(ErrorKind::Full) || store == Some(StoreErrorKind::Full)
        }
        (Failure::Io | Failure::Torn | Failure::Read, Some((engine, store))) => {
            engine == Some(ErrorKind::System) || store == Some(StoreErrorKind::System)
        }
    }
}

fn is_failed_sync(error: &anyhow::Error) -> bool {
    let failed = error.chain().find_map(|cause| cause.downcast_ref::<rusqlite::Error>());
    let codes = [rusqlite::ffi::SQLITE_IOERR_FSYNC, rusqlite::ffi::SQLITE_IOERR_DIR_FSYNC];
    failed.and_then(rusqlite::Error::sqlite_error).is_some_and(|error| codes.contains(&error.extended_code))
        || error.chain().last().is_some_and(|cause| cause.to_string().contains("Error code 1034"))
}
