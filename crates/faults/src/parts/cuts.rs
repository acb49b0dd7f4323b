//! What a record of operations may leave on a disk: at each of them the power is cut, and what may be there is opened
//! and looked through.

use std::collections::HashSet;
use std::sync::Mutex;

use anyhow::Context as _;
use stemmata_testkit::disk::{Disk, Image, Keep, Op, Platter};
use stemmata_testkit::rng::Rng;

use super::Effort;
use crate::check::{Moment, check};
use crate::report::Row;
use crate::script::{self, Reference, STEPS};
use crate::stage::Stage;

/// The folder of the disk on which the workload runs.
pub(super) const TOP: &str = "disk";

/// Random choices at each operation.
const RANDOM_STATES: u64 = 6;

/// States that are gathered before they are looked at.
const BATCH_STATES: usize = 64;

/// Threads that look at states.
const THREADS: usize = 2;

/// A workload's operations, in order.
pub(super) struct Record {
    /// The disk before the first of them.
    pub(super) before: Disk,
    /// With a mark before each step (twice its number) and after it (one more).
    pub(super) ops: Vec<Op>,
}

/// Runs the workload on a stage of a disk, and records what the disk is asked for; `settle` tells it what it was not
/// asked for.
///
/// # Errors
/// Where a step fails.
pub(super) fn record(
    disk: &Disk,
    stage: &Stage,
    reference: &Reference,
    settle: &dyn Fn() -> std::io::Result<()>,
) -> anyhow::Result<Record> {
    let before = Disk::new();
    before.plant(TOP, &Image::default());
    disk.start_record();
    for (number, step) in STEPS.iter().enumerate() {
        disk.mark(number as u64 * 2);
        script::run(step, stage, &reference.ledgers[number])
            .with_context(|| format!("step `{}` on the recorded disk", step.name))?;
        settle()?;
        disk.mark(number as u64 * 2 + 1);
    }
    Ok(Record { before, ops: disk.end_record() })
}

/// How much of a record is tried.
pub(super) struct Share {
    /// Operations that are looked at, in a hundred.
    pub(super) percent: u64,
    /// Only two choices beside the plainest ones, at each of them.
    pub(super) is_short: bool,
    /// What is drawn is drawn from it.
    pub(super) seed: u64,
}

impl Share {
    /// Returns what an effort means, where the short form looks at about so many states.
    pub(super) fn of(effort: Effort, record: &Record, short_states: usize) -> Self {
        let percent = if effort.short {
            (short_states * 100 / (record.ops.len() * 4).max(1)).clamp(1, 100) as u64
        } else {
            effort.percent
        };
        Self { percent, is_short: effort.short, seed: effort.seed }
    }
}

/// Cuts the power at each operation of a record, and looks at what may be left. States are written below the stage.
///
/// # Errors
/// Where states cannot be written.
pub(super) fn cut(
    record: &Record,
    reference: &Reference,
    stage: &Stage,
    share: &Share,
    row: &mut Row,
) -> anyhow::Result<()> {
    let mut platter = Platter::new(&record.before);
    let mut seen = HashSet::new();
    let mut rng = Rng::new(share.seed ^ 0x0070_6f77);
    let mut batch: Vec<State> = Vec::new();
    // Even: step k is under way; odd: it has returned.
    let mut mark = 0_u64;
    for (number, op) in record.ops.iter().enumerate() {
        if let Op::Mark(next) = op {
            looked(&mut batch, mark, reference, stage, row)?;
            mark = *next;
        } else {
            row.operations += 1;
        }
        platter.follow(op);
        if !rng.chance(share.percent) {
            continue;
        }
        for keep in choices(&platter, &mut rng, share.is_short) {
            row.faults += 1;
            let mut image = platter.cut(TOP, keep);
            spoil_index(&mut image, &mut rng);
            if seen.insert((mark, image.fingerprint())) {
                batch.push(State { place: format!("operation {number}, {keep:?}"), image });
            }
        }
        if batch.len() >= BATCH_STATES {
            looked(&mut batch, mark, reference, stage, row)?;
        }
    }
    looked(&mut batch, mark, reference, stage, row)
}

struct State {
    place: String,
    image: Image,
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
