//! The text of a compaction's summary: the caller's, or chosen by rules, or a model's above that.

use std::collections::HashMap;

use stemmata_model::{Commit, Entry, EntryId, Note, NoteCode};
use stemmata_prompt::compact::completed;
use stemmata_prompt::compact::summary::{Limits, Window, compose, count, heading_of_given, pins, pins_alone};
use stemmata_prompt::compact::{Completed, Dropped};
use stemmata_runtimes::captured::visibility;

use super::{CompactWanted, CompactWith, refused};
use crate::error::{Refusal, Result};
use crate::verbs::summarize::NumberedEntries;

/// Sentences of a model that a note names.
const DROPPED_SHOWN_MAX: usize = 3;
/// Characters of each.
const DROPPED_CHARS_MAX: usize = 120;

/// A summary, and who wrote it.
pub(super) struct Written {
    pub text: String,
    pub with: &'static str,
    pub notes: Vec<Note>,
}

impl Written {
    /// Takes the caller's summary as it is, or below the heading that an entry of ours has.
    pub(super) fn given(text: &str, headed_for: Option<&Commit>) -> Self {
        let heading = headed_for.map(|commit| heading_of_given(&commit.id.to_string())).unwrap_or_default();
        // An empty one stays empty, so that it is refused.
        let text = if text.trim().is_empty() { String::new() } else { format!("{heading}{text}") };
        Self { text, with: CompactWith::Given("").as_str(), notes: Vec::new() }
    }

    /// Writes the summary of `root[from..to]`; what comes after `to` is known to be kept.
    pub(super) fn made(
        root: &NumberedEntries,
        (from, to): (usize, usize),
        parent: &Commit,
        (wanted, limits): (&CompactWanted<'_>, &Limits),
    ) -> Result<Self> {
        let entries = root.entries.get(from..).unwrap_or_default();
        let numbers = root.numbers.get(from..).unwrap_or_default();
        let recent_from = to.saturating_sub(from);
        let pinned = pinned_before(&root.entries, entries, recent_from);
        let pins = pins(entries, pinned.into_iter());
        let counted = count(entries);
        let commit = parent.id.to_string();
        let window = Window { entries: &counted, recent_from, pins: &pins, numbers, commit: Some(&commit) };
        let written = match wanted.with {
            CompactWith::By(model) => of_model(completed(model, entries, &window, limits), model.name()),
            CompactWith::Off => {
                Self { text: pins_alone(&window), with: wanted.with.as_str(), notes: Vec::new() }
            }
            CompactWith::Heuristic | CompactWith::Given(_) => {
                let (text, with) = (compose(&window, limits).text, CompactWith::Heuristic.as_str());
                Self { text, with, notes: Vec::new() }
            }
        };
        let written = written.with_pins(&window, limits);
        if written.text.is_empty() {
            let reason =
                "so small a summary has no room for its heading: ask for a larger share, or compact more";
            return Err(refused(Refusal::EmptySummary, reason));
        }
        Ok(written)
    }

    /// Returns a summary that has every pin word by word. One that leaves some out for want of space gives way to that of the
    /// rules, and this one to the pins alone.
    fn with_pins(mut self, window: &Window<'_>, limits: &Limits) -> Self {
        let alone = pins_alone(window);
        // Its heading is two lines.
        let pins = alone.splitn(3, '\n').nth(2).unwrap_or_default();
        if window.pins.is_empty() || self.text.contains(pins) {
            return self;
        }
        let by_rules = compose(window, limits).text;
        let (text, message) = if by_rules.contains(pins) {
            (by_rules, "what the model wrote leaves no room for what is pinned: the rules made the summary")
        } else {
            (alone, "what is pinned takes all of the summary's size: nothing else is in it")
        };
        self.notes.push(Note::new(NoteCode::Degraded, message.to_owned()));
        Self { text, with: CompactWith::Heuristic.as_str(), notes: self.notes }
    }
}

/// Says what came of a model's answer.
fn of_model(made: Completed, model: &str) -> Written {
    let mut notes = Vec::new();
    let mut note = |message: String| notes.push(Note::new(NoteCode::Degraded, message));
    if let Some(last) = made.failures.last().filter(|_| !made.is_by_model) {
        note(format!(
            "the summary was made by rules, since {} of `{model}` could not be used: {last}",
            times(made.failures.len())
        ));
    }
    if made.is_by_model && made.unseen > 0 {
        note(format!(
            "the window of `{model}` is too small for {} of the oldest entries: the rules alone summarized them",
            made.unseen
        ));
    }
    if !made.dropped.is_empty() {
        note(format!("{} left out: {}", sentences(made.dropped.len(), model), first(&made.dropped)));
    }
    let with = if made.is_by_model { CompactWith::MODEL } else { CompactWith::Heuristic.as_str() };
    Written { text: made.text, with, notes }
}

fn times(count: usize) -> String {
    if count == 1 { "the answer".to_owned() } else { format!("{count} answers") }
}

fn sentences(count: usize, model: &str) -> String {
    if count == 1 {
        format!("a sentence of `{model}` was")
    } else {
        format!("{count} sentences of `{model}` were")
    }
}

/// Names the first sentences that are not used, with the reason of each.
fn first(dropped: &[Dropped]) -> String {
    let told = dropped.iter().take(DROPPED_SHOWN_MAX).map(|dropped| {
        let sentence: String = dropped.sentence.chars().take(DROPPED_CHARS_MAX).collect();
        format!("«{sentence}» ({})", dropped.why.as_str())
    });
    told.collect::<Vec<_>>().join(", ")
}

/// Returns the positions of pinned entries before the kept part; `all` are the entries that may pin them.
pub fn pinned_before(all: &[Entry], entries: &[Entry], recent_from: usize) -> Vec<usize> {
    let pins = visibility::pins(all);
    // The last copy of an id is the one that a pin is about.
    let places: HashMap<&EntryId, usize> =
        entries.iter().take(recent_from).enumerate().map(|(at, entry)| (&entry.id, at)).collect();
    let mut pinned: Vec<usize> = pins.iter().filter_map(|pin| places.get(pin).copied()).collect();
    pinned.sort_unstable();
    pinned
}
