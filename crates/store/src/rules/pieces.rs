//! Lists of ranges of literal contents: what a composed content is, how it is made and read.
//!
//! Specified in `docs/format/content.md`.

use std::ops::Range;

use stemmata_model::{ArtifactId, to_u64};

use super::bounds::{at_most, check_range};
use crate::error::{StoreError, unreadable};
use crate::seam::{PARTS_MAX, Sink};
use crate::varint;

/// A range of a literal content, by the key that a backend finds contents by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Piece<K = i64> {
    /// The literal content.
    pub of: K,
    /// Bytes from its start.
    pub offset: u64,
    /// Bytes of the range.
    pub length: u64,
}

/// Adds a range. Joins it with the one before if it continues that one.
pub fn push<K: PartialEq>(pieces: &mut Vec<Piece<K>>, piece: Piece<K>) {
    if piece.length == 0 {
        return;
    }
    if let Some(last) = pieces.last_mut()
        && last.of == piece.of
        && last.offset + last.length == piece.offset
    {
        last.length += piece.length;
        return;
    }
    pieces.push(piece);
}

/// Returns the parts of `pieces` that lie in a range of the content that they are.
pub fn cut<K: Copy>(pieces: &[Piece<K>], from: u64, to: u64) -> impl Iterator<Item = Piece<K>> + use<'_, K> {
    let mut start = 0_u64;
    pieces.iter().filter_map(move |piece| {
        let end = start.saturating_add(piece.length);
        let low = from.clamp(start, end) - start;
        let high = to.clamp(start, end) - start;
        start = end;
        (low < high).then(|| Piece {
            of: piece.of,
            offset: piece.offset.saturating_add(low),
            length: high - low,
        })
    })
}

/// What a store has of a content that another one has a range of.
#[derive(Debug)]
pub enum Held<K> {
    /// Bytes of its own, with their number.
    Literal(K, u64),
    /// Ranges of others, and so many bytes together.
    Composed(Vec<Piece<K>>, u64),
    /// A hash and a length.
    Forgotten,
}

/// A content that is put together from ranges of others.
#[derive(Debug)]
pub struct Composition<K> {
    /// Its ranges of literal contents.
    pub pieces: Vec<Piece<K>>,
    /// Bytes of them together.
    pub length: u64,
}

impl<K> Default for Composition<K> {
    fn default() -> Self {
        Self { pieces: Vec::new(), length: 0 }
    }
}

impl<K: Copy + PartialEq> Composition<K> {
    /// Adds the literal ranges that a range of a content stands for: no list has ranges of lists, so that a read follows
    /// one step at most.
    ///
    /// # Errors
    /// `ContentMissing`, `ContentForgotten`, `Bound` for a range beyond the content's end and for too many parts.
    pub fn add(
        &mut self,
        id: ArtifactId,
        range: Range<u64>,
        held: Option<Held<K>>,
    ) -> Result<(), StoreError> {
        let length = range.end.saturating_sub(range.start);
        self.length = self.length.checked_add(length).ok_or(StoreError::Bound {
            what: "bytes of a content",
            value: u64::MAX,
            bound: u64::MAX - 1,
        })?;
        match held.ok_or(StoreError::ContentMissing(id))? {
            Held::Forgotten => return Err(StoreError::ContentForgotten(id)),
            Held::Literal(of, whole) => {
                check_range(range.start, length, whole)?;
                push(&mut self.pieces, Piece { of, offset: range.start, length });
            }
            Held::Composed(inner, whole) => {
                check_range(range.start, length, whole)?;
                cut(&inner, range.start, range.end).for_each(|piece| push(&mut self.pieces, piece));
            }
        }
        at_most("parts of a content", self.pieces.len(), PARTS_MAX)
    }
}

/// What was read of a content until now, to hold it to its hash and length in the end.
#[derive(Debug, Default)]
pub struct ReadSoFar {
    hasher: blake3::Hasher,
    bytes: u64,
}

impl ReadSoFar {
    /// Adds bytes that follow the others.
    pub fn add(&mut self, bytes: &[u8]) {
        self.hasher.update(bytes);
        self.bytes += to_u64(bytes.len());
    }

    /// Checks that all that was read is this content.
    ///
    /// # Errors
    /// `Corrupt`.
    pub fn check(&self, id: ArtifactId, length: u64) -> Result<(), StoreError> {
        let reason = if self.hasher.finalize().as_bytes() != id.as_bytes() {
            "its parts together have another hash".to_owned()
        } else if self.bytes != length {
            format!("its parts have {} bytes instead of {length}", self.bytes)
        } else {
            return Ok(());
        };
        Err(StoreError::Corrupt { artifact: id, reason })
    }
}

