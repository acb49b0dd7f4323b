//! Forgetting events: what they said goes, their places stay.
//!
//! Which contents go with them is decided by who gives contents up.
//!
//! Events are forgotten by session (`forget_events`) or by place (`forget_places`). Derived states, later snapshots and states of the
//! work go too, because they were made of what went. A scrub names the lines that it means by hash.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::Connection;
use stemmata_model::{ArtifactId, LedgerId, SessionId, topics};

use super::keys;
use super::names::Names;
use super::rows::{EventRow, LedgerRow};
use crate::error::StoreError;
use crate::ledger::{CURSOR_STATES, Places};
use crate::maintain::forget::{Forget, MEMORY_STATES};
use crate::sqlite::failure::During;
use crate::sqlite::forget::contents::stored;
use crate::sqlite::statements::{columns, one};

const FORGETTING: &str = "forgetting events";

/// How many events were forgotten, and the contents that were lines of them and of no other event.
pub(in crate::sqlite) type Went = (u64, BTreeSet<i64>);

/// Says whether a session has events that say something.
pub(in crate::sqlite) fn has_any(connection: &Connection, session: &SessionId) -> Result<bool, StoreError> {
    Ok(!of_sessions(connection, [session])?.is_empty())
}

/// Forgets the events of a session.
pub(in crate::sqlite) fn session(connection: &Connection, session: &SessionId) -> Result<Went, StoreError> {
    forget(connection, of_sessions(connection, [session])?)
}

/// Forgets the events of sessions, and those that a request names: all of ledgers, with their saved states, and some.
pub(in crate::sqlite) fn named(
    connection: &Connection,
    sessions: &BTreeSet<SessionId>,
    request: &Forget,
) -> Result<Went, StoreError> {
    let mut places = of_sessions(connection, sessions)?;
    for ledger in &request.ledgers {
        if let Some((row, seqs)) = places_of(connection, ledger, &Places::All)? {
            places.insert(row, seqs.into_iter().collect());
        }
    }
    for (ledger, these) in &request.events {
        if let Some((row, seqs)) = places_of(connection, ledger, &Places::These(these.clone()))? {
            places.entry(row).or_default().extend(seqs);
        }
    }
    forget(connection, places)
}

/// Forgets some events of a ledger, and what was made of them.
pub(in crate::sqlite) fn part(
    connection: &Connection,
    ledger: i64,
    seqs: &[i64],
) -> Result<Went, StoreError> {
    forget(connection, ByLedger::from([(ledger, seqs.iter().copied().collect())]))
}

/// Returns the row of a ledger, and the places in it, ascending, at which events still say something: those that are meant,
/// and those that were made of them.
pub(in crate::sqlite) fn places_of(
    connection: &Connection,
    ledger: &LedgerId,
    places: &Places,
) -> Result<Option<(i64, Vec<i64>)>, StoreError> {
    let Some(LedgerRow { row, .. }) = LedgerRow::find(connection, ledger)? else { return Ok(None) };
    let mut found = BTreeSet::new();
    match places {
        Places::All => {
            let sql = "SELECT seq FROM event WHERE ledger = ?1 AND kind <> 3";
            found = connection.during(FORGETTING).list(sql, [row], one)?;
        }
        Places::These(these) => {
            let sql = "SELECT seq FROM event WHERE ledger = ?1 AND seq = ?2 AND kind <> 3";
            for seq in these.iter().map(|seq| seq.get().cast_signed()) {
                found.extend(connection.during(FORGETTING).first::<i64>(sql, [row, seq], one)?);
            }
            found.extend(derived_after(connection, row, &found)?);
        }
    }
    Ok(Some((row, found.into_iter().collect())))
}

/// Says whether a ledger has saved states that may hold words of its events.
pub(in crate::sqlite) fn has_folded(connection: &Connection, ledger: i64) -> Result<bool, StoreError> {
    let kept = i64::try_from(CURSOR_STATES.len()).expect("a short word");
    let sql = "SELECT EXISTS (SELECT 1 FROM state WHERE ledger = ?1 \
               AND substr(CAST(name AS BLOB), 1, ?3) <> CAST(?2 AS BLOB))";
    connection.during(FORGETTING).only(sql, rusqlite::params![ledger, CURSOR_STATES, kept], one)
}

/// Forgets the events whose line is one of these contents.
pub(in crate::sqlite) fn lines(connection: &Connection, rows: &BTreeSet<i64>) -> Result<Went, StoreError> {
    let mut found = ByLedger::new();
    for row in rows {
        let sql = "SELECT ledger, seq FROM event WHERE content = ?1";
        add(connection, (sql, *row), &mut found)?;
    }
    forget(connection, found)
}

/// Says whether a content is some event's line.
pub(in crate::sqlite) fn is_line(connection: &Connection, content: i64) -> Result<bool, StoreError> {
    connection.during(FORGETTING).only(
        "SELECT EXISTS (SELECT 1 FROM event WHERE content = ?1)",
        [content],
        one,
    )
}

/// Drops the saved states that may hold words of any commit. A fold that is under way cannot save its state afterwards.
pub(in crate::sqlite) fn drop_memories(connection: &Connection) -> Result<bool, StoreError> {
    let rows: Vec<i64> = connection.during(FORGETTING).list("SELECT row FROM ledger", [], one)?;
    for row in rows {
        if let Some(mut ledger) = LedgerRow::load(connection, row)? {
            ledger.epoch = ledger.epoch.saturating_add(1);
            ledger.put(connection)?;
        }
    }
    let length = i64::try_from(MEMORY_STATES.len()).expect("a short word");
    connection
        .during("dropping saved states")
        .run(
            "DELETE FROM state WHERE substr(CAST(name AS BLOB), 1, ?2) = CAST(?1 AS BLOB)",
            rusqlite::params![MEMORY_STATES, length],
        )
        .map(|dropped| dropped > 0)
}

