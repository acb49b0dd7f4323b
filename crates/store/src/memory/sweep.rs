//! Giving up contents in memory: what other contents have of them is copied out first.
//!
//! Which commits and events go is decided before.

use std::collections::BTreeSet;

use stemmata_model::{ArtifactId, Closure, artifact_id, to_u64};

use super::content::{Content, Piece, literals_of, push};
use super::{State, events};

/// What was given up.
#[derive(Default)]
pub(super) struct Swept {
    pub(super) contents: u64,
    pub(super) bytes: u64,
    pub(super) copied_out: u64,
    /// Events that lost the line that they were.
    pub(super) events: u64,
}

/// What becomes of a content that no commit needs and that is an event's line.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Lines<'a> {
    /// It stays.
    Keep,
    /// It goes, and the event is forgotten.
    Forget,
    /// It goes where a commit was cut that has it, and stays otherwise.
    ForgetCut,
    /// It goes where it is one of these, and stays otherwise, without what else it was made of.
    ForgetThese(&'a BTreeSet<ArtifactId>),
}

/// Gives up contents and what they were made of, unless a commit names them. Those that only holes name keep their hash
/// and length.
pub(super) fn give_up(
    state: &mut State,
    candidates: BTreeSet<ArtifactId>,
    emptied: &BTreeSet<ArtifactId>,
    lines: Lines<'_>,
) -> Swept {
    let mut going = candidates;
    going.extend(emptied);
    going.extend(literals_of(&state.contents, &going));
    match lines {
        Lines::Forget => {}
        // What a line is made of may hold more than the line: that goes, and the line is copied out of it.
        Lines::ForgetThese(these) => {
            for line in events::lines(state).difference(these) {
                going.remove(line);
            }
        }
        Lines::Keep | Lines::ForgetCut => {
            let mut cut = BTreeSet::new();
            if lines == Lines::ForgetCut {
                cut.extend(emptied);
                cut.extend(literals_of(&state.contents, emptied.iter()));
            }
            for line in events::needed(state).difference(&cut) {
                going.remove(line);
            }
        }
    }
    let mut emptied = emptied.clone();
    for (_, commit) in state.commits.iter() {
        for content in std::iter::once(commit.core.artifact).chain(commit.core.native) {
            if commit.closure != Closure::Forgotten {
                going.remove(&content);
            } else if going.contains(&content) {
                emptied.insert(content);
            }
        }
    }
    let mut swept = Swept { copied_out: copy_out(state, &mut going), ..Swept::default() };
    let mut said_again = BTreeSet::new();
    if lines != Lines::Keep {
        let (events, went) = forget_lines(state, &going);
        swept.events = events;
        said_again.extend(went.difference(&going));
    }
    for id in going {
        let Some(content) = state.contents.get(&id).cloned() else { continue };
        if let Content::Literal { bytes } = &content {
            swept.contents += 1;
            swept.bytes += to_u64(bytes.len());
        }
        state.orphans.remove(&id);
        if emptied.contains(&id) {
            state.contents.put(id, Content::Forgotten { length: content.length() });
        } else {
            state.contents.remove(&id);
        }
    }
    if !said_again.is_empty() {
        // Snapshots that were forgotten with their lines were lines, too.
        let more = give_up(state, said_again, &BTreeSet::new(), Lines::Keep);
        swept.contents += more.contents;
        swept.bytes += more.bytes;
        swept.copied_out += more.copied_out;
    }
    swept
}

/// Forgets the events that are lines which go.
fn forget_lines(state: &mut State, going: &BTreeSet<ArtifactId>) -> (u64, BTreeSet<ArtifactId>) {
    events::forget(state, &|_, event| events::line_of(event).is_some_and(|line| going.contains(&line)))
}

/// Copies ranges of contents that go into contents of their own, for composed contents that stay.
fn copy_out(state: &mut State, going: &mut BTreeSet<ArtifactId>) -> u64 {
    let lists: Vec<(ArtifactId, Vec<Piece>, u64)> = state
        .contents
        .iter()
        .filter(|(id, _)| !going.contains(id))
        .filter_map(|(id, content)| match content {
            Content::Composed { pieces, length } => Some((*id, pieces.clone(), *length)),
            Content::Literal { .. } | Content::Forgotten { .. } => None,
        })
        .collect();
    for piece in lists.iter().flat_map(|(_, pieces, _)| pieces) {
        let whole = state.contents.get(&piece.of).map(Content::length);
        if piece.offset == 0 && whole == Some(piece.length) {
            going.remove(&piece.of);
        }
    }
    let mut copied: BTreeSet<(ArtifactId, u64, u64)> = BTreeSet::new();
    for (id, pieces, length) in lists {
        if !pieces.iter().any(|piece| going.contains(&piece.of)) {
            continue;
        }
        let mut made = Vec::new();
        for piece in pieces {
            if !going.contains(&piece.of) {
                push(&mut made, piece.of, piece.offset, piece.length);
                continue;
            }
            let Some(Content::Literal { bytes }) = state.contents.get(&piece.of) else { continue };
            let range = usize::try_from(piece.offset).unwrap_or(usize::MAX)
                ..usize::try_from(piece.offset + piece.length).unwrap_or(usize::MAX);
            let slice = bytes.get(range).unwrap_or_default().to_vec();
            let copy = artifact_id(&slice);
            copied.insert((piece.of, piece.offset, piece.length));
            going.remove(&copy);
            state.contents.put(copy, Content::Literal { bytes: slice.into() });
            push(&mut made, copy, 0, piece.length);
        }
        if matches!(state.contents.get(&id), Some(Content::Composed { .. })) {
            state.contents.put(id, Content::Composed { pieces: made, length });
        }
    }
    to_u64(copied.len())
}
