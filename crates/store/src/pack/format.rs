//! The frame of a pack file: header, index and trailer, as bytes and back.
//!
//! How the bytes of a block are compressed is `frame`'s. Specified in `docs/format/pack.md`.

use super::PackName;
use super::bounds::{BASES_MAX, BLOCK_BYTES_MAX, BLOCK_MEMBERS_MAX, INDEX_BYTES_MAX, PACK_BLOCKS_MAX};
use crate::seam::PART_BYTES_MAX;
use crate::varint;
use stemmata_model::to_u64;

/// What a pack starts with.
const MAGIC: &[u8; 8] = b"STEMPACK";

/// The version of the format that is written and read.
const VERSION: u32 = 1;

/// Bytes before the first block.
pub(crate) const HEADER_BYTES: u64 = 12;

/// Bytes after the index: its length, its hash, and the magic again.
pub(crate) const TRAILER_BYTES: usize = 48;

/// How a block's bytes are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BlockCoding {
    /// As they are.
    Raw,
    /// As one zstd frame, with the contents of the block's bases as what precedes it.
    Zstd,
}

impl BlockCoding {
    pub(crate) const fn number(self) -> u8 {
        match self {
            Self::Raw => 0,
            Self::Zstd => 1,
        }
    }

    pub(crate) const fn from_number(number: u64) -> Option<Self> {
        match number {
            0 => Some(Self::Raw),
            1 => Some(Self::Zstd),
            _ => None,
        }
    }
}

/// What an index says of a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BlockEntry {
    /// Bytes in the file.
    pub(crate) stored: u64,
    /// Bytes of its contents.
    pub(crate) length: u64,
    /// How they are kept.
    pub(crate) coding: BlockCoding,
    /// The BLAKE3 hash of its contents together, by which other blocks name it.
    pub(crate) hash: [u8; 32],
    /// The blocks that it is compressed against, by their hashes, in order.
    pub(crate) bases: Vec<[u8; 32]>,
    /// The lengths of its contents, in order.
    pub(crate) members: Vec<u64>,
}

/// What is wrong with a pack file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PackError {
    /// The file is too short, or does not start or end as a pack does.
    #[error("it is not a pack, or cut off")]
    NoPack,
    /// Another version of the format.
    #[error("it has version {0}, and this program reads version {VERSION}")]
    Version(u32),
    /// The index has another hash than the trailer says.
    #[error("its index is damaged")]
    Index,
    /// The index does not say what a writer says.
    #[error("its index is wrong at block {block}: {what}")]
    Block {
        /// Blocks from its start.
        block: usize,
        /// What is wrong.
        what: &'static str,
    },
}

/// Builds a pack file from its start on: what is returned is to be written, in order.
pub(crate) struct PackBuilder {
    hasher: blake3::Hasher,
    bytes: u64,
    entries: Vec<BlockEntry>,
}

impl PackBuilder {
    /// Begins a file, and returns what it starts with.
    pub(crate) fn new() -> (Self, Vec<u8>) {
        let header = [MAGIC.as_slice(), &VERSION.to_le_bytes()].concat();
        let mut builder = Self { hasher: blake3::Hasher::new(), bytes: 0, entries: Vec::new() };
        builder.count(&header);
        (builder, header)
    }

    /// Counts a block whose bytes the caller writes, and returns its number and offset.
    pub(crate) fn block(&mut self, stored: &[u8], entry: BlockEntry) -> (u64, u64) {
        let number = count_of(self.entries.len());
        let offset = self.bytes;
        self.count(stored);
        self.entries.push(entry);
        (number, offset)
    }

    /// Bytes so far.
    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Blocks so far.
    pub(crate) const fn blocks(&self) -> usize {
        self.entries.len()
    }

    /// Returns the bytes that end the file, its name, and its length.
    pub(crate) fn finish(mut self) -> (Vec<u8>, PackName, u64) {
        let mut end = encode_index(&self.entries);
        let index_bytes = count_of(end.len());
        let hash = blake3::hash(&end);
        end.extend_from_slice(&index_bytes.to_le_bytes());
        end.extend_from_slice(hash.as_bytes());
        end.extend_from_slice(MAGIC);
        self.count(&end);
        (end, PackName(*self.hasher.finalize().as_bytes()), self.bytes)
    }

    fn count(&mut self, bytes: &[u8]) {
        self.hasher.update(bytes);
        self.bytes += count_of(bytes.len());
    }
}

