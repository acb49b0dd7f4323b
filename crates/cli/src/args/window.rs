//! Flags of the commands about a model's context window.
//!
//! Only shapes, as everything below `args`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::REF_HELP;
use super::artifact::Artifact;
use super::give::{Compact, Uncompact};

/// The commands about a window.
#[derive(Debug, Subcommand)]
pub(crate) enum WindowCommand {
    /// Replace the beginning of a session by a summary, as a new branch
    Compact(Compact),
    /// Go back to the context before a compaction
    Uncompact(Uncompact),
    /// Show how full a context window is, and what pruning would drop
    Guard(Guard),
    /// Read the whole output of a tool
    Artifact(Artifact),
}

/// `guard`
#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  stemma guard                  the latest session of this directory
  stemma guard ctx-3f9k2m7q --window 200000
  stemma guard 5e55104e --window 32000 --counter o200k --json
  stemma guard --entries context.json --window 32000 --json | jq .given.entries

Changes nothing: shows what pruning to the target would keep and drop. A client manages its own window; `stemma compact` and \
`stemma resume` give you a session with a smaller one. The size is what the provider reported with the last answer plus a \
count of what came later; without a report, everything is counted.\n\n{REF_HELP}"))]
pub(crate) struct Guard {
    /// The session or commit [default: the latest session of this directory]
    #[arg(value_name = "REF", conflicts_with = "last")]
    pub(crate) reference: Option<String>,

    /// The latest session of all
    #[arg(long)]
    pub(crate) last: bool,

    /// Judge these entries: a JSON list of them, or a whole request (`GuardRequest` in docs/reference/json.md); `-` for standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["reference", "last"])]
    pub(crate) entries: Option<PathBuf>,

    /// The window's size [default: of the session's client or model]
    #[arg(long, short, value_name = "TOKENS", allow_negative_numbers = true, value_parser = window_tokens)]
    pub(crate) window: Option<u64>,

    /// The token counter: `estimate`, `utf16`, `o200k` or `cl100k`, also with a factor as in `o200k*1.18` [default: by the
    /// session's model]
    #[arg(long, value_name = "COUNTER")]
    pub(crate) counter: Option<String>,

    /// Size of system prompt and tools, if no usage was reported
    #[arg(long, value_name = "TOKENS", default_value_t = 0)]
    pub(crate) overhead: u64,

    /// Number of completed tasks: a checkpoint is due after every fifth
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) completed: u64,

    /// The next operation: a checkpoint is due before `major_refactor` and `large_merge`
    #[arg(long, value_name = "OPERATION")]
    pub(crate) next: Option<String>,
}

/// Reads the size of a window. A negative number comes here as well: the advice of `clap` for it would not help.
pub(super) fn window_tokens(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "use a positive number of tokens, such as 200000".to_owned())
}
