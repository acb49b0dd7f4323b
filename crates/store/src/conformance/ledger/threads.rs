//! Many threads at one log: nothing is lost, nothing stands within another's append, and readers see wholes.
//!
//! Processes are each backend's own tests.

use std::sync::Barrier;
use std::thread;

use stemmata_model::{Event, EventSeq, Payload};

use super::{Make, all, append, ask, numbers, put, said};
use crate::ledger::{Append, Durability, EventQuery};

const THREADS: usize = 8;
const APPENDS: usize = 12;

fn text(event: &Event) -> &str {
    match &event.payload {
        Payload::Plain { text: Some(text), .. } => text,
        other => panic!("{other:?} is not text"),
    }
}

/// Checks appends of many threads at once, of all durabilities: what stands in the log is what they were told, in an
/// order that each of them could see.
pub fn check_appending_threads(make: Make<'_>) {
    let log = make();
    let begin = Barrier::new(THREADS);
    let mut told: Vec<(u64, u64, String)> = thread::scope(|scope| {
        let appending = |number: usize| {
            let (log, begin) = (log.as_ref(), &begin);
            scope.spawn(move || {
                begin.wait();
                let mut told: Vec<(u64, u64, String)> = Vec::new();
                for step in 0..APPENDS {
                    let durability =
                        [Durability::Full, Durability::Batch, Durability::None][(number + step) % 3];
                    let name = format!("{number}/{step}");
                    let events = vec![said("a", "t", &name); 1 + step % 4];
                    let append = Append { durability, ..append("p", events) };
                    let appended = log.append(append).expect("an append");
                    told.push((appended.first.get(), appended.last.get(), name));
                }
                assert!(
                    told.windows(2).all(|pair| pair[0].1 < pair[1].0),
                    "one thread's appends stand in its order"
                );
                told
            })
        };
        let threads: Vec<_> = (0..THREADS).map(appending).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect()
    });
    told.sort();
    let events = all(log.as_ref(), "p");
    assert_eq!(numbers(&events), (1..=told.last().expect("appends").1).collect::<Vec<_>>());
    assert!(events.windows(2).all(|pair| pair[0].at < pair[1].at));
    let mut rest = events.as_slice();
    for (first, last, name) in told {
        let length = usize::try_from(last - first + 1).expect("a small number");
        let (own, after) = rest.split_at(length);
        assert_eq!(own[0].seq.get(), first);
        assert!(own.iter().all(|event| text(event) == name), "{name} stands together");
        rest = after;
    }
    assert!(rest.is_empty());
}

/// Checks that a reader who follows a writer sees every event once, in order, and never part of an append.
pub fn check_tails(make: Make<'_>) {
    let log = make();
    put(log.as_ref(), "p", vec![said("a", "t", "0")]);
    let last = 200;
    thread::scope(|scope| {
        let writer = log.as_ref();
        scope.spawn(move || {
            for number in 1..=last {
                put(writer, "p", vec![said("a", "t", &number.to_string()); 3]);
            }
        });
        let mut seen: Vec<Event> = Vec::new();
        while seen.len() < 1 + 3 * last {
            let cursor: Option<EventSeq> = seen.last().map(|event| event.seq);
            let page = ask(log.as_ref(), "p", &EventQuery::after(cursor, 1_000));
            seen.extend(page);
            assert_eq!((seen.len() + 2) % 3, 0, "an append is there whole or not at all");
        }
        assert_eq!(numbers(&seen), (1..=601).collect::<Vec<_>>());
        assert!(
            seen[1..]
                .chunks(3)
                .zip(1..)
                .all(|(own, number)| own.iter().all(|event| text(event) == number.to_string()))
        );
    });
}
