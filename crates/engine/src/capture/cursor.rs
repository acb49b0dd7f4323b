//! How far a transcript has been read: the engine's cursor, and whether it still fits the file.

use std::path::Path;

use stemmata_model::{CommitId, Granularity, RulesHash};
use stemmata_redact::Scrubber;
use stemmata_store::Session;

use crate::capture::captured::UnreadSoFar;
use crate::capture::ingest::ChainTotals;
use crate::capture::source::is_packed;
use crate::capture::transcript_file::Transcript;
use crate::error::Result;
use crate::system;

mod state;
mod v2;

pub(crate) use self::state::SplitterState;

/// Bytes at the start and at the end of what was read that are compared before reading on.
pub(crate) const WINDOW_BYTES: u64 = 64 * 1024;

/// Provisional commits since the last closed one that a cursor remembers, to be covered by the closed commit, and
/// ranges that their contents are made of at most. After so many, all bytes of the open turn are stored once more.
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
    /// Bytes of the transcript: of a compressed file what it holds.
    pub length: u64,
    /// The last change, in nanoseconds since 1970.
    pub modified_ns: i128,
}

impl FileStamp {
    pub(crate) fn of(metadata: &std::fs::Metadata) -> Self {
        let (device, inode) = system::identity(metadata);
        Self { device, inode, length: metadata.len(), modified_ns: system::modified_ns(metadata) }
    }

    /// Returns whether a file is what it was then. The length of a compressed one says nothing of what it holds.
    pub(crate) fn still_is(&self, path: &Path, metadata: &std::fs::Metadata) -> bool {
        let now = Self::of(metadata);
        let length = if is_packed(path) { self.length } else { now.length };
        *self == Self { length, ..now }
    }
}

/// Nanoseconds of a millisecond.
pub(crate) const MILLI: i128 = 1_000_000;

/// When several files that are one transcript were last written, as one stamp has it.
///
/// The newest time alone would miss what is written within one tick of the file system's clock, and what is taken away;
/// so its part below a millisecond is drawn from the name, length and time of each file.
pub(crate) struct WrittenTogether {
    newest_ns: i128,
    drawn: blake3::Hasher,
}

impl WrittenTogether {
    pub(crate) fn new() -> Self {
        Self { newest_ns: 0, drawn: blake3::Hasher::new() }
    }

    /// Takes in a file; the same files in another order are something else.
    pub(crate) fn add(&mut self, path: &Path, metadata: &std::fs::Metadata) {
        let stamp = FileStamp::of(metadata);
        self.newest_ns = self.newest_ns.max(stamp.modified_ns);
        self.drawn.update(system::path_bytes(path));
        self.drawn.update(&[0]);
        self.drawn.update(&stamp.length.to_le_bytes());
        self.drawn.update(&stamp.modified_ns.to_le_bytes());
    }

    /// Returns whether something was written no later than the newest of a stamp's files.
    pub(crate) fn is_within(written_ns: i128, stamp_ns: i128) -> bool {
        written_ns.div_euclid(MILLI) <= stamp_ns.div_euclid(MILLI)
    }

    pub(crate) fn modified_ns(&self) -> i128 {
        let drawn: [u8; 8] = self.drawn.finalize().as_bytes()[..8].try_into().expect("eight of 32 bytes");
        self.newest_ns.div_euclid(MILLI) * MILLI + i128::from(u64::from_le_bytes(drawn)) % MILLI
    }
}

/// What tells redaction rules apart: the first bytes of their hash. Nobody gains by two that share it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RulesMark(pub [u8; 16]);

impl From<RulesHash> for RulesMark {
    fn from(rules: RulesHash) -> Self {
        Self(first_bytes(rules.0))
    }
}

/// The first bytes of a keyed hash over a window: enough to see that it is another one, since nobody knows the key.
pub(crate) type WindowHash = [u8; 8];

fn first_bytes<const N: usize>(hash: [u8; 32]) -> [u8; N] {
    std::array::from_fn(|at| hash.get(at).copied().unwrap_or_default())
}

/// How far a transcript has been read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cursor {
    /// The format that it was read as.
    pub format: String,
    /// The redaction rules that its bytes went through.
    pub rules: RulesMark,
    /// The first bytes of the file, which were scrubbed by the shipped rules before `rules` and stay as those left them.
    pub earlier_bytes: u64,
    /// How often closed commits are made.
    pub granularity: Granularity,
    /// Bytes of the file (before secrets were replaced) up to the last closed boundary.
    pub closed_bytes: u64,
    /// The number of the line (1 = first) that starts there.
    pub closed_line: u64,
    /// The newest closed commit; for a placed file, the commit it was placed from.
    pub tip: Option<CommitId>,
    /// The splitter's state at that boundary.
    pub splitter: SplitterState,
    /// Bytes of the file that have been read, the open tail included.
    pub seen_bytes: u64,
    /// The provisional commits on `tip`, oldest first.
    pub provisional: Vec<Provisional>,
    /// The file as it was.
    pub stamp: FileStamp,
    /// Keyed hash of the first `WINDOW_BYTES` of what was read.
    pub head: WindowHash,
    /// Keyed hash of the last `WINDOW_BYTES` of what was read.
    pub tail: WindowHash,
    /// Bytes that were replaced up to the last closed boundary.
    pub redacted_bytes: u64,
    /// What the chain holds up to the last closed boundary.
    pub totals: ChainTotals,
    /// Entries of everything read.
    pub seen_entries: u64,
    /// Bytes that were replaced in everything read.
    pub seen_redacted_bytes: u64,
    /// Whether the last reading found that this program knows the version that the transcript names. A survey reads the beginning of
    /// the others again, because a later program may know their version.
    pub is_version_known: bool,
    /// Records that are not understood.
    pub unread: UnreadSoFar,
}

