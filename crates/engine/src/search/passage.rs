//! Passages: what retrieval needs of a hit besides the snippet that people are shown.
//!
//! Cut from the commit that was decoded for the hit, so that nothing is read twice.

use std::collections::{BTreeSet, HashSet};
use std::ops::Range;

use stemmata_model::{Entry, EntryKind, Links, Part, Sighting};
use stemmata_prompt::select::SUMMARY_SPEAKER;

use super::text::text_of_parts;
use crate::verbs::at::one_line;

/// Characters of a passage at most: a paragraph or two. More of one hit leaves less room for others.
const PASSAGE_CHARS_MAX: usize = 700;
/// Characters of what was said next to it.
const BESIDE_CHARS_MAX: usize = 160;

/// How the commits of an entry were seen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct SeenAs {
    /// The threads that they were seen in.
    pub(crate) threads: BTreeSet<String>,
    /// The tickets that they were seen for.
    pub(crate) tickets: BTreeSet<String>,
    /// Whether none of the sessions that hold it was recorded in this store.
    pub(crate) is_foreign: bool,
}

impl SeenAs {
    pub(super) fn add(&mut self, sightings: &[Sighting]) {
        self.threads.extend(sightings.iter().filter_map(|one| Some(one.thread.as_ref()?.to_string())));
        self.tickets.extend(sightings.iter().filter_map(|one| Some(one.ticket.as_ref()?.to_string())));
    }
}

/// An entry beside a hit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BesideHit {
    /// Its id.
    pub(crate) entry: String,
    /// Its role.
    pub(crate) role: &'static str,
    /// What it says, on one line.
    pub(crate) text: String,
}

/// What retrieval needs of a hit.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Passage {
    /// What the hit says where it matches best.
    pub(crate) text: String,
    /// What was said before it in its turn.
    pub(crate) before: Option<BesideHit>,
    /// What was said after it in its turn.
    pub(crate) after: Option<BesideHit>,
    /// How it was seen.
    pub(crate) seen_as: SeenAs,
    /// Whether people may read it and agents may not.
    pub(crate) is_for_people: bool,
}

impl Passage {
    pub(super) fn of(
        entries: &[Entry],
        position: usize,
        (text, spans): (&str, &[Range<usize>]),
        seen_as: SeenAs,
    ) -> Self {
        let at = |position: usize| entries.get(position);
        // A prompt begins a turn.
        let is_prompt = at(position).is_none_or(Entry::is_prompt);
        let before = position.checked_sub(1).and_then(at).filter(|_| !is_prompt);
        let after = at(position + 1).filter(|next| !next.is_prompt());
        Self {
            text: best_of(text, spans),
            before: before.and_then(beside),
            after: after.and_then(beside),
            seen_as,
            is_for_people: at(position).is_some_and(|entry| !entry.meta.visibility.agent),
        }
    }

    pub(super) fn of_event((text, spans): (&str, &[Range<usize>]), links: &Links) -> Self {
        let seen_as = SeenAs {
            threads: links.thread.iter().map(ToString::to_string).collect(),
            tickets: links.ticket.iter().map(ToString::to_string).collect(),
            is_foreign: false,
        };
        Self { text: best_of(text, spans), seen_as, ..Self::default() }
    }
}

/// Returns what an entry says to others: its text without the model's reasoning, which no prompt repeats.
pub(super) fn said_in(entry: &Entry) -> String {
    let parts = entry.parts.iter().filter(|part| !matches!(part, Part::Thinking { .. }));
    text_of_parts(parts)
}

fn beside(entry: &Entry) -> Option<BesideHit> {
    let text = one_line(&said_in(entry), BESIDE_CHARS_MAX);
    let is_said = !text.is_empty() && entry.meta.visibility.agent;
    let is_summary = entry.kind == EntryKind::CompactionSummary;
    let role = if is_summary { SUMMARY_SPEAKER } else { entry.role.as_str() };
    is_said.then(|| BesideHit { entry: entry.id.to_string(), role, text })
}

/// Returns the lines of a text, one after the other, that have most different matches within the bound.
fn best_of(text: &str, spans: &[Range<usize>]) -> String {
    if text.len() <= PASSAGE_CHARS_MAX {
        return text.to_owned();
    }
    let mut lines: Vec<Range<usize>> = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        lines.push(start..start + line.len());
        start += line.len();
    }
    let words = |range: &Range<usize>| -> usize {
        let first = spans.partition_point(|span| span.end <= range.start);
        let here = spans.iter().skip(first).take_while(|span| span.start < range.end);
        here.map(|span| text.get(span.clone()).unwrap_or_default().to_lowercase())
            .collect::<HashSet<String>>()
            .len()
    };
    let (mut first, mut best) = (0, (0, 0..0));
    for last in 0..lines.len() {
        let end = lines.get(last).map_or(text.len(), |line| line.end);
        while first < last && end - lines.get(first).map_or(end, |line| line.start) > PASSAGE_CHARS_MAX {
            first += 1;
        }
        let range = lines.get(first).map_or(0, |line| line.start)..end;
        let count = words(&range);
        if count > best.0 || best.1.is_empty() {
            best = (count, range);
        }
    }
    let shown = text.get(best.1.clone()).unwrap_or_default();
    // One line may be longer: it is shown from a little before its first match on.
    let lead = PASSAGE_CHARS_MAX / 4;
    let first =
        spans.iter().find(|span| span.start >= best.1.start).map_or(0, |span| span.start - best.1.start);
    let skipped = if shown.len() > PASSAGE_CHARS_MAX { first.saturating_sub(lead) } else { 0 };
    let from = shown.char_indices().map(|(at, _)| at).find(|at| *at >= skipped).unwrap_or(0);
    let shown = shown.get(from..).unwrap_or_default();
    let end = shown.char_indices().nth(PASSAGE_CHARS_MAX).map_or(shown.len(), |(at, _)| at);
    shown.get(..end).unwrap_or_default().trim().to_owned()
}