/// Hands a whole content to `sink` and holds it to its hash and, where that is known, its length.
///
/// # Errors
/// `Corrupt` where the bytes are not the content's, and what `read` fails with.
pub fn read_whole(
    (id, length): (ArtifactId, u64),
    sink: &mut Sink<'_>,
    read: impl FnOnce(&mut Sink<'_>) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let mut read_so_far = ReadSoFar::default();
    read(&mut |bytes| {
        read_so_far.add(bytes);
        sink(bytes)
    })?;
    read_so_far.check(id, length)
}

/// Returns the bytes of the column.
pub fn encode(pieces: &[Piece]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(pieces.len() * 6);
    for piece in pieces {
        varint::put(&mut bytes, piece.of.cast_unsigned());
        varint::put(&mut bytes, piece.offset);
        varint::put(&mut bytes, piece.length);
    }
    bytes
}

/// Reads a list; `None` where the bytes are none.
pub fn decode(mut bytes: &[u8]) -> Option<Vec<Piece>> {
    let mut pieces = Vec::with_capacity(bytes.len() / 3);
    while !bytes.is_empty() {
        pieces.push(Piece {
            of: varint::take(&mut bytes)?.cast_signed(),
            offset: varint::take(&mut bytes)?,
            length: varint::take(&mut bytes)?,
        });
    }
    Some(pieces)
}

/// Reads the list of a row.
///
/// # Errors
/// `Backend` where the bytes are none.
pub fn list_of(bytes: &[u8], row: &dyn ToString) -> Result<Vec<Piece>, StoreError> {
    decode(bytes).ok_or_else(|| unreadable("content.bytes", row, &"no list of ranges"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn lists_come_back(rows in proptest::collection::vec((any::<i64>(), any::<u64>(), any::<u64>()), 0..20)) {
            let pieces: Vec<Piece> =
                rows.into_iter().map(|(row, offset, length)| Piece { of: row, offset, length }).collect();
            prop_assert_eq!(decode(&encode(&pieces)), Some(pieces));
        }

        #[test]
        fn any_bytes_are_a_list_or_none(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            let _list = decode(&bytes);
        }

        #[test]
        fn a_cut_has_the_bytes_of_its_range(lengths in proptest::collection::vec(1..50_u64, 0..9), from in 0..300_u64, to in 0..300_u64) {
            let pieces: Vec<Piece> = (0..).zip(lengths).map(|(row, length)| Piece { of: row, offset: 7, length }).collect();
            let all = |pieces: &mut dyn Iterator<Item = Piece>| -> Vec<(i64, u64)> {
                pieces.flat_map(|piece| (piece.offset..piece.offset + piece.length).map(move |byte| (piece.of, byte))).collect()
            };
            let whole = all(&mut pieces.iter().copied());
            let end = usize::try_from(to).expect("small").min(whole.len());
            let start = usize::try_from(from).expect("small").min(end);
            prop_assert_eq!(all(&mut cut(&pieces, from, to.max(from))), whole[start..end].to_vec());
        }

        #[test]
        fn a_composition_has_the_bytes_of_its_ranges(
            inner in proptest::collection::vec((0..3_u64, 0..9_u64, 1..9_u64), 1..4),
            ranges in proptest::collection::vec((any::<bool>(), 0..9_u64, 0..9_u64), 1..5),
        ) {
            let inner: Vec<Piece<u64>> = inner.into_iter().map(|(of, offset, length)| Piece { of, offset, length }).collect();
            let whole = inner.iter().map(|piece| piece.length).sum();
            let bytes = |pieces: &[Piece<u64>]| -> Vec<(u64, u64)> {
                pieces.iter().flat_map(|piece| (piece.offset..piece.offset + piece.length).map(|at| (piece.of, at))).collect()
            };
            let (mut composition, mut wanted) = (Composition::default(), Vec::new());
            for (is_list, start, length) in ranges {
                let (held, all) = if is_list {
                    (Held::Composed(inner.clone(), whole), bytes(&inner))
                } else {
                    (Held::Literal(7, 20), bytes(&[Piece { of: 7, offset: 0, length: 20 }]))
                };
                let range = start..start + length;
                let (start, end) = (usize::try_from(range.start).expect("small"), usize::try_from(range.end).expect("small"));
                let added = composition.add(ArtifactId::from_bytes([0; 32]), range, Some(held));
                prop_assert_eq!(added.is_ok(), end <= all.len());
                if added.is_err() {
                    return Ok(());
                }
                wanted.extend_from_slice(&all[start..end]);
            }
            prop_assert_eq!(composition.length, to_u64(wanted.len()));
            prop_assert_eq!(bytes(&composition.pieces), wanted);
        }
    }
}
