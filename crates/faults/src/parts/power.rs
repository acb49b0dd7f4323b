//! Power cuts: at every operation of the workload, what a disk may hold then is opened and looked through.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Mutex;
use std::time::Instant;

use anyhow::Context as _;
use stemmata_testkit::disk::{Disk, Image, Keep, Op, Platter};
use stemmata_testkit::rng::Rng;

use super::Effort;
use crate::check::{Moment, check};
use crate::mount::Mounted;
use crate::report::Row;
use crate::script::{self, Reference, STEPS};
use crate::stage::{Stage, scratch};

/// The folder of the disk on which the workload runs.
const TOP: &str = "disk";

/// Random choices at each operation.
const RANDOM_STATES: u64 = 6;

/// States that the short form looks at.
const SHORT_STATES: usize = 90;

/// Threads that look at states.
const THREADS: usize = 2;

/// Runs the workload on a recorded disk, then cuts the power at each operation.
///
/// # Errors
/// Where the workload cannot be run, or states cannot be written.
pub fn run(reference: &Reference, effort: Effort) -> anyhow::Result<Row> {
    let started = Instant::now();
    let mut row = Row::new("power");
    let scratch = scratch()?;
    let outside = scratch.path().join("outside");
    std::fs::create_dir_all(&outside)?;
    let (disk, record) = recorded(reference, effort.seed, scratch.path(), &outside)?;
    row.operations = record.iter().filter(|op| !matches!(op, Op::Mark(_))).count() as u64;
    let mut platter = Platter::new(&disk);
    let mut seen = HashSet::new();
    let mut rng = Rng::new(effort.seed ^ 0x0070_6f77);
    // In the short form each operation is looked at with this chance, in percent.
    let share = if effort.short {
        (SHORT_STATES * 100 / (record.len() * 4).max(1)).clamp(1, 100) as u64
    } else {
        effort.percent
    };
    let stage = Stage { disk: scratch.path().join("states"), outside: outside.clone(), seed: effort.seed };
    let mut batch: Vec<State> = Vec::new();
    // Even: step k is under way; odd: it has returned.
    let mut mark = 0_u64;
    for (number, op) in record.iter().enumerate() {
        if let Op::Mark(next) = op {
            looked(&mut batch, mark, reference, &stage, &mut row)?;
            mark = *next;
        }
        platter.follow(op);
        if !rng.chance(share) {
            continue;
        }
        for keep in choices(&platter, &mut rng, effort.short) {
            row.faults += 1;
            let mut image = platter.cut(TOP, keep);
            spoil_index(&mut image, &mut rng);
            if seen.insert((mark, image.fingerprint())) {
                batch.push(State { place: format!("operation {number}, {keep:?}"), image });
            }
        }
        if batch.len() >= 64 {
            looked(&mut batch, mark, reference, &stage, &mut row)?;
        }
    }
    looked(&mut batch, mark, reference, &stage, &mut row)?;
    row.took = started.elapsed();
    Ok(row)
}

struct State {
    place: String,
    image: Image,
}

/// Runs the workload on a mounted disk; returns the disk as it was before, and the record.
fn recorded(
    reference: &Reference,
    seed: u64,
    scratch: &Path,
    outside: &Path,
) -> anyhow::Result<(Disk, Vec<Op>)> {
    let (disk, empty) = (Disk::new(), Disk::new());
    let mount = scratch.join("mount");
    std::fs::create_dir_all(&mount)?;
    for disk in [&disk, &empty] {
        disk.plant(TOP, &Image::default());
    }
    let mounted = Mounted::new(&disk, &mount)?;
    // The paths of transcripts stand in the store: they are the ones that the checks will use.
    let stage = Stage { disk: mounted.path.join(TOP), outside: outside.to_path_buf(), seed };
    disk.start_record();
    for (number, step) in STEPS.iter().enumerate() {
        disk.mark(number as u64 * 2);
        script::run(step, &stage, &reference.ledgers[number])
            .with_context(|| format!("step `{}` on the mounted disk", step.name))?;
        disk.mark(number as u64 * 2 + 1);
    }
    Ok((empty, disk.end_record()))
}

/// What is tried of all that may be on the platter now.
fn choices(platter: &Platter, rng: &mut Rng, short: bool) -> Vec<Keep> {
    let mut choices = vec![Keep::All, Keep::Nothing];
    if platter.pending() == 0 {
        return choices;
    }
    choices.extend([Keep::Names, Keep::Data, Keep::Last]);
    if let Some(sectors) = platter.last_sectors().filter(|sectors| *sectors > 1) {
        for at in [1, sectors / 2, sectors - 1] {
            choices.extend([Keep::Head(at), Keep::Tail(at)]);
        }
    }
    choices.extend((0..if short { 2 } else { RANDOM_STATES }).map(|_| Keep::Random(rng.next_u64())));
    if short {
        let one = choices.remove(2 + rng.index(choices.len() - 2));
        let other = choices.remove(2 + rng.index(choices.len() - 2));
        choices.truncate(2);
        choices.extend([one, other]);
    }
    choices
}

/// The log's index is never synced: after a power cut it may be gone, or hold anything.
fn spoil_index(image: &mut Image, rng: &mut Rng) {
    let indexes: Vec<(String, usize)> = image
        .files()
        .filter(|(path, _)| path.ends_with("-shm"))
        .map(|(path, bytes)| (path.to_owned(), bytes.len()))
        .collect();
    for (path, length) in indexes {
        match rng.range(0, 2) {
            0 => image.take(&path),
            1 => image.put(&path, vec![0; length]),
            _ => image.put(&path, rng.next_u64().to_le_bytes().repeat(length / 8)),
        }
    }
}

/// Looks through states, all of the same moment, and empties the list.
fn looked(
    batch: &mut Vec<State>,
    mark: u64,
    reference: &Reference,
    stage: &Stage,
    row: &mut Row,
) -> anyhow::Result<()> {
    let number = usize::try_from(mark / 2)?;
    let doing = STEPS.get(number).context("a step of the script")?;
    let moment = if mark.is_multiple_of(2) {
        Moment { before: &reference.ledgers[number], step: Some((doing, &reference.ledgers[number + 1])) }
    } else {
        let next = STEPS.get(number + 1).map(|next| (next, &reference.ledgers[number + 2]));
        Moment { before: &reference.ledgers[number + 1], step: next }
    };
    let queue = Mutex::new(std::mem::take(batch).into_iter().enumerate());
    let row = Mutex::new(row);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..THREADS)
            .map(|worker| {
                let (queue, row) = (&queue, &row);
                scope.spawn(move || -> anyhow::Result<()> {
                    loop {
                        let next = queue.lock().expect("no worker panics with it").next();
                        let Some((number, found)) = next else { return Ok(()) };
                        let disk = stage.disk.join(format!("{worker}-{number}"));
                        found.image.write(&disk)?;
                        let stage = Stage { disk: disk.clone(), ..stage.clone() };
                        let verdict = check(&stage, moment);
                        std::fs::remove_dir_all(&disk)?;
                        let place = format!("`{}` ({}), {}", doing.name, mark % 2, found.place);
                        row.lock().expect("no worker panics with it").judge(&verdict, &place);
                    }
                })
            })
            .collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("a check does not panic"))
    })
}
