//! The well-known topics of ledgers. Any other name is a topic too.
//!
//! Only names; what reducers and guards make of them is theirs.

use crate::Topic;

/// What a person, or whoever prompts the agent, said.
pub const USER_TURN: &str = "user_turn";
/// What the model answered.
pub const ASSISTANT_TURN: &str = "assistant_turn";
/// A tool's call or its result.
pub const TOOL_EVENT: &str = "tool_event";
/// Something about the run itself.
pub const STATUS_EVENT: &str = "status_event";
/// Something that was decided.
pub const DECISION_EVENT: &str = "decision_event";
/// Something that failed.
pub const ERROR_EVENT: &str = "error_event";

/// A task for a cluster of agents.
pub const ISSUE_OPENED: &str = "ISSUE_OPENED";
/// A plan for it.
pub const PLAN_READY: &str = "PLAN_READY";
/// How far a worker is.
pub const WORKER_PROGRESS: &str = "WORKER_PROGRESS";
/// A worker says that it is done.
pub const IMPLEMENTATION_READY: &str = "IMPLEMENTATION_READY";
/// What a validator found.
pub const VALIDATION_RESULT: &str = "VALIDATION_RESULT";
/// What an investigation of a failure found.
pub const INVESTIGATION_COMPLETE: &str = "INVESTIGATION_COMPLETE";
/// The state of a cluster as its snapshotter sees it.
pub const STATE_SNAPSHOT: &str = "STATE_SNAPSHOT";
/// What a prompt was made of.
pub const CONTEXT_METRICS: &str = "CONTEXT_METRICS";
/// What a provider printed, raw: kept for people, not for prompts.
pub const AGENT_OUTPUT: &str = "AGENT_OUTPUT";
/// A large output of a tool, whole: a line of its text, or the line that names these. Not for prompts.
pub const TOOL_OUTPUT: &str = "TOOL_OUTPUT";
/// A word from a person to every agent of a cluster.
pub const USER_GUIDANCE_CLUSTER: &str = "USER_GUIDANCE_CLUSTER";
/// A word from a person to the one agent that receives it.
pub const USER_GUIDANCE_AGENT: &str = "USER_GUIDANCE_AGENT";
/// What a call of a model used, in tokens and money.
pub const TOKEN_USAGE: &str = "TOKEN_USAGE";
/// A cluster goes on after it had stopped.
pub const CLUSTER_RESUMED: &str = "CLUSTER_RESUMED";

/// The window has reached a size that matters.
pub const CONTEXT_SIZE_ALERT: &str = "CONTEXT_SIZE_ALERT";
/// How full a session's window is after a call of a turn, and what the guard has to remember of it.
pub const CONTEXT_WINDOW: &str = "CONTEXT_WINDOW";
/// A line that hides entries from the model, shows them again, or pins them.
pub const CONTEXT_VISIBILITY: &str = "CONTEXT_VISIBILITY";
/// What a caller knows of single entries of its session: task, content, class.
pub const CONTEXT_HINTS: &str = "CONTEXT_HINTS";
/// A line that stands for archived results of tools.
pub const TOOL_SUMMARY: &str = "TOOL_SUMMARY";
/// The state of the work at a checkpoint that a rule asked for: phase, tasks, metrics, checksums of files.
pub const CHECKPOINT_STATE: &str = "CHECKPOINT_STATE";
/// A compaction begins.
pub const COMPACTION_START: &str = "COMPACTION_START";
/// A compaction has ended, well or with an error.
pub const COMPACTION_END: &str = "COMPACTION_END";

/// Stands for an event that is lost, where a repair put it.
pub const EVENT_LOST: &str = "EVENT_LOST";
/// A session begins; every other event of its id comes after this one.
pub const SESSION_STARTED: &str = "SESSION_STARTED";
/// A session ends.
pub const SESSION_ENDED: &str = "SESSION_ENDED";
/// An agent begins to work: `last_agent_start` of its sender.
pub const AGENT_STARTED: &str = "AGENT_STARTED";
/// An agent has ended a task: `last_task_end` of its sender.
pub const TASK_ENDED: &str = "TASK_ENDED";

/// All of them, in the order above.
pub const ALL: &[&str] = &[
    USER_TURN,
    ASSISTANT_TURN,
    TOOL_EVENT,
    STATUS_EVENT,
    DECISION_EVENT,
    ERROR_EVENT,
    ISSUE_OPENED,
    PLAN_READY,
    WORKER_PROGRESS,
    IMPLEMENTATION_READY,
    VALIDATION_RESULT,
    INVESTIGATION_COMPLETE,
    STATE_SNAPSHOT,
    CONTEXT_METRICS,
    AGENT_OUTPUT,
    TOOL_OUTPUT,
    USER_GUIDANCE_CLUSTER,
    USER_GUIDANCE_AGENT,
    TOKEN_USAGE,
    CLUSTER_RESUMED,
    CONTEXT_SIZE_ALERT,
    CONTEXT_WINDOW,
    CONTEXT_VISIBILITY,
    CONTEXT_HINTS,
    TOOL_SUMMARY,
    CHECKPOINT_STATE,
    COMPACTION_START,
    COMPACTION_END,
    EVENT_LOST,
    SESSION_STARTED,
    SESSION_ENDED,
    AGENT_STARTED,
    TASK_ENDED,
];

/// Returns a well-known name as a topic.
pub fn topic(name: &'static str) -> Topic {
    Topic::new(name).expect("a constant name is a name")
}
