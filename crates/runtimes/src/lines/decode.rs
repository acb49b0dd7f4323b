//! From bytes to entries: one entry for each line that is not blank, several for one that is several records, and nothing lost.

use stemmata_model::{
    Body, Entry, EntryId, EntryKind, EntryMeta, NativeSpan, Note, NoteCode, Role, Visibility, to_u64,
};

use super::unknown::NotedTypes;
use super::{Dialect, Line, opaque};
use crate::adapter::{Decoded, IdKind};
use crate::json::{RecordError, is_blank};

/// The kind of an opaque part that holds a line which is no record, as a JSON string.
pub(crate) const OPAQUE_UNREADABLE: &str = "unreadable";

/// Notes about single lines that one decode gives: a file of garbage should not fill the memory.
pub(crate) const LINE_NOTES_MAX: usize = 100;

/// Separates ids of lines from every other use of the hash.
const LINE_ID_CONTEXT: &str = "stemmata.line.v1";

/// Decodes whole lines; the last one may lack its newline.
pub(crate) fn decode(dialect: &Dialect, bytes: &[u8]) -> Decoded {
    let mut decoder = Decoder {
        dialect,
        decoded: Decoded::default(),
        lines: 0,
        line_notes: 0,
        carriage_returns: 0,
        unknown: NotedTypes::default(),
    };
    let mut start = 0;
    while start < bytes.len() {
        let rest = bytes.get(start..).unwrap_or_default();
        let length = memchr::memchr(b'\n', rest);
        let line = rest.get(..length.unwrap_or(rest.len())).unwrap_or_default();
        decoder.line(line, start, length.is_some());
        start += line.len() + 1;
    }
    decoder.finish()
}

/// Hands out the ids of the records of one line, of each its own first.
pub(crate) fn ids(dialect: &Dialect, line: &[u8], found: &mut dyn FnMut(IdKind, &str)) {
    dialect.each(line, &mut |_, read| {
        let Some(read) = read else { return };
        if let Some(id) = &read.id {
            found(IdKind::Entry, id.as_str());
        }
        for (kind, id) in &read.ids {
            found(*kind, id);
        }
    });
}

/// Derives the id of a line that has none from its content: where it stands must not matter, so that a
/// chain decodes to the same entries whether it is read whole or commit by commit.
pub(crate) fn line_id(line: &[u8]) -> EntryId {
    let hash = blake3::Hash::from_bytes(blake3::derive_key(LINE_ID_CONTEXT, line)).to_hex();
    EntryId::new(format!("line-{}", hash.split_at(32).0)).expect("hex digits are a name")
}

struct Decoder<'d> {
    dialect: &'d Dialect,
    decoded: Decoded,
    lines: u64,
    line_notes: usize,
    carriage_returns: u64,
    unknown: NotedTypes,
}

impl Decoder<'_> {
    fn line(&mut self, line: &[u8], offset: usize, is_complete: bool) {
        self.lines += 1;
        if is_blank(line) {
            return;
        }
        self.carriage_returns += u64::from(line.ends_with(b"\r"));
        let error = match (self.dialect.read)(line) {
            Ok(read) => {
                if !is_complete {
                    self.note(NoteCode::TornTail, "the last line has no newline".to_owned());
                }
                return self.part(line, offset, Some(read));
            }
            Err(error) => error,
        };
        let parts = self.dialect.rescued(line);
        if parts.is_empty() {
            self.note_unreadable(line, &error, is_complete);
            return self.part(line, offset, None);
        }
        let bytes = line.len();
        let what = match parts.iter().filter(|part| part.line.is_some()).count() {
            1 => format!("what can be read of its {bytes} bytes is shown"),
            records => format!("each of its {records} records is shown"),
        };
        self.note(NoteCode::UnparsableLine, format!("{error}: {what}"));
        for part in parts {
            let start = offset + part.range.start;
            self.part(line.get(part.range).unwrap_or_default(), start, part.line);
        }
    }

    /// Takes a line, or a part of one.
    fn part(&mut self, bytes: &[u8], offset: usize, read: Option<Line>) {
        let native = NativeSpan { offset: to_u64(offset), length: to_u64(bytes.len()) };
        let entry = match read {
            Some(read) => {
                self.note_unknown(&read);
                let id = read.id.clone().unwrap_or_else(|| line_id(bytes));
                read.into_entry(id, native)
            }
            None => self.unreadable(bytes, native),
        };
        self.decoded.entries.push(entry);
    }

    fn unreadable(&self, line: &[u8], native: NativeSpan) -> Entry {
        let text = String::from_utf8_lossy(line);
        let json = serde_json::Value::from(text).to_string();
        Entry {
            id: line_id(line),
            parent: None,
            timestamp: None,
            role: Role::System,
            kind: EntryKind::Unreadable,
            body: Body::Blocks,
            parts: vec![opaque(self.dialect.runtime, OPAQUE_UNREADABLE, &json)],
            meta: EntryMeta { visibility: Visibility { agent: false, user: false }, ..EntryMeta::default() },
            native,
        }
    }

    fn note_unknown(&mut self, read: &Line) {
        for name in read.unknown_names() {
            if let Some(message) = self.unknown.note(name) {
                self.note(NoteCode::UnknownRecord, message);
            }
        }
    }

    fn note_unreadable(&mut self, line: &[u8], error: &RecordError, is_complete: bool) {
        let bytes = line.len();
        let nul = if line.contains(&0) { " with NUL bytes" } else { "" };
        if is_complete {
            self.note(NoteCode::UnparsableLine, format!("{error}: {bytes} bytes{nul} kept as they are"));
        } else {
            self.note(
                NoteCode::TornTail,
                format!("the last line is cut: {bytes} bytes{nul} kept as they are"),
            );
        }
    }

    fn note(&mut self, code: NoteCode, message: String) {
        self.line_notes += 1;
        if self.line_notes <= LINE_NOTES_MAX {
            let note = Note::at_line(code, self.lines, message);
            self.decoded.notes.push(note);
        }
    }

    fn finish(mut self) -> Decoded {
        if self.line_notes > LINE_NOTES_MAX {
            let more = self.line_notes - LINE_NOTES_MAX;
            let note = Note::new(NoteCode::Degraded, format!("{more} more notes about lines are not listed"));
            self.decoded.notes.push(note);
        }
        if self.carriage_returns > 0 {
            let lines = self.carriage_returns;
            let note = Note::new(
                NoteCode::Degraded,
                format!("{} with CR LF kept unchanged", stemmata_model::plural(lines, "line")),
            );
            self.decoded.notes.push(note);
        }
        self.decoded
    }
}
