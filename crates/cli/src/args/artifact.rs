//! Flags of the commands about artifacts.
//!
//! Only shapes, as everything below `args`.

use std::str::FromStr;

use clap::{Args, Subcommand};

/// `artifact`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma artifact read art-9f2c… --lines 1..40")]
pub(crate) struct Artifact {
    #[command(subcommand)]
    pub(crate) command: ArtifactCommand,
}

/// The commands about artifacts.
#[derive(Debug, Subcommand)]
pub(crate) enum ArtifactCommand {
    /// Print a stored tool output, or a range of it
    Read(ArtifactRead),
}

/// `artifact read`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma artifact read art-9f2c… --lines 1..40
  stemma artifact read art-9f2c… --lines 900..
  stemma artifact read art-9f2c… --bytes 0..65536 --json

A tool output that is too large for the window is stored whole; the notice in its place names the artifact. Lines count from 1 \
and include the last one; bytes and characters count from 0 and exclude it. At most 1 MiB is printed, with the place to \
continue at.")]
pub(crate) struct ArtifactRead {
    /// The artifact, as notices and `stemma show REF --json` name it
    #[arg(value_name = "ID")]
    pub(crate) id: String,

    /// These lines
    #[arg(long, value_name = "A..B", conflicts_with_all = ["bytes", "chars"])]
    pub(crate) lines: Option<Span>,

    /// These bytes
    #[arg(long, value_name = "A..B", conflicts_with = "chars")]
    pub(crate) bytes: Option<Span>,

    /// These characters
    #[arg(long, value_name = "A..B")]
    pub(crate) chars: Option<Span>,
}

/// `A..B`, or `A..` to the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) from: u64,
    pub(crate) to: Option<u64>,
}

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let read = || {
            let (from, to) = text.split_once("..")?;
            let to = if to.is_empty() { None } else { Some(to.parse().ok()?) };
            Some(Self { from: from.parse().ok()?, to })
        };
        read().ok_or_else(|| "a range is two numbers `A..B`, or `A..` to the end".to_owned())
    }
}
