//! Reading ledgers: what is known of them, their events with the payloads that are there, states and receipts.
//!
//! How events are found is `query`'s.

use rusqlite::params;
use stemmata_model::{CommitId, Json, LedgerId, Payload, Timestamp, Topic};

use super::keys;
use super::names::Names;
use super::query::Asked;
use super::rows::{EventRow, LedgerRow, ReceiptRow, place};
use crate::error::StoreError;
use crate::ledger::{Coverage, EventKey, EventPage, EventQuery, Filling, Keyed, Ledger, Receipt, SavedState};
use crate::rules::ledger_rows::line;
use crate::sqlite::failure::{During, unreadable};
use crate::sqlite::read::Reader;
use crate::sqlite::read::commits::key_of;
use crate::sqlite::read::contents::read_row;
use crate::sqlite::read::literals::Literals;
use crate::sqlite::statements::{columns, one};

const READING: &str = "reading a ledger";

/// How often a read begins again whose lines are forgotten meanwhile.
const TRIES_MAX: usize = 4;

impl Reader {
    pub(in crate::sqlite) fn page(
        &mut self,
        ledger: &LedgerId,
        query: &EventQuery,
    ) -> Result<EventPage, StoreError> {
        let mut names = std::mem::take(&mut self.names);
        let mut result = Ok(None);
        for _ in 0..TRIES_MAX {
            result = self.with_literals(|literals| found(literals, &mut names, ledger, query));
            if !matches!(result, Ok(None)) {
                break;
            }
        }
        self.names = names;
        result?.ok_or_else(|| unreadable("event.content", ledger, &"lines that go while they are read"))
    }

    pub(in crate::sqlite) fn keyed(
        &mut self,
        ledger: &LedgerId,
        keys: &[EventKey],
        now: Timestamp,
    ) -> Result<Vec<Keyed>, StoreError> {
        self.within_read(|connection| {
            let Some(LedgerRow { row, .. }) = LedgerRow::find(connection, ledger)? else {
                return Ok(Vec::new());
            };
            let found = keys.iter().filter_map(|key| keys::find(connection, row, *key).transpose());
            found.filter(|keyed| keyed.as_ref().map_or(true, |keyed| keyed.holds(now))).collect()
        })
    }

    pub(in crate::sqlite) fn ledger(&mut self, id: &LedgerId) -> Result<Option<Ledger>, StoreError> {
        self.within_read(|connection| {
            LedgerRow::find(connection, id)?.map(|row| known(connection, row)).transpose()
        })
    }

    pub(in crate::sqlite) fn ledgers(
        &mut self,
        after: Option<&LedgerId>,
        limit: usize,
    ) -> Result<Vec<Ledger>, StoreError> {
        let after = after.map_or("", LedgerId::as_str);
        self.within_read(|connection| {
            let sql = "SELECT row, id, created_at, last, last_at, root, compacted_at, output_events, output_bytes, \
                     epoch FROM ledger WHERE id > ?1 ORDER BY id LIMIT ?2";
            let rows: Vec<LedgerRow> = connection
                .during(READING).list(sql, params![after, i64::try_from(limit).unwrap_or(i64::MAX)], LedgerRow::take)?;
            rows.into_iter().map(|row| known(connection, row)).collect()
        })
    }

    pub(in crate::sqlite) fn ledger_marked(&self, mark: &str) -> Result<Option<LedgerId>, StoreError> {
        let id: Option<String> = self.connection().during(READING).first(
            "SELECT l.id FROM ledger_mark m JOIN ledger l ON l.row = m.ledger WHERE m.mark = ?1",
            [mark],
            one,
        )?;
        id.map(|id| ledger_id(&id)).transpose()
    }

    pub(in crate::sqlite) fn receipt(
        &mut self,
        ledger: &LedgerId,
        topic: &Topic,
    ) -> Result<Option<Receipt>, StoreError> {
        self.within_read(|connection| {
            let Some(ledger) = LedgerRow::find(connection, ledger)? else { return Ok(None) };
            let Some(topic) = Names::default().find(connection, topic.as_str())? else { return Ok(None) };
            let row = ReceiptRow::load(connection, (ledger.row, topic))?;
            if row.receipt.is_some() && !row.is_sound {
                return Err(unreadable("receipt.through", &"it", &"no place"));
            }
            Ok(row.receipt)
        })
    }

