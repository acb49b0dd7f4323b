//! Flags of the commands that look for secrets in what is stored, and replace them.
//!
//! Only shapes, as everything below `args`.

use clap::{Args, Subcommand};

/// `scan`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma scan                  everything that is stored
  stemma scan 3f2a91c0         a session with its events and subagents
  stemma scan ctx-8dk2m        a commit and everything before it
  stemma scan --clients        the clients' own transcripts, with file and line
  stemma scan --limit 100      stop at the hundredth finding
  stemma scan --after ctx-…    continue after a commit

A secret that was redacted in the store is still in the client's own file: rotate it. Reports kind and place of each secret, never \
its value, and a fingerprint: equal secrets have equal ones. Exits with 11 if anything was found.")]
pub(crate) struct Scan {
    /// A session or a commit [default: everything]
    #[arg(value_name = "REF", conflicts_with = "all")]
    pub(crate) reference: Option<String>,

    /// Everything that is stored
    #[arg(long)]
    pub(crate) all: bool,

    /// Read the clients' own transcripts instead of the store
    #[arg(long, conflicts_with_all = ["reference", "all", "after"])]
    pub(crate) clients: bool,

    /// Stop after this many findings; 0 for all, up to 1,000,000. The output says how to continue
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(..=1_000_000))]
    pub(crate) limit: u64,

    /// Continue after a commit, in the order of ids, or after an event (`LEDGER#120`)
    #[arg(long, value_name = "PLACE", conflicts_with = "reference")]
    pub(crate) after: Option<String>,
}

/// `scrub`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma scrub 3f2a91c0 --dry-run   what would change, and why
  stemma scrub 3f2a91c0             a session with forks, copies, subagents
  stemma scrub ctx-8dk2m --yes      the whole tree of a commit
  stemma scrub --all --yes          everything that is stored

Redacts what the current rules find, as an import under these rules would have. Changed commits get new ids; the old ids lead \
to them. Events with a secret are emptied; their numbers and hashes stay. A session or a commit includes the events of its \
sessions, `--all` the events of all ledgers. The old bytes are deleted from every file of the store. The clients' own \
transcripts, bundles, backups and placed sessions are not changed.")]
pub(crate) struct Scrub {
    /// A session or a commit: its whole tree, and all copies of it
    #[arg(value_name = "REF", required_unless_present = "all", conflicts_with = "all")]
    pub(crate) reference: Option<String>,

    /// Everything that is stored
    #[arg(long)]
    pub(crate) all: bool,

    /// Show what would change, change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Do not ask
    #[arg(long, short)]
    pub(crate) yes: bool,
}

/// `secrets`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma secrets trust .      use this project's own rules
  stemma secrets list
  stemma secrets distrust .

A project's `.stemmata/secrets.toml` is cloned with the project, so anyone may have written it. Its rules apply once you trust \
them, and until the file changes. Your own rules in the data directory always apply.")]
pub(crate) struct Secrets {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: SecretsCommand,
}

/// The commands around trust in rules.
#[derive(Debug, Subcommand)]
pub(crate) enum SecretsCommand {
    /// Trust a project's rules, as they are now
    Trust(SecretsTrust),
    /// Stop trusting a project's rules
    Distrust(SecretsTrust),
    /// List the trusted rules
    List(SecretsList),
}

/// `secrets trust` and `secrets distrust`
#[derive(Debug, Args)]
pub(crate) struct SecretsTrust {
    /// The project, or a folder in it
    #[arg(value_name = "DIR", default_value = ".")]
    pub(crate) folder: std::path::PathBuf,
}

/// `secrets list`
#[derive(Debug, Args)]
pub(crate) struct SecretsList {}
