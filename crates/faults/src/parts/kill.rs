//! Kill -9 at random moments of the whole workload: a child works and says what it has, the parent kills it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use stemmata_testkit::disk::Image;
use stemmata_testkit::rng::Rng;

use super::Effort;
use crate::check::{Moment, check};
use crate::ledger::Ledger;
use crate::report::Row;
use crate::script::{self, Reference, STEPS};
use crate::stage::{Stage, scratch};

/// Kills of the long form.
pub(super) const KILLS: u64 = 1_000;

/// Kills of the short form.
pub(super) const SHORT_KILLS: u64 = 40;

/// A child lives for up to so many times what its first step took without faults.
const STEPS_LIVED: u64 = 4;

/// The least that a child's life is drawn from, in microseconds.
const LIFE_MICROS_MIN: u64 = 40_000;

/// Kills children until there are enough.
///
/// # Errors
/// Where children cannot be started.
pub fn run(program: &Path, reference: &Reference, effort: Effort) -> anyhow::Result<Row> {
    let started = Instant::now();
    let mut row = Row::new("kill");
    let mut rng = Rng::new(effort.seed ^ 0x6b69_6c6c);
    let kills = if effort.short { SHORT_KILLS } else { KILLS };
    while row.faults < kills {
        let scratch = scratch()?;
        let stage = Stage::new(&scratch.path().join("disk"), &scratch.path().join("outside"), effort.seed);
        std::fs::create_dir_all(&stage.disk)?;
        std::fs::create_dir_all(&stage.outside)?;
        let copy = Stage { disk: scratch.path().join("copy"), ..stage.clone() };
        let (mut next, mut killed_here) = (0, 0);
        while next < STEPS.len() && row.faults < kills {
            // A step that was often killed gets longer, so that a busy machine comes to the end too.
            let life_max = (reference.micros[next] * STEPS_LIVED).max(LIFE_MICROS_MIN) * (1 + killed_here);
            let life = rng.range(0, life_max);
            let child = Child { program, stage: &stage, from: next, ledger: &reference.ledgers[next] };
            let (acknowledged, killed) = child.run_and_kill(Duration::from_micros(life))?;
            row.operations += u64::try_from(acknowledged).unwrap_or(0);
            killed_here = if acknowledged > 0 { 0 } else { killed_here + 1 };
            next += acknowledged;
            if !killed {
                break;
            }
            row.faults += 1;
            Image::read(&stage.disk)?.write(&copy.disk)?;
            let step = STEPS.get(next).map(|step| (step, &reference.ledgers[next + 1]));
            let verdict = check(&copy, Moment { before: &reference.ledgers[next], step });
            std::fs::remove_dir_all(&copy.disk)?;
            let name = STEPS.get(next).map_or("the end", |step| step.name);
            row.judge(&verdict, &format!("kill {} in `{name}`", row.faults));
        }
    }
    row.took = started.elapsed();
    Ok(row)
}

struct Child<'a> {
    program: &'a Path,
    stage: &'a Stage,
    from: usize,
    ledger: &'a Ledger,
}

impl Child<'_> {
    /// Runs a child for so long, and returns how many steps it acknowledged, and whether it was killed before its end.
    fn run_and_kill(&self, life: Duration) -> anyhow::Result<(usize, bool)> {
        let mut process = Command::new(self.program);
        process.arg("work").arg(&self.stage.disk).arg(&self.stage.outside);
        process.arg(self.stage.seed.to_string()).arg(self.from.to_string());
        process.args(self.ledger.names.iter().map(|(name, ids)| {
            let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
            format!("{name}={}", ids.join(","))
        }));
        let mut started = process
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .context("starting a child")?;
        let mut said = BufReader::new(started.stdout.take().context("its output")?);
        let mut greeting = String::new();
        said.read_line(&mut greeting).context("its output")?;
        std::thread::sleep(life);
        // A child that has ended by itself cannot be killed; that is no failure.
        let _ended = started.kill();
        let output = started.wait_with_output().context("its end")?;
        let acknowledged = said.lines().map_while(Result::ok).filter(|line| line == "ack").count();
        let killed = output.status.code().is_none();
        anyhow::ensure!(
            killed || output.status.success(),
            "step {} after {acknowledged} more fails in a child: {}",
            self.from,
            String::from_utf8_lossy(&output.stderr)
        );
        Ok((acknowledged, killed))
    }
}

/// What a child does: the steps from one on, each acknowledged when it has returned.
///
/// # Errors
/// Where a step fails, or the arguments are not ours.
pub fn work(arguments: &[String]) -> anyhow::Result<()> {
    let [disk, outside, seed, from, names @ ..] = arguments else {
        anyhow::bail!("`work` is for this program's own children");
    };
    let stage = Stage::new(Path::new(disk), Path::new(outside), seed.parse()?);
    let mut ledger = Ledger::default();
    for pair in names {
        let (name, id) = pair.split_once('=').context("a name and an id")?;
        let ids = id.split(',').filter(|id| !id.is_empty()).map(str::parse);
        ledger.names.insert(name.to_owned(), ids.collect::<Result<_, _>>()?);
    }
    let mut said = std::io::stdout().lock();
    writeln!(said, "ready")?;
    said.flush()?;
    for step in STEPS.iter().skip(from.parse()?) {
        let done = script::run(step, &stage, &ledger).with_context(|| format!("step `{}`", step.name))?;
        ledger.names.extend(done.names.into_iter().map(|(name, id)| (name.to_owned(), id)));
        writeln!(said, "ack")?;
        said.flush()?;
    }
    Ok(())
}
