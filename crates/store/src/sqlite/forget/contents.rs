//! Giving up contents that no commit needs: what other contents have of them is copied out first.
//!
//! Which commits go is decided before.

use std::collections::{BTreeSet, HashMap, HashSet};

use rusqlite::{Connection, OptionalExtension, params};
use stemmata_model::{ArtifactId, artifact_id, to_u64};

use super::plan::{Row, take};
use crate::error::StoreError;
use crate::sqlite::ahead::Scan;
use crate::sqlite::coding::{Coding, encode};
use crate::sqlite::failure::{During, unreadable};
use crate::sqlite::ledger;
use crate::sqlite::marks::{self, CONDEMNED_CONTENT};
use crate::sqlite::packs::Packs;
use crate::sqlite::pieces::{self, Piece};
use crate::sqlite::read::contents::{key_of, read_pieces};
use crate::sqlite::read::literals::Literals;
use crate::sqlite::state::STATE_FORGOTTEN;
use crate::sqlite::write::contents::pack_again;

const SWEEPING: &str = "giving up contents";

/// What was given up.
#[derive(Debug, Default)]
pub(in crate::sqlite) struct Swept {
    pub(in crate::sqlite) contents: u64,
    pub(in crate::sqlite) bytes: u64,
    pub(in crate::sqlite) copied_out: u64,
    /// Rows of them that were in packs.
    pub(in crate::sqlite) packed: BTreeSet<i64>,
    /// Whether any row is gone.
    pub(in crate::sqlite) any: bool,
    /// Events that lost the line that they were.
    pub(in crate::sqlite) events: u64,
}

/// What becomes of a content that no commit needs and that is an event's line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sqlite) enum Lines<'a> {
    /// It stays.
    Keep,
    /// It goes, and the event is forgotten.
    Forget,
    /// It goes where a commit was cut that has it, and stays otherwise.
    ForgetCut,
    /// It goes where it is one of these, and stays otherwise, without what else it was made of.
    ForgetThese(&'a BTreeSet<i64>),
}

/// Adds to holes every commit that names a content of one of them, and returns those that were added.
pub(in crate::sqlite) fn cut_too(
    connection: &Connection,
    holes: &mut Vec<Row>,
) -> Result<Vec<Row>, StoreError> {
    let mut added = Vec::new();
    if holes.is_empty() {
        return Ok(added);
    }
    let mut known: HashSet<i64> = holes.iter().map(|row| row.row).collect();
    loop {
        let named = contents_of(holes);
        let mut more = Vec::new();
        all_commits(connection, &mut |row| {
            let is_cut =
                named.contains(&row.artifact) || row.native.is_some_and(|native| named.contains(&native));
            if is_cut && row.state & 3 != STATE_FORGOTTEN && known.insert(row.row) {
                more.push(row);
            }
        })?;
        if more.is_empty() {
            return Ok(added);
        }
        holes.extend(&more);
        added.extend(more);
    }
}

/// Returns the rows of contents; those that are not there are left out.
pub(in crate::sqlite) fn rows_of<'i>(
    connection: &Connection,
    ids: impl Iterator<Item = &'i ArtifactId>,
) -> Result<BTreeSet<i64>, StoreError> {
    let mut rows = BTreeSet::new();
    for id in ids {
        rows.extend(stored(connection, *id)?);
    }
    Ok(rows)
}

/// Rows of contents that commits name.
pub(in crate::sqlite) fn contents_of(rows: &[Row]) -> BTreeSet<i64> {
    rows.iter().flat_map(|row| std::iter::once(row.artifact).chain(row.native)).collect()
}

/// Hands every commit to `act`.
fn all_commits(connection: &Connection, act: &mut dyn FnMut(Row)) -> Result<(), StoreError> {
    let mut statement = connection
        .prepare("SELECT row, id, parent, state, artifact, native FROM commits")
        .during(SWEEPING)?;
    let mut rows = statement.query([]).during(SWEEPING)?;
    while let Some(row) = rows.next().during(SWEEPING)? {
        act(take(row).during(SWEEPING)?);
    }
    Ok(())
}

