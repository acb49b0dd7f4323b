//! Finding events: scans of one index each, merged by place, so that the newest of a topic cost what they are.
//!
//! What the found rows say is `read`'s.

use std::collections::VecDeque;

use rusqlite::{Connection, params};
use stemmata_model::Topic;

use super::names::Names;
use super::rows::{EventRow, FORGOTTEN, event_columns};
use crate::error::StoreError;
use crate::ledger::{EventQuery, Order};
use crate::sqlite::failure::During;
use crate::sqlite::statements::{columns, one};

const LOOKING: &str = "looking for events";

/// Rows that one scan reads ahead at most.
const CHUNK_ROWS_MAX: usize = 256;

/// Topics of a session that are scanned one by one at most: many more than there are names for, few enough that a look
/// at each costs less than a page.
const SESSION_TOPICS_MAX: usize = 64;

/// A statement that scans one index, oldest first and newest first.
struct Scanning {
    ascending: &'static str,
    descending: &'static str,
}

/// ?1 the ledger, ?2 a topic, ?3 whether it may enter a prompt, ?4 and ?5 the first and the last place, ?6 a sender, ?7 a
/// receiver, ?8 a session, ?9 how many.
macro_rules! scanning {
    ($index:literal, $where:literal) => {
        Scanning {
            ascending: scanning!($index, $where, " ORDER BY seq LIMIT ?9"),
            descending: scanning!($index, $where, " ORDER BY seq DESC LIMIT ?9"),
        }
    };
    ($index:literal, $where:literal, $order:literal) => {
        concat!(
            "SELECT ",
            event_columns!(),
            " FROM event ",
            $index,
            " WHERE ledger = ?1 AND seq BETWEEN ?4 AND ?5 AND (?6 IS NULL OR sender = ?6) \
             AND (?7 IS NULL OR receiver = ?7)",
            $where,
            $order
        )
    };
}

/// What finds a session's events where they are of more topics than are scanned one by one.
macro_rules! many_topics {
    ($order:literal) => {
        concat!(
            "SELECT ",
            event_columns!(),
            " FROM event WHERE ledger = ?1 AND seq IN (SELECT seq FROM event INDEXED BY event_by_session \
             WHERE ledger = ?1 AND session = ?8 AND seq BETWEEN ?4 AND ?5 AND (?6 IS NULL OR sender = ?6) \
             AND (?7 IS NULL OR receiver = ?7) AND (?3 IS NULL OR replayable = ?3) ORDER BY seq",
            $order,
            " LIMIT ?9) AND (?2 IS NULL OR topic = ?2) ORDER BY seq",
            $order
        )
    };
}

// Without being told the planner takes the rows in their order, and looks at all that stands in between.
const BY_TOPIC: Scanning = scanning!("INDEXED BY event_by_topic", " AND topic = ?2 AND replayable = ?3");
const BY_SESSION: Scanning =
    scanning!("INDEXED BY event_by_session", " AND session = ?8 AND topic = ?2 AND replayable = ?3");
// The places are found in the index, all of the session's, and sorted.
const OF_MANY_TOPICS: Scanning = Scanning { ascending: many_topics!(""), descending: many_topics!(" DESC") };
const BY_PLACE: Scanning = scanning!(
    "",
    " AND (?2 IS NULL OR topic = ?2) AND (?3 IS NULL OR replayable = ?3) AND (?8 IS NULL OR session = ?8)"
);

/// All statements that look for events, for the test of their plans.
#[cfg(test)]
const STATEMENTS: [&str; 8] = [
    BY_TOPIC.ascending,
    BY_TOPIC.descending,
    BY_SESSION.ascending,
    BY_SESSION.descending,
    BY_PLACE.ascending,
    BY_PLACE.descending,
    FROM_PLACE,
    NEXT_TOPIC,
];

const FROM_PLACE: &str = "SELECT seq, at FROM event WHERE ledger = ?1 AND seq >= ?2 ORDER BY seq LIMIT 1";

const NEXT_TOPIC: &str = "SELECT topic FROM event INDEXED BY event_by_session \
                          WHERE ledger = ?1 AND session = ?2 AND topic > ?3 ORDER BY topic LIMIT 1";

/// A query in the terms of one ledger's rows.
pub(in crate::sqlite) struct Asked<'q> {
    query: &'q EventQuery,
    ledger: i64,
    topics: Vec<i64>,
    without: Vec<i64>,
    sender: Option<i64>,
    receiver: Option<i64>,
    session: Option<i64>,
    first: i64,
    last: i64,
}

