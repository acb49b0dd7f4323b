//! Flags of `decision` and `task`, and of the older forms of both.
//!
//! Each thing that can be done is a verb of its own, so that no verb is recorded as a text.

use clap::{Args, Subcommand};

use super::ledger::{State, Which};

/// The commands about what a project remembers.
#[derive(Debug, Subcommand)]
pub(crate) enum MemoryCommand {
    /// Show what is known about a project: decisions, tasks, files, errors
    State(State),
    /// Record and list the decisions, facts and open threads of a project
    Decision(Decision),
    /// Record a decision (older form of `decision add`)
    #[command(hide = true)]
    Decide(Decide),
    /// Record, finish and list the tasks of a project
    Task(Task),
}

/// `decision`
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "\
Examples:
  stemma decision add \"Retries stop after five\" --reason \"the queue retries\"
  stemma decision add \"Use tabs\" --supersedes 12
  stemma decision add \"The queue is called `jobs`\" --fact
  stemma decision add \"Does the queue keep its order?\" --thread
  stemma decision close \"keep its order\"      the question is answered
  stemma decision list                        what holds, and what is open

Decisions, facts and open threads are part of the project's memory: `stemma state` and `stemma recall` show them.")]
pub(crate) struct Decision {
    /// What to do [default: list]
    #[command(subcommand)]
    pub(crate) command: Option<DecisionCommand>,

    #[command(flatten)]
    pub(crate) which: Which,
}

/// What to do with decisions.
#[derive(Debug, Subcommand)]
pub(crate) enum DecisionCommand {
    /// Record a decision, a fact or an open thread
    Add(DecisionAdd),
    /// Close an open thread
    Close(DecisionClose),
    /// List what holds and what is open
    #[command(visible_alias = "ls")]
    List(Which),
}

/// `decision add`
#[derive(Debug, Args)]
pub(crate) struct DecisionAdd {
    /// What was decided; with `--thread`, what is open
    #[arg(value_name = "TEXT", value_parser = parse_said)]
    pub(crate) text: String,

    #[command(flatten)]
    pub(crate) how: DecisionHow,

    #[command(flatten)]
    pub(crate) which: Which,
}

/// How a decision is recorded.
#[derive(Debug, Args)]
pub(crate) struct DecisionHow {
    /// Why
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,

    /// The decision that it replaces: its number in `stemma decision list`, or words that no other one has
    #[arg(long, value_name = "WHICH", value_parser = parse_said)]
    pub(crate) supersedes: Option<String>,

    /// Record a fact: something that holds and was not chosen
    #[arg(long)]
    pub(crate) fact: bool,

    /// Record something that is open: a question, or work that was put off
    #[arg(long, conflicts_with_all = ["fact", "supersedes"])]
    pub(crate) thread: bool,
}

/// `decision close`
#[derive(Debug, Args)]
pub(crate) struct DecisionClose {
    /// The thread: its number in `stemma decision list`, or words that no other one has
    #[arg(value_name = "WHICH", value_parser = parse_said)]
    pub(crate) thread: String,

    #[command(flatten)]
    pub(crate) which: Which,
}

/// `decide`, the older form of `decision add` and `decision close`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stemma decide \"Use tabs\"                    as `stemma decision add`
  stemma decide --close \"keep its order\"      as `stemma decision close`")]
pub(crate) struct Decide {
    /// What was decided; with `--thread`, what is open
    #[arg(value_name = "TEXT", value_parser = parse_said, required_unless_present = "close")]
    pub(crate) text: Option<String>,

    #[command(flatten)]
    pub(crate) how: DecisionHow,

    /// Close an open thread
    #[arg(long, value_name = "WHICH", value_parser = parse_said, conflicts_with_all = ["text", "fact", "supersedes", "thread", "reason"])]
    pub(crate) close: Option<String>,

    #[command(flatten)]
    pub(crate) which: Which,
}

/// `task`
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "\
Examples:
  stemma task add \"Fix the flaky test\"
  stemma task list
  stemma task done 14                      the task with this number in the list
  stemma task done \"flaky test\"            the open task with these words")]
pub(crate) struct Task {
    /// What to do [default: list]
    #[command(subcommand)]
    pub(crate) command: Option<TaskCommand>,

    /// As `task add`; several words, so that a mistyped verb is not recorded
    #[arg(value_name = "TEXT", hide = true, conflicts_with = "done", value_parser = parse_sentence)]
    pub(crate) text: Option<String>,

    /// As `task done`
    #[arg(long, value_name = "WHICH", hide = true, value_parser = parse_said)]
    pub(crate) done: Option<String>,

    #[command(flatten)]
    pub(crate) which: Which,
}

/// What to do with tasks.
#[derive(Debug, Subcommand)]
pub(crate) enum TaskCommand {
    /// Record a task
    Add(TaskAdd),
    /// Mark an open task as done
    Done(TaskDone),
    /// List the open tasks
    #[command(visible_alias = "ls")]
    List(Which),
}

/// `task add`
#[derive(Debug, Args)]
pub(crate) struct TaskAdd {
    /// What is to be done
    #[arg(value_name = "TEXT", value_parser = parse_said)]
    pub(crate) text: String,

    #[command(flatten)]
    pub(crate) which: Which,
}

/// `task done`
#[derive(Debug, Args)]
pub(crate) struct TaskDone {
    /// The task: its name in `stemma task list`, or words that no other open one has
    #[arg(value_name = "WHICH", value_parser = parse_said)]
    pub(crate) task: String,

    #[command(flatten)]
    pub(crate) which: Which,
}

/// Words that are meant for a command, not to be remembered.
pub(super) const RESERVED: [&str; 12] =
    ["list", "ls", "show", "done", "add", "new", "rm", "remove", "delete", "close", "status", "help"];

/// Refuses a text that is empty, and one that was meant as a command.
fn parse_said(text: &str) -> Result<String, String> {
    let text = text.trim();
    if text.is_empty() {
        return Err("the text is empty".to_owned());
    }
    if RESERVED.iter().any(|word| text.eq_ignore_ascii_case(word)) {
        return Err("this is a verb, not a text; write a sentence, or see `--help`".to_owned());
    }
    Ok(text.to_owned())
}

/// Refuses a single word where a verb was expected: `lsit` is a slip, not a decision.
fn parse_sentence(text: &str) -> Result<String, String> {
    let text = parse_said(text)?;
    if text.split_whitespace().count() < 2 {
        return Err("this is not a verb; to record a single word as a text, write `add` before it".to_owned());
    }
    Ok(text)
}
