//! The workload on a disk that fails at each of its operations, and on one that loses its power at each of them.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::sync::Arc;

use stemmata_model::{Event, Timestamp, to_u64};
use stemmata_store::conformance::ledger::builders::said;
use stemmata_store::{
    Durability, EventLog, FileLog, FileLogOptions, Finding, IntegrityMode, StoreError, StoreErrorKind,
};
use tempfile::TempDir;

use super::script::{FORGETTING, FORGOTTEN, STEPS, all, append, id, is_append, is_durable, models, step};
use super::{Tried, is_harmless};
use crate::disk::{Disk, Failure, Fault, Image, Keep, Op, Platter};
use crate::files::RecordedFiles;

/// The folder of the disk that stands for the home.
pub const TOP: &str = "home";

/// Operations of the workload at most.
const OPERATIONS_MAX: u64 = 10_000;

/// Opens a log in a home whose operations are recorded on a disk.
///
/// # Panics
/// Where there is no such folder.
pub fn recorded(disk: &Disk, home: &Path, integrity: IntegrityMode) -> (FileLog, Arc<RecordedFiles>) {
    let files = Arc::new(RecordedFiles::new(disk, TOP, home).expect("a folder"));
    let options =
        FileLogOptions { integrity, files: Arc::<RecordedFiles>::clone(&files), ..FileLogOptions::default() };
    (FileLog::open(home, options).expect("a log"), files)
}

/// Makes a disk with an empty home.
pub fn empty_disk() -> Disk {
    let disk = Disk::new();
    disk.plant(TOP, &Image::default());
    disk
}

fn reopened(home: &Path) -> Result<FileLog, StoreError> {
    FileLog::open(home, FileLogOptions::default())
}

fn restore(log: &FileLog) -> Result<Vec<Finding>, StoreError> {
    Ok(log.restore(&id(), Timestamp::from_micros(5))?.findings)
}

/// Fails every operation of the workload in turn; the step is done again without the fault.
///
/// # Errors
/// Where the system makes no folders.
pub fn failing(scratch: &Path, integrity: IntegrityMode) -> io::Result<Tried> {
    let models = models();
    let mut tried = Tried::default();
    for failure in Failure::ALL {
        for at in 0..OPERATIONS_MAX {
            let home = TempDir::new_in(scratch)?;
            let place = format!("{integrity:?}, {failure:?} at {at}");
            let fault = Fault { failure, at };
            let was_reached =
                fail(home.path(), integrity, fault, &models, &mut tried).unwrap_or_else(|error| {
                    tried.unreadable.push(format!("{place}: {error}"));
                    true
                });
            if !was_reached {
                tried.operations += if matches!(failure, Failure::Io | Failure::Read) { at } else { 0 };
                break;
            }
            tried.faults += 1;
        }
    }
    Ok(tried)
}

/// Runs the workload with a fault, and says whether that came.
fn fail(
    home: &Path,
    integrity: IntegrityMode,
    fault: Fault,
    models: &[Vec<Event>],
    tried: &mut Tried,
) -> Result<bool, StoreError> {
    let disk = empty_disk();
    let (log, _files) = recorded(&disk, home, integrity);
    disk.arm(fault);
    let mut failed = false;
    for (number, model) in models.iter().enumerate().take(STEPS) {
        let Err(error) = step(&log, number) else { continue };
        let place = format!("{integrity:?}, {fault:?}, step {number}");
        failed = true;
        let wanted =
            if fault.failure == Failure::Full { StoreErrorKind::Full } else { StoreErrorKind::System };
        if error.kind() != wanted {
            tried.unclear.push(format!("{place}: {error}"));
        }
        disk.disarm();
        if is_append(number) && all(&log)? != *model {
            tried.lost.push(format!("{place}: something is appended even so"));
        }
        step(&log, number)?;
    }
    let was_reached = disk.disarm() || failed;
    let end = models.last().cloned().unwrap_or_default();
    let now = all(&log)?;
    drop(log);
    let log = reopened(home)?;
    let (later, findings) = (all(&log)?, restore(&log)?);
    tried.states += 1;
    if now != end || later != end {
        tried.lost.push(format!("{integrity:?}, {fault:?}: {} and {} events", now.len(), later.len()));
    }
    if findings.iter().any(Finding::stops) {
        tried.unreadable.push(format!("{integrity:?}, {fault:?}: {findings:?}"));
    }
    Ok(was_reached)
}

