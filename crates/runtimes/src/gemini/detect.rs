//! Whether bytes are a Gemini CLI session of JSON lines.

use stemmata_model::FormatId;

use super::record::{Kind, Record};
use crate::adapter::{Confidence, Detection};
use crate::apart::beginning;
use crate::json::{Field, is_blank};
use crate::lines::unknown;

/// Looks at the first bytes of a file (see `Adapter::detect`). A header does not say which version wrote it.
pub(super) fn detect(head: &[u8], format: FormatId) -> Option<Detection> {
    let first = head.split(|byte| *byte == b'\n').find(|line| !is_blank(line))?;
    let found = beginning(first)?;
    let record = Record::parse(found.as_bytes()).ok()?;
    let fields = &record.fields;
    let is_message = fields.id.is_some() && fields.timestamp.is_some() && fields.content.is_some();
    let confidence = match record.kind {
        // With its messages inside it is a session of the older format.
        Kind::Header if fields.messages.is_some() => return None,
        Kind::Header if fields.session_id.is_some() && fields.project_hash.is_some() => Confidence::Certain,
        Kind::Gemini if is_message => Confidence::Certain,
        Kind::User | Kind::Notice if is_message => Confidence::Possible,
        Kind::Set | Kind::Rewind => Confidence::Possible,
        _ => return None,
    };
    Some(Detection { format, version: None, confidence })
}

/// Says which version of the format a header names. No client that is known writes one.
pub(super) fn unknown_version(head: &[u8]) -> Option<String> {
    let first = head.split(|byte| *byte == b'\n').find(|line| !is_blank(line))?;
    let found = beginning(first)?;
    Record::parse(found.as_bytes()).ok()?.fields.schema_version.map(shown)
}

/// Names a version.
pub(super) fn shown(version: Field<'_>) -> String {
    format!("`schemaVersion` {}", unknown::shown(version.raw()))
}
