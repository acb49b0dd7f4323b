//! The ranges of literal contents that a content consists of.
//!
//! Their bytes are `contents`'.

use rusqlite::{OptionalExtension, params};
use stemmata_model::ArtifactId;

use super::Reader;
use super::contents::key_of;
use crate::error::StoreError;
use crate::rules::coding::Coding;
use crate::rules::pieces;
use crate::seam::PartOf;
use crate::sqlite::failure::{During, unreadable};

const READING: &str = "reading a content's parts";

impl Reader {
    pub(in crate::sqlite) fn content_parts(&self, id: ArtifactId) -> Result<Option<Vec<PartOf>>, StoreError> {
        type Columns = (i64, i64, Option<Vec<u8>>);
        let found: Option<Columns> = self
            .connection
            .prepare_cached(
                "SELECT length, coding, iif(coding = 3, bytes, NULL) FROM content \
                 WHERE substr(hash, 1, 8) = ?1 AND hash = ?2 \
                 UNION ALL SELECT length, 0, NULL FROM packed \
                 WHERE substr(hash, 1, 8) = ?1 AND hash = ?2 LIMIT 1",
            )
            .and_then(|mut statement| {
                let take = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
                statement.query_row(params![key_of(&id), id.as_bytes()], take).optional()
            })
            .during(READING)?;
        let Some((length, coding, list)) = found else {
            return Ok(None);
        };
        let list = list.filter(|_| coding == Coding::Composed.number());
        let Some(list) = list else {
            return Ok(Some(vec![PartOf { of: id, offset: 0, length: length.cast_unsigned() }]));
        };
        let pieces =
            pieces::decode(&list).ok_or_else(|| unreadable("content.bytes", &id, &"no list of ranges"))?;
        let mut parts: Vec<PartOf> = Vec::with_capacity(pieces.len());
        let mut in_hand: Option<(i64, ArtifactId)> = None;
        for piece in pieces {
            let of = match in_hand {
                Some((row, of)) if row == piece.of => of,
                Some(_) | None => self.hash_of(piece.of, id)?,
            };
            in_hand = Some((piece.of, of));
            parts.push(PartOf { of, offset: piece.offset, length: piece.length });
        }
        Ok(Some(parts))
    }

    fn hash_of(&self, row: i64, id: ArtifactId) -> Result<ArtifactId, StoreError> {
        let found: Option<[u8; 32]> = self
            .connection
            .prepare_cached(
                "SELECT hash FROM packed WHERE row = ?1 UNION ALL SELECT hash FROM content WHERE row = ?1",
            )
            .and_then(|mut statement| statement.query_row([row], |row| row.get(0)).optional())
            .during(READING)?;
        found.map(ArtifactId::from_bytes).ok_or_else(|| StoreError::Corrupt {
            artifact: id,
            reason: format!("its part in row {row} is gone"),
        })
    }
}
