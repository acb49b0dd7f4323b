//! The contents of a bundle as they are written: bytes in blocks, and lists of ranges of them.
//!
//! One block at a time is in memory. Which commits need which contents is `export`'s.

use std::collections::{BTreeMap, HashMap, HashSet};

use stemmata_model::{ArtifactId, to_u64};
use stemmata_store::{Commits, PART_BYTES_MAX, PartOf, StoreError};

use super::bytes::put_length;
use super::error::BundleError;
use super::frame::{FrameWriter, Kind};
use super::rows::{ComposedRow, ContentRef, NamedRow, PartRow, put_composed, put_named};
use crate::error::Result;

/// Bytes of a block at most, before compression.
const BLOCK_BYTES_MAX: usize = PART_BYTES_MAX;

/// A block with this many bytes is full enough to be written when a commit ends.
const BLOCK_BYTES_FULL: usize = 3 * 1024 * 1024;

/// Contents of one block at most: their lengths stand before them.
const BLOCK_CONTENTS_MAX: usize = 65_536;

/// Bytes of lists that are kept until they are written.
const LISTS_BYTES_FULL: usize = 1024 * 1024;

/// How much was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Packed {
    pub(super) literals: u64,
    pub(super) composed: u64,
    pub(super) named: u64,
    pub(super) literal_bytes: u64,
}

/// The contents that a bundle has so far.
#[derive(Default)]
pub(super) struct Packer {
    /// Contents that the receiver has.
    pub(super) had: HashSet<ArtifactId>,
    pub(super) done: Packed,
    known: HashMap<ArtifactId, ContentRef>,
    /// Contents of holes.
    forgotten: HashMap<ArtifactId, ContentRef>,
    /// Ranges of literal contents that are not in the bundle as a whole, by content and offset.
    ranges: BTreeMap<(ArtifactId, u64), (u64, ContentRef)>,
    lengths: Vec<usize>,
    block: Vec<u8>,
    named: Vec<u8>,
    named_rows: usize,
    composed: Vec<Vec<u8>>,
    composed_bytes: usize,
}

impl Packer {
    /// Says whether what is kept should be written before more is added.
    pub(super) fn is_full(&self) -> bool {
        self.block.len() >= BLOCK_BYTES_FULL
            || self.composed_bytes >= LISTS_BYTES_FULL
            || self.named.len() >= LISTS_BYTES_FULL
    }

    /// Adds a content of a hole, unless it is there. Other commits may have the same content with its bytes: theirs
    /// is another row.
    pub(super) fn add_forgotten(&mut self, store: &dyn Commits, id: ArtifactId) -> Result<ContentRef> {
        if let Some(known) = self.forgotten.get(&id) {
            return Ok(*known);
        }
        let length = store.content_length(id)?.ok_or(StoreError::ContentMissing(id))?;
        Ok(self.add_named(NamedRow { hash: id, length, is_forgotten: true }))
    }

    /// Adds a content, unless it is there or the receiver has it.
    pub(super) fn add(
        &mut self,
        store: &dyn Commits,
        id: ArtifactId,
        out: &mut FrameWriter<'_>,
    ) -> Result<ContentRef> {
        if let Some(known) = self.known.get(&id) {
            return Ok(*known);
        }
        if self.had.contains(&id) {
            let length = store.content_length(id)?.ok_or(StoreError::ContentMissing(id))?;
            return Ok(self.add_named(NamedRow { hash: id, length, is_forgotten: false }));
        }
        let parts = store.content_parts(id)?.ok_or(StoreError::ContentMissing(id))?;
        if let [only] = parts.as_slice()
            && only.of == id
        {
            return self.add_literal(store, *only, out);
        }
        let mut rows = Vec::with_capacity(parts.len());
        for part in parts {
            rows.push(self.part(store, part, out)?);
        }
        let is_whole = rows.iter().all(|row| !matches!(row.of, ContentRef::Named(_)));
        let row = ComposedRow { hash: (!is_whole).then_some(id), parts: rows };
        let mut bytes = Vec::new();
        put_composed(&mut bytes, &row);
        self.composed_bytes += bytes.len();
        self.composed.push(bytes);
        let number = self.done.composed;
        self.done.composed += 1;
        self.known.insert(id, ContentRef::Composed(number));
        Ok(ContentRef::Composed(number))
    }

