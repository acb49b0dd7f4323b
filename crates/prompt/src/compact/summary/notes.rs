//! Sentences of the assistant that tell a decision, a result or names that matter.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};

use super::choose::density;
use super::counted::{Counted, Sentence, Speaker};
use super::draft::{Draft, Section};
use super::records::lateness;
use super::table::Table;

/// Points of a sentence with a word of decisions.
const DECIDES: f64 = 0.3;
/// Points of a sentence of the last text of a turn.
const LAST: f64 = 0.15;
/// Points of the latest sentence.
const LATEST: f64 = 0.3;
/// Points of a sentence in focus.
const FOCUSED: f64 = 1.0;
/// What a name counts that is shown already.
const SHOWN_SHARE: f64 = 1.0 / 3.0;
/// Characters of the number before a sentence.
const NUMBER_CHARS: usize = 6;

struct Note<'c> {
    entry: usize,
    text: &'c str,
    chars: usize,
    points: f64,
    names: Vec<u32>,
}

pub(super) fn notes(table: &mut Table<'_>, draft: &mut Draft<'_>, chars: usize) {
    let found = candidates(table);
    let value = |table: &Table<'_>, note: &Note<'_>| {
        let of = |id: &u32| {
            let share = if table.name(*id).is_some_and(|name| name.is_shown) { SHOWN_SHARE } else { 1.0 };
            1.5 * share * table.weight(*id)
        };
        let names: f64 = note.names.iter().map(of).sum();
        (note.points + names) / length(note.chars + NUMBER_CHARS)
    };
    let mut heap: BinaryHeap<(u32, Reverse<usize>)> =
        found.iter().enumerate().map(|(at, note)| (density(value(table, note)), Reverse(at))).collect();
    let mut chosen: Vec<usize> = Vec::new();
    let mut left = draft.room(Section::Notes, chars);
    while let Some((key, Reverse(at))) = heap.pop() {
        let Some(note) = found.get(at) else { continue };
        // Names that were shown since then make it worth less.
        let now = density(value(table, note));
        if now < key && heap.peek().is_some_and(|(next, _)| *next > now) {
            heap.push((now, Reverse(at)));
            continue;
        }
        if note.chars + NUMBER_CHARS > left {
            draft.drop_one(Section::Notes);
            continue;
        }
        left -= note.chars + NUMBER_CHARS;
        note.names.iter().for_each(|id| table.show(*id));
        chosen.push(at);
    }
    chosen.sort_unstable();
    for note in chosen.into_iter().filter_map(|at| found.get(at)) {
        let line = format!("@{} {}", draft.number(note.entry), note.text);
        draft.add(table, (Section::Notes, note.entry, &line), chars);
    }
}

fn candidates<'c>(table: &Table<'c>) -> Vec<Note<'c>> {
    let entries: &'c [Counted] = table.entries.get(..table.recent_from).unwrap_or_default();
    let speakers: Vec<Speaker> =
        entries.iter().flat_map(|entry| entry.pieces.iter().map(|piece| piece.speaker)).collect();
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    let mut number = 0;
    for (at, entry) in entries.iter().enumerate() {
        for piece in &entry.pieces {
            number += 1;
            let is_last = speakers.get(number).is_none_or(|next| *next == Speaker::User);
            for sentence in entry.sentences_of(piece) {
                if seen.insert(sentence.key) {
                    let focused = if table.focus.is_in(entry.text(sentence.text)) { FOCUSED } else { 0.0 };
                    let points =
                        points(sentence, is_last) + LATEST * lateness(at, table.recent_from) + focused;
                    found.push(note(table, (at, entry), sentence, points));
                }
            }
        }
    }
    found
}

fn points(sentence: &Sentence, is_last: bool) -> f64 {
    (if sentence.decides { DECIDES } else { 0.0 }) + if is_last { LAST } else { 0.0 }
}

fn note<'c>(
    table: &Table<'c>,
    (at, entry): (usize, &'c Counted),
    sentence: &Sentence,
    points: f64,
) -> Note<'c> {
    let text = entry.text(sentence.text);
    let mut names: Vec<u32> =
        entry.names_of(&sentence.names).iter().map(|local| table.global(at, *local)).collect();
    names.sort_unstable();
    names.dedup();
    Note { entry: at, text, chars: text.chars().count(), points, names }
}

fn length(chars: usize) -> f64 {
    f64::from(u32::try_from(chars).unwrap_or(u32::MAX))
}
