//! Flags of the commands that make and explain prompts.
//!
//! Only shapes, as everything below `args`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use stemmata_api::v1::StrategyFormat;
use stemmata_model::{EventSeq, Party, SessionId};

use super::ledger::Which;

/// Which prompt.
#[derive(Debug, Args)]
pub(crate) struct PromptArgs {
    /// What it is made of: `planner`, `worker`, `validator`, `live`, or a file, JSON or TOML
    #[arg(long, short, value_name = "NAME|FILE", required_unless_present = "template")]
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

    /// What counts tokens (default: `estimate`, four characters each)
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
  stemma context debug --strategy worker --profile worker.toml
  stemma context debug --strategy worker --trigger 42 --json
  stemma context debug --strategy live --diff 118       what changed since the prompt through event 118

Makes the prompt as `stemma assemble` does, changes nothing, and shows every candidate with what became of it. The bar is \
the budget: a letter for each section, `.` for what is free, `|` where the budget ends, `^` below what the provider can \
reuse.")]
pub(crate) struct ContextDebug {
    /// Which prompt.
    #[command(flatten)]
    pub(crate) prompt: PromptArgs,

    /// Compare with the prompt that ended at this event
    #[arg(long, value_name = "SEQ")]
    pub(crate) diff: Option<EventSeq>,
}

/// `strategy`
#[derive(Debug, Args)]
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
    pub(crate) ledger: Option<stemmata_model::LedgerId>,
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
