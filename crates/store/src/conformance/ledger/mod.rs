//! What every event log must do, as checks that panic where one does not.
//!
//! Each check makes its own empty log. Crashes, damage, full disks and other processes are each backend's own tests.

mod appends;
mod bounded;
pub mod builders;
mod forgotten;
mod keys;
mod pages;
mod queries;
mod states;
mod threads;

pub use crate::ledger::check_ledger_bytes;
pub use appends::{
    check_appends, check_batches, check_closing, check_expectations, check_great_numbers,
    check_refused_appends, check_times,
};
pub use bounded::{check_output_bounds, check_output_bytes, check_trims};
pub use forgotten::{
    check_folds_before_forgetting, check_forgotten_events, check_forgotten_places,
    check_numbers_after_forgetting,
};
pub use keys::{check_epochs, check_keys, check_keys_at_once};
pub use pages::{check_large_pages, check_page_bytes};
pub use queries::{check_filters, check_latest, check_limits, check_pages, check_times_asked_for};
pub use states::{check_ledgers, check_marks, check_states};
pub use threads::{check_appending_threads, check_tails};

use std::sync::Arc;

use stemmata_model::{Event, Json, NewEvent, NewPayload, Timestamp};

use self::builders::{all, append, event, ledger, party, put, saved, seq, session, topic};
use crate::ledger::{Append, Durability, EventLog, EventQuery};

/// Makes an empty log.
pub type Make<'a> = &'a mut dyn FnMut() -> Arc<dyn EventLog>;

/// Closes a log and opens it again.
pub type Reopen<'a> = &'a mut dyn FnMut(Arc<dyn EventLog>) -> Arc<dyn EventLog>;

/// Runs all checks but those that need a log that outlives itself: [`check_reopened`].
///
/// # Panics
/// Where the log breaks a promise of [`EventLog`].
pub fn run(make: Make<'_>) {
    let checks: [fn(Make<'_>); 27] = [
        check_appends,
        check_batches,
        check_times,
        check_expectations,
        check_refused_appends,
        check_closing,
        check_filters,
        check_latest,
        check_limits,
        check_pages,
        check_page_bytes,
        check_large_pages,
        check_times_asked_for,
        check_ledgers,
        check_marks,
        check_states,
        check_trims,
        check_output_bounds,
        check_output_bytes,
        check_forgotten_events,
        check_forgotten_places,
        check_folds_before_forgetting,
        check_numbers_after_forgetting,
        check_tails,
        check_keys,
        check_keys_at_once,
        check_epochs,
    ];
    for check in checks {
        check(make);
    }
    check_appending_threads(make);
}

/// Checks that what was acknowledged is there after the log was closed and opened again, whatever its durability was.
pub fn check_reopened(make: Make<'_>, reopen: Reopen<'_>) {
    let mut log = make();
    for (round, durability) in [Durability::Full, Durability::Batch, Durability::None].into_iter().enumerate()
    {
        let events =
            vec![said("a", "user_turn", &format!("round {round}")), line("a", "assistant_turn", "yes")];
        log.append(Append { durability, ..append("p", events) }).expect("an append");
        let before = all(log.as_ref(), "p");
        let ledger = log.ledger(&ledger("p")).expect("a read");
        log = reopen(log);
        assert_eq!(all(log.as_ref(), "p"), before, "{durability:?}");
        assert_eq!(log.ledger(&self::ledger("p")).expect("a read"), ledger, "{durability:?}");
    }
    states::check_states_reopened(log, reopen);
}

fn at(micros: i64) -> Timestamp {
    Timestamp::from_micros(micros)
}

fn json(text: &str) -> Json {
    Json::parse(text).expect("JSON")
}

/// An event with text, from one of several.
fn said(from: &str, about: &str, text: &str) -> NewEvent {
    NewEvent { sender: party(from), ..builders::said("s1", about, text) }
}

/// An event with a line of a conversation.
fn line(from: &str, about: &str, text: &str) -> NewEvent {
    let line = format!(
        r#"{{"v":"stemmata-v1","id":"{text}","role":"assistant","parts":[{{"type":"text","text":"{text} törtchen"}}]}}"#
    );
    NewEvent { sender: party(from), ..event("s1", about, NewPayload::Line(json(&line))) }
}

fn ask(log: &dyn EventLog, name: &str, query: &EventQuery) -> Vec<Event> {
    log.events(&ledger(name), query).expect("a query that can be answered")
}

fn numbers(events: &[Event]) -> Vec<u64> {
    events.iter().map(|event| event.seq.get()).collect()
}
