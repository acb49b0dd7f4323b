//! Contents in memory: literal bytes, and lists of ranges of them.
//!
//! Bytes are kept as given; nothing is compressed here.

use std::ops::Range;
use std::sync::Arc;

use stemmata_model::{ArtifactId, artifact_id, to_u64};
use stemmata_store::rules::bounds::check_range;
use stemmata_store::rules::pieces::{self, Composition, Held};
use stemmata_store::{BatchOutcome, ContentPart, PART_BYTES_MAX, PartOf, Sink, StoreError};

use super::table::Table;

/// A range of a literal content.
pub(super) type Piece = pieces::Piece<ArtifactId>;

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
    match range {
        Some(range) => read_pieces(contents, id, range, sink),
        None => pieces::read_whole((id, whole), sink, |sink| read_pieces(contents, id, 0..whole, sink)),
    }
}

fn read_pieces(
    contents: &Contents,
    id: ArtifactId,
    range: Range<u64>,
    sink: &mut Sink<'_>,
) -> Result<(), StoreError> {
    let whole: Vec<Piece> = match held(contents, id).ok_or(StoreError::ContentMissing(id))? {
        Held::Forgotten => return Err(StoreError::ContentForgotten(id)),
        Held::Literal(of, length) => vec![Piece { of, offset: 0, length }],
        Held::Composed(pieces, _) => pieces,
    };
    for piece in pieces::cut(&whole, range.start, range.end.max(range.start)) {
        let Some(Content::Literal { bytes }) = contents.get(&piece.of) else {
            return Err(StoreError::ContentMissing(piece.of));
        };
        if artifact_id(bytes) != piece.of {
            return Err(StoreError::Corrupt {
                artifact: id,
                reason: format!("its part {} has another hash", piece.of),
            });
        }
        let slice = bytes.get(index(piece.offset)..index(piece.offset + piece.length)).unwrap_or_default();
        debug_assert!(slice.len() <= PART_BYTES_MAX);
        sink(slice).map_err(StoreError::Sink)?;
    }
    Ok(())
}

/// Returns what there is of a content.
fn held(contents: &Contents, id: ArtifactId) -> Option<Held<ArtifactId>> {
    Some(match contents.get(&id)? {
        Content::Literal { bytes } => Held::Literal(id, to_u64(bytes.len())),
        Content::Composed { pieces, length } => Held::Composed(pieces.clone(), *length),
        Content::Forgotten { .. } => Held::Forgotten,
    })
}

fn compose(
    contents: &mut Contents,
    parts: Vec<ContentPart>,
    outcome: &mut BatchOutcome,
) -> Result<Content, StoreError> {
    let mut composition = Composition::default();
    for part in parts {
        let (of, range) = match part {
            ContentPart::Bytes(bytes) => {
                let range = 0..to_u64(bytes.len());
                (store_literal(contents, bytes, outcome), range)
            }
            ContentPart::Slice { of, offset, length } => (of, offset..offset.saturating_add(length)),
        };
        composition.add(of, range, held(contents, of))?;
    }
    Ok(Content::Composed { pieces: composition.pieces, length: composition.length })
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

pub(super) fn index(offset: u64) -> usize {
    usize::try_from(offset).unwrap_or(usize::MAX)
}
