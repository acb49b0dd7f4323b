//! A folder of transcripts: the first time, the second time, and one large file in little memory.
//! Not live capture, which is a turn at a time.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Duration;

use stemmata_engine::SettleBudget;
use stemmata_model::Granularity;
use stemmata_redact::Scrubber;
use stemmata_runtimes::adapter::DETECT_BYTES_MAX;
use stemmata_runtimes::registry;

use crate::measure::{Contender, Spent, Times, alternate, spent, timed};
use crate::peers::frame::{LEVEL, compress_file};
use crate::report::{Figure, Line, Section, Target};
use crate::{child, input, machine, scratch, stores};

use super::Bench;

/// Bytes of the made-up folder at size 1.
const FOLDER_BYTES: u64 = 32_000_000;

/// Bytes of the large file; ten times as many where the run may take as long as it likes.
const FILE_BYTES: u64 = 256_000_000;

/// How much smaller the file is that shows what memory is needed anyway.
const SMALLER: u64 = 8;

/// How often a folder is imported at size 1; larger ones once.
const ROUNDS: usize = 3;

/// The most that an import may take, as a multiple of `zstd -3 -T1` over the same bytes.
const WALL: Target = Target::RatioAtMost(2.0);

/// The same of the time on a CPU, scrubbing included.
const CPU: Target = Target::RatioAtMost(3.5);

/// How many times as fast a second import is at least: our speed against our own.
const AGAIN: Target = Target::RatioAtLeast(50.0);

/// How much more memory a file may need that is eight times as large.
const MEMORY: Target = Target::RatioAtMost(1.25);

/// How long `stemma import` has the search index take in what it brought: a part of the time that the import took, at least so
/// long. What is left is the next search's.
const SETTLE_SHARE: f64 = 0.35;
const SETTLE_MIN: Duration = Duration::from_millis(20);

/// The most that an import and its share of the index take together, as a multiple of the import alone.
const SETTLED: Target = Target::RatioAtMost(1.5);

const PEER: &str = "zstd -3 -T1";

pub(super) fn run(bench: &Bench) -> anyhow::Result<Section> {
    let mut lines = Vec::new();
    let mut notes = Vec::new();
    if let Some(recorded) = input::recorded_sessions(bench.corpus()) {
        let (note, measured) = folder(1, "recorded", &[recorded], ROUNDS)?;
        notes.push(note);
        lines.extend(measured);
    }
    for scale in bench.scales() {
        let made = scratch::folder()?;
        let files = input::session_files(made.path(), FOLDER_BYTES * u64::from(*scale))?;
        let rounds = if *scale == 1 { ROUNDS } else { 1 };
        let (note, measured) = folder(*scale, "made-up", &files, rounds)?;
        notes.push(note);
        lines.extend(measured);
    }
    lines.push(memory(if bench.scales().len() > 2 { 10 } else { 1 })?);
    notes.push(format!(
        "We import with {} threads into an empty store, durable at the end; the peer compresses file by file with \
         one thread and syncs nothing. Memory: the most that a process of its own ever had; the peer column is \
         a file {SMALLER} times smaller.",
        machine::cpus()
    ));
    Ok(Section {
        name: "import",
        title: "a folder of transcripts, secrets scrubbed".to_owned(),
        notes,
        lines,
    })
}

fn folder(scale: u32, origin: &str, paths: &[PathBuf], rounds: usize) -> anyhow::Result<(String, Vec<Line>)> {
    let scratch = scratch::folder()?;
    // Once before the clock starts: which files are sessions, and all of them in the page cache.
    let first = stores::import(&stores::engine(&scratch.path().join("first"))?, paths, Granularity::Turn)?;
    let mut again = Vec::with_capacity(rounds);
    let mut ticks = [Duration::ZERO; 2];
    let [our_ticks, their_ticks] = &mut ticks;
    let mut rests = Vec::with_capacity(rounds);
    let contenders: [Contender<'_>; 3] = [
        Box::new(|round| {
            let engine = stores::engine(&scratch.path().join(format!("store-{round}")))?;
            let (first_time, done) =
                on_all_threads(our_ticks, || stores::import(&engine, paths, Granularity::Turn))?;
            anyhow::ensure!(done.commits == first.commits, "another number of commits");
            let (second_time, done) = timed(|| stores::import(&engine, paths, Granularity::Turn))?;
            anyhow::ensure!(done.commits == 0, "a second import made commits");
            again.push(second_time.wall);
            Ok(first_time)
        }),
        Box::new(|round| {
            let into = scratch.path().join(format!("frames-{round}"));
            Ok(on_all_threads(their_ticks, || compress(&first.files, &into))?.0)
        }),
        Box::new(|round| {
            let (took, rest) = indexed(&scratch.path().join(format!("indexed-{round}")), paths)?;
            rests.push(took.wall + rest.wall);
            Ok(took)
        }),
    ];
    let [imported, compressed, indexed] = alternate(rounds, contenders)?;
    let [ours, theirs] = ticks.map(|total| total / u32::try_from(rounds).unwrap_or(u32::MAX));
    let [our_cpu, their_cpu] = [ours, theirs].map(Figure::time);
    let bytes = input::total_bytes(&first.files)?;
    let note = format!(
        "{scale}×, {origin}: {} sessions, {bytes} bytes, {} commits.",
        first.files.len(),
        first.commits
    );
    let speed = |runs: &Times| Figure::speed(bytes, runs.median());
    let lines = vec![
        Line::ours(scale, format!("{origin}, wall"), Figure::time(imported.wall.median()))
            .beside(PEER, Figure::time(compressed.wall.median()))
            .target(WALL),
        Line::ours(scale, format!("{origin}, CPU of all threads"), our_cpu)
            .beside(PEER, their_cpu)
            .target(CPU),
        Line::ours(scale, format!("{origin}, speed"), speed(&imported.wall))
            .beside(PEER, speed(&compressed.wall)),
        Line::ours(scale, format!("{origin}, again"), speed(&Times::new(again)))
            .beside("our own first import", speed(&imported.wall))
            .target(AGAIN),
        Line::ours(scale, format!("{origin}, and the index's share"), Figure::time(indexed.wall.median()))
            .beside("our own first import", Figure::time(imported.wall.median()))
            .target(SETTLED),
        Line::ours(
            scale,
            format!("{origin}, and all of the index"),
            Figure::time(Times::new(rests).median()),
        )
        .beside("our own first import", Figure::time(imported.wall.median())),
    ];
    let shares = shares(&first.files)?;
    let parts: Duration = shares.iter().map(|(_, spent)| *spent).sum();
    let rest = ("the rest: files, rows, syncs", ours.saturating_sub(parts));
    let share = |(part, spent)| {
        Line::ours(scale, format!("{origin}, CPU: {part}"), Figure::time(spent)).beside(PEER, their_cpu)
    };
    Ok((note, lines.into_iter().chain(shares.into_iter().chain([rest]).map(share)).collect()))
}

