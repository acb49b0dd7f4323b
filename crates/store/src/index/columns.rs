//! Columns: what a segment says of each of its entries, each kind by itself.
//!
//! Specified in `docs/format/index.md`.

use super::bits::{self, BLOCK};
use super::chunk::{seal, unseal};
use super::error::IndexError;

/// Where a packed block says how wide its numbers are: behind the least of them.
const WIDTH_AT: usize = size_of::<u32>();

/// What a column says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Length,
    Class,
    Marks,
    Minute,
    Key,
    Group,
    /// Left out where no entry of the segment has an author.
    Author,
    /// The row of the commit that brought the entry, or of an event's place.
    Home,
}

impl Kind {
    pub(super) const fn number(self) -> i64 {
        self as i64
    }
}

/// A value of a column that is not packed.
pub(super) trait Plain: Sized + Copy {
    fn put(self, bytes: &mut Vec<u8>);
    fn take(bytes: &[u8]) -> Vec<Self>;
    const BYTES: usize = size_of::<Self>();
}

macro_rules! plain {
    ($($number:ty),*) => {$(
        impl Plain for $number {
            fn put(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }

            fn take(bytes: &[u8]) -> Vec<Self> {
                let (values, _) = bytes.as_chunks::<{ size_of::<$number>() }>();
                values.iter().map(|value| Self::from_le_bytes(*value)).collect()
            }
        }
    )*};
}

plain!(u8, u16, u64);

pub(super) fn encode_plain<T: Plain>(values: &[T]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(values.len() * T::BYTES);
    for value in values {
        value.put(&mut bytes);
    }
    seal(bytes)
}

pub(super) fn decode_plain<T: Plain>(bytes: &[u8], span: u32) -> Result<Vec<T>, IndexError> {
    let bytes = unseal(bytes)?;
    if bytes.len() == span as usize * T::BYTES {
        return Ok(T::take(bytes));
    }
    Err(IndexError::damaged("a column has another length than its segment"))
}

/// Packs numbers that differ little from their neighbours.
pub(super) fn encode_packed(values: &[u32]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for block in values.chunks(BLOCK) {
        let least = block.iter().copied().min().unwrap_or_default();
        let above: Vec<u32> = block.iter().map(|value| value - least).collect();
        let width = bits::width_of(above.iter().copied().max().unwrap_or_default());
        bytes.extend_from_slice(&least.to_le_bytes());
        bytes.push(width.to_le_bytes()[0]);
        bits::pack(&mut bytes, &above, width);
    }
    seal(bytes)
}

pub(super) fn decode_packed(bytes: &[u8], span: u32) -> Result<Vec<u32>, IndexError> {
    let mut rest = unseal(bytes)?;
    let mut values = vec![0; span as usize];
    for block in values.chunks_mut(BLOCK) {
        rest = take_block(rest, block).ok_or_else(unreadable)?;
    }
    if rest.is_empty() { Ok(values) } else { Err(unreadable()) }
}

/// A packed column as it is stored: of one whose values are asked for one by one, few ever are.
#[derive(Debug)]
pub(super) struct Packed {
    bytes: Vec<u8>,
    span: usize,
    /// Where each block begins.
    starts: Vec<usize>,
}

impl Packed {
    /// Takes a column, and finds its blocks.
    pub(super) fn read(bytes: &[u8], span: u32) -> Result<Self, IndexError> {
        let bytes = unseal(bytes)?.to_vec();
        let mut column = Self { span: span as usize, starts: Vec::new(), bytes };
        let mut start = 0;
        for block in 0..column.span.div_ceil(BLOCK) {
            column.starts.push(start);
            let width = column.bytes.get(start + WIDTH_AT).copied().ok_or_else(unreadable)?;
            start += WIDTH_AT + 1 + bits::packed_bytes(column.block_len(block), width.into());
        }
        if start == column.bytes.len() { Ok(column) } else { Err(unreadable()) }
    }

    /// Returns one value.
    pub(super) fn get(&self, at: usize) -> Result<u32, IndexError> {
        let mut block = [0; BLOCK];
        let values = self.block(at / BLOCK, &mut block)?;
        values.get(at % BLOCK).copied().ok_or_else(unreadable)
    }

    /// Returns all values.
    pub(super) fn all(&self) -> Result<Vec<u32>, IndexError> {
        let mut values = Vec::with_capacity(self.span);
        for block in 0..self.starts.len() {
            values.extend_from_slice(self.block(block, &mut [0; BLOCK])?);
        }
        Ok(values)
    }

    fn block_len(&self, block: usize) -> usize {
        self.span.saturating_sub(block * BLOCK).min(BLOCK)
    }

    fn block<'v>(&self, block: usize, values: &'v mut [u32; BLOCK]) -> Result<&'v [u32], IndexError> {
        let values = values.get_mut(..self.block_len(block)).unwrap_or_default();
        let stored = self.starts.get(block).and_then(|start| self.bytes.get(*start..));
        stored.and_then(|stored| take_block(stored, values)).ok_or_else(unreadable)?;
        Ok(values)
    }
}

fn unreadable() -> IndexError {
    IndexError::damaged("a packed column cannot be read, or has another length than its segment")
}

fn take_block<'a>(bytes: &'a [u8], block: &mut [u32]) -> Option<&'a [u8]> {
    let (least, bytes) = bytes.split_first_chunk()?;
    let (width, bytes) = bytes.split_first()?;
    let width = u32::from(*width);
    bits::unpack(bytes, width, block)?;
    let least = u32::from_le_bytes(*least);
    for value in &mut *block {
        *value = value.checked_add(least)?;
    }
    bytes.get(bits::packed_bytes(block.len(), width)..)
}
