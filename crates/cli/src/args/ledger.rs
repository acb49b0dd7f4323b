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
    /// The ledger [default: of the current directory's project]
    #[arg(long, value_name = "ID", help_heading = "Which ledger")]
    pub(crate) ledger: Option<LedgerId>,

    /// The ledger of this project: its directory or its name
    #[arg(long, value_name = "DIR|NAME", conflicts_with = "ledger", help_heading = "Which ledger")]
    pub(crate) project: Option<PathBuf>,
}

/// `events`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma events append status_event \"tests are green\"
  stemma events append PLAN_READY --from planner --data '{\"summary\":\"one\"}'
  stemma events append --lines < new.ndjson    all of them, or none
  stemma events query --topic decision_event --since 3d
  stemma events query --topic PLAN_READY --latest 1 --json
  stemma events tail -n 50
  stemma events follow --cursor my-bot         continues where it stopped
  stemma events forget bot-7 --yes             delete texts, keep numbers
  stemma events forget --event 12 --yes

A ledger is an append-only log of events. Each project and each cluster of agents has one. An event is named by its number. \
Secrets are redacted before anything is stored.")]
pub(crate) struct Events {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: EventsCommand,
}

/// What to do with events.
#[derive(Debug, Subcommand)]
pub(crate) enum EventsCommand {
    /// Append an event, or with `--lines` the events of standard input
    Append(Box<Append>),
    /// Show events that match, oldest first
    Query(Query),
    /// Show the newest events
    Tail(Tail),
    /// Show events as they come
    Follow(Follow),
    /// Permanently delete the text of events
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

    /// Read events from standard input, one JSON object a line: `topic`, and any of `text`, `data`, `metadata`, `sender`,
    /// `receiver`, `session_id`
    #[arg(long, conflicts_with_all = ["topic", "text", "data", "metadata"])]
    pub(crate) lines: bool,

    /// Append only if this is the last number of the ledger (0: it has none)
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

    /// Only those that a prompt may use
    #[arg(long)]
    pub(crate) replayable: bool,

    /// The newest K, oldest first; 0 for all
    #[arg(long, value_name = "K", conflicts_with = "limit")]
    pub(crate) latest: Option<usize>,

    /// How many at most; 0 for all [default: 30; with `--json` 10000 events or 8 MiB]
    #[arg(short = 'n', long = "limit", value_name = "N")]
    pub(crate) limit: Option<usize>,
}

/// `events tail`
#[derive(Debug, Args)]
pub(crate) struct Tail {
    #[command(flatten)]
    pub(crate) wanted: Wanted,

    /// How many at most; 0 for all
    #[arg(short = 'n', long = "limit", value_name = "N", default_value_t = 20)]
    pub(crate) limit: usize,
}

/// `events follow`
#[derive(Debug, Args)]
pub(crate) struct Follow {
    #[command(flatten)]
    pub(crate) wanted: Wanted,

    /// Begin after this number [default: with the next event]
    #[arg(long, value_name = "N", conflicts_with_all = ["beginning", "cursor"])]
    pub(crate) after: Option<EventSeq>,

    /// Begin with the first event
    #[arg(long, conflicts_with = "cursor")]
    pub(crate) beginning: bool,

    /// Begin where the last `follow` with this name stopped, else with the first event
    #[arg(long, value_name = "NAME")]
    pub(crate) cursor: Option<String>,

    /// Stop after N events
    #[arg(long, value_name = "N")]
    pub(crate) count: Option<u64>,
}

/// `events forget`
#[derive(Debug, Args)]
pub(crate) struct EventsForget {
    /// The session, as `events query --json` shows it; decisions and tasks from the command line are of `stemma`
    #[arg(value_name = "SESSION", required_unless_present = "events", conflicts_with = "events")]
    pub(crate) session: Option<SessionId>,

    /// This event, not a session; may be given several times
    #[arg(long = "event", value_name = "N")]
    pub(crate) events: Vec<EventSeq>,

    /// In all ledgers
    #[arg(long, conflicts_with_all = ["events", "ledger", "project"])]
    pub(crate) everywhere: bool,

    /// Show what would be deleted, change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Do not ask
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
  stemma ledger adopt /Users/ann/shop    its sessions belong to this project too
  stemma ledger adopt --remove /Users/ann/shop
  stemma ledger export --ledger my-cluster --out my-cluster.db
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
    /// Treat the sessions of another folder, also of another machine, as this project's
    Adopt(LedgerAdopt),
    /// Write a ledger as one SQLite file that zeroshot can read
    Export(LedgerExport),
    /// Import a file that `ledger export` wrote
    Import(LedgerImport),
}

/// `ledger adopt`
#[derive(Debug, Args)]
pub(crate) struct LedgerAdopt {
    /// The folder, as the sessions name it; it need not exist
    #[arg(value_name = "FOLDER", required_unless_present_any = ["list", "remove"])]
    pub(crate) folder: Option<String>,

    /// List the folders that were adopted
    #[arg(long, conflicts_with_all = ["folder", "remove", "yes"])]
    pub(crate) list: bool,

    /// Remove a folder that was adopted: its sessions no longer count for this project
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["folder", "yes"])]
    pub(crate) remove: Option<String>,

    /// Adopt the folder although it holds a home directory or projects
    #[arg(long, short)]
    pub(crate) yes: bool,

    #[command(flatten)]
    pub(crate) which: Which,
}

/// `ledger export`
#[derive(Debug, Args)]
pub(crate) struct LedgerExport {
    /// The file to write (written atomically)
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: PathBuf,

    /// Overwrite an existing file
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

    /// The new ledger's name [default: as in the file]
    #[arg(long, value_name = "ID")]
    pub(crate) into: Option<LedgerId>,
}

/// `state`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma state              decisions, open tasks, files and errors
  stemma state --at 120     as it was at event 120
  stemma state --json

Built from the project's events and from all captured sessions of the project, whatever client they ran in.")]
pub(crate) struct State {
    /// As it was at this event of the ledger (0: before the first); imported sessions are left out
    #[arg(long, value_name = "SEQ")]
    pub(crate) at: Option<u64>,

    #[command(flatten)]
    pub(crate) which: Which,
}

/// `replay`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma replay --check     rebuild the state, compare it with the saved one
  stemma replay             rebuild the state and save it")]
pub(crate) struct Replay {
    /// Change nothing; exit with 6 if the saved state differs
    #[arg(long)]
    pub(crate) check: bool,

    #[command(flatten)]
    pub(crate) which: Which,
}

fn parse_json(text: &str) -> Result<Json, String> {
    Json::parse(text).map_err(|error| error.to_string())
}