/// Gives up contents and what they were made of, unless a commit names them. Those that only holes name keep their hash
/// and length.
pub(in crate::sqlite) fn give_up(
    (connection, packs): (&Connection, &Packs),
    scan: Scan<'_>,
    (mut going, emptied): (BTreeSet<i64>, &BTreeSet<i64>),
    lines: Lines<'_>,
) -> Result<Swept, StoreError> {
    going.extend(emptied);
    if going.is_empty() {
        return Ok(Swept::default());
    }
    let composed = composed_of(connection, &going)?;
    going.extend(composed.values().flatten().map(|piece| piece.row));
    match lines {
        Lines::Keep => keep_lines(connection, &mut going, &BTreeSet::new())?,
        Lines::ForgetCut => {
            let of_cut = |(row, pieces): (&i64, &Vec<Piece>)| {
                let own = emptied.contains(row);
                own.then(|| pieces.iter().map(|piece| piece.row).collect::<Vec<_>>())
            };
            let mut cut: BTreeSet<i64> = composed.iter().filter_map(of_cut).flatten().collect();
            cut.extend(emptied);
            keep_lines(connection, &mut going, &cut)?;
        }
        // What a line is made of may hold more than the line: that goes, and the line is copied out of it.
        Lines::ForgetThese(these) => {
            for row in going.clone().difference(these) {
                if ledger::forget::is_line(connection, *row)? {
                    going.remove(row);
                }
            }
        }
        Lines::Forget => {}
    }
    // A hole needs none of them, and names them all the same: it keeps their hashes and lengths.
    let mut emptied = emptied.clone();
    scan.each_commit(connection, &mut |named| {
        for content in named.contents() {
            if !named.is_hole {
                going.remove(&content);
            } else if going.contains(&content) {
                emptied.insert(content);
            }
        }
    })?;
    let copied_out = CopyOut { connection, packs, scan, going: &mut going, copied: HashMap::new() }.run()?;
    let mut swept = Swept { copied_out, ..Swept::default() };
    let mut said_again = BTreeSet::new();
    if lines != Lines::Keep {
        let went = ledger::forget::lines(connection, &going)?;
        swept.events = went.events;
        said_again.extend(went.lines.difference(&going));
    }
    for row in &going {
        if is_packed(connection, *row)? {
            swept.packed.insert(*row);
        }
        let length = if emptied.contains(row) { empty(connection, *row)? } else { delete(connection, *row)? };
        if let Some(length) = length {
            swept.contents += 1;
            swept.bytes = swept.bytes.saturating_add(length);
        }
    }
    connection
        .execute(
            "UPDATE store SET packed_content = min(packed_content, (SELECT max(ifnull(max(row), 0), \
             (SELECT ifnull(max(row), 0) FROM packed)) FROM content))",
            [],
        )
        .during(SWEEPING)?;
    swept.any = !going.is_empty();
    // Snapshots that were forgotten with their lines were lines, too.
    let more = give_up((connection, packs), scan, (said_again, &BTreeSet::new()), Lines::Keep)?;
    swept.contents += more.contents;
    swept.bytes = swept.bytes.saturating_add(more.bytes);
    swept.copied_out += more.copied_out;
    swept.packed.extend(more.packed);
    swept.any |= more.any;
    Ok(swept)
}

/// Takes out what events need: their lines, and what those are made of. What was cut goes in any case.
fn keep_lines(
    connection: &Connection,
    going: &mut BTreeSet<i64>,
    cut: &BTreeSet<i64>,
) -> Result<(), StoreError> {
    let mut kept = BTreeSet::new();
    for row in going.difference(cut) {
        if ledger::forget::is_line(connection, *row)? {
            kept.insert(*row);
        }
    }
    let composed = composed_of(connection, &kept)?;
    kept.extend(composed.values().flatten().map(|piece| piece.row));
    going.retain(|row| cut.contains(row) || !kept.contains(row));
    Ok(())
}

fn is_packed(connection: &Connection, row: i64) -> Result<bool, StoreError> {
    connection
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM packed WHERE row = ?1)")
        .and_then(|mut statement| statement.query_row([row], |row| row.get(0)))
        .during(SWEEPING)
}

/// Deletes a content's row, and returns the bytes that it had of its own.
fn delete(connection: &Connection, row: i64) -> Result<Option<u64>, StoreError> {
    let length = length_of(connection, row)?;
    for sql in ["DELETE FROM content WHERE row = ?1", "DELETE FROM packed WHERE row = ?1"] {
        connection.prepare_cached(sql).and_then(|mut statement| statement.execute([row])).during(SWEEPING)?;
    }
    // Its number may be given again.
    marks::remove(connection, CONDEMNED_CONTENT, &marks::content_key(row))?;
    Ok(length)
}

