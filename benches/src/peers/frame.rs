//! The peer that stores best and finds worst: the whole file in one zstd frame.
//! Not a store: one turn more means all of it again.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;

use anyhow::Context as _;

/// zstd's own default level.
pub(crate) const LEVEL: i32 = 3;

/// A compressed file in memory, to be decoded and hashed.
pub(crate) struct Frame {
    compressed: Vec<u8>,
    length: usize,
    decompressor: zstd::bulk::Decompressor<'static>,
}

impl Frame {
    /// Compresses bytes at a level.
    ///
    /// # Errors
    /// The compressor's.
    pub(crate) fn new(bytes: &[u8], level: i32) -> anyhow::Result<Self> {
        Ok(Self {
            compressed: zstd::bulk::compress(bytes, level)?,
            length: bytes.len(),
            decompressor: zstd::bulk::Decompressor::new()?,
        })
    }

    /// Returns the compressed length in bytes.
    pub(crate) fn compressed_bytes(&self) -> u64 {
        u64::try_from(self.compressed.len()).unwrap_or(u64::MAX)
    }

    /// Decodes everything into `into` and returns its hash: the least that a verified read can do.
    ///
    /// # Errors
    /// The decoder's.
    pub(crate) fn verified(&mut self, into: &mut Vec<u8>) -> anyhow::Result<blake3::Hash> {
        into.clear();
        into.reserve(self.length);
        self.decompressor.decompress_to_buffer(&self.compressed, into)?;
        Ok(blake3::hash(into))
    }
}

/// The same with a frame a delta, as a store keeps them that is written to a turn at a time.
pub(crate) struct Frames {
    /// Each delta compressed, with the length that comes out.
    compressed: Vec<(Vec<u8>, usize)>,
    decompressor: zstd::bulk::Decompressor<'static>,
    delta: Vec<u8>,
}

impl Frames {
    /// Compresses each delta.
    ///
    /// # Errors
    /// The compressor's.
    pub(crate) fn new(deltas: &[Vec<u8>]) -> anyhow::Result<Self> {
        let mut compressor = zstd::bulk::Compressor::new(LEVEL)?;
        let mut compressed = Vec::with_capacity(deltas.len());
        for delta in deltas {
            compressed.push((compressor.compress(delta)?, delta.len()));
        }
        Ok(Self { compressed, decompressor: zstd::bulk::Decompressor::new()?, delta: Vec::new() })
    }

    /// Decodes all into `into` and hashes each.
    ///
    /// # Errors
    /// The decoder's.
    pub(crate) fn verified(&mut self, into: &mut Vec<u8>) -> anyhow::Result<()> {
        into.clear();
        for (frame, length) in &self.compressed {
            self.delta.clear();
            self.delta.reserve(*length);
            self.decompressor.decompress_to_buffer(frame, &mut self.delta)?;
            std::hint::black_box(blake3::hash(&self.delta));
            into.extend_from_slice(&self.delta);
        }
        Ok(())
    }
}

/// Compresses a file into another one with one thread, as `zstd -3 -T1` does; returns the compressed bytes.
///
/// # Errors
/// When the disk refuses.
pub(crate) fn compress_file(from: &Path, to: &Path) -> anyhow::Result<u64> {
    let mut input = File::open(from).with_context(|| format!("opening {}", from.display()))?;
    let output = BufWriter::new(File::create(to).with_context(|| format!("creating {}", to.display()))?);
    let mut encoder = zstd::stream::Encoder::new(output, LEVEL)?;
    std::io::copy(&mut input, &mut encoder)?;
    encoder.finish()?.flush()?;
    Ok(std::fs::metadata(to)?.len())
}
