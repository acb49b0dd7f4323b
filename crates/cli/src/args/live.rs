//! Flags of the commands that capture while clients work.
//!
//! Only shapes, as everything below `args`.

use std::path::PathBuf;

use clap::Args;
use stemmata_model::{ThreadId, TicketId};

use super::{REF_HELP, clients};

/// `watch`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma watch                      all clients of this machine
  stemma watch ~/backup/projects    every transcript below a folder
  stemma watch --poll 10       every ten seconds, for network file systems
  stemma watch --json               one JSON object a line

First imports what is there, then captures every session within a second or two of each change, until it is interrupted \
(Ctrl-C) or terminated; changes noticed by then are still captured. The commits are the same as those of `stemma import`. \
Exclusions and pauses apply, also those made while it runs. What cannot be captured is tried again.")]
pub(crate) struct Watch {
    /// Files, or folders to search for `.jsonl` [default: the homes of known clients, also new ones]
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,

    /// Check everything at this interval instead of waiting for file-system events
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..=86_400))]
    pub(crate) poll: Option<u32>,
}

/// `run`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma run -- claude -p 'fix the test' --output-format stream-json --verbose
  stemma run -- codex exec --json 'fix the test'
  stemma run --ticket T-12 -- ./my-agent < prompt.txt

The command runs as it would alone: input, output, exit code and signals are its own. Structured output of a client is \
stored as it is. Any other output is stored line by line with the time, together with the lines of input (`generic-v1`). Commits \
are made while it runs and when it ends. Recording never stops the command: if something goes wrong, the next `stemma` \
command imports the rest, and `stemma status` says what happened. The command finds the session's id \
in `$STEMMATA_SESSION`.")]
pub(crate) struct Run {
    /// The command and its arguments, after `--`
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) command: Vec<String>,

    /// Also store structured output as lines with times
    #[arg(long)]
    pub(crate) timed: bool,

    /// A ticket to record with the session
    #[arg(long, value_name = "TICKET")]
    pub(crate) ticket: Option<TicketId>,

    /// A thread to record with the session
    #[arg(long, value_name = "THREAD")]
    pub(crate) thread: Option<ThreadId>,
}

/// `start`
#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  stemma start reviewer                            without context
  stemma start reviewer --context ctx-3f9k2m7q     with the context of a commit
  stemma start reviewer --context T-12 --print
  stemma start author -- -p 'continue'     pass arguments to the client
  stemma start author --ticket T-12      record the ticket with the session

A template is a section of the configuration file: `[templates.reviewer]` with `client`, and optionally `model`, \
`profile`, `strategy`, `command`, `system_prompt` and `tools` (docs/reference/configuration.md). Your own agent loop uses \
the same template with `stemma assemble --template reviewer`. The agent always gets a new session: from the newest commit of a \
session it continues that one, from an older commit it starts a branch.\n\n{REF_HELP}"))]
pub(crate) struct Start {
    /// The kind of agent: a template of the configuration
    #[arg(value_name = "TEMPLATE", required_unless_present = "template", conflicts_with = "template")]
    pub(crate) named: Option<String>,

    /// The same, as a flag
    #[arg(long, short, value_name = "NAME")]
    pub(crate) template: Option<String>,

    /// The context to start with: a commit, or `none`
    #[arg(long, short, value_name = "REF")]
    pub(crate) context: Option<String>,

    /// End the context at this entry, as `fork --at` does
    #[arg(long, value_name = "ENTRY", requires = "context")]
    pub(crate) at: Option<String>,

    /// The directory that the agent will work in [default: the current one]
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,

    /// The ticket to record with the session
    #[arg(long, value_name = "TICKET")]
    pub(crate) ticket: Option<TicketId>,

    /// The discussion thread to record with the session
    #[arg(long, value_name = "THREAD")]
    pub(crate) thread: Option<ThreadId>,

    /// Place the context and print the client's command instead of running it (as `--json` does)
    #[arg(long)]
    pub(crate) print: bool,

    /// Check everything and report what would be written and started; write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Arguments for the client, after `--`
    #[arg(value_name = "ARG", last = true)]
    pub(crate) extra: Vec<String>,
}

/// `setup`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma setup               asks before each step
  stemma setup --yes         does all of it
  stemma setup --dry-run     says what it would do

Finds the clients of this machine, imports their sessions, adds hooks, so that each turn is captured as it ends, writes a \
completion file for your shell, and lets git commits of this repository name their session. What is done already is left alone. \
`stemma uninstall --all` removes the hooks and the completion file, `stemma git uninstall` the trailer.")]
pub(crate) struct Setup {
    /// Do everything without asking
    #[arg(long, short = 'y', conflicts_with = "dry_run")]
    pub(crate) yes: bool,

    /// Say what would be done, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// `install`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma install --all                    every client on this machine
  stemma install claude-code --dry-run    show what would change
  stemma install claude-code --diff       and show the lines
  stemma install codex --inject      give the agent a brief after compactions
  stemma install pi                       installs a separate extension file

Adds one hook for each event that matters (a turn ends, a compaction comes, a session ends; more with \
`capture.provisional`) to the client's own settings, and nothing else; your hooks stay, and a copy of the file is kept \
beside it. The hook captures what is new in milliseconds and never breaks the client, even when `stemma` is gone.")]
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of its own")]
pub(crate) struct Install {
    #[arg(help = clients::with_hooks(), value_name = "CLIENT", required_unless_present = "all", conflicts_with = "all")]
    pub(crate) runtime: Option<String>,

    /// Every client on this machine
    #[arg(long)]
    pub(crate) all: bool,

    /// Let the hooks hand the agent a brief of what was lost, after a compaction or on resume
    #[arg(long)]
    pub(crate) inject: bool,

    /// Show the lines that change
    #[arg(long)]
    pub(crate) diff: bool,

    /// Say what would change, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// `uninstall`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma uninstall claude-code
  stemma uninstall --all --dry-run

Takes our hooks out of the client's settings, which are then what they were before, byte for byte. Copies, folders and files that \
`install` made go too, with `--all` also the completion file that `setup` wrote. What was captured stays.")]
pub(crate) struct Uninstall {
    /// The client
    #[arg(value_name = "CLIENT", required_unless_present = "all", conflicts_with = "all")]
    pub(crate) runtime: Option<String>,

    /// Every client that has hooks of ours
    #[arg(long)]
    pub(crate) all: bool,

    /// Show the lines that change
    #[arg(long)]
    pub(crate) diff: bool,

    /// Say what would change, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// `hook`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma hook claude-code < input.json
  stemma hook codex Stop < input.json

Called by a client's hooks with JSON on standard input; `stemma install CLIENT` sets that up. Captures what is new in the \
transcript, waits at most 20 ms for the store and leaves the rest to a command in the background. Prints nothing and \
always ends with 0; `stemma status` shows what went wrong.")]
pub(crate) struct Hook {
    /// The client that calls
    #[arg(value_name = "CLIENT")]
    pub(crate) runtime: String,

    /// The event [default: the one that the input names]
    #[arg(value_name = "EVENT")]
    pub(crate) event: Option<String>,

    /// Print the brief of a resumed or compacted session, which the client gives to its agent
    #[arg(long)]
    pub(crate) inject: bool,

    /// The input, instead of standard input: for a client that may end before it has written it
    #[arg(long, value_name = "JSON")]
    pub(crate) input: Option<String>,
}
