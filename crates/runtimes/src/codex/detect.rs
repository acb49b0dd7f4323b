//! Whether bytes are a rollout, and of which of the two formats.

use stemmata_model::FormatId;

use super::record::{Envelope, Kind, Record, is_bare_header};
use crate::adapter::{Confidence, Detection};
use crate::json::{Field, is_blank, is_string, owned};
use crate::lines::unknown::shown;

/// Looks at the first bytes of a file (see `Adapter::detect`).
pub(super) fn detect(head: &[u8], is_paginated: bool, format: FormatId) -> Option<Detection> {
    let mut lines = head.split(|byte| *byte == b'\n').filter(|line| !is_blank(line));
    let first = lines.next()?;
    let found = match Record::parse(first) {
        Ok(record) => of_record(&record),
        Err(_) => match super::loader::apart(first).into_iter().find_map(|part| part.record) {
            Some(rescued) => of_record(&Record::parse(rescued.as_bytes()).ok()?),
            // The first line is longer than what was read: headers hold instructions and tools.
            None => of_cut_line(first),
        },
    }?;
    (found.is_paginated == is_paginated).then_some(Detection {
        format,
        version: found.version,
        confidence: found.confidence,
    })
}

/// Says which history mode a header names that is not known: the client refuses the file.
pub(super) fn unknown_version(head: &[u8]) -> Option<String> {
    let first = head.split(|byte| *byte == b'\n').find(|line| !is_blank(line))?;
    let record = Record::parse(first).ok()?;
    record.unknown_mode().map(|mode| format!("history mode {}", shown(mode.raw())))
}

struct Found {
    is_paginated: bool,
    version: Option<String>,
    confidence: Confidence,
}

fn of_record(record: &Record<'_>) -> Option<Found> {
    let is_bare = !record.has_envelope && is_bare_header(&record.envelope);
    let is_own = match record.kind {
        Kind::SessionMeta => record.has_envelope || is_bare,
        Kind::Item | Kind::Event | Kind::TurnContext | Kind::Compacted => record.has_envelope,
        Kind::Other | Kind::Unknown => false,
    };
    if !is_own || record.envelope.timestamp.is_none() {
        return None;
    }
    let says_paginated = record.payload.history_mode.is_some_and(|mode| is_string(mode, "paginated"));
    let is_header = record.kind == Kind::SessionMeta;
    Some(Found {
        is_paginated: says_paginated || (record.envelope.ordinal.is_some() && !is_header),
        version: owned(record.payload.cli_version),
        confidence: if is_header { Confidence::Certain } else { Confidence::Possible },
    })
}

/// Looks at the start of a header whose end is not there.
fn of_cut_line(line: &[u8]) -> Option<Found> {
    let holds = |text: &str| memchr::memmem::find(line, text.as_bytes()).is_some();
    let is_header = line.trim_ascii_start().starts_with(b"{\"timestamp\":\"")
        && holds("\"type\":\"session_meta\"")
        && holds("\"payload\":{");
    is_header.then(|| Found {
        is_paginated: holds("\"history_mode\":\"paginated\"") || has_ordinal(line),
        version: None,
        confidence: Confidence::Certain,
    })
}

/// Returns whether the envelope of a cut line has a number, before its payload.
fn has_ordinal(line: &[u8]) -> bool {
    let end = memchr::memmem::find(line, b"\"payload\":").unwrap_or(0);
    let head = line.get(..end).and_then(|head| std::str::from_utf8(head).ok()).unwrap_or_default();
    let closed = format!("{head}\"payload\":null}}");
    Envelope::read(Field::whole(&closed)).is_ok_and(|envelope| envelope.ordinal.is_some())
}
