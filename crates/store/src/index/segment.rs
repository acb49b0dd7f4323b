//! Reading a segment: a term's postings, and its columns.
//!
//! What bytes mean is `chunk`'s, `postings`'s and `columns`'s.

use std::cell::OnceCell;
use std::sync::{Arc, OnceLock};

use rusqlite::{Connection, Row, params};

use super::bits::BLOCK;
use super::chunk::{Records, unseal};
use super::columns::{Kind, Packed, decode_packed, decode_plain};
use super::error::{IndexError, While};
use super::postings::{Blocks, PostingsBound, Record, blocks_of};
use crate::sqlite::statements::{columns, one};

/// Numbers that one segment holds at most, and that belong to one family together.
pub(super) const SPAN_MAX: u32 = 131_072;

const READING: &str = "reading the search index";

/// What a segment is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SegmentFamily {
    /// Entries of commits.
    Commits,
    /// Events of ledgers.
    Events,
}

impl SegmentFamily {
    pub(super) const fn number(self) -> i64 {
        self as i64
    }
}

/// The row of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SegmentRow {
    pub(super) base: u32,
    pub(super) family: SegmentFamily,
    pub(super) span: u32,
    /// The index's epoch when it was made: a segment of the same base may be another one.
    pub(super) made: u64,
    pub(super) length: u64,
    pub(super) minutes: Option<(u32, u32)>,
}

impl SegmentRow {
    /// Returns the number behind its last one.
    pub(super) const fn end(&self) -> u32 {
        self.base + self.span
    }
}

/// Loads all segments, by their numbers.
pub(super) fn load_segments(connection: &Connection) -> Result<Vec<SegmentRow>, IndexError> {
    let sql = "SELECT base, family, span, made, length, minute_first, minute_last FROM segment ORDER BY base";
    let segments: Vec<SegmentRow> = connection.while_(READING).list(sql, [], segment_row)?;
    let is_sound = segments.iter().all(|segment| {
        let offset = segment.base % SPAN_MAX;
        let length_max = u64::from(segment.span) * u64::from(u16::MAX);
        segment.span > 0
            && segment.span <= SPAN_MAX - offset
            && segment.base.checked_add(SPAN_MAX).is_some()
            && segment.length <= length_max
    });
    let are_apart = segments.windows(2).all(|pair| matches!(pair, [one, next] if one.end() <= next.base));
    if is_sound && are_apart {
        Ok(segments)
    } else {
        Err(IndexError::damaged("a segment has impossible numbers"))
    }
}

fn segment_row(row: &Row<'_>) -> rusqlite::Result<SegmentRow> {
    let family: i64 = row.get(1)?;
    let minutes: (Option<u32>, Option<u32>) = (row.get(5)?, row.get(6)?);
    Ok(SegmentRow {
        base: row.get(0)?,
        family: if family == 0 { SegmentFamily::Commits } else { SegmentFamily::Events },
        span: row.get(2)?,
        made: row.get::<_, i64>(3)?.cast_unsigned(),
        length: row.get::<_, i64>(4)?.cast_unsigned(),
        minutes: minutes.0.zip(minutes.1),
    })
}

/// The columns of a segment that were read: they never change.
#[derive(Debug, Default)]
pub(super) struct ReadColumns {
    lengths: OnceLock<Vec<u16>>,
    classes: OnceLock<Vec<u8>>,
    marks: OnceLock<Vec<u8>>,
    minutes: OnceLock<Vec<u32>>,
    keys: OnceLock<Vec<u64>>,
    groups: OnceLock<Packed>,
    authors: OnceLock<Vec<u16>>,
    homes: OnceLock<Packed>,
}

/// A span of entry numbers with its postings and columns.
#[derive(Debug, Clone)]
pub struct SegmentRead<'r> {
    connection: &'r Connection,
    row: SegmentRow,
    columns: Arc<ReadColumns>,
}

