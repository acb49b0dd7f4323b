//! Flags of the commands about the store and the program itself.
//!
//! Only shapes, as everything below `args`.

use std::path::PathBuf;

use super::ledger::Which;
use clap::{Args, Subcommand};

/// `verify`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma verify
  stemma verify --json && echo sound
  stemma verify --repair
  stemma verify --repair --from /mnt/disk/stemmata

Reads everything that is stored. Reports every damage it finds, and exits with 6 where there is one. A repair takes \
sound copies from backups, other stores and bundles, reads transcripts again that are still there, and recomputes what follows \
from commits; whatever it takes has the right hash.")]
pub(crate) struct Verify {
    /// Mend what can be mended
    #[arg(long)]
    pub(crate) repair: bool,

    /// A backup, the folder of another store, or a bundle, to look for sound copies in
    #[arg(long, value_name = "PATH", requires = "repair")]
    pub(crate) from: Vec<PathBuf>,
}

/// `doctor`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma doctor ~/.claude/projects/-srv-app/3f9c1d20-5a5b-4c8e-9d1a-0b7e6f4a2c11.jsonl
  stemma doctor 3f9c1d20          the transcript of a session
  stemma doctor --all             every transcript of this machine; shows those with trouble

Reads a transcript as its client's loader would and says what would reach the model: the failure to fear is a client that \
starts without a word and has lost half the history. Changes nothing. Exits with 6 where a client would refuse one or lose \
some of it.")]
pub(crate) struct Doctor {
    /// Transcripts, or sessions
    #[arg(value_name = "FILE|SESSION", required_unless_present = "all")]
    pub(crate) files: Vec<String>,

    /// All transcripts of the clients of this machine
    #[arg(long)]
    pub(crate) all: bool,

    /// Judge as this version of the client would; none: the one that wrote the transcript
    #[arg(long, value_name = "VERSION")]
    pub(crate) client_version: Option<String>,
}

/// `repair`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma repair 3f9c1d20-5a5b-4c8e-9d1a-0b7e6f4a2c11.jsonl      a copy beside it: ….repaired.jsonl
  stemma repair 3f9c1d20 --out mended.jsonl                     the transcript of a session
  stemma repair rollout.jsonl --client-version 0.169.0 --json

Mends what `stemma doctor` finds: cuts a torn tail, answers calls that have no result with a marked one, mends links and \
missing fields as the client's loader of that version needs them, and says what it changed, line by line. The transcript \
itself is never touched, nothing that was said is left out, and where nothing is wrong no copy is made. Refuses (5) where \
the client would not take the result whole either. To mend the store and not a transcript: `stemma verify --repair`.")]
pub(crate) struct Repair {
    /// A transcript, or a session
    #[arg(value_name = "FILE|SESSION")]
    pub(crate) file: String,

    /// The file to write (it appears whole or not at all), or `-` for standard output; none: a new one beside the
    /// transcript
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,

    /// Mend for this version of the client; none: the one that wrote the transcript
    #[arg(long, value_name = "VERSION")]
    pub(crate) client_version: Option<String>,
}

/// `index`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma index                 how the search index is
  stemma index rebuild         make it anew, whatever there is

The index is made of what is stored, beside it, and brought up to date by `stemma search` and `stemma import`. It may be \
deleted at any time.")]
pub(crate) struct Index {
    /// What to do; none: `status`
    #[command(subcommand)]
    pub(crate) command: Option<IndexCommand>,
}

/// What to do with the index.
#[derive(Debug, Clone, Copy, Subcommand)]
pub(crate) enum IndexCommand {
    /// Say how it is
    Status,
    /// Make it anew; searches go on with the old one meanwhile
    Rebuild,
}

/// `du`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma du
  stemma du --json
  stemma du --chains               the sessions that take most
  stemma du --chains --project .   those of this directory

Bytes in packs are shares of the blocks that hold them, by length. A commit that several sessions have counts for the \
one that began first. Marks: ⑂ a copy that a client made, and of what; ⚙ subagents.")]
pub(crate) struct Du {
    /// What each session's chain takes, the largest first
    #[arg(long)]
    pub(crate) chains: bool,

    /// Only sessions that worked in this directory or below it
    #[arg(long, value_name = "DIR", requires = "chains")]
    pub(crate) project: Option<PathBuf>,

    /// How many at most; 0 for all (default: 30, with `--json` all)
    #[arg(short = 'n', long = "limit", value_name = "N", requires = "chains")]
    pub(crate) limit: Option<usize>,
}

/// `backup`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma backup /mnt/disk/stemmata
  stemma backup /mnt/disk/stemmata     once more: only what is new is copied

Other commands and hooks go on meanwhile. The folder is a store itself; the configuration and this machine's id are \
not in it. On the same disk packs are shared, not copied: keep a backup on another disk.")]
pub(crate) struct Backup {
    /// A new folder, or one with an earlier backup of this store
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
}

