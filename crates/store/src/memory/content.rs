//! Contents in memory: literal bytes, and lists of ranges of them.
//!
//! Bytes are kept as given; nothing is compressed here.

use std::ops::Range;
use std::sync::Arc;

use stemmata_model::{ArtifactId, artifact_id, to_u64};

use super::table::Table;
use crate::error::StoreError;
use crate::rules::bounds::check_range;
use crate::seam::{BatchOutcome, PART_BYTES_MAX, PARTS_MAX, PartOf, Sink};
use crate::write::ContentPart;

/// A range of a literal content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) of: ArtifactId,
    pub(super) offset: u64,
    pub(super) length: u64,
}

#[derive(Debug, Clone)]
pub(super) enum Content {
    /// Bytes.
    Literal { bytes: Arc<[u8]> },
    /// Ranges of literal contents, and the sum of their lengths.
    Composed { pieces: Vec<Piece>, length: u64 },
    /// What is left of bytes that were forgotten.
    Forgotten { length: u64 },
}

impl Content {
    pub(super) fn length(&self) -> u64 {
        match self {
            Self::Literal { bytes, .. } => to_u64(bytes.len()),
            Self::Composed { length, .. } | Self::Forgotten { length } => *length,
        }
    }
}

pub(super) type Contents = Table<ArtifactId, Content>;

/// Stores a content; its literal parts become contents of their own.
pub(super) fn store(
    contents: &mut Contents,
    id: ArtifactId,
    parts: Vec<ContentPart>,
    outcome: &mut BatchOutcome,
) -> Result<(), StoreError> {
    if has_bytes(contents, id) {
        return Ok(());
    }
    let composed = compose(contents, parts, outcome)?;
    // A single literal part has the very id that was asked for: there is nothing to compose.
    if !has_bytes(contents, id) {
        outcome.new_contents += u64::from(!contents.contains(&id));
        contents.put(id, composed);
    }
    Ok(())
}

fn has_bytes(contents: &Contents, id: ArtifactId) -> bool {
    contents.get(&id).is_some_and(|content| !matches!(content, Content::Forgotten { .. }))
}

/// Returns the ranges that a content consists of.
pub(super) fn parts_of(contents: &Contents, id: ArtifactId) -> Option<Vec<PartOf>> {
    let part = |piece: &Piece| PartOf { of: piece.of, offset: piece.offset, length: piece.length };
    Some(match contents.get(&id)? {
        Content::Literal { .. } | Content::Forgotten { .. } => {
            vec![PartOf { of: id, offset: 0, length: contents.get(&id)?.length() }]
        }
        Content::Composed { pieces, .. } => pieces.iter().map(part).collect(),
    })
}

/// Returns the literal contents that hold the bytes of those given.
pub(super) fn literals_of<'i>(
    contents: &Contents,
    ids: impl IntoIterator<Item = &'i ArtifactId>,
) -> Vec<ArtifactId> {
    let parts = ids.into_iter().flat_map(|id| parts_of(contents, *id).unwrap_or_default());
    parts.map(|part| part.of).collect()
}

/// Hands a range of a content to `sink`.
pub(super) fn read(
    contents: &Contents,
    id: ArtifactId,
    range: Option<Range<u64>>,
    sink: &mut Sink<'_>,
) -> Result<(), StoreError> {
    let content = contents.get(&id).ok_or(StoreError::ContentMissing(id))?;
    let whole = content.length();
    if let Some(range) = &range {
        check_range(range.start, range.end.saturating_sub(range.start), whole)?;
    }
    let Some(range) = range else {
        let mut hasher = blake3::Hasher::new();
        read_pieces(contents, id, content, None, &mut |bytes| {
            hasher.update(bytes);
            sink(bytes)
        })?;
        return if hasher.finalize().as_bytes() == id.as_bytes() {
            Ok(())
        } else {
            Err(StoreError::Corrupt {
                artifact: id,
                reason: "its parts together have another hash".to_owned(),
            })
        };
    };
    read_pieces(contents, id, content, Some(range), sink)
}

