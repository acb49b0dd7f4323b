//! Reading contents: whole or in ranges, each part verified before a byte of it is handed out.
//!
//! How bytes are compressed is `coding`'s.

use std::ops::Range;

use rusqlite::{CachedStatement, Connection, OptionalExtension, Row, params};
use stemmata_model::{ArtifactId, ArtifactPrefix, artifact_id};

use super::Reader;
use super::commits::sql_limit;
use crate::bounds::check_range;
use crate::error::StoreError;
use crate::seam::{PART_BYTES_MAX, Sink};
use crate::sqlite::coding::{self, Coding};
use crate::sqlite::failure::During;
use crate::sqlite::pieces::{self, Piece};

const READING: &str = "reading a content";

/// The columns of a content, in the order in which they are taken.
macro_rules! content_columns {
    () => {
        "hash, length, coding, dictionary, bytes"
    };
}

pub(super) use content_columns;

/// Memory that reads reuse, so that a small content costs no allocation.
#[derive(Default)]
pub(in crate::sqlite) struct Buffers {
    decoded: Vec<u8>,
}

/// What the index of hashes holds: the first eight bytes.
pub(in crate::sqlite) fn key_of(id: &ArtifactId) -> [u8; 8] {
    let mut key = [0; 8];
    key.copy_from_slice(id.as_bytes().split_at(8).0);
    key
}

/// Decodes a literal row and holds it to its hash.
fn decode_literal(row: &Row<'_>, decoded: &mut Vec<u8>) -> Result<ArtifactId, Damaged> {
    let hash = ArtifactId::from_bytes(row.get(0).map_err(Damaged::from)?);
    let length: i64 = row.get(1)?;
    let coding: i64 = row.get(2)?;
    let dictionary: Option<i64> = row.get(3)?;
    let stored = row.get_ref(4)?.as_bytes().map_err(rusqlite::Error::from)?;
    let length = usize::try_from(length)
        .ok()
        .filter(|length| *length <= PART_BYTES_MAX)
        .ok_or_else(|| Damaged(format!("its length is {length}")))?;
    let coding = Coding::from_number(coding)
        .ok_or_else(|| Damaged(format!("its coding is {coding}, which this version does not know")))?;
    coding::decode(coding, dictionary, stored, length, decoded).map_err(Damaged)?;
    if artifact_id(decoded) == hash {
        Ok(hash)
    } else {
        Err(Damaged("its bytes have another hash".to_owned()))
    }
}

/// Holds a content's row, literal or composed, to its hash.
pub(super) fn verify_row(
    connection: &Connection,
    row: &Row<'_>,
    buffers: &mut Buffers,
) -> Result<(), StoreError> {
    let hash: [u8; 32] = row.get(0).during(READING)?;
    let id = ArtifactId::from_bytes(hash);
    let coding: i64 = row.get(2).during(READING)?;
    if coding == Coding::Forgotten.number() {
        return Ok(());
    }
    if coding != Coding::Composed.number() {
        return decode_literal(row, &mut buffers.decoded).map(|_| ()).map_err(|damaged| damaged.of(id));
    }
    let whole = row.get::<_, i64>(1).during(READING)?.cast_unsigned();
    let pieces = list_of(row, id)?;
    read_composed(connection, (id, whole, &pieces), None, (&mut buffers.decoded, &mut |_| Ok(())))
}

fn list_of(row: &Row<'_>, id: ArtifactId) -> Result<Vec<Piece>, StoreError> {
    let list = row.get_ref(4).during(READING)?;
    list.as_bytes()
        .ok()
        .and_then(pieces::decode)
        .ok_or_else(|| Damaged("its list of parts cannot be read".to_owned()).of(id))
}

/// Why a row's bytes cannot be handed out.
struct Damaged(String);

impl From<rusqlite::Error> for Damaged {
    fn from(error: rusqlite::Error) -> Self {
        Self(error.to_string())
    }
}

impl Damaged {
    fn of(self, artifact: ArtifactId) -> StoreError {
        StoreError::Corrupt { artifact, reason: self.0 }
    }
}

/// Reads literal rows by their row, for one composed content.
struct Parts<'a> {
    statement: CachedStatement<'a>,
    id: ArtifactId,
}

impl<'a> Parts<'a> {
    fn new(connection: &'a Connection, id: ArtifactId) -> Result<Self, StoreError> {
        let statement = connection
            .prepare_cached(concat!("SELECT ", content_columns!(), " FROM content WHERE row = ?1"))
            .during(READING)?;
        Ok(Self { statement, id })
    }

    /// Hands pieces to the sink in order. Neighbours of one row cost one decoding.
    fn read(
        &mut self,
        pieces: &[Piece],
        decoded: &mut Vec<u8>,
        sink: &mut Sink<'_>,
    ) -> Result<(), StoreError> {
        let mut in_hand = None;
        for piece in pieces {
            if in_hand != Some(piece.row) {
                self.load(piece.row, decoded)?;
                in_hand = Some(piece.row);
            }
            let end = piece.offset.saturating_add(piece.length);
            let range = index(piece.offset)..index(end);
            let bytes = decoded.get(range).ok_or_else(|| {
                Damaged(format!("its part in row {} ends before byte {end}", piece.row)).of(self.id)
            })?;
            sink(bytes).map_err(StoreError::Sink)?;
        }
        Ok(())
    }

