//! The command line: what can be asked for, with help that teaches.
//!
//! Only shapes; what a command does is in `commands`.

pub(crate) mod annotate;
pub(crate) mod artifact;
pub(crate) mod asked;
pub(crate) mod browse;
pub(crate) mod bundle;
pub(crate) mod capture;
mod clients;
pub(crate) mod git;
pub(crate) mod give;
pub(crate) mod groups;
pub(crate) mod keep;
pub(crate) mod ledger;
pub(crate) mod live;
pub(crate) mod maintain;
pub(crate) mod memory;
pub(crate) mod prompts;
pub(crate) mod registry;
pub(crate) mod search;
pub(crate) mod secrets;
pub(crate) mod serve;
pub(crate) mod window;

use clap::{Parser, Subcommand, ValueEnum};
use stemmata_model::Timestamp;

/// Where the help of a command that takes a commit says how to name one.
pub(crate) const REF_HELP: &str = "`stemma help refs` explains how to write REF.";

/// `stemma help refs`: how a session or a commit can be named.
pub(crate) const REFS: &str = "\
How to name a session or a commit (REF in the help of commands):

  4a36             a session, by the beginning of its ID: its newest commit
  ctx-3f9k2m7q     a commit, by its id or a unique beginning: 3f9k
  @                the newest session of this directory; @- is the one before
  4a36~2           two commits before it
  4a36:3           the state before the third prompt
  4a36:2..4        the second to the fourth prompt, for `show` and `export`
  before-rewrite   a tag (`stemma tag`)
  'flaky timer'    whole words of a title, one of at least four letters
  ~/…/9c1d….jsonl  the path of an imported transcript

A name that could mean several things is refused, with the candidates listed.
";

/// Your agent's understanding, versioned: capture it, resume it, fork it, and never lose it.
#[derive(Debug, Parser)]
#[command(
    name = "stemma",
    version,
    propagate_version = false,
    subcommand_required = true,
    arg_required_else_help = true,
    max_term_width = 100,
    after_help = "\
Data goes to standard output, everything else to standard error. Nothing is sent anywhere \
unless you configure a model or an embeddings server."
)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,

    /// What holds for every command.
    #[command(flatten)]
    pub(crate) global: Global,
}

/// Flags of every command.
#[derive(Debug, clap::Args)]
pub(crate) struct Global {
    /// Print one JSON object (docs/reference/json.md) instead of text
    #[arg(long, global = true, help_heading = "Global options")]
    pub(crate) json: bool,

    /// When to use colour
    #[arg(long, global = true, value_name = "WHEN", help_heading = "Global options")]
    pub(crate) color: Option<ColorWhen>,

    /// Show only results and errors: no progress, no notes and, if all went well, no warnings
    #[arg(long, short, global = true, help_heading = "Global options")]
    pub(crate) quiet: bool,

    /// Ask the service at this address (`unix:/path` or `http://host:port`) instead of this machine's store
    #[arg(long, global = true, value_name = "ADDRESS", help_heading = "Global options")]
    pub(crate) server: Option<String>,

    /// The time to take for the present, for tests
    #[arg(long, global = true, hide = true, value_name = "TIME")]
    pub(crate) test_now: Option<Timestamp>,

    /// What to take for the mark of this machine, for tests
    #[arg(long, global = true, hide = true, value_name = "MARK")]
    pub(crate) test_host: Option<String>,
}

