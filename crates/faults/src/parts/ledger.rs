//! Ledgers of files: power cuts, failing operations and kills over a workload of their own.
//!
//! What the workload is, and what must hold after it, is `stemmata_testkit::ledger`'s.

use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::Context as _;
use stemmata_store::{FileLog, FileLogOptions, IntegrityMode};
use stemmata_testkit::children;
use stemmata_testkit::ledger::{Tried, faults, kills};

use super::Effort;
use super::kill::{KILLS, SHORT_KILLS};
use crate::report::Row;
use crate::stage::scratch;

/// Ways of protecting lines that are tried.
const MODES: [IntegrityMode; 3] = [IntegrityMode::Checksum, IntegrityMode::Chain, IntegrityMode::None];

/// Random choices at each operation of a power cut.
const RANDOM_STATES: u64 = 24;

/// As many in the short form.
const SHORT_RANDOM_STATES: u64 = 2;

/// Appends of each thread of a child: more than it lives for.
const APPENDS: usize = 100_000;

/// The argument of a child.
pub const WORK: &str = "ledger-work";

/// Runs what a part of this name names: all of it, or only the kills.
///
/// # Errors
/// Where states cannot be written, or children cannot be started.
pub fn run(program: &Path, part: &str, effort: Effort) -> anyhow::Result<Vec<Row>> {
    let scratch = scratch()?;
    let folder = scratch.path();
    let modes = if effort.short { MODES.get(..1).unwrap_or_default() } else { &MODES };
    let random = if effort.short { SHORT_RANDOM_STATES } else { RANDOM_STATES };
    let mut rows = Vec::new();
    if part != "ledger-kill" {
        rows.push(row("ledger cut", modes, |mode| faults::power(folder, mode, random))?);
        rows.push(row("ledger fail", modes, |mode| faults::failing(folder, mode))?);
    }
    let start =
        |home: &Path, name: &str| children::start(Command::new(program).arg(WORK).arg(home).arg(name));
    let count = if effort.short { SHORT_KILLS } else { KILLS };
    // Children make ledgers in the usual way of protecting them.
    let kill = |_| kills::kill(folder, count, effort.seed, &start);
    rows.push(row("ledger kill", &[IntegrityMode::default()], kill)?);
    Ok(rows)
}

fn row(
    part: &'static str,
    modes: &[IntegrityMode],
    act: impl Fn(IntegrityMode) -> std::io::Result<Tried>,
) -> anyhow::Result<Row> {
    let started = Instant::now();
    let mut tried = Tried::default();
    for mode in modes {
        tried.add(act(*mode).with_context(|| format!("{part}, {mode:?}"))?);
    }
    let count = |wrong: &Vec<String>| u64::try_from(wrong.len()).unwrap_or(u64::MAX);
    let mut row = Row {
        operations: tried.operations,
        faults: tried.faults,
        states: tried.states,
        lost: count(&tried.lost),
        unreadable: count(&tried.unreadable),
        unclear: count(&tried.unclear),
        took: started.elapsed(),
        ..Row::new(part)
    };
    tried.wrong().into_iter().for_each(|wrong| row.note(wrong.clone()));
    Ok(row)
}

/// What a child does: appends until it is killed, and says what it was told.
///
/// # Errors
/// Where the arguments are not ours, or the ledger cannot be opened.
pub fn work(arguments: &[String]) -> anyhow::Result<()> {
    let [home, name] = arguments else {
        anyhow::bail!("`{WORK}` is for this program's own children");
    };
    let log = FileLog::open(Path::new(home), FileLogOptions::default())?;
    let say = |line: &str| {
        let mut out = std::io::stdout().lock();
        // Who no longer listens has killed it.
        drop(writeln!(out, "{line}").and_then(|()| out.flush()));
    };
    kills::work(&log, name, APPENDS, &say);
    Ok(())
}
