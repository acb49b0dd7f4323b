//! Measures what block size, level and a base cost and gain on real transcripts: the table of
//! `docs/decisions/0008-packs.md`.
//!
//! `cargo run --release -p stemmata-store --example measure_packs -- FILE…`

use std::path::Path;
use std::time::Instant;

use anyhow::Context;
use zstd::zstd_safe::{CCtx, CParameter, DCtx};

/// Bytes of blocks that are tried.
const SIZES: [usize; 4] = [256 << 10, 512 << 10, 1 << 20, 2 << 20];

/// Levels that are tried.
const LEVELS: [i32; 6] = [3, 6, 9, 12, 15, 19];

fn main() -> anyhow::Result<()> {
    let files: Vec<Vec<u8>> = std::env::args()
        .skip(1)
        .map(|file| std::fs::read(Path::new(&file)).with_context(|| format!("reading {file}")))
        .collect::<anyhow::Result<_>>()?;
    let total: usize = files.iter().map(Vec::len).sum();
    say(&format!("{} files, {total} bytes", files.len()));
    say("| block | level | base | ratio | share | compress MB/s | decompress MB/s |");
    say("| --- | --- | --- | --- | --- | --- | --- |");
    for size in SIZES.into_iter().chain([usize::MAX]) {
        for level in LEVELS {
            for based in [false, true] {
                if size == usize::MAX && based {
                    continue;
                }
                row(&files, (size, level, based))?;
            }
        }
    }
    Ok(())
}

fn row(files: &[Vec<u8>], (size, level, based): (usize, i32, bool)) -> anyhow::Result<()> {
    let mut stored = 0;
    let mut raw = 0;
    let (mut packing, mut unpacking) = (0.0, 0.0);
    for file in files {
        let mut before: &[u8] = &[];
        for block in lines(file, size) {
            let started = Instant::now();
            let frame = compress(block, if based { before } else { &[] }, level)?;
            packing += started.elapsed().as_secs_f64();
            let started = Instant::now();
            let mut context = DCtx::create();
            if based && !before.is_empty() {
                context.ref_prefix(before).map_err(|code| anyhow::anyhow!("{code}"))?;
            }
            let mut back = Vec::with_capacity(block.len());
            context.decompress(&mut back, &frame).map_err(|code| anyhow::anyhow!("{code}"))?;
            unpacking += started.elapsed().as_secs_f64();
            anyhow::ensure!(back == block, "a block did not come back");
            stored += frame.len();
            raw += block.len();
            before = block;
        }
    }
    let (stored, raw) = (float(stored), float(raw));
    let name = if size == usize::MAX { "whole file".to_owned() } else { format!("{} KiB", size >> 10) };
    say(&format!(
        "| {name} | {level} | {} | {:.2} | {:.4} | {:.0} | {:.0} |",
        if based { "previous" } else { "none" },
        raw / stored,
        stored / raw,
        raw / packing / 1e6,
        raw / unpacking / 1e6,
    ));
    Ok(())
}

/// Cuts bytes into blocks of whole lines of at most `size` bytes, or of one line that is longer.
fn lines(bytes: &[u8], size: usize) -> Vec<&[u8]> {
    let mut blocks = Vec::new();
    let (mut start, mut end) = (0, 0);
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        if end > start && end - start + line.len() > size {
            blocks.extend(bytes.get(start..end));
            start = end;
        }
        end += line.len();
    }
    blocks.extend(bytes.get(start..end).filter(|rest| !rest.is_empty()));
    blocks
}

fn compress(raw: &[u8], before: &[u8], level: i32) -> anyhow::Result<Vec<u8>> {
    let mut context = CCtx::create();
    let failed = |code| anyhow::anyhow!("compressing failed with {code}");
    context.set_parameter(CParameter::CompressionLevel(level)).map_err(failed)?;
    if !before.is_empty() {
        let window = (before.len() + raw.len()).next_power_of_two().trailing_zeros();
        context.set_parameter(CParameter::WindowLog(window.clamp(17, 27))).map_err(failed)?;
        context.set_parameter(CParameter::EnableLongDistanceMatching(true)).map_err(failed)?;
        context.ref_prefix(before).map_err(failed)?;
    }
    let mut stored = Vec::with_capacity(zstd::zstd_safe::compress_bound(raw.len()));
    context.compress2(&mut stored, raw).map_err(failed)?;
    Ok(stored)
}

#[expect(clippy::cast_precision_loss, reason = "shown with four digits")]
fn float(value: usize) -> f64 {
    value as f64
}

#[expect(clippy::print_stdout, reason = "a measurement is printed")]
fn say(line: &str) {
    println!("{line}");
}
