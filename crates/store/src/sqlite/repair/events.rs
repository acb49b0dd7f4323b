//! Mending rows of ledgers: events and ledgers from what proves to be the row that was written, counts from events.

use rusqlite::Connection;
use rusqlite::types::Value;
use stemmata_model::{Event, EventSeq, Json, LedgerId, Payload};

use crate::error::StoreError;
use crate::ledger::EventQuery;
use crate::maintain::repair::{RepairSource, Repaired};
use crate::rules::seals::KEPT;
use crate::sqlite::failure::During;
use crate::sqlite::ledger::names::Names;
use crate::sqlite::ledger::rows::{FORGOTTEN, LINE, LedgerRow, PLAIN, TRIMMED};
use crate::sqlite::read::contents::find;
use crate::sqlite::read::verify_events::Counted;
use crate::sqlite::seals::Broken;
use crate::sqlite::statements::columns;

const MENDING: &str = "mending rows of ledgers";

/// Rows that may be the one that was written, with where they are from.
type Copies = Vec<(String, Vec<Value>)>;

/// Returns an event's row as the stores that are given have it.
pub(super) fn copies_of_event(
    connection: &Connection,
    sources: &[RepairSource<'_>],
    broken: &Broken,
) -> Result<Copies, StoreError> {
    let [Value::Integer(ledger), Value::Integer(seq), ..] = broken.values.as_slice() else {
        return Ok(Vec::new());
    };
    let id = LedgerRow::load(connection, *ledger)?.and_then(|row| LedgerId::new(row.id).ok());
    let (Some(id), Some(place)) = (id, EventSeq::new(seq.cast_unsigned())) else { return Ok(Vec::new()) };
    let query = EventQuery {
        after: EventSeq::new(place.get() - 1),
        through: Some(place),
        limit: 1,
        ..EventQuery::default()
    };
    let mut copies = Vec::new();
    for source in sources {
        let found = source.store.events(&id, &query).unwrap_or_default();
        let Some(event) = found.first().filter(|event| event.seq == place) else { continue };
        let row = event_row(connection, *ledger, event)?;
        copies.extend(row.map(|row| (source.name.clone(), row)));
    }
    Ok(copies)
}

/// Returns the row of an event; none where something that it names is not here.
fn event_row(connection: &Connection, ledger: i64, event: &Event) -> Result<Option<Vec<Value>>, StoreError> {
    let mut names = Names::default();
    let mut rows = Vec::new();
    for name in [event.topic.as_str(), event.sender.as_str(), event.receiver.as_str(), event.session.as_str()]
    {
        let Some(row) = names.find(connection, name)? else { return Ok(None) };
        rows.push(Value::Integer(row));
    }
    let text = |text: Option<&str>| text.map_or(Value::Null, |text| Value::Text(text.to_owned()));
    let (kind, payload) = match &event.payload {
        Payload::Plain { text: own, data } => {
            let data = data.as_ref().map(Json::as_str);
            (PLAIN, [Value::Null, text(own.as_deref()), text(data), Value::Null, Value::Null])
        }
        Payload::Line { id, .. } => {
            let Some(known) = find(connection, *id)? else { return Ok(None) };
            (LINE, [Value::Integer(known.row), Value::Null, Value::Null, Value::Null, Value::Null])
        }
        Payload::Gone(gone) => {
            let kind = if gone.forgotten { FORGOTTEN } else { TRIMMED };
            let hash = Value::Blob(gone.hash.as_bytes().to_vec());
            let bytes = Value::Integer(gone.bytes.cast_signed());
            (kind, [Value::Null, Value::Null, Value::Null, hash, bytes])
        }
    };
    let [content, words, data, hash, bytes] = payload;
    let mut row = vec![
        Value::Integer(ledger),
        Value::Integer(event.seq.get().cast_signed()),
        Value::Integer(event.at.as_micros()),
    ];
    row.extend(rows);
    row.extend([Value::Integer(kind), Value::Integer(i64::from(event.replayable)), content, words, data]);
    row.extend([text(event.metadata.as_ref().map(Json::as_str)), hash, bytes]);
    Ok(Some(row))
}

/// Returns a ledger's row with what its events say of it, and as the stores that are given have it.
pub(super) fn copies_of_ledger(
    connection: &Connection,
    sources: &[RepairSource<'_>],
    broken: &Broken,
) -> Result<Copies, StoreError> {
    let [Value::Integer(row), id, created_at, _, _, root, compacted_at, _, _, epoch] =
        broken.values.as_slice()
    else {
        return Ok(Vec::new());
    };
    let counted = Counted::of(connection, *row, &mut |_, _| {})?;
    let with = |[id, created_at, root, compacted_at, epoch]: [&Value; 5]| {
        let last_at = counted.last_at.map_or(Value::Null, Value::Integer);
        vec![
            Value::Integer(*row),
            id.clone(),
            created_at.clone(),
            Value::Integer(counted.last),
            last_at,
            root.clone(),
            compacted_at.clone(),
            Value::Integer(counted.output_events),
            Value::Integer(counted.output_bytes),
            epoch.clone(),
        ]
    };
    let mut copies = vec![("its events".to_owned(), with([id, created_at, root, compacted_at, epoch]))];
    let Value::Text(name) = id else { return Ok(copies) };
    let Ok(name) = LedgerId::new(name.clone()) else { return Ok(copies) };
    for source in sources {
        let Ok(Some(known)) = source.store.ledger(&name) else { continue };
        let created_at = Value::Integer(known.created_at.as_micros());
        let root = known.root.map_or(Value::Null, Value::Text);
        let compacted_at = known.compacted_at.map_or(Value::Null, |at| Value::Integer(at.as_micros()));
        let epoch = Value::Integer(known.epoch.cast_signed());
        copies.push((source.name.clone(), with([id, &created_at, &root, &compacted_at, &epoch])));
    }
    Ok(copies)
}

/// Has every ledger say what its events say of it, so that appends go on. A last number beyond them stays: it may have
/// been given to somebody.
pub(super) fn recount(connection: &Connection) -> Result<Vec<Repaired>, StoreError> {
    let rows: Vec<(i64, bool)> = connection.during(MENDING).list(
        "SELECT row, ifnull(seal & ?1, 0) <> 0 FROM ledger ORDER BY row",
        [KEPT],
        columns,
    )?;
    let mut repaired = Vec::new();
    for (row, is_kept) in rows {
        let Some(mut ledger) = LedgerRow::load(connection, row)? else { continue };
        let counted = Counted::of(connection, row, &mut |_, _| {})?;
        // What is kept though it is not what was written may have any number: events know better.
        let last = if is_kept { counted.last } else { ledger.last.max(counted.last) };
        let last_at = if is_kept { counted.last_at } else { ledger.last_at.max(counted.last_at) };
        let before = (ledger.last, ledger.last_at, ledger.output_events, ledger.output_bytes);
        if before == (last, last_at, counted.output_events, counted.output_bytes) {
            continue;
        }
        (ledger.last, ledger.last_at) = (last, last_at);
        (ledger.output_events, ledger.output_bytes) = (counted.output_events, counted.output_bytes);
        ledger.put(connection)?;
        if is_kept {
            connection
                .during(MENDING)
                .run("UPDATE ledger SET seal = seal | ?2 WHERE row = ?1", [row, KEPT])?;
        }
        let object = format!("what is counted of ledger {}", ledger.id);
        repaired.push(Repaired { object, from: "recomputed from its events".to_owned() });
    }
    Ok(repaired)
}
