//! Giving up rows of contents that no commit needs.
//!
//! What goes, and what is copied out of it, is decided in `crate::rules::sweep`.

use std::collections::BTreeSet;

use rusqlite::{Connection, params};
use stemmata_model::{ArtifactId, artifact_id};

use super::Tables;
use crate::error::StoreError;
use crate::rules::coding::{Coding, encode};
use crate::rules::pieces::{self, Piece};
use crate::rules::sweep::{Contents, Lists};
use crate::sqlite::ahead::{Named, each_above};
use crate::sqlite::failure::{During, unreadable};
use crate::sqlite::ledger;
use crate::sqlite::marks::{self, CONDEMNED_CONTENT};
use crate::sqlite::read::contents::{Known, find, pieces_of, read_pieces};
use crate::sqlite::read::literals::{Literals, hash_of};
use crate::sqlite::statements::one;
use crate::sqlite::write::contents::pack_again;

const SWEEPING: &str = "giving up contents";

impl Contents for Tables<'_> {
    type Key = i64;
    type Commit = i64;

    fn pieces(&self, of: i64) -> Result<Vec<Piece>, StoreError> {
        pieces_of(self.connection, of)
    }

    fn own_bytes(&self, of: i64) -> Result<Option<u64>, StoreError> {
        let sql = "SELECT length FROM content WHERE row = ?1 AND coding < 3 \
                   UNION ALL SELECT length FROM packed WHERE row = ?1";
        let length: Option<i64> = self.connection.during(SWEEPING).first(sql, [of], one)?;
        Ok(length.map(i64::cast_unsigned))
    }

    fn is_line(&self, of: i64) -> Result<bool, StoreError> {
        ledger::forget::is_line(self.connection, of)
    }

    fn each_commit(&self, act: &mut dyn FnMut(Named)) -> Result<(), StoreError> {
        match self.ahead {
            Some(ahead) => ahead.each_commit(self.connection, &self.removed, act),
            None => each_above(self.connection, 0, act),
        }
    }

    fn lists_on(&self, going: &BTreeSet<i64>) -> Result<Lists<i64>, StoreError> {
        let mut found = Vec::new();
        let mut take = |list: i64, pieces: Vec<Piece>| {
            if pieces.iter().any(|piece| going.contains(&piece.of)) {
                found.push((list, pieces));
            }
        };
        if let Some(ahead) = self.ahead {
            for list in ahead.leaning_on(self.connection, going)?.difference(going) {
                take(*list, self.pieces(*list)?);
            }
        } else {
            let sql = "SELECT row, bytes FROM content WHERE coding = 3";
            let read = |row: &rusqlite::Row<'_>| {
                let (number, list) = (row.get(0)?, row.get_ref(1)?.as_bytes()?);
                Ok((number, (!going.contains(&number)).then(|| pieces::list_of(list, &number))))
            };
            self.connection.during(SWEEPING).each(sql, [], read, |(row, list)| {
                list.transpose()?.into_iter().for_each(|list| take(row, list));
                Ok(())
            })?;
        }
        Ok(found)
    }

    fn copy_out(&mut self, of: i64, range: Piece) -> Result<i64, StoreError> {
        let mut bytes = Vec::new();
        let mut decoded = Vec::new();
        let mut literals = Literals::within_write(self.connection, self.packs, &mut decoded);
        let id = match self.copied_of.filter(|(list, _)| *list == of) {
            Some((_, id)) => id,
            None => {
                hash_of(self.connection, of)?.ok_or_else(|| unreadable("content.hash", &of, &"nothing"))?
            }
        };
        self.copied_of = Some((of, id));
        read_pieces(&mut literals, id, &[range], &mut |part| {
            bytes.extend_from_slice(part);
            Ok(())
        })?;
        self.keep(bytes)
    }

    fn replace(&mut self, of: i64, pieces: Vec<Piece>) -> Result<(), StoreError> {
        self.connection
            .during(SWEEPING)
            .run(
                "UPDATE content SET bytes = ?2 WHERE row = ?1 AND coding = 3",
                params![of, pieces::encode(&pieces)],
            )
            .map(drop)
    }

    fn forget_lines(&mut self, of: &BTreeSet<i64>) -> Result<(u64, BTreeSet<i64>), StoreError> {
        ledger::forget::lines(self.connection, of)
    }

    fn remove(&mut self, all: &BTreeSet<i64>, emptied: &BTreeSet<i64>) -> Result<(), StoreError> {
        for row in all {
            if is_packed(self.connection, *row)? {
                self.packed.insert(*row);
            }
            if emptied.contains(row) {
                empty(self.connection, *row)?;
            } else {
                delete(self.connection, *row)?;
            }
        }
        let sql = "UPDATE store SET packed_content = min(packed_content, (SELECT max(ifnull(max(row), 0), \
                   (SELECT ifnull(max(row), 0) FROM packed)) FROM content))";
        self.connection.during(SWEEPING).run(sql, []).map(drop)
    }
}

