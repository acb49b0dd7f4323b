//! Prompts of recorded sessions, asked by their own words: at which place is the prompt itself?
//!
//! All sessions are searched at once, as a person who looks for what they said does.

use std::collections::{BTreeMap, BTreeSet};

use stemmata_prompt::search::marks;

use crate::report::{Figure, Line, Target};

use super::memory::Memory;
use super::{Case, Finder, HITS, Item, Question, count, each};

/// Prompts with fewer words say nothing of their own; those with more are found by anything.
const WORDS: std::ops::RangeInclusive<usize> = 4..=60;
/// The longest words of a prompt that the last way of asking has.
const LONG_WORDS: usize = 3;

/// A way to ask for a prompt.
type Way = fn(&[&str]) -> String;

/// How a prompt is asked for, by name.
const WAYS: [(&str, Way); 3] = [("all words", whole), ("60 % of the words", most), ("three words", longest)];

/// What is counted: the mean reciprocal rank among the hits, and how many prompts are among the first k.
const FIGURES: [&str; 4] = ["MRR", "R@1", "R@5", "R@10"];

/// Returns the lines of each way of asking, beside plain BM25.
pub(super) fn lines(cases: &[Case]) -> anyhow::Result<Vec<Line>> {
    let items = joined(cases);
    let mut lines = Vec::new();
    for (name, way) in WAYS {
        let case = Case { questions: questions(&items, way), items: items.clone() };
        let ours = figures(&case, &mut Memory::ours())?;
        let plain = figures(&case, &mut Memory::plain())?;
        for ((figure, ours), plain) in FIGURES.iter().zip(ours).zip(plain) {
            let line = Line::ours(1, format!("own prompts, {name}, {figure}"), Figure::Percent(ours));
            lines.push(line.beside("plain BM25", Figure::Percent(plain)).target(Target::RatioAtLeast(1.0)));
        }
    }
    Ok(lines)
}

/// Returns the [`FIGURES`] of a finder in per cent.
fn figures(case: &Case, finder: &mut dyn Finder) -> anyhow::Result<[f64; 4]> {
    let mut sums = [0.0; 4];
    each(std::slice::from_ref(case), &mut |items, question| {
        if let Some(items) = items {
            finder.index(items)?;
        }
        let found = finder.find(&question.text)?;
        if let Some(at) = found.iter().take(HITS).position(|item| question.relevant.contains(item)) {
            let among = |first: usize| if at < first { 100.0 } else { 0.0 };
            let figures = [100.0 / count(at + 1)?, among(1), among(5), among(10)];
            sums.iter_mut().zip(figures).for_each(|(sum, figure)| *sum += figure);
        }
        Ok(())
    })?;
    let asked = count(case.questions.len().max(1))?;
    Ok(sums.map(|sum| sum / asked))
}

/// Returns the entries of all sessions. Groups stay apart.
fn joined(cases: &[Case]) -> Vec<Item> {
    let mut items: Vec<Item> = Vec::new();
    for case in cases {
        let base = items.last().map_or(0, |item| item.group + 1);
        items.extend(case.items.iter().map(|item| Item { group: base + item.group, ..item.clone() }));
    }
    items
}

/// Returns a question for each prompt; copies of it in forks are as good.
fn questions(items: &[Item], way: Way) -> Vec<Question> {
    let mut prompts: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    for (at, item) in items.iter().enumerate().filter(|(_, item)| item.marks & marks::PROMPT != 0) {
        prompts.entry(item.text.trim()).or_default().insert(at);
    }
    let asked = |(text, relevant): (&str, BTreeSet<usize>)| {
        let words: Vec<&str> = text.split_whitespace().collect();
        let is_asked = WORDS.contains(&words.len());
        is_asked.then(|| Question { text: way(&words), before: items.len(), relevant })
    };
    prompts.into_iter().filter_map(asked).collect()
}

/// All words in another order, by their ends, and stop words around them.
fn whole(words: &[&str]) -> String {
    let mut words = words.to_vec();
    words.sort_by_key(|word| word.chars().rev().collect::<String>());
    format!("what did we do when {} was it", words.join(" "))
}

/// Three of five words, in their order.
fn most(words: &[&str]) -> String {
    let kept = words.iter().enumerate().filter(|(at, _)| at * 3 % 5 < 3);
    kept.map(|(_, word)| *word).collect::<Vec<_>>().join(" ")
}

/// The longest words, each once.
fn longest(words: &[&str]) -> String {
    let mut words = words.to_vec();
    words.sort_by_key(|word| (std::cmp::Reverse(word.chars().count()), *word));
    words.dedup();
    words.truncate(LONG_WORDS);
    words.join(" ")
}
