//! Wire types of what a service keeps beside its store: pointers, jobs, the audit log.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stemmata_model::{CommitId, JobKind, Note, PointerKey, Principal, Timestamp};

use crate::PageRequest;

/// A name that programs give a commit and move to another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Pointer {
    /// The name.
    pub key: PointerKey,
    /// The commit that it points to.
    pub ctx: CommitId,
    /// When it was set, RFC 3339.
    pub set_at: Timestamp,
    /// Who set it.
    pub by: Principal,
    /// What the user should know: that the commit is gone, for example.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
}

/// Asks for a pointer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PointerRequest {
    /// Its name: 1 to 512 letters, digits and `.`, `_`, `-`, `:`, `@`, in parts with `/` between.
    pub key: PointerKey,
}

/// Asks to set a pointer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SetPointerRequest {
    /// Its name: 1 to 512 letters, digits and `.`, `_`, `-`, `:`, `@`, in parts with `/` between.
    pub key: PointerKey,
    /// The commit that it is to point to, as any commit is named.
    pub ctx: String,
    /// The commit that it must point to now. Where it points elsewhere nothing is changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<CommitId>,
    /// Whether it must not be there yet.
    #[serde(default)]
    pub new: bool,
}

/// A pointer that was set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct PointerSet {
    /// The pointer.
    pub pointer: Pointer,
    /// What it pointed to before; absent where it is new.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous: Option<CommitId>,
}

/// Asks to delete a pointer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DeletePointerRequest {
    /// Its name.
    pub key: PointerKey,
    /// The commit that it must point to now. Where it points elsewhere nothing is changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<CommitId>,
}

/// A pointer that was deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct PointerDeleted {
    /// The pointer as it was; absent where there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pointer: Option<Pointer>,
}

/// Asks for pointers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PointersRequest {
    /// What their names begin with; absent for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// Which part of the list.
    #[serde(default = "PageRequest::first")]
    pub page: PageRequest,
}

/// A page of pointers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct PointerPage {
    /// The pointers, in the order of their names' bytes. Whether their commits are there is not looked up.
    pub pointers: Vec<Pointer>,
    /// If there may be more: continue with `page.after` this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// Where a background job is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// It waits for its time, or for a process to do it.
    Waiting,
    /// A process does it.
    Running,
    /// It was done.
    Done,
    /// It failed as often as it may, or its budget is spent.
    Failed,
}

/// What a job has cost, or may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct JobCost {
    /// Tokens of models; as a budget: 0 for no bound.
    pub tokens: u64,
    /// Money, in millionths of a dollar; as a budget: 0 for no bound.
    pub micro_dollars: u64,
    /// Time, in milliseconds; as a budget: 0 for no bound.
    pub busy_ms: u64,
}

/// A background job. Kind and subject name it: of the same name there is one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Job {
    /// What is done: `pack`.
    pub kind: JobKind,
    /// To what: an id, or `store`.
    pub subject: String,
    /// Where it is.
    pub state: JobState,
    /// How often it was begun.
    pub attempts: u32,
    /// How often it is begun at most.
    pub attempts_max: u32,
    /// When it was found to be needed, RFC 3339.
    pub added_at: Timestamp,
    /// Before when it is not begun.
    pub not_before: Timestamp,
    /// When it was begun last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub begun_at: Option<Timestamp>,
    /// Until when no other process takes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leased_until: Option<Timestamp>,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// The process that does it, or did last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder: Option<String>,
    /// What it has cost.
    pub spent: JobCost,
    /// What it may cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<JobCost>,
    /// Why the last attempt failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Asks for background jobs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct JobsRequest {
    /// How many at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

/// Background jobs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct JobList {
    /// Those that run, then those that wait, then the newest that ended.
    pub jobs: Vec<Job>,
}

/// How an operation of the audit log went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AuditOutcome {
    /// It was about to be done. Without a row after it: it runs, or nobody knows how it ended.
    Begun,
    /// It was done.
    Done,
    /// It was refused.
    Refused,
    /// It failed; `detail` has the problem's code.
    Failed,
}

/// A row of the audit log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct AuditEntry {
    /// Its number, from 1 on.
    pub number: u64,
    /// When, RFC 3339.
    pub at: Timestamp,
    /// Who asked.
    pub principal: Principal,
    /// For what operation: `maintain.apply_forget`.
    pub operation: String,
    /// Whose data it was; absent where that is not another's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub whose: Option<Principal>,
    /// What it was done to: ids and numbers; no content, and no name of what was forgotten.
    pub target: String,
    /// How it went.
    pub outcome: AuditOutcome,
    /// How much was done, or the problem's code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The id of the request, where it came over HTTP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
}

/// Asks for rows of the audit log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AuditRequest {
    /// Of this principal only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub principal: Option<Principal>,
    /// Of this operation only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    /// Which part of the log.
    #[serde(default = "PageRequest::first")]
    pub page: PageRequest,
}

/// A page of the audit log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct AuditPage {
    /// The rows, the newest first.
    pub entries: Vec<AuditEntry>,
    /// If there may be more: continue with `page.after` this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}