/// Drops a ledger's saved states whose names begin with the prefix, or all others. A fold that is under way cannot save its state
/// afterwards.
pub(super) fn drop_states(
    connection: &Connection,
    ledger: &mut LedgerRow,
    (beginning, are_kept): (&str, bool),
) -> Result<(), StoreError> {
    ledger.epoch = ledger.epoch.saturating_add(1);
    ledger.put(connection)?;
    let length = i64::try_from(beginning.len()).unwrap_or(i64::MAX);
    let sql = "DELETE FROM state WHERE ledger = ?1 \
               AND (substr(CAST(name AS BLOB), 1, ?3) = CAST(?2 AS BLOB)) <> ?4";
    let values = rusqlite::params![ledger.row, beginning, length, are_kept];
    connection.during("dropping saved states").run(sql, values).map(drop)
}

/// Places of events that say something, by ledger.
type ByLedger = BTreeMap<i64, BTreeSet<i64>>;

fn of_sessions<'s>(
    connection: &Connection,
    sessions: impl IntoIterator<Item = &'s SessionId>,
) -> Result<ByLedger, StoreError> {
    let mut found = ByLedger::new();
    let mut names = Names::default();
    for session in sessions {
        let Some(name) = names.find(connection, session.as_str())? else { continue };
        let sql = "SELECT e.ledger, e.seq FROM ledger l CROSS JOIN event e INDEXED BY event_by_session \
                   ON e.ledger = l.row AND e.session = ?1 AND e.kind <> 3";
        add(connection, (sql, name), &mut found)?;
    }
    Ok(found)
}

/// Adds the places of events that a query finds.
fn add(connection: &Connection, (sql, of): (&str, i64), found: &mut ByLedger) -> Result<(), StoreError> {
    connection.during(FORGETTING).each(sql, [of], columns, |(ledger, seq): (i64, i64)| {
        found.entry(ledger).or_default().insert(seq);
        Ok(())
    })
}

fn forget(connection: &Connection, places: ByLedger) -> Result<Went, StoreError> {
    let (mut events, mut lines) = (0, BTreeSet::new());
    let output = Names::default().find(connection, topics::AGENT_OUTPUT)?;
    for (row, mut seqs) in places {
        let Some(mut ledger) = LedgerRow::load(connection, row)? else { continue };
        seqs.extend(derived_after(connection, row, &seqs)?);
        for seq in seqs {
            let Some(mut event) = EventRow::load(connection, (row, seq))? else { continue };
            let is_output = Some(event.topic) == output && !event.replayable;
            let line = event.content.map_or_else(|| line_left(connection, &event), |line| Ok(Some(line)))?;
            let was_there = event.is_there();
            let gone = event.let_go(connection, true)?;
            events += 1;
            lines.extend(line);
            if is_output && was_there {
                ledger.count_output(-1, -gone.bytes.cast_signed());
            }
        }
        keys::forget(connection, row)?;
        drop_states(connection, &mut ledger, (CURSOR_STATES, true))?;
    }
    let mut alone = BTreeSet::new();
    for line in lines {
        if !is_line(connection, line)? {
            alone.insert(line);
        }
    }
    Ok((events, alone))
}

/// Returns the content that was the line of an event before it was trimmed: it stays until it is collected.
fn line_left(connection: &Connection, event: &EventRow<String>) -> Result<Option<i64>, StoreError> {
    match event.hash {
        Some(hash) => stored(connection, ArtifactId::from_bytes(hash)),
        None => Ok(None),
    }
}

/// Returns what was made of the events at these places, as [`DerivedEvents`](crate::ledger::DerivedEvents) says it: it may say
/// what went.
fn derived_after(connection: &Connection, ledger: i64, seqs: &BTreeSet<i64>) -> Result<Vec<i64>, StoreError> {
    let mut found = snapshots_after(connection, ledger, seqs)?;
    let Some(topic) = Names::default().find(connection, topics::CHECKPOINT_STATE)? else { return Ok(found) };
    let mut firsts: BTreeMap<i64, i64> = BTreeMap::new();
    let ask = connection.during(FORGETTING);
    for seq in seqs {
        let sql = "SELECT session FROM event WHERE ledger = ?1 AND seq = ?2";
        firsts.entry(ask.only(sql, [ledger, *seq], one)?).or_insert(*seq);
    }
    for (session, first) in firsts {
        let sql = "SELECT seq FROM event INDEXED BY event_by_session WHERE ledger = ?1 AND session = ?2 \
                   AND topic = ?3 AND replayable IN (0, 1) AND seq > ?4 AND kind <> 3";
        found.extend(ask.list::<i64, Vec<i64>>(sql, [ledger, session, topic, first], one)?);
    }
    Ok(found)
}

/// Returns the snapshots of a ledger after the first of these places.
fn snapshots_after(
    connection: &Connection,
    ledger: i64,
    seqs: &BTreeSet<i64>,
) -> Result<Vec<i64>, StoreError> {
    let snapshot = Names::default().find(connection, topics::STATE_SNAPSHOT)?;
    let (Some(topic), Some(first)) = (snapshot, seqs.first()) else { return Ok(Vec::new()) };
    let sql = "SELECT seq FROM event INDEXED BY event_by_topic WHERE ledger = ?1 AND topic = ?2 \
               AND replayable IN (0, 1) AND seq > ?3 AND kind <> 3";
    connection.during(FORGETTING).list(sql, [ledger, topic, *first], one)
}