/// How much one scan reads ahead at most.
#[derive(Clone, Copy)]
struct Chunk {
    rows: usize,
    /// No more rows once those that were read have so many.
    bytes: usize,
}

impl<'q> Asked<'q> {
    /// Translates a query; none where nothing can be found.
    pub(in crate::sqlite) fn new(
        connection: &Connection,
        names: &mut Names,
        (ledger, last): (i64, i64),
        query: &'q EventQuery,
    ) -> Result<Option<Self>, StoreError> {
        // A name that no event has finds nothing.
        let mut find = |name: Option<&str>| match name {
            None => Ok(Some(None)),
            Some(name) => names.find(connection, name).map(|row| row.map(Some)),
        };
        let sender = find(query.sender.as_ref().map(AsRef::as_ref))?;
        let receiver = find(query.receiver.as_ref().map(AsRef::as_ref))?;
        let session = find(query.session.as_ref().map(AsRef::as_ref))?;
        let mut rows_of = |texts: &[Topic]| -> Result<Vec<i64>, StoreError> {
            texts.iter().filter_map(|topic| names.find(connection, topic.as_str()).transpose()).collect()
        };
        let (mut topics, without) = (rows_of(&query.topics)?, rows_of(&query.without)?);
        topics.sort_unstable();
        topics.dedup();
        let (Some(sender), Some(receiver), Some(session)) = (sender, receiver, session) else {
            return Ok(None);
        };
        if topics.is_empty() && !query.topics.is_empty() || query.limit == 0 {
            return Ok(None);
        }
        let after = query.after.map_or(0, |after| after.get().cast_signed());
        let through = query.through.map_or(last, |through| through.get().cast_signed().min(last));
        let (mut first, mut last) = (after.saturating_add(1), through);
        if let Some(since) = query.since {
            first = first.max(place_at((connection, ledger, last), since.as_micros())?);
        }
        if let Some(until) = query.until {
            let beyond = until.as_micros().checked_add(1);
            let beyond = beyond.map(|beyond| place_at((connection, ledger, last), beyond)).transpose()?;
            last = beyond.map_or(last, |beyond| last.min(beyond - 1));
        }
        if after == i64::MAX || first > last {
            return Ok(None);
        }
        Ok(Some(Self { query, ledger, topics, without, sender, receiver, session, first, last }))
    }

