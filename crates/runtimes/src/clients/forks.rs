//! Sessions whose history begins in another one's file, because the client forks by pointing and copies nothing.

use std::ops::Range;

/// How such a session is read.
#[derive(Debug, Clone, Copy)]
pub struct Forks {
    /// Returns where a session's history begins, if its header says that this is in another file.
    pub base: fn(&[u8]) -> Option<HistoryBase>,
    /// Returns which bytes of a header say so: where the other lines stand ahead of it, `null` says the truth.
    pub base_span: fn(&[u8]) -> Option<Range<usize>>,
    /// Finds the lines before a number, in bytes that begin with a line.
    pub before: fn(&[u8], u64) -> Before,
}

/// The part of another session that stands before a session's own lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryBase {
    /// The other session's thread.
    pub thread: String,
    /// Its first line that is no part of it.
    pub end_ordinal: u64,
    /// Bytes of it.
    pub end_offset: u64,
}

/// What some bytes of a session hold of the lines before a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Before {
    /// Bytes of those lines; a line without a number belongs to the one before it.
    pub bytes: usize,
    /// The greatest number among them.
    pub last: Option<u64>,
    /// Whether a line of that number or a later one stands behind them.
    pub has_later: bool,
}