/// Takes a term with its postings, and says whether to go on.
pub type EachTerm<'a, 'r> = dyn FnMut(&[u8], &PostingsRead<'r>) -> Result<bool, IndexError> + 'a;

/// The first term of a chunk, and its bytes.
type Chunk = (Vec<u8>, Vec<u8>);

/// Decodes the bytes of a column, which has so many values.
type Decode<C> = fn(&[u8], u32) -> Result<C, IndexError>;

/// Decodes a column once.
fn once<C>(cell: &OnceLock<C>, read: impl FnOnce() -> Result<C, IndexError>) -> Result<&C, IndexError> {
    if let Some(values) = cell.get() {
        return Ok(values);
    }
    let values = read()?;
    Ok(cell.get_or_init(|| values))
}

impl<'r> SegmentRead<'r> {
    pub(super) const fn new(connection: &'r Connection, row: SegmentRow, columns: Arc<ReadColumns>) -> Self {
        Self { connection, row, columns }
    }

    /// Returns the first number.
    pub const fn base(&self) -> u32 {
        self.row.base
    }

    /// Returns how many numbers it has, all in use.
    pub const fn span(&self) -> u32 {
        self.row.span
    }

    /// Returns what it is of.
    pub const fn family(&self) -> SegmentFamily {
        self.row.family
    }

    /// Returns the sum of its entries' lengths.
    pub const fn length(&self) -> u64 {
        self.row.length
    }

    /// Returns the least and the greatest minute that is not 0.
    pub const fn minute_range(&self) -> Option<(u32, u32)> {
        self.row.minutes
    }

    /// Returns the lengths in terms.
    pub fn lengths(&self) -> Result<&[u16], IndexError> {
        Ok(once(&self.columns.lengths, || self.column(Kind::Length, decode_plain))?)
    }

    /// Returns roles and kinds.
    pub fn classes(&self) -> Result<&[u8], IndexError> {
        Ok(once(&self.columns.classes, || self.column(Kind::Class, decode_plain))?)
    }

    /// Returns what else entries are.
    pub fn marks(&self) -> Result<&[u8], IndexError> {
        Ok(once(&self.columns.marks, || self.column(Kind::Marks, decode_plain))?)
    }

    /// Returns minutes since 1970, 0 where an entry has no time.
    pub fn minutes(&self) -> Result<&[u32], IndexError> {
        Ok(once(&self.columns.minutes, || self.column(Kind::Minute, decode_packed))?)
    }

    /// Returns the keys.
    pub fn keys(&self) -> Result<&[u64], IndexError> {
        Ok(once(&self.columns.keys, || self.column(Kind::Key, decode_plain))?)
    }

    /// Returns the groups' rows; 0 for an event.
    pub(super) fn groups(&self) -> Result<&Packed, IndexError> {
        once(&self.columns.groups, || self.column(Kind::Group, Packed::read))
    }

    /// Returns the authors, 0 where an entry has none; empty where no entry has one.
    pub fn authors(&self) -> Result<&[u16], IndexError> {
        let read = || Ok(self.find_column(Kind::Author, decode_plain)?.unwrap_or_default());
        Ok(once(&self.columns.authors, read)?)
    }

    /// Returns the rows of the commits that brought the entries, or of the events' places.
    pub(super) fn homes(&self) -> Result<&Packed, IndexError> {
        once(&self.columns.homes, || self.column(Kind::Home, Packed::read))
    }

    fn column<C>(&self, kind: Kind, decode: Decode<C>) -> Result<C, IndexError> {
        self.find_column(kind, decode)?.ok_or_else(|| IndexError::damaged("a segment lacks a column"))
    }

    /// Decodes a column from where SQLite holds it: columns are megabytes, and a copy of each takes longer than decoding it.
    fn find_column<C>(&self, kind: Kind, decode: Decode<C>) -> Result<Option<C>, IndexError> {
        let mut statement = self
            .connection
            .prepare_cached("SELECT bytes FROM columns WHERE segment = ?1 AND kind = ?2")
            .while_(READING)?;
        let mut rows = statement.query(params![self.row.base, kind.number()]).while_(READING)?;
        let Some(row) = rows.next().while_(READING)? else { return Ok(None) };
        let bytes =
            row.get_ref(0).while_(READING)?.as_blob().map_err(rusqlite::Error::from).while_(READING)?;
        decode(bytes, self.row.span).map(Some)
    }

    /// Returns a term's postings, or `None` if no entry has the term.
    pub fn postings(&self, term: &str) -> Result<Option<PostingsRead<'r>>, IndexError> {
        let term = term.as_bytes();
        let Some(bytes) = self.chunk_of(term)?.map(|(_, bytes)| bytes) else { return Ok(None) };
        let mut records = Records::new(unseal(&bytes)?);
        while let Some(record) = records.next()? {
            match records.term().cmp(term) {
                std::cmp::Ordering::Less => {}
                std::cmp::Ordering::Equal => return self.read(term, &record).map(Some),
                std::cmp::Ordering::Greater => break,
            }
        }
        Ok(None)
    }

    /// Hands out terms from one on, ascending, with their postings, until `act` returns `false`.
    pub fn each_term(&self, from: &[u8], act: &mut EachTerm<'_, 'r>) -> Result<(), IndexError> {
        let mut next = self.chunk_of(from)?;
        if next.is_none() {
            next = self.chunk_after(from)?;
        }
        while let Some((first, bytes)) = next {
            let mut records = Records::new(unseal(&bytes)?);
            while let Some(record) = records.next()? {
                let is_asked = records.term() >= from;
                if is_asked && !act(records.term(), &self.read(records.term(), &record)?)? {
                    return Ok(());
                }
            }
            next = self.chunk_after(&first)?;
        }
        Ok(())
    }

    fn chunk_of(&self, term: &[u8]) -> Result<Option<Chunk>, IndexError> {
        self.find_chunk(
            "SELECT first, bytes FROM chunk WHERE segment = ?1 AND first <= ?2 AND part = 0 \
             ORDER BY first DESC LIMIT 1",
            term,
        )
    }

    fn chunk_after(&self, term: &[u8]) -> Result<Option<Chunk>, IndexError> {
        self.find_chunk(
            "SELECT first, bytes FROM chunk WHERE segment = ?1 AND first > ?2 AND part = 0 ORDER BY first LIMIT 1",
            term,
        )
    }

    fn find_chunk(&self, sql: &str, term: &[u8]) -> Result<Option<Chunk>, IndexError> {
        self.connection.while_(READING).first(sql, params![self.row.base, term], columns)
    }

    fn read(&self, term: &[u8], record: &Record<&[u8]>) -> Result<PostingsRead<'r>, IndexError> {
        let blocks = blocks_of(record, self.row.span)?;
        let parts = match &blocks {
            Blocks::Few(_) => 0,
            Blocks::Many { blocks, .. } => blocks.last().map_or(0, |block| block.part),
        };
        Ok(PostingsRead {
            connection: self.connection,
            segment: self.row.base,
            term: if parts > 0 { term.to_vec() } else { Vec::new() },
            entries: record.entries,
            bound: record.bound,
            blocks,
            parts: (0..parts).map(|_| OnceCell::new()).collect(),
        })
    }
}

