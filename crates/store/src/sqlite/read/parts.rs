//! The ranges of literal contents that a content consists of.
//!
//! Their bytes are `contents`'.

use stemmata_model::ArtifactId;

use super::Reader;
use super::contents::{find, pieces_of};
use super::literals::hash_of;
use crate::error::StoreError;
use crate::seam::PartOf;

impl Reader {
    pub(in crate::sqlite) fn content_parts(&self, id: ArtifactId) -> Result<Option<Vec<PartOf>>, StoreError> {
        let Some(known) = find(&self.connection, id)? else { return Ok(None) };
        if !known.is_list {
            return Ok(Some(vec![PartOf { of: id, offset: 0, length: known.length }]));
        }
        let pieces = pieces_of(&self.connection, known.row)?;
        let mut parts: Vec<PartOf> = Vec::with_capacity(pieces.len());
        let mut in_hand: Option<(i64, ArtifactId)> = None;
        for piece in pieces {
            let of = match in_hand {
                Some((row, of)) if row == piece.of => of,
                Some(_) | None => {
                    hash_of(&self.connection, piece.of)?.ok_or_else(|| StoreError::Corrupt {
                        artifact: id,
                        reason: format!("its part in row {} is gone", piece.of),
                    })?
                }
            };
            in_hand = Some((piece.of, of));
            parts.push(PartOf { of, offset: piece.offset, length: piece.length });
        }
        Ok(Some(parts))
    }
}