impl Cursor {
    /// Returns the commits that the transcript was read up to.
    pub(crate) fn commits(&self) -> impl Iterator<Item = CommitId> {
        self.tip.into_iter().chain(self.provisional.iter().map(|one| one.commit))
    }

    /// Returns how many bytes of the file were scrubbed by the shipped rules before `scrubber`'s, and stay so when reading goes on
    /// from this cursor with `scrubber`. Returns `None` where the cursor's rules are neither: then the file is read again.
    pub(crate) fn earlier_under(&self, scrubber: &Scrubber) -> Option<u64> {
        let is_of = |scrubber: &Scrubber| self.rules == RulesHash(scrubber.rules_hash()).into();
        if is_of(scrubber) {
            return Some(self.earlier_bytes);
        }
        scrubber.earlier().filter(|earlier| is_of(earlier)).map(|_| self.seen_bytes)
    }

    /// Returns the stored form, one of the versions 2 to 9, beside a session's row that is written in the same batch.
    pub(crate) fn encode(&self, session: &Session) -> Vec<u8> {
        v2::encode(self, session)
    }

    /// Reads the stored form of any version; none when it is of a newer one or damaged, which means reading the
    /// transcript again from its start: slower, never wrong. The splitter's state may refer to the session's row: see
    /// [`Cursor::unpacked`].
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        v2::decode(bytes)
    }

    /// Returns the cursor with the splitter's own state; none where it refers to a session's row and there is none.
    pub(crate) fn unpacked(self, session: Option<&Session>) -> Option<Self> {
        let splitter = SplitterState::Whole(self.splitter.unpacked(session)?);
        Some(Self { splitter, ..self })
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

/// Compares an open transcript with a cursor by its stamp and two windows; never reads all of it.
///
/// An edit in the middle that keeps the inode and both windows while the file grows is not seen here; a full
/// import sees it.
pub(crate) fn relate(transcript: &Transcript, cursor: &Cursor, secret: &[u8; 32]) -> Result<Relation> {
    let stamp = transcript.stamp();
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
    let (head, tail) = Windows::before(transcript, cursor.seen_bytes)?.hashes(secret);
    Ok(if head == cursor.head && tail == cursor.tail { Relation::Grown } else { Relation::Rewritten })
}

/// The first and the last bytes of what was read, at most `WINDOW_BYTES` each.
///
/// Of the very bytes that were read: what stands in the file by the time that a cursor is written may be others.
#[derive(Debug, Clone)]
pub(crate) struct Windows {
    head: Vec<u8>,
    tail: Vec<u8>,
}

impl Windows {
    /// Begins with nothing.
    pub(crate) const fn empty() -> Self {
        Self { head: Vec::new(), tail: Vec::new() }
    }

    /// Takes what stands before `offset`.
    pub(crate) fn before(transcript: &Transcript, offset: u64) -> Result<Self> {
        let span = offset.min(WINDOW_BYTES);
        Ok(Self { head: transcript.range(0, span)?, tail: transcript.range(offset - span, span)? })
    }

    /// Takes the bytes that follow.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let window = usize::try_from(WINDOW_BYTES).expect("a window fits the memory");
        let missing = window.saturating_sub(self.head.len()).min(bytes.len());
        self.head.extend_from_slice(bytes.get(..missing).unwrap_or_default());
        let last = bytes.len().saturating_sub(window);
        self.tail.extend_from_slice(bytes.get(last..).unwrap_or_default());
        // Moved down only when twice the window has gathered, so that short lines do not move it each.
        if self.tail.len() >= window * 2 {
            self.tail.drain(..self.tail.len() - window);
        }
    }

    /// Returns the keyed hashes of the two windows.
    pub(crate) fn hashes(&self, secret: &[u8; 32]) -> (WindowHash, WindowHash) {
        let window = usize::try_from(WINDOW_BYTES).expect("a window fits the memory");
        let tail = self.tail.get(self.tail.len().saturating_sub(window)..).unwrap_or_default();
        let hash = |bytes: &[u8]| first_bytes(*blake3::keyed_hash(secret, bytes).as_bytes());
        (hash(&self.head), hash(tail))
    }
}

#[cfg(test)]
mod tests;
