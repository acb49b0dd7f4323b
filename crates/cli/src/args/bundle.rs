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
  stemma bundle have --all > have.txt                           on the machine that receives
  stemma bundle export --all --have have.txt --out new.bundle   only what it does not have

A bundle is one file with chains: commits, content, and what was said of them. Reading one runs nothing and
writes nothing but the store.\n\n{REF_HELP}"))]
pub(crate) struct Bundle {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: BundleCommand,
}

/// What to do with a bundle.
#[derive(Debug, Subcommand)]
pub(crate) enum BundleCommand {
    /// Write chains as one file
    Export(Export),
    /// Take the chains of a file into the store; everything is checked first
    Import(Import),
    /// Check a file and show what is in it
    Show(Show),
    /// Tell what this store has, for `export --have` on another machine
    Have(Have),
}

/// Which chains.
#[derive(Debug, Args)]
#[group(required = true, multiple = true)]
pub(crate) struct Chains {
    /// The commits up to which chains go, with the subagents that they started
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

    /// A list of commits that the receiver has (`stemma bundle have`), which are left out with all before them
    #[arg(long, value_name = "FILE")]
    pub(crate) have: Option<PathBuf>,

    /// The file to write (it appears whole or not at all), or `-` for standard output
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: PathBuf,

    /// Replace a file that is there
    #[arg(long)]
    pub(crate) force: bool,
}

/// Bounds of what is read.
#[derive(Debug, Args)]
pub(crate) struct Bounds {
    /// Commits that a bundle may hold
    #[arg(long, value_name = "N", default_value_t = BUNDLE_COMMITS_MAX)]
    pub(crate) max_commits: u64,

    /// Bytes that its contents may have, uncompressed; else as many as its own length makes likely
    #[arg(long, value_name = "N")]
    pub(crate) max_bytes: Option<u64>,
}

/// `bundle import`
#[derive(Debug, Args)]
pub(crate) struct Import {
    /// The bundle, or `-` for standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// Check everything and store nothing
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
