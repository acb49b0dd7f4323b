//! Formats that are only captured: no client loads them, and `resume` goes on in a runtime that is named.
//!
//! `claude-stream-v1` and `codex-exec-v1` are the structured output of headless Claude Code and Codex, `generic-v1` our own
//! record of what any command reads and writes, `stemmata-v1` our own form of entries, `openhands-v1` the
//! events of `OpenHands`.

mod entries;
#[cfg(test)]
mod entries_tests;
mod exec;
#[cfg(test)]
mod exec_tests;
mod generic;
pub(crate) mod openhands;
#[cfg(test)]
mod openhands_tests;
#[cfg(test)]
mod samples_tests;
mod stream;
pub mod visibility;
#[cfg(test)]
mod visibility_tests;

use stemmata_model::{Entry, FormatId, Timestamp};

use crate::adapter::{
    Adapter, ClientPlace, Confidence, Detection, Keeping, Keeps, PlaceRequest, Placer, Validator,
};
use crate::json::is_blank;
use crate::lines::Dialect;
use crate::placing::{Verbatim, unplaced};
use crate::reading::{Counting, Reading};

/// The format of headless Claude Code's output.
pub const CLAUDE_STREAM: &str = "claude-stream-v1";

/// The format of headless Codex's output.
pub const CODEX_EXEC: &str = "codex-exec-v1";

/// Our own format: entries as JSON lines.
pub const ENTRIES: &str = "stemmata-v1";

/// The format of timed lines of any command.
pub const GENERIC: &str = "generic-v1";

/// The format of `OpenHands`' events.
pub const OPENHANDS: &str = "openhands-v1";

/// Returns whether lines of a format may say a text in parts: deltas of a message, or lines that a command printed.
pub fn is_said_in_parts(format: &FormatId) -> bool {
    [CLAUDE_STREAM, CODEX_EXEC, GENERIC].contains(&format.as_str())
}

/// How sure an adapter is, and which version wrote the bytes.
type Claim = (Confidence, Option<String>);

/// The adapter of a format that no client loads.
#[derive(Debug, Clone, Copy)]
pub struct Captured {
    name: &'static str,
    dialect: &'static Dialect,
    /// Says how sure it is of a first line, and which version wrote it.
    first: fn(&[u8]) -> Option<Claim>,
    encode: fn(&[Entry]) -> Vec<u8>,
    compaction: fn(&str, &Keeps<'_>, Timestamp) -> Vec<u8>,
}

impl Captured {
    /// The adapter of `claude-stream-v1`.
    pub const STREAM: Self = Self {
        name: CLAUDE_STREAM,
        dialect: &stream::DIALECT,
        first: stream::first,
        encode: stream::encode,
        compaction: stream::compaction,
    };

    /// The adapter of `codex-exec-v1`.
    pub const EXEC: Self = Self {
        name: CODEX_EXEC,
        dialect: &exec::DIALECT,
        first: exec::first,
        encode: exec::encode,
        compaction: exec::compaction,
    };

    /// The adapter of `stemmata-v1`.
    pub const ENTRIES: Self = Self {
        name: ENTRIES,
        dialect: &entries::DIALECT,
        first: entries::first,
        encode: entries::encode,
        compaction: entries::compaction,
    };

    /// The adapter of `openhands-v1`.
    pub const OPENHANDS: Self = Self {
        name: OPENHANDS,
        dialect: &openhands::DIALECT,
        first: openhands::first,
        encode: openhands::encode,
        compaction: openhands::compaction,
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

    fn placer(&self, _request: &PlaceRequest) -> Box<dyn Placer> {
        Box::new(Verbatim)
    }

    fn client_place(&self, request: &PlaceRequest) -> ClientPlace {
        unplaced(format!("{}.jsonl", request.session))
    }

    fn validator(&self, _client_version: Option<&str>) -> Box<dyn Validator> {
        Box::new(Counting::new(self.reading()))
    }
}
