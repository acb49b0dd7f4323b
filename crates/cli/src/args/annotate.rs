//! Flags of the commands that change what stands beside a commit.
//!
//! Only shapes, as everything below `args`.

use clap::{ArgGroup, Args};
use stemmata_model::{ThreadId, TicketId};

use super::REF_HELP;

/// `update`
#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  stemma update ctx-3f9k2m7q --summary \"found the race in the pool\"
  stemma update ctx-3f9k2m7q --tag reviewed --untag draft --note \"see TKT-12\"
  stemma update ctx-3f9k2m7q --ticket TKT-12

The commit itself never changes; who changed what and when is kept (`stemma show`).\n\n{REF_HELP}"))]
#[command(group(ArgGroup::new("changes").required(true).multiple(true).args(["summary", "note", "tag", "untag", "thread", "ticket"])))]
pub(crate) struct Update {
    /// The commit
    #[arg(value_name = "REF")]
    pub(crate) reference: String,

    /// A new summary; an empty one removes it
    #[arg(long, value_name = "TEXT")]
    pub(crate) summary: Option<String>,

    /// A note to add
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Vec<String>,

    /// A tag to add
    #[arg(long, value_name = "NAME")]
    pub(crate) tag: Vec<String>,

    /// A tag to remove
    #[arg(long, value_name = "NAME")]
    pub(crate) untag: Vec<String>,

    /// A discussion thread that it belongs to, beside those that it has
    #[arg(long, value_name = "THREAD")]
    pub(crate) thread: Option<ThreadId>,

    /// A ticket that it was made for, beside those that it has
    #[arg(long, value_name = "TICKET")]
    pub(crate) ticket: Option<TicketId>,
}

/// `tag`
#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  stemma tag ctx-3f9k2m7q before-rewrite
  stemma resume before-rewrite
  stemma tag ctx-3f9k2m7q before-rewrite --remove

{REF_HELP}"))]
pub(crate) struct Tag {
    /// The commit
    #[arg(value_name = "REF")]
    pub(crate) reference: String,

    /// The name
    #[arg(value_name = "NAME")]
    pub(crate) name: String,

    /// Take the name away
    #[arg(long)]
    pub(crate) remove: bool,
}

/// `pin` and `unpin`
#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  stemma pin ctx-3f9k2m7q
  stemma unpin ctx-3f9k2m7q

{REF_HELP}"))]
pub(crate) struct Pin {
    /// The commit
    #[arg(value_name = "REF")]
    pub(crate) reference: String,
}
