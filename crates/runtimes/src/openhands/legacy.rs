//! `openhands-legacy-v1`: the older events of `OpenHands`, all in one JSON array.
//!
//! What an event says is read as in `openhands-v1`, where each is a line.

use stemmata_model::Entry;

use super::events;
use crate::adapter::Confidence;
use crate::document::compactions::none;
use crate::document::{Dialect, Record, head, top_list, whole};
use crate::json::RecordError;
use crate::lines::facts::Templates;

pub(super) static DIALECT: Dialect = Dialect {
    runtime: events::RUNTIME,
    templates: Templates { main: "openhands/main", subagent: "openhands/subagent" },
    read,
    list: top_list,
    compactions: none,
};

fn read(bytes: &[u8]) -> Result<Vec<Record>, RecordError> {
    let elements = whole(bytes)?.elements().ok_or(RecordError::NotObject)?;
    let records = elements.into_iter().map(|element| {
        let line = events::read(element.raw().as_bytes()).unwrap_or_else(|_| {
            let mut line = crate::lines::Line::metadata(events::RUNTIME, "value", element.raw(), None);
            line.unknown = Some("value".to_owned());
            line
        });
        Record { span: element.span(), line }
    });
    Ok(records.collect())
}

/// Says how sure it is of a document's first bytes (see `Adapter::detect`).
pub(super) fn claims(bytes: &[u8]) -> Option<Confidence> {
    if !bytes.trim_ascii_start().starts_with(b"[") {
        return None;
    }
    let json = head::closed(bytes)?;
    let first = *whole(&json).ok()?.elements()?.first()?;
    // Four fields that no message of an API has.
    events::first(first.raw().as_bytes()).map(|_| Confidence::Certain)
}

/// Encodes what was said as events of the SDK, in one array.
pub(super) fn encode(entries: &[Entry]) -> String {
    let lines = String::from_utf8(events::encode(entries)).unwrap_or_default();
    format!("[{}]", lines.lines().collect::<Vec<_>>().join(","))
}