/// Imports and has the index take in a part of it, as the command does; then the rest.
fn indexed(folder: &Path, paths: &[PathBuf]) -> anyhow::Result<(Spent, Spent)> {
    let engine = stores::indexed(&folder.join("store"), &folder.join("index"))?;
    let (took, ()) = timed(|| {
        let (import, _) = timed(|| stores::import(&engine, paths, Granularity::Turn))?;
        let share = import.wall.mul_f64(SETTLE_SHARE).max(SETTLE_MIN);
        stores::settle(&engine, SettleBudget::Within(share)).map(drop)
    })?;
    let rest = spent(|| stores::settle(&engine, SettleBudget::All))?;
    Ok((took, rest))
}

/// Times the parts of an import one after the other, each alone over the same files.
fn shares(files: &[PathBuf]) -> anyhow::Result<[(&'static str, Duration); 4]> {
    let scrubber = Scrubber::builtin();
    let mut compressor = zstd::bulk::Compressor::new(LEVEL)?;
    let [mut scrub, mut split, mut hash, mut compress] = [Duration::ZERO; 4];
    for file in files {
        let bytes = std::fs::read(file)?;
        let head = bytes.get(..bytes.len().min(DETECT_BYTES_MAX)).unwrap_or_default();
        let Some((adapter, _)) = registry::detect(head) else { continue };
        let lines = || bytes.split_inclusive(|byte| *byte == b'\n');
        scrub += timed(|| Ok(lines().try_for_each(|line| scrubber.scrub_line(line).map(drop))?))?.0.cpu;
        let mut splitter = adapter.splitter(Granularity::Turn, None);
        let (spent, ends) = timed(|| {
            let (mut at, mut ends) = (0, Vec::new());
            for line in lines() {
                let cut = splitter.line(line.trim_ascii_end(), &mut Vec::new());
                ends.extend(cut.before.map(|_| at));
                at += line.len();
                ends.extend(cut.after.map(|_| at));
            }
            ends.push(at);
            Ok(ends)
        })?;
        split += spent.cpu;
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let commits = || starts.clone().zip(&ends).filter_map(|(start, end)| bytes.get(start..*end));
        hash += timed(|| Ok(black_box(commits().map(blake3::hash).last())))?.0.cpu;
        compress += timed(|| Ok(commits().try_for_each(|one| compressor.compress(one).map(drop))?))?.0.cpu;
    }
    Ok([("scrubbing", scrub), ("splitting", split), ("hashing", hash), ("compressing", compress)])
}

/// Times something, and adds the time of all threads on a CPU to `total`.
fn on_all_threads<T>(
    total: &mut Duration,
    act: impl FnOnce() -> anyhow::Result<T>,
) -> anyhow::Result<(Spent, T)> {
    let before = machine::process_cpu();
    let done = timed(act)?;
    *total += machine::process_cpu().saturating_sub(before);
    Ok(done)
}

fn compress(files: &[PathBuf], into: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(into)?;
    for (number, file) in files.iter().enumerate() {
        compress_file(file, &into.join(format!("{number}.zst")))?;
    }
    Ok(())
}

fn memory(times: u64) -> anyhow::Result<Line> {
    let scratch = scratch::folder()?;
    let large = FILE_BYTES * times;
    let mut needed = Vec::new();
    for (name, bytes) in [("small", large / SMALLER), ("large", large)] {
        let file = input::session_file(scratch.path(), 9, bytes)?;
        let memory = child::import_apart(&scratch.path().join(name), &file)?;
        anyhow::ensure!(memory.commits > 0, "the file held no commit");
        needed.push(memory.peak_bytes);
        std::fs::remove_file(&file)?;
    }
    let [small, large_needed] = needed[..] else { anyhow::bail!("two files were imported") };
    let case = format!("peak memory, one file of {} MB", large / 1_000_000);
    let peer = format!("one of {} MB", large / SMALLER / 1_000_000);
    Ok(Line::ours(1, case, Figure::bytes(large_needed)).beside(peer, Figure::bytes(small)).target(MEMORY))
}
