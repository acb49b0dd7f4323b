//! Ledgers: events, and the memory that is folded from them.

use std::ops::ControlFlow;

use crate::v1::{
    AdoptRequest, AppendRequest, Appended, CloseThreadRequest, DecideRequest, Decisions, DisownRequest,
    Event, Events, EventsForgotten, EventsRequest, FinishTaskRequest, FollowRequest, Followed,
    ForgetEventsRequest, Ledger, LedgerPage, LedgerRequest, LedgersRequest, OpenTasks, ReplayRequest,
    Replayed, RestoreStateRequest, RestoredLedger, State, StateRequest,
};
use crate::{Answer, Control, PlanDigest};

/// Events and state. Each method fails with `ledger_not_found` where the ledger that it names does not exist, but for
/// [`append`](Self::append) and [`decide`](Self::decide), which make it; with `bad_name` where it is no name, and with
/// `ledger_damaged` where it cannot be read.
pub trait Ledgers: Send + Sync {
    /// Lists ledgers, in the order of their ids.
    ///
    /// # Errors
    /// `bad_request` where `after` is of another listing.
    fn ledgers(&self, request: &LedgersRequest) -> Answer<LedgerPage>;

    /// Returns one ledger.
    ///
    /// # Errors
    /// Only those of every method.
    fn ledger(&self, request: &LedgerRequest) -> Answer<Ledger>;

    /// Makes a folder part of a project. Idempotent.
    ///
    /// # Errors
    /// `folder_not_adoptable`, `mark_taken`.
    fn adopt(&self, request: &AdoptRequest) -> Answer<Ledger>;

    /// Removes a folder from those that a project adopted.
    ///
    /// # Errors
    /// `folder_not_adopted`.
    fn disown(&self, request: &DisownRequest) -> Answer<Ledger>;

    /// Appends events, all or none, with nothing in between. Durable when it answers, unless the request asks for less. Not
    /// idempotent; with `expected` a second call fails instead of appending twice.
    ///
    /// # Errors
    /// `bad_request`, which says which event; `sequence_moved`, `out_of_bounds`, `empty`, `secret_in_syntax`.
    fn append(&self, request: &AppendRequest) -> Answer<Appended>;

    /// Returns a page of events, ordered by their numbers: as many as were asked for, and fewer where they are large.
    ///
    /// # Errors
    /// `bad_request`, `bad_time`, `out_of_bounds`.
    fn events(&self, request: &EventsRequest) -> Answer<Events>;

    /// Hands events to `each` as they come, ordered and without gaps, until it breaks, `count` is reached or the caller
    /// cancels; being cancelled is not a problem here. With a named cursor an event counts as read once `each` said to go on:
    /// the one it broke at comes again, as it does after a crash.
    ///
    /// # Errors
    /// `cursor_beyond_end`, `cursor_unnamed`.
    fn follow(
        &self,
        request: &FollowRequest,
        each: &mut dyn FnMut(&Event) -> ControlFlow<()>,
        control: &Control<'_>,
    ) -> Answer<Followed>;

    /// Says which events would be forgotten, with the plan's digest. Changes nothing.
    ///
    /// # Errors
    /// `no_event_with_text`, `only_a_transcript`, `bad_request`.
    fn plan_forget_events(&self, request: &ForgetEventsRequest) -> Answer<EventsForgotten>;

    /// Forgets the events of exactly this plan. It cannot be undone. Where the plan fails because nothing is left, no digest
    /// is compared: what an interrupted call left in files goes, or this fails as the plan does.
    ///
    /// # Errors
    /// `plan_stale`, `not_cleaned`, and those of the plan.
    fn apply_forget_events(
        &self,
        request: &ForgetEventsRequest,
        plan: &PlanDigest,
    ) -> Answer<EventsForgotten>;

    /// Returns what is known of a project or a cluster. Folds what is new and saves the result, which a caller cannot see.
    /// `at` beyond the last event means now.
    ///
    /// # Errors
    /// `bad_request`.
    fn state(&self, request: &StateRequest) -> Answer<State>;

    /// Returns the decisions and facts that hold, and the threads that are open.
    ///
    /// # Errors
    /// Only those of every method.
    fn decisions(&self, request: &LedgerRequest) -> Answer<Decisions>;

    /// Returns the tasks that are not done.
    ///
    /// # Errors
    /// Only those of every method.
    fn tasks(&self, request: &LedgerRequest) -> Answer<OpenTasks>;

    /// Remembers a decision, a fact, a task or an open thread. Not idempotent.
    ///
    /// # Errors
    /// `decision_not_found`, `decision_ambiguous`, `bad_request` for a text that says nothing, `secret_in_syntax`.
    fn decide(&self, request: &DecideRequest) -> Answer<Appended>;

    /// Ends a task.
    ///
    /// # Errors
    /// `task_not_found`, also where it is done already; `task_ambiguous`.
    fn finish_task(&self, request: &FinishTaskRequest) -> Answer<Appended>;

    /// Closes an open thread.
    ///
    /// # Errors
    /// `thread_not_found`, also where it is closed already; `thread_ambiguous`.
    fn close_thread(&self, request: &CloseThreadRequest) -> Answer<Appended>;

    /// Folds a ledger's events again and compares the result with what is saved. Cancel-safe.
    ///
    /// # Errors
    /// `cancelled`.
    fn replay(&self, request: &ReplayRequest, control: &Control<'_>) -> Answer<Replayed>;

    /// Makes the state of a ledger anew, also of a damaged one. Idempotent. Damaged lines are set aside only with `repair`,
    /// and never deleted.
    ///
    /// # Errors
    /// `ledger_not_in_files` where there are no lines to set aside.
    fn restore_state(&self, request: &RestoreStateRequest) -> Answer<RestoredLedger>;
}
