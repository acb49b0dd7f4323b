//! Trains the dictionary that small content is compressed with, from made-up text with fixed seeds.
//! Not part of the product: a released dictionary never changes, since stored bytes need it for ever.
//!
//! `train_dictionary` writes `dict/v1.dict`; `--check` compares instead of writing; `--measure FOLDER` says
//! what the dictionary gains on real transcripts.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use stemmata_model::Timestamp;
use stemmata_testkit::claude::{ClaudeSession, Dialect};
use stemmata_testkit::shapes;
use zstd::bulk::Compressor;
use zstd::zstd_safe::CParameter;

/// The dictionary's size. Half of it is nearly as good for one runtime's lines; the rest is for the others.
const DICTIONARY_BYTES_MAX: usize = 112_640;

/// The hash of the released `v1.dict`. Stores in the field hold bytes that only this very file can read.
const RELEASED: &str = "fbd1d9003079c97a384f4b5437fd2ff77c50fdcc658c82c9e67424cb64ff2430";

/// Where a reader of the format looks the hash up.
const FORMAT_DOCUMENT: &str = include_str!("../../../docs/format/dictionary.md");

/// The hash of the made-up text that it was trained on: where that has changed since, training gives
/// another dictionary, which would be `v2.dict`.
const TRAINED_ON: &str = "c8c315998397380ab5702968c0cfaf9863ffdbfa3abf587041681e528ed74fc3";

/// Bytes of a line that are trained on: more would let long file contents drown the envelopes.
const SAMPLE_BYTES_MAX: usize = 4096;

/// How many seeds each shape is made with: twice as many gain less than a hundredth.
const SEEDS: u64 = 150;

/// The compression level that measurements use, the store's own.
const LEVEL: i32 = 3;

/// The level of the last column, for what is compressed again in the background.
const STRONG_LEVEL: i32 = 9;

fn main() -> anyhow::Result<()> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("dict/v1.dict");
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        [] => {
            let dictionary = train()?;
            write(&path, &dictionary)?;
            say(&format!("{}: {}", path.display(), describe(&dictionary)))?;
            say(&format!("trained on text of BLAKE3 {}", text_hash(&samples())))
        }
        ["--check"] => check(&path),
        ["--measure", folder] => measure(&path, Path::new(folder)),
        _ => {
            bail!("use `train_dictionary`, `train_dictionary --check` or `train_dictionary --measure FOLDER`")
        }
    }
}

fn train() -> anyhow::Result<Vec<u8>> {
    let samples = samples();
    zstd::dict::from_samples(&samples, DICTIONARY_BYTES_MAX).context("zstd cannot train on the samples")
}

fn samples() -> Vec<Vec<u8>> {
    let mut samples = Vec::new();
    for seed in 0..SEEDS {
        for version in Dialect::versions() {
            samples.extend(session_lines(seed, version));
        }
        samples.extend(shapes::pi(seed, 25));
        samples.extend(shapes::pi_v1(seed, 25));
        samples.extend(shapes::codex(seed, 25));
        samples.extend(shapes::gemini(seed, 8));
        samples.extend(shapes::opencode(seed, 12));
        samples.extend(shapes::openai_messages(seed, 8));
        samples.extend(shapes::anthropic_messages(seed, 8));
    }
    samples
        .into_iter()
        .map(|line| {
            let mut line = line.into_bytes();
            line.push(b'\n');
            line.truncate(SAMPLE_BYTES_MAX);
            line
        })
        .collect()
}

/// Makes a short session: many short ones have more different ids, folders and names than a few long ones,
/// so that none of those is taken for something that comes back. Versions that few still run get fewer.
fn session_lines(seed: u64, version: &str) -> Vec<String> {
    let one_in = match Dialect::of(version) {
        Dialect::V1_0 => 4,
        Dialect::V2_0 => 2,
        Dialect::V2_1 | Dialect::V2_1_330 => 1,
    };
    if !seed.is_multiple_of(one_in) {
        return Vec::new();
    }
    let session = ClaudeSession::new(seed).version(version).turns(2).tool_calls(5);
    let session = session
        .compactions(u64::from(seed.is_multiple_of(8)))
        .subagents(u64::from(seed.is_multiple_of(4)))
        .start(start(seed));
    let transcript = session.build();
    let side_lines = transcript.subagents.into_iter().flat_map(|file| file.lines);
    transcript.lines.into_iter().chain(side_lines).map(|line| as_trained(&line)).collect()
}

/// Spreads the sessions over a year and a half, so that no date is worth a place in the dictionary.
/// Returns a line as the testkit made it up when the dictionary was trained. What is assigned to a secret is replaced now
/// before it is stored, so made-up sessions do without that word; the shipped dictionary stays what it was trained to be.
fn as_trained(line: &str) -> String {
    line.replace("gadget", "secret").replace("Gadget", "Secret").replace("GADGET", "SECRET")
}

fn start(seed: u64) -> Timestamp {
    let days = i64::try_from(seed).unwrap_or(0) * 4;
    Timestamp::from_micros(1_750_000_000_000_000 + days * 86_410_040_000)
}

