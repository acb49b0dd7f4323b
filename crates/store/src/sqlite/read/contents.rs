//! Reading contents: whole or in ranges, each part verified before a byte of it is handed out.
//!
//! Where literal bytes are, and how they are compressed, is known below.

use std::ops::Range;

use rusqlite::{Connection, params};
use stemmata_model::ArtifactId;

use super::literals::{Failure, Kept, Key, Literals, READING, hash_of};
use super::{Reader, one_state};
use crate::error::StoreError;
use crate::rules::pieces::{self, Piece};
use crate::seam::{PartOf, Sink};
use crate::sqlite::failure::During;
use crate::sqlite::statements::{columns, one};

pub(in crate::sqlite) use super::literals::key_of;

/// What is known of a content by its row: none of it ever changes, but for a forgotten one that is filled.
#[derive(Debug, Clone, Copy)]
pub(in crate::sqlite) struct Known {
    pub(in crate::sqlite) row: i64,
    pub(in crate::sqlite) length: u64,
    /// Its bytes were forgotten.
    pub(in crate::sqlite) is_forgotten: bool,
    /// It is a list of ranges of others.
    pub(in crate::sqlite) is_list: bool,
}

/// Looks a content up by its hash, in the inbox and in packs.
pub(in crate::sqlite) fn find(connection: &Connection, id: ArtifactId) -> Result<Option<Known>, StoreError> {
    let sql = "SELECT row, length, coding = 5, coding = 3 FROM content WHERE substr(hash, 1, 8) = ?1 AND hash = ?2 \
               UNION ALL SELECT row, length, 0, 0 FROM packed WHERE substr(hash, 1, 8) = ?1 AND hash = ?2 LIMIT 1";
    let found =
        connection.during("looking up a content").first(sql, params![key_of(&id), id.as_bytes()], columns)?;
    Ok(found.map(|(row, length, is_forgotten, is_list): (i64, i64, bool, bool)| Known {
        row,
        length: length.cast_unsigned(),
        is_forgotten,
        is_list,
    }))
}

/// Returns the column of a content that is a list of ranges; none for any other.
pub(in crate::sqlite) fn list_of(connection: &Connection, row: i64) -> Result<Option<Vec<u8>>, StoreError> {
    let sql = "SELECT bytes FROM content WHERE row = ?1 AND coding = 3";
    connection.during("reading a content's parts").first(sql, [row], one)
}

/// Returns the ranges of a content that is a list; none for any other.
pub(in crate::sqlite) fn pieces_of(connection: &Connection, row: i64) -> Result<Vec<Piece>, StoreError> {
    list_of(connection, row)?.map_or_else(|| Ok(Vec::new()), |list| pieces::list_of(&list, &row))
}

/// Memory that reads reuse, so that a small content costs no allocation.
#[derive(Default)]
pub(in crate::sqlite) struct Buffers {
    pub(super) decoded: Vec<u8>,
}

/// Hands pieces to the sink in order. Neighbours of one row cost one decoding.
pub(in crate::sqlite) fn read_pieces(
    literals: &mut Literals<'_>,
    id: ArtifactId,
    pieces: &[Piece],
    sink: &mut Sink<'_>,
) -> Result<(), StoreError> {
    let mut in_hand = None;
    for piece in pieces {
        let damaged = |what: &str| StoreError::Corrupt {
            artifact: id,
            reason: format!("its part in row {}{what}", piece.of),
        };
        if in_hand != Some(piece.of) {
            match literals.load(Key::Row(piece.of)) {
                Ok(Kept::Literal(_)) => {}
                Ok(Kept::Composed { .. }) => return Err(damaged(" is a list of ranges too")),
                Ok(Kept::Forgotten) => return Err(damaged(" was forgotten")),
                Err(Failure::Absent) => return Err(damaged(" is gone")),
                Err(Failure::Damaged(what)) => return Err(damaged(&format!(": {what}"))),
                Err(Failure::Store(error)) => return Err(error),
            }
            in_hand = Some(piece.of);
        }
        let end = piece.offset.saturating_add(piece.length);
        let range = index(piece.offset)..index(end);
        let bytes =
            literals.bytes().get(range).ok_or_else(|| damaged(&format!(" ends before byte {end}")))?;
        sink(bytes).map_err(StoreError::Sink)?;
    }
    Ok(())
}

