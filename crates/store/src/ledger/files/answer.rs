//! Answers: which records a query reads, and where it stops.
//!
//! The catalog knows numbers and topics and no times. Times rise with numbers, so reading begins where the asked time begins
//! and ends where it ends: what a query costs does not grow with what is older or newer.

use stemmata_model::{EventSeq, Timestamp};

use super::desk::{Desk, Loaded, View};
use super::folder::{EVENTS, Folder, stopped};
use super::scan::Rest;
use crate::error::StoreError;
use crate::ledger::{EventPage, EventQuery, Filling, Order};

/// Reads the events that a query wants, and fails where it would have to read past damage.
pub(super) fn answer(view: &View, desk: &Desk, query: &EventQuery) -> Result<EventPage, StoreError> {
    let mut page = Filling::new(query);
    let Some(loaded) = &view.loaded else { return Ok(EventPage::default()) };
    let stop = match &loaded.rest {
        Some(Rest::Damaged(at)) => {
            let reaches = query.through.is_none_or(|through| through.get() > loaded.catalog.last());
            reaches.then_some(at)
        }
        Some(Rest::Torn(_)) | None => None,
    };
    let fails = |at| Err(stopped(&desk.folder.path(EVENTS), at));
    if let Some(at) = stop.filter(|_| query.order == Order::NewestFirst && query.limit > 0) {
        return fails(at);
    }
    if page.is_full() {
        return Ok(page.page());
    }
    let begun = begun(loaded, &desk.folder, query)?;
    for at in loaded.catalog.candidates(&begun) {
        if page.is_full() {
            return Ok(page.page());
        }
        let event = loaded.catalog.shown(at, loaded.record(at, &desk.folder)?.event);
        let is_past = match query.order {
            Order::OldestFirst => query.until.is_some_and(|until| event.at > until),
            Order::NewestFirst => query.since.is_some_and(|since| event.at < since),
        };
        if is_past {
            return Ok(page.page());
        }
        if query.wants(&event) {
            page.take(event);
        }
    }
    match stop.filter(|_| !page.is_full()) {
        Some(at) => fails(at),
        None => Ok(page.page()),
    }
}

/// Returns a query whose numbers begin where its time does, on the side that is read first. Reads about twenty records of a
/// million.
fn begun(loaded: &Loaded, folder: &Folder, query: &EventQuery) -> Result<EventQuery, StoreError> {
    let place_before = |is_before: &dyn Fn(Timestamp) -> bool| -> Result<Option<EventSeq>, StoreError> {
        let (mut low, mut high) = (0, loaded.catalog.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if is_before(loaded.record(middle, folder)?.event.at) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low.checked_sub(1).and_then(|last| loaded.catalog.seq_of(last)))
    };
    let mut begun = query.clone();
    match (query.order, query.since, query.until) {
        (Order::OldestFirst, Some(since), _) => {
            begun.after = begun.after.max(place_before(&|at| at < since)?);
        }
        (Order::NewestFirst, _, Some(until)) => match place_before(&|at| at <= until)? {
            Some(last) => begun.through = Some(begun.through.map_or(last, |through| through.min(last))),
            // All of it is later. No number is before the first one, so nothing is left after the last.
            None => begun.after = EventSeq::new(loaded.catalog.last()).max(begun.after),
        },
        (Order::OldestFirst | Order::NewestFirst, ..) => {}
    }
    Ok(begun)
}

#[cfg(test)]
mod tests {
    use stemmata_model::{LedgerId, NewEvent, NewPayload, Party, SessionId, Topic};

    use super::*;
    use crate::ledger::{Append, Durability, EventLog, FileLog, FileLogOptions};

    #[test]
    fn what_is_older_than_asked_for_is_not_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let log = FileLog::open(folder.path(), FileLogOptions::default()).expect("a log");
        let ledger = LedgerId::new("p").expect("a name");
        for number in 0..200_i64 {
            let payload = NewPayload::Plain { text: Some(format!("event {number}")), data: None };
            let session = SessionId::new("s").expect("a name");
            let sender = Party::new("a").expect("a name");
            let event = NewEvent::new(session, Topic::new("NOTE").expect("a name"), sender, payload);
            let now = Timestamp::from_micros(1_000 * (number + 1));
            let (ledger, durability) = (ledger.clone(), Durability::None);
            log.append(Append { durability, ..Append::new(ledger, vec![event], now) }).expect("appended");
        }
        let all = EventQuery { order: Order::NewestFirst, ..EventQuery::after(None, 1_000) };
        assert_eq!(log.events(&ledger, &all).expect("read").len(), 200);
        // The fourth record says nothing any more: who reads it fails.
        let file = walkdir(folder.path());
        let mut bytes = std::fs::read(&file).expect("read");
        let at = bytes.windows(8).position(|words| words == b"event 3\"").expect("there");
        bytes[at..at + 7].copy_from_slice(b"EVENT 3");
        #[expect(clippy::disallowed_methods, reason = "the test damages a file")]
        std::fs::write(&file, &bytes).expect("written");
        assert!(log.events(&ledger, &all).is_err(), "all of it cannot be read");
        let (since, until) = (Timestamp::from_micros(150_000), Timestamp::from_micros(190_000));
        let topics = vec![Topic::new("NOTE").expect("a name")];
        for order in [Order::NewestFirst, Order::OldestFirst] {
            for topics in [Vec::new(), topics.clone()] {
                let query =
                    EventQuery { since: Some(since), until: Some(until), order, topics, ..all.clone() };
                assert_eq!(log.events(&ledger, &query).expect("read").len(), 41, "{query:?}");
            }
        }
    }

    /// Returns the file of the only ledger's events.
    fn walkdir(home: &std::path::Path) -> std::path::PathBuf {
        let below = |folder: &std::path::Path| {
            let entries = std::fs::read_dir(folder).expect("a folder").flatten();
            entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect::<Vec<_>>()
        };
        let contexts = below(home).pop().expect("the ledgers");
        below(&contexts).pop().expect("a ledger").join(EVENTS)
    }
}
