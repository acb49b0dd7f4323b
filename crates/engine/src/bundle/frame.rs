//! Records as they stand in a bundle: type, length, body, check. What bodies hold is the records' own.
//!
//! Specified in `docs/format/bundle.md`.

use std::io::{self, Read, Write};
use stemmata_model::to_u64;

use super::error::BundleError;

/// What a bundle begins with.
pub(super) const MAGIC: &[u8; 16] = b"stemmata bundle\n";

/// Returns whether a file with this beginning is a bundle.
pub fn is_bundle(head: &[u8]) -> bool {
    head.starts_with(MAGIC)
}

/// The newest version that this program reads, and the one that it writes.
pub(super) const VERSION: u16 = 1;

/// Bytes of magic and versions.
pub(super) const PREAMBLE_BYTES: usize = 20;

/// Bytes of a body at most, before compression: a content of the largest size and its place in a block.
pub(super) const BODY_BYTES_MAX: usize = 5 * 1024 * 1024;

/// Bytes before the body: type, coding, stored length, raw length.
const HEAD_BYTES: usize = 10;

/// Bytes of the check behind the body.
const CHECK_BYTES: usize = 8;

/// The level of compression: what a file that travels can afford.
const LEVEL: i32 = 9;

/// Bodies shorter than this are never worth a frame.
const COMPRESSED_BYTES_MIN: usize = 64;

/// Set in the type of a record that a reader may skip when it does not know it.
pub(super) const OPTIONAL: u8 = 0x80;

/// The types of records, by their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::FromRepr)]
#[repr(u8)]
pub(super) enum Kind {
    Header = 1,
    Prerequisites = 2,
    Tips = 3,
    Block = 4,
    Named = 5,
    Composed = 6,
    Commits = 7,
    Sightings = 8,
    Annotations = 9,
    Links = 10,
    Sessions = 11,
    Placements = 12,
    // 13 is kept for tombstones, 14 for the redirects of scrubs.
    Trailer = 127,
}

/// Writes records and hashes all of them.
pub(super) struct FrameWriter<'o> {
    out: &'o mut dyn Write,
    hasher: blake3::Hasher,
    compressor: zstd::bulk::Compressor<'static>,
    written: u64,
}

impl<'o> FrameWriter<'o> {
    /// Writes magic and versions.
    pub(super) fn begin(out: &'o mut dyn Write) -> Result<Self, BundleError> {
        let compressor = zstd::bulk::Compressor::new(LEVEL).map_err(BundleError::io("compressing"))?;
        let mut writer = Self { out, hasher: blake3::Hasher::new(), compressor, written: 0 };
        writer.put(MAGIC)?;
        // Read version, then write version.
        writer.put(&VERSION.to_le_bytes())?;
        writer.put(&VERSION.to_le_bytes())?;
        Ok(writer)
    }

    pub(super) fn record(&mut self, kind: Kind, body: &[u8]) -> Result<(), BundleError> {
        debug_assert!(body.len() <= BODY_BYTES_MAX, "a record is cut before it is too long");
        let compressed = if body.len() < COMPRESSED_BYTES_MIN {
            None
        } else {
            let compressed = self.compressor.compress(body).map_err(BundleError::io("compressing"))?;
            Some(compressed).filter(|compressed| compressed.len() < body.len())
        };
        let (coding, stored) = match &compressed {
            Some(compressed) => (1, compressed.as_slice()),
            None => (0, body),
        };
        let mut head = vec![kind as u8, coding];
        head.extend_from_slice(&length_of(stored).to_le_bytes());
        head.extend_from_slice(&length_of(body).to_le_bytes());
        let check = check_of(&head, stored);
        self.put(&head)?;
        self.put(stored)?;
        self.put(&check)
    }

    /// Writes the last record: what it says, and the hash of all before it.
    pub(super) fn finish(mut self, mut body: Vec<u8>) -> Result<u64, BundleError> {
        body.extend_from_slice(self.hasher.finalize().as_bytes());
        self.record(Kind::Trailer, &body)?;
        self.out.flush().map_err(BundleError::io("writing"))?;
        Ok(self.written)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), BundleError> {
        self.hasher.update(bytes);
        self.written += to_u64(bytes.len());
        self.out.write_all(bytes).map_err(BundleError::io("writing"))
    }
}

/// A record that was read.
pub(super) struct Record {
    /// What it is; none for one that may be skipped.
    pub(super) kind: Option<Kind>,
    /// Its body, decoded.
    pub(super) body: Vec<u8>,
    /// Where it begins in the bundle.
    pub(super) at: u64,
    /// The hash of all before it.
    pub(super) before: [u8; 32],
}

/// Reads records in order, each checked before it is handed out.
pub(super) struct FrameReader<R> {
    input: R,
    hasher: blake3::Hasher,
    at: u64,
}

