//! How often what the well-known topics hold changes, and which are of clusters.
//!
//! Not what events of a topic mean.

use stemmata_model::topics;

use super::source::SourceTopic;

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
