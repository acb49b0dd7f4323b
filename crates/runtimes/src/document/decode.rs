//! From a document to entries: one for each record, and nothing lost.

use stemmata_model::{Entry, EntryId, NativeSpan, Note, NoteCode, to_u64};

use super::Dialect;
use crate::adapter::{Decoded, IdKind};
use crate::clients::UNREADABLE;
use crate::json::{RecordError, is_blank};
use crate::lines::decode::line_id;
use crate::lines::unknown::NotedTypes;
use crate::lines::{self, Line};

/// Decodes a document; one that is none is an entry that nobody reads, with a note.
pub(crate) fn decode(dialect: &Dialect, bytes: &[u8]) -> Decoded {
    let mut decoded = Decoded::default();
    if is_blank(bytes) {
        return decoded;
    }
    let records = match (dialect.read)(bytes) {
        Ok(records) => records,
        Err(error) => {
            decoded.notes.push(unreadable_note(bytes, &error));
            decoded.entries.push(unreadable(dialect, bytes));
            return decoded;
        }
    };
    let mut unknown = NotedTypes::default();
    for record in records {
        if record.line.unknown.as_deref() == Some(UNREADABLE) {
            decoded.notes.push(torn_record_note(&record.line));
        }
        let names = record.line.unknown_names().filter(|name| *name != UNREADABLE);
        let notes = names.filter_map(|name| unknown.note(name));
        decoded.notes.extend(notes.map(|message| Note::new(NoteCode::UnknownRecord, message)));
        let own = bytes.get(record.span.clone()).unwrap_or_default();
        let native = NativeSpan { offset: to_u64(record.span.start), length: to_u64(own.len()) };
        let id = record.line.id.clone().unwrap_or_else(|| line_id(own));
        decoded.entries.push(record.line.into_entry(id, native));
    }
    decoded
}

/// Hands out the ids of a document's records.
pub(crate) fn ids(dialect: &Dialect, bytes: &[u8], found: &mut dyn FnMut(IdKind, &str)) {
    for record in (dialect.read)(bytes).unwrap_or_default() {
        if let Some(id) = &record.line.id {
            found(IdKind::Entry, id.as_str());
        }
        for (kind, id) in &record.line.ids {
            found(*kind, id);
        }
    }
}

/// Names a record that was no JSON object where its client keeps it, or that has a part which was none.
pub(crate) fn torn_record_note(line: &Line) -> Note {
    let id = line.id.as_ref().map_or("a message", EntryId::as_str);
    let message =
        format!("`{id}` is damaged in its client's store, or a part of it is: kept as it is, not understood");
    Note::new(NoteCode::UnparsableLine, message)
}

/// Says what a document is that is none.
pub(crate) fn unreadable_note(bytes: &[u8], error: &RecordError) -> Note {
    let length = bytes.len();
    let (code, what) = match error {
        RecordError::NotJson(error) if error.is_eof() => {
            (NoteCode::TornTail, "the document is cut".to_owned())
        }
        RecordError::NotJson(error) => {
            let (line, column) = (error.line(), error.column());
            (NoteCode::UnparsableLine, format!("the document is not JSON at line {line}, column {column}"))
        }
        RecordError::NotUtf8 { offset } => {
            (NoteCode::UnparsableLine, format!("the document is not UTF-8 from byte {offset}"))
        }
        RecordError::NotObject => {
            (NoteCode::UnparsableLine, "the document has not the form of its format".to_owned())
        }
        RecordError::NotCbor { is_cut: true, .. } => (NoteCode::TornTail, "the document is cut".to_owned()),
        RecordError::NotCbor { offset, reason, .. } => (
            NoteCode::UnparsableLine,
            format!("the document is not read from byte {offset} on, for {reason}"),
        ),
    };
    Note::new(code, format!("{what}: {length} bytes kept as they are"))
}

fn unreadable(dialect: &Dialect, bytes: &[u8]) -> Entry {
    let native = NativeSpan { offset: 0, length: to_u64(bytes.len()) };
    lines::decode::unreadable(dialect.runtime, line_id(bytes), bytes, native)
}