/// The postings of one term in one segment.
#[derive(Debug)]
pub struct PostingsRead<'r> {
    connection: &'r Connection,
    segment: u32,
    /// What its parts are found by; empty where it has none.
    term: Vec<u8>,
    entries: u32,
    bound: PostingsBound,
    blocks: Blocks,
    parts: Vec<OnceCell<Vec<u8>>>,
}

impl PostingsRead<'_> {
    /// Returns how many entries of the segment have the term.
    pub const fn entries(&self) -> u32 {
        self.entries
    }

    /// Returns the bound of all blocks.
    pub const fn bound(&self) -> PostingsBound {
        self.bound
    }

    /// Returns the number of blocks.
    pub fn blocks(&self) -> usize {
        match &self.blocks {
            Blocks::Few(_) => 1,
            Blocks::Many { blocks, .. } => blocks.len(),
        }
    }

    /// Returns the last entry of a block, relative to the segment's base.
    pub fn block_last(&self, block: usize) -> u32 {
        match &self.blocks {
            Blocks::Few(postings) => postings.last().map_or(0, |(number, _)| *number),
            Blocks::Many { blocks, .. } => blocks.get(block).map_or(0, |block| block.last),
        }
    }

    /// Reads a block: entries relative to the segment's base, ascending, and how often the term is in each. Returns how
    /// many there are.
    pub fn unpack(
        &self,
        block: usize,
        numbers: &mut [u32; BLOCK],
        tfs: &mut [u16; BLOCK],
    ) -> Result<usize, IndexError> {
        match &self.blocks {
            Blocks::Few(postings) => {
                for ((number, tf), posting) in numbers.iter_mut().zip(tfs).zip(postings) {
                    (*number, *tf) = *posting;
                }
                Ok(postings.len())
            }
            Blocks::Many { blocks, bytes } => {
                let at = blocks.get(block).ok_or_else(|| IndexError::damaged("there is no such block"))?;
                match at.part.checked_sub(1) {
                    None => at.unpack(bytes, numbers, tfs),
                    Some(part) => at.unpack(self.part(part)?, numbers, tfs),
                }
            }
        }
    }

    /// Hands out all postings.
    pub(super) fn each(&self, act: &mut dyn FnMut(u32, u16)) -> Result<(), IndexError> {
        let (mut numbers, mut tfs) = ([0; BLOCK], [0; BLOCK]);
        for block in 0..self.blocks() {
            let count = self.unpack(block, &mut numbers, &mut tfs)?;
            numbers.iter().zip(&tfs).take(count).for_each(|(number, tf)| act(*number, *tf));
        }
        Ok(())
    }

    fn part(&self, part: u32) -> Result<&[u8], IndexError> {
        let cell = self
            .parts
            .get(part as usize)
            .ok_or_else(|| IndexError::damaged("there is no such part of a term's postings"))?;
        if let Some(bytes) = cell.get() {
            return Ok(bytes);
        }
        let mut bytes: Vec<u8> = self.connection.while_(READING).only(
            "SELECT bytes FROM chunk WHERE segment = ?1 AND first = ?2 AND part = ?3",
            params![self.segment, self.term, part + 1],
            one,
        )?;
        bytes.truncate(unseal(&bytes)?.len());
        Ok(cell.get_or_init(|| bytes))
    }
}
