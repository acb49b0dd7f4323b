//! Flags of the commands that make and explain prompts.
//!
//! Only shapes, as everything below `args`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use stemmata_api::v1::StrategyFormat;
use stemmata_model::{EventSeq, LedgerId, Party, SessionId, ThreadId, TicketId};

use super::ledger::Which;

/// Which prompt.
#[derive(Debug, Args)]
pub(crate) struct PromptArgs {
    /// What it is made of: `planner`, `worker`, `validator`, `live`, or a file, JSON or TOML
    #[arg(long, short, value_name = "NAME|FILE")]
    pub(crate) strategy: Option<String>,

    /// Who the agent is: a profile of the configuration, or a file
    #[arg(long, short, value_name = "NAME|FILE")]
    pub(crate) profile: Option<String>,

    /// Strategy and profile of this template of the configuration, where they are not named
    #[arg(long, short, value_name = "NAME")]
    pub(crate) template: Option<String>,

    /// The agent's name in the ledger, in place of the profile's
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<Party>,

    /// The event that begins the turn
    #[arg(long, value_name = "SEQ", conflicts_with = "say")]
    pub(crate) trigger: Option<EventSeq>,

    /// What a user says, which begins the turn
    #[arg(long, value_name = "TEXT")]
    pub(crate) say: Option<String>,

    /// The session whose turns the prompt may have
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<SessionId>,

    /// The budget, in place of the strategy's
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_tokens: Option<u64>,

    /// The model that reads it: its tokens are counted as it counts them
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,

    /// What counts tokens: `estimate`, `utf16`, `o200k`, `cl100k`, also with a factor as `o200k*1.18` (default: by `--model`; else
    /// `estimate`, four characters each)
    #[arg(long, value_name = "COUNTER")]
    pub(crate) counter: Option<String>,

    /// The last event that the model was given: only what came after it
    #[arg(long, value_name = "SEQ")]
    pub(crate) after: Option<EventSeq>,

    /// The last event that the prompt may have (default: the ledger's last): the same number gives the same prompt
    #[arg(long, value_name = "SEQ")]
    pub(crate) through: Option<EventSeq>,

    /// Which turn of its task it is
    #[arg(long, value_name = "N")]
    pub(crate) iteration: Option<u64>,

    /// Which ledger.
    #[command(flatten)]
    pub(crate) which: Which,
}

/// `assemble`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma assemble --strategy worker --profile worker.toml
  stemma assemble --strategy s.json --agent worker-1 --trigger 42 --ledger cluster-7
  stemma assemble --template reviewer --say 'look at the last change' --max-tokens 20000
  stemma assemble --strategy live --after 118            only what the model was not given yet
  stemma assemble --strategy live --model gpt-5          tokens are counted as the model counts them
  stemma assemble --strategy worker --json | jq .trace.budget

Prints the prompt and nothing else on standard output. `stemma context debug` with the same flags says why it is what it \
is. With STEMMATA_CONTEXT_METRICS=1 (or ZEROSHOT_CONTEXT_METRICS=1) what it cost goes to standard error, with \
STEMMATA_CONTEXT_METRICS_LEDGER=1 (or ZEROSHOT_CONTEXT_METRICS_LEDGER=1) into the ledger as CONTEXT_METRICS.")]
pub(crate) struct Assemble {
    /// Which prompt.
    #[command(flatten)]
    pub(crate) prompt: PromptArgs,
}

/// `context`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma context debug          the prompt that the last turn here began with
  stemma context debug --diff   what changed since the turn before")]
pub(crate) struct Context {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: ContextCommand,
}

/// What to do with contexts.
#[derive(Debug, Subcommand)]
pub(crate) enum ContextCommand {
    /// Say how a prompt came to be: sections, tokens, decisions and reasons
    Debug(Box<ContextDebug>),
}

/// `context debug`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma context debug                                  the prompt that the last turn here began with
  stemma context debug --session s1 --diff              what changed since the turn before
  stemma context debug --model claude-opus-4-5          beside the model's window, and where clients compact in it
  stemma context debug --strategy worker --profile worker.toml --trigger 42
  stemma context debug --strategy live --diff 118       what changed since the prompt through event 118

With a strategy or a template it makes the prompt as `stemma assemble` does; else it shows what `stemma turn begin` kept. \
Changes nothing. Every candidate is shown with what became of it. The bar has a letter for each part of the prompt; below \
it `#` is used of the budget, `.` is free, `|` is where the budget ends; `^` is what the provider can reuse.")]
pub(crate) struct ContextDebug {
    /// Which prompt.
    #[command(flatten)]
    pub(crate) prompt: PromptArgs,

