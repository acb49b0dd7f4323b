//! Flags of the commands about events and what is folded from them.
//!
//! Only shapes, as everything below `args`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use stemmata_api::v1::Durability;
use stemmata_model::{EventSeq, Json, LedgerId, Party, SessionId, Topic};

/// Which ledger.
#[derive(Debug, Clone, Args)]
pub(crate) struct Which {
    /// The ledger (default: that of the project of the current directory)
    #[arg(long, value_name = "ID", help_heading = "Which ledger")]
    pub(crate) ledger: Option<LedgerId>,

    /// The ledger of the project of this directory
    #[arg(long, value_name = "DIR", conflicts_with = "ledger", help_heading = "Which ledger")]
    pub(crate) project: Option<PathBuf>,
}

/// `events`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma events append status_event \"tests are green\"
  stemma events append PLAN_READY --from planner --data '{\"summary\":\"three steps\"}'
  stemma events append --lines < new.ndjson        all of them, or none
  stemma events query --topic decision_event --since 3d
  stemma events query --topic PLAN_READY --latest 1 --json
  stemma events tail -n 50
  stemma events follow --cursor my-bot             goes on where it stopped last time
  stemma events forget bot-7 --yes                 places and hashes stay, words go
  stemma events forget --event 12 --yes

A ledger is an append-only log of events, one for each project and for each cluster of agents. An event is named by its
number. Secrets are replaced before anything is stored.")]
pub(crate) struct Events {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: EventsCommand,
}

/// What to do with events.
#[derive(Debug, Subcommand)]
pub(crate) enum EventsCommand {
    /// Append an event, or with `--lines` those of standard input
    Append(Box<Append>),
    /// Show events that match, oldest first
    Query(Query),
    /// Show the newest events
    Tail(Tail),
    /// Show events as they come
    Follow(Follow),
    /// Forget what events say, for good: of a session, or some
    Forget(EventsForget),
}

/// When an append returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DurabilityArg {
    /// Durable, with a sync of its own.
    Full,
    /// Durable; appends at the same time share a sync.
    Batch,
    /// Visible to others; a power cut may lose it.
    None,
}

impl From<DurabilityArg> for Durability {
    fn from(argument: DurabilityArg) -> Self {
        match argument {
            DurabilityArg::Full => Self::Full,
            DurabilityArg::Batch => Self::Batch,
            DurabilityArg::None => Self::None,
        }
    }
}

/// `events append`
#[derive(Debug, Args)]
pub(crate) struct Append {
    /// What the event is about: a well-known topic (docs/guide/ledgers.md) or a name of your own
    #[arg(value_name = "TOPIC", required_unless_present = "lines")]
    pub(crate) topic: Option<Topic>,

    /// Text for people and models
    #[arg(value_name = "TEXT")]
    pub(crate) text: Option<String>,

    /// Data for programs
    #[arg(long, value_name = "JSON", value_parser = parse_json)]
    pub(crate) data: Option<Json>,

    /// What programs say about the event
    #[arg(long, value_name = "JSON", value_parser = parse_json)]
    pub(crate) metadata: Option<Json>,

    /// Who sends it
    #[arg(long = "from", value_name = "NAME", default_value = "user")]
    pub(crate) sender: Party,

    /// For whom it is
    #[arg(long = "to", value_name = "NAME", default_value = "broadcast")]
    pub(crate) receiver: Party,

    /// The session that it belongs to
    #[arg(long, value_name = "ID", default_value = "stemma")]
    pub(crate) session: SessionId,

    /// Read events from standard input, a JSON object a line: `topic`, and any of `text`, `data`, `metadata`, `sender`,
    /// `receiver`, `session_id`
    #[arg(long, conflicts_with_all = ["topic", "text", "data", "metadata"])]
    pub(crate) lines: bool,

    /// Append only if this is the ledger's last number (0: none yet)
    #[arg(long, value_name = "N")]
    pub(crate) expect: Option<u64>,

    /// When to return
    #[arg(long, value_enum, default_value_t = DurabilityArg::Batch)]
    pub(crate) durability: DurabilityArg,

    #[command(flatten)]
    pub(crate) which: Which,
}

/// Which events, by what they are.
#[derive(Debug, Clone, Args)]
pub(crate) struct Wanted {
    /// Only this topic; may be given several times
    #[arg(long = "topic", value_name = "TOPIC")]
    pub(crate) topics: Vec<Topic>,