impl Tables<'_> {
    /// Stores bytes as a literal content and returns its row.
    fn keep(&self, bytes: Vec<u8>) -> Result<i64, StoreError> {
        let hash = artifact_id(&bytes);
        let length = i64::try_from(bytes.len()).expect("a part is bounded");
        let found = find(self.connection, hash)?;
        if let Some(known) = found.filter(|known| !known.is_forgotten && !known.is_list) {
            return Ok(known.row);
        }
        let (coding, stored) = encode(bytes);
        if let Some(Known { row, .. }) = found {
            // The same bytes as a list, or as a hole: the row stays and has them by itself from now on.
            self.connection.during(SWEEPING).run(
                "UPDATE content SET coding = ?2, dictionary = ?3, referred = 1, bytes = ?4 WHERE row = ?1",
                params![row, coding.number(), coding.dictionary(), stored],
            )?;
            pack_again(self.connection, row)?;
            return Ok(row);
        }
        let sql = "INSERT INTO content (row, hash, length, coding, dictionary, referred, bytes) \
                   VALUES (1 + max((SELECT ifnull(max(row), 0) FROM content), \
                   (SELECT ifnull(max(row), 0) FROM packed)), ?1, ?2, ?3, ?4, 1, ?5)";
        self.connection
            .during(SWEEPING)
            .run(sql, params![hash.as_bytes(), length, coding.number(), coding.dictionary(), stored])?;
        Ok(self.connection.last_insert_rowid())
    }
}

fn is_packed(connection: &Connection, row: i64) -> Result<bool, StoreError> {
    connection.during(SWEEPING).only("SELECT EXISTS (SELECT 1 FROM packed WHERE row = ?1)", [row], one)
}

/// Deletes a content's row.
fn delete(connection: &Connection, row: i64) -> Result<(), StoreError> {
    for sql in ["DELETE FROM content WHERE row = ?1", "DELETE FROM packed WHERE row = ?1"] {
        connection.during(SWEEPING).run(sql, [row])?;
    }
    // Its number may be given again.
    marks::remove(connection, CONDEMNED_CONTENT, &marks::content_key(row)).map(drop)
}

/// Leaves a content's hash and length.
fn empty(connection: &Connection, row: i64) -> Result<(), StoreError> {
    connection
        .execute(
            "INSERT INTO content (row, hash, length, coding, dictionary, referred, bytes) \
             SELECT row, hash, length, ?2, NULL, 0, x'' FROM packed WHERE row = ?1",
            params![row, Coding::Forgotten.number()],
        )
        .and_then(|_| connection.execute("DELETE FROM packed WHERE row = ?1", [row]))
        .and_then(|_| {
            connection.execute(
                "UPDATE content SET coding = ?2, dictionary = NULL, referred = 0, bytes = x'' WHERE row = ?1",
                params![row, Coding::Forgotten.number()],
            )
        })
        .map(drop)
        .during(SWEEPING)
}

/// Returns the row of a content whose bytes are there.
pub(in crate::sqlite) fn stored(connection: &Connection, id: ArtifactId) -> Result<Option<i64>, StoreError> {
    Ok(find(connection, id)?.filter(|known| !known.is_forgotten).map(|known| known.row))
}
