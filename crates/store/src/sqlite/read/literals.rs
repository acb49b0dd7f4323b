//! Finding literal contents, in the inbox or in packs, and holding them to their hashes.
//!
//! What contents are made of, and which ranges are wanted, is `contents`'.

use rusqlite::{CachedStatement, Connection, Row, Rows, params};
use stemmata_model::{ArtifactId, artifact_id};

use crate::error::StoreError;
use crate::rules::coding::{self, Coding};
use crate::rules::pieces::{self, Piece};
use crate::seam::PART_BYTES_MAX;
use crate::sqlite::failure::During;
use crate::sqlite::packs::{BlockError, LOOKUPS_MAX, Member, Packs, Unpacking};

pub(in crate::sqlite) const READING: &str = "reading a content";

/// The columns of a content, in the order in which they are taken.
macro_rules! content_columns {
    () => {
        "hash, length, coding, dictionary, bytes"
    };
}

pub(super) use content_columns;

/// What a content is looked up by.
#[derive(Debug, Clone, Copy)]
pub(in crate::sqlite) enum Key<'a> {
    /// Its row.
    Row(i64),
    /// Its hash.
    Hash(&'a ArtifactId),
}

impl Key<'_> {
    /// Prepares a query for the key, of two that take the same columns.
    pub(in crate::sqlite) fn select<'c>(
        self,
        connection: &'c Connection,
        by_row: &'static str,
        by_hash: &'static str,
    ) -> Result<CachedStatement<'c>, StoreError> {
        let sql = match self {
            Key::Row(_) => by_row,
            Key::Hash(_) => by_hash,
        };
        connection.prepare_cached(sql).during(READING)
    }

    /// Runs the query.
    pub(in crate::sqlite) fn query<'s>(
        self,
        statement: &'s mut CachedStatement<'_>,
    ) -> Result<Rows<'s>, StoreError> {
        match self {
            Key::Row(row) => statement.query([row]),
            Key::Hash(id) => statement.query(params![key_of(id), id.as_bytes()]),
        }
        .during(READING)
    }
}

/// What was found of a content.
pub(in crate::sqlite) enum Kept {
    /// A literal content, verified; its bytes are in hand.
    Literal(ArtifactId),
    /// A list of ranges, which are `whole` bytes together.
    Composed { whole: u64, pieces: Vec<Piece> },
    /// Nothing but a hash and a length.
    Forgotten,
}

/// Why a content cannot be handed out.
#[derive(Debug)]
pub(in crate::sqlite) enum Failure {
    /// There is no such row.
    Absent,
    /// It is damaged.
    Damaged(String),
    /// The store failed.
    Store(StoreError),
}

impl std::fmt::Display for Failure {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Absent => formatter.write_str("it is gone"),
            Self::Damaged(what) => formatter.write_str(what),
            Self::Store(error) => error.fmt(formatter),
        }
    }
}

