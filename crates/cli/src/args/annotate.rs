//! Flags of the commands that change what stands beside a commit.
//!
//! Only shapes, as everything below `args`.

use clap::{ArgGroup, Args, Subcommand};
use stemmata_model::{ThreadId, TicketId, check_tag};

use super::REF_HELP;

/// `update`
#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  stemma update ctx-3f9k2m7q --summary \"found the race in the pool\"
  stemma update ctx-3f9k2m7q --tag reviewed --untag draft --note \"see TKT-12\"
  stemma update ctx-3f9k2m7q --ticket TKT-12

The commit itself never changes. `stemma show REF --meta` shows who changed what, and when.\n\n{REF_HELP}"))]
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

    /// A discussion thread to add
    #[arg(long, value_name = "THREAD")]
    pub(crate) thread: Option<ThreadId>,

    /// A ticket to add
    #[arg(long, value_name = "TICKET")]
    pub(crate) ticket: Option<TicketId>,
}

/// `tag`
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = format!("\
Examples:
  stemma tag add ctx-3f9k2m7q before-rewrite
  stemma resume before-rewrite
  stemma tag list
  stemma tag remove before-rewrite

{REF_HELP}"))]
pub(crate) struct Tag {
    /// What to do [default: list]
    #[command(subcommand)]
    pub(crate) command: Option<TagCommand>,

    /// As `tag add`
    #[arg(value_name = "REF", hide = true)]
    pub(crate) reference: Option<String>,

    /// As `tag add`
    #[arg(value_name = "NAME", hide = true)]
    pub(crate) name: Option<String>,

    /// As `tag remove`
    #[arg(long, hide = true)]
    pub(crate) remove: bool,
}

/// What to do with tags.
#[derive(Debug, Subcommand)]
pub(crate) enum TagCommand {
    /// Give a commit a name
    Add(TagAdd),
    /// Remove a name from a commit
    #[command(visible_alias = "rm")]
    Remove(TagRemove),
    /// List the tags
    #[command(visible_alias = "ls")]
    List(TagList),
}

/// `tag list`
#[derive(Debug, Args)]
pub(crate) struct TagList {
    /// Only tags that begin with this
    #[arg(value_name = "PREFIX", default_value = "", hide_default_value = true)]
    pub(crate) prefix: String,
}

/// `tag add`
#[derive(Debug, Args)]
pub(crate) struct TagAdd {
    /// The commit
    #[arg(value_name = "REF")]
    pub(crate) reference: String,

    /// The tag: a name without spaces, `@`, `~` and `:`, that does not look like an id
    #[arg(value_name = "NAME", value_parser = parse_tag)]
    pub(crate) name: String,
}

/// `tag remove`
#[derive(Debug, Args)]
pub(crate) struct TagRemove {
    /// The tag; before it the commit, where several have the tag
    #[arg(value_name = "NAME", num_args = 1..=2, required = true)]
    pub(crate) names: Vec<String>,
}

/// Refuses a name that would mean something else where a commit is named.
fn parse_tag(text: &str) -> Result<String, String> {
    check_tag(text).map(|()| text.to_owned()).map_err(|error| error.to_string())
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
