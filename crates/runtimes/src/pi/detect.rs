//! Whether bytes are a pi session, and of which version of its format.

use stemmata_model::FormatId;

use super::record::{Kind, Record};
use crate::adapter::{Confidence, Detection};
use crate::apart::beginning;
use crate::json::is_blank;

/// Looks at the first bytes of a file (see `Adapter::detect`).
///
/// The client takes a file for a session only if its first record is a header.
pub(super) fn detect(head: &[u8], version: u8, format: FormatId) -> Option<Detection> {
    let first = head.split(|byte| *byte == b'\n').find(|line| !is_blank(line))?;
    let found = beginning(first)?;
    let record = Record::parse(found.as_bytes()).ok().filter(|record| record.kind == Kind::Session)?;
    let envelope = &record.envelope;
    envelope.id?.text()?;
    let is_whole = envelope.cwd.is_some() && envelope.timestamp.or(envelope.created_at).is_some();
    let own = match envelope.version {
        _ if envelope.fourth().is_some() => 4,
        None => 1,
        // Versions to come with this kind of header are read as the newest known one.
        Some(field) => field.number()?.clamp(1, 3),
    };
    let confidence = if is_whole { Confidence::Certain } else { Confidence::Possible };
    (own == u64::from(version)).then_some(Detection { format, version: None, confidence })
}

/// Says which version a header names that is not known.
pub(super) fn unknown_version(head: &[u8]) -> Option<String> {
    let first = head.split(|byte| *byte == b'\n').find(|line| !is_blank(line))?;
    let found = beginning(first)?;
    let record = Record::parse(found.as_bytes()).ok()?;
    record.unknown_version().map(|version| format!("version {version}"))
}
