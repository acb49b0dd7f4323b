//! Flags of the commands about the store and the program itself.
//!
//! Only shapes, as everything below `args`.

use std::path::PathBuf;

use super::ledger::Which;
use super::memory::RESERVED;
use super::window::window_tokens;
use clap::{Args, Subcommand};

/// `verify`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma verify
  stemma verify --json && echo sound
  stemma verify --repair
  stemma verify --repair --from /mnt/disk/stemmata

Reads everything that is stored, recomputes every hash and follows every reference. Reports all damage, and exits with 6 if \
there is any. `--repair` takes intact copies from backups, other stores, bundles and transcripts that still exist; each copy \
must have the right hash.")]
pub(crate) struct Verify {
    /// Repair what can be repaired
    #[arg(long)]
    pub(crate) repair: bool,

    /// A backup, another store's folder or a bundle to take intact copies from
    #[arg(long, value_name = "PATH", requires = "repair")]
    pub(crate) from: Vec<PathBuf>,
}

/// `doctor`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma doctor ~/.claude/projects/-srv-app/3f9c1d20-5a5b.jsonl
  stemma doctor 3f9c1d20          the transcript of a session
  stemma doctor --all             every transcript; shows those with problems

Reads a transcript as its client would and reports what would not reach the model: a client can start without an error \
and send half the history. Changes nothing. Exits with 6 if a client would refuse a transcript or lose some of it.")]
pub(crate) struct Doctor {
    /// Transcripts, or sessions
    #[arg(value_name = "FILE|SESSION", required_unless_present = "all")]
    pub(crate) files: Vec<String>,

    /// All transcripts of the clients of this machine
    #[arg(long)]
    pub(crate) all: bool,

    /// Check for this version of the client [default: the installed one, else the newest known]
    #[arg(long, value_name = "VERSION")]
    pub(crate) client_version: Option<String>,
}

/// `recover`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma recover                      list the sessions that only the store has
  stemma recover 3f9c1d20             give a transcript back
  stemma recover 3f9c1d20 --dry-run   check it, write nothing
  stemma recover 3f9c1d20 --replace   put it in the place of a damaged one

Writes the stored transcript, and any missing subagent transcripts, where the client expects them. Each is checked first as \
the client would load it. If a damaged transcript exists, the recovered one is written beside it; with `--replace` it takes \
its place, and the damaged one is kept. An intact transcript is left alone. Redacted secrets stay redacted. \
To replace the whole store by a backup: `stemma restore`.")]
pub(crate) struct Recover {
    /// A session, or its transcript [default: list the sessions that only the store has]
    #[arg(value_name = "SESSION|FILE")]
    pub(crate) session: Option<String>,

    /// Replace a damaged transcript; it is kept beside the recovered one
    #[arg(long)]
    pub(crate) replace: bool,

    /// Check everything and say what would be written; write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// `repair`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma repair 3f9c1d20.jsonl             a copy: 3f9c1d20.repaired.jsonl
  stemma repair 3f9c1d20 --out fixed.jsonl   the transcript of a session
  stemma repair rollout.jsonl --client-version 0.169.0 --json

Writes a copy in which everything that `stemma doctor` finds is repaired: a torn last line is cut off, calls without a \
result get a marked one, links and missing fields are corrected for that version of the client. Reports every change with \
its line. The transcript itself is never changed, no message is left out, and an intact transcript is not copied. Exits \
with 5 if the client could not load the copy either. To repair the store: `stemma verify --repair`.")]
pub(crate) struct Repair {
    /// A transcript, or a session
    #[arg(value_name = "FILE|SESSION")]
    pub(crate) file: String,

    /// The file to write (written atomically), or `-` for standard output [default: a new file beside the transcript]
    #[arg(long, short, value_name = "FILE", conflicts_with = "dry_run")]
    pub(crate) out: Option<PathBuf>,

    /// Report what would be repaired; write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Repair for this version of the client [default: the installed one, else the newest known]
    #[arg(long, value_name = "VERSION")]
    pub(crate) client_version: Option<String>,
}

/// `index`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma index             the state of the search index
  stemma index rebuild     rebuild it

`stemma search` and `stemma import` keep the index up to date. It can be deleted at any time: it is rebuilt from the store.")]
pub(crate) struct Index {
    /// What to do [default: status]
    #[command(subcommand)]
    pub(crate) command: Option<IndexCommand>,
}

/// What to do with the index.
#[derive(Debug, Clone, Copy, Subcommand)]
pub(crate) enum IndexCommand {
    /// Show its state
    Status,
    /// Rebuild it; searches use the old one meanwhile
    Rebuild,
}

/// `du`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma du
  stemma du --json
  stemma du --chains               the largest sessions
  stemma du --chains --project .   the largest of this directory

A commit that several sessions share counts for the one that began first. A packed commit counts as its share of the \
compressed block. Marks: ⑂ a copy that a client made, ⚙ a subagent.")]
pub(crate) struct Du {
    /// Show the size of each session, largest first
    #[arg(long)]
    pub(crate) chains: bool,

