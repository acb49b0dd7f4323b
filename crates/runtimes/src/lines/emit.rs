//! Turns chosen lines into pieces of bytes; lines that follow each other become one piece.

use std::ops::Range;

use stemmata_model::{Note, NoteCode, plural, to_u64};

use crate::adapter::{Edit, Piece};

/// Where a line stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    /// As [`segment_number`](crate::adapter::segment_number) counts.
    pub(crate) segment: usize,
    /// Bytes from the start of that segment's bytes.
    pub(crate) offset: u64,
    /// Bytes, newline included.
    pub(crate) length: u64,
}

impl Place {
    /// Returns the line as a piece by itself, as it is.
    pub(crate) fn piece(self) -> Piece {
        Piece { segment: self.segment, offset: self.offset, length: self.length, edits: Vec::new() }
    }

    /// Returns where a part of the line stands, and whether another part follows it; `line` has no newline.
    pub(crate) fn part(self, range: &Range<usize>, line: &[u8]) -> (Self, bool) {
        let is_joined = range.end < line.len();
        let end = if is_joined { to_u64(range.end) } else { self.length };
        let start = to_u64(range.start);
        (Self { offset: self.offset + start, length: end - start, ..self }, is_joined)
    }

    /// Returns the edit that ends the line behind a part which another one follows: its client reads one record a line.
    pub(crate) fn ended(self, is_joined: bool) -> Option<Edit> {
        is_joined.then(|| Edit { offset: self.length, length: 0, with: b"\n".to_vec() })
    }
}

/// Says how many records got a line of their own that shared one, which their client passes over.
pub(crate) fn note_ended(records: usize, notes: &mut Vec<Note>) {
    if records > 0 {
        let lines = plural(to_u64(records), "record");
        let message = format!(
            "{lines} shared a line with the next one, and the client passes over such a line: each has its own here"
        );
        notes.push(Note::new(NoteCode::Degraded, message));
    }
}

/// Returns where the lines of a segment's bytes stand, and the lines without their newlines.
pub(crate) fn places(segment: usize, bytes: &[u8]) -> impl Iterator<Item = (Place, &[u8])> {
    let mut offset = 0;
    bytes.split_inclusive(|byte| *byte == b'\n').map(move |line| {
        let length = to_u64(line.len());
        let place = Place { segment, offset, length };
        offset += length;
        (place, line.strip_suffix(b"\n").unwrap_or(line))
    })
}

/// Appends a line to pieces, with replacements inside it.
pub(crate) fn push(pieces: &mut Vec<Piece>, place: Place, edits: impl IntoIterator<Item = Edit>) {
    let follows =
        |piece: &Piece| piece.segment == place.segment && piece.offset + piece.length == place.offset;
    if !pieces.last().is_some_and(follows) {
        pieces.push(Place { length: 0, ..place }.piece());
    }
    if let Some(piece) = pieces.last_mut() {
        let before = piece.length;
        piece.edits.extend(edits.into_iter().map(|edit| Edit { offset: edit.offset + before, ..edit }));
        piece.length += place.length;
    }
}
