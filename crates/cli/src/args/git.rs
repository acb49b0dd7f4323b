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

The first line of each tool call shows the client, the session, the entry to fork from (`stemma fork SESSION --at ENTRY`), the \
day and the prompt. A blank line belongs to its neighbour. If git knows the commit of a line and that commit has a \
`Context-Id` trailer (`stemma git install`), the trailer names the session; otherwise Stemmata searches the sessions that worked \
in the project for the edit that wrote this text. `--json` prints everything.")]
pub(crate) struct Blame {
    /// The file, with a line or a range of lines
    #[arg(value_name = "FILE[:LINE[-LINE]]")]
    pub(crate) place: String,

    /// Show the git commit, the prompt and the agent's reason above the lines of each call
    #[arg(short, long)]
    pub(crate) verbose: bool,
}

/// `git`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma git install --dry-run --diff     show what would change
  stemma git install                      in this repository
  stemma git uninstall

Every git commit that is made while a session works in the repository then gets a trailer, `Context-Id: ctx-…`. If you write the \
message in an editor, the trailer is added after you save, so that an empty message still aborts the commit. The two hooks are \
added to existing ones, do nothing if `stemma` is gone, and never stop a commit.")]
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
    /// Remove Stemmata's lines from the repository's hooks
    Uninstall(GitInstall),
    /// Add the trailer to a commit's message (called by the hook)
    #[command(hide = true)]
    Trailer(GitTrailer),
}

/// `git install` and `git uninstall`
#[derive(Debug, Args)]
pub(crate) struct GitInstall {
    /// Report what would change, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Show the changed lines
    #[arg(long)]
    pub(crate) diff: bool,
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
