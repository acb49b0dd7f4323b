//! What was found in a ledger's files that is not as it should be, in words.
//!
//! What is done about it is said where it is found.

use std::path::{Path, PathBuf};

use stemmata_model::{LedgerId, SessionId};

use super::scan::{Damaged, Fault, Torn};

/// Something that a user should know of a ledger's files.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Finding {
    /// The last line is not whole: a write did not finish. It does not count.
    #[error(
        "{}: line {line} at byte {byte} was not written to its end; its {bytes} bytes do not count",
        path.display()
    )]
    TornLine {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: u64,
        /// Its first byte.
        byte: u64,
        /// How many bytes do not count.
        bytes: u64,
    },
    /// The last batch is not whole: a write did not finish. None of it counts.
    #[error(
        "{}: the batch at byte {byte} was not written to its end (line {line}); its {events} whole events \
         do not count ({bytes} bytes)",
        path.display()
    )]
    TornBatch {
        /// The file.
        path: PathBuf,
        /// The line that is missing or not whole, counted from 1.
        line: u64,
        /// The batch's first byte.
        byte: u64,
        /// How many bytes do not count.
        bytes: u64,
        /// Whole events of the batch.
        events: u64,
    },
    /// A line is no event, or not the one that was written. Reading stops before it.
    #[error(
        "{}: line {line} at byte {byte} is damaged: {reason}; nothing after it is read until a repair \
         sets it aside",
        path.display()
    )]
    BadLine {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: u64,
        /// Its first byte.
        byte: u64,
        /// What is wrong with it.
        reason: String,
    },
    /// Events are missing. Reading stops there.
    #[error(
        "{}: line {line} at byte {byte} is event {found}, and {expected} should come there: events are \
         missing; nothing after it is read until a repair sets it aside",
        path.display()
    )]
    Gap {
        /// The file.
        path: PathBuf,
        /// The line after the gap, counted from 1.
        line: u64,
        /// Its first byte.
        byte: u64,
        /// The number that should come there.
        expected: u64,
        /// The number that does.
        found: u64,
    },
    /// A number that was there before. Reading stops before it.
    #[error(
        "{}: line {line} at byte {byte} is event {found} once more, and {expected} should come there; \
         nothing after it is read until a repair sets it aside",
        path.display()
    )]
    Duplicate {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: u64,
        /// Its first byte.
        byte: u64,
        /// The number that should come there.
        expected: u64,
        /// The number that does.
        found: u64,
    },
    /// The end is missing: events that were durable once. Nothing is appended until a repair stands in for them.
    #[error(
        "{}: the file ends with event {last}, and event {known} was there: {} missing at its end; nothing is \
         appended until a repair stands in for what is missing",
        path.display(), missing(*last, *known)
    )]
    CutShort {
        /// The file.
        path: PathBuf,
        /// Its last event, or the number before the first.
        last: u64,
        /// The greatest number that its other files know.
        known: u64,
    },
    /// An event of a session that no earlier event began.
    #[error(
        "{}: event {event} is of session `{session}`, which no earlier event began",
        path.display()
    )]
    ForeignSession {
        /// The file.
        path: PathBuf,
        /// The first such event of the session.
        event: u64,
        /// The session.
        session: SessionId,
    },
    /// The saved states cannot be read. They are ignored, and everything is folded anew.
    #[error(
        "{} is ignored and everything is folded again: {reason}",
        path.display()
    )]
    SnapshotUnreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The saved states know of events that the log does not have. They are ignored, and everything is folded anew.
    #[error(
        "{} is ignored and everything is folded anew: it was folded up to event {through}, and the log \
         ends with {last}",
        path.display()
    )]
    SnapshotAhead {
        /// The file.
        path: PathBuf,
        /// The event up to which a state was folded.
        through: u64,
        /// The log's last event.
        last: u64,
    },
    /// What is known of the ledger is missing. It is made anew from the events.
    #[error(
        "{} is missing; it is rebuilt from the events, without the project's place and aliases",
        path.display()
    )]
    MetaMissing {
        /// The file.
        path: PathBuf,
    },
    /// What is known of the ledger cannot be read. It is made anew from the events.
    #[error(
        "{} cannot be read ({reason}); it is made anew from the events, without the project's place and \
         marks",
        path.display()
    )]
    MetaUnreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// What is known of a ledger cannot be read, and nobody asked for this one.
    #[error("{} cannot be read: {reason}; the ledger is passed over", path.display())]
    PassedOver {
        /// The file.
        path: PathBuf,
        /// Why, and what to do.
        reason: String,
    },
    /// The index cannot be read. It is made anew; nothing is lost with it.
    #[error(
        "{} is ignored and rebuilt: {reason}",
        path.display()
    )]
    IndexUnreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// Files of version 1. They are ignored.
    #[error(
        "{} is of version 1 and is ignored; only version 2 is read",
        path.display()
    )]
    VersionOne {
        /// The file.
        path: PathBuf,
    },
    /// A folder of another version. It is ignored.
    #[error(
        "{} is of version {version} and its ledger is ignored; only version 2 is read",
        path.display()
    )]
    OtherVersion {
        /// The file that says so.
        path: PathBuf,
        /// The version that it says.
        version: u32,
    },
    /// A folder that another program wrote. It is ignored.
    #[error(
        "{} was written by another program and is ignored: {reason}",
        path.display()
    )]
    OtherProgram {
        /// The folder.
        path: PathBuf,
        /// By what it is known.
        reason: String,
    },
    /// A folder with the files of a ledger whose folder has another name: a copy. It is ignored.
    #[error(
        "{} is a copy of ledger `{ledger}`, whose folder has another name, and is ignored: move it elsewhere",
        path.display()
    )]
    Misplaced {
        /// The folder.
        path: PathBuf,
        /// The ledger that its `meta.json` names.
        ledger: LedgerId,
    },
    /// A link in the place of a ledger's folder. It is ignored.
    #[error(
        "{} is a link and is ignored: no link is followed; move the folder itself there",
        path.display()
    )]
    Linked {
        /// The link.
        path: PathBuf,
    },
    /// Nothing of a ledger could be read: it begins anew, and the old files stand aside.
    #[error(
        "nothing in {} could be read: the ledger starts empty, and its old files are in {}",
        path.display(), aside.display()
    )]
    StartedFresh {
        /// Where the ledger was.
        path: PathBuf,
        /// Where its old files are.
        aside: PathBuf,
    },
    /// The file keeps more than it needs, because writing it anew failed. It is tried again.
    #[error(
        "{} keeps payloads that were let go of, because it could not be written anew: {reason}; it is \
         tried again with later appends",
        path.display()
    )]
    NotRewritten {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
}

