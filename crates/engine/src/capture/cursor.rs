//! How far a transcript has been read: the engine's cursor, and whether it still fits the file.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use stemmata_model::{CommitId, Granularity, RulesHash};

use crate::capture::ingest::ChainTotals;
use crate::error::{EngineError, Result};

mod v1;

/// Bytes at the start and at the end of what was read that are compared before reading on.
pub(crate) const WINDOW_BYTES: u64 = 64 * 1024;

/// Provisional commits since the last closed one that a cursor remembers, so that they can be kept as ranges of
/// the closed commit later. Older ones keep their own bytes: correct, only larger.
pub(crate) const PROVISIONAL_MAX: usize = 256;

/// A provisional commit since the last closed boundary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Provisional {
    /// The commit.
    pub commit: CommitId,
    /// Bytes of its native content.
    pub bytes: u64,
}

/// What a file was when it was last looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileStamp {
    /// The file system.
    pub device: u64,
    /// The file in it.
    pub inode: u64,
    /// Bytes.
    pub length: u64,
    /// The last change, in nanoseconds since 1970.
    pub modified_ns: i128,
}

impl FileStamp {
    pub(crate) fn of(metadata: &std::fs::Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            length: metadata.len(),
            modified_ns: i128::from(metadata.mtime()) * 1_000_000_000 + i128::from(metadata.mtime_nsec()),
        }
    }
}

/// How far a transcript has been read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cursor {
    /// The format that it was read as.
    pub format: String,
    /// The redaction rules that its bytes went through.
    pub rules: RulesHash,
    /// How often closed commits are made.
    pub granularity: Granularity,
    /// Bytes of the file (before secrets were replaced) up to the last closed boundary.
    pub closed_bytes: u64,
    /// The number of the line (1 = first) that starts there.
    pub closed_line: u64,
    /// The newest closed commit; for a placed file, the commit it was placed from.
    pub tip: Option<CommitId>,
    /// The splitter's state at that boundary.
    pub splitter: Vec<u8>,
    /// Bytes of the file that have been read, the open tail included.
    pub seen_bytes: u64,
    /// The provisional commits on `tip`, oldest first.
    pub provisional: Vec<Provisional>,
    /// The file as it was.
    pub stamp: FileStamp,
    /// Keyed hash of the first `WINDOW_BYTES` of what was read.
    pub head: [u8; 32],
    /// Keyed hash of the last `WINDOW_BYTES` of what was read.
    pub tail: [u8; 32],
    /// Bytes that were replaced up to the last closed boundary.
    pub redacted_bytes: u64,
    /// What the chain holds up to the last closed boundary.
    pub totals: ChainTotals,
    /// Entries of everything read.
    pub seen_entries: u64,
    /// Bytes that were replaced in everything read.
    pub seen_redacted_bytes: u64,
}

impl Cursor {
    /// Returns the stored form: version 1, additive JSON.
    pub(crate) fn encode(&self) -> Vec<u8> {
        v1::encode(self)
    }

    /// Reads the stored form; none when it is of another version or damaged, which means reading the
    /// transcript again from its start: slower, never wrong.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        v1::decode(bytes)
    }
}

/// How a file relates to what was read of it before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Relation {
    /// Nothing changed since.
    Unchanged,
    /// What was read is still there, and there may be more behind it.
    Grown,
    /// It was rewritten, replaced or cut: read it again from its start.
    Rewritten,
}

/// Compares a file with a cursor by its stamp and two windows; never reads all of it.
///
/// An edit in the middle that keeps the inode and both windows while the file grows is not seen here; a full
/// import sees it.
pub(crate) fn relate(path: &Path, stamp: FileStamp, cursor: &Cursor, secret: &[u8; 32]) -> Result<Relation> {
    if stamp == cursor.stamp && stamp.length == cursor.seen_bytes {
        return Ok(Relation::Unchanged);
    }
    let same_file = stamp.device == cursor.stamp.device && stamp.inode == cursor.stamp.inode;
    if !same_file || stamp.length < cursor.seen_bytes {
        return Ok(Relation::Rewritten);
    }
    if stamp.length == cursor.seen_bytes && cursor.stamp.length == stamp.length {
        return Ok(Relation::Rewritten);
    }
    let (head, tail) = windows(path, cursor.seen_bytes, secret)?;
    Ok(if head == cursor.head && tail == cursor.tail { Relation::Grown } else { Relation::Rewritten })
}

/// Returns the keyed hashes of the first and the last window of a file's first `length` bytes.
pub(crate) fn windows(path: &Path, length: u64, secret: &[u8; 32]) -> Result<([u8; 32], [u8; 32])> {
    let mut file = File::open(path).map_err(EngineError::io("open", path))?;
    let span = length.min(WINDOW_BYTES);
    let mut hash_at = |offset: u64| -> Result<[u8; 32]> {
        file.seek(SeekFrom::Start(offset)).map_err(EngineError::io("seek in", path))?;
        let mut bytes = Vec::new();
        (&mut file).take(span).read_to_end(&mut bytes).map_err(EngineError::io("read", path))?;
        Ok(*blake3::keyed_hash(secret, &bytes).as_bytes())
    };
    Ok((hash_at(0)?, hash_at(length - span)?))
}
