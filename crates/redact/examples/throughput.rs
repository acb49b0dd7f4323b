//! Measures how fast transcripts are scrubbed, on one core.
//! Not a benchmark suite: `cargo run --release -p stemmata-redact --example throughput -- PATH… [--list] [--no-entropy]`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use stemmata_redact::{RuleFile, RuleScope, Scrubber};

/// Rounds over the corpus; the best one counts, the others warm caches and compile expressions.
const ROUNDS: usize = 5;
const PREVIEW_BYTES: usize = 60;

fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut files = Vec::new();
    for path in arguments.iter().filter(|argument| !argument.starts_with("--")) {
        collect(Path::new(path), &mut files)?;
    }
    let texts: Vec<(PathBuf, Vec<u8>)> = files
        .into_iter()
        .map(|path| Ok((path.clone(), std::fs::read(path)?)))
        .collect::<std::io::Result<_>>()?;
    let bytes: usize = texts.iter().map(|(_, text)| text.len()).sum();

    let started = Instant::now();
    // What entropy costs is seen beside a run without it.
    let text =
        if arguments.iter().any(|argument| argument == "--no-entropy") { "entropy.mode = 'off'" } else { "" };
    let file = RuleFile { name: "arguments", text, scope: RuleScope::Store };
    let scrubber = Scrubber::with_files(&[file]).expect("the file is ours");
    let construction = started.elapsed();
    let hash = scrubber.rules_hash();
    let first_use = started.elapsed();

    let origin = Instant::now();
    let mut out = std::io::stdout().lock();
    let mut best = Duration::MAX;
    let mut findings = 0;
    for round in 0..ROUNDS {
        let started = core_time(origin);
        findings = 0;
        for (path, text) in &texts {
            for (number, line) in text.split_inclusive(|&byte| byte == b'\n').enumerate() {
                let result = scrubber.scrub_line(line).expect("the shipped rules never fail");
                findings += result.findings.len();
                if round == 0 && arguments.iter().any(|argument| argument == "--list") {
                    for finding in &result.findings {
                        let from = finding.offset.saturating_sub(PREVIEW_BYTES);
                        let to = line.len().min(finding.offset + finding.len + PREVIEW_BYTES / 2);
                        let around = String::from_utf8_lossy(line.get(from..to).unwrap_or_default());
                        writeln!(out, "{}:{}: {}: {around}", path.display(), number + 1, finding.kind)?;
                    }
                }
            }
        }
        best = best.min(core_time(origin).saturating_sub(started));
    }
    writeln!(out, "construction {construction:?}, with the rules read {first_use:?} ({:02x}…)", hash[0])?;
    writeln!(out, "{} files, {bytes} bytes, {findings} findings", texts.len())?;
    // Bytes per microsecond are megabytes per second. Below a millisecond the clock of the scheduler is too coarse.
    if best < Duration::from_millis(1) {
        return writeln!(out, "too little to measure");
    }
    writeln!(out, "{} MB/s", bytes as u128 / best.as_micros())
}

/// Returns the time this thread has run, so that what else the machine does is left out; elsewhere the wall clock.
fn core_time(origin: Instant) -> Duration {
    let scheduled = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanos = scheduled.and_then(|text| text.split(' ').next()?.parse().ok());
    nanos.map_or_else(|| origin.elapsed(), Duration::from_nanos)
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    if path.is_file() {
        files.push(path.to_owned());
        return Ok(());
    }
    for entry in std::fs::read_dir(path)? {
        collect(&entry?.path(), files)?;
    }
    Ok(())
}
