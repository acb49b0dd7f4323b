//! Records that a client wrote late: a context says them before lines that stand above them in the transcript.
//!
//! The order is the plan's, which is the adapter's; nothing here knows formats. A transcript keeps its bytes and commits.

use std::cmp::Reverse;

use stemmata_runtimes::adapter::Piece;

/// Late ranges of one plan at most. Where there are more, the plan's order is not the file's with a few exceptions, and the file's
/// order is kept.
const LATE_MAX: usize = 4096;

/// Where bytes stand in a chain: the commit's position, 0 for the newest, and the bytes before them in its content.
pub(crate) type Place = (usize, u64);

/// A range of a commit that is said earlier than it stands in the transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Late {
    /// Where it stands.
    pub at: Place,
    /// Its bytes.
    pub length: u64,
    /// What comes next in the order of what was said, and stands where it was said.
    pub before: Place,
}

impl Late {
    /// Returns whether something that stands at a place is part of it.
    pub(crate) const fn holds(&self, (position, offset): Place) -> bool {
        self.at.0 == position && self.at.1 <= offset && offset - self.at.1 < self.length
    }
}

/// Returns whether one place stands before another one in the transcript.
pub(crate) fn stands_before(one: Place, other: Place) -> bool {
    rank(one) < rank(other)
}

const fn rank((position, offset): Place) -> (Reverse<usize>, u64) {
    (Reverse(position), offset)
}

/// Returns the late ranges of a plan, in the order in which they are said. Pieces of prefixes have no place in the transcript.
pub(crate) fn late(pieces: &[Piece]) -> Vec<Late> {
    let mut next: Option<Place> = None;
    let mut found = Vec::new();
    for piece in pieces.iter().rev().filter(|piece| piece.segment.is_multiple_of(2)) {
        let at = (piece.segment / 2, piece.offset);
        match next {
            Some(before) if stands_before(before, at) => {
                found.push(Late { at, length: piece.length, before });
            }
            _ => next = Some(at),
        }
    }
    if found.len() > LATE_MAX {
        return Vec::new();
    }
    found.reverse();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(position: usize, offset: u64) -> Piece {
        Piece { segment: position * 2, offset, length: 10, edits: Vec::new() }
    }

    #[test]
    fn a_range_is_late_where_one_behind_it_stands_above_it() {
        let in_order = [piece(1, 0), piece(1, 10), piece(0, 0), piece(0, 30)];
        assert_eq!(late(&in_order), []);
        // The last line of the newest commit was said second, the one before it third.
        let late_ones = [piece(1, 0), piece(0, 40), piece(0, 30), piece(1, 10), piece(0, 0)];
        let before = (1, 10);
        let expected = [Late { at: (0, 40), length: 10, before }, Late { at: (0, 30), length: 10, before }];
        assert_eq!(late(&late_ones), expected);
        assert!(expected[0].holds((0, 49)) && !expected[0].holds((0, 50)) && !expected[0].holds((1, 45)));
    }

    #[test]
    fn a_prefix_has_no_place() {
        let prefix = Piece { segment: 1, offset: 0, length: 10, edits: Vec::new() };
        assert_eq!(late(&[piece(0, 20), prefix, piece(0, 30)]), []);
    }
}
