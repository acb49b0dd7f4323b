//! Storing contents: literal rows, and composed ones.
//!
//! Reading them is `read`'s.

use rusqlite::{Connection, params};
use stemmata_model::{ArtifactId, to_u64};

use super::Transaction;
use crate::error::StoreError;
use crate::rules::coding::Coding;
use crate::rules::pieces::{self, Composition, Held, Piece};
use crate::rules::prepare::{Literal, Part};
use crate::sqlite::failure::During;
use crate::sqlite::marks::{self, CONDEMNED_CONTENT};
use crate::sqlite::read::contents::{Known, find, pieces_of};

/// Has packing look at a row again: it looked there when the row had no bytes.
pub(in crate::sqlite) fn pack_again(connection: &Connection, row: i64) -> Result<(), StoreError> {
    connection
        .during("filling a content")
        .run("UPDATE store SET packed_content = ?1 - 1 WHERE packed_content >= ?1", [row])
        .map(|_| ())
}

impl Transaction<'_> {
    /// Stores a content unless it is there, and returns its row.
    pub(super) fn store_content(&mut self, id: ArtifactId, parts: &[Part]) -> Result<i64, StoreError> {
        if let Some(known) = self.find_content(id)? {
            return if known.is_forgotten { self.fill_content(id, known, parts) } else { Ok(known.row) };
        }
        if let [Part::Literal(literal)] = parts
            && literal.hash == id
        {
            return self.insert_literal(literal).map(|known| known.row);
        }
        let composition = self.compose(parts)?;
        self.insert_composed(id, &composition)
    }

    /// Stores bytes as a literal content unless they are there, and returns its row.
    pub(super) fn store_literal(&mut self, literal: &Literal) -> Result<i64, StoreError> {
        let known = match self.find_content(literal.hash)? {
            None => self.insert_literal(literal)?,
            Some(known) if known.is_forgotten => self.fill_literal(literal, known)?,
            Some(known) => known,
        };
        Ok(known.row)
    }

    /// Returns a content's row and length.
    pub(super) fn find_content(&mut self, id: ArtifactId) -> Result<Option<Known>, StoreError> {
        if let Some(known) = self.memory.contents.get(&id) {
            return Ok(Some(*known));
        }
        let found = find(self.connection, id)?;
        if let Some(known) = found {
            if self.marks()?.condemned {
                marks::remove(self.connection, CONDEMNED_CONTENT, &marks::content_key(known.row))?;
            }
            self.memory.contents.put(id, known);
        }
        Ok(found)
    }

    /// Gives a forgotten content its bytes back, for who has them and was not told to forget them.
    fn fill_content(&mut self, id: ArtifactId, known: Known, parts: &[Part]) -> Result<i64, StoreError> {
        if let [Part::Literal(literal)] = parts
            && literal.hash == id
        {
            return self.fill_literal(literal, known).map(|known| known.row);
        }
        let Composition { pieces, length } = self.compose(parts)?;
        // A part of it may be the whole: then it is filled by now.
        if self.find_content(id)?.is_some_and(|known| known.is_forgotten) {
            self.refer(&pieces)?;
            let filled = Known { length, is_forgotten: false, is_list: true, ..known };
            self.fill(id, filled, (Coding::Composed, &pieces::encode(&pieces)))?;
        }
        Ok(known.row)
    }

    fn fill_literal(&mut self, literal: &Literal, known: Known) -> Result<Known, StoreError> {
        // The length of a hole's content is what somebody else said of it; now it is known.
        let filled = Known { length: literal.length, is_forgotten: false, ..known };
        self.fill(literal.hash, filled, (literal.coding, &literal.stored))?;
        pack_again(self.connection, known.row)?;
        self.count_literal(literal);
        Ok(filled)
    }

    fn fill(
        &mut self,
        id: ArtifactId,
        filled: Known,
        (coding, bytes): (Coding, &[u8]),
    ) -> Result<(), StoreError> {
        let Known { row, length, .. } = filled;
        self.connection.during("filling a content").run(
            "UPDATE content SET coding = ?2, dictionary = ?3, bytes = ?4, length = ?5 WHERE row = ?1",
            params![row, coding.number(), coding.dictionary(), bytes, length.cast_signed()],
        )?;
        self.memory.contents.put(id, filled);
        Ok(())
    }

    fn count_literal(&mut self, literal: &Literal) {
        self.outcome.new_bytes += literal.length;
        self.outcome.stored_bytes += to_u64(literal.stored.len());
    }

    fn compose(&mut self, parts: &[Part]) -> Result<Composition<i64>, StoreError> {
        let mut composition = Composition::default();
        for part in parts {
            let (of, range) = match part {
                Part::Literal(literal) => {
                    self.store_literal(literal)?;
                    (literal.hash, 0..literal.length)
                }
                Part::Slice { of, offset, length } => (*of, *offset..offset.saturating_add(*length)),
            };
            let held = self.held(of)?;
            composition.add(of, range, held)?;
        }
        Ok(composition)
    }

    /// Returns what there is of a content.
    fn held(&mut self, id: ArtifactId) -> Result<Option<Held<i64>>, StoreError> {
        let Some(known) = self.find_content(id)? else { return Ok(None) };
        if known.is_forgotten {
            return Ok(Some(Held::Forgotten));
        }
        Ok(Some(if known.is_list {
            Held::Composed(pieces_of(self.connection, known.row)?, known.length)
        } else {
            Held::Literal(known.row, known.length)
        }))
    }

    fn insert_literal(&mut self, literal: &Literal) -> Result<Known, StoreError> {
        self.count_literal(literal);
        self.insert_content(literal.hash, literal.length, (literal.coding, &literal.stored))
    }

    /// Stores that there was a content of which only hash and length are known.
    pub(super) fn insert_forgotten(&mut self, id: ArtifactId, length: u64) -> Result<Known, StoreError> {
        self.insert_content(id, length, (Coding::Forgotten, &[]))
    }

    fn insert_composed(&mut self, id: ArtifactId, composition: &Composition<i64>) -> Result<i64, StoreError> {
        // A part of it may be the whole: then it is there by now.
        if let Some(known) = self.find_content(id)? {
            return Ok(known.row);
        }
        self.refer(&composition.pieces)?;
        let list = pieces::encode(&composition.pieces);
        self.insert_content(id, composition.length, (Coding::Composed, &list)).map(|known| known.row)
    }

    fn insert_content(
        &mut self,
        id: ArtifactId,
        length: u64,
        (coding, bytes): (Coding, &[u8]),
    ) -> Result<Known, StoreError> {
        let row = self.connection.during("storing a content").insert(
            // A row has its number for life, in whichever table it is: a new one is above all of both.
            "INSERT INTO content (row, hash, length, coding, dictionary, referred, bytes) \
                 VALUES (max((SELECT ifnull(max(row), 0) FROM content), \
                 (SELECT ifnull(max(row), 0) FROM packed), (SELECT packed_content FROM store)) + 1, \
                 ?1, ?2, ?3, ?4, 0, ?5)",
            params![id.as_bytes(), length.cast_signed(), coding.number(), coding.dictionary(), bytes],
        )?;
        let (is_forgotten, is_list) = (coding == Coding::Forgotten, coding == Coding::Composed);
        let known = Known { row, length, is_forgotten, is_list };
        self.memory.contents.put(id, known);
        self.outcome.new_contents += 1;
        Ok(known)
    }

    /// Marks rows that a list refers to, so that their bytes are never given up.
    fn refer(&self, pieces: &[Piece]) -> Result<(), StoreError> {
        for piece in pieces {
            self.connection
                .during("marking a content as referred to")
                .run("UPDATE content SET referred = 1 WHERE row = ?1 AND referred = 0", [piece.of])?;
        }
        Ok(())
    }
}
