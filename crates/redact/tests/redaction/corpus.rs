//! Real transcripts: those that hold no secret come out as they went in.
//! `STEMMATA_CORPUS=… cargo nextest run -p stemmata-redact corpus --no-capture` prints what is found in a megabyte of them.
//! The transcripts are not part of the repository: `STEMMATA_CORPUS` says where they are.

use std::path::{Path, PathBuf};

use stemmata_redact::Scrubber;

/// Most bytes shown around a finding that should not be there.
const PREVIEW_BYTES: usize = 80;

fn files(path: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(path).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files(&path, found) } else { found.push(path) }
    }
}

#[test]
fn clean_transcripts_are_not_touched() {
    #[expect(clippy::disallowed_methods, reason = "a test is told here where the corpus is")]
    let Some(corpus) = std::env::var_os("STEMMATA_CORPUS") else {
        println!("skipped: STEMMATA_CORPUS is not set");
        return;
    };
    let mut paths = Vec::new();
    files(Path::new(&corpus), &mut paths);
    assert!(!paths.is_empty());
    let scrubber = Scrubber::builtin();
    let (mut findings, mut size) = (Vec::new(), 0);
    for path in paths {
        let bytes = std::fs::read(&path).unwrap();
        size += bytes.len();
        for (number, line) in bytes.split_inclusive(|&byte| byte == b'\n').enumerate() {
            for finding in scrubber.scrub_line(line).unwrap().findings {
                let from = finding.offset.saturating_sub(PREVIEW_BYTES);
                let around = String::from_utf8_lossy(&line[from..finding.offset + finding.len]).into_owned();
                findings.push(format!("{}:{}: {}: {around}", path.display(), number + 1, finding.kind));
            }
        }
    }
    let count = findings.len();
    println!(
        "{count} findings in {} MB: {} in 100 MB",
        size >> 20,
        (count * 100).div_ceil((size >> 20).max(1))
    );
    assert!(findings.is_empty(), "{}", findings.join("\n"));
}
