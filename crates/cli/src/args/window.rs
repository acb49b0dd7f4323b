//! Flags of the commands about a model's context window.
//!
//! Only shapes, as everything below `args`.

use clap::{Args, Subcommand};

use super::REF_HELP;
use super::artifact::Artifact;
use super::give::{Compact, Uncompact};

/// The commands about a window.
#[derive(Debug, Subcommand)]
pub(crate) enum WindowCommand {
    /// Put a summary in the place of everything before a commit, on a new branch
    Compact(Compact),
    /// Give back the context from before the nearest compaction
    Uncompact(Uncompact),
    /// Say how full the window of a context is, and what would be pruned of it and why
    Guard(Guard),
    /// Read what is stored apart: whole outputs of tools
    Artifact(Artifact),
}

/// `guard`
#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  stemma guard                               the latest session of this directory
  stemma guard ctx-3f9k2m7q --window 200000
  stemma guard 5e55104e --window 32000 --counter o200k --json

Nothing is changed: it says what a prune down to the target would keep and drop. The window of a client that runs by itself is \
its own; `stemma compact` and `stemma resume` are the way to a smaller one. A session means its newest commit, after what its \
client wrote since was read. Tokens are those that the provider reported with the last answer, and a count of what came after \
it; where none were reported, all are counted.\n\n{REF_HELP}"))]
pub(crate) struct Guard {
    /// The commit; none: the latest session of the current directory
    #[arg(value_name = "REF", conflicts_with = "last")]
    pub(crate) reference: Option<String>,

    /// The latest session of all
    #[arg(long)]
    pub(crate) last: bool,

    /// Tokens that the model takes (default: what is known of the session's client or model)
    #[arg(long, short, value_name = "TOKENS")]
    pub(crate) window: Option<u64>,

    /// What counts tokens: `estimate`, `utf16`, `o200k`, `cl100k`, also with a factor as `o200k*1.18` (default: by the session's
    /// model)
    #[arg(long, value_name = "COUNTER")]
    pub(crate) counter: Option<String>,

    /// Tokens of the system prompt and the tools, where no usage was reported
    #[arg(long, value_name = "TOKENS", default_value_t = 0)]
    pub(crate) overhead: u64,

    /// Tasks completed so far: every five of them a checkpoint is due
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) completed: u64,

    /// What is about to be done: before `major_refactor` and `large_merge` a checkpoint is due
    #[arg(long, value_name = "OPERATION")]
    pub(crate) next: Option<String>,
}
