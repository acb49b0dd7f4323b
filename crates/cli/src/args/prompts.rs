//! Flags of the commands that make and explain prompts.
//!
//! Only shapes, as everything below `args`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use stemmata_api::v1::StrategyFormat;
use stemmata_model::{EventSeq, LedgerId, Party, SessionId, ThreadId, TicketId};

use super::ledger::Which;

/// The commands about prompts.
#[derive(Debug, Subcommand)]
pub(crate) enum PromptCommand {
    /// Build a prompt within a token budget
    Assemble(Box<Assemble>),
    /// Show what is in a prompt, and why
    Context(Context),
    /// Collect what earlier sessions know about a task
    Recall(Recall),
    /// Begin, store and end the turns of your own agent loop
    Turn(Turn),
    /// Check a strategy file, or show the built-in ones
    Strategy(Strategy),
}

/// Which prompt.
#[derive(Debug, Args)]
pub(crate) struct PromptArgs {
    /// The strategy: `planner`, `worker`, `validator`, `live`, or a JSON or TOML file
    #[arg(long, short, value_name = "NAME|FILE")]
    pub(crate) strategy: Option<String>,

    /// The agent: a profile of the configuration, or a file
    #[arg(long, short, value_name = "NAME|FILE")]
    pub(crate) profile: Option<String>,

    /// Take strategy and profile from this template, unless they are given
    #[arg(long, short, value_name = "NAME")]
    pub(crate) template: Option<String>,

    /// The agent's name in the ledger [default: the profile's]
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<Party>,

    /// The event that starts the turn
    #[arg(long, value_name = "SEQ", conflicts_with = "say")]
    pub(crate) trigger: Option<EventSeq>,

    /// A user's message that starts the turn
    #[arg(long, value_name = "TEXT")]
    pub(crate) say: Option<String>,

    /// The session whose turns the prompt may use
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<SessionId>,

    /// The budget [default: the strategy's]
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_tokens: Option<u64>,

    /// Count tokens as this model does
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,

    /// The token counter: `estimate` (four characters each), `utf16`, `o200k` or `cl100k`, also with a factor as in
    /// `o200k*1.18` [default: by `--model`, else `estimate`]
    #[arg(long, value_name = "COUNTER")]
    pub(crate) counter: Option<String>,

    /// Continue a prompt: only what came after this event
    #[arg(long, value_name = "SEQ")]
    pub(crate) after: Option<EventSeq>,

    /// The last event that the prompt may use [default: the newest]; the same number gives the same prompt
    #[arg(long, value_name = "SEQ")]
    pub(crate) through: Option<EventSeq>,

    /// The number of this turn within its task
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
  stemma assemble --strategy s.json --agent worker-1 --trigger 42
  stemma assemble --template reviewer --say 'look at the last change'
  stemma assemble --strategy live --after 118     only what is new to the model
  stemma assemble --strategy live --model gpt-5   count tokens as the model does
  stemma assemble --strategy worker --json | jq .trace.budget

Prints only the prompt on standard output; `stemma context debug` with the same flags explains it. \
STEMMATA_CONTEXT_METRICS=1 (or ZEROSHOT_CONTEXT_METRICS=1) prints its metrics on standard error; \
STEMMATA_CONTEXT_METRICS_LEDGER=1 (or ZEROSHOT_CONTEXT_METRICS_LEDGER=1) publishes them as CONTEXT_METRICS.")]
pub(crate) struct Assemble {
    /// Which prompt.
    #[command(flatten)]
    pub(crate) prompt: PromptArgs,
}

/// `context`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma context debug          the prompt of the last turn here
  stemma context debug --diff   what changed since the turn before")]
pub(crate) struct Context {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: ContextCommand,
}

/// What to do with contexts.
#[derive(Debug, Subcommand)]
pub(crate) enum ContextCommand {
    /// Explain a prompt: sections, tokens, decisions and reasons
    Debug(Box<ContextDebug>),
}

/// `context debug`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma context debug                           the last turn's prompt
  stemma context debug --session s1 --diff       what changed since the last one
  stemma context debug --model claude-opus-4-5   beside the model's window
  stemma context debug --strategy worker --profile worker.toml --trigger 42
  stemma context debug --strategy live --diff 118   what changed since event 118

With a strategy or a template it builds the prompt as `stemma assemble` does; else it shows the one that `stemma turn begin` \
kept. Changes nothing. The table lists every candidate and what was decided about it. The bar has one letter for each part of \
the prompt; below it, `#` is used, `.` is free, `|` is the end of the budget, and `^` is what the provider can reuse.")]
pub(crate) struct ContextDebug {
    /// Which prompt.
    #[command(flatten)]
    pub(crate) prompt: PromptArgs,

    /// Compare with the prompt of the turn before, or with the prompt through this event
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
  stemma strategy list
  stemma strategy show worker > mine.toml
  stemma strategy check mine.toml")]
pub(crate) struct Strategy {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: StrategyCommand,
}

/// What to do with strategies.
#[derive(Debug, Subcommand)]
pub(crate) enum StrategyCommand {
    /// Check a strategy; findings have line and column
    Check(StrategyCheck),
    /// Print a built-in strategy, as a start for your own
    Show(StrategyShow),
    /// List the built-in strategies
    List,
}

/// `strategy check`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma strategy check my-strategy.json
  stemma strategy check --role planner - < planner.toml
  stemma strategy check my-strategy.toml --ledger cluster-7

Exits with 0 if the strategy can be used, even with warnings, else with 1.")]
pub(crate) struct StrategyCheck {
    /// The file, JSON or TOML; `-` reads standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// The role of the agent that uses it
    #[arg(long, value_name = "ROLE")]
    pub(crate) role: Option<String>,

