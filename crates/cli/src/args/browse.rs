//! Flags of the commands that look at what is stored.
//!
//! Only shapes, as everything below `args`.

use std::path::PathBuf;

use clap::{ArgGroup, Args, ValueEnum};
use stemmata_model::{Principal, SessionId};

use super::REF_HELP;

/// Entries before and after one that is shown.
pub(crate) const AROUND_DEFAULT: u64 = 3;

/// `home`
#[derive(Debug, Args)]
pub(crate) struct Home {}

/// `list`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma list                             the newest sessions
  stemma list --here --since 2d           this repository, the last two days
  stemma list timer --client codex        with this word in the title
  stemma list --all -n 0                  all, with subagents and copies

PROMPTS counts what `SESSION:N` counts, ACTIVE leaves out pauses over ten minutes, OUTCOME is that of the last prompt. `…` is \
counted by the next call: each reads 16 MB of what is new. `+2 forks` counts copies of a session that nobody continued; `--all` \
lists them, and sessions that retention has emptied. `only here`: the transcript is gone, `stemma recover` gives it back. A \
narrow terminal leaves out BRANCH, OUTCOME, ACTIVE, PROMPTS, PROJECT and CLIENT, in this order; in a pipe or a file nothing is \
cut. Marks: ⚙ a subagent, ⑂ a copy that a client made, ⇄ another machine's.")]
pub(crate) struct List {
    /// Only sessions with these words in their titles; `stemma search` finds what was said
    #[arg(value_name = "WORDS")]
    pub(crate) words: Vec<String>,

    /// Only sessions of this project: its name as the list shows it, its ledger's id, or a directory: all below it, or
    /// the repository that it is the top of
    #[arg(long, value_name = "NAME|DIR", conflicts_with = "here")]
    pub(crate) project: Option<String>,

    /// Only sessions of the repository around the current directory, in all its worktrees and clones; without one, of the directory
    /// and what is below it
    #[arg(long)]
    pub(crate) here: bool,

    /// Only sessions of this client, such as `claude-code` or `codex`
    #[arg(long, value_name = "CLIENT")]
    pub(crate) client: Option<String>,

    /// Only sessions active since TIME, such as `2d` or `2026-02-01`
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,

    /// Only sessions last active by TIME
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<String>,

    /// Only sessions on this git branch
    #[arg(long, value_name = "BRANCH")]
    pub(crate) branch: Option<String>,

    /// The same as WORDS
    #[arg(long, value_name = "WORDS")]
    pub(crate) title: Option<String>,

    /// Also list subagents, unused copies and empty sessions
    #[arg(long)]
    pub(crate) all: bool,

    /// How many at most; 0 for all [default: 30; all with `--json`]
    #[arg(short = 'n', long = "limit", value_name = "N")]
    pub(crate) limit: Option<usize>,
}

/// `stats`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma stats                              by day, the newest days first
  stemma stats --by month -n 12
  stemma stats --by project --since 7d      what took most time in a week
  stemma stats --by model --client codex

ACTIVE leaves out pauses over ten minutes, adds up sessions that ran at the same time, and counts subagents beside their \
session once. Tokens are those that transcripts report: IN was sent, with what a cache held; CACHED is the part that was read \
from the cache. What several sessions share, as forks do, counts for the one that began first; copies that nobody continued \
count nowhere. COST needs prices, such as `stemma config set stats.prices 'some-model=3/15/0.3/3.75'`: a million tokens \
sent, answered, read from the cache, written to it. `--json` has exact numbers.")]
pub(crate) struct Stats {
    /// What each row is of
    #[arg(long, value_name = "WHAT", value_enum, default_value = "day")]
    pub(crate) by: StatsRows,

    /// Only sessions of this project: its name as `list` shows it, its ledger's id, or a directory: all below it, or
    /// the repository that it is the top of
    #[arg(long, value_name = "NAME|DIR", conflicts_with = "here")]
    pub(crate) project: Option<String>,

    /// Only sessions of the repository around the current directory, in all its worktrees and clones; without one, of the directory
    /// and what is below it
    #[arg(long)]
    pub(crate) here: bool,