/// Leaves a content's hash and length, and returns the bytes that it had of its own.
fn empty(connection: &Connection, row: i64) -> Result<Option<u64>, StoreError> {
    let length = length_of(connection, row)?;
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
        .during(SWEEPING)?;
    Ok(length)
}

/// The bytes of a literal row; none where it has none of its own.
fn length_of(connection: &Connection, row: i64) -> Result<Option<u64>, StoreError> {
    let length: Option<i64> = connection
        .prepare_cached(
            "SELECT length FROM content WHERE row = ?1 AND coding < 3 \
             UNION ALL SELECT length FROM packed WHERE row = ?1",
        )
        .and_then(|mut statement| statement.query_row([row], |row| row.get(0)).optional())
        .during(SWEEPING)?;
    Ok(length.map(i64::cast_unsigned))
}

/// Returns the lists of those rows that are composed.
fn composed_of(
    connection: &Connection,
    rows: &BTreeSet<i64>,
) -> Result<HashMap<i64, Vec<Piece>>, StoreError> {
    let mut found = HashMap::new();
    let mut statement =
        connection.prepare("SELECT bytes FROM content WHERE row = ?1 AND coding = 3").during(SWEEPING)?;
    for row in rows {
        let list: Option<Vec<u8>> =
            statement.query_row([row], |row| row.get(0)).optional().during(SWEEPING)?;
        if let Some(list) = list {
            found.insert(*row, decode(&list, *row)?);
        }
    }
    Ok(found)
}

fn decode(list: &[u8], row: i64) -> Result<Vec<Piece>, StoreError> {
    pieces::decode(list).ok_or_else(|| unreadable("content.bytes", &row, &"no list of ranges"))
}

/// A composed content: its row, its hash, and what it is made of.
type List = (i64, ArtifactId, Vec<Piece>);

/// Copies ranges of rows that go into rows of their own, for composed contents that stay.
struct CopyOut<'a> {
    connection: &'a Connection,
    packs: &'a Packs,
    scan: Scan<'a>,
    going: &'a mut BTreeSet<i64>,
    /// Where a range was copied to.
    copied: HashMap<(i64, u64, u64), Piece>,
}

