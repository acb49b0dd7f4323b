//! The search index: building it, its size, one more turn, and reading the postings of a query.
//! Not the ranking, which is `prompt`'s, nor what makes entries of commits, which is the engine's.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use stemmata_model::{CommitId, MachineId};
use stemmata_store::{
    EntryRef, Index, IndexBatch, IndexEntry, IndexError, IndexLock, IndexOptions, IndexPlace, IndexReader,
    IndexedCommit, IndexedState, Patience, SessionKey, StoredAt, SystemFiles, Watermark,
};

use crate::measure::Times;
use crate::report::{Figure, Line, Section, Target};
use crate::scratch;

use super::Bench;

/// The largest size: a million entries.
const SCALE_MAX: u32 = 10;

/// Entries at size 1.
const ENTRIES: usize = 100_000;

/// Words of an entry, the words that there are, entries of a turn, and turns that are settled at once.
const WORDS: usize = 60;
const VOCABULARY: f64 = 200_000.0;
const TURN: usize = 10;
const TURNS: usize = 256;

/// How often one more turn is settled, and each kind of query is read.
const ROUNDS: usize = 100;

/// A turn is found a tenth of a second after it was captured: its settling may take half of that.
const FRESH: Target = Target::AtMost(Figure::Seconds(0.050));

/// Reading may take half of what a whole query may.
const FEW: Target = Target::AtMost(Figure::Seconds(0.002_5));
const TEN: Target = Target::AtMost(Figure::Seconds(0.005));

pub(super) fn run(bench: &Bench) -> anyhow::Result<Section> {
    let mut lines = Vec::new();
    for scale in bench.scales().iter().copied().filter(|scale| *scale <= SCALE_MAX) {
        lines.extend(measure(scale)?);
    }
    Ok(Section {
        name: "search",
        title: format!("an index of {ENTRIES} entries of {WORDS} words at size 1"),
        notes: vec![format!(
            "Words by Zipf's law, turns of {TURN} entries, {TURNS} turns at once; terms are made before the clock runs. \
             A query reads all postings of its words, without skipping; ranking comes on top. {ROUNDS} rounds each."
        )],
        lines,
    })
}

fn measure(scale: u32) -> anyhow::Result<Vec<Line>> {
    let folder = scratch::folder()?;
    let mut built = Built::open(folder.path())?;
    let count = ENTRIES * usize::try_from(scale)?;
    while built.entries < count {
        built.settle(TURNS)?;
    }
    let size = Figure::bytes(built.index.usage()?.bytes);
    let mut lines = vec![
        Line::ours(scale, "build, terms given", Figure::speed(built.text_bytes, built.took)),
        Line::ours(scale, "size", size).beside("the text", Figure::bytes(built.text_bytes)),
    ];
    let mut fresh = Vec::new();
    for _ in 0..ROUNDS {
        let before = built.took;
        built.settle(1)?;
        fresh.push(built.took.saturating_sub(before));
    }
    lines.extend(percentiles(scale, "one more turn", &Times::new(fresh), FRESH));
    for (name, ranks, target) in QUERIES {
        lines.extend(percentiles(scale, name, &read(&built.index, ranks)?, target));
    }
    Ok(lines)
}

fn percentiles(scale: u32, case: &str, times: &Times, target: Target) -> [Line; 2] {
    [
        Line::ours(scale, format!("{case}, p50"), Figure::time(times.median())).target(target),
        Line::ours(scale, format!("{case}, p99"), Figure::time(times.percentile(99))),
    ]
}

/// Kinds of queries, by the ranks of their words.
const QUERIES: [(&str, std::ops::Range<u32>, Target); 3] = [
    ("three rare words", 150_000..150_003, FEW),
    ("three common words", 20..23, FEW),
    ("ten words", 300..310, TEN),
];

struct Built {
    index: Index,
    lock: IndexLock,
    entries: usize,
    commits: u64,
    text_bytes: u64,
    took: Duration,
    seed: u64,
}

impl Built {
    fn open(dir: &std::path::Path) -> anyhow::Result<Self> {
        let options = IndexOptions {
            files: Arc::new(SystemFiles),
            patience: Patience::each(Duration::from_secs(1)),
            terms: 1,
            store_id: [0; 16],
            can_write: true,
        };
        let index = Index::open(dir, options)?;
        let lock = Index::lock(dir, &SystemFiles)?.ok_or_else(|| anyhow::anyhow!("nobody else is here"))?;
        Ok(Self { index, lock, entries: 0, commits: 0, text_bytes: 0, took: Duration::ZERO, seed: 7 })
    }