/// `restore`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma restore                                           this project's state: what it was made from, what was wrong
  stemma restore --repair                                  and set damaged lines of a ledger in files aside
  stemma restore /mnt/disk/stemmata                        a backup in the place of the store
  stemma restore /mnt/disk/stemmata --into ~/elsewhere     then `STEMMATA_HOME=~/elsewhere stemma log`

Without DIR nothing is replaced: the ledger is read from its saved state on, and what was recovered is said. With DIR it \
copies the backup, verifies the copy, and only then puts it in the store's place. The store that was there is renamed \
to `store.before-restore-<time>`, never deleted. Let no other `stemma` work meanwhile.")]
pub(crate) struct Restore {
    /// The folder of a backup; none: restore the state of a ledger
    #[arg(value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,

    /// The data directory to restore a backup into, instead of `STEMMATA_HOME`
    #[arg(long, value_name = "HOME", requires = "folder")]
    pub(crate) into: Option<PathBuf>,

    /// Set damaged lines of the ledger aside, so that it can be read and written again
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
  stemma pack --level 19          smaller and much slower

New content is stored so that writing it is fast. Packing compresses it again, neighbours of one conversation
together and copies against their originals. Everything can be read and written meanwhile. `stemma gc` packs too, and
`stemma import` after a large import (`pack.after_import_mib`).")]
pub(crate) struct Pack {
    /// How hard to compress, from 1 (fast) to 19 (small); without it what was measured to be a good middle
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=19))]
    pub(crate) level: Option<u8>,
}

/// `migrate`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma migrate --dry-run
  stemma migrate
  stemma migrate --rollback

Steps that only add something are done by every command that opens the store. Those that rewrite it are done here \
alone: with a backup beside the store first (`store.v<version>`), and with everything verified before it counts.")]
pub(crate) struct Migrate {
    /// Show what would be done, and do nothing
    #[arg(long, conflicts_with = "rollback")]
    pub(crate) dry_run: bool,

    /// Go back to the version before this one
    #[arg(long)]
    pub(crate) rollback: bool,

    /// With `--rollback`: leave commits behind that only the newer store has; it is kept beside
    #[arg(long, requires = "rollback")]
    pub(crate) leave_commits: bool,
}

/// `exclude`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma exclude ~/clients/secret            this directory and all below it
  stemma exclude '**/*.private'              `*` within a name, `**` across names, `?` one character
  stemma exclude ~/clients/secret --remove
  stemma exclude --list

A session whose transcript or working directory is there or below is never captured, neither by `import` nor by hooks. \
What was captured before stays.")]
pub(crate) struct Exclude {
    /// A directory, a transcript, or a pattern of paths
    #[arg(value_name = "PATH", required_unless_present = "list")]
    pub(crate) path: Option<String>,

    /// Take an exclusion back
    #[arg(long, conflicts_with = "list")]
    pub(crate) remove: bool,

    /// Show what is excluded
    #[arg(long, conflicts_with = "path")]
    pub(crate) list: bool,
}

/// `pause`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma pause --for 2h
  stemma pause --project ~/clients/secret
  stemma unpause

Nothing is captured until then. What clients write meanwhile is in their transcripts, and the next `import` after the \
pause reads it; `stemma exclude` is for what shall never be read.")]
pub(crate) struct Pause {
    /// How long (`30m`, `2h`, `3d`); without it, until `stemma unpause`
    #[arg(long = "for", value_name = "TIME")]
    pub(crate) duration: Option<String>,

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
    /// Only the pause of this directory; without it, all pauses
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
  stemma config                                    every key, its value, where it comes from
  stemma config explain import.threads             one key in full
  stemma config explain window --window 200000      the limits of a context window, in the order in which they act
  stemma config set capture.granularity message
  stemma config path

Layers, later ones win: default, file, environment (`STEMMATA_…`), flag.")]
pub(crate) struct Config {
    /// What to do; none: show everything.
    #[command(subcommand)]
    pub(crate) command: Option<ConfigCommand>,
}

/// What to do with the configuration.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Show one key: what it does, its value, and every value that this one overrules
    Explain {
        /// The key, such as `import.threads`; `window`: all limits of a context window, in the order in which they act
        #[arg(value_name = "KEY")]
        key: String,

        /// With `window`: tokens that the model takes
        #[arg(long, value_name = "TOKENS")]
        window: Option<u64>,

        /// With `window`: the model whose window it is
        #[arg(long, value_name = "MODEL", conflicts_with = "window")]
        model: Option<String>,
    },
    /// Print where the file is, whether it exists or not
    Path,
    /// Set a key in the file; other lines and comments stay
    Set {
        /// The key, such as `import.threads`
        #[arg(value_name = "KEY")]
        key: String,
        /// The value
        #[arg(value_name = "VALUE")]
        value: String,
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
