//! A durable checkpoint of a turn: alone, from eight threads, from eight processes.
//! Not an import, which hands many commits to the store at once.

use std::path::Path;
use std::thread;
use std::time::Duration;

use anyhow::Context as _;
use stemmata_engine::Engine;
use stemmata_model::{
    Closure, CommitCore, CommitId, CommitType, Counts, FormatId, Template, Timestamp, artifact_id,
};
use stemmata_store::{NewCommit, NewContent, Write};

use crate::child::{self, DELTA_BYTES};
use crate::measure::{Contender, Runs, Times, alternate, spent};
use crate::peers::append::AppendFile;
use crate::peers::rows::Rows;
use crate::report::{Figure, Line, Section, Target};
use crate::stores::{CLAUDE_FORMAT, Thread};
use crate::{input, scratch, stores};

use super::Bench;

/// Checkpoints that are timed at each size, beside as many of each peer.
const SAMPLES: usize = 1_000;

/// Commits that are there before, at size 1.
const STORED: usize = 1_000;

/// Deltas that the store is filled with; the same ones again make no new content, so their time differs.
const FILL_BATCH: usize = 1_000;

/// Threads, and processes, at once.
const TOGETHER: u64 = 8;

/// Checkpoints of each thread or process.
const EACH: usize = 150;

/// How often threads and a single thread take turns.
const ROUNDS: usize = 3;

/// The most that a checkpoint may take in the middle and at worst, as a multiple of one append with its sync.
const P50: Target = Target::RatioAtMost(1.3);
const P99: Target = Target::RatioAtMost(2.0);

const APPEND: &str = "append + fdatasync";
const TABLE: &str = "SQLite row FULL + zstd";

pub(super) fn run(bench: &Bench) -> anyhow::Result<Section> {
    let mut lines = Vec::new();
    let mut delta_bytes = 0;
    for scale in bench.scales() {
        let folder = scratch::folder()?;
        let deltas = input::deltas(u64::from(*scale), SAMPLES, DELTA_BYTES)?;
        delta_bytes = deltas.iter().map(Vec::len).sum::<usize>() / deltas.len().max(1);
        let engine = stores::engine(&folder.path().join("store"))?;
        fill(&engine, STORED * usize::try_from(*scale)?)?;
        lines.extend(alone(*scale, folder.path(), &engine, &deltas)?);
        lines.extend(threads(*scale, &engine)?);
        drop(engine);
        lines.extend(processes(*scale, folder.path())?);
    }
    Ok(Section {
        name: "checkpoint",
        title: format!("a turn of {delta_bytes} bytes on average, durable when it returns"),
        notes: vec![
            format!(
                "{SAMPLES} checkpoints of each, alternating, into a store that holds {STORED} commits (10×: ten \
                 times as many); the same bytes to everyone."
            ),
            format!(
                "{TOGETHER} threads and {TOGETHER} processes make {EACH} checkpoints each, every one in a session \
                 of its own."
            ),
        ],
        lines,
    })
}

/// A chain written straight to the store: content and commit, no session, no sighting.
struct Chain {
    format: FormatId,
    template: Template,
    tip: Option<CommitId>,
    at: i64,
}

impl Chain {
    fn new() -> anyhow::Result<Self> {
        Ok(Self {
            format: FormatId::new(CLAUDE_FORMAT)?,
            template: Template::new("bench/main")?,
            tip: None,
            at: 0,
        })
    }

    fn writes(&mut self, engine: &Engine, bytes: &[u8]) -> [Write; 2] {
        self.at += 1;
        let core = CommitCore {
            parent: self.tip,
            commit_type: CommitType::Delta,
            artifact: artifact_id(bytes),
            native: None,
            format: self.format.clone(),
            template: self.template.clone(),
            created_at: Timestamp::from_micros(self.at),
        };
        self.tip = Some(core.id());
        let rules = engine.rules().map_or(stemmata_model::RulesHash::NONE, |(rules, _)| rules);
        let commit = NewCommit { core, rules, closure: Closure::Closed, counts: Counts::default() };
        [Write::Content(NewContent::literal(bytes.to_vec())), Write::Commit(commit)]
    }
}

fn fill(engine: &Engine, count: usize) -> anyhow::Result<()> {
    let mut chain = Chain::new()?;
    for batch in 0..count.div_ceil(FILL_BATCH) {
        let deltas = input::deltas(1_000_000 + u64::try_from(batch)?, FILL_BATCH, DELTA_BYTES)?;
        let writes = deltas.iter().flat_map(|delta| chain.writes(engine, delta)).collect();
        engine.store().commit_batch(writes)?;
    }
    Ok(())
}

