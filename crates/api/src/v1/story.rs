//! Wire types of what happened: a turn as a person reads it, and a session at a glance.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use stemmata_model::{CommitId, EntryId, Timestamp};

use super::{Commit, CutTranscript, FoundRange, RedactedKind, Session, TreeSubagent};

/// Asks for what was said and done in a commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ShowTurnRequest {
    /// The commit.
    pub ctx: String,
    /// Shows the turn of the prompt with this number on the way to the commit instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<u64>,
    /// Whether thoughts, arguments and results are wanted too.
    #[serde(default)]
    pub full: bool,
}

/// Turns that are shown at once.
pub const SHOWN_TURNS_MAX: u64 = 1_000;

/// Asks for what was said and done for prompts that follow each other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ShowTurnsRequest {
    /// A commit whose chain holds them.
    pub ctx: String,
    /// The prompts, at most [`SHOWN_TURNS_MAX`].
    pub prompts: FoundRange,
    /// Whether thoughts, arguments and results are wanted too.
    #[serde(default)]
    pub full: bool,
}

/// What was said and done for prompts that follow each other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ShownTurns {
    /// The commit of each prompt, with the prompt's number and the turn, in their order. A commit with several of them is here once.
    pub turns: Vec<Commit>,
    /// Whether there are more than are shown at once.
    pub is_cut: bool,
}

/// What was said and done in a commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ShownTurn {
    /// The commit.
    pub ctx: CommitId,
    /// Prompts, answers, thoughts and calls, in their order.
    pub pieces: Vec<TurnPiece>,
    /// What it did, in numbers.
    pub outline: TurnOutline,
    /// The models that answered.
    pub models: Vec<String>,
    /// The subagents that it started.
    pub subagents: Vec<StartedSubagent>,
}

/// A piece of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct TurnPiece {
    /// `prompt`, `answer` (whatever the agent says), `thought`, `call`, `result` (of a call of an earlier commit) or `summary`.
    pub kind: String,
    /// The entry.
    pub entry: String,
    /// The entry's place in the chain, from 1: `@N`.
    pub ordinal: u64,
    /// When it was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// What it says. Absent for calls, and for thoughts and results where nobody asked for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Estimated tokens of a thought; 0 where only the provider can read it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// The call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<ShownCall>,
}

/// A call of a tool with its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ShownCall {
    /// The call.
    pub call_id: String,
    /// The tool, as the client spells it.
    pub tool: String,
    /// What it is about: files, a command, a pattern, a question.
    pub about: String,
    /// Lines that it put into files.
    pub added: u64,
    /// Lines that it took out of files.
    pub removed: u64,
    /// Of a list of tasks: how many are done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tasks_done: Option<u64>,
    /// Of a list of tasks: how many there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tasks: Option<u64>,
    /// `passed`, `failed`, `refused`, `stopped`, `running`, `open` (no answer) or `unclear`.
    pub outcome: String,
    /// The exit code of a command that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    /// Of one that failed: the line that says most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The newest commit of the subagent that it started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subagent: Option<CommitId>,
    /// Its arguments, where the request wants them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<String>,
    /// What it returned, where the request wants it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
}

/// What a turn did, in numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct TurnOutline {
    /// The first time in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub began_at: Option<Timestamp>,
    /// The last time in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// Seconds of work in it: gaps of more than ten minutes between two records are left out.
    pub active_seconds: u64,
    /// How often each tool was called.
    pub tools: BTreeMap<String, u64>,
    /// The files that it changed.
    pub files: Vec<ChangedFile>,
    /// Runs of tests that passed.
    pub tests_passed: u64,
    /// Runs of tests that failed.
    pub tests_failed: u64,
    /// Commits of git that it made.
    pub git_commits: Vec<GitCommitMade>,
    /// Calls that failed.
    pub failures: u64,
    /// Compactions in it.
    pub compactions: u64,
    /// How it ended: `interrupted`, `tests_failed`, `tests_passed`, `answered` or `open` (there is no answer).
    pub outcome: String,
}

/// A file that was changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ChangedFile {
    /// Its path, below the working directory where it is there.
    pub path: String,
    /// Lines that calls put in. A file that is written whole counts all its lines.
    pub added: u64,
    /// Lines that calls took out.
    pub removed: u64,
}

/// A commit of git that an agent made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct GitCommitMade {
    /// Its hash, as git printed it; absent where the output does not show it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// The first line of its message; empty where the output does not show it.
    pub subject: String,
}

/// A subagent, and where it was started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct StartedSubagent {
    /// The commit that started it.
    pub ctx: CommitId,
    /// The entry that did, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<EntryId>,
    /// The subagent.
    pub subagent: TreeSubagent,
}