/// Cuts the power at every operation of the workload, and looks at what may be left: with so many random choices of it.
///
/// # Errors
/// Where the system makes no folders.
///
/// # Panics
/// Where the workload fails without a fault.
pub fn power(scratch: &Path, integrity: IntegrityMode, random: u64) -> io::Result<Tried> {
    let models = models();
    let (disk, before) = (empty_disk(), empty_disk());
    let home = TempDir::new_in(scratch)?;
    let (log, files) = recorded(&disk, home.path(), integrity);
    disk.start_record();
    for number in 0..STEPS {
        step(&log, number).expect("nothing fails");
        files.catch_up()?;
        disk.mark(u64::try_from(number).expect("a small number"));
    }
    let mut platter = Platter::new(&before);
    let (mut done, mut durable, mut seen) = (0, 0, BTreeSet::new());
    let mut tried = Tried::default();
    for (number, op) in (0_u64..).zip(&disk.end_record()) {
        platter.follow(op);
        if let Op::Mark(step) = op {
            done = usize::try_from(*step).expect("a small number") + 1;
            durable = if is_durable(done - 1) { done } else { durable };
        } else {
            tried.operations += 1;
        }
        for keep in choices(&platter, number, random) {
            tried.faults += 1;
            let image = platter.cut(TOP, keep);
            if !seen.insert((done, image.fingerprint())) {
                continue;
            }
            let place = format!("{integrity:?}, operation {number} after step {done}, {keep:?}");
            let allowed = models.get(durable..=(done + 1).min(STEPS)).unwrap_or_default();
            look_at(scratch, &image, allowed, &place, &mut tried)?;
            let says = |bytes: &[u8]| String::from_utf8_lossy(bytes).contains(FORGOTTEN);
            if done > FORGETTING && image.files().any(|(_, bytes)| says(bytes)) {
                tried.lost.push(format!("{place}: what was forgotten is there"));
            }
        }
    }
    Ok(tried)
}

/// What is tried of all that may be on the platter now.
fn choices(platter: &Platter, number: u64, random: u64) -> Vec<Keep> {
    let mut keeps = vec![Keep::All, Keep::Nothing, Keep::Names, Keep::Data, Keep::Last];
    for at in 1..platter.last_sectors().unwrap_or_default() {
        keeps.extend([Keep::Head(at), Keep::Tail(at)]);
    }
    keeps.extend((0..random).map(|seed| Keep::Random(seed * 100_003 + number)));
    keeps
}

/// Opens what a power cut left: it must be one of the states that it may be, and go on.
///
/// # Errors
/// Where the system makes no folders.
pub fn look_at(
    scratch: &Path,
    image: &Image,
    allowed: &[Vec<Event>],
    place: &str,
    tried: &mut Tried,
) -> io::Result<()> {
    let home = TempDir::new_in(scratch)?;
    image.write(home.path())?;
    tried.states += 1;
    match looked(home.path(), allowed) {
        Ok(None) => {}
        Ok(Some(wrong)) => tried.lost.push(format!("{place}: {wrong}")),
        Err(error) => tried.unreadable.push(format!("{place}: {error}")),
    }
    Ok(())
}

/// Looks at a home, and says what is wrong with it.
fn looked(home: &Path, allowed: &[Vec<Event>]) -> Result<Option<String>, StoreError> {
    let log = reopened(home)?;
    let findings = restore(&log)?;
    if !findings.iter().all(is_harmless) {
        return Ok(Some(format!("{findings:?}")));
    }
    let events = all(&log)?;
    if !allowed.contains(&events) {
        return Ok(Some(format!("{} events, and {findings:?}", events.len())));
    }
    let appended = log.append(append(vec![said("s", "t", "on")], Durability::Batch))?;
    let (now, later) = (all(&log)?, all(&reopened(home)?)?);
    let next = to_u64(events.len()) + 1;
    let goes_on = appended.first.get() == next && now.get(..events.len()) == Some(&events) && now == later;
    Ok((!goes_on).then(|| format!("it goes on with event {} of {}", appended.first, now.len())))
}
