//! A ledger as one SQLite file in the shape of seed 000: for tools that read such files, and to carry a cluster elsewhere.
//!
//! The format is `docs/format/cluster-export.md`. Reading one back is `import`'s.

use std::path::Path;

use rusqlite::{Connection, OpenFlags, Statement, params};
use stemmata_model::{Event, EventSeq, Json, LedgerId, Payload, topics};

use super::{EventLog, EventQuery, Ledger};
use crate::error::StoreError;
use crate::files::{Files, create_beside, ended};
use crate::rules::events::plain_length;

/// The version of the tables that are ours in such a file.
pub(super) const FORMAT_VERSION: i64 = 1;

/// Events that are held at once at most; a page bounds their bytes.
const PAGE_EVENTS: usize = 256;

const EXPORTING: &str = "exporting a cluster";

/// Seed 000's tables, and ours beside them: what its columns have no place for.
const TABLES: &str = "
CREATE TABLE messages (
  id TEXT PRIMARY KEY, timestamp INTEGER NOT NULL, topic TEXT NOT NULL, sender TEXT NOT NULL, receiver TEXT NOT NULL,
  content_text TEXT, content_data TEXT, metadata TEXT, cluster_id TEXT NOT NULL
);
CREATE TABLE agent_output_compaction (
  cluster_id TEXT PRIMARY KEY, receipt_message_id TEXT, first_omitted_timestamp INTEGER, omitted_messages INTEGER,
  omitted_export_bytes INTEGER, omission_digest TEXT NOT NULL, retained_messages INTEGER, retained_export_bytes INTEGER
);
CREATE TABLE ledger_sequence (singleton INTEGER PRIMARY KEY CHECK (singleton = 1), value INTEGER NOT NULL);
CREATE TABLE stemmata_cluster (
  format_version INTEGER NOT NULL, cluster_id TEXT NOT NULL, created_at_us INTEGER NOT NULL
);
CREATE TABLE stemmata_event (
  seq INTEGER PRIMARY KEY, at_us INTEGER NOT NULL, session TEXT NOT NULL, replayable INTEGER NOT NULL,
  is_line INTEGER NOT NULL, gone_hash TEXT, gone_bytes INTEGER, gone_forgotten INTEGER
);";

/// Made when the rows are there, which is faster.
const INDEXES: &str = "
CREATE INDEX idx_timestamp ON messages(timestamp);
CREATE INDEX idx_topic ON messages(topic);
CREATE INDEX idx_cluster_sender ON messages(cluster_id, sender);
CREATE INDEX idx_cluster_topic ON messages(cluster_id, topic);
CREATE INDEX idx_cluster_timestamp ON messages(cluster_id, timestamp);";

/// What was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExportedCluster {
    /// Events.
    pub events: u64,
    /// Of these, events whose payload is gone.
    pub gone: u64,
    /// The last event: what was appended while this was written is not in the file.
    pub through: u64,
}

/// Writes a ledger as one file, which appears whole and durable or not at all, for its owner only. Holds few events at
/// once, however many there are.
///
/// # Errors
/// `LedgerMissing`; `Refused` where something is there under the name and `replace` is not set; `Io`, `Backend`, `Full`.
pub fn export_cluster(
    log: &dyn EventLog,
    ledger: &LedgerId,
    files: &dyn Files,
    path: &Path,
    replace: bool,
) -> Result<ExportedCluster, StoreError> {
    let known = log.ledger(ledger)?.ok_or_else(|| StoreError::LedgerMissing(ledger.clone()))?;
    let taken = || StoreError::Refused {
        what: "exporting to",
        path: path.display().to_string(),
        reason: "the file exists already".to_owned(),
    };
    if !replace && path.symlink_metadata().is_ok() {
        return Err(taken());
    }
    let failed = |source| StoreError::Io { operation: "write", path: path.display().to_string(), source };
    // Held until it has its name: a sweep takes what nobody holds.
    let (temporary, _held) = create_beside(files, path).map_err(failed)?;
    let written = write(log, &known, &temporary).and_then(|exported| {
        files.sync_file(&temporary).map_err(failed)?;
        if replace {
            files.rename(&temporary, path).map_err(failed)?;
        } else {
            // A second name is only given where there is none: what another process put there meanwhile stays.
            match files.link(&temporary, path) {
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => return Err(taken()),
                Err(_) => files.rename(&temporary, path).map_err(failed)?,
                Ok(()) => files.remove(&temporary).map_err(failed)?,
            }
        }
        Ok(exported)
    });
    ended(files, (&temporary, path), failed, written)
}

pub(super) fn failed(operation: &'static str) -> impl FnOnce(rusqlite::Error) -> StoreError {
    move |source| match source.sqlite_error_code() {
        Some(rusqlite::ErrorCode::DiskFull) => StoreError::Full { operation },
        _ => StoreError::Backend { operation, source: Box::new(source) },
    }
}

fn write(log: &dyn EventLog, ledger: &Ledger, path: &Path) -> Result<ExportedCluster, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(failed(EXPORTING))?;
    // Nobody else sees the file before it is whole, and one that is cut off is thrown away: no journal, one sync at the
    // end.
    let begin = format!("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN; {TABLES}");
    connection.execute_batch(&begin).map_err(failed(EXPORTING))?;
    let exported = rows(log, ledger, &connection)?;
    connection
        .execute_batch(INDEXES)
        .and_then(|()| connection.execute_batch("COMMIT"))
        .map_err(failed(EXPORTING))?;
    connection.close().map_err(|(_, error)| failed(EXPORTING)(error))?;
    Ok(exported)
}