fn read_pieces(
    contents: &Contents,
    id: ArtifactId,
    content: &Content,
    range: Option<Range<u64>>,
    sink: &mut Sink<'_>,
) -> Result<(), StoreError> {
    let range = range.unwrap_or(0..content.length());
    let pieces = match content {
        Content::Forgotten { .. } => return Err(StoreError::ContentForgotten(id)),
        Content::Literal { bytes } => &[Piece { of: id, offset: 0, length: to_u64(bytes.len()) }][..],
        Content::Composed { pieces, .. } => pieces,
    };
    let mut start = 0;
    for piece in pieces {
        let from = range.start.clamp(start, start + piece.length) - start;
        let to = range.end.clamp(start, start + piece.length) - start;
        start += piece.length;
        if from >= to {
            continue;
        }
        let Some(Content::Literal { bytes }) = contents.get(&piece.of) else {
            return Err(StoreError::ContentMissing(piece.of));
        };
        if artifact_id(bytes) != piece.of {
            return Err(StoreError::Corrupt {
                artifact: id,
                reason: format!("its part {} has another hash", piece.of),
            });
        }
        let bounds = index(piece.offset + from)..index(piece.offset + to);
        let slice = bytes.get(bounds).unwrap_or_default();
        debug_assert!(slice.len() <= PART_BYTES_MAX);
        sink(slice).map_err(StoreError::Sink)?;
    }
    Ok(())
}

fn compose(
    contents: &mut Contents,
    parts: Vec<ContentPart>,
    outcome: &mut BatchOutcome,
) -> Result<Content, StoreError> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut length = 0_u64;
    for part in parts {
        let (of, offset, part_length) = match part {
            ContentPart::Bytes(bytes) => {
                let part_length = to_u64(bytes.len());
                (store_literal(contents, bytes, outcome), 0, part_length)
            }
            ContentPart::Slice { of, offset, length } => (of, offset, length),
        };
        length = length.checked_add(part_length).ok_or(StoreError::Bound {
            what: "bytes of a content",
            value: u64::MAX,
            bound: u64::MAX - 1,
        })?;
        flatten(contents, of, offset..offset.saturating_add(part_length), &mut pieces)?;
        if pieces.len() > PARTS_MAX {
            return Err(StoreError::Bound {
                what: "parts of a content",
                value: u64::try_from(pieces.len()).unwrap_or(u64::MAX),
                bound: u64::try_from(PARTS_MAX).unwrap_or(u64::MAX),
            });
        }
    }
    Ok(Content::Composed { pieces, length })
}

fn store_literal(contents: &mut Contents, bytes: Vec<u8>, outcome: &mut BatchOutcome) -> ArtifactId {
    let id = artifact_id(&bytes);
    if !has_bytes(contents, id) {
        let length = to_u64(bytes.len());
        outcome.new_contents += u64::from(!contents.contains(&id));
        outcome.new_bytes += length;
        outcome.stored_bytes += length;
        let literal = Content::Literal { bytes: bytes.into() };
        contents.put(id, literal);
    }
    id
}

/// Adds the literal ranges that a range of a content stands for.
fn flatten(
    contents: &Contents,
    of: ArtifactId,
    range: Range<u64>,
    pieces: &mut Vec<Piece>,
) -> Result<(), StoreError> {
    let content = contents.get(&of).ok_or(StoreError::ContentMissing(of))?;
    if matches!(content, Content::Forgotten { .. }) {
        return Err(StoreError::ContentForgotten(of));
    }
    check_range(range.start, range.end - range.start, content.length())?;
    let Content::Composed { pieces: inner, .. } = content else {
        push(pieces, of, range.start, range.end - range.start);
        return Ok(());
    };
    let mut start = 0;
    for piece in inner {
        let from = range.start.clamp(start, start + piece.length) - start;
        let to = range.end.clamp(start, start + piece.length) - start;
        start += piece.length;
        push(pieces, piece.of, piece.offset + from, to.saturating_sub(from));
    }
    Ok(())
}

/// Adds a range, to the one before where it goes on from there.
pub(super) fn push(pieces: &mut Vec<Piece>, of: ArtifactId, offset: u64, length: u64) {
    if length == 0 {
        return;
    }
    if let Some(last) = pieces.last_mut()
        && last.of == of
        && last.offset + last.length == offset
    {
        last.length += length;
        return;
    }
    pieces.push(Piece { of, offset, length });
}

fn index(offset: u64) -> usize {
    usize::try_from(offset).unwrap_or(usize::MAX)
}