    /// Compare with the prompt of the turn before, or with the one that ended at this event
    #[arg(long, value_name = "SEQ", num_args = 0..=1)]
    #[expect(
        clippy::option_option,
        reason = "no flag, the flag alone, and the flag with a value are three things"
    )]
    pub(crate) diff: Option<Option<EventSeq>>,
}

/// `strategy`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma strategy check mine.toml   what is wrong with it, with line and column
  stemma strategy show worker       one of those that come with Stemmata")]
pub(crate) struct Strategy {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: StrategyCommand,
}

/// What to do with strategies.
#[derive(Debug, Subcommand)]
pub(crate) enum StrategyCommand {
    /// Say what is wrong or doubtful in a strategy, with line and column
    Check(StrategyCheck),
    /// Print a strategy that comes with Stemmata, to begin your own with
    Show(StrategyShow),
    /// List the strategies that come with Stemmata
    List,
}

/// `strategy check`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma strategy check my-strategy.json
  stemma strategy check --role planner - < planner.toml
  stemma strategy check my-strategy.toml --ledger cluster-7     topics that it has are known

Exits with 0 where the strategy can be used, also with warnings, and with 1 where it cannot.")]
pub(crate) struct StrategyCheck {
    /// The file, JSON or TOML; `-` reads standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// The role of the agent that it is for
    #[arg(long, value_name = "ROLE")]
    pub(crate) role: Option<String>,

    /// A ledger whose topics are known, too
    #[arg(long, value_name = "ID")]
    pub(crate) ledger: Option<LedgerId>,
}

/// `strategy show`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma strategy show worker > my-worker.toml
  stemma strategy show worker --format json")]
pub(crate) struct StrategyShow {
    /// Its name
    #[arg(value_name = "NAME")]
    pub(crate) name: String,

    /// In which language
    #[arg(long, value_name = "FORMAT", default_value = "toml")]
    pub(crate) format: FormatArg,
}

/// The language of a strategy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormatArg {
    /// As a program reads it.
    Json,
    /// With comments.
    Toml,
}

impl From<FormatArg> for StrategyFormat {
    fn from(argument: FormatArg) -> Self {
        match argument {
            FormatArg::Json => Self::Json,
            FormatArg::Toml => Self::Toml,
        }
    }
}

/// `recall`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma recall why does the parser accept an empty file
  stemma recall \"fix the login\" --max-tokens 1000 --ticket T-12
  git diff | head -c 4000 | stemma recall - --json
  stemma recall retries --foreign          also what came in bundles of others
  stemma recall retries --everywhere       from all projects, not only that of the current directory

Prints a pack of decisions, open tasks, errors, files and what was said, quoted as data, with where each part comes from. \
Nothing in it is an instruction. What the hooks hand over after a compaction is another text, the brief.")]
pub(crate) struct Recall {
    /// The task in words; `-` reads standard input
    #[arg(value_name = "TEXT", required = true)]
    pub(crate) text: Vec<String>,

    /// Tokens at most (default: 2000; at least 64)
    #[arg(long, value_name = "TOKENS")]
    pub(crate) max_tokens: Option<u64>,

    /// The model that reads it: its tokens are counted as it counts them
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,

    /// What counts tokens: `estimate`, `utf16`, `o200k`, `cl100k`, also with a factor as `o200k*1.18` (default: by `--model`; else
    /// `estimate`, four characters each)
    #[arg(long, value_name = "COUNTER")]
    pub(crate) counter: Option<String>,

    /// The thread that the task belongs to (default: `$STEMMATA_THREAD`)
    #[arg(long, value_name = "THREAD")]
    pub(crate) thread: Option<ThreadId>,

    /// The ticket that the task belongs to (default: `$STEMMATA_TICKET`)
    #[arg(long, value_name = "TICKET")]
    pub(crate) ticket: Option<TicketId>,

    /// The session that asks: its own recent turns, which it knows, are left out
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<SessionId>,

    /// Take in what came in bundles from other machines; its author may be anybody
    #[arg(long)]
    pub(crate) foreign: bool,

    /// Search the sessions and events of all projects, without the memory of any
    #[arg(long, conflicts_with_all = ["ledger", "project"])]
    pub(crate) everywhere: bool,

