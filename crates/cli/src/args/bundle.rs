//! Flags of the commands about bundles.
//!
//! Only shapes, as everything below `args`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use stemmata_api::v1::BUNDLE_COMMITS_MAX;

use super::REF_HELP;

/// `bundle`
#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  stemma bundle export ctx-3f9k2m7q --out fix.stemma-bundle
  stemma bundle show fix.stemma-bundle
  stemma bundle import fix.stemma-bundle
  stemma bundle have --all > have.txt      on the receiving machine
  stemma bundle export --all --have have.txt --out new.bundle   only what is new

A bundle is one portable file with sessions: their commits, content, tags and notes. Importing one runs nothing and writes \
only to the store.\n\n{REF_HELP}"))]
pub(crate) struct Bundle {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: BundleCommand,
}

/// What to do with a bundle.
#[derive(Debug, Subcommand)]
pub(crate) enum BundleCommand {
    /// Write sessions to one file
    Export(Export),
    /// Import the sessions of a bundle; everything is checked first
    Import(Import),
    /// Check a bundle and list its contents
    Show(Show),
    /// List what this store has, for `export --have` on another machine
    Have(Have),
}

/// Which chains.
#[derive(Debug, Args)]
#[group(required = true, multiple = true)]
pub(crate) struct Chains {
    /// Sessions, or commits with everything before them; their subagents are included
    #[arg(value_name = "REF")]
    pub(crate) references: Vec<String>,

    /// All sessions that worked in this directory or below it
    #[arg(long, value_name = "DIR", conflicts_with_all = ["references", "all"])]
    pub(crate) project: Option<PathBuf>,

    /// Everything
    #[arg(long, conflicts_with = "references")]
    pub(crate) all: bool,
}

/// `bundle export`
#[derive(Debug, Args)]
pub(crate) struct Export {
    #[command(flatten)]
    pub(crate) chains: Chains,

    /// Leave out what the receiver has: a list made there by `stemma bundle have`
    #[arg(long, value_name = "FILE")]
    pub(crate) have: Option<PathBuf>,

    /// The file to write (written atomically), or `-` for standard output
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: PathBuf,

    /// Overwrite an existing file
    #[arg(long)]
    pub(crate) force: bool,
}

/// Bounds of what is read.
#[derive(Debug, Args)]
pub(crate) struct Bounds {
    /// Refuse a bundle with more commits than this
    #[arg(long, value_name = "N", default_value_t = BUNDLE_COMMITS_MAX)]
    pub(crate) max_commits: u64,

    /// Refuse a bundle with more bytes than this, uncompressed [default: by the length of the file]
    #[arg(long, value_name = "N")]
    pub(crate) max_bytes: Option<u64>,
}

/// `bundle import`
#[derive(Debug, Args)]
pub(crate) struct Import {
    /// The bundle, or `-` for standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// Check everything, store nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    #[command(flatten)]
    pub(crate) bounds: Bounds,
}

/// `bundle show`
#[derive(Debug, Args)]
pub(crate) struct Show {
    /// The bundle, or `-` for standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    #[command(flatten)]
    pub(crate) bounds: Bounds,
}

/// `bundle have`
#[derive(Debug, Args)]
pub(crate) struct Have {
    #[command(flatten)]
    pub(crate) chains: Chains,
}
