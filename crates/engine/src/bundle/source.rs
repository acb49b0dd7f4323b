//! Where a bundle is read from: in order, and again at a place that was met before.

use std::io::{self, BufReader, Read};

use stemmata_model::{ArtifactId, to_u64};

use super::bytes::{Malformed, Take};
use super::error::BundleError;
use super::frame::FrameReader;
use super::rows::take_lengths;
use crate::system;

/// Bytes that are read at once.
const READ_BYTES: usize = 256 * 1024;

/// Blocks that are kept decoded, for contents that are made of ranges.
const BLOCKS_KEPT: usize = 4;

/// Bytes that can be read more than once: a bundle is checked whole before anything of it is stored.
pub trait BundleSource {
    /// Reads at a place; 0 where the bytes have ended.
    ///
    /// # Errors
    /// What the system says.
    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<usize>;
}

impl BundleSource for std::fs::File {
    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<usize> {
        system::read_at(self, into, at)
    }
}

impl BundleSource for [u8] {
    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<usize> {
        let start = usize::try_from(at).unwrap_or(usize::MAX).min(self.len());
        let rest = self.get(start..).unwrap_or_default();
        let length = rest.len().min(into.len());
        let (Some(from), Some(into)) = (rest.get(..length), into.get_mut(..length)) else { return Ok(0) };
        into.copy_from_slice(from);
        Ok(length)
    }
}

impl BundleSource for Vec<u8> {
    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<usize> {
        self.as_slice().read_at(at, into)
    }
}

/// A source from some place on, in order.
pub(super) struct InOrder<'s> {
    source: &'s dyn BundleSource,
    at: u64,
}

impl Read for InOrder<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read_at(self.at, into)?;
        self.at += to_u64(read);
        Ok(read)
    }
}

pub(super) type Reader<'s> = FrameReader<BufReader<InOrder<'s>>>;

/// Begins to read a bundle in order.
pub(super) fn begin(source: &dyn BundleSource) -> Result<Reader<'_>, BundleError> {
    FrameReader::begin(BufReader::with_capacity(READ_BYTES, InOrder { source, at: 0 }))
}

/// A literal content of a bundle.
#[derive(Debug, Clone, Copy)]
pub(super) struct Literal {
    pub(super) hash: ArtifactId,
    pub(super) length: u32,
    /// Which block it is in, and where in its bytes.
    pub(super) block: u32,
    pub(super) offset: u32,
}

struct Kept {
    block: u32,
    bytes: Vec<u8>,
}

/// Blocks that were met before, decoded again where they are needed.
pub(super) struct Blocks<'s> {
    source: &'s dyn BundleSource,
    places: Vec<u64>,
    kept: Vec<Kept>,
    /// Bytes that were decoded more than once.
    pub(super) again_bytes: u64,
}

impl<'s> Blocks<'s> {
    pub(super) const fn new(source: &'s dyn BundleSource) -> Self {
        Self { source, places: Vec::new(), kept: Vec::new(), again_bytes: 0 }
    }

    /// Returns how many blocks there were so far.
    pub(super) fn count(&self) -> u32 {
        u32::try_from(self.places.len()).unwrap_or(u32::MAX)
    }

    /// Takes note of a block: where its record is, and its contents' bytes.
    pub(super) fn met(&mut self, at: u64, bytes: Vec<u8>) {
        let block = self.count();
        self.places.push(at);
        self.keep(Kept { block, bytes });
    }

    /// Returns the bytes of a literal content.
    pub(super) fn bytes(&mut self, literal: &Literal) -> Result<&[u8], BundleError> {
        if let Some(place) = self.kept.iter().position(|kept| kept.block == literal.block) {
            let kept = self.kept.remove(place);
            self.kept.push(kept);
        } else {
            self.load(literal.block)?;
        }
        let bytes = self.kept.last().map(|kept| kept.bytes.as_slice()).unwrap_or_default();
        let index = |value: u32| usize::try_from(value).unwrap_or(usize::MAX);
        let start = index(literal.offset);
        Ok(bytes.get(start..start.saturating_add(index(literal.length))).unwrap_or_default())
    }

    fn keep(&mut self, kept: Kept) {
        if self.kept.len() >= BLOCKS_KEPT {
            self.kept.remove(0);
        }
        self.kept.push(kept);
    }

    fn load(&mut self, block: u32) -> Result<(), BundleError> {
        let place = usize::try_from(block).ok().and_then(|block| self.places.get(block)).copied();
        let at = place.unwrap_or(u64::MAX);
        let record = FrameReader::resume(InOrder { source: self.source, at }, at).next()?;
        let bytes =
            block_bytes(&record.body).map_err(|error| BundleError::Damaged { at, reason: error.0 })?;
        self.again_bytes += to_u64(bytes.len());
        self.keep(Kept { block, bytes });
        Ok(())
    }
}

fn block_bytes(body: &[u8]) -> Result<Vec<u8>, Malformed> {
    let mut take = Take::new(body);
    take_lengths(&mut take)?;
    Ok(take.rest().to_vec())
}