    /// Hands the rows that are found to `act`, in order, until there are enough or it says no. All scans together read no
    /// more ahead than a page has bytes, and a row each.
    pub(in crate::sqlite) fn run(
        &self,
        connection: &Connection,
        act: &mut dyn FnMut(EventRow<String>) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        let mut scans = self.scans(connection)?;
        let count = scans.len().max(1);
        let rows = (self.query.limit / count + 1).min(self.query.limit).min(CHUNK_ROWS_MAX);
        let chunk = Chunk { rows, bytes: self.query.bytes_max / count };
        let mut left = self.query.limit;
        while left > 0 {
            let mut next: Option<(i64, usize)> = None;
            for (number, scan) in scans.iter_mut().enumerate() {
                let Some(seq) = scan.peek(self, connection, chunk)? else { continue };
                let is_nearer = next.is_none_or(|(nearest, _)| match self.query.order {
                    Order::OldestFirst => seq < nearest,
                    Order::NewestFirst => seq > nearest,
                });
                if is_nearer {
                    next = Some((seq, number));
                }
            }
            let row = next.and_then(|(_, number)| scans.get_mut(number)?.rows.pop_front());
            let Some(row) = row else { return Ok(()) };
            // A scan of all topics finds these, too.
            if self.without.contains(&row.topic) || (self.query.forgotten && row.kind != FORGOTTEN) {
                continue;
            }
            left -= 1;
            if !act(row)? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Returns scans that find all that is asked for, and each event once.
    fn scans(&self, connection: &Connection) -> Result<Vec<Scan>, StoreError> {
        let scan = |by, topic, replayable| Scan {
            by,
            topic,
            replayable,
            range: (self.first, self.last),
            rows: VecDeque::new(),
            is_read: false,
        };
        let (by, topics) = match (self.session, self.topics.as_slice()) {
            (None, []) => return Ok(vec![scan(&BY_PLACE, None, self.query.replayable)]),
            (None, topics) => (&BY_TOPIC, topics.to_vec()),
            (Some(session), []) => match topics_of((connection, self.ledger, session))? {
                Some(topics) => (&BY_SESSION, topics),
                None => return Ok(vec![scan(&OF_MANY_TOPICS, None, self.query.replayable)]),
            },
            (Some(_), topics) => (&BY_SESSION, topics.to_vec()),
        };
        // The indexes hold those that may enter a prompt apart from the others.
        let both = [Some(false), Some(true)];
        let kinds =
            both.into_iter().filter(|own| self.query.replayable.is_none() || *own == self.query.replayable);
        let kinds: Vec<Option<bool>> = kinds.collect();
        let topics = topics.into_iter().filter(|topic| !self.without.contains(topic));
        let of = |topic: i64| kinds.iter().map(move |kind| scan(by, Some(topic), *kind));
        Ok(topics.flat_map(of).collect())
    }
}

/// Returns the topics of a session's events, by one look each; none where there are too many to scan them one by one.
fn topics_of((connection, ledger, session): (&Connection, i64, i64)) -> Result<Option<Vec<i64>>, StoreError> {
    let mut topics: Vec<i64> = Vec::new();
    while topics.len() <= SESSION_TOPICS_MAX {
        let last = topics.last().copied().unwrap_or(i64::MIN);
        match connection.during(LOOKING).first(NEXT_TOPIC, [ledger, session, last], one)? {
            Some(topic) => topics.push(topic),
            None => return Ok(Some(topics)),
        }
    }
    Ok(None)
}

/// A scan of one index, read ahead by some rows.
struct Scan {
    by: &'static Scanning,
    topic: Option<i64>,
    replayable: Option<bool>,
    /// What is still to be read.
    range: (i64, i64),
    rows: VecDeque<EventRow<String>>,
    is_read: bool,
}

impl Scan {
    /// Returns the place of the next row.
    fn peek(
        &mut self,
        asked: &Asked<'_>,
        connection: &Connection,
        chunk: Chunk,
    ) -> Result<Option<i64>, StoreError> {
        if self.rows.is_empty() && !self.is_read {
            self.read_on(asked, connection, chunk)?;
        }
        Ok(self.rows.front().map(|row| row.seq))
    }

    fn read_on(
        &mut self,
        asked: &Asked<'_>,
        connection: &Connection,
        chunk: Chunk,
    ) -> Result<(), StoreError> {
        let sql = match asked.query.order {
            Order::OldestFirst => self.by.ascending,
            Order::NewestFirst => self.by.descending,
        };
        let values = params![
            asked.ledger,
            self.topic,
            self.replayable,
            self.range.0,
            self.range.1,
            asked.sender,
            asked.receiver,
            asked.session,
            i64::try_from(chunk.rows).unwrap_or(i64::MAX),
        ];
        let mut statement = connection.prepare_cached(sql).during(LOOKING)?;
        let mut found = statement.query(values).during(LOOKING)?;
        let (mut rows, mut bytes) = (VecDeque::new(), 0_usize);
        self.is_read = true;
        while let Some(row) = found.next().during(LOOKING)? {
            let row = EventRow::take(row).during(LOOKING)?;
            bytes = bytes.saturating_add(row.bytes_held());
            rows.push_back(row);
            if bytes >= chunk.bytes || rows.len() >= chunk.rows {
                self.is_read = false;
                break;
            }
        }
        if let Some(last) = rows.back() {
            match asked.query.order {
                Order::OldestFirst => self.range.0 = last.seq.saturating_add(1),
                Order::NewestFirst => self.range.1 = last.seq - 1,
            }
        }
        self.is_read |= self.range.0 > self.range.1 || rows.back().is_some_and(|row| row.seq == i64::MAX);
        self.rows = rows;
        Ok(())
    }
}

/// Returns the first place of a ledger at which an event is of a time or later, one after the last where none is.
/// Times rise with places, so that no index by time is needed.
fn place_at((connection, ledger, last): (&Connection, i64, i64), at: i64) -> Result<i64, StoreError> {
    let (mut low, mut high) = (1, last.saturating_add(1));
    while low < high {
        let middle = low + (high - low) / 2;
        let found: Option<(i64, i64)> =
            connection.during(LOOKING).first(FROM_PLACE, [ledger, middle], columns)?;
        match found.filter(|(seq, _)| *seq < high) {
            Some((seq, found_at)) if found_at < at => low = seq + 1,
            Some(_) | None => high = middle,
        }
    }
    Ok(low)
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;
    use crate::sqlite::open::{Opened, SqliteOptions, open_store};
    use crate::sqlite::plans_tests::plan;

    #[test]
    fn every_search_for_events_goes_by_an_index_and_sorts_nothing() {
        let home = TempDir::new().expect("a directory");
        let Opened { connection, .. } = open_store(home.path(), &SqliteOptions::default()).expect("a store");
        let by_topic = "INDEX event_by_topic (ledger=? AND topic=? AND replayable=? AND seq>? AND seq<?)";
        let by_session = "INDEX event_by_session \
                          (ledger=? AND session=? AND topic=? AND replayable=? AND seq>? AND seq<?)";
        let by_place = "INDEX sqlite_autoindex_event_1 (ledger=? AND seq>? AND seq<?)";
        for (sql, index) in STATEMENTS.iter().zip([
            by_topic,
            by_topic,
            by_session,
            by_session,
            by_place,
            by_place,
            "INDEX sqlite_autoindex_event_1 (ledger=? AND seq>?)",
            "COVERING INDEX event_by_session (ledger=? AND session=? AND topic>?)",
        ]) {
            assert_eq!(plan(&connection, sql), [format!("SEARCH event USING {index}")], "{sql}");
        }
    }

    #[test]
    fn a_scan_reads_no_more_ahead_than_a_page_has_bytes() {
        let home = TempDir::new().expect("a directory");
        let store = crate::SqliteStore::open(home.path(), SqliteOptions::default()).expect("a store");
        let id = stemmata_model::LedgerId::new("p").expect("a name");
        let said = |text: &str| {
            let payload = stemmata_model::NewPayload::Plain { text: Some(text.to_owned()), data: None };
            let [session, topic, party] = ["s", "t", "a"];
            stemmata_model::NewEvent::new(
                stemmata_model::SessionId::new(session).expect("a name"),
                stemmata_model::Topic::new(topic).expect("a name"),
                stemmata_model::Party::new(party).expect("a name"),
                payload,
            )
        };
        let events = vec![said(&"x".repeat(1_000)); 100];
        let (expected, now) = (None, stemmata_model::Timestamp::EPOCH);
        let append = crate::Append {
            expected,
            durability: crate::Durability::None,
            ..crate::Append::new(id.clone(), events, now)
        };
        crate::EventLog::append(&store, append).expect("appended");
        drop(store);
        let Opened { connection, .. } = open_store(home.path(), &SqliteOptions::default()).expect("a store");
        for (bytes_max, rows) in [(0, 1), (1_000, 1), (2_500, 3), (90_000, 90), (1 << 20, 100)] {
            let query = EventQuery { bytes_max, ..EventQuery::after(None, 1_000) };
            let asked = Asked::new(&connection, &mut Names::default(), (1, 100), &query);
            let asked = asked.expect("a read").expect("something is asked for");
            let mut scans = asked.scans(&connection).expect("scans");
            let chunk = Chunk { rows: CHUNK_ROWS_MAX, bytes: bytes_max };
            scans[0].read_on(&asked, &connection, chunk).expect("read");
            assert_eq!(scans[0].rows.len(), rows, "{bytes_max}");
            let mut found = 0;
            let act = &mut |_| {
                found += 1;
                Ok(true)
            };
            asked.run(&connection, act).expect("run");
            assert_eq!(found, 100, "{bytes_max}: what is read in parts is read to the end");
        }
    }

    #[test]
    fn a_session_of_very_many_topics_is_sorted_by_places_alone() {
        let home = TempDir::new().expect("a directory");
        let Opened { connection, .. } = open_store(home.path(), &SqliteOptions::default()).expect("a store");
        for sql in [OF_MANY_TOPICS.ascending, OF_MANY_TOPICS.descending] {
            let plan = plan(&connection, sql);
            let index = "INDEX sqlite_autoindex_event_1 (ledger=? AND seq=?)";
            assert_eq!(plan.first(), Some(&format!("SEARCH event USING {index}")), "{plan:?}");
            assert_eq!(plan.iter().filter(|step| step.contains("TEMP B-TREE")).count(), 1, "{plan:?}");
        }
    }
}
