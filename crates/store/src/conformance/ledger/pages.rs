//! Pages: how many bytes one has, what it says of what follows, and that walking them misses and repeats nothing.
//!
//! Which events a query finds is in `queries`.

use stemmata_model::{Event, NewEvent, Payload};

use super::{Make, ask, json, ledger, line, numbers, put, said, seq, topic};
use crate::EVENT_PAGE_BYTES_MAX;
use crate::ledger::{EVENT_BYTES_MAX, EventLog, EventPage, EventQuery, Order};

fn page(log: &dyn EventLog, query: &EventQuery) -> EventPage {
    log.page(&ledger("p"), query).expect("a page")
}

/// Events of different sizes, of two topics: of no byte, of a few, with data, with metadata, as a line.
fn sizes() -> Vec<NewEvent> {
    let words = |topic: &str, count: usize| said("a", topic, &"x".repeat(count));
    vec![
        words("t", 5),
        words("u", 0),
        words("t", 9).with_metadata(json("{\"k\":1}")),
        words("u", 30),
        line("a", "t", "y"),
        words("u", 1),
        words("t", 2),
        words("u", 3),
    ]
}

/// What the pages of a query have to be: each takes events as long as they fit, and at least one.
fn pages_of(events: &[(Event, usize)], query: &EventQuery) -> Vec<(Vec<u64>, bool)> {
    let mut pages: Vec<(Vec<u64>, usize)> = Vec::new();
    for (event, bytes) in events {
        match pages.last_mut() {
            Some((page, sum)) if page.len() < query.limit && *sum + bytes <= query.bytes_max => {
                page.push(event.seq.get());
                *sum += bytes;
            }
            _ => pages.push((vec![event.seq.get()], *bytes)),
        }
    }
    let count = pages.len();
    let ends_by_bounds = |(number, (page, _)): (usize, (Vec<u64>, usize))| {
        let goes_on = number + 1 < count || page.len() == query.limit;
        (page, goes_on)
    };
    pages.into_iter().enumerate().map(ends_by_bounds).collect()
}

/// Checks for every bound in bytes that pages take what fits, and that walking them gives every event once.
pub fn check_page_bytes(make: Make<'_>) {
    let log = make();
    put(log.as_ref(), "p", sizes());
    let lines = ask(log.as_ref(), "p", &EventQuery::after(None, 100));
    // Written down, not asked for: text, data, line and metadata, and nothing else.
    let Payload::Line { line, .. } = &lines[4].payload else { panic!("a line") };
    let bytes = [5, 0, 9 + 7, 30, line.as_str().len(), 1, 2, 3];
    let sized: Vec<(Event, usize)> = lines.iter().cloned().zip(bytes).collect();
    let total: usize = bytes.iter().sum();
    let mut cut = 0;
    for bytes_max in 0..=total + 1 {
        for (order, topics, limit) in [
            (Order::OldestFirst, Vec::new(), 100),
            (Order::NewestFirst, Vec::new(), 3),
            (Order::OldestFirst, vec![topic("t")], 2),
            (Order::NewestFirst, vec![topic("u"), topic("t")], 100),
        ] {
            let query = EventQuery { topics, order, limit, bytes_max, ..EventQuery::default() };
            let mut wanted: Vec<(Event, usize)> =
                sized.iter().filter(|(event, _)| query.wants(event)).cloned().collect();
            if order == Order::NewestFirst {
                wanted.reverse();
            }
            let mut walked = Vec::new();
            let mut next = Some(query.clone());
            while let Some(asked) = next {
                let page = page(log.as_ref(), &asked);
                next = asked.following(&page);
                let last = page.events.last().map(|event| event.seq);
                assert!(page.next.is_none() || page.next == last, "{asked:?}");
                if !page.events.is_empty() {
                    walked.push((numbers(&page.events), page.next.is_some()));
                }
            }
            assert_eq!(walked, pages_of(&wanted, &query), "{query:?}");
            cut += walked.len();
            let all: Vec<u64> = wanted.iter().map(|(event, _)| event.seq.get()).collect();
            let most = query.limit.min(all.len());
            assert_eq!(
                numbers(&ask(log.as_ref(), "p", &query)),
                all[..most],
                "as many as asked for: {query:?}"
            );
        }
    }
    assert!(cut > 4 * total, "most bounds cut");
}

/// Checks the bound itself: pages end by it, an event that is larger than one asked for comes alone, and more is refused.
pub fn check_large_pages(make: Make<'_>) {
    let log = make();
    let large = said("a", "t", &"x".repeat(EVENT_BYTES_MAX));
    put(log.as_ref(), "p", vec![large.clone(), large.clone()]);
    put(log.as_ref(), "p", vec![said("a", "u", "y"), large]);
    let first = page(log.as_ref(), &EventQuery::after(None, 100));
    assert_eq!(
        (numbers(&first.events), first.next),
        (vec![1, 2], Some(seq(2))),
        "two of the largest are a page"
    );
    let second = page(log.as_ref(), &EventQuery::after(first.next, 100));
    assert_eq!((numbers(&second.events), second.next), (vec![3, 4], None));
    let small = EventQuery { bytes_max: 1_000, ..EventQuery::latest(topic("t"), 3) };
    let alone = page(log.as_ref(), &small);
    assert_eq!((numbers(&alone.events), alone.next), (vec![4], Some(seq(4))));
    assert_eq!(numbers(&ask(log.as_ref(), "p", &small)), [4, 2, 1], "the latest three are three");
    let none = page(log.as_ref(), &EventQuery::after(None, 0));
    assert_eq!(none, EventPage::default(), "of nothing there is no next page");
    let too_large = EventQuery { bytes_max: EVENT_PAGE_BYTES_MAX + 1, ..EventQuery::after(None, 1) };
    assert!(log.page(&ledger("p"), &too_large).is_err());
}
