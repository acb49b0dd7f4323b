//! Formats in which a transcript is one document, written anew as a whole: what they share.
//!
//! A format says which records a document holds and where its list of records stands ([`Dialect`]); what a document
//! counts, how it becomes entries, and how lists of several commits become one follows from that here. A document is
//! one commit, a snapshot.

pub(crate) mod compactions;
pub(crate) mod decode;
pub(crate) mod head;
pub(crate) mod join;
pub(crate) mod mend;
pub(crate) mod split;

use std::ops::Range;

use stemmata_model::{Body, Entry, EntryId, EntryKind, EntryMeta, NativeSpan, Part, Role, Timestamp};

use crate::adapter::IdKind;
use crate::json::{Field, RecordError};
use crate::lines::Line;
use crate::lines::facts::Templates;

/// A format of documents.
#[derive(Debug)]
pub(crate) struct Dialect {
    /// The runtime's name, as in [`Part::Opaque`] and in templates.
    pub(crate) runtime: &'static str,
    pub(crate) templates: Templates,
    /// Returns the records of a whole document, in the order of its bytes.
    pub(crate) read: fn(&[u8]) -> Result<Vec<Record>, RecordError>,
    /// Returns the inside of the list that further records join, without its brackets.
    pub(crate) list: fn(&[u8]) -> Option<Range<usize>>,
    /// Returns the compactions that a document's records hold, in their order. [`compactions::none`] where the format has
    /// no form for one.
    pub(crate) compactions: fn(&[u8], &[Record]) -> Vec<compactions::Within>,
}

/// A record of a document.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    /// Its bytes: ascending, and apart from the bytes of others.
    pub(crate) span: Range<usize>,
    /// What it says.
    pub(crate) line: Line,
}

/// Reads bytes as one JSON value.
///
/// # Errors
/// `RecordError` says what they are instead.
pub(crate) fn whole(bytes: &[u8]) -> Result<Field<'_>, RecordError> {
    let text = std::str::from_utf8(bytes)?;
    let value: &serde_json::value::RawValue = serde_json::from_str(text).map_err(RecordError::NotJson)?;
    Ok(Field::within(Field::whole(text), value.get()))
}

/// Returns the inside of a JSON list, none for any other value.
pub(crate) fn inside(list: Field<'_>) -> Option<Range<usize>> {
    let span = list.span();
    (list.raw().starts_with('[') && list.raw().ends_with(']')).then_some(span.start + 1..span.end - 1)
}

/// Returns the inside of a document that is a JSON list.
pub(crate) fn top_list(bytes: &[u8]) -> Option<Range<usize>> {
    inside(whole(bytes).ok()?)
}

/// Returns a summary of ours as an entry, to be encoded.
pub(crate) fn summary_entry(summary: &str, at: Timestamp) -> Entry {
    Entry {
        id: EntryId::new("summary").expect("the name is short and plain"),
        parent: None,
        timestamp: Some(at),
        role: Role::User,
        kind: EntryKind::CompactionSummary,
        body: Body::Text,
        parts: vec![Part::Summary { text: summary.to_owned(), covers: Vec::new() }],
        meta: EntryMeta::default(),
        native: NativeSpan { offset: 0, length: 0 },
    }
}

/// Returns a file whose bytes a format carries as base64: what is text is told as text from then on.
pub(crate) fn file(name: String, media_type: String, digits: Option<String>) -> Part {
    let is_text = media_type.starts_with("text/");
    let (media_type, data) = match digits {
        Some(digits) if is_text => match crate::base64::text_of(&digits) {
            Some(text) => (media_type, Some(text)),
            // In another encoding, or cut: nobody may take its digits for its text.
            None => ("application/octet-stream".to_owned(), Some(digits)),
        },
        digits => (media_type, digits),
    };
    Part::File { name, media_type: Some(media_type), data }
}

/// Has copies of a record be known by the ids of the calls in it.
pub(crate) fn name_calls(line: &mut Line) {
    let calls = line.parts.iter().filter_map(|part| match part {
        Part::ToolCall { call_id, .. } | Part::ToolResult { call_id, .. } => {
            Some((IdKind::Call, call_id.clone()))
        }
        _ => None,
    });
    line.ids.extend(calls);
}