/// When to use colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorWhen {
    /// On a terminal.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// One command.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Import the sessions of this machine's clients, or of PATHs
    Import(capture::Import),
    /// Capture sessions while clients write them
    Watch(live::Watch),
    /// Start an agent of a configured kind, with or without a context
    Start(live::Start),
    /// Run a command and record what it reads and prints as a session
    Run(live::Run),
    /// Find what was said and done, in any client
    #[command(visible_aliases = ["grep", "find"])]
    Search(search::Search),
    /// List sessions, newest first
    #[command(visible_alias = "ls")]
    List(browse::List),
    /// Count sessions, time, tokens and cost by day, project, client or model
    Stats(browse::Stats),
    /// List sessions as `list` does; with a REF, the turns behind it
    Log(browse::Log),
    /// Draw a session: turns, forks, compactions, subagents
    Tree(browse::Tree),
    /// Show a turn, or a session at a glance
    Show(browse::Show),
    /// List the commits before one, newest first
    History(browse::History),
    /// List the commits that continue one
    Children(browse::Children),
    /// List the ends of branches, newest first
    Tips(browse::Tips),
    /// List the files that were captured beside a session's transcript: long outputs of tools, backups
    Sidecars(browse::Sidecars),
    /// Show which agent wrote each line of a file, and why
    Blame(git::Blame),
    /// Compare two points, or show what a compaction lost
    Diff(browse::Diff),
    /// Find the commit at a point in time
    Resolve(browse::Resolve),
    /// Write a session's transcript, byte for byte
    Native(give::Native),
    /// Write the conversation that an agent would load at a commit
    Materialize(give::Materialize),
    /// Export a session as HTML, Markdown, ATIF, ACP or OpenTelemetry
    Export(give::Export),
    /// Continue a session in its client, or in another with --in
    Resume(give::Resume),
    /// Start a new session from any point of an old one
    Fork(give::Fork),
    /// Summarize a session as Markdown for another agent
    Handoff(give::Handoff),
    /// About the window of a context.
    #[command(flatten)]
    Window(window::WindowCommand),
    /// Store a conversation as a commit
    Checkpoint(Box<capture::Checkpoint>),
    /// Store the whole context of a commit as one new commit
    Snapshot(capture::Snapshot),
    /// Commit what the current session has produced so far
    Current(capture::Current),
    /// Change the summary, notes and tags of a commit
    Update(annotate::Update),
    /// Add, remove and list tags
    Tag(annotate::Tag),
    /// Protect a commit, and what it needs, from deletion by `gc`
    Pin(annotate::Pin),
    /// Remove the protection of `pin`
    Unpin(annotate::Pin),
    /// Permanently delete a session, a commit or a project
    Forget(keep::Forget),
    /// Remove the copy that `resume` or `fork` placed last
    Undo(keep::Undo),
    /// Find secrets in what is stored, by the current rules
    Scan(secrets::Scan),
    /// Redact secrets in what is stored, and delete the old bytes
    Scrub(secrets::Scrub),
    /// Trust or reject a project's own rules for secrets
    Secrets(secrets::Secrets),
    /// Delete expired and unreferenced data, then repack
    Gc(keep::Gc),
    /// Export sessions to one portable file, and import such files
    Bundle(bundle::Bundle),
    /// About prompts.
    #[command(flatten)]
    Prompts(prompts::PromptCommand),
    /// What a project remembers.
    #[command(flatten)]
    Memory(memory::MemoryCommand),
    /// Append, show and follow the events of a ledger
    Events(ledger::Events),
    /// List, export and import ledgers
    Ledger(ledger::Ledger),
    /// Rebuild a ledger's state from its events
    Replay(ledger::Replay),
    /// Check everything that is stored, and repair it from copies
    Verify(maintain::Verify),
    /// Check whether a client can load a transcript completely
    Doctor(maintain::Doctor),
    /// Write a repaired copy of a damaged transcript
    Repair(maintain::Repair),
    /// Give a session's transcript back to its client, from the store
    Recover(maintain::Recover),
    /// Show the state of the search index, and rebuild it
    Index(maintain::Index),
    /// Show disk usage
    Du(maintain::Du),
    /// Compress what was captured
    Pack(maintain::Pack),
    /// Back up the store, or update an earlier backup
    Backup(maintain::Backup),
    /// Restore the store from a backup
    Restore(maintain::Restore),
    /// Upgrade the store's format, or undo that
    Migrate(maintain::Migrate),
    /// Set everything up: import, hooks, completions, git trailer
    Setup(live::Setup),
    /// Capture each turn as it ends, by hooks in a client's settings
    Install(live::Install),
    /// Remove Stemmata's hooks from a client's settings
    Uninstall(live::Uninstall),
    /// A service, and what it keeps beside its store.
    #[command(flatten)]
    Service(registry::ServiceCommand),
    /// Add a `Context-Id` trailer to git commits
    Git(git::Git),
    /// Capture what is new in a session (called by hooks)
    Hook(live::Hook),
    /// Choose directories whose sessions are never captured
    Exclude(maintain::Exclude),
    /// Stop capturing for a while
    Pause(maintain::Pause),
    /// Resume capturing
    Unpause(maintain::Unpause),
    /// Show what is captured, what is not, and where it is stored
    Status(maintain::Status),
    /// Show and change settings
    Config(maintain::Config),
    /// Print a shell's completion script
    Completions(maintain::Completions),
    /// Show what is here: sessions, hooks, and what to do next
    #[command(hide = true)]
    Home(browse::Home),
    /// Print what completes a command line (called by shells)
    #[command(hide = true)]
    Complete(maintain::Complete),
    /// Write the pages of docs/reference
    #[command(hide = true)]
    GenerateReference(maintain::GenerateReference),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_has_an_example() {
        let command = Cli::command();
        for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
            let help = sub.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains("Examples:\n  stemma "), "{}", sub.get_name());
            for flag in sub.get_arguments() {
                assert!(flag.get_help().is_some(), "{} {}", sub.get_name(), flag.get_id());
            }
        }
    }
}
