//! A summary without a model: what the agent is likely to need again, chosen by counters. `docs/decisions/0024-compaction.md` has
//! the measure and the figures.
//!
//! What is compacted, and when, is decided in the plan; a model's summary is no part of this.

mod calls;
mod candidates;
mod choose;
mod compose;
mod counted;
mod draft;
mod facts;
mod focus;
mod limits;
mod lines;
mod notes;
mod prompts;
mod read;
mod records;
mod table;
mod weights;

use stemmata_model::{Entry, Part};

pub use compose::{Pin, Summary, Window, compose, heading_of_given, pins_alone};
pub use counted::Counted;
pub(in crate::compact) use counted::hash;
pub use draft::{Kept, Section};
pub use facts::{Facts, facts};
pub use limits::{Limits, Shares, Size};
pub(in crate::compact) use lines::command as shown_command;

/// Summarizes `entries[..recent_from]`, knowing that the entries after them are still in the window. Nothing else is known: the same
/// entries give the same bytes, whatever follows them. `pinned` are positions of entries that stay verbatim.
pub fn summary(entries: &[Entry], recent_from: usize, pinned: &[usize], limits: &Limits) -> Summary {
    let pins = pins(entries, pinned.iter().copied().filter(|at| *at < recent_from));
    compose(
        &Window { entries: &count(entries), recent_from, pins: &pins, numbers: &[], commit: None },
        limits,
    )
}

/// Returns what entries say, to keep it verbatim.
pub fn pins(entries: &[Entry], pinned: impl Iterator<Item = usize>) -> Vec<Pin> {
    pinned.filter_map(|at| Some(Pin { entry: at, text: text_of(entries.get(at)?) })).collect()
}

/// Counts the entries of one conversation: a subagent's entries within it are its own affair and count as empty.
pub fn count(entries: &[Entry]) -> Vec<Counted> {
    let root = root(entries);
    let conversation =
        entries.iter().find(|entry| entry.meta.visibility.agent).map(|entry| &entry.meta.sidechain);
    let of = |entry: &Entry| {
        let is_own = conversation == Some(&entry.meta.sidechain);
        if is_own { Counted::of(entry, root) } else { Counted::default() }
    };
    entries.iter().map(of).collect()
}

/// Returns the folder that a session works in: the first that it names.
pub fn root(entries: &[Entry]) -> &str {
    entries.iter().find_map(|entry| entry.meta.cwd.as_deref()).unwrap_or_default()
}

fn text_of(entry: &Entry) -> String {
    let mut said: Vec<&str> = Vec::new();
    for part in &entry.parts {
        match part {
            Part::Text(text) | Part::Summary { text, .. } => said.push(text),
            Part::ToolCall { name, arguments, .. } => said.extend([name.as_str(), arguments]),
            Part::ToolResult { parts, .. } => {
                said.extend(parts.iter().filter_map(Part::as_text));
            }
            Part::File { name, .. } => said.push(name),
            Part::Thinking { .. } | Part::Image { .. } | Part::Opaque { .. } => {}
        }
    }
    said.join("\n")
}

#[cfg(test)]
mod laws_tests;
