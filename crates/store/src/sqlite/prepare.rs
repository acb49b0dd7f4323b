//! What a batch needs that needs no database: hashes, compressed bytes, ids.
//!
//! Done by the caller's own thread, so that the one writer only writes.

use stemmata_model::{ArtifactId, CommitId, LedgerId, NewEvent, NewPayload, Timestamp, artifact_id, to_u64};

use super::coding::{Coding, encode};
use crate::ledger::{Append, NewKey};
use crate::write::{ContentPart, NewCommit, Write};

/// A literal part, ready to be a row.
pub(super) struct Literal {
    pub(super) hash: ArtifactId,
    pub(super) length: u64,
    pub(super) coding: Coding,
    pub(super) stored: Vec<u8>,
}

impl Literal {
    fn new(bytes: Vec<u8>) -> Self {
        let hash = artifact_id(&bytes);
        Self::hashed(hash, bytes)
    }

    fn hashed(hash: ArtifactId, bytes: Vec<u8>) -> Self {
        let length = to_u64(bytes.len());
        let (coding, stored) = encode(bytes);
        Self { hash, length, coding, stored }
    }
}

pub(super) enum Part {
    Literal(Literal),
    Slice { of: ArtifactId, offset: u64, length: u64 },
}

impl Part {
    fn new(part: ContentPart, hash: Option<ArtifactId>) -> Self {
        match (part, hash) {
            (ContentPart::Bytes(bytes), Some(hash)) => Self::Literal(Literal::hashed(hash, bytes)),
            (ContentPart::Bytes(bytes), None) => Self::Literal(Literal::new(bytes)),
            (ContentPart::Slice { of, offset, length }, _) => Self::Slice { of, offset, length },
        }
    }
}

/// A write whose costly parts are done.
pub(super) enum Prepared {
    Content {
        id: ArtifactId,
        parts: Vec<Part>,
    },
    Commit {
        id: CommitId,
        new: Box<NewCommit>,
    },
    Append(Box<PreparedAppend>),
    /// Any other write, as it was given.
    Plain(Write),
}

/// An append with its lines as literal contents.
pub(super) struct PreparedAppend {
    pub(super) ledger: LedgerId,
    pub(super) expected: Option<u64>,
    pub(super) epoch: Option<u64>,
    pub(super) keys: Vec<NewKey>,
    pub(super) now: Timestamp,
    pub(super) events: Vec<PreparedEvent>,
}

pub(super) struct PreparedEvent {
    pub(super) new: NewEvent,
    /// Its line with a newline; none where it has its payload with it.
    pub(super) line: Option<Literal>,
}

impl PreparedAppend {
    fn new(append: Append) -> Self {
        let prepared = |new: NewEvent| {
            let line = match &new.payload {
                NewPayload::Plain { .. } => None,
                NewPayload::Line(line) => Some(Literal::new(format!("{line}\n").into_bytes())),
            };
            PreparedEvent { new, line }
        };
        Self {
            ledger: append.ledger,
            expected: append.expected,
            epoch: append.epoch,
            keys: append.keys,
            now: append.now,
            events: append.events.into_iter().map(prepared).collect(),
        }
    }
}

pub(super) fn prepare(batch: Vec<Write>) -> Vec<Prepared> {
    batch
        .into_iter()
        .map(|write| match write {
            Write::Content(content) => {
                let (id, hash) = (content.id(), content.known_hash());
                let parts = content.into_parts().into_iter().map(|part| Part::new(part, hash)).collect();
                Prepared::Content { id, parts }
            }
            Write::Commit(new) => Prepared::Commit { id: new.core.id(), new: Box::new(new) },
            Write::Append(append) => Prepared::Append(Box::new(PreparedAppend::new(*append))),
            plain => Prepared::Plain(plain),
        })
        .collect()
}
