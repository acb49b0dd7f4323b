//! Sightings: where, when and by whom a commit was captured.
//!
//! Append-only and never hashed: the same commit seen on two machines has two sightings.

use serde::{Deserialize, Serialize};

use crate::{MachineId, Principal, SessionId, Template, ThreadId, TicketId, Timestamp};

/// What made a checkpoint happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
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

/// A rule by which a checkpoint was due (seed 002). A checkpoint may have several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub enum Reason {
    /// The context has reached its share of the window.
    ContextSizeThreshold,
    /// The work goes on in another phase.
    PhaseTransition,
    /// So many tasks were completed.
    TaskMilestone,
    /// What comes next may go wrong.
    RiskyOperation,
    /// The last checkpoint is long ago.
    TimeInterval,
    /// The window is nearly full.
    Emergency,
}

impl Reason {
    /// All reasons, in the order of their stored bits.
    pub const ALL: [Self; 6] = [
        Self::ContextSizeThreshold,
        Self::PhaseTransition,
        Self::TaskMilestone,
        Self::RiskyOperation,
        Self::TimeInterval,
        Self::Emergency,
    ];

    /// Returns the name used in JSON output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ContextSizeThreshold => "context_size_threshold",
            Self::PhaseTransition => "phase_transition",
            Self::TaskMilestone => "task_milestone",
            Self::RiskyOperation => "risky_operation",
            Self::TimeInterval => "time_interval",
            Self::Emergency => "emergency",
        }
    }

    const fn bit(self) -> u8 {
        match self {
            Self::ContextSizeThreshold => 1,
            Self::PhaseTransition => 1 << 1,
            Self::TaskMilestone => 1 << 2,
            Self::RiskyOperation => 1 << 3,
            Self::TimeInterval => 1 << 4,
            Self::Emergency => 1 << 5,
        }
    }
}

/// All rules by which a checkpoint was due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Reasons(u8);

impl Reasons {
    /// No rule: a turn ended, or somebody asked.
    pub const NONE: Self = Self(0);

    /// Returns the reasons of these bits, or `None` if one of them is no reason.
    pub fn from_bits(bits: u8) -> Option<Self> {
        let reasons: Self = Reason::ALL.into_iter().filter(|reason| bits & reason.bit() != 0).collect();
        (reasons.0 == bits).then_some(reasons)
    }

    /// Returns the bits, as they are stored.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Returns the reasons, in the order of [`Reason::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Reason> {
        Reason::ALL.into_iter().filter(move |reason| self.0 & reason.bit() != 0)
    }
}

impl FromIterator<Reason> for Reasons {
    fn from_iter<I: IntoIterator<Item = Reason>>(reasons: I) -> Self {
        Self(reasons.into_iter().fold(0, |bits, reason| bits | reason.bit()))
    }
}

/// A range of a transcript, before secrets were replaced.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Source {
    /// Its path on that machine.
    pub path: String,
    /// Bytes from the start.
    pub offset: u64,
    /// Bytes of the range.
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
    /// The rules by which it was due, where that is known.
    pub reasons: Reasons,
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub enum SummarySource {
    /// Somebody gave it.
    Given,
    /// A model wrote it.
    #[serde(rename = "llm")]
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