    fn load(&mut self, row: i64, decoded: &mut Vec<u8>) -> Result<(), StoreError> {
        let mut rows = self.statement.query([row]).during(READING)?;
        let Some(found) = rows.next().during(READING)? else {
            return Err(Damaged(format!("its part in row {row} is gone")).of(self.id));
        };
        decode_literal(found, decoded)
            .map_err(|damaged| Damaged(format!("its part in row {row}: {}", damaged.0)).of(self.id))?;
        Ok(())
    }
}

impl Reader {
    pub(in crate::sqlite) fn content_length(&self, id: ArtifactId) -> Result<Option<u64>, StoreError> {
        let length: Option<i64> = self
            .connection
            .prepare_cached("SELECT length FROM content WHERE substr(hash, 1, 8) = ?1 AND hash = ?2")
            .and_then(|mut statement| {
                statement.query_row(params![key_of(&id), id.as_bytes()], |row| row.get(0)).optional()
            })
            .during("reading a content's length")?;
        Ok(length.map(i64::cast_unsigned))
    }

    pub(in crate::sqlite) fn artifacts_in(
        &self,
        prefix: ArtifactPrefix,
        limit: usize,
    ) -> Result<Vec<ArtifactId>, StoreError> {
        let (low, high) = prefix.range();
        let values = params![key_of(&low), key_of(&high), low.as_bytes(), high.as_bytes(), sql_limit(limit)];
        self.connection
            .prepare_cached(
                "SELECT hash FROM content WHERE substr(hash, 1, 8) BETWEEN ?1 AND ?2 \
                 AND hash BETWEEN ?3 AND ?4 ORDER BY substr(hash, 1, 8), hash LIMIT ?5",
            )
            .and_then(|mut statement| {
                let rows = statement.query_map(values, |row| Ok(ArtifactId::from_bytes(row.get(0)?)))?;
                rows.collect()
            })
            .during("looking up an artifact's prefix")
    }

    pub(in crate::sqlite) fn read_content(
        &mut self,
        id: ArtifactId,
        range: Option<Range<u64>>,
        sink: &mut Sink<'_>,
    ) -> Result<(), StoreError> {
        let mut statement = self
            .connection
            .prepare_cached(concat!(
                "SELECT ",
                content_columns!(),
                " FROM content WHERE substr(hash, 1, 8) = ?1 AND hash = ?2"
            ))
            .during(READING)?;
        // The row stays open until the end: what follows reads the same state of the store.
        let mut rows = statement.query(params![key_of(&id), id.as_bytes()]).during(READING)?;
        let row = rows.next().during(READING)?.ok_or(StoreError::ContentMissing(id))?;
        let whole = row.get::<_, i64>(1).during(READING)?.cast_unsigned();
        if let Some(range) = &range {
            check_range(range.start, range.end.saturating_sub(range.start), whole)?;
        }
        let coding: i64 = row.get(2).during(READING)?;
        if coding == Coding::Forgotten.number() {
            return Err(StoreError::ContentForgotten(id));
        }
        let decoded = &mut self.buffers.decoded;
        if coding != Coding::Composed.number() {
            decode_literal(row, decoded).map_err(|damaged| damaged.of(id))?;
            let range = range.map_or(0..decoded.len(), |range| index(range.start)..index(range.end));
            return match decoded.get(range) {
                Some(bytes) if !bytes.is_empty() => sink(bytes).map_err(StoreError::Sink),
                Some(_) | None => Ok(()),
            };
        }
        let pieces = list_of(row, id)?;
        read_composed(&self.connection, (id, whole, &pieces), range, (decoded, sink))
    }
}

fn read_composed(
    connection: &Connection,
    content: (ArtifactId, u64, &[Piece]),
    range: Option<Range<u64>>,
    into: (&mut Vec<u8>, &mut Sink<'_>),
) -> Result<(), StoreError> {
    let (id, whole, pieces) = content;
    let (decoded, sink) = into;
    let mut parts = Parts::new(connection, id)?;
    if let Some(range) = range {
        let wanted: Vec<Piece> = pieces::cut(pieces, range.start, range.end.max(range.start)).collect();
        return parts.read(&wanted, decoded, sink);
    }
    let mut hasher = blake3::Hasher::new();
    let mut length = 0_u64;
    parts.read(pieces, decoded, &mut |bytes| {
        hasher.update(bytes);
        length += u64::try_from(bytes.len()).expect("a length fits 64 bits");
        sink(bytes)
    })?;
    if hasher.finalize().as_bytes() != id.as_bytes() {
        return Err(Damaged("its parts together have another hash".to_owned()).of(id));
    }
    if length != whole {
        return Err(Damaged(format!("its parts have {length} bytes instead of {whole}")).of(id));
    }
    Ok(())
}

fn index(offset: u64) -> usize {
    usize::try_from(offset).unwrap_or(usize::MAX)
}
