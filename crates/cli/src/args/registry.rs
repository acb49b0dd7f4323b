//! Flags of `pointer`, `jobs` and `audit`: what a service keeps beside its store.
//!
//! Only shapes, as everything below `args`.

use clap::{Args, Subcommand};
use stemmata_model::{CommitId, PointerKey, Principal};

use super::REF_HELP;
use super::serve::Serve;

/// A service, and what it keeps beside its store.
#[derive(Debug, Subcommand)]
pub(crate) enum ServiceCommand {
    /// Answer programs of this machine over HTTP, on a socket or an address
    Serve(Serve),
    /// Keep names for commits that programs move on
    Pointer(Pointer),
    /// List what `serve` does in the background
    Jobs(Jobs),
    /// Show what was deleted, when, and on whose request
    Audit(Audit),
}

/// `pointer`
#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  stemma pointer set agents/reviewer @
  stemma pointer set main 4a36 --expect ctx-3f9k2m7q1v8s5x6z0w4t9r2b7c
  stemma resume $(stemma pointer show agents/reviewer)
  stemma pointer list agents/

A pointer is a name that a program keeps for a commit and moves to the next one. It is not in the store: no bundle and no backup has it, \
and it protects nothing from `gc`. A label that belongs to a commit and travels with it is a tag (`stemma tag`).

{REF_HELP}"))]
pub(crate) struct Pointer {
    /// What to do; without it: list
    #[command(subcommand)]
    pub(crate) command: Option<PointerCommand>,
}

/// What to do with pointers.
#[derive(Debug, Subcommand)]
pub(crate) enum PointerCommand {
    /// List pointers
    #[command(visible_alias = "ls")]
    List(PointerList),
    /// Print the commit that a pointer points to
    Show(PointerShow),
    /// Point to a commit
    Set(PointerSet),
    /// Delete a pointer; its commit stays
    #[command(visible_alias = "rm")]
    Delete(PointerDelete),
}

/// `pointer list`
#[derive(Debug, Args)]
pub(crate) struct PointerList {
    /// What names begin with
    #[arg(value_name = "PREFIX")]
    pub(crate) prefix: Option<String>,

    /// How many at most (0 for all)
    #[arg(long, short = 'n', value_name = "N")]
    pub(crate) limit: Option<usize>,
}

/// `pointer show`
#[derive(Debug, Args)]
pub(crate) struct PointerShow {
    /// The pointer
    #[arg(value_name = "NAME")]
    pub(crate) key: PointerKey,
}

/// `pointer set`
#[derive(Debug, Args)]
pub(crate) struct PointerSet {
    /// The pointer: letters, digits and `. _ - : @`, in parts with `/` between
    #[arg(value_name = "NAME")]
    pub(crate) key: PointerKey,

    /// What it is to point to
    #[arg(value_name = "REF")]
    pub(crate) reference: String,

    /// Only if it points to this commit now
    #[arg(long, value_name = "CTX")]
    pub(crate) expect: Option<CommitId>,

    /// Only if there is no such pointer
    #[arg(long, conflicts_with = "expect")]
    pub(crate) new: bool,
}

/// `pointer delete`
#[derive(Debug, Args)]
pub(crate) struct PointerDelete {
    /// The pointer
    #[arg(value_name = "NAME")]
    pub(crate) key: PointerKey,

    /// Only if it points to this commit now
    #[arg(long, value_name = "CTX")]
    pub(crate) expect: Option<CommitId>,
}

/// `jobs`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma jobs
  stemma --server http://127.0.0.1:7777 jobs --json

Jobs are what `stemma serve` does in the background. Several processes may serve one store: each job is done once.")]
pub(crate) struct Jobs {
    /// How many at most (0 for all)
    #[arg(long, short = 'n', value_name = "N")]
    pub(crate) limit: Option<usize>,
}

/// `audit`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma audit
  stemma audit --operation maintain.apply_forget -n 5

The log has a row before and a row after everything that deletes from the store: `forget`, `forget --undo`, `scrub`, `gc` and \
`events forget`. Changes of summaries, tags and pins are beside their commit (`stemma show --meta REF`). No backup has it and no restore \
changes it.")]
pub(crate) struct Audit {
    /// Only what this principal asked for
    #[arg(long, value_name = "PRINCIPAL")]
    pub(crate) by: Option<Principal>,

    /// Only this operation, such as `maintain.apply_forget`
    #[arg(long, value_name = "NAME")]
    pub(crate) operation: Option<String>,

    /// How many at most (0 for all)
    #[arg(long, short = 'n', value_name = "N")]
    pub(crate) limit: Option<usize>,
}