/// What is known when the last row was written.
#[derive(Debug, Default)]
struct Seen {
    events: u64,
    gone: u64,
    timestamp: Option<i64>,
    first_omitted: Option<i64>,
    retained: (u64, u64),
}

fn rows(log: &dyn EventLog, ledger: &Ledger, connection: &Connection) -> Result<ExportedCluster, StoreError> {
    let prepare = |sql| connection.prepare(sql).map_err(failed(EXPORTING));
    let mut messages = prepare(
        "INSERT INTO messages (rowid, id, timestamp, topic, sender, receiver, content_text, content_data, metadata, \
         cluster_id) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    )?;
    let mut beside = prepare("INSERT INTO stemmata_event VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")?;
    let through = EventSeq::new(ledger.last);
    let mut seen = Seen::default();
    let mut query = through.map(|_| EventQuery { through, ..EventQuery::after(None, PAGE_EVENTS) });
    while let Some(asked) = query {
        let page = log.page(&ledger.id, &asked)?;
        for event in &page.events {
            seen.write(&ledger.id, event, &mut [&mut messages, &mut beside]).map_err(failed(EXPORTING))?;
        }
        query = asked.following(&page);
    }
    let last = ledger.last.cast_signed();
    connection
        .execute("INSERT INTO ledger_sequence VALUES (1, ?1)", [last])
        .and_then(|_| {
            let created_at = ledger.created_at.as_micros();
            let values = params![FORMAT_VERSION, ledger.id.as_str(), created_at];
            connection.execute("INSERT INTO stemmata_cluster VALUES (?1, ?2, ?3)", values)
        })
        .map_err(failed(EXPORTING))?;
    receipt(log, ledger, connection, &seen)?;
    Ok(ExportedCluster { events: seen.events, gone: seen.gone, through: ledger.last })
}

/// Returns a message's id: the same in every export of its ledger.
fn message_id(ledger: &LedgerId, seq: EventSeq) -> String {
    format!("msg_{ledger}_{seq}")
}

impl Seen {
    fn write(
        &mut self,
        ledger: &LedgerId,
        event: &Event,
        [messages, beside]: &mut [&mut Statement<'_>; 2],
    ) -> rusqlite::Result<()> {
        // Readers of such files page by timestamps, which rise by a millisecond at least there.
        let millis = event.at.as_micros().div_euclid(1_000);
        let millis = self.timestamp.map_or(millis, |last| millis.max(last.saturating_add(1)));
        self.timestamp = Some(millis);
        self.events += 1;
        let is_output = event.topic.as_str() == topics::AGENT_OUTPUT && !event.replayable;
        let (text, data, gone) = match &event.payload {
            Payload::Plain { text, data } => (text.as_deref(), data.as_ref(), None),
            Payload::Line { line, .. } => (None, Some(line), None),
            Payload::Gone(gone) => (None, None, Some(gone)),
        };
        if gone.is_some() {
            self.gone += 1;
            self.first_omitted = self.first_omitted.or(is_output.then_some(millis));
        } else if is_output {
            let bytes = plain_length(text, data.map(Json::as_str));
            self.retained = (self.retained.0 + 1, self.retained.1 + bytes);
        }
        let seq = event.seq.get().cast_signed();
        messages.execute(params![
            seq,
            message_id(ledger, event.seq),
            millis,
            event.topic.as_str(),
            event.sender.as_str(),
            event.receiver.as_str(),
            text,
            data.map(stemmata_model::Json::as_str),
            event.metadata.as_ref().map(stemmata_model::Json::as_str),
            ledger.as_str(),
        ])?;
        beside.execute(params![
            seq,
            event.at.as_micros(),
            event.session.as_str(),
            event.replayable,
            matches!(event.payload, Payload::Line { .. }),
            gone.map(|gone| gone.hash.to_string()),
            gone.map(|gone| gone.bytes.cast_signed()),
            gone.map(|gone| gone.forgotten),
        ])?;
        Ok(())
    }
}

/// What the ledger let go of: the newest such event's row says so, as a message of its own does in seed 000.
fn receipt(
    log: &dyn EventLog,
    ledger: &Ledger,
    connection: &Connection,
    seen: &Seen,
) -> Result<(), StoreError> {
    let Some(receipt) = log.receipt(&ledger.id, &topics::topic(topics::AGENT_OUTPUT))? else { return Ok(()) };
    let chain: String = receipt.chain.iter().map(|byte| format!("{byte:02x}")).collect();
    let data = format!(
        "{{\"type\":\"output_omission\",\"omittedMessages\":{},\"omittedExportBytes\":{},\"blake3Chain\":\"{chain}\"}}",
        receipt.events, receipt.bytes
    );
    let row = receipt.through.get().cast_signed();
    let marked = "UPDATE messages SET content_data = ?2, \
                  metadata = '{\"compactionReceipt\":true,\"contextSafe\":false,\"replayPolicy\":\"raw_log_only\"}' \
                  WHERE rowid = ?1 AND content_text IS NULL AND content_data IS NULL";
    connection.execute(marked, params![row, data]).map_err(failed(EXPORTING))?;
    let values = params![
        ledger.id.as_str(),
        message_id(&ledger.id, receipt.through),
        seen.first_omitted,
        receipt.events.cast_signed(),
        receipt.bytes.cast_signed(),
        chain,
        seen.retained.0.cast_signed(),
        seen.retained.1.cast_signed(),
    ];
    connection
        .execute("INSERT INTO agent_output_compaction VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)", values)
        .map(|_| ())
        .map_err(failed(EXPORTING))
}

#[cfg(test)]
mod tests;
