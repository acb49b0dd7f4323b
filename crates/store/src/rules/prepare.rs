//! What a batch needs that needs no database: hashes, compressed bytes, ids.
//!
//! Done by the caller's own thread, so that the one writer only writes.

use stemmata_model::{ArtifactId, CommitId, NewEvent, NewPayload, artifact_id, to_u64};

use super::coding::{Coding, encode};
use crate::ledger::Append;
use crate::write::{ContentPart, NewCommit, Write};

/// Bytes, ready to be a row.
pub struct Literal {
    /// Their id.
    pub hash: ArtifactId,
    /// Their number.
    pub length: u64,
    /// How `stored` is to be read.
    pub coding: Coding,
    /// The bytes as they are kept.
    pub stored: Vec<u8>,
}

impl Literal {
    fn new(bytes: Vec<u8>, hash: Option<ArtifactId>) -> Self {
        let hash = hash.unwrap_or_else(|| artifact_id(&bytes));
        let length = to_u64(bytes.len());
        let (coding, stored) = encode(bytes);
        Self { hash, length, coding, stored }
    }

    /// Returns the line that an event is, with a newline; `None` where the event has its payload with it.
    fn line(event: &NewEvent) -> Option<Self> {
        match &event.payload {
            NewPayload::Plain { .. } => None,
            NewPayload::Line(line) => Some(Self::new(format!("{line}\n").into_bytes(), None)),
        }
    }
}

/// A part of a content whose costly work is done.
pub enum Part {
    /// Bytes.
    Literal(Literal),
    /// A range of another content.
    Slice {
        /// The content.
        of: ArtifactId,
        /// Bytes from its start.
        offset: u64,
        /// Bytes of the range.
        length: u64,
    },
}

impl Part {
    fn new(part: ContentPart, hash: Option<ArtifactId>) -> Self {
        match part {
            ContentPart::Bytes(bytes) => Self::Literal(Literal::new(bytes, hash)),
            ContentPart::Slice { of, offset, length } => Self::Slice { of, offset, length },
        }
    }
}

/// A write whose costly work is done.
pub enum Prepared {
    /// A content and its parts.
    Content(ArtifactId, Vec<Part>),
    /// A commit and its id.
    Commit(CommitId, Box<NewCommit>),
    /// An append, and the line of each of its events that is one.
    Append(Box<Append>, Vec<Option<Literal>>),
    /// Any other write, as it was given.
    Plain(Write),
}

/// Prepares a batch.
pub fn prepare(batch: Vec<Write>) -> Vec<Prepared> {
    let prepared = |write| match write {
        Write::Content(content) => {
            let (id, hash) = (content.id(), content.known_hash());
            let parts = content.into_parts().into_iter().map(|part| Part::new(part, hash)).collect();
            Prepared::Content(id, parts)
        }
        Write::Commit(new) => Prepared::Commit(new.core.id(), Box::new(new)),
        Write::Append(append) => {
            let lines = append.events.iter().map(Literal::line).collect();
            Prepared::Append(append, lines)
        }
        plain => Prepared::Plain(plain),
    };
    batch.into_iter().map(prepared).collect()
}