/// Hands a composed content, whole or a range of it, to the sink.
pub(super) fn read_composed(
    literals: &mut Literals<'_>,
    content: (ArtifactId, u64, &[Piece]),
    range: Option<Range<u64>>,
    sink: &mut Sink<'_>,
) -> Result<(), StoreError> {
    let (id, whole, pieces) = content;
    if let Some(range) = range {
        let wanted: Vec<Piece> = pieces::cut(pieces, range.start, range.end.max(range.start)).collect();
        return read_pieces(literals, id, &wanted, sink);
    }
    pieces::read_whole((id, whole), sink, |sink| read_pieces(literals, id, pieces, sink))
}

/// Returns a content by its row, with its hash; none where it is gone.
pub(in crate::sqlite) fn read_row(
    literals: &mut Literals<'_>,
    row: i64,
) -> Result<Option<(ArtifactId, Vec<u8>)>, StoreError> {
    match literals.load(Key::Row(row)) {
        Ok(Kept::Literal(id)) => Ok(Some((id, literals.bytes().to_vec()))),
        Ok(Kept::Composed { whole, pieces }) => {
            let Some(id) = hash_of(literals.connection(), row)? else { return Ok(None) };
            let mut bytes = Vec::new();
            read_composed(literals, (id, whole, &pieces), None, &mut |piece| {
                bytes.extend_from_slice(piece);
                Ok(())
            })?;
            Ok(Some((id, bytes)))
        }
        Ok(Kept::Forgotten) | Err(Failure::Absent) => Ok(None),
        Err(failure) => {
            let id = hash_of(literals.connection(), row)?.unwrap_or(ArtifactId::from_bytes([0; 32]));
            Err(failure.of(id))
        }
    }
}

impl Reader {
    pub(in crate::sqlite) fn content_length(&self, id: ArtifactId) -> Result<Option<u64>, StoreError> {
        Ok(find(&self.connection, id)?.map(|known| known.length))
    }

    /// Within a transaction: between two statements a list may become a literal, and its parts may go.
    pub(in crate::sqlite) fn content_parts(&self, id: ArtifactId) -> Result<Option<Vec<PartOf>>, StoreError> {
        let _state = one_state(&self.connection)?;
        let Some(known) = find(&self.connection, id)? else { return Ok(None) };
        let list = if known.is_list { list_of(&self.connection, known.row)? } else { None };
        let Some(list) = list else {
            return Ok(Some(vec![PartOf { of: id, offset: 0, length: known.length }]));
        };
        let pieces = pieces::list_of(&list, &known.row)?;
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

    /// Reads literal contents in one transaction: all that is read is one state of the store.
    pub(in crate::sqlite) fn with_literals<T>(
        &mut self,
        act: impl FnOnce(&mut Literals<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let connection = &self.connection;
        if !connection.is_autocommit() {
            // Within a transaction of the caller's, who writes, or verifies what was just written: it must not end before its time.
            return act(&mut Literals::within_write(connection, &self.packs, &mut self.buffers.decoded));
        }
        let run = |sql| connection.during(READING).run(sql, []).map(drop);
        run("BEGIN")?;
        let result = act(&mut Literals::new(connection, &self.packs, &mut self.buffers.decoded));
        let ended = if connection.is_autocommit() { Ok(()) } else { run("COMMIT") };
        let result = result?;
        ended.map(|()| result)
    }
}

pub(super) fn index(offset: u64) -> usize {
    usize::try_from(offset).unwrap_or(usize::MAX)
}
