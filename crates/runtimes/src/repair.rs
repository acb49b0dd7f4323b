//! Repairing a transcript: the same lines, mended where a client's loader would stumble, and a list of what was done.
//!
//! Pure, and never in place: bytes in, other bytes out. What a runtime's loader needs is its adapter's to know
//! (`Adapter::mend`); here is the document that an adapter works on, and when the work is done.

use std::ops::Range;

use crate::adapter::{Adapter, Shape, Validation};
use crate::json::{Field, is_blank};
use crate::placing::{put, replace};

/// Times that an adapter looks at a document: what mending one thing shows of another is mended in the next round. A
/// round that finds nothing is the last.
pub(crate) const ROUNDS_MAX: usize = 12;

/// What a call is answered with that had no result when its transcript was repaired.
pub(crate) const REPAIRED_TEXT: &str = "[Closed by Stemmata: this tool call had no result when the transcript was repaired. It may or may not have run.]";

/// One thing that was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Line of the transcript as it was given (1 = first); none for a line that was not there, and in a transcript that is
    /// one document, where the message says which of its messages it is about.
    pub line: Option<u64>,
    /// Stable name of what was done.
    pub kind: &'static str,
    /// What was done and why, in one sentence without a final stop.
    pub message: String,
}

/// A transcript that was looked through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repaired {
    /// The transcript; the same bytes where nothing was changed.
    pub bytes: Vec<u8>,
    /// What was changed, in the order of the lines.
    pub changes: Vec<Change>,
    /// What the loader would stumble over now.
    pub validation: Validation,
}

/// Repairs a transcript for a version of its client (the newest known where none is given).
///
/// What has nothing to mend comes back as it is, and so does what was repaired. Whether a client would take the result
/// is in its validation: not everything can be mended.
pub fn repair(adapter: &dyn Adapter, bytes: &[u8], client_version: Option<&str>) -> Repaired {
    let is_whole = adapter.shape() == Shape::Document;
    let mut document = if is_whole { Document::whole(bytes) } else { Document::of(bytes) };
    for _ in 0..ROUNDS_MAX {
        let before = document.changes.len();
        adapter.mend(&mut document, client_version);
        if document.changes.len() == before {
            break;
        }
    }
    let bytes = document.bytes();
    let mut validator = adapter.validator(client_version);
    match adapter.shape() {
        Shape::Lines => bytes.split_inclusive(|byte| *byte == b'\n').for_each(|line| validator.line(line)),
        Shape::Document => validator.line(&bytes),
    }
    let mut changes = document.changes;
    changes.sort_by_key(|change| (change.line.is_none(), change.line));
    Repaired { bytes, changes, validation: validator.finish() }
}

/// A line of a document.
#[derive(Debug, Clone)]
struct Line {
    /// Its number in the transcript as it was given, 1 being the first.
    number: Option<u64>,
    /// With its newline, if it has one.
    bytes: Vec<u8>,
}

/// A transcript that is being repaired, line by line.
#[derive(Debug, Clone)]
pub struct Document {
    lines: Vec<Line>,
    changes: Vec<Change>,
}

