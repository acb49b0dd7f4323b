//! What is known of topics: which there are, and how often what they hold changes.
//!
//! Not what events of a topic mean.

use stemmata_model::topics;

use super::source::SourceTopic;

/// The topics that agents and harnesses write, for messages and for telling a mistyped one.
pub(super) const WELL_KNOWN: &[&str] = &[
    topics::ISSUE_OPENED,
    topics::PLAN_READY,
    topics::STATE_SNAPSHOT,
    topics::WORKER_PROGRESS,
    topics::IMPLEMENTATION_READY,
    topics::VALIDATION_RESULT,
    topics::INVESTIGATION_COMPLETE,
    topics::CLUSTER_RESUMED,
    topics::AGENT_OUTPUT,
    topics::USER_GUIDANCE_CLUSTER,
    topics::USER_GUIDANCE_AGENT,
    topics::USER_TURN,
    topics::ASSISTANT_TURN,
    topics::TOOL_EVENT,
    topics::STATUS_EVENT,
    topics::DECISION_EVENT,
    topics::ERROR_EVENT,
    topics::TOKEN_USAGE,
    topics::CONTEXT_METRICS,
    topics::CONTEXT_SIZE_ALERT,
    topics::COMPACTION_START,
    topics::COMPACTION_END,
    topics::SESSION_STARTED,
    topics::SESSION_ENDED,
    topics::AGENT_STARTED,
    topics::TASK_ENDED,
];

/// How often what a source gives changes, the least first. A provider caches the prompt up to the first change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Volatility {
    /// Once for a task: the issue and its plan.
    Seldom,
    /// At each step of the task: the state; and whatever is not known.
    Step,
    /// At each turn: results, progress, turns, what is retrieved.
    Turn,
}

/// Says how often a source's section changes.
pub(super) fn volatility(topic: &SourceTopic) -> Volatility {
    match topic {
        SourceTopic::State => Volatility::Step,
        SourceTopic::Retriever | SourceTopic::Turns => Volatility::Turn,
        SourceTopic::Ledger(name) => match name.as_str() {
            topics::ISSUE_OPENED | topics::PLAN_READY => Volatility::Seldom,
            topics::VALIDATION_RESULT
            | topics::WORKER_PROGRESS
            | topics::IMPLEMENTATION_READY
            | topics::INVESTIGATION_COMPLETE
            | topics::USER_TURN
            | topics::ASSISTANT_TURN
            | topics::TOOL_EVENT
            | topics::STATUS_EVENT
            | topics::ERROR_EVENT
            | topics::AGENT_OUTPUT => Volatility::Turn,
            _ => Volatility::Step,
        },
    }
}

/// Says whether a topic is of seed 000's clusters, whose prompts have anchors.
pub(super) fn is_of_clusters(topic: &SourceTopic) -> bool {
    let SourceTopic::Ledger(name) = topic else { return false };
    matches!(
        name.as_str(),
        topics::ISSUE_OPENED
            | topics::PLAN_READY
            | topics::STATE_SNAPSHOT
            | topics::WORKER_PROGRESS
            | topics::IMPLEMENTATION_READY
            | topics::VALIDATION_RESULT
            | topics::INVESTIGATION_COMPLETE
    )
}
