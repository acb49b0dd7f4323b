//! Flags of the commands that look for secrets in what is stored, and replace them.
//!
//! Only shapes, as everything below `args`.

use clap::{Args, Subcommand};

/// `scan`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma scan                                everything that is stored
  stemma scan 3f2a91c0                       a session and its events, its subagents included
  stemma scan ctx-8dk2m                      a commit and all that it continues
  stemma scan --limit 100                    stop after the commit or event with the hundredth finding
  stemma scan --after ctx-…                  go on after a commit

Reports what today's rules would find, never the value: kind, commit and line or ledger and event, and a fingerprint that is
equal for equal secrets in this store and says nothing to anybody else. Exit code 11 where something was found, 0 where nothing was.")]
pub(crate) struct Scan {
    /// A session or a commit; without one, everything
    #[arg(value_name = "REF", conflicts_with = "all")]
    pub(crate) reference: Option<String>,

    /// Everything that is stored (as without a REF)
    #[arg(long)]
    pub(crate) all: bool,

    /// Stop after the commit or event with the finding of this number; the output says how to go on
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) limit: u64,

    /// Go on after this place: a commit, in the order of ids, or an event of a ledger (`LEDGER#120`)
    #[arg(long, value_name = "PLACE", conflicts_with = "reference")]
    pub(crate) after: Option<String>,
}

/// `scrub`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma scrub 3f2a91c0 --dry-run            what would change, and why
  stemma scrub 3f2a91c0                      a session, with its branches, copies and subagents
  stemma scrub ctx-8dk2m --yes               the whole tree that a commit stands in
  stemma scrub --all --yes                   everything that is stored

Replaces what today's rules find in what is stored, as an import under these rules would have. Commits that change get new
ids, and the old ones lead to them; capture goes on where it stopped. Events that hold something say nothing any more: their
places and hashes stay. A session or a commit takes the events of the sessions that went through its tree along, `--all` those of
all ledgers. The old bytes are gone from every file of the store,
for good. Clients' own transcripts, bundles, backups and sessions that were placed stay as they are.")]
pub(crate) struct Scrub {
    /// A session or a commit: the whole tree that it stands in, and all copies of it
    #[arg(value_name = "REF", required_unless_present = "all", conflicts_with = "all")]
    pub(crate) reference: Option<String>,

    /// Everything that is stored
    #[arg(long)]
    pub(crate) all: bool,

    /// Show what would change, and change nothing
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
  stemma secrets trust .                     the rules of the project here count from now on
  stemma secrets list
  stemma secrets distrust .

A project's `.stemmata/secrets.toml` comes with whatever is cloned, and may be anybody's. Its rules count once you trust them, \
and as long as the file stays as it is: after a change it needs trust again. The rules in the data directory are your own and \
need none.")]
pub(crate) struct Secrets {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: SecretsCommand,
}

/// The commands around trust in rules.
#[derive(Debug, Subcommand)]
pub(crate) enum SecretsCommand {
    /// Have a project's rules count, as they are now
    Trust(SecretsTrust),
    /// Have a project's rules count no more
    Distrust(SecretsTrust),
    /// Show the rules that are trusted
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

/// `vault`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma config set secrets.vault 1          keep what is replaced, from now on
  stemma vault status                        how much is kept, and since when
  stemma resume --with-secrets               put it back in what is placed
  stemma vault purge --older-than 30d
  stemma vault purge --all                   everything, the key included

The vault is off unless you turn it on. It is on this machine alone: no bundle, backup or export holds anything of it. \
Its files are encrypted, and the key stands beside them: it protects a copy of the store, not from who reads your files. No \
command prints a value.")]
pub(crate) struct Vault {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: VaultCommand,
}

/// The commands around the vault.
#[derive(Debug, Subcommand)]
pub(crate) enum VaultCommand {
    /// Say how much is kept, since when, and whether capture adds to it
    Status(VaultStatus),
    /// Remove values for good; without a flag those of what is not stored any more
    Purge(VaultPurge),
}

/// `vault status`
#[derive(Debug, Args)]
pub(crate) struct VaultStatus {}

/// `vault purge`
#[derive(Debug, Args)]
pub(crate) struct VaultPurge {
    /// What was kept before then: how long ago (`12h`, `30d`, `4w`), or a point in time
    #[arg(long, value_name = "TIME", conflicts_with = "all")]
    pub(crate) older_than: Option<String>,

    /// Everything, the key included
    #[arg(long)]
    pub(crate) all: bool,
}