impl Failure {
    /// Names the content that was asked for.
    pub(in crate::sqlite) fn of(self, artifact: ArtifactId) -> StoreError {
        match self {
            Self::Absent => StoreError::ContentMissing(artifact),
            Self::Damaged(reason) => StoreError::Corrupt { artifact, reason },
            Self::Store(error) => error,
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// What the index of hashes holds: the first eight bytes.
pub(in crate::sqlite) fn key_of(id: &ArtifactId) -> [u8; 8] {
    let mut key = [0; 8];
    key.copy_from_slice(id.as_bytes().split_at(8).0);
    key
}

/// Where the bytes in hand are.
enum Held {
    Decoded,
    Packed(Member),
}

/// Returns the hash of a content by its row.
pub(in crate::sqlite) fn hash_of(
    connection: &Connection,
    row: i64,
) -> Result<Option<ArtifactId>, StoreError> {
    let sql =
        "SELECT hash FROM content WHERE row = ?1 UNION ALL SELECT hash FROM packed WHERE row = ?1 LIMIT 1";
    connection.during(READING).first(sql, [row], |row| Ok(ArtifactId::from_bytes(row.get(0)?)))
}

/// Reads literal contents one after the other; the bytes of the last one are in hand.
pub(in crate::sqlite) struct Literals<'a> {
    connection: &'a Connection,
    pub(in crate::sqlite) packs: Unpacking<'a>,
    decoded: &'a mut Vec<u8>,
    held: Held,
    /// Within a transaction that writes, which must not end before its time.
    writes: bool,
}

impl<'a> Literals<'a> {
    pub(in crate::sqlite) fn new(
        connection: &'a Connection,
        packs: &'a Packs,
        decoded: &'a mut Vec<u8>,
    ) -> Self {
        Self {
            connection,
            packs: Unpacking::new(connection, packs),
            decoded,
            held: Held::Decoded,
            writes: false,
        }
    }

    /// As `new`, for a transaction that writes: who holds it and the lock of packs sees them as they are.
    pub(in crate::sqlite) fn within_write(
        connection: &'a Connection,
        packs: &'a Packs,
        decoded: &'a mut Vec<u8>,
    ) -> Self {
        Self { writes: true, ..Self::new(connection, packs, decoded) }
    }

    /// Returns the bytes of the literal content that was loaded last.
    pub(in crate::sqlite) fn bytes(&self) -> &[u8] {
        match &self.held {
            Held::Decoded => self.decoded,
            Held::Packed(member) => member.bytes(),
        }
    }

    /// Returns the connection, for what is read in the same transaction.
    pub(in crate::sqlite) const fn connection(&self) -> &'a Connection {
        self.connection
    }

    /// Finds a content; where it is literal its bytes are in hand then. Where it is in the inbox and in a pack,
    /// one of them that is sound is enough.
    pub(in crate::sqlite) fn load(&mut self, key: Key<'_>) -> Result<Kept, Failure> {
        // Neighbours are packed together, so what follows a packed content is looked for there first.
        if self.packs.is_warm()
            && let Ok(Some(hash)) = self.load_packed(key)
        {
            return Ok(Kept::Literal(hash));
        }
        let mut damage = None;
        for _ in 0..LOOKUPS_MAX {
            match self.load_inbox(key) {
                Ok(Some(kept)) => return Ok(kept),
                Ok(None) => {}
                Err(Failure::Damaged(what)) => damage = Some(what),
                Err(other) => return Err(other),
            }
            match self.load_packed(key) {
                Ok(Some(hash)) => return Ok(Kept::Literal(hash)),
                Ok(None) => return Err(damage.map_or(Failure::Absent, Failure::Damaged)),
                Err(BlockError::Gone(what)) => damage = Some(damage.unwrap_or(what)),
                Err(BlockError::Damaged(what)) => return Err(Failure::Damaged(damage.unwrap_or(what))),
                Err(BlockError::Store(error)) => return Err(Failure::Store(error)),
            }
            self.renew()?;
        }
        Err(damage.map_or(Failure::Absent, Failure::Damaged))
    }

    fn load_inbox(&mut self, key: Key<'_>) -> Result<Option<Kept>, Failure> {
        let by_row = concat!("SELECT ", content_columns!(), " FROM content WHERE row = ?1");
        let by_hash = concat!(
            "SELECT ",
            content_columns!(),
            " FROM content WHERE substr(hash, 1, 8) = ?1 AND hash = ?2"
        );
        let mut statement = key.select(self.connection, by_row, by_hash)?;
        let mut rows = key.query(&mut statement)?;
        let Some(row) = rows.next().during(READING)? else {
            return Ok(None);
        };
        let coding = row.get::<_, i64>(2).during(READING)?;
        if coding == Coding::Forgotten.number() {
            return Ok(Some(Kept::Forgotten));
        }
        if coding == Coding::Composed.number() {
            let whole = row.get::<_, i64>(1).during(READING)?.cast_unsigned();
            return Ok(Some(Kept::Composed { whole, pieces: list_of(row)? }));
        }
        let hash = decode_literal(row, self.decoded)?;
        self.held = Held::Decoded;
        Ok(Some(Kept::Literal(hash)))
    }

    /// Looks a literal content up in packs alone.
    pub(in crate::sqlite) fn load_packed(&mut self, key: Key<'_>) -> Result<Option<ArtifactId>, BlockError> {
        let Some(member) = self.packs.load(key)? else { return Ok(None) };
        let hash = member.hash;
        self.held = Held::Packed(member);
        Ok(Some(hash))
    }

    /// Looks at the store as it is now, where a transaction had held an older state.
    pub(in crate::sqlite) fn renew(&mut self) -> Result<(), StoreError> {
        self.packs.cool();
        if self.writes || self.connection.is_autocommit() {
            return Ok(());
        }
        self.connection.execute_batch("COMMIT; BEGIN").during(READING)
    }
}

/// Decodes a literal row and holds it to its hash.
pub(super) fn decode_literal(row: &Row<'_>, decoded: &mut Vec<u8>) -> Result<ArtifactId, Failure> {
    let damaged = |error: rusqlite::Error| Failure::Damaged(error.to_string());
    let hash = ArtifactId::from_bytes(row.get(0).map_err(damaged)?);
    let length: i64 = row.get(1).map_err(damaged)?;
    let coding: i64 = row.get(2).map_err(damaged)?;
    let dictionary: Option<i64> = row.get(3).map_err(damaged)?;
    let stored = row.get_ref(4).map_err(damaged)?;
    let stored = stored.as_bytes().map_err(|error| damaged(error.into()))?;
    let length = usize::try_from(length)
        .ok()
        .filter(|length| *length <= PART_BYTES_MAX)
        .ok_or_else(|| Failure::Damaged(format!("its length is {length}")))?;
    let coding = Coding::from_number(coding).ok_or_else(|| {
        Failure::Damaged(format!("its coding is {coding}, which this version does not know"))
    })?;
    coding::decode(coding, dictionary, stored, length, decoded).map_err(Failure::Damaged)?;
    if artifact_id(decoded) == hash {
        Ok(hash)
    } else {
        Err(Failure::Damaged("its bytes have another hash".to_owned()))
    }
}

/// Reads the list of ranges of a composed row.
pub(super) fn list_of(row: &Row<'_>) -> Result<Vec<Piece>, Failure> {
    let list = row.get_ref(4).during(READING)?;
    list.as_bytes()
        .ok()
        .and_then(pieces::decode)
        .ok_or_else(|| Failure::Damaged("its list of parts cannot be read".to_owned()))
}
