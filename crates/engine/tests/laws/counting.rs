//! What a prompt costs: it reads the events that its sources select, however many there are.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use stemmata_engine::prompt::strategy::{DocumentFormat, parse};
use stemmata_engine::{Engine, PromptOf, PromptWanted};
use stemmata_model::{Estimate, Timestamp};
use stemmata_store::LedgerChange;
use stemmata_testkit::memory::MemoryStore;

use crate::contexts::{event, ledger, profile};
use crate::heard::{Asked, HeardLog};
use crate::support::engine_on;

/// Returns the events that a prompt reads, and how often it asks, where the ledger has so many events.
fn cost(events: usize) -> (usize, usize) {
    let counts = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
    let counted = Arc::clone(&counts);
    let hears = move |asked: Asked| {
        if let Asked::Page(events) = asked {
            counted[0].fetch_add(events, Ordering::Relaxed);
            counted[1].fetch_add(1, Ordering::Relaxed);
        }
    };
    let log = HeardLog { log: Arc::new(MemoryStore::default()), hears: Box::new(hears) };
    let engine: Engine = engine_on("m1", Arc::new(MemoryStore::default())).with_log(Arc::new(log));
    engine.log().change_ledger(LedgerChange::new(ledger(), Timestamp::from_micros(1))).expect("made");
    for start in (0..events).step_by(500) {
        let topics = ["PLAN_READY", "VALIDATION_RESULT", "NOTE"];
        let batch =
            (start..start + 500).map(|at| event("s", topics[at % 3], &format!("event {at}"), "{}")).collect();
        engine.publish(&ledger(), batch).expect("published");
    }
    let strategy = "[[sources]]\ntopic = \"PLAN_READY\"\nstrategy = \"latest\"\namount = 1\n\
                    [[sources]]\ntopic = \"VALIDATION_RESULT\"\nstrategy = \"latest\"\namount = 5\ncompactAmount = 1\n\
                    [[sources]]\ntopic = \"NOTE\"\nstrategy = \"oldest\"\namount = 7\nsince = \"last_task_end\"\n";
    let strategy = parse(strategy, DocumentFormat::Toml).expect("a strategy");
    let profile = profile();
    counts.iter().for_each(|count| count.store(0, Ordering::Relaxed));
    let of = PromptOf { ledger: ledger(), session: None, tip: None };
    let made = engine.assemble(&of, &PromptWanted::new(&profile, &strategy, &Estimate)).expect("a prompt");
    assert!(made.text.contains("event 2\n") && made.text.contains("PLAN_READY"), "{}", made.text);
    (counts[0].load(Ordering::Relaxed), counts[1].load(Ordering::Relaxed))
}

#[test]
fn a_source_costs_its_amount_whatever_the_length() {
    let (events, pages) = cost(1_500);
    assert!(events <= 1 + 5 + 7 + 2, "{events} events were read for 13");
    assert_eq!(cost(6_000), (events, pages), "of four times the ledger");
}
