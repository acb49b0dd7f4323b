//! What people and models say about programs.
//! Not code: that is `code`.

use crate::rng::Rng;

use super::expand;
use super::grammar::choices;

/// Returns what a person asks for.
pub fn prompt(rng: &mut Rng) -> String {
    let count = if rng.chance(65) { 1 } else { rng.range(2, 4) };
    joined(rng, choices("prompt"), count, " ")
}

/// Returns a short name for a session.
pub fn title(rng: &mut Rng) -> String {
    let template = rng.pick(choices("title"));
    expand(rng, template)
}

/// Returns the one or two sentences that stand before a tool call.
pub fn narration(rng: &mut Rng) -> String {
    let count = if rng.chance(80) { 1 } else { 2 };
    joined(rng, choices("narration"), count, " ")
}

/// Returns a model's thinking.
pub fn thought(rng: &mut Rng) -> String {
    let paragraphs = rng.range(1, 4);
    (0..paragraphs)
        .map(|_| {
            let count = rng.range(1, 5);
            joined(rng, choices("thought"), count, " ")
        })
        .collect::<Vec<_>>()
        .join("\n\n")
}

/// Returns a paragraph of so many sentences.
pub fn paragraph(rng: &mut Rng, sentences: u64) -> String {
    joined(rng, choices("fact"), sentences, " ")
}

/// Returns the final answer of a turn, with headings and lists as models write them.
pub fn answer(rng: &mut Rng) -> String {
    let template = rng.pick(choices("answer"));
    expand(rng, template)
}

/// Returns what a model says when something did not work.
pub fn bad_news(rng: &mut Rng) -> String {
    let template = rng.pick(choices("bad_news"));
    expand(rng, template)
}

/// Returns the summary that replaces a compacted prefix, with so many points a section.
pub fn compaction_summary(rng: &mut Rng, points: u64) -> String {
    let mut out = String::from("Summary of the work so far:\n");
    for (number, section) in choices("section").iter().enumerate() {
        out.push_str(&format_section(number + 1, section));
        for _ in 0..rng.range(1, points.max(1)) {
            let template = rng.pick(choices("bullet"));
            out.push_str(&expand(rng, template));
            out.push('\n');
        }
    }
    out
}

fn format_section(number: usize, section: &str) -> String {
    format!("\n{number}. {section}:\n")
}

fn joined(rng: &mut Rng, templates: &[&str], count: u64, separator: &str) -> String {
    (0..count)
        .map(|_| {
            let template = rng.pick(templates);
            expand(rng, template)
        })
        .collect::<Vec<_>>()
        .join(separator)
}
