//! Operations that fail: each in turn, with each error; the program hears of it, goes on, and tries again.

use stemmata_engine::{EngineError, ErrorKind};
use stemmata_store::{StoreError, StoreErrorKind};
use stemmata_testkit::disk::{Disk, Failure, Fault, Image};
use stemmata_testkit::rng::Rng;

use super::Effort;
use crate::check::{Verdict, damage, kept, others};
use crate::report::Row;
use crate::script::{Act, Reference, STEPS, Step};
use crate::stage::Stage;

/// Operations of one step at most: a guard against a step that never ends.
const OPERATIONS_MAX: u64 = 100_000;

/// A disk, and where the stages on it are.
pub(super) trait Ground {
    /// Returns the disk that fails.
    fn disk(&self) -> &Disk;

    /// Makes a stage below a new folder of the disk's root, which holds an image.
    fn stage(&self, top: &str, image: &Image) -> anyhow::Result<Stage>;

    /// Clears a stage away.
    fn clear(&self, top: &str) -> anyhow::Result<()>;
}

/// What the short form tries.
#[derive(Debug, Clone, Copy)]
pub(super) struct Short {
    /// Pairs of a step and a failure, in a hundred; one operation of each.
    pub(super) percent: u64,
    /// The last operation that it may fail; a step of fewer passes unharmed.
    pub(super) operations_max: u64,
}

/// Fails every operation of every step in turn; of the short form some of each step, by chance.
pub(super) fn each(
    ground: &dyn Ground,
    reference: &Reference,
    effort: Effort,
    short: Short,
    row: &mut Row,
) -> anyhow::Result<()> {
    let mut rng = Rng::new(effort.seed ^ 0x6661_696c);
    let mut run = 0_u64;
    let wanted = |step: &Step| effort.step.is_none_or(|name| name == step.name);
    for (number, step) in STEPS.iter().enumerate().filter(|(_, step)| wanted(step)) {
        for failure in Failure::ALL {
            if effort.short && !rng.chance(short.percent) {
                continue;
            }
            let mut at = if effort.short { rng.range(0, short.operations_max) } else { 0 };
            while at < OPERATIONS_MAX {
                // Every operation, or each with the chance that is asked for.
                if !effort.short && !rng.chance(effort.percent) && at > 0 {
                    at += 1;
                    continue;
                }
                run += 1;
                let top = format!("run-{run}");
                let stage = ground.stage(&top, &reference.images[number])?;
                let tried = Tried { disk: ground.disk(), stage: &stage, step, reference, number };
                let fired = tried.fail(Fault { failure, at }, row);
                ground.clear(&top)?;
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
    Ok(())
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
        if !fired && error.is_none() {
            // The step ended before it came to the fault: as without one.
            return false;
        }
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
        let act = Act { stage: self.stage, engine: &engine, ledger: before, day: self.step.day };
        match (self.step.act)(&act) {
            Ok(done) => {
                verdict.repaired += done.repaired;
                kept(&engine, after, &mut verdict);
            }
            Err(error) => verdict.unreadable.push(format!("again, when the fault is over: {error:#}")),
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
    // Who forgot hears that words are still there, and why; who asks again ends it.
    if let Some(StoreError::Unclean { reason }) =
        error.chain().find_map(|cause| cause.downcast_ref::<StoreError>())
    {
        // What SQLite says of a sync and of pages that cannot be read is the same here as below.
        let says: &[&str] = match failure {
            Failure::Full => &["no space is left", "Error code 1034"],
            Failure::Read => &["failed", "is damaged"],
            Failure::Io | Failure::Torn => &["failed"],
        };
        return says.iter().any(|words| reason.contains(words));
    }
    let kinds = error.chain().find_map(|cause| {
        let engine = cause.downcast_ref::<EngineError>().map(EngineError::kind);
        let store = cause.downcast_ref::<StoreError>().map(StoreError::kind);
        (engine.is_some() || store.is_some()).then_some((engine, store))
    });
    match (failure, kinds) {
        // What verifies or mends a copy tells of it as damaged, with what the system says.
        (Failure::Read, _) if format!("{error:#}").contains("(os error 5)") => true,
        // What the script does by hand, as a person would, fails in the system's own words.
        (_, None) => error.downcast_ref::<std::io::Error>().is_some(),
        // SQLite says of a sync only that it failed.
        (Failure::Full, Some(_)) if is_failed_sync(error) => true,
        (Failure::Full, Some((engine, store))) => {
            engine == Some(ErrorKind::Full) || store == Some(StoreErrorKind::Full)
        }
        // SQLite says of some pages that cannot be read that they are damaged.
        (Failure::Read, Some((Some(ErrorKind::Corrupt), _) | (_, Some(StoreErrorKind::Corrupt)))) => true,
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
