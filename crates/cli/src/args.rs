//! The command line: what can be asked for, with help that teaches.
//!
//! Only shapes; what a command does is in `commands`.

pub(crate) mod annotate;
pub(crate) mod artifact;
pub(crate) mod browse;
pub(crate) mod bundle;
pub(crate) mod capture;
pub(crate) mod git;
pub(crate) mod give;
pub(crate) mod groups;
pub(crate) mod keep;
pub(crate) mod ledger;
pub(crate) mod live;
pub(crate) mod maintain;
pub(crate) mod prompts;
pub(crate) mod search;
pub(crate) mod secrets;
pub(crate) mod window;

use clap::{Parser, Subcommand, ValueEnum};
use stemmata_model::Timestamp;

/// How a commit can be named, for the help of every command that takes one.
pub(crate) const REF_HELP: &str = "\
REF names a session or a commit: an id as `stemma list` shows it (`4a36`, `ctx-3f9k2m7q`), a tag, a transcript's path, words of \
a title (`'flaky timer'`), or `@` for the newest session of this directory and `@-` for the one before. `REF~2` is two turns \
back, `REF:3` the state before the third prompt. A session means its newest commit. A name that could mean several things is \
refused, with the candidates.";

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
REF names a commit: an id or a unique prefix (`ctx-3f9k2m7q`), a session id, a tag, or a transcript's path.
Data goes to standard output, everything else to standard error. Nothing is ever sent anywhere."
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

    /// Show no progress and no notes, only results and errors
    #[arg(long, short, global = true, help_heading = "Global options")]
    pub(crate) quiet: bool,

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

impl ColorWhen {
    /// Returns the word of the configuration.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Always => "always",
            Self::Never => "never",
        }
    }
}

/// One command.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Read transcripts: all sessions of this machine, or what PATHs name
    Import(capture::Import),
    /// Capture sessions while clients write them
    Watch(live::Watch),
    /// Start an agent of a configured kind, with a context or none
    Start(live::Start),
    /// Run a command and record what it reads and prints as a session
    Run(live::Run),
    /// Find what was said, by words, a text or an expression
    Search(search::Search),
    /// List sessions, the one with the latest activity first
    #[command(visible_alias = "ls")]
    List(browse::List),
    /// List sessions as `list` does; with a REF, the turns behind it
    Log(browse::Log),
    /// Draw a chain at a glance: runs, branches, compactions, subagents
    Tree(browse::Tree),
    /// Show everything known about a commit
    Show(browse::Show),
    /// List the commits from one towards the root
    History(browse::History),
    /// List the commits that continue one
    Children(browse::Children),
    /// List the ends of branches, newest first
    Tips(browse::Tips),
    /// Say which tool call wrote a line of a file, and why
    Blame(git::Blame),
    /// Show what a compaction lost
    Diff(browse::Diff),
    /// Find the checkpoint at a point in time
    Resolve(browse::Resolve),
    /// Write the transcript up to a commit, byte for byte
    Native(give::Native),
    /// Write the conversation as an agent should know it at a commit
    Materialize(give::Materialize),
    /// Write a conversation to read or to hand to other programs: HTML, Markdown, ATIF, ACP, OpenTelemetry
    Export(give::Export),
    /// Carry on from a commit in a new session of the client
    Resume(give::Resume),
    /// Place a commit as a new session beside the old one
    Fork(give::Fork),
    /// Tell a session as one text within a budget, for another agent to go on from
    Handoff(give::Handoff),
    /// About the window of a context.
    #[command(flatten)]
    Window(window::WindowCommand),
    /// Store content as a commit (for programs and hooks)
    Checkpoint(Box<capture::Checkpoint>),
    /// Store the whole context of a commit as one commit below it
    Snapshot(capture::Snapshot),
    /// Commit what a session has produced so far and print the commit
    Current(capture::Current),
    /// Change the summary, notes and tags of a commit
    Update(annotate::Update),
    /// Give a commit a name, or take it away
    Tag(annotate::Tag),
    /// Protect a commit and all it needs from collection
    Pin(annotate::Pin),
    /// End the protection of a commit
    Unpin(annotate::Pin),
    /// Let go of a session, a commit or a project, for good
    Forget(keep::Forget),
    /// Say what today's rules for secrets would find in what is stored
    Scan(secrets::Scan),
    /// Replace secrets in what is stored, and remove the old bytes for good
    Scrub(secrets::Scrub),
    /// Say which projects' rules for secrets count
    Secrets(secrets::Secrets),
    /// Say what is kept of replaced secrets on this machine, and remove it
    Vault(secrets::Vault),
    /// Let go of what retention says and of what nobody needs, and pack the rest
    Gc(keep::Gc),
    /// Write chains as one portable file, and take such files in
    Bundle(bundle::Bundle),
    /// Make the prompt of a turn by a strategy (for programs)
    Assemble(Box<prompts::Assemble>),
    /// Say how a prompt came to be: what is in it, and why
    Context(prompts::Context),
    /// Recall what of earlier work fits a task, as a pack within a budget
    Recall(prompts::Recall),
    /// Begin, store and end turns of a loop of your own (for programs)
    Turn(prompts::Turn),
    /// Check a strategy, or show those that come with Stemmata
    Strategy(prompts::Strategy),
    /// What is known of a project: decisions, open tasks, files, errors
    State(ledger::State),
    /// Record a decision, or a fact, of a project
    Decide(ledger::Decide),
    /// Record a task of a project, end one, or show the open ones
    Task(ledger::Task),
    /// Append, show and follow the events of a ledger
    Events(ledger::Events),
    /// List ledgers, and move them as files
    Ledger(ledger::Ledger),
    /// Fold a ledger's events again, and compare with the saved state
    Replay(ledger::Replay),
    /// Recompute every hash and look up every reference
    Verify(maintain::Verify),
    /// Say whether a client would take a transcript whole, and why not
    Doctor(maintain::Doctor),
    /// Write a repaired copy of a transcript that a client would not take whole
    Repair(maintain::Repair),
    /// Say how the search index is, and make it anew
    Index(maintain::Index),
    /// Show how many bytes were captured and how many they take
    Du(maintain::Du),
    /// Move what was captured into packs, where it takes least room
    Pack(maintain::Pack),
    /// Copy the whole store into a folder, or bring an earlier copy up to date
    Backup(maintain::Backup),
    /// Put a backup in the place of the store
    Restore(maintain::Restore),
    /// Bring the store to the version of this program, or back
    Migrate(maintain::Migrate),
    /// Have a client's hooks capture its sessions as they go
    Install(live::Install),
    /// Take our hooks out of a client's settings
    Uninstall(live::Install),
    /// Let commits of git name the context that they were made in
    Git(git::Git),
    /// Capture what a session has gained (called by a client's hooks)
    Hook(live::Hook),
    /// Never capture sessions of a directory
    Exclude(maintain::Exclude),
    /// Capture nothing for a while
    Pause(maintain::Pause),
    /// Capture again
    Unpause(maintain::Unpause),
    /// Show where things are, and which transcripts are not yet imported
    Status(maintain::Status),
    /// Show and change the configuration
    Config(maintain::Config),
    /// Print a completion script for a shell
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
