//! Prompts: made, explained, and the strategies that say what is in them.

use crate::Answer;
use crate::v1::{
    AssembleRequest, Assembled, CheckStrategyRequest, ContextReport, ContextRequest, Strategies,
    StrategyReport, StrategyRequest, StrategyText,
};

/// What an agent is told in a turn.
pub trait Prompts: Send + Sync {
    /// Makes the prompt of a turn, with the trace of every decision. The same `through` gives the same bytes. Changes nothing
    /// but what folds save, except where the request has the metrics recorded.
    ///
    /// # Errors
    /// `strategy_bad`, `strategy_not_found`, `profile_bad`, `ledger_not_found`, `no_event_with_text` for a trigger that says
    /// nothing, `bad_request`, `bad_name`.
    fn assemble(&self, request: &AssembleRequest) -> Answer<Assembled>;

    /// Says how a prompt came to be, and what changed since an earlier one. Changes nothing but what folds save.
    ///
    /// # Errors
    /// Those of [`assemble`](Self::assemble).
    fn context(&self, request: &ContextRequest) -> Answer<ContextReport>;

    /// Says what is wrong or doubtful in a strategy. One that cannot be used is an answer, not a problem.
    ///
    /// # Errors
    /// `ledger_not_found`, `bad_name`.
    fn check_strategy(&self, request: &CheckStrategyRequest) -> Answer<StrategyReport>;

    /// Lists the strategies that come with Stemmata.
    ///
    /// # Errors
    /// None of its own.
    fn strategies(&self) -> Answer<Strategies>;

    /// Returns the text of a strategy that comes with Stemmata.
    ///
    /// # Errors
    /// `strategy_not_found`.
    fn strategy(&self, request: &StrategyRequest) -> Answer<StrategyText>;
}