fn missing(last: u64, known: u64) -> String {
    match known.saturating_sub(last) {
        1 => "one event is".to_owned(),
        events => format!("{events} events are"),
    }
}

impl Finding {
    pub(super) fn of_torn(path: &Path, torn: &Torn) -> Self {
        let (path, line, byte, bytes) = (path.to_path_buf(), torn.line, torn.byte, torn.bytes);
        match torn.events {
            0 => Self::TornLine { path, line, byte, bytes },
            events => Self::TornBatch { path, line, byte, bytes, events },
        }
    }

    pub(super) fn of_damaged(path: &Path, damaged: &Damaged) -> Self {
        let (path, line, byte, expected) = (path.to_path_buf(), damaged.line, damaged.byte, damaged.expected);
        match &damaged.fault {
            Fault::Bad(reason) => Self::BadLine { path, line, byte, reason: reason.clone() },
            Fault::Gap(found) => Self::Gap { path, line, byte, expected, found: *found },
            Fault::Again(found) => Self::Duplicate { path, line, byte, expected, found: *found },
            Fault::Cut(known) => Self::CutShort { path, last: expected - 1, known: *known },
        }
    }

    /// Says whether reading stops there until somebody repairs the ledger.
    pub const fn stops(&self) -> bool {
        match self {
            Self::BadLine { .. } | Self::Gap { .. } | Self::Duplicate { .. } | Self::CutShort { .. } => true,
            Self::TornLine { .. }
            | Self::TornBatch { .. }
            | Self::ForeignSession { .. }
            | Self::SnapshotUnreadable { .. }
            | Self::SnapshotAhead { .. }
            | Self::MetaMissing { .. }
            | Self::MetaUnreadable { .. }
            | Self::PassedOver { .. }
            | Self::IndexUnreadable { .. }
            | Self::VersionOne { .. }
            | Self::OtherVersion { .. }
            | Self::OtherProgram { .. }
            | Self::Misplaced { .. }
            | Self::Linked { .. }
            | Self::StartedFresh { .. }
            | Self::NotRewritten { .. } => false,
        }
    }
}
