//! Writing the packs that take the place of others: blocks copied as they are, or encoded again.
//!
//! The database is not touched.

use std::collections::{BTreeMap, BTreeSet};
use stemmata_model::to_u64;

use super::survey::{Live, Survey, survey};
use super::{MovedBlock, MovedPack, Policy, Rewrite};
use crate::error::StoreError;
use crate::pack::bounds::BASES_BYTES_MAX;
use crate::pack::format::{BlockCoding, BlockEntry};
use crate::pack::frame;
use crate::sqlite::Maintained;
use crate::sqlite::packs::Packs;
use crate::sqlite::packs::blocks::BlockError;
use crate::sqlite::packs::encode::Placed;
use crate::sqlite::packs::output::Output;
use crate::sqlite::pool::Borrowed;
use crate::sqlite::read::literals::{Kept, Key};

/// Writes packs without the contents `gone`, and without what nobody needs. The lock of packs is held.
///
/// # Errors
/// `Corrupt` where a content that stays cannot be read: nothing is lost then, and `verify` names more.
pub(in crate::sqlite) fn prepare(
    store: &Maintained<'_>,
    gone: &BTreeSet<i64>,
    policy: Policy,
) -> Result<Rewrite, StoreError> {
    let mut reader = store.pool.reader()?;
    let survey = reader.within_read(|connection| survey((connection, store.packs), gone, policy.garbage))?;
    let mut writer = Writer {
        packs: store.packs,
        level: policy.level.unwrap_or(frame::LEVEL),
        depths: BTreeMap::new(),
        output: None,
        blocks: Vec::new(),
        done: Vec::new(),
    };
    // Those that others lean on come first, so that their depths are known.
    let mut order: Vec<&Live> = survey.blocks.values().collect();
    order.sort_by_key(|live| (live.block.depth, live.pack_row, live.block.number));
    for live in order {
        writer.block(&mut reader, &survey, live)?;
    }
    writer.finish()?;
    Ok(Rewrite {
        old: survey.old,
        new: writer.done,
        dropped: survey.dropped.into_iter().collect(),
        gone: gone.clone(),
    })
}

struct Writer<'a> {
    packs: &'a Packs,
    level: i32,
    /// The depths of blocks that were written, by their rows.
    depths: BTreeMap<i64, u64>,
    output: Option<Output<'a>>,
    blocks: Vec<MovedBlock>,
    done: Vec<MovedPack>,
}

/// What a block of the new pack is.
struct Coded {
    raw: Vec<u8>,
    coding: BlockCoding,
    stored: Vec<u8>,
    bases: Vec<i64>,
    base_hashes: Vec<[u8; 32]>,
    members: Vec<Placed>,
}

