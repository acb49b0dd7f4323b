//! Lists of ranges of literal rows: what a composed content is.
//!
//! Specified in `docs/format/content.md`.

use crate::varint;

/// A range of a literal row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) row: i64,
    pub(super) offset: u64,
    pub(super) length: u64,
}

/// Adds a range, to the one before where it goes on from there.
pub(super) fn push(pieces: &mut Vec<Piece>, piece: Piece) {
    if piece.length == 0 {
        return;
    }
    if let Some(last) = pieces.last_mut()
        && last.row == piece.row
        && last.offset + last.length == piece.offset
    {
        last.length += piece.length;
        return;
    }
    pieces.push(piece);
}

/// Returns the parts of `pieces` that lie in a range of the content that they are.
pub(super) fn cut(pieces: &[Piece], from: u64, to: u64) -> impl Iterator<Item = Piece> + use<'_> {
    let mut start = 0_u64;
    pieces.iter().filter_map(move |piece| {
        let end = start.saturating_add(piece.length);
        let low = from.clamp(start, end) - start;
        let high = to.clamp(start, end) - start;
        start = end;
        (low < high).then(|| Piece {
            row: piece.row,
            offset: piece.offset.saturating_add(low),
            length: high - low,
        })
    })
}

pub(super) fn encode(pieces: &[Piece]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(pieces.len() * 6);
    for piece in pieces {
        varint::put(&mut bytes, piece.row.cast_unsigned());
        varint::put(&mut bytes, piece.offset);
        varint::put(&mut bytes, piece.length);
    }
    bytes
}

/// Reads a list; none where the bytes are none.
pub(super) fn decode(mut bytes: &[u8]) -> Option<Vec<Piece>> {
    let mut pieces = Vec::with_capacity(bytes.len() / 3);
    while !bytes.is_empty() {
        pieces.push(Piece {
            row: varint::take(&mut bytes)?.cast_signed(),
            offset: varint::take(&mut bytes)?,
            length: varint::take(&mut bytes)?,
        });
    }
    Some(pieces)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn lists_come_back(rows in proptest::collection::vec((any::<i64>(), any::<u64>(), any::<u64>()), 0..20)) {
            let pieces: Vec<Piece> =
                rows.into_iter().map(|(row, offset, length)| Piece { row, offset, length }).collect();
            prop_assert_eq!(decode(&encode(&pieces)), Some(pieces));
        }

        #[test]
        fn any_bytes_are_a_list_or_none(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            let _list = decode(&bytes);
        }

        #[test]
        fn a_cut_has_the_bytes_of_its_range(lengths in proptest::collection::vec(1..50_u64, 0..9), from in 0..300_u64, to in 0..300_u64) {
            let pieces: Vec<Piece> = (0..).zip(lengths).map(|(row, length)| Piece { row, offset: 7, length }).collect();
            let all = |pieces: &mut dyn Iterator<Item = Piece>| -> Vec<(i64, u64)> {
                pieces.flat_map(|piece| (piece.offset..piece.offset + piece.length).map(move |byte| (piece.row, byte))).collect()
            };
            let whole = all(&mut pieces.iter().copied());
            let end = usize::try_from(to).expect("small").min(whole.len());
            let start = usize::try_from(from).expect("small").min(end);
            prop_assert_eq!(all(&mut cut(&pieces, from, to.max(from))), whole[start..end].to_vec());
        }
    }
}
