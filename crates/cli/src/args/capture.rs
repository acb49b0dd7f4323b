//! Flags of the commands that store something.
//!
//! Only shapes, as everything below `args`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use stemmata_model::{
    ArtifactId, FormatId, Granularity, MachineId, Principal, SessionId, Template, ThreadId, TicketId,
    Timestamp,
};

use super::window::window_tokens;

/// `import`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma import                         every session of this machine
  stemma import ~/backup/projects       every transcript below a folder
  stemma import session.jsonl --json    one file, the result as JSON
  stemma import --or examples     this machine's sessions, else the examples

Reads only what is new since the last time, so it can run as often as you like; interrupt it at any point. \
Secrets (API keys, tokens, private keys) are replaced before anything is stored. The files it reads are never \
changed.")]
pub(crate) struct Import {
    /// Files, or folders to search for `.jsonl` [default: the homes of known clients]
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,

    /// Read this instead if no client has sessions on this machine
    #[arg(long, value_name = "PATH", conflicts_with = "paths")]
    pub(crate) or: Option<PathBuf>,

    /// Read every file from its start, even where nothing changed
    #[arg(long)]
    pub(crate) full: bool,

    /// How often to close a commit: `turn`, `message` or `every:N` turns
    #[arg(long, value_name = "HOW")]
    pub(crate) granularity: Option<Granularity>,

    /// How many transcripts to read at once
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=64))]
    pub(crate) threads: Option<u8>,

    /// Make the briefs of these sessions, as a hook has it done in the background
    #[arg(long, hide = true, requires = "paths")]
    pub(crate) brief: bool,
}

/// `checkpoint`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma checkpoint --format claude-code-v1 --session s1 --content delta.jsonl
  tail -n 4 log.jsonl | stemma checkpoint --format claude-code-v1 --session s1
  stemma checkpoint --format my-agent-v1 --session s1 --artifact art-9f2c…
  stemma checkpoint --out checkpoints     the latest session here, as a file
  stemma checkpoint ctx-3f9k2m7q --out checkpoints --window 200000
  stemma checkpoint --load checkpoints/checkpoint_2026-11-23T201500Z.json

Prints the id of the commit, which can be used at once. A retry with the same `--idempotency-key` in the same \
session gives the same commit. `--out` stores nothing: it writes `checkpoint_<time>.json` with the conversation, tasks, metrics and \
the checksums of the files that the work touched. `--load` checks such a file, says how the working tree differs from it, and \
gives the commit that it names; where this store does not have it, the conversation is imported and marked as foreign.")]
pub(crate) struct Checkpoint {
    /// With `--out`: the commit [default: the latest session of the current directory]
    #[arg(value_name = "REF", requires = "out", conflicts_with = "load")]
    pub(crate) reference: Option<String>,

    /// Write the checkpoint of a commit into this folder
    #[arg(long, value_name = "DIR", conflicts_with_all = ["format", "session", "load"])]
    pub(crate) out: Option<PathBuf>,

    /// Load a checkpoint from this file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["format", "session"])]
    pub(crate) load: Option<PathBuf>,

    /// With `--out`: the size of the model's window [default: of the session's client or model]
    #[arg(long, short, value_name = "TOKENS", allow_negative_numbers = true, value_parser = window_tokens)]
    #[arg(requires = "out", conflicts_with = "load")]
    pub(crate) window: Option<u64>,

    /// A folder of the working tree [default: with `--out` the session's own directory, with `--load` the current one]
    #[arg(long, value_name = "DIR", conflicts_with_all = ["format", "session"])]
    pub(crate) worktree: Option<PathBuf>,

    /// How the content is encoded
    #[arg(long, required_unless_present_any = ["out", "load"])]
    pub(crate) format: Option<FormatId>,

    /// The session that it belongs to
    #[arg(long, required_unless_present_any = ["out", "load"])]
    pub(crate) session: Option<SessionId>,

