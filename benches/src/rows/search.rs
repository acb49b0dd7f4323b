//! Search as the product does it: settling what was imported, questions with and without filters, one more turn.
//! Not how good the answers are, which is `retrieval`'s.

mod made;

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use stemmata_engine::{CaptureOptions, Engine, Nudged, SearchFilter, SettleBudget};
use stemmata_model::{Granularity, Trigger};
use tempfile::TempDir;

use crate::measure::{Contender, Runs, Times, alternate, spent, timed};
use crate::peers::fts::Fts;
use crate::report::{Figure, Line, Section, Target};
use crate::{machine, scratch, stores};

use super::Bench;
pub(super) use made::{Draw, Question};
use made::{Made, PROJECTS, TURN, WORDS, line};

/// Entries at size 1, and the largest size: a million.
pub(super) const ENTRIES: usize = 100_000;
pub(super) const SCALE_MAX: u32 = 10;

/// Hits that are asked for.
const HITS: usize = 20;

/// Questions of each kind, and those that the peer answers, too.
const QUESTIONS: usize = 200;
const PEER_QUESTIONS: usize = 20;

/// Turns that are captured and found, and how often a new engine asks its first question.
const TURNS: usize = 100;
const FIRST: usize = 5;

const PEER: &str = "SQLite FTS5, any word";

const FEW: Target = Target::AtMost(Figure::Seconds(0.005));
const TEN: Target = Target::AtMost(Figure::Seconds(0.010));
const SLOWEST: Target = Target::AtMost(Figure::Seconds(0.025));

/// From a turn's end until a search finds it.
const FRESH: Target = Target::AtMost(Figure::Seconds(0.100));

pub(super) fn run(bench: &Bench) -> anyhow::Result<Section> {
    let mut lines = Vec::new();
    for scale in bench.scales_named(SCALE_MAX) {
        lines.extend(measure(scale)?);
    }
    Ok(Section {
        name: "search",
        title: format!("{ENTRIES} entries of {WORDS} words at size 1, turns of {TURN}"),
        notes: vec![
            format!(
                "Words by Zipf's law, as transcripts that are imported; then the index takes them in, from the store, with one \
                 thread. The peer is given the bare texts, and keeps none of them. {QUESTIONS} questions of each kind, each \
                 asked once, {PEER_QUESTIONS} of them to the peer, too; times of questions on a CPU unless a line says wall: they \
                 wait for nothing. `filtered`: one project of two, the newer half, no tool output."
            ),
            format!(
                "One more turn: {TURNS} times ten entries are captured as by a hook, durably, and found by the next search. A \
                 first question is asked by a new engine, whose index is closed."
            ),
            "A million entries are measured where `--scale 10` is given.".to_owned(),
        ],
        lines,
    })
}

fn measure(scale: u32) -> anyhow::Result<Vec<Line>> {
    let searched = Searched::build(ENTRIES * usize::try_from(scale)?)?;
    let mut lines = searched.sizes(scale)?;
    for (name, filter) in [("", SearchFilter::default()), (", filtered", searched.filter()?)] {
        for question in Question::ALL {
            lines.extend(searched.questions(scale, (question, name), &filter)?);
        }
    }
    lines.push(searched.first(scale)?);
    lines.extend(searched.turns(scale)?);
    Ok(lines)
}

/// A store with its index, and the peer.
pub(super) struct Searched {
    folder: TempDir,
    pub(super) engine: Engine,
    made: Made,
    peer: Fts,
    built: [Duration; 2],
}

impl Searched {
    pub(super) fn build(entries: usize) -> anyhow::Result<Self> {
        let folder = scratch::folder()?;
        let mut peer = Fts::create(&folder.path().join("peer"))?;
        let mut peer_took = Duration::ZERO;
        let made = Made::write(folder.path(), entries, &mut |texts| {
            peer_took += spent(|| peer.add(texts))?.cpu;
            Ok(())
        })?;
        let engine = open(folder.path())?;
        stores::import(&engine, &made.files, Granularity::Turn)?;
        let before = machine::process_cpu();
        let settled = stores::settle(&engine, SettleBudget::All)?;
        let took = machine::process_cpu().saturating_sub(before);
        anyhow::ensure!(settled.is_whole, "the index is not whole");
        Ok(Self { folder, engine, made, peer, built: [took, peer_took] })
    }

    fn filter(&self) -> anyhow::Result<SearchFilter> {
        let project = PROJECTS.first().context("a project")?;
        Ok(SearchFilter {
            projects: Some(self.engine.project_scope(project)?),
            since: Some(self.made.middle),
            no_tool_output: true,
            ..SearchFilter::default()
        })
    }

