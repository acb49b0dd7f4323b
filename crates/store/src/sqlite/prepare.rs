//! What a batch needs that needs no database: hashes, compressed bytes, ids.
//!
//! Done by the caller's own thread, so that the one writer only writes.

use stemmata_model::{ArtifactId, CommitId, artifact_id};

use super::coding::{Coding, encode};
use crate::write::{ContentPart, NewCommit, Write};

/// A literal part, ready to be a row.
pub(super) struct Literal {
    pub(super) hash: ArtifactId,
    pub(super) length: u64,
    pub(super) coding: Coding,
    pub(super) stored: Vec<u8>,
}

pub(super) enum Part {
    Literal(Literal),
    Slice { of: ArtifactId, offset: u64, length: u64 },
}

impl Part {
    fn new(part: ContentPart) -> Self {
        match part {
            ContentPart::Bytes(bytes) => {
                let hash = artifact_id(&bytes);
                let length = u64::try_from(bytes.len()).expect("a length fits 64 bits");
                let (coding, stored) = encode(bytes);
                Self::Literal(Literal { hash, length, coding, stored })
            }
            ContentPart::Slice { of, offset, length } => Self::Slice { of, offset, length },
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
    /// Any other write, as it was given.
    Plain(Write),
}

pub(super) fn prepare(batch: Vec<Write>) -> Vec<Prepared> {
    batch
        .into_iter()
        .map(|write| match write {
            Write::Content(content) => Prepared::Content {
                id: content.id(),
                parts: content.into_parts().into_iter().map(Part::new).collect(),
            },
            Write::Commit(new) => Prepared::Commit { id: new.core.id(), new: Box::new(new) },
            plain => Prepared::Plain(plain),
        })
        .collect()
}