    /// A ledger whose topics are accepted, too
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
    /// The name
    #[arg(value_name = "NAME")]
    pub(crate) name: String,

    /// The file format
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
  stemma recall retries --foreign      also from imported bundles
  stemma recall retries --everywhere   from all projects

Prints the decisions, open tasks, errors, files and passages that fit the task, within a token budget, quoted as data and with \
their sources. (The text that hooks give an agent after a compaction is another one, the brief.)")]
pub(crate) struct Recall {
    /// The task in words; `-` reads standard input
    #[arg(value_name = "TEXT", required = true)]
    pub(crate) text: Vec<String>,

    /// Tokens at most, 64 or more [default: 2000]
    #[arg(long, value_name = "TOKENS")]
    pub(crate) max_tokens: Option<u64>,

    /// Count tokens as this model does
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,

    /// The token counter: `estimate` (four characters each), `utf16`, `o200k` or `cl100k`, also with a factor as in
    /// `o200k*1.18` [default: by `--model`, else `estimate`]
    #[arg(long, value_name = "COUNTER")]
    pub(crate) counter: Option<String>,

    /// The thread that the task belongs to [default: `$STEMMATA_THREAD`]
    #[arg(long, value_name = "THREAD")]
    pub(crate) thread: Option<ThreadId>,

    /// The ticket that the task belongs to [default: `$STEMMATA_TICKET`]
    #[arg(long, value_name = "TICKET")]
    pub(crate) ticket: Option<TicketId>,

    /// The asking session: its recent turns are left out, as it knows them
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<SessionId>,

    /// Include sessions from imported bundles; anyone may have written them
    #[arg(long)]
    pub(crate) foreign: bool,

    /// Search all projects, without any project's memory
    #[arg(long, conflicts_with_all = ["ledger", "project"])]
    pub(crate) everywhere: bool,

    /// Milliseconds to spend on updating the index first [default: until it is up to date]
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
  stemma turn begin < begin.json     store what the user said, get the prompt
  stemma turn end < end.json         store the answer, commit the turn
  stemma turn window < window.json   how full the window is, and what is in it")]
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
    /// Store what a turn has produced so far
    #[command(after_help = MADE_HELP)]
    Step(TurnArgs),
    /// Store the rest of a turn, and commit all of it
    #[command(after_help = MADE_HELP)]
    End(TurnArgs),
    /// Show how full a session's window is, and what the model should get
    #[command(after_help = WINDOW_HELP)]
    Window(TurnArgs),
    /// Recover when the provider says that the context is too long
    #[command(after_help = RECOVER_HELP)]
    Recover(TurnArgs),
    /// Bring pruned or archived entries back into the window
    #[command(after_help = MARK_HELP)]
    Rehydrate(TurnArgs),
    /// Never prune these entries, and keep them verbatim in summaries
    #[command(after_help = MARK_HELP)]
    Pin(TurnArgs),
    /// Unpin entries
    #[command(after_help = MARK_HELP)]
    Unpin(TurnArgs),
}

const BEGIN_HELP: &str = r#"Examples:
  echo '{"turn":{"session":"s1","agent":"worker-1","template":"fixer"},
    "said":{"id":"u1","role":"user","text":"fix it"},
    "prompt":{"strategy":{"name":"live"}}}' | stemma turn begin
  echo '{"turn":{"agent":"a","template":"t"},
    "context":{"resume":"ctx-3f9k2m7q"},
    "said":{"role":"user","text":"continue"}}' | stemma turn begin
  stemma turn begin --template fixer < begin.json

The request is `BeginTurnRequest` of docs/reference/json.md. The answer names the session, which `step` and `end` need. With a `request`, or with a `session` and an `id` of `said`, a call that is repeated begins the turn once. Without a ledger, it is the one of this directory's project."#;

const MADE_HELP: &str = r#"Examples:
  echo '{"turn":{"session":"s1","agent":"worker-1","template":"fixer"},
    "entries":[{"role":"assistant","calls":[
      {"id":"c1","name":"bash","input":{"command":"ls"}}]},
      {"role":"tool","results":[{"id":"c1","text":"src"}]}]}' | stemma turn step
  stemma turn end < made.json

The request is `TurnMadeRequest` of docs/reference/json.md. With a `request`, or with ids of the entries, a call that is repeated is stored once."#;

const WINDOW_HELP: &str = r#"Examples:
  echo '{"turn":{"session":"s1","agent":"worker-1","template":"fixer"},
    "window":{"tokens":32000,"entries":true}}' | stemma turn window

The request is `TurnWindowRequest` of docs/reference/json.md. Changes nothing."#;

const RECOVER_HELP: &str = r#"Examples:
  echo '{"turn":{"session":"s1","agent":"worker-1","template":"fixer"},
    "window":{"tokens":200000},
    "error":"prompt is too long: 210000 tokens > 200000 maximum"}' |
    stemma turn recover

The request is `RecoverTurnRequest` of docs/reference/json.md. If the answer says `retry`, call the model again with the new window. A second overflow before the model has answered is the problem `context_overflow`."#;

const MARK_HELP: &str = r#"Examples:
  echo '{"turn":{"session":"s1","agent":"worker-1","template":"fixer"},
    "entries":["c1-result"]}' | stemma turn rehydrate
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
