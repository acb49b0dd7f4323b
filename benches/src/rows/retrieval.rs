//! How good the answers of a search are: how much of what answers a question is among the first 5, 10, 20, 50 hits.
//! Not how fast they come.

mod baselines;
mod locomo;
mod memory;
mod own_words;
mod probe;
mod product;

use std::collections::BTreeSet;

use anyhow::Context as _;
use stemmata_model::Timestamp;

use crate::report::{Figure, Line, Section, Target};

use super::Bench;

/// Longer prompts are cut: what is asked stands at their beginning, and a query is bounded.
const QUERY_CHARS: usize = 4_000;
/// Where the recall is taken.
const CUTS: [usize; 4] = [5, 10, 20, 50];
/// How many hits a finder is asked for.
const HITS: usize = 50;
/// How many hits of two finders are compared.
const SAME_HITS: usize = 20;
/// What the recipe reached on the development questions, less a few tenths that a port may lose.
const RECIPE: [f64; 4] = [78.1, 84.2, 88.2, 91.7];

/// One entry of a conversation.
#[derive(Debug, Clone)]
struct Item {
    text: String,
    author: Option<String>,
    at: Option<Timestamp>,
    /// Entries of one group stand in one another's windows.
    group: u32,
    class: u8,
    marks: u8,
    /// Whether it edits or reads files; only the rule of the source asks.
    has_files: bool,
}

/// A question, and which entries answer it.
#[derive(Debug, Clone)]
struct Question {
    text: String,
    /// How many entries are searched: those before the question.
    before: usize,
    relevant: BTreeSet<usize>,
}

/// A conversation with its questions.
#[derive(Debug, Clone)]
struct Case {
    items: Vec<Item>,
    questions: Vec<Question>,
}

/// What is measured.
trait Finder {
    /// Takes in the entries that the next questions are asked about, instead of those before.
    fn index(&mut self, items: &[Item]) -> anyhow::Result<()>;

    /// Returns the entries that it finds, best first.
    fn find(&mut self, question: &str) -> anyhow::Result<Vec<usize>>;
}

pub(super) fn run(bench: &Bench) -> anyhow::Result<Section> {
    let mut section = Section {
        name: "retrieval",
        title: "what answers a question, among the first hits".to_owned(),
        notes: Vec::new(),
        lines: Vec::new(),
    };
    let Some(corpus) = bench.corpus() else {
        section
            .notes
            .push("Needs STEMMATA_CORPUS: there are no made-up questions that mean anything.".to_owned());
        return Ok(section);
    };
    section.notes.push(
        "Ours: transcripts of the entries, imported, settled into the index beside the store, and searched by the engine. The \
         peers have the same words in memory."
            .to_owned(),
    );
    let cases = locomo::load(corpus)?;
    let reached = recalls(&cases, &mut product::Product::default())?;
    section.notes.push(format!(
        "LoCoMo, development conversations: {} questions with evidence over {} turns; the share of a question's evidence \
         among the first k hits. The source's own rule finds at most {} turns.",
        cases.iter().map(|case| case.questions.len()).sum::<usize>(),
        cases.iter().map(|case| case.items.len()).sum::<usize>(),
        baselines::SOURCE_HITS,
    ));
    for (name, finder) in peers() {
        section.lines.extend(lines(
            "LoCoMo",
            reached,
            name,
            recalls(&cases, &mut *finder.boxed())?,
            Some(RECIPE),
        ));
    }
    section.lines.extend(compared("LoCoMo", &cases)?);
    let cases = probe::load(corpus)?;
    let reached = recalls(&cases, &mut product::Product::default())?;
    section.notes.push(format!(
        "Coding: {} prompts of recorded sessions; the earlier entries that name a file which the next turn edits or reads.",
        cases.iter().map(|case| case.questions.len()).sum::<usize>()
    ));
    for (name, finder) in peers() {
        section.lines.extend(lines("coding", reached, name, recalls(&cases, &mut *finder.boxed())?, None));
    }
    section.lines.extend(compared("coding", &cases)?);
    section.notes.push(
        "Own prompts: those of the same sessions, of 4 to 60 words, asked by their own words among the entries of all sessions, \
         in memory; the prompt itself is wanted."
            .to_owned(),
    );
    section.lines.extend(own_words::lines(&cases)?);
    Ok(section)
}

