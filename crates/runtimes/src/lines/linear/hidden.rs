//! Leaves out of a context what visibility lines hide.
//!
//! The last line about an entry counts, and only for copies of it before the line. A call and its results stay together: where
//! a stranger's line hides a part of a tool group, all of the group stays.

use std::collections::HashMap;

use stemmata_model::{Note, NoteCode};

use super::{Key, Row};

/// Leaves out the rows that are hidden and the lines that hide and show. Lines that pin stay. Returns how many entries were
/// hidden.
pub(super) fn hide(rows: &mut Vec<Row>, notes: &mut Vec<Note>) -> u64 {
    note_newer(rows, notes);
    if !rows.iter().any(Row::is_visibility) {
        return 0;
    }
    let mut hidden = said_hidden(rows);
    let kept_whole = keep_groups_whole(rows, &mut hidden);
    if kept_whole > 0 {
        let message = format!(
            "{kept_whole} hidden entries stay: only a part of their calls and results is hidden, and these belong together"
        );
        notes.push(Note::new(NoteCode::Degraded, message));
    }
    let count = hidden.iter().filter(|is_hidden| **is_hidden).count();
    let had_messages = rows.iter().any(|row| row.is_message);
    let mut at = 0;
    rows.retain(|row| {
        let is_hidden = hidden.get(at).copied().unwrap_or(false);
        at += 1;
        !is_hidden && (!row.is_visibility() || row.pins())
    });
    if had_messages && !rows.iter().any(|row| row.is_message) {
        let message = "every message of the context is hidden; the chain still has them";
        notes.push(Note::new(NoteCode::Degraded, message));
    }
    u64::try_from(count).unwrap_or(u64::MAX)
}

fn note_newer(rows: &[Row], notes: &mut Vec<Note>) {
    let newer = rows.iter().filter(|row| row.own.as_ref().is_some_and(|own| own.is_newer)).count();
    if newer > 0 {
        let message = format!(
            "{} of an unknown, newer version: the context may differ",
            stemmata_model::plural(newer, "line")
        );
        notes.push(Note::new(NoteCode::Degraded, message));
    }
}

/// Returns for each row whether the last line about it hides it.
fn said_hidden(rows: &[Row]) -> Vec<bool> {
    let mut last: HashMap<Key, bool> = HashMap::new();
    let mut hidden = vec![false; rows.len()];
    for (row, is_hidden) in rows.iter().zip(&mut hidden).rev() {
        let shows = row.own.iter().flat_map(|own| &own.shows).flatten().rev();
        for (key, hides) in shows.filter_map(|(key, show_as)| Some((key, show_as.hides()?))) {
            last.entry(*key).or_insert(hides);
        }
        *is_hidden = !row.is_visibility() && row.key.is_some_and(|key| last.get(&key) == Some(&true));
    }
    hidden
}

/// Shows again what shares a call with something that is shown. Returns how many rows that were.
fn keep_groups_whole(rows: &[Row], hidden: &mut [bool]) -> usize {
    let ties = ties(rows);
    let mut members: HashMap<(Key, usize), Vec<usize>> = HashMap::new();
    for (at, ties) in ties.iter().enumerate() {
        for tie in ties {
            members.entry(*tie).or_default().push(at);
        }
    }
    let mut shown: Vec<usize> =
        (0..rows.len()).filter(|at| hidden.get(*at) == Some(&false) && !ties[*at].is_empty()).collect();
    let mut kept = 0;
    while let Some(at) = shown.pop() {
        for tie in &ties[at] {
            // Each tie is walked once: what it holds is shown then.
            for other in members.remove(tie).unwrap_or_default() {
                if let Some(is_hidden) = hidden.get_mut(other).filter(|is_hidden| **is_hidden) {
                    *is_hidden = false;
                    kept += 1;
                    shown.push(other);
                }
            }
        }
    }
    kept
}

/// Returns what ties rows together, as `group_tools` does: calls with their results, and calls of one message. A call id that
/// is used again starts anew.
fn ties(rows: &[Row]) -> Vec<Vec<(Key, usize)>> {
    let mut used: HashMap<Key, usize> = HashMap::new();
    let of = |row: &Row| {
        let Some(own) = &row.own else { return Vec::new() };
        let mut ties: Vec<(Key, usize)> = Vec::new();
        for call in &own.calls {
            let count = used.entry(*call).or_default();
            *count += 1;
            ties.push((*call, *count));
        }
        ties.extend(own.answers.iter().filter_map(|call| Some((*call, *used.get(call)?))));
        ties.extend(own.message.map(|message| (message, 0)));
        ties
    };
    rows.iter().map(of).collect()
}