    /// Returns where the bytes of a part are. Of a literal content that no commit of the bundle has as its own, only
    /// the range travels: what lies around it may be another chain's.
    fn part(&mut self, store: &dyn Commits, part: PartOf, out: &mut FrameWriter<'_>) -> Result<PartRow> {
        let PartOf { of, offset, length } = part;
        let known = self.known.get(&of).copied();
        let whole = |of| PartRow { of, offset, length };
        if let Some(known @ (ContentRef::Literal(_) | ContentRef::Named(_))) = known {
            return Ok(whole(known));
        }
        let whole_length = store.content_length(of)?.ok_or(StoreError::ContentMissing(of))?;
        if self.had.contains(&of) {
            let row = NamedRow { hash: of, length: whole_length, is_forgotten: false };
            return Ok(whole(self.add_named(row)));
        }
        if offset == 0 && length == whole_length {
            return Ok(whole(self.add_literal(store, part, out)?));
        }
        let before = self.ranges.range((of, 0)..=(of, offset)).next_back();
        if let Some(((_, start), (bytes, found))) = before
            && offset.saturating_add(length) <= start + bytes
        {
            return Ok(PartRow { of: *found, offset: offset - start, length });
        }
        let found = self.add_literal(store, part, out)?;
        self.ranges.insert((of, offset), (length, found));
        Ok(PartRow { of: found, offset: 0, length })
    }

    fn add_named(&mut self, row: NamedRow) -> ContentRef {
        put_named(&mut self.named, &row);
        self.named_rows += 1;
        let number = ContentRef::Named(self.done.named);
        self.done.named += 1;
        let rows = if row.is_forgotten { &mut self.forgotten } else { &mut self.known };
        rows.insert(row.hash, number);
        number
    }

    /// Adds a range of a literal content to the block; all of it becomes known by its hash.
    fn add_literal(
        &mut self,
        store: &dyn Commits,
        part: PartOf,
        out: &mut FrameWriter<'_>,
    ) -> Result<ContentRef> {
        let length = usize::try_from(part.length).unwrap_or(usize::MAX);
        if self.block.len().saturating_add(length) > BLOCK_BYTES_MAX
            || self.lengths.len() >= BLOCK_CONTENTS_MAX
        {
            self.write_block(out)?;
        }
        let before = self.block.len();
        let range = part.offset..part.offset.saturating_add(part.length);
        let block = &mut self.block;
        store.read_content(part.of, Some(range), &mut |bytes: &[u8]| {
            block.extend_from_slice(bytes);
            Ok(())
        })?;
        let added = self.block.get(before..).unwrap_or_default();
        let hash = stemmata_model::artifact_id(added);
        self.lengths.push(added.len());
        self.done.literal_bytes += to_u64(added.len());
        let number = ContentRef::Literal(self.done.literals);
        self.done.literals += 1;
        self.known.entry(hash).or_insert(number);
        Ok(number)
    }

    /// Writes everything that is kept, in the order in which a reader needs it.
    pub(super) fn write(&mut self, out: &mut FrameWriter<'_>) -> Result<(), BundleError> {
        if self.named_rows > 0 {
            let mut body = Vec::with_capacity(self.named.len() + 8);
            put_length(&mut body, std::mem::take(&mut self.named_rows));
            body.append(&mut self.named);
            out.record(Kind::Named, &body)?;
        }
        self.write_block(out)?;
        self.composed_bytes = 0;
        let mut rows = std::mem::take(&mut self.composed).into_iter().peekable();
        while rows.peek().is_some() {
            let mut body = Vec::new();
            let mut count = 0;
            while let Some(row) =
                rows.next_if(|row| body.is_empty() || body.len() + row.len() <= LISTS_BYTES_FULL)
            {
                body.extend_from_slice(&row);
                count += 1;
            }
            let mut whole = Vec::with_capacity(body.len() + 8);
            put_length(&mut whole, count);
            whole.extend_from_slice(&body);
            out.record(Kind::Composed, &whole)?;
        }
        Ok(())
    }

    fn write_block(&mut self, out: &mut FrameWriter<'_>) -> Result<(), BundleError> {
        if self.lengths.is_empty() {
            return Ok(());
        }
        let mut body = Vec::with_capacity(self.block.len() + 4 * self.lengths.len() + 8);
        put_length(&mut body, self.lengths.len());
        self.lengths.drain(..).for_each(|length| put_length(&mut body, length));
        body.append(&mut self.block);
        out.record(Kind::Block, &body)
    }
}
