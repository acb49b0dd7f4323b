//! Recall: a pack for a task from all that is stored, and what of the time its two sources take.
//! Not how good the packs are, which the fixtures of the engine's tests assert.

use std::time::Duration;

use anyhow::Context as _;
use stemmata_engine::{RecallWanted, SettleBudget};
use stemmata_model::{Estimate, LedgerId, Timestamp, Tokens};
use stemmata_store::LedgerChange;

use super::Bench;
use super::search::{Draw, ENTRIES, Question, SCALE_MAX, Searched};
use crate::measure::{Contender, alternate, spent};
use crate::report::{Figure, Line, Section, Target};
use crate::stores;

/// Tokens of a pack.
const TOKENS: Tokens = Tokens(2_000);
/// Tasks, each asked once.
const TASKS: usize = 60;
/// Hits that recall asks search for.
const HITS: usize = 40;
/// The folder that all projects of the made-up sessions lie in.
const ROOT: &str = "/bench";

const MEDIAN: Target = Target::AtMost(Figure::Seconds(0.030));

pub(super) fn run(bench: &Bench) -> anyhow::Result<Section> {
    let mut lines = Vec::new();
    for scale in bench.scales_named(SCALE_MAX) {
        lines.extend(measure(scale)?);
    }
    Ok(Section {
        name: "recall",
        title: format!("{ENTRIES} entries at size 1, packs of {} tokens, tasks of ten words", TOKENS.0),
        notes: vec![
            "The store and the index of row `search`; one project holds all sessions. The first pack folds the memory of each session, \
             and saves it; times after it are of a CPU. A million entries are measured where `--scale 10` is given."
                .to_owned(),
        ],
        lines,
    })
}

fn measure(scale: u32) -> anyhow::Result<Vec<Line>> {
    let searched = Searched::build(ENTRIES * usize::try_from(scale)?)?;
    let engine = &searched.engine;
    let ledger = LedgerId::new("bench")?;
    let change = LedgerChange {
        root: Some(ROOT.to_owned()),
        ..LedgerChange::new(ledger.clone(), Timestamp::from_micros(1))
    };
    engine.log().change_ledger(change)?;
    let mut draw = Draw::new(19);
    let tasks: Vec<String> = (0..TASKS).map(|_| Question::Ten.words(&mut draw).join(" ")).collect();
    let recall = |round: usize| {
        let text = tasks.get(round).context("a task for each round")?;
        let wanted = RecallWanted {
            budget: SettleBudget::Within(Duration::ZERO),
            ..RecallWanted::new(text, Some(&ledger), TOKENS, &Estimate)
        };
        spent(|| {
            let pack = engine.recall(&wanted)?;
            anyhow::ensure!(!pack.items.is_empty(), "an empty pack");
            Ok(pack)
        })
    };
    let first = recall(0)?;
    let contenders: [Contender<'_>; 3] = [
        Box::new(recall),
        Box::new(|round| {
            let words = tasks.get(round).context("a task for each round")?;
            spent(|| stores::search(engine, &stores::query(words, HITS)))
        }),
        Box::new(|_| spent(|| Ok(engine.remember(&ledger)?))),
    ];
    let [packs, hits, memory] = alternate(TASKS, contenders)?;
    Ok(vec![
        Line::ours(scale, "first pack, wall", Figure::time(first.wall)),
        Line::ours(scale, "pack, p50", Figure::time(packs.cpu.median())).target(MEDIAN),
        Line::ours(scale, "pack, p99", Figure::time(packs.cpu.percentile(99))),
        Line::ours(scale, "pack, p50 wall", Figure::time(packs.wall.median())),
        Line::ours(scale, "of it search, 40 hits, p50", Figure::time(hits.cpu.median())),
        Line::ours(scale, "of it the memory, p50", Figure::time(memory.cpu.median())),
    ])
}