    /// Only sessions that worked in this directory or below it
    #[arg(long, value_name = "DIR", requires = "chains")]
    pub(crate) project: Option<PathBuf>,

    /// How many at most; 0 for all [default: 30; all with `--json`]
    #[arg(short = 'n', long = "limit", value_name = "N", requires = "chains")]
    pub(crate) limit: Option<usize>,
}

/// `backup`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma backup /mnt/disk/stemmata
  stemma backup /mnt/disk/stemmata     again: copies only what is new

Other commands and hooks can run meanwhile. The backup is a store of its own, without the configuration and this machine's \
id. On the same disk, files are hard-linked instead of copied: keep a backup on another disk.")]
pub(crate) struct Backup {
    /// A new folder, or an earlier backup of this store
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
}

/// `restore`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma restore /mnt/disk/stemmata --dry-run   is the backup sound?
  stemma restore /mnt/disk/stemmata          replace the store by a backup
  stemma restore /mnt/disk/stemmata --into ~/elsewhere
  stemma restore                             recover this project's ledger
  stemma restore --repair                    and set damaged lines aside

With DIR: copies the backup, verifies the copy, then puts it in the store's place. The old store is renamed to \
`store.before-restore-<time>`, never deleted. Run no other `stemma` meanwhile. Without DIR: recovers the state of the current \
project's ledger and reports what it found; the store is not replaced. To get a session's transcript back: \
`stemma recover`.")]
pub(crate) struct Restore {
    /// The folder of a backup [default: recover the state of a ledger]
    #[arg(value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,

    /// Restore the backup into this data directory instead
    #[arg(long, value_name = "HOME", requires = "folder")]
    pub(crate) into: Option<PathBuf>,

    /// Copy and verify the backup, replace nothing
    #[arg(long, requires = "folder")]
    pub(crate) dry_run: bool,

    /// Do not ask
    #[arg(long, short, requires = "folder")]
    pub(crate) yes: bool,

    /// Set damaged lines of the ledger aside
    #[arg(long, conflicts_with = "folder")]
    pub(crate) repair: bool,

    #[command(flatten)]
    pub(crate) which: Which,
}

/// `pack`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma pack
  stemma pack --level 19     smaller, and much slower

New content is stored so that writing is fast. Packing compresses it again: neighbours of one conversation together, copies \
against their originals. The store stays usable meanwhile. `stemma gc` and large imports pack, too.")]
pub(crate) struct Pack {
    /// How hard to compress, from 1 (fast) to 19 (small) [default: a measured compromise]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=19))]
    pub(crate) level: Option<u8>,
}

/// `migrate`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma migrate --dry-run
  stemma migrate --yes
  stemma migrate --rollback --dry-run

Any command makes changes that only add something. Changes that rewrite the store are made only here: after a backup beside \
the store (`store.v<version>`), and only if the result verifies.")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct Migrate {
    /// Show what would be done, change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Do not ask
    #[arg(long, short)]
    pub(crate) yes: bool,

    /// Go back to the version before
    #[arg(long)]
    pub(crate) rollback: bool,

    /// With `--rollback`: go back even if only the newer store, which is kept, has some commits
    #[arg(long, requires = "rollback")]
    pub(crate) leave_commits: bool,
}

/// `exclude`
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "\
Examples:
  stemma exclude add ~/clients/secret        this directory and all below it
  stemma exclude add '**/*.private'          `*` in a name, `**` across, `?` one
  stemma exclude remove ~/clients/secret
  stemma exclude list

A session whose transcript or working directory is excluded is never captured, neither by `import` nor by hooks. What was \
captured before stays.")]
pub(crate) struct Exclude {
    /// What to do [default: list]
    #[command(subcommand)]
    pub(crate) command: Option<ExcludeCommand>,

    /// As `exclude add`
    #[arg(value_name = "PATH", hide = true, value_parser = parse_path)]
    pub(crate) path: Option<String>,

    /// With PATH: as `exclude remove`
    #[arg(long, hide = true, requires = "path")]
    pub(crate) remove: bool,

    /// As `exclude list`
    #[arg(long, hide = true, conflicts_with = "path")]
    pub(crate) list: bool,
}

