//! What each reason is worth. Data: `docs/decisions/0023-recall.md` says what was tried.

use super::candidate::{CandidateKind, Standing};

/// Points that reasons give at most.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RetrieveWeights {
    /// All words of the task are in the text.
    pub text: f64,
    /// Search's own score, beside that of its best hit.
    pub rank: f64,
    /// Its meaning is the nearest to the task's, where vectors are in use.
    pub dense: f64,
    /// It is the newest.
    pub recency: f64,
    /// It is of the same thread.
    pub thread: f64,
    /// It is of the same ticket.
    pub ticket: f64,
    /// It names a file that the task names.
    pub file: f64,
    /// An entry next to it was found as well.
    pub near: f64,
    /// It is a decision.
    pub decision: f64,
    /// It is a fact.
    pub fact: f64,
    /// It is an open thread.
    pub open_thread: f64,
    /// It is a task that is not done.
    pub task: f64,
    /// It is an error that nothing has resolved.
    pub error: f64,
    /// It is a file.
    pub touched: f64,
    /// It is a turn, or work for the same thread or ticket.
    pub turn: f64,
    /// It is done, resolved or closed; in place of what its kind gives.
    pub settled: f64,
    /// Something else was chosen since.
    pub superseded: f64,
    /// A tool said it.
    pub tool_output: f64,
}

impl RetrieveWeights {
    /// The weights in use.
    pub const CHOSEN: Self = Self {
        text: 60.0,
        rank: 20.0,
        dense: 25.0,
        recency: 10.0,
        thread: 15.0,
        ticket: 10.0,
        file: 12.0,
        near: 4.0,
        decision: 14.0,
        fact: 8.0,
        open_thread: 12.0,
        task: 12.0,
        error: 10.0,
        touched: 5.0,
        turn: 6.0,
        settled: 2.0,
        superseded: -30.0,
        tool_output: -6.0,
    };

    /// Returns what a kind gives.
    pub(super) const fn kind(&self, kind: CandidateKind, standing: Standing) -> f64 {
        let is_settled = matches!(standing, Standing::Settled);
        match kind {
            CandidateKind::Thread | CandidateKind::Task | CandidateKind::Error if is_settled => self.settled,
            CandidateKind::Decision => self.decision,
            CandidateKind::Fact => self.fact,
            CandidateKind::Thread => self.open_thread,
            CandidateKind::Task => self.task,
            CandidateKind::Error => self.error,
            CandidateKind::File => self.touched,
            CandidateKind::Linked | CandidateKind::Turn => self.turn,
            CandidateKind::Hit => 0.0,
        }
    }
}
