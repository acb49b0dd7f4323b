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

use stemmata_model::{Entry, FormatId, Granularity, Timestamp};

use crate::adapter::{
    Adapter, ClientPlace, CompactionPlan, Confidence, ContextPlan, Decoded, Detection, IdKind, PlaceRequest,
    Placer, PlanStop, Segments, SourceError, Splitter, Validation, Validator,
};
use crate::json::is_blank;
use crate::lines::{Dialect, decode, linear, split};
use crate::placing::{Verbatim, unplaced};

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
#[derive(Clone, Copy)]
pub struct Captured {
    name: &'static str,
    dialect: &'static Dialect,
    /// Says how sure it is of a first line, and which version wrote it.
    first: fn(&[u8]) -> Option<Claim>,
    encode: fn(&[Entry]) -> Vec<u8>,
    compaction: fn(&str, Timestamp) -> Vec<u8>,
}

impl std::fmt::Debug for Captured {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("Captured").field(&self.name).finish()
    }
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

    fn detect(&self, head: &[u8]) -> Option<Detection> {
        let line = head.split(|byte| *byte == b'\n').find(|line| !is_blank(line))?;
        let (confidence, version) = (self.first)(line)?;
        Some(Detection { format: self.format(), version, confidence })
    }

    fn splitter(&self, granularity: Granularity, state: Option<&[u8]>) -> Box<dyn Splitter> {
        Box::new(split::LineSplitter::new(self.dialect, granularity, state))
    }

    fn decode(&self, bytes: &[u8]) -> Decoded {
        decode::decode(self.dialect, bytes)
    }

    fn ids(&self, line: &[u8], found: &mut dyn FnMut(IdKind, &str)) {
        decode::ids(self.dialect, line, found);
    }

    fn encode(&self, entries: &[Entry]) -> Vec<u8> {
        (self.encode)(entries)
    }

    fn plan_compaction(
        &self,
        native: &[u8],
        earlier: &mut dyn Segments,
    ) -> Result<CompactionPlan, SourceError> {
        linear::plan_compaction(self.dialect, native, earlier)
    }

    fn encode_compaction(&self, summary: &str, _last: &Decoded, at: Timestamp) -> Vec<u8> {
        (self.compaction)(summary, at)
    }

    fn plan_context(&self, chain: &mut dyn Segments, stop: PlanStop) -> Result<ContextPlan, SourceError> {
        linear::plan_context(self.dialect, chain, stop)
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
        Box::new(Counting { dialect: self.dialect, messages: 0 })
    }
}

/// Counts messages; there is no loader to stumble.
struct Counting {
    dialect: &'static Dialect,
    messages: u64,
}

impl Validator for Counting {
    fn line(&mut self, line: &[u8]) {
        let is_message = !is_blank(line) && (self.dialect.read)(line).is_ok_and(|line| line.is_message());
        self.messages += u64::from(is_message);
    }

    fn finish(&mut self) -> Validation {
        Validation { findings: Vec::new(), messages_sent: self.messages, messages_present: self.messages }
    }
}
