//! Formats that are only captured: no client loads them, and `resume` goes on in a runtime that is named.
//!
//! `generic-v1` is our own record of what any command reads and writes, `stemmata-v1` our own form of entries. The others
//! are in the folders of their clients: what a client prints without a terminal, or the events of one that is only read.

mod entries;
#[cfg(test)]
mod entries_tests;
mod generic;
#[cfg(test)]
mod samples_tests;
pub mod visibility;
#[cfg(test)]
mod visibility_tests;

use stemmata_model::{Entry, FormatId, Timestamp};

use crate::adapter::{Adapter, Confidence, Detection, Keeping, Keeps, Validator};
use crate::clients;
use crate::json::is_blank;
use crate::lines::Dialect;
use crate::reading::{Counting, Reading};

/// Our own format: entries as JSON lines.
pub const ENTRIES: &str = "stemmata-v1";

/// The format of timed lines of any command.
pub const GENERIC: &str = "generic-v1";

/// Returns whether sessions of a format are records of commands, of any command whatever: not work that a person goes on with.
pub fn is_command_record(format: &FormatId) -> bool {
    format.as_str() == GENERIC
}

/// Returns whether lines of a format may say a text in parts: deltas of a message, or lines that a command printed.
pub fn is_said_in_parts(format: &FormatId) -> bool {
    let name = format.as_str();
    is_command_record(format) || clients::ALL.iter().any(|client| client.printed == Some(name))
}

/// How sure an adapter is, and which version wrote the bytes.
pub(crate) type Claim = (Confidence, Option<String>);

/// The adapter of a format that no client loads.
#[derive(Debug, Clone, Copy)]
pub struct Captured {
    pub(crate) name: &'static str,
    pub(crate) dialect: &'static Dialect,
    /// Says how sure it is of a first line, and which version wrote it.
    pub(crate) first: fn(&[u8]) -> Option<Claim>,
    pub(crate) encode: fn(&[Entry]) -> Vec<u8>,
    pub(crate) compaction: fn(&str, &Keeps<'_>, Timestamp) -> Vec<u8>,
}

impl Captured {
    /// The adapter of `stemmata-v1`.
    pub const ENTRIES: Self = Self {
        name: ENTRIES,
        dialect: &entries::DIALECT,
        first: entries::first,
        encode: entries::encode,
        compaction: entries::compaction,
    };

    /// The adapter of `generic-v1`.
    pub const GENERIC: Self = Self {
        name: GENERIC,
        dialect: &generic::DIALECT,
        first: generic::first,
        encode: generic::encode,
        compaction: generic::compaction,
    };
}

impl Adapter for Captured {
    fn format(&self) -> FormatId {
        FormatId::new(self.name).expect("the names are short and plain")
    }

    fn reading(&self) -> Reading {
        Reading::lines(self.dialect)
    }

    fn detect(&self, head: &[u8]) -> Option<Detection> {
        let line = head.split(|byte| *byte == b'\n').find(|line| !is_blank(line))?;
        let (confidence, version) = (self.first)(line)?;
        Some(Detection { format: self.format(), version, confidence })
    }

    fn encode(&self, entries: &[Entry]) -> Vec<u8> {
        (self.encode)(entries)
    }

    fn keeping(&self, _context: &[u8]) -> Keeping {
        if self.name == ENTRIES { Keeping::Slices } else { Keeping::Nothing }
    }

    fn encode_compaction(&self, summary: &str, keeps: &Keeps<'_>, at: Timestamp) -> Vec<u8> {
        (self.compaction)(summary, keeps, at)
    }

    fn is_placeable(&self) -> bool {
        false
    }

    fn validator(&self, _client_version: Option<&str>) -> Box<dyn Validator> {
        Box::new(Counting::new(self.reading()))
    }
}
