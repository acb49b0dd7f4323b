//! A folder of transcripts: the first time, the second time, and one large file in little memory.
//! Not live capture, which is a turn at a time.

use std::path::{Path, PathBuf};
use std::time::Duration;

use stemmata_model::Granularity;

use crate::measure::{Contender, alternate, timed};
use crate::peers::frame::compress_file;
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

/// How many times as fast a second import is at least: our speed against our own.
const AGAIN: Target = Target::RatioAtLeast(50.0);

/// How much more memory a file may need that is eight times as large.
const MEMORY: Target = Target::RatioAtMost(1.25);

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
    let mut contenders: [Contender<'_>; 2] = [
        Box::new(|round| {
            let engine = stores::engine(&scratch.path().join(format!("store-{round}")))?;
            let (elapsed, done) = timed(|| stores::import(&engine, paths, Granularity::Turn))?;
            anyhow::ensure!(done.commits == first.commits, "another number of commits");
            let (second, done) = timed(|| stores::import(&engine, paths, Granularity::Turn))?;
            anyhow::ensure!(done.commits == 0, "a second import made commits");
            again.push(second);
            Ok(elapsed)
        }),
        Box::new(|round| compress(&first.files, &scratch.path().join(format!("frames-{round}")))),
    ];
    let times = alternate(rounds, &mut contenders)?;
    drop(contenders);
    let [imported, compressed] = &times[..] else { anyhow::bail!("each contender has its times") };
    let bytes = input::total_bytes(&first.files)?;
    let again = crate::measure::Times::new(again);
    let note = format!(
        "{scale}×, {origin}: {} sessions, {bytes} bytes, {} commits.",
        first.files.len(),
        first.commits
    );
    let lines = vec![
        Line::ours(scale, format!("{origin}, wall"), Figure::time(imported.median()))
            .beside("zstd -3 -T1", Figure::time(compressed.median()))
            .target(WALL),
        Line::ours(scale, format!("{origin}, speed"), Figure::speed(bytes, imported.median()))
            .beside("zstd -3 -T1", Figure::speed(bytes, compressed.median())),
        Line::ours(scale, format!("{origin}, again"), Figure::speed(bytes, again.median()))
            .beside("our own first import", Figure::speed(bytes, imported.median()))
            .target(AGAIN),
    ];
    Ok((note, lines))
}

fn compress(files: &[PathBuf], into: &Path) -> anyhow::Result<Duration> {
    std::fs::create_dir_all(into)?;
    let (elapsed, ()) = timed(|| {
        for (number, file) in files.iter().enumerate() {
            compress_file(file, &into.join(format!("{number}.zst")))?;
        }
        Ok(())
    })?;
    Ok(elapsed)
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