    /// The content: a file, or `-` for standard input
    #[arg(long, value_name = "FILE", default_value = "-", conflicts_with = "artifact")]
    pub(crate) content: PathBuf,

    /// Content that is already stored, instead of `--content`
    #[arg(long, value_name = "ART")]
    pub(crate) artifact: Option<ArtifactId>,

    /// The commit before this one [default: none, it is a root]
    #[arg(long, value_name = "REF")]
    pub(crate) parent: Option<String>,

    /// What the content is
    #[arg(long = "type", value_name = "TYPE", default_value = "delta")]
    pub(crate) commit_type: TypeArg,

    /// For a snapshot: how many of its first entries the parent's history already contains
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) restated_entries: u64,

    /// What kind of agent it was
    #[arg(long, default_value = "agent")]
    pub(crate) template: Template,

    /// Who ran it [default: you on this machine]
    #[arg(long)]
    pub(crate) principal: Option<Principal>,

    /// Where it ran [default: this machine]
    #[arg(long)]
    pub(crate) machine: Option<MachineId>,

    /// Why it was made
    #[arg(long, default_value = "explicit")]
    pub(crate) trigger: TriggerArg,

    /// The ticket being worked on
    #[arg(long)]
    pub(crate) ticket: Option<TicketId>,

    /// The discussion thread that it belongs to
    #[arg(long)]
    pub(crate) thread: Option<ThreadId>,

    /// A summary for people
    #[arg(long, value_name = "TEXT")]
    pub(crate) summary: Option<String>,

    /// Messages in the content, as you count them
    #[arg(long, value_name = "N")]
    pub(crate) messages: Option<u64>,

    /// Tokens of the content, as you count them
    #[arg(long, value_name = "N")]
    pub(crate) tokens: Option<u64>,

    /// When it happened (`2026-11-21T20:20:08Z`) [default: now]
    #[arg(long, value_name = "TIME")]
    pub(crate) created_at: Option<Timestamp>,

    /// A name for this checkpoint within the session, for safe retries
    #[arg(long, value_name = "KEY")]
    pub(crate) idempotency_key: Option<String>,
}

/// What a checkpoint's content is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TypeArg {
    /// The entries since the parent.
    Delta,
    /// A summary that replaces everything before it.
    Compaction,
    /// A whole context.
    Snapshot,
}

/// What made a checkpoint happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum TriggerArg {
    /// A turn ended.
    TurnBoundary,
    /// A tool returned its result.
    ToolCall,
    /// The context was compacted.
    Compaction,
    /// The session ended.
    SessionEnd,
    /// Somebody asked for it.
    Explicit,
}

/// `snapshot`
#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  stemma snapshot ctx-3f9k2m7q
  stemma snapshot ctx-3f9k2m7q --from start

For very long sessions: reading a later commit stops at the snapshot instead of going back to the start.\n\n{}", super::REF_HELP))]
pub(crate) struct Snapshot {
    /// The commit
    #[arg(value_name = "REF")]
    pub(crate) reference: String,

    /// Where the context starts: `compaction` (the nearest), `start` (of the session), or an earlier commit
    #[arg(long = "from", alias = "stop", value_name = "START", default_value = "compaction")]
    pub(crate) stop: String,
}

/// `current`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma current                    the latest session of this directory
  stemma current 62687def           a session by a prefix of its id
  stemma current --hook < input     the session of a client's hook
  git commit --trailer \"Context-Id: $(stemma current)\"

Works in the middle of a turn too: the open turn becomes a provisional commit.")]
pub(crate) struct Current {
    /// A session id, a prefix of one, or a transcript's path [default: the session that this process runs in, as its
    /// environment says, else the latest session of this directory]
    #[arg(value_name = "SESSION")]
    pub(crate) session: Option<String>,

    /// Read the session's id on standard input, from the JSON that a client gives its hooks
    #[arg(long, conflicts_with = "session")]
    pub(crate) hook: bool,
}
