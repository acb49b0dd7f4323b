//! Arrays of several commits as one: their items behind each other, byte for byte, behind a head that counts them all.

use crate::adapter::Piece;
use crate::cbor::{List, list_head, write};
use crate::document::join::{Numbered, piece_behind};

/// Returns what the joined array is made of (see `Adapter::join`). One alone stays as it is.
pub(super) fn pieces(documents: &[Numbered<'_>]) -> Option<Vec<Piece>> {
    if let [(number, only)] = documents {
        return Some(vec![piece_behind(*number, 0..only.len(), &[])]);
    }
    let mut pieces = Vec::new();
    let mut count = 0;
    for (number, bytes) in documents {
        let list = List::whole(bytes).ok()?;
        count += list.items.len();
        // Without the break that may end it.
        let end = list.items.last().map_or(list.inside.start, |last| last.span().end);
        pieces.push((*number, list.inside.start..end));
    }
    let mut head = write::array_head(count);
    let behind = |(number, inside)| piece_behind(number, inside, &std::mem::take(&mut head));
    Some(pieces.into_iter().map(behind).collect())
}

/// Returns the head of an array of the items that end within its first bytes (see `Adapter::opening`).
pub(super) fn opening(bytes: &[u8], keep: usize) -> (usize, Vec<u8>) {
    let (Ok(list), Some(head)) = (List::whole(bytes), list_head(bytes)) else { return (0, Vec::new()) };
    let kept = list.items.iter().take_while(|item| item.span().end <= keep).count();
    (head.min(keep), write::array_head(kept))
}
