//! Reading the contents of packs, one after the other, each held to its hash.
//!
//! Contents of the inbox are `read`'s.

use std::ops::Range;

use rusqlite::Connection;
use stemmata_model::{ArtifactId, artifact_id};

use super::Packs;
use super::blocks::{BlockError, Loaded};
use crate::error::StoreError;
use crate::sqlite::failure::During;
use crate::sqlite::read::literals::{Failure, Key, Literals, READING};

/// How often a row is looked up again whose pack is missing: each rewriting of packs may move it once, and one
/// takes far longer than a read.
pub(in crate::sqlite) const LOOKUPS_MAX: usize = 4;

/// A content in a block that was decoded.
pub(in crate::sqlite) struct Member {
    pub(in crate::sqlite) hash: ArtifactId,
    block: Loaded,
    range: Range<usize>,
}

impl Member {
    pub(in crate::sqlite) fn bytes(&self) -> &[u8] {
        self.block.get(self.range.clone()).unwrap_or_default()
    }
}

/// The hash, the length, the block and the place in it of a content.
type Columns = ([u8; 32], i64, i64, i64);

/// Reads contents of packs.
pub(in crate::sqlite) struct Unpacking<'a> {
    connection: &'a Connection,
    packs: &'a Packs,
    /// The block that was read last, by its row: neighbours need no second look at the database. Only as long
    /// as one transaction lasts.
    last: Option<(i64, Loaded)>,
}

impl<'a> Unpacking<'a> {
    pub(in crate::sqlite) const fn new(connection: &'a Connection, packs: &'a Packs) -> Self {
        Self { connection, packs, last: None }
    }

    /// Says whether a block is in hand.
    pub(in crate::sqlite) const fn is_warm(&self) -> bool {
        self.last.is_some()
    }

    /// Puts down the block that is in hand.
    pub(in crate::sqlite) fn cool(&mut self) {
        self.last = None;
    }

    /// Finds a content and holds it to its hash; none where no pack has it.
    pub(in crate::sqlite) fn load(&mut self, key: Key<'_>) -> Result<Option<Member>, BlockError> {
        let Some((hash, length, row, offset)) = self.find(key)? else { return Ok(None) };
        let [length, offset] = [length, offset].map(|of| usize::try_from(of).unwrap_or(usize::MAX));
        let block = match &self.last {
            Some((last, block)) if *last == row => Loaded::clone(block),
            Some(_) | None => self.packs.load(self.connection, row)?,
        };
        self.last = Some((row, Loaded::clone(&block)));
        let (hash, range) = (ArtifactId::from_bytes(hash), offset..offset.saturating_add(length));
        let what = match block.get(range.clone()) {
            Some(bytes) if artifact_id(bytes) == hash => return Ok(Some(Member { hash, block, range })),
            Some(_) => "its bytes have another hash".to_owned(),
            None => format!("the block ends before byte {}", range.end),
        };
        Err(BlockError::Damaged(format!("{}: {what}", Packs::place(self.connection, row)?)))
    }

    /// Looks up where a content is.
    fn find(&self, key: Key<'_>) -> Result<Option<Columns>, StoreError> {
        let mut statement = key.select(
            self.connection,
            "SELECT hash, length, block, offset FROM packed WHERE row = ?1",
            "SELECT hash, length, block, offset FROM packed WHERE substr(hash, 1, 8) = ?1 AND hash = ?2",
        )?;
        let mut rows = key.query(&mut statement)?;
        rows.next().during(READING)?.map(|row| row.try_into().during(READING)).transpose()
    }
}

impl Literals<'_> {
    /// Looks a literal content up in packs alone, again where its pack is missing.
    pub(super) fn load_packed_again(&mut self, row: i64) -> Result<(), Failure> {
        let mut damage = String::new();
        for _ in 0..LOOKUPS_MAX {
            match self.load_packed(Key::Row(row)) {
                // It was there a moment ago: somebody else has let it go.
                Ok(_) => return Ok(()),
                Err(BlockError::Gone(what)) => damage = what,
                Err(BlockError::Damaged(what)) => return Err(Failure::Damaged(what)),
                Err(BlockError::Store(error)) => return Err(Failure::Store(error)),
            }
            self.renew()?;
        }
        Err(Failure::Damaged(damage))
    }
}