    pub(in crate::sqlite) fn saved_states(
        &self,
        ledger: &LedgerId,
        prefix: &str,
    ) -> Result<Vec<SavedState>, StoreError> {
        let operation = "reading saved states";
        let sql = "SELECT s.name, s.version, s.through, s.position, s.state FROM ledger l JOIN state s \
                   ON s.ledger = l.row WHERE l.id = ?1 AND s.name >= ?2 ORDER BY s.name";
        let mut statement = self.connection().prepare_cached(sql).during(operation)?;
        let rows = statement.query_and_then([ledger.as_str(), prefix], columns).during(operation)?;
        let mut found = Vec::new();
        for row in rows {
            let (name, version, through, position, state): (String, _, i64, _, String) =
                row.during(operation)?;
            if !name.starts_with(prefix) {
                break;
            }
            let through = through.cast_unsigned();
            let state = Json::parse(&state).map_err(|error| unreadable("state.state", &name, &error))?;
            found.push(SavedState { name, version, through, position, state });
        }
        Ok(found)
    }

    pub(in crate::sqlite) fn coverage(&self, commit: CommitId) -> Result<Option<Coverage>, StoreError> {
        let sql = "SELECT l.id, v.through FROM commits c JOIN coverage v ON v.commit_row = c.row \
                 JOIN ledger l ON l.row = v.ledger WHERE substr(c.id, 1, 8) = ?1 AND c.id = ?2 \
                 ORDER BY l.id LIMIT 1";
        let found: Option<(String, i64)> = self.connection().during(READING).first(
            sql,
            params![key_of(commit), commit.to_bytes()],
            columns,
        )?;
        found.map(|(id, through)| coverage(commit, &id, through)).transpose()
    }

    pub(in crate::sqlite) fn last_covered(&self, ledger: &LedgerId) -> Result<Option<Coverage>, StoreError> {
        let sql = "SELECT c.id, v.through FROM ledger l JOIN coverage v ON v.ledger = l.row \
                 AND v.through = (SELECT max(through) FROM coverage WHERE ledger = l.row) \
                 JOIN commits c ON c.row = v.commit_row WHERE l.id = ?1 ORDER BY c.id DESC LIMIT 1";
        let found: Option<([u8; 16], i64)> =
            self.connection().during(READING).first(sql, [ledger.as_str()], columns)?;
        let coverage = |(id, through)| {
            let commit = CommitId::from_bytes(id);
            Ok(Coverage { commit, ledger: ledger.clone(), through: place("event.seq", through)? })
        };
        found.map(coverage).transpose()
    }
}

fn ledger_id(id: &str) -> Result<LedgerId, StoreError> {
    LedgerId::new(id).map_err(|error| unreadable("ledger.id", &id, &error))
}

fn known(connection: &rusqlite::Connection, row: LedgerRow) -> Result<Ledger, StoreError> {
    let marks = connection.during(READING).list(
        "SELECT mark FROM ledger_mark WHERE ledger = ?1 ORDER BY mark",
        [row.row],
        one,
    )?;
    row.into_ledger(marks)
}

/// Finds events and reads their payloads, as many as make a page; none where a line went meanwhile and all has to be read
/// again.
fn found(
    literals: &mut Literals<'_>,
    names: &mut Names,
    ledger: &LedgerId,
    query: &EventQuery,
) -> Result<Option<EventPage>, StoreError> {
    let connection = literals.connection();
    let Some(row) = LedgerRow::find(connection, ledger)? else { return Ok(Some(EventPage::default())) };
    let Some(asked) = Asked::new(connection, names, (row.row, row.last), query)? else {
        return Ok(Some(EventPage::default()));
    };
    let mut page = Filling::new(query);
    let mut is_whole = true;
    asked.run(connection, &mut |row| {
        let connection = literals.connection();
        match row
            .event(|number| names.load(connection, number).map(str::to_owned), || line_of(literals, &row))?
        {
            Some(event) => page.take(event),
            None => is_whole = false,
        }
        Ok(is_whole && !page.is_full())
    })?;
    Ok(is_whole.then(|| page.page()))
}

/// Returns the line of an event; none where it went since the event was found.
fn line_of(literals: &mut Literals<'_>, row: &EventRow<String>) -> Result<Option<Payload>, StoreError> {
    let bad = |error: &dyn ToString| unreadable("event.content", &row.seq, error);
    let content = row.content.ok_or_else(|| bad(&"nothing"))?;
    let Some((id, bytes)) = read_row(literals, content)? else {
        let now = EventRow::load(literals.connection(), (row.ledger, row.seq))?;
        if now.is_some_and(|now| now.content == row.content) {
            return Err(bad(&"a content that is gone"));
        }
        return Ok(None);
    };
    line(id, &bytes).map(Some)
}

/// Returns how far a commit covers a ledger, from its columns.
pub(in crate::sqlite) fn coverage(
    commit: CommitId,
    ledger: &str,
    through: i64,
) -> Result<Coverage, StoreError> {
    Ok(Coverage { commit, ledger: ledger_id(ledger)?, through: place("event.seq", through)? })
}
