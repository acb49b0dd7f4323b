//! Flags of the commands around git.
//!
//! Only shapes, as everything below `args`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// `blame`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma blame src/client.rs:42          one line
  stemma blame src/client.rs:40-60 -v    with the prompt and the reason
  stemma blame src/client.rs             the whole file

Beside the first line of each call stand the client, the session, the entry to fork from (`stemma fork SESSION --at ENTRY`), \
the day and the prompt. A blank line belongs to its neighbour. \
Git says which of its commits a line is of, and its `Context-Id` trailer (`stemma git install`) which chain; without either, \
the sessions that worked in the project are searched for the edit that wrote this text. `--json` has all of it.")]
pub(crate) struct Blame {
    /// The file, with a line or a range of lines
    #[arg(value_name = "FILE[:LINE[-LINE]]")]
    pub(crate) place: String,

    /// Show the commit of git, the prompt and the agent's reason above the lines of each call
    #[arg(short, long)]
    pub(crate) verbose: bool,
}

/// `git`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma git install --dry-run     show what would change
  stemma git install               in the repository of the current directory
  stemma git uninstall

Every commit that is made while a session works in the repository then names its context in a trailer, `Context-Id: ctx-…`. \
A message from an editor gets it when it was written, so that an empty one still stops the commit. The two hooks go among the \
lines of those that are there, do nothing when this program is gone, and never stop a commit.")]
pub(crate) struct Git {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: GitCommand,
}

/// The commands around git.
#[derive(Debug, Subcommand)]
pub(crate) enum GitCommand {
    /// Add a `Context-Id` trailer to commits of this repository
    Install(GitInstall),
    /// Take our lines out of the repository's hook
    Uninstall(GitInstall),
    /// Add the trailer to a commit's message (called by the hook)
    #[command(hide = true)]
    Trailer(GitTrailer),
}

/// `git install` and `git uninstall`
#[derive(Debug, Args)]
pub(crate) struct GitInstall {
    /// Show what would change, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// `git trailer`
#[derive(Debug, Args)]
pub(crate) struct GitTrailer {
    /// The file with the message
    pub(crate) message: PathBuf,

    /// The message is the one that will be committed
    #[arg(long)]
    pub(crate) written: bool,

    /// Where the message comes from, as git says
    pub(crate) source: Option<String>,

    /// The commit that it comes from, as git says
    pub(crate) commit: Option<String>,
}
