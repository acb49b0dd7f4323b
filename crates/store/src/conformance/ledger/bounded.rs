//! What a log lets go of by itself: raw output beyond its bounds, and what `trim` names. Places and hashes stay.
//!
//! What a person has forgotten is in `forgotten`.

use stemmata_model::{Gone, NewEvent, Payload, artifact_id};

use super::{Make, all, ask, json, ledger, line, numbers, put, said, seq, topic};
use crate::ledger::{EventLog, EventQuery, OUTPUT_BYTES_MAX, OUTPUT_EVENTS_MAX, Receipt};
use crate::rules::events::{chained, plain_bytes};

const OUTPUT: &str = "AGENT_OUTPUT";

fn receipt(log: &dyn EventLog, name: &str) -> Option<Receipt> {
    log.receipt(&ledger("p"), &topic(name)).expect("a read")
}

fn gone(text: &str) -> Gone {
    let bytes = plain_bytes(Some(text), None);
    let length = u64::try_from(bytes.len()).expect("a length");
    Gone { hash: artifact_id(&bytes), bytes: length, forgotten: false }
}

/// Checks that trimming takes payloads and leaves the rest, once.
pub fn check_trims(make: Make<'_>) {
    let log = make();
    let turn = line("m", "t", "hello");
    put(
        log.as_ref(),
        "p",
        vec![said("a", "t", "one"), said("a", "u", "two"), turn.clone(), said("a", "t", "four")],
    );
    let before = all(log.as_ref(), "p");
    assert_eq!(receipt(log.as_ref(), "t"), None);
    assert_eq!(log.trim(&ledger("p"), &topic("t"), seq(3)).expect("a trim"), 2);
    assert_eq!(log.trim(&ledger("p"), &topic("t"), seq(3)).expect("a trim"), 0, "trimming twice");
    assert_eq!(log.trim(&ledger("elsewhere"), &topic("t"), seq(3)).expect("a trim"), 0);
    let after = all(log.as_ref(), "p");
    assert_eq!(numbers(&after), [1, 2, 3, 4]);
    assert_eq!((&after[1], &after[3]), (&before[1], &before[3]), "nothing else is touched");
    assert_eq!(after[0].payload, Payload::Gone(gone("one")));
    let Payload::Line { id, line } = &before[2].payload else { panic!("a line") };
    let bytes = u64::try_from(line.as_str().len() + 1).expect("a length");
    assert_eq!(after[2].payload, Payload::Gone(Gone { hash: *id, bytes, forgotten: false }));
    assert_eq!((after[0].at, &after[0].metadata), (before[0].at, &before[0].metadata));
    let one = gone("one");
    let chain = chained(chained([0; 32], one.hash, one.bytes), *id, bytes);
    let expected = Receipt { events: 2, bytes: one.bytes + bytes, chain, through: seq(3) };
    assert_eq!(receipt(log.as_ref(), "t"), Some(expected));
    // The same line again is a payload of its own.
    put(log.as_ref(), "p", vec![turn]);
    assert!(matches!(all(log.as_ref(), "p")[4].payload, Payload::Line { .. }));
}

/// Checks that raw output beyond its number of events loses its oldest payloads, and only it does.
pub fn check_output_bounds(make: Make<'_>) {
    let log = make();
    let safe = said("a", OUTPUT, "kept: it may enter a prompt").with_metadata(json("{\"contextSafe\":true}"));
    put(log.as_ref(), "p", vec![said("a", "t", "kept: another topic"), safe]);
    let total = OUTPUT_EVENTS_MAX + 3;
    let events: Vec<NewEvent> =
        (0..total).map(|number| said("a", OUTPUT, &format!("line {number}"))).collect();
    for batch in events.chunks(1_000) {
        put(log.as_ref(), "p", batch.to_vec());
    }
    let found = receipt(log.as_ref(), OUTPUT).expect("a receipt");
    let lost: Vec<Gone> = (0..3).map(|number| gone(&format!("line {number}"))).collect();
    let chain = lost.iter().fold([0; 32], |before, gone| chained(before, gone.hash, gone.bytes));
    let bytes = lost.iter().map(|gone| gone.bytes).sum();
    assert_eq!(found, Receipt { events: 3, bytes, chain, through: seq(5) });
    let events = all(log.as_ref(), "p");
    let without: Vec<u64> = events
        .iter()
        .filter(|event| matches!(event.payload, Payload::Gone(_)))
        .map(|event| event.seq.get())
        .collect();
    assert_eq!(without, [3, 4, 5]);
    assert_eq!(events.len(), usize::try_from(total).expect("a small number") + 2);
    let replayable = EventQuery { replayable: Some(true), limit: 9, ..EventQuery::default() };
    assert_eq!(numbers(&ask(log.as_ref(), "p", &replayable)), [1, 2], "output takes no place of a prompt's");
}

/// Checks that raw output beyond its bytes loses its oldest payloads.
pub fn check_output_bytes(make: Make<'_>) {
    let log = make();
    let large = "x".repeat(1_000_000);
    for _ in 0..12 {
        put(log.as_ref(), "p", vec![said("a", OUTPUT, &large)]);
    }
    let kept: u64 = all(log.as_ref(), "p")
        .iter()
        .filter(|event| matches!(event.payload, Payload::Plain { .. }))
        .map(|_| gone(&large).bytes)
        .sum();
    assert!(
        kept <= OUTPUT_BYTES_MAX && kept + gone(&large).bytes > OUTPUT_BYTES_MAX,
        "{kept} bytes are kept"
    );
    assert_eq!(receipt(log.as_ref(), OUTPUT).map(|receipt| receipt.events), Some(4));
}
