//! Flags of the commands that capture while clients work.
//!
//! Only shapes, as everything below `args`.

use clap::Args;

/// `install` and `uninstall`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma install claude-code --dry-run    show what would change
  stemma install claude-code
  stemma install codex

Adds one hook for each event that matters (a turn ends, a compaction comes, a session ends) to the client's own settings, \
and nothing else; your hooks stay, and a copy of the file is kept beside it. The hook captures what is new in \
milliseconds and never fails the client, even when `stemma` is gone.")]
pub(crate) struct Install {
    /// The runtime: `claude-code` or `codex`
    #[arg(value_name = "RUNTIME")]
    pub(crate) runtime: String,

    /// Show what would change, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// `hook`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma hook claude-code < input.json
  stemma hook codex Stop < input.json

Called by a client's hooks with JSON on standard input; `stemma install RUNTIME` sets that up. Captures what the \
transcript holds beyond what is stored, waits at most 20 ms for the store, leaves the rest to a command in the \
background, prints nothing and always ends with 0. What went wrong is shown by `stemma status`.")]
pub(crate) struct Hook {
    /// The runtime that calls
    #[arg(value_name = "RUNTIME")]
    pub(crate) runtime: String,

    /// The event; none: the one that the input names
    #[arg(value_name = "EVENT")]
    pub(crate) event: Option<String>,
}