/// Where the index of a file lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Trailer {
    /// Bytes before the index.
    pub(crate) index_offset: u64,
    /// Bytes of the index; bounded.
    pub(crate) index_bytes: usize,
    hash: [u8; 32],
}

/// Reads the first and the last bytes of a file of `length` bytes.
pub(crate) fn read_ends(
    header: &[u8],
    trailer: &[u8; TRAILER_BYTES],
    length: u64,
) -> Result<Trailer, PackError> {
    let (magic, version) = header.split_first_chunk::<8>().ok_or(PackError::NoPack)?;
    let (version, rest) = version.split_first_chunk::<4>().ok_or(PackError::NoPack)?;
    if magic != MAGIC || !rest.is_empty() {
        return Err(PackError::NoPack);
    }
    match u32::from_le_bytes(*version) {
        VERSION => {}
        other => return Err(PackError::Version(other)),
    }
    let (index_bytes, rest) = trailer.split_first_chunk::<8>().ok_or(PackError::NoPack)?;
    let (hash, magic) = rest.split_first_chunk::<32>().ok_or(PackError::NoPack)?;
    let index_bytes = u64::from_le_bytes(*index_bytes);
    let room = length.checked_sub(HEADER_BYTES + count_of(TRAILER_BYTES)).ok_or(PackError::NoPack)?;
    if magic != MAGIC || index_bytes > room.min(INDEX_BYTES_MAX) {
        return Err(PackError::NoPack);
    }
    Ok(Trailer {
        index_offset: HEADER_BYTES + room - index_bytes,
        index_bytes: usize::try_from(index_bytes).map_err(|_| PackError::NoPack)?,
        hash: *hash,
    })
}

/// Reads an index, and holds it to its hash, to the bounds and to the length of the file.
pub(crate) fn read_index(trailer: &Trailer, index: &[u8]) -> Result<Vec<BlockEntry>, PackError> {
    if index.len() != trailer.index_bytes || *blake3::hash(index).as_bytes() != trailer.hash {
        return Err(PackError::Index);
    }
    let mut rest = index;
    let blocks = take_count(&mut rest, PACK_BLOCKS_MAX).ok_or(PackError::Index)?;
    let mut entries = Vec::new();
    let mut offset = HEADER_BYTES;
    for block in 0..blocks {
        let entry = take_entry(&mut rest).map_err(|what| PackError::Block { block, what })?;
        offset = offset.saturating_add(entry.stored);
        entries.push(entry);
    }
    if !rest.is_empty() || offset != trailer.index_offset {
        return Err(PackError::Block { block: blocks, what: "its blocks do not end where the index begins" });
    }
    Ok(entries)
}

fn encode_index(entries: &[BlockEntry]) -> Vec<u8> {
    let mut bytes = Vec::new();
    varint::put(&mut bytes, count_of(entries.len()));
    for entry in entries {
        varint::put(&mut bytes, entry.stored);
        varint::put(&mut bytes, entry.length);
        bytes.push(entry.coding.number());
        bytes.extend_from_slice(&entry.hash);
        varint::put(&mut bytes, count_of(entry.bases.len()));
        for base in &entry.bases {
            bytes.extend_from_slice(base);
        }
        varint::put(&mut bytes, count_of(entry.members.len()));
        for member in &entry.members {
            varint::put(&mut bytes, *member);
        }
    }
    bytes
}

fn take_entry(rest: &mut &[u8]) -> Result<BlockEntry, &'static str> {
    let stored = take_count(rest, BLOCK_BYTES_MAX).ok_or("its stored length")?;
    let length = take_count(rest, BLOCK_BYTES_MAX).ok_or("its length")?;
    let coding = varint::take(rest).and_then(BlockCoding::from_number).ok_or("its coding")?;
    let hash = take_hash(rest).ok_or("its hash")?;
    let bases = take_count(rest, BASES_MAX).ok_or("the number of its bases")?;
    let bases: Vec<[u8; 32]> =
        (0..bases).map(|_| take_hash(rest)).collect::<Option<_>>().ok_or("the hash of a base")?;
    if coding == BlockCoding::Raw && (stored != length || !bases.is_empty()) {
        return Err("it is not compressed, and has bases or another length in the file");
    }
    if stored > length {
        return Err("it is longer in the file than its contents are");
    }
    let members = take_count(rest, BLOCK_MEMBERS_MAX).ok_or("the number of its contents")?;
    let members: Vec<u64> = (0..members)
        .map(|_| take_count(rest, PART_BYTES_MAX).map(count_of))
        .collect::<Option<_>>()
        .ok_or("the length of a content")?;
    if members.iter().sum::<u64>() != count_of(length) {
        return Err("its contents together have another length");
    }
    Ok(BlockEntry { stored: count_of(stored), length: count_of(length), coding, hash, bases, members })
}