    /// Only sessions of this client, such as `claude-code` or `codex`
    #[arg(long, value_name = "CLIENT")]
    pub(crate) client: Option<String>,

    /// Only what was done since TIME, such as `2d` or `2026-02-01`
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,

    /// Only what was done by TIME
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<String>,

    /// How many rows at most; 0 for all [default: 30; all with `--json`]
    #[arg(short = 'n', long = "limit", value_name = "N")]
    pub(crate) limit: Option<usize>,
}

/// What a row of `stats` is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StatsRows {
    /// A day
    Day,
    /// A week, named by its Monday
    Week,
    /// A month
    Month,
    /// A working directory
    Project,
    /// A client
    Client,
    /// A model
    Model,
}

/// `log`
#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  stemma log                   sessions, as `stemma list` shows them
  stemma log 4a36              the turns of a session, newest first
  stemma log @ -n 5            the newest five of the newest session here

The numbers count prompts: `4a36:3` means the state before the third one. Marks of turns: ○ open, ◆ a compaction, ■ a snapshot, ✕ forgotten.\n\n{REF_HELP}"))]
pub(crate) struct Log {
    /// The session or commit to start from [default: all sessions]
    #[arg(value_name = "REF", conflicts_with_all = ["project", "here", "client", "since", "until", "branch", "title", "all"])]
    pub(crate) reference: Option<String>,

    /// Which sessions.
    #[command(flatten)]
    pub(crate) list: List,
}

/// `tree`
#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  stemma tree                  the latest session of this directory, else of all
  stemma tree ctx-3f9k2m7q     the whole tree that a commit is part of
  stemma tree --collapse       only where it branches, compacts and ends

Draws a line for each prompt, with its number, tools, time and outcome; of more than 30 prompts only the first and the last \
ones.

● a turn, ◆ a compaction, ■ a snapshot, ○ a provisional tip (its turn is open), ⚙ a subagent.\n\n{REF_HELP}"))]
pub(crate) struct Tree {
    /// A commit of the tree
    #[arg(value_name = "REF")]
    pub(crate) reference: Option<String>,

    /// Sum up turns that only continue what came before
    #[arg(long)]
    pub(crate) collapse: bool,

    /// Also draw what was placed for a client and never continued
    #[arg(long)]
    pub(crate) copies: bool,
}

/// `show`
#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  stemma show 62687def                   a session at a glance
  stemma show 62687def:3                 the turn of its third prompt
  stemma show 62687def:2..4              the turns of three prompts
  stemma show ctx-3f9k2m7q               the turn of a commit
  stemma show ctx-3f9k2m7q --full        thoughts, arguments and results too
  stemma show ctx-3f9k2m7q --entries     its entries with their ids, for `--at`
  stemma show ctx-3f9k2m7q --entry @41   read its chain around the 41st entry
  stemma show v1-review --meta           ids, sizes, origin, links and tags

The id of a session shows the session; a commit, a tag or `SESSION~0` shows the turn.

{REF_HELP}"))]
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of its own")]
pub(crate) struct Show {
    /// A session, a commit, or SESSION:N for the turn of its N-th prompt, SESSION:N..M for several [default: choose from a list]
    #[arg(value_name = "REF", default_value = "", hide_default_value = true)]
    pub(crate) reference: String,

    /// Show everything: thoughts, arguments and results of a turn, or the whole lists of a session
    #[arg(long, conflicts_with_all = ["entry", "meta", "entries"])]
    pub(crate) full: bool,

    /// Show each thought and each call of a turn on a line of its own
    #[arg(long, short)]
    pub(crate) verbose: bool,

    /// Show only the prompts, in full
    #[arg(long, conflicts_with_all = ["entry", "meta", "entries", "full"])]
    pub(crate) prompts: bool,

    /// Show what the store knows of the commit: ids, sizes, where it was captured, links, tags
    #[arg(long, conflicts_with = "entry")]
    pub(crate) meta: bool,

    /// Like `--meta`, plus the commit's own entries with their ids
    #[arg(long)]
    pub(crate) entries: bool,

    /// Read the chain around this entry: its id, the beginning of it, or `@N` for the N-th of the chain
    #[arg(long, value_name = "ENTRY", conflicts_with = "entries")]
    pub(crate) entry: Option<String>,