/// Holds the shipped dictionary to its hash, and training to the dictionary.
fn check(path: &Path) -> anyhow::Result<()> {
    let shipped = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let hash = blake3::hash(&shipped).to_string();
    if hash != RELEASED {
        bail!(
            "{} is not the released dictionary: {} instead of BLAKE3 {RELEASED}",
            path.display(),
            describe(&shipped)
        );
    }
    if !FORMAT_DOCUMENT.contains(RELEASED) {
        bail!("docs/format/dictionary.md does not name the released dictionary, BLAKE3 {RELEASED}");
    }
    let text = text_hash(&samples());
    if text != TRAINED_ON {
        return say(&format!(
            "{} is the released dictionary: {}\nnote: the made-up text is not the one it was trained on \
             (BLAKE3 {text} instead of {TRAINED_ON}), so training was not compared; see docs/format/dictionary.md",
            path.display(),
            describe(&shipped)
        ));
    }
    let trained = train()?;
    if shipped != trained {
        bail!(
            "training gives other bytes than {}: {} instead of {}; is another zstd linked?",
            path.display(),
            describe(&trained),
            describe(&shipped)
        );
    }
    say(&format!("{} is what training gives: {}", path.display(), describe(&shipped)))
}

/// Returns a hash over all samples with their lengths.
fn text_hash(samples: &[Vec<u8>]) -> String {
    let mut hasher = blake3::Hasher::new();
    for sample in samples {
        hasher.update(&u64::try_from(sample.len()).unwrap_or(u64::MAX).to_le_bytes());
        hasher.update(sample);
    }
    hasher.finalize().to_string()
}

fn describe(dictionary: &[u8]) -> String {
    format!("{} bytes, BLAKE3 {}", dictionary.len(), blake3::hash(dictionary))
}

fn write(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let folder = path.parent().context("the dictionary lies in a folder")?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    file.persist(path)?;
    Ok(())
}

fn say(text: &str) -> anyhow::Result<()> {
    writeln!(std::io::stdout(), "{text}")?;
    Ok(())
}

/// Bytes before and after compression.
#[derive(Default)]
struct Sums {
    raw: usize,
    bare: usize,
    with_dictionary: usize,
    strong: usize,
}

impl Sums {
    fn add(&mut self, raw: &[u8], compressors: &mut Compressors) -> anyhow::Result<()> {
        self.raw += raw.len();
        self.bare += compressors.bare.compress(raw)?.len();
        self.with_dictionary += compressors.with_dictionary.compress(raw)?.len();
        self.strong += compressors.strong.compress(raw)?.len();
        Ok(())
    }

    fn say(&self, what: &str) -> anyhow::Result<()> {
        if self.raw == 0 {
            return Ok(());
        }
        say(&format!(
            "  {what:<18} {:>9} bytes  bare {}  with dictionary {} ({} of logical)  at level {STRONG_LEVEL} {}",
            self.raw,
            ratio(self.raw, self.bare),
            ratio(self.raw, self.with_dictionary),
            ratio(self.with_dictionary, self.raw),
            ratio(self.raw, self.strong),
        ))
    }
}

/// Returns a ratio with two digits, without floating point.
fn ratio(whole: usize, part: usize) -> String {
    let hundredths = (whole * 100 + part / 2) / part.max(1);
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}

struct Compressors {
    bare: Compressor<'static>,
    with_dictionary: Compressor<'static>,
    strong: Compressor<'static>,
}

impl Compressors {
    fn new(dictionary: &[u8]) -> anyhow::Result<Self> {
        let mut made = Self {
            bare: Compressor::new(LEVEL)?,
            with_dictionary: Compressor::with_dictionary(LEVEL, dictionary)?,
            strong: Compressor::with_dictionary(STRONG_LEVEL, dictionary)?,
        };
        for compressor in [&mut made.bare, &mut made.with_dictionary, &mut made.strong] {
            // As the store has it: a row names its dictionary in fewer bytes than a frame does.
            compressor.set_parameter(CParameter::DictIdFlag(false))?;
        }
        Ok(made)
    }
}

fn measure(path: &Path, folder: &Path) -> anyhow::Result<()> {
    let dictionary = std::fs::read(path)?;
    let mut compressors = Compressors::new(&dictionary)?;
    for file in transcripts(folder)? {
        let bytes = std::fs::read(&file)?;
        let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
        let (mut short, mut all, mut turns) = (Sums::default(), Sums::default(), Sums::default());
        let mut turn = Vec::new();
        for line in &lines {
            if line.len() <= 4096 {
                short.add(line, &mut compressors)?;
            }
            all.add(line, &mut compressors)?;
            if starts_turn(line) && !turn.is_empty() {
                turns.add(&std::mem::take(&mut turn), &mut compressors)?;
            }
            turn.extend_from_slice(line);
        }
        turns.add(&turn, &mut compressors)?;
        say(&format!("{} ({} lines)", file.display(), lines.len()))?;
        short.say("lines up to 4 KB")?;
        all.say("lines")?;
        turns.say("turns")?;
    }
    Ok(())
}

/// Says whether a line is a prompt, for the formats that have one.
fn starts_turn(line: &[u8]) -> bool {
    let text = String::from_utf8_lossy(line);
    ["\"role\":\"user\",\"content\":\"", "\"role\":\"user\",\"content\":[{\"type\":\"text\""]
        .iter()
        .any(|mark| text.contains(mark))
        || text.contains("\"type\":\"user_message\"")
}

fn transcripts(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(next) = open.pop() {
        if next.is_dir() {
            for entry in std::fs::read_dir(&next)? {
                open.push(entry?.path());
            }
        } else if next.extension().is_some_and(|extension| extension == "jsonl") {
            found.push(next);
        }
    }
    found.sort();
    Ok(found)
}
