//! Flags of the commands that let go of what is stored.
//!
//! Only shapes, as everything below `args`.

use std::path::PathBuf;

use clap::Args;

/// `forget`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma forget 3f2a91c0 --dry-run           what would go, and what still needs it
  stemma forget 3f2a91c0                     a session, its subagents included
  stemma forget ctx-8dk2m                    one commit
  stemma forget --project ~/work/secret --everywhere --yes
  stemma forget --undo 3f2a91c0-…            let it be imported again

What branches, copies, pins or tickets need stays, and is listed; `--everywhere` cuts it out of branches and copies
too. What is forgotten is gone from every file of the store, at once and for good: there is no way back but the
transcript itself.")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct Forget {
    /// A session, or a commit
    #[arg(value_name = "REF", required_unless_present_any = ["project", "undo"], conflicts_with_all = ["project", "undo"])]
    pub(crate) reference: Option<String>,

    /// All sessions that worked in DIR or below it, and all that the ledgers of projects there say
    #[arg(long, value_name = "DIR", conflicts_with = "undo")]
    pub(crate) project: Option<PathBuf>,

    /// Let what was forgotten be imported again: a commit's id or the beginning of it, a session's whole id, or the path of its
    /// transcript
    #[arg(long, value_name = "REF")]
    pub(crate) undo: Option<String>,

    /// Cut it out of branches and copies too
    #[arg(long, conflicts_with = "undo")]
    pub(crate) everywhere: bool,

    /// Forget even what is pinned or tagged, and what tickets refer to
    #[arg(long, conflicts_with = "undo")]
    pub(crate) even_pinned: bool,

    /// Show what would happen, and change nothing
    #[arg(long, conflicts_with = "undo")]
    pub(crate) dry_run: bool,

    /// Do not ask
    #[arg(long, short, conflicts_with = "undo")]
    pub(crate) yes: bool,
}

/// `gc`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma gc --dry-run
  stemma gc
  stemma gc --grace-days 0                   delete what an earlier run condemned

What `retention.…` lets go, and what a crash left behind, is condemned by one run and deleted by a later one, after the
grace (`gc.grace_days`, 14 days). What is used in between is revived. Nothing is let go unless you configure it.")]
pub(crate) struct Gc {
    /// Show what would happen, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Days that something stays condemned before it is deleted
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=3650))]
    pub(crate) grace_days: Option<u32>,
}