impl<R: Read> FrameReader<R> {
    /// Reads magic and versions.
    pub(super) fn begin(input: R) -> Result<Self, BundleError> {
        let mut reader = Self { input, hasher: blake3::Hasher::new(), at: 0 };
        let mut preamble = [0; PREAMBLE_BYTES];
        let read = reader.fill(&mut preamble)?;
        let Some(rest) = preamble.get(..read).and_then(|bytes| bytes.strip_prefix(MAGIC)) else {
            let is_begun = read > 0 && MAGIC.starts_with(preamble.get(..read.min(16)).unwrap_or_default());
            if is_begun {
                return Err(BundleError::Truncated { at: reader.at });
            }
            let reason = if read == 0 { "it is empty" } else { "it does not begin as one" };
            return Err(BundleError::NotABundle { reason });
        };
        let [read_version, write_version] = match rest {
            [a, b, c, d] => [u16::from_le_bytes([*a, *b]), u16::from_le_bytes([*c, *d])],
            _ => return Err(BundleError::Truncated { at: reader.at }),
        };
        if read_version > VERSION {
            let what = format!("it has format {read_version}, and this version reads up to {VERSION}");
            return Err(BundleError::Newer { what });
        }
        if read_version == 0 || write_version < read_version {
            let reason = format!("format {read_version} written as {write_version} was never made");
            return Err(BundleError::Damaged { at: 16, reason });
        }
        Ok(reader)
    }

    /// Goes on where a record begins, without what stands before it.
    pub(super) fn resume(input: R, at: u64) -> Self {
        Self { input, hasher: blake3::Hasher::new(), at }
    }

    /// Reads the next record. The end of the bytes is an error: the trailer ends a bundle.
    pub(super) fn next(&mut self) -> Result<Record, BundleError> {
        let before = *self.hasher.finalize().as_bytes();
        let at = self.at;
        let mut head = [0; HEAD_BYTES];
        self.fill_all(&mut head)?;
        let damaged = |reason: String| BundleError::Damaged { at, reason };
        let (stored_bytes, raw_bytes) = lengths(&head).map_err(damaged)?;
        let mut stored = vec![0; stored_bytes];
        self.fill_all(&mut stored)?;
        let mut check = [0; CHECK_BYTES];
        self.fill_all(&mut check)?;
        if check != check_of(&head, &stored) {
            return Err(damaged("the record does not have the check that it was written with".to_owned()));
        }
        let [number, coding, ..] = head;
        let kind = Kind::from_repr(number & !OPTIONAL);
        if kind.is_none() && number & OPTIONAL == 0 {
            let what = format!("the record at byte {at} has type {number}, which this version does not know");
            return Err(BundleError::Newer { what });
        }
        let body = match kind {
            Some(_) => decode(coding, stored, raw_bytes).map_err(damaged)?,
            None => Vec::new(),
        };
        Ok(Record { kind, body, at, before })
    }

    /// Says that nothing follows the trailer, and returns the bytes of the bundle.
    pub(super) fn end(&mut self) -> Result<u64, BundleError> {
        let at = self.at;
        match self.fill(&mut [0])? {
            0 => Ok(at),
            _ => Err(BundleError::Damaged { at, reason: "bytes follow the end of the bundle".to_owned() }),
        }
    }

    fn fill_all(&mut self, into: &mut [u8]) -> Result<(), BundleError> {
        if self.fill(into)? == into.len() { Ok(()) } else { Err(BundleError::Truncated { at: self.at }) }
    }

    /// Reads as much as there is, and returns how much that was.
    fn fill(&mut self, into: &mut [u8]) -> Result<usize, BundleError> {
        let mut filled = 0;
        while let Some(rest) = into.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match self.input.read(rest) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(BundleError::io("reading")(error)),
            }
        }
        let read = into.get(..filled).unwrap_or_default();
        self.hasher.update(read);
        self.at += to_u64(filled);
        Ok(filled)
    }
}

/// Reads the lengths of a head and holds them to their bounds before anything is made room for.
fn lengths(head: &[u8; HEAD_BYTES]) -> Result<(usize, usize), String> {
    let [_, coding, lengths @ ..] = head;
    let index = |bytes: &[u8]| {
        let value = bytes.iter().rev().fold(0_u64, |value, byte| (value << 8) | u64::from(*byte));
        usize::try_from(value).unwrap_or(usize::MAX)
    };
    let (stored, raw) = lengths.split_at(4);
    let (stored, raw) = (index(stored), index(raw));
    if raw > BODY_BYTES_MAX {
        return Err(format!("the record says that it has {raw} bytes, more than {BODY_BYTES_MAX}"));
    }
    let fits = match coding {
        0 => stored == raw,
        1 => stored < raw,
        other => return Err(format!("the record has coding {other}, which there is not")),
    };
    if fits { Ok((stored, raw)) } else { Err(format!("a record of {raw} bytes takes {stored}")) }
}

fn decode(coding: u8, stored: Vec<u8>, raw_bytes: usize) -> Result<Vec<u8>, String> {
    if coding == 0 {
        return Ok(stored);
    }
    // Never more than the record says, whatever the frame says of itself.
    let body = zstd::bulk::decompress(&stored, raw_bytes)
        .map_err(|error| format!("the record cannot be decompressed ({error})"))?;
    if body.len() == raw_bytes {
        Ok(body)
    } else {
        Err(format!("the record has {} bytes instead of {raw_bytes}", body.len()))
    }
}

fn check_of(head: &[u8], stored: &[u8]) -> [u8; CHECK_BYTES] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(head);
    hasher.update(stored);
    let mut check = [0; CHECK_BYTES];
    hasher.finalize_xof().fill(&mut check);
    check
}

fn length_of(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).expect("a record is cut before it is too long")
}
