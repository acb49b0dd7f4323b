//! What is measured beside the product: what other compactors leave, and what bounds the measure.

use std::collections::HashMap;

use stemmata_model::Tokens;
use stemmata_prompt::compact::summary::{Counted, Limits, Size, Window, compose};

use super::probe::Cut;
use super::session::{Session, Speaker};

/// Makes a text of the compacted part within so many tokens.
pub(super) trait Compactor {
    fn name(&self) -> &'static str;

    /// Whether its text depends on the size that is asked for.
    fn is_sized(&self) -> bool {
        true
    }

    fn compact(&self, of: &Case<'_>, tokens_max: usize) -> String;
}

/// What is compacted.
#[derive(Clone, Copy)]
pub(super) struct Case<'s> {
    pub session: &'s Session,
    pub counted: &'s [Counted],
    pub cut: Cut,
}

impl<'s> Case<'s> {
    fn texts(&self) -> impl Iterator<Item = (Speaker, &'s str)> {
        let cut = self.cut;
        let own = self.session.pieces.iter().filter(move |piece| piece.entry < cut.compacted);
        own.map(|piece| (piece.speaker, piece.text.as_str()))
    }
}

/// Every compactor, in the order of the table.
pub(super) fn compactors() -> Vec<Box<dyn Compactor>> {
    vec![
        Box::new(Off),
        Box::new(Masked),
        Box::new(Last),
        Box::new(Dump),
        Box::new(Ledger),
        Box::new(Heuristic),
        Box::new(Scripted),
    ]
}

/// Leaves nothing.
struct Off;

impl Compactor for Off {
    fn name(&self) -> &'static str {
        "off"
    }

    fn is_sized(&self) -> bool {
        false
    }

    fn compact(&self, _: &Case<'_>, _: usize) -> String {
        String::new()
    }
}

/// Leaves everything but what tools returned.
struct Masked;

impl Compactor for Masked {
    fn name(&self) -> &'static str {
        "tool results masked"
    }

    fn is_sized(&self) -> bool {
        false
    }

    fn compact(&self, of: &Case<'_>, _: usize) -> String {
        let texts = of.texts().map(|(speaker, text)| match speaker {
            Speaker::Result => format!("[{} characters left out]", text.len()),
            Speaker::User | Speaker::Client | Speaker::Agent => text.to_owned(),
        });
        texts.collect::<Vec<_>>().join("\n")
    }
}

/// Leaves the end.
struct Last;

impl Compactor for Last {
    fn name(&self) -> &'static str {
        "last tokens"
    }

    fn compact(&self, of: &Case<'_>, tokens_max: usize) -> String {
        let all = of.texts().map(|(_, text)| text).collect::<Vec<_>>().join("\n");
        let from = all.chars().count().saturating_sub(4 * tokens_max);
        all.chars().skip(from).collect()
    }
}

/// Leaves all names, the most frequent first.
struct Dump;

impl Compactor for Dump {
    fn name(&self) -> &'static str {
        "dump of all names"
    }

    fn compact(&self, of: &Case<'_>, tokens_max: usize) -> String {
        let mut counts: HashMap<u32, u32> = HashMap::new();
        for piece in of.session.pieces.iter().filter(|piece| piece.entry < of.cut.compacted) {
            let names = piece.lines.iter().flat_map(|line| line.names.iter());
            names.for_each(|id| *counts.entry(*id).or_default() += 1);
        }
        let mut names: Vec<(u32, u32)> = counts.into_iter().map(|(id, count)| (count, id)).collect();
        names.sort_by_key(|(count, id)| (std::cmp::Reverse(*count), *id));
        cut(names.iter().map(|(_, id)| of.session.words.text(*id)), " ", tokens_max)
    }
}

/// Leaves prompts in short, commands, errors, paths and names, each as it stands: a ledger without statuses.
struct Ledger;

impl Compactor for Ledger {
    fn name(&self) -> &'static str {
        "plain ledger"
    }

    fn compact(&self, of: &Case<'_>, tokens_max: usize) -> String {
        let mut lines: Vec<String> = Vec::new();
        for (speaker, text) in of.texts().filter(|(speaker, _)| *speaker == Speaker::User) {
            debug_assert_eq!(speaker, Speaker::User);
            lines.push(format!("USER: {}", text.chars().take(300).collect::<String>()));
        }
        for call in of.session.calls(0, of.cut.compacted) {
            let commands =
                call.commands().map(|run| format!("CMD {}", run.line.chars().take(100).collect::<String>()));
            lines.extend(commands);
            if let stemmata_acts::Outcome::Failed { why } = &call.outcome {
                lines.push(format!("ERR {}", why.chars().take(100).collect::<String>()));
            }
        }
        lines.push(Dump.compact(of, tokens_max));
        cut(lines.iter().map(String::as_str), "\n", tokens_max)
    }
}

/// Ours.
pub(super) struct Heuristic;

impl Compactor for Heuristic {
    fn name(&self) -> &'static str {
        "heuristic"
    }

    fn compact(&self, of: &Case<'_>, tokens_max: usize) -> String {
        let known = of.counted.get(..of.cut.now).unwrap_or_default();
        let size = Size::Tokens(Tokens(tokens_max as u64));
        let limits = Limits { size, excludes_user: true, ..Limits::default() };
        let window =
            Window { entries: known, recent_from: of.cut.compacted, pins: &[], numbers: &[], commit: None };
        compose(&window, &limits).text
    }
}

/// A scripted model: prose of a tenth of the size (the task, and what the agent said last), above our block. It shows what the block
/// loses when a model writes too; a real one says other things in as many tokens.
struct Scripted;

impl Compactor for Scripted {
    fn name(&self) -> &'static str {
        "scripted model + block"
    }

    fn compact(&self, of: &Case<'_>, tokens_max: usize) -> String {
        let first = of.texts().find(|(speaker, _)| *speaker == Speaker::User).map_or("", |(_, text)| text);
        let last =
            of.texts().filter(|(speaker, _)| *speaker == Speaker::Agent).last().map_or("", |(_, text)| text);
        let prose = format!("Goal: {}\nProgress: {}\n", first.replace('\n', " "), last.replace('\n', " "));
        let prose: String = prose.chars().take(4 * tokens_max / 10).collect();
        let left = tokens_max - prose.chars().count().div_ceil(4);
        format!("{prose}\n{}", Heuristic.compact(of, left))
    }
}

fn cut<'t>(texts: impl Iterator<Item = &'t str>, between: &str, tokens_max: usize) -> String {
    let mut out = String::new();
    let mut left = 4 * tokens_max;
    for text in texts {
        let cost = text.chars().count() + between.len();
        if cost <= left {
            left -= cost;
            out.push_str(text);
            out.push_str(between);
        }
    }
    out
}