    /// With `--entry`: entries with text before and after it, at most 200
    #[arg(long, value_name = "N", default_value_t = AROUND_DEFAULT, requires = "entry")]
    pub(crate) around: u64,

    /// With `--entry`: estimated tokens of all texts together [default: 4000, at most 200000]
    #[arg(long, value_name = "N", requires = "entry")]
    pub(crate) max_tokens: Option<u64>,
}

/// `history`
#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  stemma history ctx-3f9k2m7q
  stemma history ctx-3f9k2m7q -n 10 --skip 10

{REF_HELP}"))]
pub(crate) struct History {
    /// The commit to start from
    #[arg(value_name = "REF")]
    pub(crate) reference: String,

    /// How many at most; 0 for all [default: 30; all with `--json`]
    #[arg(short = 'n', long = "limit", value_name = "N")]
    pub(crate) limit: Option<usize>,

    /// How many to leave out first
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) skip: usize,
}

/// `children`
#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  stemma children ctx-3f9k2m7q

{REF_HELP}"))]
pub(crate) struct Children {
    /// The commit
    #[arg(value_name = "REF")]
    pub(crate) reference: String,
}

/// `sidecars`
#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  stemma sidecars @                 the session of this directory
  stemma sidecars 4a36 --json

`capture.sidecars` says which files are captured. `resume`, `fork` and `recover` give them back.\n\n{REF_HELP}"))]
pub(crate) struct Sidecars {
    /// A session, or a commit of it
    #[arg(value_name = "REF")]
    pub(crate) context: String,
}

/// `tips`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma tips
  stemma tips --ticket TKT-12
  stemma tips --thread '$abc:example.org' --json")]
pub(crate) struct Tips {
    /// The last commits of this ticket, whatever follows them outside it
    #[arg(long)]
    pub(crate) ticket: Option<String>,

    /// The last commits of this discussion thread, whatever follows them outside it
    #[arg(long)]
    pub(crate) thread: Option<String>,

    /// The last commits of this session, whatever follows them outside it
    #[arg(long)]
    pub(crate) session: Option<SessionId>,

    /// How many at most; 0 for all [default: 30; all with `--json`]
    #[arg(short = 'n', long = "limit", value_name = "N")]
    pub(crate) limit: Option<usize>,
}

/// `diff`
#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  stemma diff ctx-3f9k2m7q             what the last compaction lost
  stemma diff ctx-3f9k2m7q --details   entry by entry
  stemma diff 4a36 91bc                how two sessions differ

Nothing is gone for good: `stemma uncompact REF` restores the context before the compaction.\n\n{REF_HELP}"))]
pub(crate) struct Diff {
    /// A compaction, or a commit after one; with OTHER, one side of the comparison
    #[arg(value_name = "REF")]
    pub(crate) reference: String,

    /// The other side: compare from the last commit that both have
    #[arg(value_name = "OTHER")]
    pub(crate) other: Option<String>,

    /// List entries, files, commands, errors and decisions
    #[arg(long)]
    pub(crate) details: bool,
}

/// `resolve`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma resolve --session 62687def --at 2026-11-21T20:20:08Z
  stemma resolve --project . --at 2h           two hours ago
  stemma resolve --principal ann@mac/claude-code --at now

Prints the nearest checkpoint at or before that time; where several on different branches share it, all of them.")]
#[command(group(ArgGroup::new("scope").required(true).args(["principal", "session", "project"])))]
pub(crate) struct Resolve {
    /// Checkpoints of this principal
    #[arg(long)]
    pub(crate) principal: Option<Principal>,

    /// Checkpoints of this session
    #[arg(long)]
    pub(crate) session: Option<SessionId>,

    /// Checkpoints of sessions that worked in this directory or below it
    #[arg(long, value_name = "DIR")]
    pub(crate) project: Option<PathBuf>,

    /// When: `2026-11-21T20:20:08Z`, `now`, or how long ago (`30m`, `2h`, `3d`, `1w`)
    #[arg(long, value_name = "TIME")]
    pub(crate) at: String,
}