/// What to do with exclusions.
#[derive(Debug, Subcommand)]
pub(crate) enum ExcludeCommand {
    /// Never capture sessions of a directory, of a transcript or of matching paths
    Add(ExcludeNew),
    /// Capture them again
    #[command(visible_alias = "rm")]
    Remove(ExcludePath),
    /// List what is excluded and paused
    #[command(visible_alias = "ls")]
    List,
}

/// `exclude add`
#[derive(Debug, Args)]
pub(crate) struct ExcludeNew {
    /// A directory, a transcript, or a pattern of paths
    #[arg(value_name = "PATH", value_parser = parse_new)]
    pub(crate) path: String,
}

/// `exclude remove`
#[derive(Debug, Args)]
pub(crate) struct ExcludePath {
    /// A directory, a transcript, or a pattern of paths
    #[arg(value_name = "PATH")]
    pub(crate) path: String,
}

/// Refuses a verb where a path was expected: `exclude add list` is a slip.
fn parse_new(text: &str) -> Result<String, String> {
    if RESERVED.iter().any(|word| text.eq_ignore_ascii_case(word)) {
        return Err(format!("this is a verb, not a path; for a directory of this name, write `./{text}`"));
    }
    Ok(text.to_owned())
}

/// Refuses a bare word where a verb was expected: `lsit` is a slip, not a directory to exclude.
fn parse_path(text: &str) -> Result<String, String> {
    if text.contains(['/', '\\', '.', '*', '~']) {
        return Ok(text.to_owned());
    }
    Err("this is not a verb; to exclude a directory of this name, use `exclude add`".to_owned())
}

/// `pause`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma pause 2h
  stemma pause 3d --project ~/clients/secret
  stemma unpause

Nothing is captured until then. What clients write meanwhile stays in their transcripts, and the next `import` after the \
pause reads it; `stemma exclude add` is for what must never be read.")]
pub(crate) struct Pause {
    /// How long (`30m`, `2h`, `3d`) [default: until `stemma unpause`]
    #[arg(value_name = "TIME")]
    pub(crate) duration: Option<String>,

    /// As TIME
    #[arg(long = "for", value_name = "TIME", hide = true, conflicts_with = "duration")]
    pub(crate) length: Option<String>,

    /// Only sessions that work at or below this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) project: Option<PathBuf>,
}

/// `unpause`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma unpause
  stemma unpause --project ~/clients/secret")]
pub(crate) struct Unpause {
    /// Only the pause of this directory [default: all pauses]
    #[arg(long, value_name = "DIR")]
    pub(crate) project: Option<PathBuf>,
}

/// `status`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma status")]
pub(crate) struct Status {}

/// `config`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma config                           all settings, and where they come from
  stemma config explain import.threads    one setting in full
  stemma config explain window --window 200000
  stemma config set capture.granularity message
  stemma config unset capture.granularity    the default again
  stemma config path

A flag wins over the environment (`STEMMATA_…`), the environment over the file, the file over the default.")]
pub(crate) struct Config {
    /// What to do [default: show all settings]
    #[command(subcommand)]
    pub(crate) command: Option<ConfigCommand>,
}

/// What to do with the configuration.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Explain a setting: what it does, its value, and what it overrides
    Explain {
        /// The setting, such as `import.threads`; `window`: all limits of a context window, in the order in which they act
        #[arg(value_name = "KEY")]
        key: String,

        /// With `window`: the size of the model's window
        #[arg(long, value_name = "TOKENS", allow_negative_numbers = true, value_parser = window_tokens)]
        window: Option<u64>,

        /// With `window`: the model whose window it is
        #[arg(long, value_name = "MODEL", conflicts_with = "window")]
        model: Option<String>,
    },
    /// Print the path of the configuration file
    Path,
    /// Change a setting in the file; other lines and comments stay
    Set {
        /// The setting, such as `import.threads`
        #[arg(value_name = "KEY")]
        key: String,
        /// The value
        #[arg(value_name = "VALUE")]
        value: String,
    },
    /// Remove a setting from the file, so that its default holds again; other lines and comments stay
    Unset {
        /// The setting, such as `import.threads`
        #[arg(value_name = "KEY")]
        key: String,
    },
}

/// `completions`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma completions bash > ~/.local/share/bash-completion/completions/stemma
  stemma completions zsh > ~/.zfunc/_stemma
  stemma completions fish > ~/.config/fish/completions/stemma.fish")]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub(crate) shell: clap_complete::Shell,
}

/// `complete`
#[derive(Debug, Args)]
pub(crate) struct Complete {
    /// The words of the command line after the program's name, the last one half typed
    #[arg(value_name = "WORD", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) words: Vec<String>,
}

/// `generate-reference`
#[derive(Debug, Args)]
pub(crate) struct GenerateReference {
    /// The folder to write into; it must exist
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
}
