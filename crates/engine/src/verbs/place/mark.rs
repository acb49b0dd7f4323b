//! The mark in a conversion that was placed: how it was made.
//!
//! Who meets the file without the store that placed it makes the conversion again, and believes the mark only where that gives the
//! same bytes: nobody can hide a session behind one.

use serde::{Deserialize, Serialize};
use stemmata_model::{CommitId, FormatId, SessionId, Timestamp};

use crate::verbs::materialize::Stop;

/// The version of the mark.
const VERSION: u32 = 1;

/// Bytes of a file's first line that are read at most.
pub(crate) const LINE_BYTES_MAX: u64 = 64 * 1024;

/// What was placed: the arguments of [`prepare_placement`](crate::Engine::prepare_placement).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversionOf {
    /// The commit that was asked for.
    pub ctx: CommitId,
    /// Where its context begins.
    pub stop: Stop,
    /// The entry that it ends at.
    pub at: Option<String>,
}

/// All that a placed conversion was made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) of: ConversionOf,
    pub(crate) format: FormatId,
    pub(crate) session: SessionId,
    pub(crate) cwd: String,
    pub(crate) client_version: Option<String>,
    pub(crate) placed_at: Timestamp,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct MarkV1 {
    v: u32,
    ctx: String,
    stop: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at: Option<String>,
    format: String,
    session: String,
    cwd: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    client: Option<String>,
    /// Microseconds since 1970.
    placed: i64,
}

#[derive(Deserialize)]
struct Marked {
    stemmata: MarkV1,
}

impl Mark {
    /// Adds the mark to a record, a line of JSON. One that is no object stays as it is.
    pub(super) fn put(&self, line: &mut Vec<u8>) {
        let mark = MarkV1 {
            v: VERSION,
            ctx: self.of.ctx.to_string(),
            stop: self.of.stop.to_string(),
            at: self.of.at.clone(),
            format: self.format.to_string(),
            session: self.session.to_string(),
            cwd: self.cwd.clone(),
            client: self.client_version.clone(),
            placed: self.placed_at.as_micros(),
        };
        let (Some(end), Ok(mark)) = (line.trim_ascii_end().strip_suffix(b"}"), serde_json::to_string(&mark))
        else {
            return;
        };
        let (at, mark) = (end.len(), format!(",\"stemmata\":{mark}"));
        line.splice(at..at, mark.bytes());
    }

    /// Reads the mark in the first line of a transcript. `head` is the transcript's first [`LINE_BYTES_MAX`] bytes, or all of it. Returns
    /// nothing for a longer line and for one without a mark.
    pub(crate) fn of_head(head: &[u8]) -> Option<Self> {
        let line = head.get(..memchr::memchr(b'\n', head)?)?;
        memchr::memmem::find(line, b"\"stemmata\":{")?;
        let Marked { stemmata: mark } = serde_json::from_slice(line).ok()?;
        (mark.v == VERSION).then_some(())?;
        Some(Self {
            of: ConversionOf { ctx: mark.ctx.parse().ok()?, stop: mark.stop.parse().ok()?, at: mark.at },
            format: FormatId::new(mark.format).ok()?,
            session: SessionId::new(mark.session).ok()?,
            cwd: mark.cwd,
            client_version: mark.client,
            placed_at: Timestamp::from_micros(mark.placed),
        })
    }
}