/// Counts the questions whose first 20 hits are others if every entry that matches goes on to the second stage, and those whose
/// are others if the same entries are ranked in memory.
fn compared(data: &str, cases: &[Case]) -> anyhow::Result<[Line; 2]> {
    let stages = others(cases, &mut memory::Memory::ours(), &mut memory::Memory::one_stage())?;
    let places = others(cases, &mut memory::Memory::ours(), &mut product::Product::default())?;
    let line =
        |what: &str, others| Line::ours(1, format!("{data}, questions that {what}"), Figure::count(others));
    Ok([
        line("one stage changes", stages).target(Target::AtMost(Figure::count(0))),
        line("the store changes", places),
    ])
}

/// Counts the questions to which two finders have other first hits.
fn others(cases: &[Case], one: &mut dyn Finder, other: &mut dyn Finder) -> anyhow::Result<u64> {
    let mut others = 0;
    each(cases, &mut |items, question| {
        if let Some(items) = items {
            one.index(items)?;
            other.index(items)?;
        }
        let first = |found: Vec<usize>| found.into_iter().take(SAME_HITS).collect::<Vec<_>>();
        others += u64::from(first(one.find(&question.text)?) != first(other.find(&question.text)?));
        Ok(())
    })?;
    Ok(others)
}

/// Returns what is asked: the beginning of a question, with quotes that mean nothing.
fn asked(question: &str) -> String {
    let text: String = question.chars().take(QUERY_CHARS).collect();
    text.replace(['"', '“'], " ")
}

/// The peers by name.
#[derive(Debug, Clone, Copy)]
enum Peer {
    Plain,
    Neighbours,
    Source,
}

impl Peer {
    fn boxed(self) -> Box<dyn Finder> {
        match self {
            Self::Plain => Box::new(memory::Memory::plain()),
            Self::Neighbours => Box::new(baselines::Neighbours::of(memory::Memory::plain())),
            Self::Source => Box::new(baselines::Source::default()),
        }
    }
}

fn peers() -> [(&'static str, Peer); 3] {
    [
        ("plain BM25", Peer::Plain),
        ("BM25 + neighbours", Peer::Neighbours),
        ("the source's rule", Peer::Source),
    ]
}

fn lines(data: &str, ours: [f64; 4], peer: &str, theirs: [f64; 4], least: Option<[f64; 4]>) -> Vec<Line> {
    let rows = CUTS.iter().zip(ours).zip(theirs).enumerate();
    rows.map(|(at, ((cut, ours), theirs))| {
        let line = Line::ours(1, format!("{data}, R@{cut}"), Figure::Percent(ours))
            .beside(peer, Figure::Percent(theirs));
        match least.and_then(|least| least.get(at).copied()) {
            Some(least) => line.target(Target::AtLeast(Figure::Percent(least))),
            None => line.target(Target::RatioAtLeast(1.0)),
        }
    })
    .collect()
}

/// Returns the recall at every cut, the mean over all questions.
fn recalls(cases: &[Case], finder: &mut dyn Finder) -> anyhow::Result<[f64; 4]> {
    let mut sums = [0.0; 4];
    let mut questions = 0.0;
    each(cases, &mut |items, question| {
        if let Some(items) = items {
            finder.index(items)?;
        }
        let found = finder.find(&question.text)?;
        questions += 1.0;
        for (sum, cut) in sums.iter_mut().zip(CUTS) {
            let hits = found.iter().take(cut).filter(|item| question.relevant.contains(item)).count();
            *sum += 100.0 * count(hits)? / count(question.relevant.len())?;
        }
        Ok(())
    })?;
    Ok(sums.map(|sum| sum / questions))
}

/// What is done with a question, and with the entries to search where these are others.
type Visit<'a> = dyn FnMut(Option<&[Item]>, &Question) -> anyhow::Result<()> + 'a;

/// Visits every question, with the entries to search where these are others than for the question before.
fn each(cases: &[Case], visit: &mut Visit<'_>) -> anyhow::Result<()> {
    for case in cases {
        let mut indexed = 0;
        for question in &case.questions {
            let items = case.items.get(..question.before).context("a question within its conversation")?;
            visit((indexed != question.before).then_some(items), question)?;
            indexed = question.before;
        }
    }
    Ok(())
}

fn count(count: usize) -> anyhow::Result<f64> {
    Ok(f64::from(u32::try_from(count).context("a count of entries")?))
}