    fn settle(&mut self, turns: usize) -> anyhow::Result<()> {
        let expected = self.index.meta()?.watermark;
        let mut batch = IndexBatch { expected, places: vec![place()?], ..IndexBatch::default() };
        for _ in 0..turns {
            let parent = (self.commits > 0).then(|| id(self.commits));
            self.commits += 1;
            let first = batch.entries.len();
            for _ in 0..TURN {
                let entry = self.entry();
                batch.entries.push(entry);
            }
            batch.commits.push(IndexedCommit {
                stored: StoredAt(self.commits),
                id: id(self.commits),
                parent,
                state: IndexedState::Closed,
                entries: (first..batch.entries.len()).map(|entry| Some(EntryRef::New(entry))).collect(),
                starts: vec![0],
                places: vec![0],
                covers: Vec::new(),
            });
        }
        batch.next = Watermark { through: Some((StoredAt(self.commits), id(self.commits))) };
        let start = Instant::now();
        self.index.settle(&self.lock, &batch)?;
        self.took += start.elapsed();
        Ok(())
    }

    fn entry(&mut self) -> IndexEntry {
        let mut terms: BTreeMap<String, u16> = BTreeMap::new();
        for _ in 0..WORDS {
            let word = word(rank(&mut self.seed));
            self.text_bytes += 1 + u64::try_from(word.len()).unwrap_or_default();
            *terms.entry(word).or_default() += 1;
        }
        self.entries += 1;
        let number = u64::try_from(self.entries).unwrap_or_default();
        IndexEntry {
            key: (28_000_000 + number / 4) << 38 | number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 26,
            terms: terms.into_iter().collect(),
            length: u16::try_from(WORDS).unwrap_or(u16::MAX),
            class: u8::from(number % 2 == 1),
            marks: 0,
            minute: u32::try_from(28_000_000 + number / 4).unwrap_or(u32::MAX),
            author: None,
        }
    }
}

/// Draws a word's rank: the r-th is as frequent as 1/r.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a rank is below the vocabulary"
)]
fn rank(seed: &mut u64) -> u32 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    let share = (*seed >> 11) as f64 / (1_u64 << 53) as f64;
    VOCABULARY.powf(share) as u32
}

/// Names a word: as long as words are, and not in the order of the ranks.
fn word(rank: u32) -> String {
    let mut word = String::new();
    let mut rest = rank.wrapping_mul(2_654_435_761);
    for _ in 0..7 {
        word.push(char::from(b'a' + (rest % 26).to_le_bytes()[0]));
        rest /= 26;
    }
    word
}

fn id(commit: u64) -> CommitId {
    let mut bytes = [0; 16];
    bytes.split_at_mut(8).0.copy_from_slice(&commit.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
    CommitId::from_bytes(bytes)
}

fn place() -> anyhow::Result<IndexPlace> {
    Ok(IndexPlace {
        key: SessionKey { machine: MachineId::new("bench")?, path: "/bench.jsonl".to_owned() },
        session: "bench".to_owned(),
        client: "claude-code".to_owned(),
        cwd: None,
        branch: None,
    })
}

fn read(index: &Index, ranks: std::ops::Range<u32>) -> anyhow::Result<Times> {
    let words: Vec<String> = ranks.map(word).collect();
    let mut took = Vec::new();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        black_box(read_once(&index.reader()?, &words)?);
        took.push(start.elapsed());
    }
    Ok(Times::new(took))
}

fn read_once(reader: &IndexReader<'_>, words: &[String]) -> Result<u64, IndexError> {
    let (mut numbers, mut tfs) = ([0; 128], [0; 128]);
    let mut found = 0;
    for segment in reader.segments() {
        for word in words {
            let Some(postings) = segment.postings(word)? else { continue };
            for block in 0..postings.blocks() {
                let count = postings.unpack(block, &mut numbers, &mut tfs)?;
                found += numbers.iter().take(count).map(|number| u64::from(*number)).sum::<u64>();
            }
        }
    }
    Ok(found)
}
