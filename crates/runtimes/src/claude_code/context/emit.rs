//! Turns decisions about lines into pieces of bytes.
//!
//! Lines that follow each other become one piece, so that a plan without losses is one piece a segment.

use super::super::path::Path;
use super::super::tree::Tree;
use super::fate::Fates;
use super::relink::Relink;
use super::{chain_listed, id_text, is_in_the_way, kept_said};
use crate::adapter::{Edit, Piece};

/// Lists what to emit.
pub(super) fn pieces(tree: &Tree, path: &Path, fates: &Fates, edits: &[Relink]) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut edits = edits.iter().peekable();
    for (position, row) in tree.rows.iter().enumerate() {
        let edit = edits.next_if(|edit| edit.row == position);
        if !fates.is_kept(position) {
            continue;
        }
        let follows =
            |piece: &Piece| piece.segment == row.segment && piece.offset + piece.length == row.offset;
        if !pieces.last().is_some_and(follows) {
            pieces.push(Piece { segment: row.segment, offset: row.offset, length: 0, edits: Vec::new() });
        }
        let Some(piece) = pieces.last_mut() else {
            continue;
        };
        let replace = |(offset, length): (usize, usize), with| Edit {
            offset: piece.length + offset as u64,
            length: length as u64,
            with,
        };
        let parent = edit.and_then(|edit| Some(replace(row.parent_span?, parent_value(tree, edit.parent))));
        let side = row.side_span.filter(|_| is_in_the_way(tree, path, position) && !row.of_artifact);
        let side = side.map(|span| replace(span, b"false".to_vec()));
        let kept = (path.start == Some(position)).then_some(&*path.kept);
        let kept = kept
            .and_then(|kept| chain_listed(tree, position, kept))
            .or_else(|| kept_said(tree, position, kept))
            .map(|(span, said)| replace((span.start, span.len()), said.into_bytes()));
        let mut new: Vec<Edit> = parent.into_iter().chain(side).chain(kept).collect();
        new.sort_by_key(|edit| edit.offset);
        piece.edits.extend(new);
        piece.length += row.length;
        if row.is_joined {
            // A client reads what a line begins with, and nothing behind it.
            piece.edits.push(Edit { offset: piece.length, length: 0, with: b"\n".to_vec() });
        }
    }
    pieces
}

fn parent_value(tree: &Tree, parent: Option<usize>) -> Vec<u8> {
    let key = parent.and_then(|parent| tree.row(parent).key);
    key.map_or_else(
        || b"null".to_vec(),
        |key| serde_json::Value::String(id_text(tree, key)).to_string().into_bytes(),
    )
}
