//! Encoding planned blocks into pack files, outside the write lock.
//!
//! What the database then says of them is `apply`'s.

use std::num::NonZero;
use std::thread;

use stemmata_model::ArtifactId;

use super::Packs;
use super::output::Output;
use super::plan::{BlockPlan, Member};
use crate::error::StoreError;
use crate::pack::PackName;
use crate::pack::bounds::{PACK_BLOCKS_MAX, PACK_BYTES_TARGET};
use crate::pack::format::{BlockCoding, BlockEntry};
use crate::pack::frame;
use crate::sqlite::read::Borrowed;
use crate::sqlite::read::literals::{Failure, Kept, Key, Literals};

/// Threads that compress at once at most: packing is background work.
const THREADS_MAX: usize = 4;

/// A content in a block that was written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Placed {
    pub(super) row: i64,
    pub(super) hash: ArtifactId,
    pub(super) length: usize,
    /// Bytes from the start of the block's contents.
    pub(super) offset: usize,
    /// The block that it was in; none for the inbox.
    pub(super) from: Option<i64>,
}

/// A block that another leans on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Base {
    /// One that the database knows, by its row.
    Known(i64),
    /// One of this run, by its number in it.
    New(usize),
}

/// A block that was written.
#[derive(Debug)]
pub(super) struct NewBlock {
    /// Its number in this run, over all packs.
    pub(super) id: usize,
    pub(super) number: u64,
    pub(super) offset: u64,
    pub(super) stored: usize,
    pub(super) length: usize,
    pub(super) coding: BlockCoding,
    pub(super) depth: u64,
    pub(super) bases: Vec<Base>,
    pub(super) members: Vec<Placed>,
}

/// A pack file that is durable, and that no row names yet.
#[derive(Debug)]
pub(super) struct NewPack {
    pub(super) name: PackName,
    pub(super) bytes: u64,
    pub(super) blocks: Vec<NewBlock>,
}

/// A block's contents, read and verified.
struct Raw {
    bytes: Vec<u8>,
    members: Vec<Placed>,
}

/// Writes packs, one after the other.
pub(super) struct Encoder<'a> {
    packs: &'a Packs,
    level: i32,
    output: Option<Output<'a>>,
    blocks: Vec<NewBlock>,
    next_id: usize,
    /// Contents that could not be read, and stay where they are.
    pub(super) damaged: u64,
}

impl<'a> Encoder<'a> {
    pub(super) fn new(packs: &'a Packs, level: i32) -> Self {
        Self { packs, level, output: None, blocks: Vec::new(), next_id: 0, damaged: 0 }
    }

    /// Encodes planned blocks until a pack is full or all are encoded; takes what it encodes off `plans`.
    /// None where nothing of them could be read.
    pub(super) fn next_pack(
        &mut self,
        reader: &mut Borrowed<'_>,
        plans: &mut std::vec::IntoIter<BlockPlan>,
    ) -> Result<Option<NewPack>, StoreError> {
        let threads = thread::available_parallelism().map_or(1, NonZero::get).min(THREADS_MAX);
        while !self.is_full() {
            let batch: Vec<BlockPlan> = plans.take(threads).collect();
            if batch.is_empty() {
                break;
            }
            let raws: Vec<Raw> = batch
                .iter()
                .map(|plan| self.gather(reader, &plan.members))
                .collect::<Result<_, StoreError>>()?;
            let raws: Vec<Raw> = raws.into_iter().filter(|raw| !raw.members.is_empty()).collect();
            let level = self.level;
            let coded = thread::scope(|scope| {
                let running: Vec<_> = raws
                    .iter()
                    .map(|raw| scope.spawn(move || frame::encode(&raw.bytes, &[], level)))
                    .collect();
                running.into_iter().map(thread::ScopedJoinHandle::join).collect::<Vec<_>>()
            });
            for (raw, coded) in raws.into_iter().zip(coded) {
                let (coding, stored) = coded
                    .unwrap_or_else(|_| Err(std::io::Error::other("the thread that compressed it panicked")))
                    .map_err(|source| StoreError::Backend {
                        operation: "compressing a block",
                        source: Box::new(source),
                    })?;
                self.write(raw, coding, &stored)?;
            }
        }
        self.finish()
    }

    fn is_full(&self) -> bool {
        self.output.as_ref().is_some_and(|output| {
            output.bytes() >= PACK_BYTES_TARGET || output.blocks() + THREADS_MAX > PACK_BLOCKS_MAX
        })
    }

    /// Reads contents in one transaction. Those that are damaged or gone are left out.
    fn gather(&mut self, reader: &mut Borrowed<'_>, members: &[Member]) -> Result<Raw, StoreError> {
        let mut raw = Raw { bytes: Vec::new(), members: Vec::with_capacity(members.len()) };
        let mut damaged = 0;
        reader.with_literals(|literals: &mut Literals<'_>| {
            for member in members {
                let hash = match literals.load(Key::Row(member.row)) {
                    Ok(Kept::Literal(hash)) if literals.bytes().len() == member.length => hash,
                    Ok(Kept::Literal(_) | Kept::Composed { .. } | Kept::Forgotten) | Err(Failure::Absent) => {
                        continue;
                    }
                    Err(Failure::Damaged(_)) => {
                        damaged += 1;
                        continue;
                    }
                    Err(Failure::Store(error)) => return Err(error),
                };
                raw.members.push(Placed {
                    row: member.row,
                    hash,
                    length: member.length,
                    offset: raw.bytes.len(),
                    from: member.block,
                });
                raw.bytes.extend_from_slice(literals.bytes());
            }
            Ok(())
        })?;
        self.damaged += damaged;
        Ok(raw)
    }

    fn write(&mut self, raw: Raw, coding: BlockCoding, stored: &[u8]) -> Result<(), StoreError> {
        let count = |length: usize| u64::try_from(length).expect("a length fits 64 bits");
        let entry = BlockEntry {
            stored: count(stored.len()),
            length: count(raw.bytes.len()),
            coding,
            hash: *blake3::hash(&raw.bytes).as_bytes(),
            bases: Vec::new(),
            members: raw.members.iter().map(|member| count(member.length)).collect(),
        };
        let output = match self.output.as_mut() {
            Some(output) => output,
            None => self.output.insert(Output::new(self.packs)?),
        };
        let (number, offset) = output.block(stored, entry)?;
        self.blocks.push(NewBlock {
            id: self.next_id,
            number,
            offset,
            stored: stored.len(),
            length: raw.bytes.len(),
            coding,
            depth: 0,
            bases: Vec::new(),
            members: raw.members,
        });
        self.next_id += 1;
        Ok(())
    }

    fn finish(&mut self) -> Result<Option<NewPack>, StoreError> {
        let Some(output) = self.output.take() else {
            return Ok(None);
        };
        let (name, bytes) = output.finish()?;
        Ok(Some(NewPack { name, bytes, blocks: std::mem::take(&mut self.blocks) }))
    }
}