    /// Only those from this sender
    #[arg(long = "from", value_name = "NAME")]
    pub(crate) sender: Option<Party>,

    /// Only those for this receiver
    #[arg(long = "to", value_name = "NAME")]
    pub(crate) receiver: Option<Party>,

    /// Only those of this session
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<SessionId>,

    #[command(flatten)]
    pub(crate) which: Which,
}

/// `events query`
#[derive(Debug, Args)]
pub(crate) struct Query {
    #[command(flatten)]
    pub(crate) wanted: Wanted,

    /// Only those after this number
    #[arg(long, value_name = "N")]
    pub(crate) after: Option<EventSeq>,

    /// Only those up to this number
    #[arg(long, value_name = "N")]
    pub(crate) through: Option<EventSeq>,

    /// Only those at this time or later: RFC 3339, or how long ago (`2h`, `3d`)
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,

    /// Only those at this time or earlier
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<String>,

    /// Only those that may enter a prompt
    #[arg(long)]
    pub(crate) replayable: bool,

    /// The newest so many, still oldest first
    #[arg(long, value_name = "K", conflicts_with = "limit")]
    pub(crate) latest: Option<usize>,

    /// How many at most (default: 30, with `--json` 10000 or as many as have 8 MiB)
    #[arg(short = 'n', long = "limit", value_name = "N")]
    pub(crate) limit: Option<usize>,
}

/// `events tail`
#[derive(Debug, Args)]
pub(crate) struct Tail {
    #[command(flatten)]
    pub(crate) wanted: Wanted,

    /// How many
    #[arg(short = 'n', long = "limit", value_name = "N", default_value_t = 20)]
    pub(crate) limit: usize,
}

/// `events follow`
#[derive(Debug, Args)]
pub(crate) struct Follow {
    #[command(flatten)]
    pub(crate) wanted: Wanted,

    /// Begin after this number, not with what comes next
    #[arg(long, value_name = "N", conflicts_with_all = ["beginning", "cursor"])]
    pub(crate) after: Option<EventSeq>,

    /// Begin with the first event
    #[arg(long, conflicts_with = "cursor")]
    pub(crate) beginning: bool,

    /// Begin where the last `follow` with this name stopped, or with the first event
    #[arg(long, value_name = "NAME")]
    pub(crate) cursor: Option<String>,

    /// Stop after so many events
    #[arg(long, value_name = "N")]
    pub(crate) count: Option<u64>,
}

/// `events forget`
#[derive(Debug, Args)]
pub(crate) struct EventsForget {
    /// The session, as `events query --json` shows it; what is said with `decide` and `task` is of `stemma`
    #[arg(value_name = "SESSION", required_unless_present = "events", conflicts_with = "events")]
    pub(crate) session: Option<SessionId>,

    /// This event, not a session; may be given several times
    #[arg(long = "event", value_name = "N")]
    pub(crate) events: Vec<EventSeq>,

    /// In all ledgers, not just in this one
    #[arg(long, conflicts_with_all = ["events", "ledger", "project"])]
    pub(crate) everywhere: bool,

    /// Do it; without this it is only said how much would go
    #[arg(long, short)]
    pub(crate) yes: bool,

    #[command(flatten)]
    pub(crate) which: Which,
}

/// `ledger`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma ledger list
  stemma ledger adopt /Users/ann/shop      sessions from there are of this project too
  stemma ledger export --ledger my-cluster --out my-cluster.db    one SQLite file, as zeroshot reads it
  stemma ledger import my-cluster.db")]
pub(crate) struct Ledger {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: LedgerCommand,
}

/// What to do with ledgers.
#[derive(Debug, Subcommand)]
pub(crate) enum LedgerCommand {
    /// List all ledgers
    List,
    /// Count the sessions of another folder, or of another machine's, as this project's
    Adopt(LedgerAdopt),
    /// Write a ledger as one SQLite file
    Export(LedgerExport),
    /// Take such a file in as a ledger
    Import(LedgerImport),
}

/// `ledger adopt`
#[derive(Debug, Args)]
pub(crate) struct LedgerAdopt {
    /// The folder, as the sessions name it; it need not be there
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: String,

    #[command(flatten)]
    pub(crate) which: Which,
}

