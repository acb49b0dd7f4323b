//! From bytes to entries: one entry for each line that is not blank, several for one that is several records, and nothing lost.

use stemmata_model::{
    Body, Entry, EntryId, EntryKind, EntryMeta, NativeSpan, Note, NoteCode, Role, Visibility, to_u64,
};

use super::split::kept_as_it_is;
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
    Decoder::run(bytes, |decoder, line, offset, is_complete| {
        dialect.decode(decoder, line, offset, is_complete);
    })
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

/// Derives the id of a line that has none from its content.
pub(crate) fn line_id(line: &[u8]) -> EntryId {
    id_of(LINE_ID_CONTEXT, line)
}

/// Derives the id of a line from its content: where it stands must not matter, so that a chain decodes to the same entries
/// whether it is read whole or commit by commit. `context` separates formats whose ids were made apart.
pub(crate) fn id_of(context: &str, line: &[u8]) -> EntryId {
    let hash = blake3::Hash::from_bytes(blake3::derive_key(context, line)).to_hex();
    EntryId::new(format!("line-{}", hash.split_at(32).0)).expect("hex digits are a name")
}

/// Returns the entry of bytes that are no record.
pub(crate) fn unreadable(runtime: &str, id: EntryId, bytes: &[u8], native: NativeSpan) -> Entry {
    let json = serde_json::Value::from(String::from_utf8_lossy(bytes)).to_string();
    Entry {
        id,
        parent: None,
        timestamp: None,
        role: Role::System,
        kind: EntryKind::Unreadable,
        body: Body::Blocks,
        parts: vec![opaque(runtime, OPAQUE_UNREADABLE, &json)],
        meta: EntryMeta { visibility: Visibility { agent: false, user: false }, ..EntryMeta::default() },
        native,
    }
}

impl Dialect {
    fn decode(&self, decoder: &mut Decoder, line: &[u8], offset: usize, is_complete: bool) {
        let error = match (self.read)(line) {
            Ok(read) => {
                decoder.note_torn(is_complete);
                return self.part(decoder, line, offset, Some(read));
            }
            Err(error) => error,
        };
        let parts = self.rescued(line);
        if parts.is_empty() {
            decoder.note_unreadable(line, &error, is_complete);
            return self.part(decoder, line, offset, None);
        }
        let bytes = line.len();
        let what = match parts.iter().filter(|part| part.line.is_some()).count() {
            1 => format!("what can be read of its {bytes} bytes is shown"),
            records => format!("each of its {records} records is shown"),
        };
        decoder.note(NoteCode::UnparsableLine, format!("{error}: {what}"));
        for part in parts {
            let start = offset + part.range.start;
            self.part(decoder, line.get(part.range).unwrap_or_default(), start, part.line);
        }
    }

    /// Takes a line, or a part of one.
    fn part(&self, decoder: &mut Decoder, bytes: &[u8], offset: usize, read: Option<Line>) {
        let native = NativeSpan { offset: to_u64(offset), length: to_u64(bytes.len()) };
        let entry = match read {
            Some(read) => {
                read.unknown_names().for_each(|name| decoder.note_unknown(name));
                let id = read.id.clone().unwrap_or_else(|| line_id(bytes));
                read.into_entry(id, native)
            }
            None => unreadable(self.runtime, line_id(bytes), bytes, native),
        };
        decoder.push(entry);
    }
}

/// What is decoded of lines so far, with a bounded list of what is to be said of them.
#[derive(Default)]
pub(crate) struct Decoder {
    decoded: Decoded,
    lines: u64,
    line_notes: usize,
    carriage_returns: u64,
    unknown: NotedTypes,
}

impl Decoder {
    /// Hands out each line that is not blank, where it begins, and whether its newline is there.
    pub(crate) fn run(bytes: &[u8], mut take: impl FnMut(&mut Self, &[u8], usize, bool)) -> Decoded {
        let mut decoder = Self::default();
        let mut start = 0;
        while start < bytes.len() {
            let rest = bytes.get(start..).unwrap_or_default();
            let length = memchr::memchr(b'\n', rest);
            let line = rest.get(..length.unwrap_or(rest.len())).unwrap_or_default();
            decoder.lines += 1;
            if !is_blank(line) {
                decoder.carriage_returns += u64::from(line.ends_with(b"\r"));
                take(&mut decoder, line, start, length.is_some());
            }
            start += line.len() + 1;
        }
        decoder.finish()
    }

    pub(crate) fn push(&mut self, entry: Entry) {
        self.decoded.entries.push(entry);
    }

    /// Notes a record that is whole and lacks its newline.
    pub(crate) fn note_torn(&mut self, is_complete: bool) {
        if !is_complete {
            self.note(NoteCode::TornTail, "the last line has no newline".to_owned());
        }
    }

    /// Notes a type that is carried without being understood.
    pub(crate) fn note_unknown(&mut self, name: &str) {
        if let Some(message) = self.unknown.note(name) {
            self.note(NoteCode::UnknownRecord, message);
        }
    }

    pub(crate) fn note_unreadable(&mut self, line: &[u8], error: &RecordError, is_complete: bool) {
        if is_complete {
            self.note(NoteCode::UnparsableLine, kept_as_it_is(line, error));
        } else {
            self.note(NoteCode::TornTail, kept_as_it_is(line, &"the last line is cut"));
        }
    }

    pub(crate) fn note(&mut self, code: NoteCode, message: String) {
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
