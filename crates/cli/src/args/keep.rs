//! Flags of the commands that delete what is stored.
//!
//! Only shapes, as everything below `args`.

use std::path::PathBuf;

use clap::Args;

/// `forget`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma forget 3f2a91c0 --dry-run   what would be deleted, what still needs it
  stemma forget 3f2a91c0             a session, its subagents included
  stemma forget ctx-8dk2m            one commit
  stemma forget --project ~/work/secret --everywhere --yes
  stemma forget --undo 3f2a91c0-…    allow it to be imported again

What forks, copies, pins, tags or tickets need is kept and listed; `--everywhere` deletes it from forks and copies too. \
Forgotten data is removed from every file of the store. Your backups, bundles and the client's transcript may still hold it.")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct Forget {
    /// A session, or a commit
    #[arg(value_name = "REF", required_unless_present_any = ["project", "undo", "copies", "vault"], conflicts_with_all = ["project", "undo", "copies"])]
    pub(crate) reference: Option<String>,

    /// All sessions that worked in DIR or below, and the events of projects there
    #[arg(long, value_name = "DIR", conflicts_with = "undo")]
    pub(crate) project: Option<PathBuf>,

    /// Allow a forgotten session to be imported again: its id, the beginning of that or of a commit's id, or the path of the
    /// transcript
    #[arg(long, value_name = "REF")]
    pub(crate) undo: Option<String>,

    /// All copies that were placed for a client and that nobody continued, with their files; what they are copies of stays
    #[arg(long, conflicts_with_all = ["project", "undo", "everywhere", "even_pinned"])]
    pub(crate) copies: bool,

    /// The secrets that earlier versions kept on this machine: overwrite and remove them
    #[arg(long, conflicts_with_all = ["reference", "project", "undo", "copies", "everywhere", "even_pinned"])]
    pub(crate) vault: bool,

    /// Delete it from forks and copies too
    #[arg(long, conflicts_with = "undo")]
    pub(crate) everywhere: bool,

    /// Also forget what is pinned, tagged or referenced by a ticket
    #[arg(long, conflicts_with = "undo")]
    pub(crate) even_pinned: bool,

    /// Show what would be deleted, change nothing
    #[arg(long, conflicts_with = "undo")]
    pub(crate) dry_run: bool,

    /// Do not ask
    #[arg(long, short, conflicts_with = "undo")]
    pub(crate) yes: bool,
}

/// `undo`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma undo --dry-run
  stemma undo                   the copy that was placed last, gone

Removes the copy from the store and its file from the client's folder, if nobody continued it, its file is as it was placed \
and no client has it open. `stemma forget --copies` removes all such copies.")]
pub(crate) struct Undo {
    /// Show what would be removed, change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// `gc`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma gc --dry-run
  stemma gc                     asks first, if something would be deleted
  stemma gc --yes               in a script or a timer
  stemma gc --grace-days 0      delete what an earlier run marked

Expired data (`retention.…`, off by default) and leftovers of crashes are marked first and deleted by a later run, after \
`gc.grace_days` (14). Using marked data unmarks it. Then the store is repacked.")]
pub(crate) struct Gc {
    /// Show what would be done, change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Do not ask
    #[arg(long, short)]
    pub(crate) yes: bool,

    /// Days between marking and deleting
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=3650))]
    pub(crate) grace_days: Option<u32>,
}
