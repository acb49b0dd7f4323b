//! Reading ledgers: what is known of them, their events with the payloads that are there, states and receipts.
//!
//! How events are found is `query`'s.

use rusqlite::Connection;
use stemmata_model::{CommitId, LedgerId, Payload};

use super::names::Names;
use super::query::Asked;
use super::rows::{EventRow, LedgerRow, place};
use crate::error::StoreError;
use crate::ledger::{Coverage, EventPage, EventQuery, Filling, Ledger};
use crate::rules::ledger_rows::line;
use crate::sqlite::failure::{During, unreadable};
use crate::sqlite::read::Reader;
use crate::sqlite::read::contents::read_row;
use crate::sqlite::read::literals::Literals;
use crate::sqlite::statements::{columns, one};

pub(super) const READING: &str = "reading a ledger";

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

/// Returns the ledger that has a mark.
pub(in crate::sqlite) fn marked(connection: &Connection, mark: &str) -> Result<Option<LedgerId>, StoreError> {
    let sql = "SELECT l.id FROM ledger_mark m JOIN ledger l ON l.row = m.ledger WHERE m.mark = ?1";
    let id: Option<String> = connection.during(READING).first(sql, [mark], one)?;
    id.map(|id| ledger_id(&id)).transpose()
}

pub(super) fn known(connection: &Connection, row: LedgerRow) -> Result<Ledger, StoreError> {
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
