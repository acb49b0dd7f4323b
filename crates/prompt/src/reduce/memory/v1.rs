//! What a memory holds, in the form in which it is saved: version 1. Normative: `docs/format/state.md`.
//!
//! A change here is another version of the reducer.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use stemmata_model::Timestamp;

/// A time, written as RFC 3339.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct At(pub Timestamp);

/// What proves something: an event or an entry. Its order is the one in which memories merge.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// When it was; none sorts first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<At>,
    /// The session.
    pub session: String,
    /// Its place there: an event's sequence number, or an entry's position.
    pub ordinal: u64,
    /// The entry's id, or the event's sequence number as text.
    pub source: String,
}

/// Who said something.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, strum::IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum By {
    /// Whoever prompts the agent.
    User,
    /// The model.
    Assistant,
    /// A program, as an event of its own.
    Event,
}

/// One side's word in the working window.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TurnSaid {
    /// Where.
    pub proof: Evidence,
    /// Who.
    pub by: By,
    /// What, cut.
    pub text: String,
}

/// What kind of thing is to be remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Something was chosen.
    Decision,
    /// Something holds: a rule, a preference, how things are.
    Fact,
}

/// A decision or a fact.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decision {
    /// What proves it.
    pub proof: Evidence,
    /// Which of the two.
    pub kind: Kind,
    /// Who said so.
    pub by: By,
    /// The sentence, cut.
    pub text: String,
    /// The hash of the whole sentence where it was cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What it replaces, as an event named it: the source, the words, or the hash of many words, of an earlier one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supersedes: Option<String>,
    /// What replaced it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub superseded: Option<Evidence>,
}

/// How far a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// Being worked on.
    Active,
    /// Not begun.
    Open,
    /// Done.
    Done,
}

/// Where a task was written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskList {
    /// By an event of its own.
    Event,
    /// In a list that a tool writes whole.
    Tool,
    /// By a tool that adds and changes single ones.
    Tracker,
    /// In a checklist of a text.
    Checklist,
}

/// A task.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// What proves its status.
    pub proof: Evidence,
    /// How far it is.
    pub status: TaskStatus,
    /// Where it was written down.
    pub list: TaskList,
    /// What is to be done, cut.
    pub text: String,
    /// The hash of all that is to be done where it was cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// How its list calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

/// Why something is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThreadKind {
    /// A model asked, and its user said nothing since.
    Question,
    /// A user's prompt got no answer.
    Prompt,
    /// A model put it off.
    Deferred,
    /// An event says so.
    Told,
}

/// A question or a piece of work that nobody has come back to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Thread {
    /// What opened it.
    pub proof: Evidence,
    /// Why it is open.
    pub kind: ThreadKind,
    /// Who opened it.
    pub by: By,
    /// What it is about, cut.
    pub text: String,
    /// The hash of all of it where it was cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// How many prompts of its session came since.
    pub later: u32,
    /// What closed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed: Option<Evidence>,
}

/// What was done to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// It was looked at.
    Read,
    /// It was changed.
    Edited,
    /// It was made.
    Created,
    /// It was removed.
    Deleted,
    /// It was moved away.
    Moved,
}

/// A file that was touched.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileTouched {
    /// Its path: below the session's directory where it lies there, else as it was named.
    pub path: String,
    /// How often it was looked at.
    pub read: u32,
    /// How often it was changed.
    pub edited: u32,
    /// How often it was made.
    pub created: u32,
    /// How often it was removed.
    pub deleted: u32,
    /// How often it was moved away.
    pub moved: u32,
    /// What was done last.
    pub how: How,
    /// Where it was moved to, where that was done last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The last time.
    pub last: Evidence,
}

/// What an error is about: a success of the same resolves it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "about", deny_unknown_fields)]
pub enum About {
    /// A command, without what does not matter to its meaning.
    Command {
        /// Its parts.
        parts: Vec<String>,
    },
    /// A change of a file.
    File {
        /// The path.
        path: String,
    },
    /// Another tool.
    Tool {
        /// Its name.
        name: String,
    },
    /// Only a message.
    Message,
}

/// Something that failed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// The first time.
    pub proof: Evidence,
    /// What it is about.
    pub subject: About,
    /// What it said last, one line.
    pub text: String,
    /// The command line that failed last, cut, where it has several commands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
    /// How many commands of its session went well since it was seen last.
    pub later: u32,
    /// How often.
    pub times: u32,
    /// The last time.
    pub last: Evidence,
    /// The success that resolved it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved: Option<Evidence>,
}

/// A command that went well, the last time that it did.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Success {
    /// The last time.
    pub proof: Evidence,
    /// What it is about.
    pub subject: About,
}

/// What lasts of a session or a project.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Items {
    /// By their proofs.
    pub decisions: Vec<Decision>,
    /// How many decisions that events said made room for newer ones.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub decisions_let_go: u64,
    /// In the order of their lists.
    pub tasks: Vec<Task>,
    /// By what opened them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub threads: Vec<Thread>,
    /// By the last touch.
    pub files: Vec<FileTouched>,
    /// By their first proofs.
    pub errors: Vec<Failure>,
    /// What resolves errors of other sessions.
    pub successes: Vec<Success>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// What a call does to a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileWaiting {
    /// The path.
    pub path: String,
    /// What.
    pub how: How,
    /// Where it is moved to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
}

/// What a call does, which counts once its result is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Waiting {
    /// Runs commands.
    Run {
        /// Their parts.
        parts: Vec<String>,
        /// The line as it was run, cut, where it has several.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        line: Option<String>,
        /// What they do to files.
        files: Vec<FileWaiting>,
    },
    /// Does something to a file.
    Touch(FileWaiting),
    /// Adds a task.
    Task {
        /// The id that it has until its result gives another.
        id: String,
    },
    /// Asks how all tasks stand.
    ListTasks,
    /// Asks a user.
    Ask,
    /// Anything else.
    Other {
        /// The tool.
        name: String,
    },
}

/// A call that has no result yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pending {
    /// The call.
    pub call_id: String,
    /// The name of what still runs, or of what the call waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handle: Option<String>,
    /// What it is to do; nothing where it waits for another one.
    pub acts: Vec<Waiting>,
}

/// The state of one session's fold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionState {
    /// The session.
    pub session: String,
    /// The tool that it was in, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Where the agent began to work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// Events and entries that were folded in.
    pub folded: u64,
    /// The greatest time so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_at: Option<At>,
    /// The recent turns.
    pub window: Vec<TurnSaid>,
    /// What lasts.
    pub items: Items,
    /// Calls without results.
    pub pending: Vec<Pending>,
    /// Tasks that trackers have made so far.
    pub tracked: u32,
}

/// The state of a ledger's fold.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LedgerState {
    /// Sessions, the one whose last event is newest last.
    pub sessions: Vec<SessionState>,
    /// What lasts of sessions that made room for others.
    pub settled: Items,
}

/// What some sessions of a project say together.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BlockState {
    /// How many they are.
    pub sessions: u64,
    /// The tools that they were in, by session, where they are known.
    pub tools: BTreeMap<String, String>,
    /// Their recent turns, by time.
    pub window: Vec<TurnSaid>,
    /// What lasts.
    pub items: Items,
    /// Those that say nothing by themselves.
    pub silent: BTreeSet<String>,
}