impl Document {
    /// Takes a transcript apart.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let lines = bytes.split_inclusive(|byte| *byte == b'\n').zip(1..);
        let lines = lines.map(|(line, number)| Line { number: Some(number), bytes: line.to_vec() });
        Self { lines: lines.collect(), changes: Vec::new() }
    }

    /// Takes a transcript that is one document: one line, whatever breaks it has.
    pub(crate) fn whole(bytes: &[u8]) -> Self {
        Self { lines: vec![Line { number: None, bytes: bytes.to_vec() }], changes: Vec::new() }
    }

    /// Writes a document anew, as a whole.
    pub(crate) fn rewrite(&mut self, bytes: Vec<u8>, changes: Vec<(&'static str, String)>) {
        self.lines = vec![Line { number: None, bytes }];
        for (kind, message) in changes {
            self.note(None, kind, message);
        }
    }

    /// Returns the lines with the numbers that they had.
    pub(crate) fn numbered(&self) -> impl Iterator<Item = (Option<u64>, &[u8])> {
        self.lines.iter().map(|line| (line.number, line.bytes.as_slice()))
    }

    /// Returns what was changed so far.
    pub(crate) fn told(&self) -> &[Change] {
        &self.changes
    }

    /// Returns the lines, each with its newline if it has one.
    pub(crate) fn lines(&self) -> impl DoubleEndedIterator<Item = &[u8]> + ExactSizeIterator {
        self.lines.iter().map(|line| line.bytes.as_slice())
    }

    /// Returns a line; empty where there is none.
    pub(crate) fn line(&self, index: usize) -> &[u8] {
        self.lines.get(index).map_or(&[], |line| line.bytes.as_slice())
    }

    pub(crate) fn len(&self) -> usize {
        self.lines.len()
    }

    fn bytes(&self) -> Vec<u8> {
        self.lines().collect::<Vec<_>>().concat()
    }

    fn note(&mut self, line: Option<u64>, kind: &'static str, message: impl Into<String>) {
        self.changes.push(Change { line, kind, message: message.into() });
    }

    /// Replaces parts of a line; the places must not overlap.
    pub(crate) fn edit(
        &mut self,
        index: usize,
        edits: Vec<(Range<usize>, String)>,
        (kind, message): (&'static str, impl Into<String>),
    ) {
        let Some(line) = self.lines.get_mut(index).filter(|_| !edits.is_empty()) else { return };
        let mut edited = Vec::with_capacity(line.bytes.len() + 64);
        replace(&line.bytes, edits, &mut edited);
        if edited == line.bytes {
            return;
        }
        line.bytes = edited;
        let number = line.number;
        self.note(number, kind, message);
    }

    /// Replaces a line by others, each without its newline.
    pub(crate) fn replace_line(
        &mut self,
        index: usize,
        lines: Vec<String>,
        (kind, message): (&'static str, impl Into<String>),
    ) {
        let Some(line) = self.lines.get(index) else { return };
        let mut number = line.number;
        self.note(number, kind, message);
        let with = lines
            .into_iter()
            .map(|line| Line { number: number.take(), bytes: format!("{line}\n").into_bytes() });
        let with: Vec<Line> = with.collect();
        self.lines.splice(index..=index, with);
    }

    /// Gives a line's object these members: one that is there gets the value, the others stand ahead of all.
    pub(crate) fn put<'k>(
        &mut self,
        index: usize,
        members: impl IntoIterator<Item = (&'k str, Option<Field<'k>>, String)>,
        what: (&'static str, impl Into<String>),
    ) {
        self.edit(index, put((self.line(index), 0), members), what);
    }

    /// Puts a new line, without its newline, before another one; at the end where there is none.
    pub(crate) fn insert(&mut self, index: usize, line: &str, what: (&'static str, impl Into<String>)) {
        let index = index.min(self.lines.len());
        // Two records must never share a line.
        if let Some(before) = index.checked_sub(1).and_then(|before| self.lines.get_mut(before))
            && !before.bytes.ends_with(b"\n")
        {
            before.bytes.push(b'\n');
        }
        self.lines.insert(index, Line { number: None, bytes: format!("{line}\n").into_bytes() });
        self.note(None, what.0, what.1);
    }

    /// Takes a line out.
    pub(crate) fn remove(&mut self, index: usize, (kind, message): (&'static str, impl Into<String>)) {
        if index < self.lines.len() {
            let line = self.lines.remove(index);
            self.note(line.number, kind, message);
        }
    }

    /// Takes a line to another place, counted without it.
    pub(crate) fn move_line(
        &mut self,
        index: usize,
        to: usize,
        (kind, message): (&'static str, impl Into<String>),
    ) {
        if to == index || index.max(to) >= self.lines.len() {
            return;
        }
        if let Some(last) = self.lines.last_mut().filter(|last| !last.bytes.ends_with(b"\n")) {
            last.bytes.push(b'\n');
        }
        let line = self.lines.remove(index);
        let number = line.number;
        self.lines.insert(to, line);
        self.note(number, kind, message);
    }

    /// Returns how many changes were made so far.
    pub(crate) fn changes(&self) -> usize {
        self.changes.len()
    }

    /// Mends one kind of trouble, the first that there is: what it changes may show or hide the next.
    pub(crate) fn mend_first(&mut self, stages: &[&dyn Fn(&mut Self)]) {
        let before = self.changes();
        for stage in stages {
            stage(self);
            if self.changes() > before {
                return;
            }
        }
    }

    /// Cuts a last line that is no whole record: a client died while it wrote it.
    pub(crate) fn cut_torn_tail(&mut self, is_record: impl FnOnce(&[u8]) -> bool) {
        let Some(last) = self.lines.last() else { return };
        let is_torn = !last.bytes.ends_with(b"\n") && !is_blank(&last.bytes) && !is_record(&last.bytes);
        if is_torn {
            let bytes = last.bytes.len();
            let message = format!("the last line is cut in its middle: its {bytes} bytes are left out");
            self.remove(self.lines.len() - 1, ("torn_tail", message));
        }
    }
}

/// Returns an id that looks like a client's own (version 4) and is the same for the same reasons everywhere.
pub(crate) fn made_up_uuid(parts: &[&[u8]]) -> String {
    uuid_from(blake3::Hasher::new_derive_key("stemmata.repair.v1"), parts)
}

/// Returns such an id by a hash of its own.
pub(crate) fn uuid_from(mut hasher: blake3::Hasher, parts: &[&[u8]]) -> String {
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    let mut bytes = [0; 16];
    hasher.finalize_xof().fill(&mut bytes);
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    uuid_text(bytes)
}

/// Returns whether a text is 36 characters with hyphens where a uuid has them.
pub(crate) fn is_uuid_shaped(text: &str) -> bool {
    text.len() == 36 && text.split('-').map(str::len).eq([8, 4, 4, 4, 12])
}

/// Returns the text of a UUID.
pub(crate) fn uuid_text(bytes: [u8; 16]) -> String {
    let mut text = String::with_capacity(36);
    for (position, byte) in bytes.iter().enumerate() {
        if matches!(position, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        for digit in [byte >> 4, byte & 0xf] {
            text.extend(char::from_digit(u32::from(digit), 16));
        }
    }
    text
}

#[cfg(test)]
mod document_tests;
#[cfg(test)]
mod tests;