impl CopyOut<'_> {
    fn run(mut self) -> Result<u64, StoreError> {
        if self.going.is_empty() {
            return Ok(0);
        }
        let mut lists = self.lists()?;
        // A row that a list has all of is that list's own.
        for piece in lists.iter().flat_map(|(_, _, pieces)| pieces) {
            if self.going.contains(&piece.row)
                && piece.offset == 0
                && length_of(self.connection, piece.row)? == Some(piece.length)
            {
                self.going.remove(&piece.row);
            }
        }
        for (row, hash, pieces) in &mut lists {
            if pieces.iter().all(|piece| !self.going.contains(&piece.row)) {
                continue;
            }
            let mut made = Vec::with_capacity(pieces.len());
            for piece in pieces.iter() {
                let piece = if self.going.contains(&piece.row) { self.copy(*hash, *piece)? } else { *piece };
                pieces::push(&mut made, piece);
            }
            self.connection
                .execute(
                    "UPDATE content SET bytes = ?2 WHERE row = ?1 AND coding = 3",
                    params![*row, pieces::encode(&made)],
                )
                .during(SWEEPING)?;
        }
        Ok(to_u64(self.copied.len()))
    }

    /// Returns the composed contents that stay and that have ranges of rows that go.
    fn lists(&self) -> Result<Vec<List>, StoreError> {
        let mut found = Vec::new();
        if let Some(lists) = self.scan.leaning_on(self.connection, self.going)? {
            let mut statement = self
                .connection
                .prepare("SELECT row, hash, bytes FROM content WHERE row = ?1 AND coding = 3")
                .during(SWEEPING)?;
            for list in lists {
                self.take_lists(&mut statement.query([list]).during(SWEEPING)?, &mut found)?;
            }
        } else {
            let mut statement = self
                .connection
                .prepare("SELECT row, hash, bytes FROM content WHERE coding = 3")
                .during(SWEEPING)?;
            self.take_lists(&mut statement.query([]).during(SWEEPING)?, &mut found)?;
        }
        Ok(found)
    }

    fn take_lists(&self, rows: &mut rusqlite::Rows<'_>, found: &mut Vec<List>) -> Result<(), StoreError> {
        while let Some(row) = rows.next().during(SWEEPING)? {
            let number: i64 = row.get(0).during(SWEEPING)?;
            if self.going.contains(&number) {
                continue;
            }
            let list = row.get_ref(2).during(SWEEPING)?;
            let list = list.as_bytes().map_err(rusqlite::Error::from).during(SWEEPING)?;
            let pieces = decode(list, number)?;
            if pieces.iter().any(|piece| self.going.contains(&piece.row)) {
                found.push((number, ArtifactId::from_bytes(row.get(1).during(SWEEPING)?), pieces));
            }
        }
        Ok(())
    }

    fn copy(&mut self, of: ArtifactId, piece: Piece) -> Result<Piece, StoreError> {
        let key = (piece.row, piece.offset, piece.length);
        if let Some(known) = self.copied.get(&key) {
            return Ok(*known);
        }
        let mut bytes = Vec::new();
        let mut decoded = Vec::new();
        let mut literals = Literals::within_write(self.connection, self.packs, &mut decoded);
        read_pieces(&mut literals, of, &[piece], &mut |part| {
            bytes.extend_from_slice(part);
            Ok(())
        })?;
        let made = Piece { row: self.keep(bytes)?, offset: 0, length: piece.length };
        self.copied.insert(key, made);
        Ok(made)
    }

    /// Stores bytes as a literal content and returns its row.
    fn keep(&mut self, bytes: Vec<u8>) -> Result<i64, StoreError> {
        let hash = artifact_id(&bytes);
        let length = i64::try_from(bytes.len()).expect("a part is bounded");
        let found = literal_row(self.connection, hash)?;
        if let Some((row, true)) = found {
            // Somebody else's bytes are needed after all.
            self.going.remove(&row);
            return Ok(row);
        }
        let (coding, stored) = encode(bytes);
        if let Some((row, false)) = found {
            // The same bytes as a list, or as a hole: the row stays and has them by itself from now on.
            self.going.remove(&row);
            self.connection
                .execute(
                    "UPDATE content SET coding = ?2, dictionary = ?3, referred = 1, bytes = ?4 WHERE row = ?1",
                    params![row, coding.number(), coding.dictionary(), stored],
                )
                .during(SWEEPING)?;
            pack_again(self.connection, row)?;
            return Ok(row);
        }
        self.connection
            .execute(
                "INSERT INTO content (row, hash, length, coding, dictionary, referred, bytes) \
                 VALUES (1 + max((SELECT ifnull(max(row), 0) FROM content), \
                 (SELECT ifnull(max(row), 0) FROM packed)), ?1, ?2, ?3, ?4, 1, ?5)",
                params![hash.as_bytes(), length, coding.number(), coding.dictionary(), stored],
            )
            .during(SWEEPING)?;
        Ok(self.connection.last_insert_rowid())
    }
}

/// Returns the row of a content whose bytes are there.
pub(in crate::sqlite) fn stored(connection: &Connection, id: ArtifactId) -> Result<Option<i64>, StoreError> {
    connection
        .prepare_cached(
            "SELECT row FROM content WHERE substr(hash, 1, 8) = ?1 AND hash = ?2 AND coding <> ?3 \
             UNION ALL SELECT row FROM packed WHERE substr(hash, 1, 8) = ?1 AND hash = ?2",
        )
        .and_then(|mut statement| {
            let values = params![key_of(&id), id.as_bytes(), Coding::Forgotten.number()];
            statement.query_row(values, |row| row.get(0)).optional()
        })
        .during(SWEEPING)
}

/// Returns a content's row, and whether it is literal.
fn literal_row(connection: &Connection, id: ArtifactId) -> Result<Option<(i64, bool)>, StoreError> {
    connection
        .prepare_cached(
            "SELECT row, coding < 3 FROM content WHERE substr(hash, 1, 8) = ?1 AND hash = ?2 \
             UNION ALL SELECT row, 1 FROM packed WHERE substr(hash, 1, 8) = ?1 AND hash = ?2",
        )
        .and_then(|mut statement| {
            statement
                .query_row(params![key_of(&id), id.as_bytes()], |row| Ok((row.get(0)?, row.get(1)?)))
                .optional()
        })
        .during(SWEEPING)
}
