//! Prompts: made, explained, and the strategies that say what is in them.

use crate::Answer;
use crate::v1::{
    AssembleRequest, Assembled, BeginTurnRequest, CheckStrategyRequest, ContextReport, ContextRequest,
    GuardReport, GuardRequest, MarkTurnEntriesRequest, RecallRequest, Recalled, RecoverTurnRequest,
    Strategies, StrategyReport, StrategyRequest, StrategyText, TurnBegun, TurnEntriesMarked, TurnMadeRequest,
    TurnRecovered, TurnStored, TurnWindowRequest, TurnWindowShown,
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
    /// `context_not_kept` where no prompt of the session was kept, and those of [`assemble`](Self::assemble).
    fn context(&self, request: &ContextRequest) -> Answer<ContextReport>;

    /// Says how full the window of a context is, and what would be pruned of it and why. Changes nothing.
    ///
    /// # Errors
    /// `window_bad` for a window that holds nothing, that is not known, or whose limits contradict each other;
    /// `commit_not_found`, `bad_request`, and those of [`materialize`](crate::GiveBack::materialize).
    fn guard(&self, request: &GuardRequest) -> Answer<GuardReport>;

    /// Returns what of earlier work fits a task, within a budget: quoted data, with where it comes from. What search lacks is
    /// a note.
    ///
    /// # Errors
    /// `query_empty`, `query_too_long`, `bad_request` for a budget below 64 tokens, `ledger_not_found`, `bad_name`.
    fn recall(&self, request: &RecallRequest) -> Answer<Recalled>;

    /// Begins a turn: appends what the user said, and makes the prompt. Where the window is known it is measured, and a critical
    /// one is pruned before the model is called. Idempotent where `said` has an id and the session is
    /// named. Makes a ledger that is not there.
    ///
    /// # Errors
    /// `session_taken` for a context of a session that goes on from something else; `entry_not_found`, `commit_not_found`,
    /// `commit_forgotten`, `out_of_bounds`, and those of [`assemble`](Self::assemble). A problem of the prompt leaves the turn
    /// begun.
    fn begin_turn(&self, request: &BeginTurnRequest) -> Answer<TurnBegun>;

    /// Stores what came of a turn so far, for example after a tool's result. Where the window is known, results above the cutoff
    /// are archived, and a critical window is pruned in the same transaction. Not idempotent, but where the entries have ids.
    ///
    /// # Errors
    /// `bad_request`, which says which entry or event; `secret_in_syntax`, `out_of_bounds`.
    fn step(&self, request: &TurnMadeRequest) -> Answer<TurnStored>;

    /// Ends a turn: stores what came of it since the last step, and commits all of it. Where the window is known, the session is
    /// compacted after that if it is due. Not idempotent, but where the entries have ids.
    ///
    /// # Errors
    /// Those of [`step`](Self::step).
    fn end_turn(&self, request: &TurnMadeRequest) -> Answer<TurnStored>;

    /// Says how full the window of a session of turns is now, and was. Changes nothing.
    ///
    /// # Errors
    /// `window_bad` for a window that is not known, or whose limits contradict each other; `bad_request`, `bad_name`.
    fn turn_window(&self, request: &TurnWindowRequest) -> Answer<TurnWindowShown>;

    /// Answers an error of a provider: where it says that the context is too long, the session is compacted, else pruned, and the
    /// call can be tried once more. Another error is an answer with `retry` false, and changes nothing.
    ///
    /// # Errors
    /// `context_overflow` for a second overflow before the model answered, and where even the smallest context does not fit; and
    /// those of [`turn_window`](Self::turn_window).
    fn recover_turn(&self, request: &RecoverTurnRequest) -> Answer<TurnRecovered>;

    /// Shows hidden entries of a live session again, or pins or unpins entries. Idempotent.
    ///
    /// # Errors
    /// `entry_not_found` for an entry that the window since the last compaction has not; `context_overflow` where what comes back
    /// does not fit; and those of [`step`](Self::step).
    fn mark_turn_entries(&self, request: &MarkTurnEntriesRequest) -> Answer<TurnEntriesMarked>;

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

/// The operations of [`Prompts`], each beside its method.
#[expect(missing_docs, reason = "a row is documented at the method of its name")]
pub mod rows {
    use crate::operation::Scope::{Publish, Read};
    use crate::operation::{EmptyRequest, Op, Repeat, Row};
    use crate::v1;

    /// All of them.
    pub static ALL: &[&dyn Row] = &[
        &ASSEMBLE,
        &CONTEXT,
        &GUARD,
        &RECALL,
        &BEGIN_TURN,
        &STEP,
        &END_TURN,
        &TURN_WINDOW,
        &RECOVER_TURN,
        &MARK_TURN_ENTRIES,
        &CHECK_STRATEGY,
        &STRATEGIES,
        &STRATEGY,
    ];

    // It may record metrics, so `Read` would be too little.
    pub static ASSEMBLE: Op<v1::AssembleRequest, v1::Assembled> =
        Op::post("prompts.assemble", "/v1/assemble", Publish, Repeat::Again, |s, q, _| s.assemble(q))
            .shown_by(&["assemble"]);
    pub static CONTEXT: Op<v1::ContextRequest, v1::ContextReport> =
        Op::ask("prompts.context", "/v1/context", Read, |s, q, _| s.context(q)).shown_by(&["context debug"]);
    pub static GUARD: Op<v1::GuardRequest, v1::GuardReport> =
        Op::ask("prompts.guard", "/v1/guard", Read, |s, q, _| s.guard(q)).shown_by(&["guard"]);
    pub static RECALL: Op<v1::RecallRequest, v1::Recalled> =
        Op::ask("prompts.recall", "/v1/recall", Read, |s, q, _| s.recall(q)).shown_by(&["recall"]);
    pub static BEGIN_TURN: Op<v1::BeginTurnRequest, v1::TurnBegun> =
        Op::post("prompts.begin_turn", "/v1/turns/begin", Publish, Repeat::Keyed("request"), |s, q, _| {
            s.begin_turn(q)
        })
        .shown_by(&["turn begin"]);
    pub static STEP: Op<v1::TurnMadeRequest, v1::TurnStored> =
        Op::post("prompts.step", "/v1/turns/step", Publish, Repeat::Keyed("request"), |s, q, _| s.step(q))
            .shown_by(&["turn step"]);
    pub static END_TURN: Op<v1::TurnMadeRequest, v1::TurnStored> =
        Op::post("prompts.end_turn", "/v1/turns/end", Publish, Repeat::Keyed("request"), |s, q, _| {
            s.end_turn(q)
        })
        .shown_by(&["turn end"]);
    pub static TURN_WINDOW: Op<v1::TurnWindowRequest, v1::TurnWindowShown> =
        Op::ask("prompts.turn_window", "/v1/turns/window", Read, |s, q, _| s.turn_window(q))
            .shown_by(&["turn window"]);
    pub static RECOVER_TURN: Op<v1::RecoverTurnRequest, v1::TurnRecovered> =
        Op::post("prompts.recover_turn", "/v1/turns/recover", Publish, Repeat::Again, |s, q, _| {
            s.recover_turn(q)
        })
        .shown_by(&["turn recover"]);
    pub static MARK_TURN_ENTRIES: Op<v1::MarkTurnEntriesRequest, v1::TurnEntriesMarked> =
        Op::post("prompts.mark_turn_entries", "/v1/turns/mark", Publish, Repeat::Same, |s, q, _| {
            s.mark_turn_entries(q)
        })
        .shown_by(&["turn rehydrate", "turn pin", "turn unpin"]);
    pub static CHECK_STRATEGY: Op<v1::CheckStrategyRequest, v1::StrategyReport> =
        Op::ask("prompts.check_strategy", "/v1/strategies/check", Read, |s, q, _| s.check_strategy(q))
            .shown_by(&["strategy check"]);
    pub static STRATEGIES: Op<EmptyRequest, v1::Strategies> =
        Op::get("prompts.strategies", "/v1/strategies", Read, |s, _, _| s.strategies())
            .shown_by(&["strategy list"]);
    pub static STRATEGY: Op<v1::StrategyRequest, v1::StrategyText> =
        Op::get("prompts.strategy", "/v1/strategies/{name}", Read, |s, q, _| s.strategy(q))
            .shown_by(&["strategy show"]);
}
