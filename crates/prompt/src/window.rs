//! Compaction of a window: its limits, when it is due, what is split off, whether a summary is taken, and what the new window
//! holds. Also what providers say when a context is too long.
//!
//! Decisions only, with their reasons. Not about how a summary is written: that is the `compact` module's.

mod config;
mod estimate;
mod overflow;
mod overhead;
mod pairs;
mod phrases;
mod progress;
mod project;
mod result;
mod split;

pub use config::{
    CompactSettings, Due, EffectiveLimit, LimitFrom, ToolSummaryStrategy, WindowConfig, WindowConfigError,
    WindowConfigSettings,
};
pub use estimate::{
    Estimated, EstimatedFrom, Measure, Unbelievable, believed, entry_tokens, estimate, held_tokens, reported,
    usage_by_answer,
};
pub use overflow::{OverflowPhrase, OverflowSizes, overflow_of, overflow_sizes, silent_overflow};
pub use overhead::{Overheads, Report};
pub use pairs::{Paired, named_apart, paired};
pub use phrases::PHRASES;
pub use progress::{CompactionLoop, CompactionSeen, NextSummary, Progress};
pub use project::result_text;
pub use project::{RESULT_CHARS_MAX, SummaryInput, summary_input};
pub use result::{SUMMARY_PREFIX, summary_entry, tool_summary_entry};
pub use split::{Borders, KeepRecent, NothingToCompact, Split, split};
