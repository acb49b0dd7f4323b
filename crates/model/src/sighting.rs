//! Sightings: where, when and by whom a commit was captured.
//!
//! Append-only and never hashed: the same commit seen on two machines has two sightings.

use crate::{MachineId, Principal, SessionId, Template, ThreadId, TicketId, Timestamp};

/// What made a checkpoint happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Trigger {
    /// A turn ended.
    TurnBoundary,
    /// A tool returned its result.
    ToolCall,
    /// The context was compacted.
    Compaction,
    /// The session ended, or was found dead.
    SessionEnd,
    /// Somebody asked for it.
    Explicit,
}

impl Trigger {
    /// All triggers, in the order of their stored numbers.
    pub const ALL: [Self; 5] =
        [Self::TurnBoundary, Self::ToolCall, Self::Compaction, Self::SessionEnd, Self::Explicit];

    /// Returns the name used in JSON output and on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TurnBoundary => "turn_boundary",
            Self::ToolCall => "tool_call",
            Self::Compaction => "compaction",
            Self::SessionEnd => "session_end",
            Self::Explicit => "explicit",
        }
    }
}

/// The byte range of a transcript that a commit was read from.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Source {
    /// The transcript's path as it was on that machine.
    pub path: String,
    /// Bytes from the start of the file, before secrets were replaced.
    pub offset: u64,
    /// Bytes of the range, before secrets were replaced.
    pub length: u64,
}

/// One capture of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sighting {
    /// Who ran it.
    pub principal: Principal,
    /// Where it ran.
    pub machine: MachineId,
    /// The session it was captured in.
    pub session: SessionId,
    /// What made the checkpoint happen.
    pub trigger: Trigger,
    /// The ticket being worked on.
    pub ticket: Option<TicketId>,
    /// The discussion thread it belongs to.
    pub thread: Option<ThreadId>,
    /// A configured name for the kind of agent.
    pub template_alias: Option<Template>,
    /// When it was captured, by the clock of that machine.
    pub observed_at: Timestamp,
    /// The transcript range it was read from, where it was read from one.
    pub source: Option<Source>,
}

/// Who wrote a summary; in a merge the first of these wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SummarySource {
    /// Somebody gave it.
    Given,
    /// A model wrote it.
    Model,
    /// It was derived from the entries by rule.
    Heuristic,
}

impl SummarySource {
    /// Returns the name used in JSON output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Given => "given",
            Self::Model => "llm",
            Self::Heuristic => "heuristic",
        }
    }
}