/// Takes a number that counts something in memory, held to its bound.
fn take_count(rest: &mut &[u8], bound: usize) -> Option<usize> {
    varint::take(rest).and_then(|value| usize::try_from(value).ok()).filter(|value| *value <= bound)
}

fn take_hash(rest: &mut &[u8]) -> Option<[u8; 32]> {
    let (hash, after) = rest.split_first_chunk::<32>()?;
    *rest = after;
    Some(*hash)
}

fn count_of(length: usize) -> u64 {
    to_u64(length)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn entries() -> impl Strategy<Value = Vec<(BlockEntry, Vec<u8>)>> {
        let block = (
            proptest::collection::vec(any::<u8>(), 0..300),
            proptest::collection::vec(0..9_u64, 0..20),
            proptest::collection::vec(any::<[u8; 32]>(), 0..3),
            any::<[u8; 32]>(),
        );
        let entry = block.prop_map(|(mut stored, mut members, bases, hash)| {
            let length: u64 = members.iter().sum();
            let coding = if bases.is_empty() && length.is_multiple_of(2) {
                BlockCoding::Raw
            } else {
                BlockCoding::Zstd
            };
            match coding {
                BlockCoding::Raw => stored.resize(usize::try_from(length).expect("small"), 1),
                BlockCoding::Zstd => stored.truncate(usize::try_from(length).expect("small")),
            }
            if length == 0 {
                members.clear();
            }
            let entry = BlockEntry { stored: count_of(stored.len()), length, coding, hash, bases, members };
            (entry, stored)
        });
        proptest::collection::vec(entry, 0..6)
    }

    fn file_of(blocks: &[(BlockEntry, Vec<u8>)]) -> (Vec<u8>, PackName) {
        let (mut builder, mut file) = PackBuilder::new();
        for (number, (entry, stored)) in blocks.iter().enumerate() {
            assert_eq!(builder.block(stored, entry.clone()), (count_of(number), count_of(file.len())));
            file.extend_from_slice(stored);
        }
        let (end, name, length) = builder.finish();
        file.extend_from_slice(&end);
        assert_eq!(length, count_of(file.len()));
        (file, name)
    }

    fn read(file: &[u8]) -> Result<Vec<BlockEntry>, PackError> {
        let header = file.get(..12).ok_or(PackError::NoPack)?;
        let trailer = file.last_chunk::<TRAILER_BYTES>().ok_or(PackError::NoPack)?;
        let trailer = read_ends(header, trailer, count_of(file.len()))?;
        let start = usize::try_from(trailer.index_offset).expect("small");
        read_index(&trailer, &file[start..start + trailer.index_bytes])
    }

    proptest! {
        #[test]
        fn a_pack_comes_back(blocks in entries()) {
            let (file, name) = file_of(&blocks);
            prop_assert_eq!(name, PackName(*blake3::hash(&file).as_bytes()));
            let expected: Vec<BlockEntry> = blocks.into_iter().map(|(entry, _)| entry).collect();
            prop_assert_eq!(read(&file), Ok(expected));
        }

        #[test]
        fn every_cut_is_an_error(blocks in entries(), at in any::<prop::sample::Index>()) {
            let (file, _) = file_of(&blocks);
            let cut = at.index(file.len());
            prop_assert!(read(&file[..cut]).is_err(), "{cut} of {}", file.len());
        }

        #[test]
        fn a_changed_bit_outside_the_blocks_is_an_error(blocks in entries(), at in any::<prop::sample::Index>(), bit in 0..8_u32) {
            let (mut file, name) = file_of(&blocks);
            let at = at.index(file.len());
            file[at] ^= 1 << bit;
            let stored: usize = blocks.iter().map(|(_, stored)| stored.len()).sum();
            if !(12..12 + stored).contains(&at) {
                prop_assert!(read(&file).is_err());
            }
            prop_assert!(PackName(*blake3::hash(&file).as_bytes()) != name);
        }

        #[test]
        fn any_bytes_are_an_index_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let trailer = Trailer { index_offset: 12, index_bytes: bytes.len(), hash: *blake3::hash(&bytes).as_bytes() };
            let _read = read_index(&trailer, &bytes);
            let _read = read(&bytes);
        }
    }
}
