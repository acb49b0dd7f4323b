//! Postings: in which entries of a segment a term is, and how often, in blocks that can be skipped.
//!
//! Where the bytes are read from is `segment`'s. Specified in `docs/format/index.md`.

use super::bits::{self, BLOCK};
use super::chunk::{CHUNK_BYTES, put_length, take_length};
use super::error::IndexError;
use crate::varint;

/// Postings of a term that are written one by one.
const FEW: usize = 4;

/// Bytes of a part of postings that are too many for their chunk.
pub(super) const PART_BYTES: usize = 16_000;

/// Bytes of a block in the directory.
const DIRECTORY_BYTES: usize = 6;

/// One entry of a segment, relative to its base, and how often the term is in it.
pub(super) type Posting = (u32, u16);

/// What bounds the score of a list of postings, whatever the average length is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PostingsBound {
    /// The greatest count of the term in one entry.
    pub tf_max: u16,
    /// The length of the shortest entry.
    pub length_min: u16,
}

impl PostingsBound {
    fn of(postings: &[Posting], lengths: &[u16]) -> Self {
        let length = |number: u32| lengths.get(number as usize).copied().unwrap_or_default();
        Self {
            tf_max: postings.iter().map(|(_, tf)| *tf).max().unwrap_or_default(),
            length_min: postings.iter().map(|(number, _)| length(*number)).min().unwrap_or_default(),
        }
    }
}

/// A term's record and the parts that its chunk has no place for.
#[derive(Debug)]
pub(super) struct Encoded {
    pub(super) record: Record<Vec<u8>>,
    pub(super) parts: Vec<Vec<u8>>,
}

/// A term's record, with its bytes as they are at hand.
#[derive(Debug, Clone, Copy)]
pub(super) struct Record<B> {
    pub(super) entries: u32,
    pub(super) bound: PostingsBound,
    in_parts: bool,
    body: B,
}

impl Record<Vec<u8>> {
    pub(super) fn put(&self, bytes: &mut Vec<u8>) {
        varint::put(bytes, u64::from(self.entries));
        varint::put(bytes, u64::from(self.bound.tf_max));
        varint::put(bytes, u64::from(self.bound.length_min));
        bytes.push(u8::from(self.in_parts));
        put_length(bytes, self.body.len());
        bytes.extend_from_slice(&self.body);
    }
}

impl<'a> Record<&'a [u8]> {
    pub(super) fn take(bytes: &mut &'a [u8]) -> Option<Self> {
        let entries = u32::try_from(varint::take(bytes)?).ok()?;
        let tf_max = u16::try_from(varint::take(bytes)?).ok()?;
        let length_min = u16::try_from(varint::take(bytes)?).ok()?;
        let (kind, rest) = bytes.split_first()?;
        *bytes = rest;
        let length = take_length(bytes)?;
        let (body, rest) = bytes.split_at_checked(length)?;
        *bytes = rest;
        let bound = PostingsBound { tf_max, length_min };
        (*kind < 2).then_some(Self { entries, bound, in_parts: *kind == 1, body })
    }
}

/// Encodes the postings of a term, which ascend, with the lengths of all entries of the segment.
pub(super) fn encode(postings: &[Posting], lengths: &[u16]) -> Encoded {
    let mut record = Record {
        entries: u32::try_from(postings.len()).expect("a segment has few entries"),
        bound: PostingsBound::of(postings, lengths),
        in_parts: false,
        body: Vec::new(),
    };
    let mut next = 0;
    if postings.len() <= FEW {
        for (number, tf) in postings {
            varint::put(&mut record.body, u64::from(number - next));
            varint::put(&mut record.body, u64::from(*tf));
            next = number + 1;
        }
        return Encoded { record, parts: Vec::new() };
    }
    let mut payloads: Vec<Vec<u8>> = Vec::new();
    for block in postings.chunks(BLOCK) {
        let (item, payload) = encode_block(block, next);
        next = block.last().map_or(next, |(number, _)| number + 1);
        record.body.extend_from_slice(&item);
        payloads.push(payload);
    }
    let payload_bytes: usize = payloads.iter().map(Vec::len).sum();
    if record.body.len() + payload_bytes <= CHUNK_BYTES {
        record.body.extend(payloads.into_iter().flatten());
        return Encoded { record, parts: Vec::new() };
    }
    record.in_parts = true;
    let mut parts: Vec<Vec<u8>> = Vec::new();
    for payload in payloads {
        match parts.last_mut() {
            Some(part) if part.len() + payload.len() <= PART_BYTES => part.extend(payload),
            _ => parts.push(payload),
        }
    }
    Encoded { record, parts }
}

