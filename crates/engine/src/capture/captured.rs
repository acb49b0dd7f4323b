//! What a capture of one transcript found and did.

use stemmata_model::Note;
use stemmata_runtimes::adapter::Splitter;
use stemmata_store::{Link, Session};

use crate::capture::cursor::{Cursor, FileStamp};
use crate::capture::sidecars::CapturedSidecars;

/// Records that were carried as they are, since nobody here knows what they say.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UnreadRecords {
    /// The types that are not known, each with how many.
    pub unknown: Vec<(String, u64)>,
    /// Lines that are no records at all.
    pub unreadable: u64,
}

/// Types of records that a transcript's cursor names at most; the last one stands for all others.
const TYPES_MAX: usize = 64;

impl UnreadRecords {
    /// Returns those that a splitter took so far.
    pub(crate) fn of(splitter: &dyn Splitter) -> Self {
        Self { unknown: splitter.unknown().to_vec(), unreadable: splitter.unreadable() }
    }

    /// Returns these and others.
    #[must_use]
    pub(crate) fn plus(&self, others: &Self) -> Self {
        let mut sum = self.clone();
        sum.unreadable = sum.unreadable.saturating_add(others.unreadable);
        for (name, count) in &others.unknown {
            let has_room = sum.unknown.len() < TYPES_MAX;
            match sum.unknown.iter_mut().find(|(known, _)| known == name) {
                Some((_, known)) => *known = known.saturating_add(*count),
                None if has_room => sum.unknown.push((name.clone(), *count)),
                // As a capture names no more of them.
                None => {
                    if let Some((name, known)) = sum.unknown.last_mut() {
                        "…".clone_into(name);
                        *known = known.saturating_add(*count);
                    }
                }
            }
        }
        sum
    }
}

/// Records of a transcript that are not understood, as its cursor keeps them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct UnreadSoFar {
    /// Up to the last closed boundary.
    pub closed: UnreadRecords,
    /// In everything read.
    pub seen: UnreadRecords,
}

/// What a capture found and did.
#[derive(Debug, Clone, PartialEq)]
pub struct Captured {
    /// The session as it is now.
    pub session: Session,
    /// Entries of the chain, the provisional leaf included.
    pub entries: u64,
    /// Bytes of the transcript.
    pub bytes_in: u64,
    /// Bytes at its beginning that the store holds now, closed or provisional. A caller that deletes the transcript needs
    /// all of them here.
    pub bytes_held: u64,
    /// Bytes of it that were replaced.
    pub bytes_redacted: u64,
    /// Secrets that were redacted in what this capture read, by kind; 0 of any kind where nothing was read.
    pub redacted: Vec<(String, u64)>,
    /// Bytes that the store took for what is new.
    pub bytes_stored: u64,
    /// Commits that are new.
    pub new_commits: u64,
    /// Links between clients' copies of sessions and their originals that are new with this.
    pub copies: Vec<Link>,
    /// Records of what this capture read that were carried without being understood.
    pub unread: UnreadRecords,
    /// The version of its format that it names and that is not known: it was read as far as it is like a known one.
    pub unknown_version: Option<String>,
    /// What became of the files that its client keeps beside it.
    pub sidecars: CapturedSidecars,
    /// What the user should know.
    pub notes: Vec<Note>,
}

impl Captured {
    /// Returns what a capture found of a transcript of so many bytes of which it stored nothing.
    pub(super) fn nothing_of(session: Session, bytes_in: u64) -> Self {
        Self {
            session,
            entries: 0,
            bytes_in,
            bytes_held: 0,
            bytes_redacted: 0,
            redacted: Vec::new(),
            bytes_stored: 0,
            new_commits: 0,
            copies: Vec::new(),
            unread: UnreadRecords::default(),
            unknown_version: None,
            sidecars: CapturedSidecars::default(),
            notes: Vec::new(),
        }
    }
}

/// Returns what a capture found of a transcript that is as it was.
pub(super) fn unchanged(session: &Session, cursor: &Cursor, stamp: FileStamp) -> Captured {
    Captured {
        entries: cursor.seen_entries,
        bytes_held: cursor.seen_bytes,
        bytes_redacted: cursor.seen_redacted_bytes,
        ..Captured::nothing_of(session.clone(), stamp.length)
    }
}