/// Asks for a session at a glance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct OverviewRequest {
    /// The session: its id, a unique beginning or end of it, its transcript's path, `@`, or words of its title.
    pub reference: String,
    /// The directory of the asking person, for `@`; absent where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub here: Option<String>,
}

/// A session at a glance, or nothing where the name is a commit's or a tag's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct SessionMeant {
    /// What is left in the session's transcript, where that was cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<CutTranscript>,
    /// The session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overview: Option<SessionOverview>,
}

/// A session at a glance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct SessionOverview {
    /// The session.
    pub session: Session,
    /// The first record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub began_at: Option<Timestamp>,
    /// The last record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// Seconds of work: gaps of more than ten minutes between two records are left out.
    pub active_seconds: u64,
    /// The models that answered, the one with most answers first.
    pub models: Vec<String>,
    /// Tokens that the provider reported; absent where the transcript has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<ReportedTokens>,
    /// Estimated tokens of what a model saw, each entry once.
    pub counted_tokens: u64,
    /// The files that were changed.
    pub files: Vec<ChangedFile>,
    /// Commits of git that were made.
    pub git_commits: Vec<GitCommitMade>,
    /// Runs of tests that passed.
    pub tests_passed: u64,
    /// Runs of tests that failed.
    pub tests_failed: u64,
    /// How the last run of tests ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_last_test_passed: Option<bool>,
    /// Errors and what fixed them, the first one first; at most 32, the open ones and the newest.
    pub errors: Vec<SessionError>,
    /// The subagents that were started.
    pub subagents: Vec<StartedSubagent>,
    /// Secrets that were replaced in its entries when it was captured; the client's own file still has them.
    #[serde(default)]
    pub redacted: Vec<RedactedKind>,
    /// The turns. Those with a number begin with a prompt.
    pub turns: Vec<OverviewTurn>,
}

/// Tokens that a provider reported, of all requests of a session together: what was sent again counts again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ReportedTokens {
    /// Sent, neither read from a cache nor written to one.
    pub input: u64,
    /// Answered.
    pub output: u64,
    /// Read from the cache.
    pub cache_read: u64,
    /// Written to the cache.
    pub cache_write: u64,
    /// Whether the client wrote down only a part of what was answered: `output` is not their sum. Left out if not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub output_partial: bool,
}

impl ReportedTokens {
    /// None.
    pub const NONE: Self = Self { input: 0, output: 0, cache_read: 0, cache_write: 0, output_partial: false };

    /// Adds others.
    pub const fn add(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
        self.output_partial |= other.output_partial;
    }
}

/// An error, and what resolved it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct SessionError {
    /// What failed: a command, a file, a tool.
    pub what: String,
    /// What it said.
    pub text: String,
    /// How often.
    pub times: u64,
    /// The number of the prompt after which it came up first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<u64>,
    /// Whether the same went well later.
    pub resolved: bool,
    /// Files that were changed between the failure and the success.
    pub fixed_by: Vec<String>,
}

/// A turn of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct OverviewTurn {
    /// The number of its prompt, from 1; absent for what comes before the first one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<u64>,
    /// The commit in which it begins.
    pub ctx: CommitId,
    /// The prompt's entry: what `--at` takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<EntryId>,
    /// The entry's place in the chain, from 1: `@N`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ordinal: Option<u64>,
    /// The prompt, whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The prompt on one line, as titles are: cut, without what clients and Markdown put around it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it did.
    pub outline: TurnOutline,
}

/// Asks what two chains have that the other has not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CompareRequest {
    /// The end of the first one.
    pub first: String,
    /// The end of the second one.
    pub second: String,
}

/// Two chains, from where they parted. An entry that both have, such as one that a client copied, is in neither.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Comparison {
    /// The newest commit that both have; absent where they share none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ancestor: Option<CommitId>,
    /// What only the first one has.
    pub first: ChainSide,
    /// What only the second one has.
    pub second: ChainSide,
}

/// What one of two chains has alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ChainSide {
    /// The commit that it ends with.
    pub ctx: CommitId,
    /// Its commits behind the common one.
    pub commits: u64,
    /// Their entries that the other one has not.
    pub entries: u64,
    /// What people asked for, each on one line as titles are.
    pub prompts: Vec<String>,
    /// The files that were changed.
    pub files: Vec<ChangedFile>,
    /// Commands that were run, each once.
    pub commands: Vec<String>,
    /// Errors and what fixed them.
    pub errors: Vec<SessionError>,
    /// What was decided and demanded.
    pub decisions: Vec<String>,
    /// Commits of git that were made.
    pub git_commits: Vec<GitCommitMade>,
    /// Runs of tests that passed.
    pub tests_passed: u64,
    /// Runs of tests that failed.
    pub tests_failed: u64,
}
