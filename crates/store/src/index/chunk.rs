//! Chunks: the terms of a segment in their order, some hundred to a row, each with its record.
//!
//! A record's postings are `postings`'s. Specified in `docs/format/index.md`.

use super::error::IndexError;
use super::postings::{Encoded, Record};
use crate::varint;
use stemmata_model::to_u64;

/// Bytes after which a chunk is full: one fits a page of the database.
pub(super) const CHUNK_BYTES: usize = 4_000;

/// Bytes of the checksum at the end of everything that is packed.
const SUM_BYTES: usize = 8;

/// One row: its first term, its part, its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) first: Vec<u8>,
    pub(super) part: u32,
    pub(super) bytes: Vec<u8>,
}

/// Adds the checksum.
pub(super) fn seal(mut bytes: Vec<u8>) -> Vec<u8> {
    let sum = sum_of(&bytes);
    bytes.extend_from_slice(&sum);
    bytes
}

/// Checks the checksum and takes it off.
pub(super) fn unseal(bytes: &[u8]) -> Result<&[u8], IndexError> {
    let parts = bytes.len().checked_sub(SUM_BYTES).and_then(|length| bytes.split_at_checked(length));
    match parts {
        Some((content, sum)) if sum_of(content) == *sum => Ok(content),
        Some(_) | None => Err(IndexError::damaged("a row is not what was written")),
    }
}

fn sum_of(bytes: &[u8]) -> [u8; SUM_BYTES] {
    let mut sum = [0; SUM_BYTES];
    sum.copy_from_slice(blake3::hash(bytes).as_bytes().split_at(SUM_BYTES).0);
    sum
}

/// Gathers terms, which come in ascending order, into rows.
#[derive(Debug, Default)]
pub(super) struct ChunkWriter {
    rows: Vec<Row>,
    first: Vec<u8>,
    before: Vec<u8>,
    bytes: Vec<u8>,
}

impl ChunkWriter {
    pub(super) fn add(&mut self, term: &[u8], encoded: &Encoded) {
        if !encoded.parts.is_empty() {
            self.flush();
        }
        if self.bytes.is_empty() {
            self.first = term.to_vec();
            self.before.clear();
        }
        let shared = term.iter().zip(&self.before).take_while(|(left, right)| left == right).count();
        put_length(&mut self.bytes, shared);
        put_length(&mut self.bytes, term.len() - shared);
        self.bytes.extend_from_slice(term.get(shared..).unwrap_or_default());
        encoded.record.put(&mut self.bytes);
        self.before = term.to_vec();
        if encoded.parts.is_empty() {
            if self.bytes.len() >= CHUNK_BYTES {
                self.flush();
            }
            return;
        }
        self.flush();
        for (part, bytes) in (1..).zip(&encoded.parts) {
            self.rows.push(Row { first: term.to_vec(), part, bytes: seal(bytes.clone()) });
        }
    }

    fn flush(&mut self) {
        if !self.bytes.is_empty() {
            let bytes = seal(std::mem::take(&mut self.bytes));
            self.rows.push(Row { first: std::mem::take(&mut self.first), part: 0, bytes });
        }
    }

    pub(super) fn finish(mut self) -> Vec<Row> {
        self.flush();
        self.rows
    }
}

/// Walks over the records of an unsealed chunk, terms ascending.
pub(super) struct Records<'a> {
    bytes: &'a [u8],
    term: Vec<u8>,
}

impl<'a> Records<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, term: Vec::new() }
    }

    /// Returns the next record; its term is in [`Records::term`].
    pub(super) fn next(&mut self) -> Result<Option<Record<&'a [u8]>>, IndexError> {
        if self.bytes.is_empty() {
            return Ok(None);
        }
        self.take().map(Some).ok_or_else(|| IndexError::damaged("a chunk of terms cannot be read"))
    }

    pub(super) fn term(&self) -> &[u8] {
        &self.term
    }

    fn take(&mut self) -> Option<Record<&'a [u8]>> {
        let shared = take_length(&mut self.bytes)?;
        let rest = take_length(&mut self.bytes)?;
        let (rest, after) = self.bytes.split_at_checked(rest)?;
        self.bytes = after;
        if shared > self.term.len() {
            return None;
        }
        self.term.truncate(shared);
        self.term.extend_from_slice(rest);
        Record::take(&mut self.bytes)
    }
}

pub(super) fn put_length(bytes: &mut Vec<u8>, length: usize) {
    varint::put(bytes, to_u64(length));
}

pub(super) fn take_length(bytes: &mut &[u8]) -> Option<usize> {
    varint::take(bytes).and_then(|length| usize::try_from(length).ok())
}
