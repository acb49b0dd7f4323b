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
        control: &Control<'_>,
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

    /// Makes the state of a ledger again, also of a damaged one. Idempotent. Damaged lines are set aside only with `repair`,
    /// and never deleted.
    ///
    /// # Errors
    /// `ledger_not_in_files` where there are no lines to set aside.
    fn restore_state(&self, request: &RestoreStateRequest) -> Answer<RestoredLedger>;
}

/// The operations of [`Ledgers`], each beside its method.
#[expect(missing_docs, reason = "a row is documented at the method of its name")]
pub mod rows {
    use crate::operation::Scope::{Manage, Publish, Read};
    use crate::operation::{Apply, Flow, Head, Op, Repeat, Row};
    use crate::v1;

    /// All of them.
    pub static ALL: &[&dyn Row] = &[
        &LEDGERS,
        &LEDGER,
        &ADOPT,
        &DISOWN,
        &APPEND,
        &EVENTS,
        &FOLLOW,
        &PLAN_FORGET_EVENTS,
        &APPLY_FORGET_EVENTS,
        &STATE,
        &DECISIONS,
        &TASKS,
        &DECIDE,
        &FINISH_TASK,
        &CLOSE_THREAD,
        &REPLAY,
        &RESTORE_STATE,
    ];

    pub static LEDGERS: Op<v1::LedgersRequest, v1::LedgerPage> =
        Op::get("ledgers.ledgers", "/v1/ledgers", Read, |s, q, _| s.ledgers(q)).shown_by(&["ledger list"]);
    pub static LEDGER: Op<v1::LedgerRequest, v1::Ledger> =
        Op::get("ledgers.ledger", "/v1/ledgers/{ledger}", Read, |s, q, _| s.ledger(q));
    pub static ADOPT: Op<v1::AdoptRequest, v1::Ledger> =
        Op::post("ledgers.adopt", "/v1/ledgers/{ledger}/folders", Manage, Repeat::Same, |s, q, _| s.adopt(q))
            .shown_by(&["ledger adopt"]);
    pub static DISOWN: Op<v1::DisownRequest, v1::Ledger> =
        Op::post("ledgers.disown", "/v1/ledgers/{ledger}/folders/disown", Manage, Repeat::Same, |s, q, _| {
            s.disown(q)
        })
        .shown_by(&["ledger adopt --remove"]);
    pub static APPEND: Op<v1::AppendRequest, v1::Appended> =
        Op::post("ledgers.append", "/v1/events", Publish, Repeat::Again, |s, q, _| s.append(q))
            .shown_by(&["events append"]);
    pub static EVENTS: Op<v1::EventsRequest, v1::Events> =
        Op::get("ledgers.events", "/v1/ledgers/{ledger}/events", Read, |s, q, _| s.events(q))
            .shown_by(&["events query", "events tail"]);
    // The route takes no named cursor, which moves along with what was read: `Last-Event-ID` stands for it.
    pub static FOLLOW: Op<v1::FollowRequest, v1::Followed> =
        Op::by_hand(Flow::Events, Head::get("ledgers.follow", "/v1/events", Read))
            .shown_by(&["events follow"]);
    pub static PLAN_FORGET_EVENTS: Op<v1::ForgetEventsRequest, v1::EventsForgotten> =
        Op::ask("ledgers.plan_forget_events", "/v1/events/forget/plan", Manage, |s, q, _| {
            s.plan_forget_events(q)
        });
    pub static APPLY_FORGET_EVENTS: Op<Apply<v1::ForgetEventsRequest>, v1::EventsForgotten> =
        Op::apply("ledgers.apply_forget_events", "/v1/events/forget", &["events forget"], |s, q, c| {
            s.apply_forget_events(&q.request, &q.plan, c)
        });
    pub static STATE: Op<v1::StateRequest, v1::State> =
        Op::get("ledgers.state", "/v1/ledgers/{ledger}/state", Read, |s, q, _| s.state(q))
            .shown_by(&["state"]);
    pub static DECISIONS: Op<v1::LedgerRequest, v1::Decisions> =
        Op::get("ledgers.decisions", "/v1/ledgers/{ledger}/decisions", Read, |s, q, _| s.decisions(q))
            .shown_by(&["decision list"]);
    pub static TASKS: Op<v1::LedgerRequest, v1::OpenTasks> =
        Op::get("ledgers.tasks", "/v1/ledgers/{ledger}/tasks", Read, |s, q, _| s.tasks(q))
            .shown_by(&["task list"]);
    pub static DECIDE: Op<v1::DecideRequest, v1::Appended> =
        Op::post("ledgers.decide", "/v1/ledgers/{ledger}/decisions", Publish, Repeat::Again, |s, q, _| {
            s.decide(q)
        })
        .shown_by(&["decision add", "task add"]);
    // What is said of a task or a thread may be in another open one too, which a second request would take.
    pub static FINISH_TASK: Op<v1::FinishTaskRequest, v1::Appended> = Op::post(
        "ledgers.finish_task",
        "/v1/ledgers/{ledger}/tasks/finish",
        Publish,
        Repeat::Again,
        |s, q, _| s.finish_task(q),
    )
    .shown_by(&["task done"]);
    pub static CLOSE_THREAD: Op<v1::CloseThreadRequest, v1::Appended> = Op::post(
        "ledgers.close_thread",
        "/v1/ledgers/{ledger}/threads/close",
        Publish,
        Repeat::Again,
        |s, q, _| s.close_thread(q),
    )
    .shown_by(&["decision close"]);
    pub static REPLAY: Op<v1::ReplayRequest, v1::Replayed> =
        Op::post("ledgers.replay", "/v1/ledgers/{ledger}/replay", Manage, Repeat::Same, |s, q, c| {
            s.replay(q, c)
        })
        .shown_by(&["replay"]);
    pub static RESTORE_STATE: Op<v1::RestoreStateRequest, v1::RestoredLedger> =
        Op::post("ledgers.restore_state", "/v1/ledgers/{ledger}/restore", Manage, Repeat::Same, |s, q, _| {
            s.restore_state(q)
        })
        .shown_by(&["restore"]);
}