fn encode_block(block: &[Posting], from: u32) -> ([u8; DIRECTORY_BYTES], Vec<u8>) {
    let mut next = from;
    let mut gaps = Vec::with_capacity(block.len());
    for (number, _) in block {
        gaps.push(number - next);
        next = number + 1;
    }
    let tfs: Vec<u32> = block.iter().map(|(_, tf)| u32::from(tf.saturating_sub(1))).collect();
    let widths = [&gaps, &tfs].map(|values| bits::width_of(values.iter().copied().max().unwrap_or_default()));
    let mut item = [0; DIRECTORY_BYTES];
    let fields = [(next - 1).to_le_bytes().as_slice(), &widths.map(|width| width.to_le_bytes()[0])].concat();
    item.copy_from_slice(&fields);
    let mut payload = Vec::new();
    bits::pack(&mut payload, &gaps, widths[0]);
    bits::pack(&mut payload, &tfs, widths[1]);
    (item, payload)
}

/// Where a block's numbers and counts are.
#[derive(Debug, Clone, Copy)]
pub(super) struct BlockAt {
    pub(super) last: u32,
    /// The number before its first one, plus one.
    from: u32,
    count: usize,
    widths: [u32; 2],
    /// 0: with the directory.
    pub(super) part: u32,
    offset: usize,
}

/// The blocks of a term.
#[derive(Debug)]
pub(super) enum Blocks {
    Few(Vec<Posting>),
    Many { blocks: Vec<BlockAt>, bytes: Vec<u8> },
}

/// Reads which blocks a term has in a segment of so many entries.
pub(super) fn blocks_of(record: &Record<&[u8]>, span: u32) -> Result<Blocks, IndexError> {
    let found = if record.entries as usize <= FEW { few(record, span) } else { many(record, span) };
    found.ok_or_else(|| IndexError::damaged("the postings of a term cannot be read"))
}

fn few(record: &Record<&[u8]>, span: u32) -> Option<Blocks> {
    let mut bytes = record.body;
    let mut next = 0_u32;
    let mut postings = Vec::new();
    for _ in 0..record.entries {
        let number = next.checked_add(u32::try_from(varint::take(&mut bytes)?).ok()?)?;
        let tf = u16::try_from(varint::take(&mut bytes)?).ok()?;
        next = number.checked_add(1)?;
        postings.push((number, tf));
    }
    (next <= span && bytes.is_empty()).then_some(Blocks::Few(postings))
}

fn many(record: &Record<&[u8]>, span: u32) -> Option<Blocks> {
    let entries = record.entries as usize;
    let items = entries.div_ceil(BLOCK).checked_mul(DIRECTORY_BYTES)?;
    let (directory, bytes) = record.body.split_at_checked(items)?;
    let mut blocks = Vec::with_capacity(entries.div_ceil(BLOCK));
    let (mut from, mut part, mut offset) = (0_u32, u32::from(record.in_parts), 0_usize);
    for (place, item) in directory.chunks_exact(DIRECTORY_BYTES).enumerate() {
        let (last, rest) = item.split_first_chunk()?;
        let widths: [u8; 2] = rest.try_into().ok()?;
        let (last, widths) = (u32::from_le_bytes(*last), widths.map(u32::from));
        if last < from || last >= span || widths.iter().any(|width| *width > u32::BITS) {
            return None;
        }
        let count = (entries - place * BLOCK).min(BLOCK);
        let length: usize = widths.iter().map(|width| bits::packed_bytes(count, *width)).sum();
        if record.in_parts && offset > 0 && offset + length > PART_BYTES {
            (part, offset) = (part + 1, 0);
        }
        blocks.push(BlockAt { last, from, count, widths, part, offset });
        offset += length;
        from = last + 1;
    }
    Some(Blocks::Many { blocks, bytes: bytes.to_vec() })
}

impl BlockAt {
    /// Unpacks the block from the bytes of its part, and returns how many postings it has.
    pub(super) fn unpack(
        &self,
        bytes: &[u8],
        numbers: &mut [u32; BLOCK],
        tfs: &mut [u16; BLOCK],
    ) -> Result<usize, IndexError> {
        self.take(bytes, numbers, tfs)
            .ok_or_else(|| IndexError::damaged("a block of postings cannot be read"))?;
        Ok(self.count)
    }

    fn take(&self, bytes: &[u8], numbers: &mut [u32; BLOCK], tfs: &mut [u16; BLOCK]) -> Option<()> {
        let bytes = bytes.get(self.offset..)?;
        let numbers = numbers.get_mut(..self.count)?;
        bits::unpack(bytes, self.widths[0], numbers)?;
        let mut next = self.from;
        for number in &mut *numbers {
            *number = next.saturating_add(*number);
            next = number.saturating_add(1);
        }
        let mut counts = [0; BLOCK];
        let counts = counts.get_mut(..self.count)?;
        bits::unpack(bytes.get(bits::packed_bytes(self.count, self.widths[0])..)?, self.widths[1], counts)?;
        for (tf, count) in tfs.iter_mut().zip(counts) {
            *tf = u16::try_from(*count).ok()?.checked_add(1)?;
        }
        (numbers.last() == Some(&self.last)).then_some(())
    }
}