fn alone(scale: u32, folder: &Path, engine: &Engine, deltas: &[Vec<u8>]) -> anyhow::Result<Vec<Line>> {
    let mut file = AppendFile::create(&folder.join("deltas.jsonl"))?;
    let mut rows = Rows::create(&folder.join("rows"))?;
    let mut chain = Chain::new()?;
    let mut session = Thread::new(engine, "alone", CLAUDE_FORMAT)?;
    let of = |round: usize| deltas.get(round).map(Vec::as_slice).context("a round without a delta");
    let contenders: [Contender<'_>; 4] = [
        Box::new(|round| spent(|| file.append(of(round)?))),
        Box::new(|round| spent(|| rows.put(of(round)?))),
        Box::new(|round| {
            spent(|| Ok(engine.store().commit_batch(chain.writes(engine, of(round)?).into())?))
        }),
        Box::new(|round| spent(|| session.checkpoint(of(round)?))),
    ];
    let [append, table, batch, checkpoint] = alternate(deltas.len(), contenders)?;
    let line = |name: &str, ours: &Runs, percent: usize, peer: &str, theirs: &Runs| {
        Line::ours(scale, format!("{name} p{percent}"), Figure::time(ours.wall.percentile(percent)))
            .beside(peer, Figure::time(theirs.wall.percentile(percent)))
    };
    let cpu = |name: &str, ours: &Runs, peer: &str, theirs: &Runs| {
        Line::ours(scale, format!("{name}, CPU"), Figure::time(ours.cpu.mean()))
            .beside(peer, Figure::time(theirs.cpu.mean()))
    };
    Ok(vec![
        line("Engine::checkpoint", &checkpoint, 50, APPEND, &append).target(P50),
        line("Engine::checkpoint", &checkpoint, 99, APPEND, &append).target(P99),
        line("Engine::checkpoint", &checkpoint, 50, TABLE, &table),
        line("Store::commit_batch", &batch, 50, APPEND, &append),
        line("Store::commit_batch", &batch, 99, APPEND, &append),
        cpu("Engine::checkpoint", &checkpoint, TABLE, &table),
        cpu("Store::commit_batch", &batch, TABLE, &table),
    ])
}

fn threads(scale: u32, engine: &Engine) -> anyhow::Result<Vec<Line>> {
    let mut next = 0;
    let mut at_once = |threads: u64| -> anyhow::Result<Duration> {
        next += TOGETHER;
        let sets = (0..threads)
            .map(|number| input::deltas(2_000_000 + next + number, EACH, DELTA_BYTES))
            .collect::<anyhow::Result<Vec<_>>>()?;
        let spent = spent(|| {
            thread::scope(|scope| {
                let running: Vec<_> = sets
                    .iter()
                    .zip(next..)
                    .map(|(deltas, number)| scope.spawn(move || session(engine, number, deltas)))
                    .collect();
                running.into_iter().try_for_each(|thread| match thread.join() {
                    Ok(done) => done,
                    Err(_) => anyhow::bail!("a thread of the benchmark panicked"),
                })
            })
        })?;
        Ok(spent.wall)
    };
    let mut single = Vec::new();
    let mut several = Vec::new();
    for _ in 0..ROUNDS {
        single.push(at_once(1)?);
        several.push(at_once(TOGETHER)?);
    }
    let each = u64::try_from(EACH)?;
    let single = Figure::rate(each, Times::new(single).median());
    let several = Figure::rate(each * TOGETHER, Times::new(several).median());
    let line = Line::ours(scale, format!("{TOGETHER} threads"), several);
    Ok(vec![line.beside("one thread of ours", single).target(Target::RatioAtLeast(5.0))])
}

fn session(engine: &Engine, number: u64, deltas: &[Vec<u8>]) -> anyhow::Result<()> {
    let mut session = Thread::new(engine, &format!("thread-{number}"), CLAUDE_FORMAT)?;
    deltas.iter().try_for_each(|delta| session.checkpoint(delta).map(drop))
}

fn processes(scale: u32, folder: &Path) -> anyhow::Result<Vec<Line>> {
    let together = child::checkpoint_together(&folder.join("store"), TOGETHER, EACH)?;
    let engine = stores::engine(&folder.join("store"))?;
    let stored = (0..TOGETHER)
        .map(|number| {
            let session = engine.find_session(&format!("process-{number}"))?;
            Ok(session.map_or(0, |session| session.commits))
        })
        .sum::<anyhow::Result<u64>>()?;
    let lost = together.done.saturating_sub(stored);
    Ok(vec![
        Line::ours(scale, format!("{TOGETHER} processes"), Figure::rate(together.done, together.elapsed)),
        Line::ours(
            scale,
            format!("{TOGETHER} processes, failed or lost"),
            Figure::count(together.failed + lost),
        )
        .target(Target::AtMost(Figure::Count(0.0))),
    ])
}