impl Writer<'_> {
    fn block(&mut self, reader: &mut Borrowed<'_>, survey: &Survey, live: &Live) -> Result<(), StoreError> {
        let bases: Vec<i64> =
            live.block.bases.iter().copied().filter(|base| !survey.dropped.contains(base)).collect();
        let base_changed = bases.len() != live.block.bases.len()
            || bases.iter().any(|base| survey.blocks.get(base).is_some_and(|base| base.changed));
        let again = live.changed || base_changed;
        let mut base_hashes = Vec::with_capacity(bases.len());
        let mut before = Vec::new();
        for base in &bases {
            let bytes = self.contents_of(reader, survey, *base)?;
            base_hashes.push(*blake3::hash(&bytes).as_bytes());
            before.extend_from_slice(&bytes);
        }
        let gathered = gather(reader, live);
        // A damaged block that need not be touched is taken along as it is: what is to go goes all the same.
        let (raw, members) = if again { gathered? } else { gathered.unwrap_or_default() };
        let mut coded = if again {
            let before = if before.len() <= BASES_BYTES_MAX { before.as_slice() } else { &[] };
            let (coding, stored) = frame::encode(&raw, before, self.level).map_err(|source| {
                StoreError::Backend { operation: "compressing a block", source: Box::new(source) }
            })?;
            Coded { raw, coding, stored, bases, base_hashes, members }
        } else {
            let stored = self.packs.read_stored(&live.block).map_err(of_block)?;
            Coded { raw, coding: live.block.coding, stored, bases, base_hashes, members }
        };
        if coded.coding == BlockCoding::Raw || (again && before.len() > BASES_BYTES_MAX) {
            coded.bases.clear();
            coded.base_hashes.clear();
        }
        self.write(live, coded)
    }

    /// Returns what a block holds from now on.
    fn contents_of(
        &self,
        reader: &mut Borrowed<'_>,
        survey: &Survey,
        row: i64,
    ) -> Result<Vec<u8>, StoreError> {
        match survey.blocks.get(&row) {
            Some(live) if live.changed => gather(reader, live).map(|(raw, _)| raw),
            Some(_) | None => {
                let packs = self.packs;
                reader.within_read(|connection| {
                    packs.load(connection, row).map(|loaded| loaded.to_vec()).map_err(of_block)
                })
            }
        }
    }

    fn write(&mut self, live: &Live, coded: Coded) -> Result<(), StoreError> {
        let depth = coded.bases.iter().map(|base| self.depth_of(*base, live) + 1).max().unwrap_or(0);
        let length = if live.changed { coded.raw.len() } else { live.block.length };
        let entry = BlockEntry {
            stored: to_u64(coded.stored.len()),
            length: to_u64(length),
            coding: coded.coding,
            hash: *blake3::hash(&coded.raw).as_bytes(),
            bases: coded.base_hashes,
            members: live.members.iter().map(|(_, length)| to_u64(*length)).collect(),
        };
        if self.output.as_ref().is_some_and(|output| output.is_full(1)) {
            self.finish()?;
        }
        let output = match self.output.as_mut() {
            Some(output) => output,
            None => self.output.insert(Output::new(self.packs)?),
        };
        let laid = output.block(&coded.stored, entry, (depth, coded.bases))?;
        self.depths.insert(live.block.row, depth);
        let members = live.changed.then_some(coded.members);
        self.blocks.push(MovedBlock { row: live.block.row, laid, members });
        Ok(())
    }

    /// A base that stays where it is has the depth that it had: less than that of what leans on it.
    fn depth_of(&self, base: i64, live: &Live) -> u64 {
        self.depths.get(&base).copied().unwrap_or(live.block.depth.saturating_sub(1))
    }

    fn finish(&mut self) -> Result<(), StoreError> {
        let Some(output) = self.output.take() else {
            return Ok(());
        };
        let (name, bytes) = output.finish()?;
        self.done.push(MovedPack { name, bytes, blocks: std::mem::take(&mut self.blocks) });
        Ok(())
    }
}

/// Reads the contents of a block that stay.
fn gather(reader: &mut Borrowed<'_>, live: &Live) -> Result<(Vec<u8>, Vec<Placed>), StoreError> {
    let mut raw = Vec::with_capacity(live.block.length);
    let mut members = Vec::with_capacity(live.members.len());
    reader.with_literals(|literals| {
        for (row, length) in &live.members {
            let unreadable = |what: String| StoreError::Backend {
                operation: "reading a pack that is to be rewritten",
                source: format!("the content in row {row}, in {}: {what}", live.block.place()).into(),
            };
            let hash = match literals.load(Key::Row(*row)) {
                Ok(Kept::Literal(hash)) if literals.bytes().len() == *length => hash,
                Ok(_) => return Err(unreadable("it is not what it was".to_owned())),
                Err(failure) => return Err(unreadable(failure.to_string())),
            };
            members.push(Placed {
                row: *row,
                hash,
                length: *length,
                offset: raw.len(),
                from: Some(live.block.row),
            });
            raw.extend_from_slice(literals.bytes());
        }
        Ok(())
    })?;
    Ok((raw, members))
}

fn of_block(error: BlockError) -> StoreError {
    match error {
        BlockError::Store(error) => error,
        BlockError::Gone(what) | BlockError::Damaged(what) => {
            StoreError::Backend { operation: "reading a pack that is to be rewritten", source: what.into() }
        }
    }
}
