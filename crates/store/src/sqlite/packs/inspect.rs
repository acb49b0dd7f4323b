//! Reading a pack file whole: its hash, its index, and whether both agree with the database.
//!
//! What its blocks hold is verified content by content.

use std::sync::Arc;
use stemmata_model::to_u64;

use super::Packs;
use super::blocks::BlockRow;
use crate::files::OpenFile;
use crate::pack::PackName;
use crate::pack::format::{self, BlockEntry, HEADER_BYTES, TRAILER_BYTES, Trailer};

/// Bytes that are read at once.
const PIECE_BYTES: usize = 1024 * 1024;

impl Packs {
    /// Holds a file to its name, its format and to what the database says of it. The error says what is wrong.
    pub(in crate::sqlite) fn inspect(
        &self,
        name: PackName,
        bytes: u64,
        blocks: &[BlockRow],
    ) -> Result<(), String> {
        // A handle that is open may be of a file that is not there any more.
        let file =
            self.files.open(&self.path(name)).map_err(|error| format!("it cannot be opened ({error})"))?;
        let length = file.length().map_err(|error| format!("it cannot be read ({error})"))?;
        if length != bytes {
            return Err(format!("it has {length} bytes instead of {bytes}"));
        }
        if hash_of(&file, length)? != name {
            return Err("its bytes have another hash than its name".to_owned());
        }
        let entries = entries_of(&file, length)?;
        let offsets: Vec<u64> = entries
            .iter()
            .scan(HEADER_BYTES, |offset, entry| {
                let start = *offset;
                *offset = offset.saturating_add(entry.stored);
                Some(start)
            })
            .collect();
        for block in blocks {
            let place = usize::try_from(block.number).unwrap_or(usize::MAX);
            let agrees = match (entries.get(place), offsets.get(place)) {
                (Some(entry), Some(offset)) => {
                    *offset == block.offset
                        && usize::try_from(entry.stored).is_ok_and(|stored| stored == block.stored)
                        && usize::try_from(entry.length).is_ok_and(|length| length == block.length)
                        && entry.coding == block.coding
                        && entry.bases.len() == block.bases.len()
                }
                (None, _) | (_, None) => false,
            };
            if !agrees {
                return Err(format!("its index does not say what the database says of {}", block.place()));
            }
        }
        Ok(())
    }
}

impl Packs {
    /// Returns where a file's index begins, which is where its blocks end; none where that cannot be read.
    pub(super) fn index_offset(&self, name: PackName) -> Option<u64> {
        let file = self.open(name).ok()?;
        let length = file.length().ok()?;
        trailer_of(&file, length).ok().map(|trailer| trailer.index_offset)
    }
}

fn hash_of(file: &Arc<dyn OpenFile>, length: u64) -> Result<PackName, String> {
    let mut hasher = blake3::Hasher::new();
    let mut offset = 0;
    let mut piece = vec![0; PIECE_BYTES];
    while offset < length {
        let wanted = usize::try_from(length - offset).unwrap_or(usize::MAX).min(PIECE_BYTES);
        let into = piece.get_mut(..wanted).ok_or("its length is wrong")?;
        file.read_at(offset, into)
            .map_err(|error| format!("it cannot be read at byte {offset} ({error})"))?;
        hasher.update(into);
        offset += to_u64(wanted);
    }
    Ok(PackName(*hasher.finalize().as_bytes()))
}

fn read(file: &Arc<dyn OpenFile>, offset: u64, into: &mut [u8]) -> Result<(), String> {
    file.read_at(offset, into).map_err(|error| format!("it cannot be read at byte {offset} ({error})"))
}

fn trailer_of(file: &Arc<dyn OpenFile>, length: u64) -> Result<Trailer, String> {
    let trailer_bytes = u64::try_from(TRAILER_BYTES).expect("a small number");
    let end = length.checked_sub(trailer_bytes).ok_or("it is cut off")?;
    let mut header = [0; 12];
    let mut trailer = [0; TRAILER_BYTES];
    read(file, 0, &mut header)?;
    read(file, end, &mut trailer)?;
    format::read_ends(&header, &trailer, length).map_err(|error| error.to_string())
}

fn entries_of(file: &Arc<dyn OpenFile>, length: u64) -> Result<Vec<BlockEntry>, String> {
    let trailer = trailer_of(file, length)?;
    let mut index = vec![0; trailer.index_bytes];
    read(file, trailer.index_offset, &mut index)?;
    format::read_index(&trailer, &index).map_err(|error| error.to_string())
}