    fn sizes(&self, scale: u32) -> anyhow::Result<Vec<Line>> {
        let text = self.made.text_bytes;
        let [ours, theirs] = self.built.map(|took| Figure::speed(text, took));
        let bytes = scratch::bytes_below(&self.folder.path().join("index"))?;
        Ok(vec![
            Line::ours(scale, "build, text", ours).beside(PEER, theirs),
            Line::ours(scale, "the index, against the text", Figure::times(bytes, text))
                .beside(PEER, Figure::times(self.peer.bytes()?, text)),
        ])
    }

    fn questions(
        &self,
        scale: u32,
        (question, name): (Question, &str),
        filter: &SearchFilter,
    ) -> anyhow::Result<Vec<Line>> {
        let mut draw = Draw::new(11);
        let asked: Vec<Vec<String>> = (0..QUESTIONS).map(|_| question.words(&mut draw)).collect();
        let ask = |round: usize| {
            let words = asked.get(round).context("a question for each round")?;
            let mut query = stores::query(&words.join(" "), HITS);
            query.filter = filter.clone();
            spent(|| stores::search(&self.engine, &query))
        };
        ask(0)?;
        // The peer answers fewer, spread among ours; without it the rest goes on.
        let contenders: [Contender<'_>; 2] = [
            Box::new(ask),
            Box::new(|round| spent(|| self.peer.find(asked.get(round).context("a question")?, HITS))),
        ];
        let [some, peer] = alternate(PEER_QUESTIONS, contenders)?;
        let [rest] = alternate(QUESTIONS - PEER_QUESTIONS, [Box::new(|round| ask(round + PEER_QUESTIONS))])?;
        let ours = Runs::together([some, rest]);
        let median = if matches!(question, Question::Ten) { TEN } else { FEW };
        let case = |what: &str| format!("{}{name}, {what}", question.name());
        let time = |percent| Figure::time(ours.cpu.percentile(percent));
        Ok(vec![
            Line::ours(scale, case("p50"), time(50))
                .beside(PEER, Figure::time(peer.cpu.median()))
                .target(median),
            Line::ours(scale, case("p99"), time(99)).target(SLOWEST),
            Line::ours(scale, case("p99 wall"), Figure::time(ours.wall.percentile(99))),
        ])
    }

    fn first(&self, scale: u32) -> anyhow::Result<Line> {
        let words = Question::Ten.words(&mut Draw::new(13)).join(" ");
        let mut took = Vec::new();
        for _ in 0..FIRST {
            let (time, _) =
                timed(|| stores::search(&open(self.folder.path())?, &stores::query(&words, HITS)))?;
            took.push(time.wall);
        }
        Ok(Line::ours(scale, "ten words, first question, wall", Figure::time(Times::new(took).median())))
    }

    fn turns(&self, scale: u32) -> anyhow::Result<[Line; 3]> {
        let file: &PathBuf = self.made.files.last().context("there are sessions")?;
        let mut draw = Draw::new(17);
        let mut number = self.made.entries;
        let mut took = Vec::new();
        let mut settled = Vec::new();
        for turn in 0..TURNS {
            let word = made::unheard(turn)?;
            let mut text = String::new();
            for _ in 0..TURN {
                text.push_str(&line(number, &format!("{word} {}", draw.text()))?);
                number += 1;
            }
            OpenOptions::new().append(true).open(file)?.write_all(text.as_bytes())?;
            let capture =
                spent(|| match self.engine.nudge(file, &CaptureOptions::live(Trigger::TurnBoundary))? {
                    Nudged::Captured(_) => Ok(()),
                    Nudged::Later(later) => anyhow::bail!("the hook left it to an import: {later:?}"),
                })?;
            let (search, found) = timed(|| stores::search(&self.engine, &stores::query(&word, HITS)))?;
            anyhow::ensure!(found.hits.len() == TURN, "{} entries of a turn were found", found.hits.len());
            took.push(capture.wall + search.wall);
            settled.push(search.cpu);
        }
        let (took, settled) = (Times::new(took), Times::new(settled));
        Ok([
            Line::ours(scale, "one more turn, found, p50 wall", Figure::time(took.median())).target(FRESH),
            Line::ours(scale, "one more turn, found, p99 wall", Figure::time(took.percentile(99)))
                .target(FRESH),
            Line::ours(scale, "the search of these, p99", Figure::time(settled.percentile(99))),
        ])
    }
}

fn open(folder: &Path) -> anyhow::Result<Engine> {
    stores::indexed(&folder.join("store"), &folder.join("index"))
}
