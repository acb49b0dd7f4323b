//! Encoding planned blocks into pack files, outside the write lock.
//!
//! What the database then says of them is `apply`'s.

use std::io;
use std::num::NonZero;
use std::thread;

use stemmata_model::{ArtifactId, to_u64};

use super::Packs;
use super::leaning::{Leaning, Original};
use super::output::{Laid, Output};
use crate::error::StoreError;
use crate::pack::PackName;
use crate::pack::format::{BlockCoding, BlockEntry};
use crate::pack::frame;
use crate::rules::packing::{BlockPlan, Member, Strand};
use crate::sqlite::pool::Borrowed;
use crate::sqlite::read::literals::{Failure, Kept, Key, Literals};

/// A block leans on others only where it is then at most so many parts of [`LEANING_OF`] of what it is alone: each
/// read of it decodes them too.
const LEANING_PARTS_MAX: usize = 3;

/// Parts that a block's bytes are counted in.
const LEANING_OF: usize = 4;

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

/// A block that was written.
#[derive(Debug)]
pub(super) struct NewBlock {
    pub(super) laid: Laid,
    pub(super) members: Vec<Placed>,
}

/// A pack file that is durable, and that no row names yet.
#[derive(Debug)]
pub(super) struct NewPack {
    pub(super) name: PackName,
    pub(super) bytes: u64,
    pub(super) blocks: Vec<NewBlock>,
}

/// A block's contents, read and verified, and what they are compressed against.
struct Raw {
    bytes: Vec<u8>,
    members: Vec<Placed>,
    leaning: Leaning,
}

/// How a block is kept.
struct Coded {
    coding: BlockCoding,
    stored: Vec<u8>,
    /// Whether it leans on the blocks that it was offered.
    leans: bool,
}

/// Writes packs, one after the other.
pub(super) struct Encoder<'a> {
    packs: &'a Packs,
    level: i32,
    output: Option<Output<'a>>,
    blocks: Vec<NewBlock>,
    /// The original of the copy that was encoded last: the next block is likely to be of the same.
    original: Option<Original>,
    /// Contents that could not be read, and stay where they are.
    pub(super) damaged: u64,
}

impl<'a> Encoder<'a> {
    pub(super) fn new(packs: &'a Packs, level: i32) -> Self {
        Self { packs, level, output: None, blocks: Vec::new(), original: None, damaged: 0 }
    }

    /// Encodes planned blocks until a pack is full or all are encoded; takes what it encodes off `plans`.
    /// None where nothing of them could be read.
    pub(super) fn next_pack(
        &mut self,
        reader: &mut Borrowed<'_>,
        strands: &[Strand],
        plans: &mut std::vec::IntoIter<BlockPlan>,
    ) -> Result<Option<NewPack>, StoreError> {
        let threads = thread::available_parallelism().map_or(1, NonZero::get).min(THREADS_MAX);
        while !self.is_full() {
            let batch: Vec<BlockPlan> = plans.take(threads).collect();
            if batch.is_empty() {
                break;
            }
            let mut raws = Vec::with_capacity(batch.len());
            for plan in &batch {
                let origin = strands.get(plan.strand).and_then(|strand| strand.origin);
                let raw = self.gather(reader, &plan.members)?;
                if !raw.members.is_empty() {
                    raws.push(self.lean(reader, raw, origin)?);
                }
            }
            for (raw, coded) in encode_all(&raws, self.level)?.into_iter().enumerate() {
                if let Some(raw) = raws.get_mut(raw) {
                    self.write(raw, &coded)?;
                }
            }
        }
        self.finish()
    }

    /// Looks for what a block of a copy leans on.
    fn lean(
        &mut self,
        reader: &mut Borrowed<'_>,
        mut raw: Raw,
        origin: Option<i64>,
    ) -> Result<Raw, StoreError> {
        let Some(origin) = origin else {
            return Ok(raw);
        };
        let original = match self.original.take().filter(|original| original.commit() == origin) {
            Some(original) => original,
            None => Original::look(self.packs, reader, origin)?,
        };
        raw.leaning = original.lean(self.packs, reader, &raw.bytes)?;
        self.original = Some(original);
        Ok(raw)
    }

    fn is_full(&self) -> bool {
        self.output.as_ref().is_some_and(|output| output.is_full(THREADS_MAX))
    }

    /// Reads contents in one transaction. Those that are damaged or gone are left out.
    fn gather(&mut self, reader: &mut Borrowed<'_>, members: &[Member]) -> Result<Raw, StoreError> {
        let mut raw = Raw {
            bytes: Vec::new(),
            members: Vec::with_capacity(members.len()),
            leaning: Leaning::default(),
        };
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

    fn write(&mut self, raw: &mut Raw, coded: &Coded) -> Result<(), StoreError> {
        let leaning = std::mem::take(&mut raw.leaning);
        let leaning = if coded.leans { leaning } else { Leaning::default() };
        let entry = BlockEntry {
            stored: to_u64(coded.stored.len()),
            length: to_u64(raw.bytes.len()),
            coding: coded.coding,
            hash: *blake3::hash(&raw.bytes).as_bytes(),
            bases: leaning.hashes,
            members: raw.members.iter().map(|member| to_u64(member.length)).collect(),
        };
        let output = match self.output.as_mut() {
            Some(output) => output,
            None => self.output.insert(Output::new(self.packs)?),
        };
        let laid = output.block(&coded.stored, entry, (leaning.depth, leaning.rows))?;
        self.blocks.push(NewBlock { laid, members: std::mem::take(&mut raw.members) });
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

/// Compresses blocks, each in a thread of its own.
fn encode_all(raws: &[Raw], level: i32) -> Result<Vec<Coded>, StoreError> {
    let coded = thread::scope(|scope| {
        let running: Vec<_> = raws.iter().map(|raw| scope.spawn(move || encode(raw, level))).collect();
        running.into_iter().map(thread::ScopedJoinHandle::join).collect::<Vec<_>>()
    });
    coded
        .into_iter()
        .map(|coded| {
            coded.unwrap_or_else(|_| Err(io::Error::other("the thread that compressed it panicked"))).map_err(
                |source| StoreError::Backend { operation: "compressing a block", source: Box::new(source) },
            )
        })
        .collect()
}

/// Compresses a block, against what it was offered only where that makes it much shorter.
fn encode(raw: &Raw, level: i32) -> io::Result<Coded> {
    let (coding, stored) = frame::encode(&raw.bytes, &[], level)?;
    let alone = Coded { coding, stored, leans: false };
    if raw.leaning.rows.is_empty() {
        return Ok(alone);
    }
    let (coding, stored) = frame::encode(&raw.bytes, &raw.leaning.before, level)?;
    let pays =
        coding == BlockCoding::Zstd && stored.len() * LEANING_OF < alone.stored.len() * LEANING_PARTS_MAX;
    Ok(if pays { Coded { coding, stored, leans: true } } else { alone })
}