    /// Milliseconds for which what is new may be put into the index first (default: until all of it is)
    #[arg(long, value_name = "MS")]
    pub(crate) settle_ms: Option<u64>,

    /// Which ledger.
    #[command(flatten)]
    pub(crate) which: Which,
}

/// `turn`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma turn begin < begin.json   append what a user said, and get the prompt
  stemma turn end < end.json       append what came of it, and commit the turn
  stemma turn window < window.json how full the window is, and what the model is to be given")]
pub(crate) struct Turn {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: TurnCommand,
}

/// What to do with a turn.
#[derive(Debug, Subcommand)]
pub(crate) enum TurnCommand {
    /// Store what the user said, and print the prompt
    #[command(after_help = BEGIN_HELP)]
    Begin(TurnArgs),
    /// Store what came of a turn so far
    #[command(after_help = MADE_HELP)]
    Step(TurnArgs),
    /// Store the rest of a turn, and commit all of it
    #[command(after_help = MADE_HELP)]
    End(TurnArgs),
    /// Say how full the window of a session is, and what its model is to be given
    #[command(after_help = WINDOW_HELP)]
    Window(TurnArgs),
    /// Answer a provider that says that the context is too long: compact, else prune
    #[command(after_help = RECOVER_HELP)]
    Recover(TurnArgs),
    /// Show pruned or archived entries of a live session to its model again
    #[command(after_help = MARK_HELP)]
    Rehydrate(TurnArgs),
    /// Keep entries of a live session from being pruned, and word for word in summaries
    #[command(after_help = MARK_HELP)]
    Pin(TurnArgs),
    /// Pin them no more
    #[command(after_help = MARK_HELP)]
    Unpin(TurnArgs),
}

const BEGIN_HELP: &str = r#"Examples:
  echo '{"turn":{"session":"s1","agent":"worker-1","template":"fixer"},
         "said":{"id":"u1","role":"user","text":"fix it"},"prompt":{"strategy":{"name":"live"}}}' | stemma turn begin
  stemma turn begin --template fixer < begin.json      strategy and profile of the configuration
  echo '{"turn":{"agent":"a","template":"t"},"context":{"resume":"ctx-3f9k2m7q"},
         "said":{"role":"user","text":"go on"}}' | stemma turn begin

The request is `BeginTurnRequest` of docs/reference/json.md; the answer names the session, which `step` and `end` are
given. With a `session` and an `id` of `said` the call may be repeated: it begins the turn once. Where no ledger is
named it is that of this directory's project."#;

const MADE_HELP: &str = r#"Examples:
  echo '{"turn":{"session":"s1","agent":"worker-1","template":"fixer"},
         "entries":[{"role":"assistant","calls":[{"id":"c1","name":"bash","input":{"command":"ls"}}]},
                    {"role":"tool","results":[{"id":"c1","text":"src"}]}]}' | stemma turn step
  stemma turn end < made.json

The request is `TurnMadeRequest` of docs/reference/json.md, with only what was not stored yet."#;

const WINDOW_HELP: &str = r#"Examples:
  echo '{"turn":{"session":"s1","agent":"worker-1","template":"fixer"},
         "window":{"tokens":32000,"entries":true}}' | stemma turn window

The request is `TurnWindowRequest` of docs/reference/json.md. Changes nothing."#;

const RECOVER_HELP: &str = r#"Examples:
  echo '{"turn":{"session":"s1","agent":"worker-1","template":"fixer"},"window":{"tokens":200000},
         "error":"prompt is too long: 210000 tokens > 200000 maximum"}' | stemma turn recover

The request is `RecoverTurnRequest` of docs/reference/json.md. Where the answer says `retry`, call the model again with the
window as it is now. A second overflow before the model has answered ends with the problem `context_overflow`."#;

const MARK_HELP: &str = r#"Examples:
  echo '{"turn":{"session":"s1","agent":"worker-1","template":"fixer"},"entries":["c1-result"]}' | stemma turn rehydrate
  stemma turn pin < pin.json

The request is `MarkTurnEntriesRequest` of docs/reference/json.md: full ids, as the answers of turns have them."#;

/// The commands of `turn`
#[derive(Debug, Args)]
pub(crate) struct TurnArgs {
    /// With `begin`: strategy and profile of this template of the configuration, where the request has no `prompt`
    #[arg(long, short, value_name = "NAME")]
    pub(crate) template: Option<String>,

    /// Which ledger.
    #[command(flatten)]
    pub(crate) which: Which,
}