/// `ledger export`
#[derive(Debug, Args)]
pub(crate) struct LedgerExport {
    /// The file to write (it appears whole or not at all)
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: PathBuf,

    /// Replace a file that is there
    #[arg(long)]
    pub(crate) force: bool,

    #[command(flatten)]
    pub(crate) which: Which,
}

/// `ledger import`
#[derive(Debug, Args)]
pub(crate) struct LedgerImport {
    /// The file
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// The ledger to read it into, which has no events yet (default: the name that the file has for it)
    #[arg(long, value_name = "ID")]
    pub(crate) into: Option<LedgerId>,
}

/// `state`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma state                 what is known of this project: decisions, open tasks, files, errors
  stemma state --at 120        as it was at event 120
  stemma state --json

Made of the events of the project's ledger and of every captured session of the project, whatever tool it was in.")]
pub(crate) struct State {
    /// As it was when the ledger had this event (0: before the first); without sessions that are only transcripts
    #[arg(long, value_name = "SEQ")]
    pub(crate) at: Option<u64>,

    #[command(flatten)]
    pub(crate) which: Which,
}

/// `replay`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma replay --check        fold all events again and compare with the saved state
  stemma replay                fold all again, and save that")]
pub(crate) struct Replay {
    /// Change nothing; exit with 6 where the saved state and the replay differ
    #[arg(long)]
    pub(crate) check: bool,

    #[command(flatten)]
    pub(crate) which: Which,
}

/// `decide`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma decide \"Retries stop after five attempts\" --reason \"the queue has its own\"
  stemma decide \"Use tabs\" --supersedes 12
  stemma decide \"Use tabs\" --supersedes \"use spaces\"
  stemma decide \"Does the queue keep its order?\" --thread
  stemma decide --close \"keep its order\"               it is answered")]
pub(crate) struct Decide {
    /// What was decided; with `--thread`, what is open
    #[arg(value_name = "TEXT", value_parser = parse_said, required_unless_present = "close")]
    pub(crate) text: Option<String>,

    /// Why
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,

    /// The decision that it replaces: the number that `stemma state` shows, or words that no other one has
    #[arg(long, value_name = "WHICH", value_parser = parse_said)]
    pub(crate) supersedes: Option<String>,

    /// Something that holds rather than something that was chosen
    #[arg(long)]
    pub(crate) fact: bool,

    /// Something that is open: a question, or work that was put off
    #[arg(long, conflicts_with_all = ["fact", "supersedes"])]
    pub(crate) thread: bool,

    /// Close an open thread: the number that `stemma state` shows, or words that no other one has
    #[arg(long, value_name = "WHICH", value_parser = parse_said, conflicts_with_all = ["text", "fact", "supersedes", "thread", "reason"])]
    pub(crate) close: Option<String>,

    #[command(flatten)]
    pub(crate) which: Which,
}

/// `task`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma task \"Mend the flaky test\"
  stemma task                              the open ones
  stemma task --done 14                    the task of event 14
  stemma task --done \"flaky test\"          the open task with these words")]
pub(crate) struct Task {
    /// What is to be done; none: show the open tasks
    #[arg(value_name = "TEXT", conflicts_with = "done", value_parser = parse_said)]
    pub(crate) text: Option<String>,

    /// Mark an open task as done: by what `stemma task` shows behind it, or by words of it
    #[arg(long, value_name = "WHICH", value_parser = parse_said)]
    pub(crate) done: Option<String>,

    #[command(flatten)]
    pub(crate) which: Which,
}

/// Words that are meant for a command, not to be remembered.
const RESERVED: [&str; 12] =
    ["list", "ls", "show", "done", "add", "new", "rm", "remove", "delete", "close", "status", "help"];

/// Refuses what says nothing, and what was meant as a command.
fn parse_said(text: &str) -> Result<String, String> {
    let text = text.trim();
    if text.is_empty() {
        return Err("it says nothing".to_owned());
    }
    if RESERVED.iter().any(|word| text.eq_ignore_ascii_case(word)) {
        return Err(
            "this is no text but looks like a command: `--help` shows how to list, end and record".to_owned()
        );
    }
    Ok(text.to_owned())
}

fn parse_json(text: &str) -> Result<Json, String> {
    Json::parse(text).map_err(|error| error.to_string())
}
