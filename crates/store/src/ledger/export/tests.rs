//! What a program that reads seed 000's files finds in ours, asked in plain SQL.

use rusqlite::Connection;
use stemmata_model::{NewEvent, Timestamp};

use super::*;
use crate::conformance::ledger::builders::{self, ledger, party};
use crate::files::SystemFiles;
use crate::ledger::{Append, OUTPUT_EVENTS_MAX};
use crate::sqlite::{SqliteOptions, SqliteStore};

fn said(about: &str, sender: &str, text: &str) -> NewEvent {
    NewEvent { sender: party(sender), ..builders::said("calm-otter-7", about, text) }
}

fn append(log: &SqliteStore, events: Vec<NewEvent>) {
    let now = Timestamp::from_micros(1_700_000_000_000_999);
    log.append(Append { now, ..builders::append("calm-otter-7", events) }).expect("appended");
}

fn exported(log: &SqliteStore, into: &Path) -> Connection {
    export_cluster(log, &ledger("calm-otter-7"), &SystemFiles, into, false).expect("exported");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(std::fs::metadata(into).expect("there").permissions().mode() & 0o777, 0o600);
    }
    Connection::open_with_flags(into, OpenFlags::SQLITE_OPEN_READ_ONLY).expect("a database")
}

fn strings(database: &Connection, sql: &str) -> Vec<String> {
    let mut statement = database.prepare(sql).expect("SQL");
    let rows = statement.query_map([], |row| row.get(0)).expect("rows");
    rows.collect::<Result<_, _>>().expect("text")
}

#[test]
fn queries_of_the_seed_find_what_they_look_for() {
    let home = tempfile::tempdir().expect("a folder");
    let log = SqliteStore::open(home.path(), SqliteOptions::default()).expect("a store");
    append(&log, vec![said("ISSUE_OPENED", "system", "fix"), said("PLAN_READY", "planner", "plan one")]);
    append(&log, (0..40).map(|number| said("VALIDATION_RESULT", "tester", &number.to_string())).collect());
    append(&log, vec![said("PLAN_READY", "planner", "plan two")]);
    let database = exported(&log, &home.path().join("calm-otter-7.db"));
    // The last of a topic, as `findLast` asks; the latest k, turned around for rendering; the oldest k.
    let last = "SELECT content_text FROM messages WHERE cluster_id = 'calm-otter-7' AND topic = 'PLAN_READY' \
                ORDER BY timestamp DESC, rowid DESC LIMIT 1";
    assert_eq!(strings(&database, last), ["plan two"]);
    let latest = "SELECT content_text FROM messages WHERE cluster_id = 'calm-otter-7' AND topic = 'VALIDATION_RESULT' \
                  ORDER BY timestamp DESC, rowid DESC LIMIT 3";
    assert_eq!(strings(&database, latest), ["39", "38", "37"]);
    let oldest =
        "SELECT id FROM messages WHERE cluster_id = 'calm-otter-7' ORDER BY timestamp, rowid LIMIT 2";
    assert_eq!(strings(&database, oldest), ["msg_calm-otter-7_1", "msg_calm-otter-7_2"]);
    // By sequence, by time, by sender: all agree on one order.
    let tail = "SELECT receiver || rowid FROM messages WHERE cluster_id = 'calm-otter-7' AND rowid > 41 AND rowid <= 43 ORDER BY rowid";
    assert_eq!(strings(&database, tail), ["broadcast42", "broadcast43"]);
    let after = "SELECT CAST(rowid AS TEXT) FROM messages WHERE timestamp > \
                 (SELECT timestamp FROM messages WHERE rowid = 41) ORDER BY timestamp";
    assert_eq!(
        strings(&database, after),
        ["42", "43"],
        "times rise by a millisecond, so that none is passed over"
    );
    let sender =
        "SELECT CAST(count(*) AS TEXT) FROM messages WHERE cluster_id = 'calm-otter-7' AND sender = 'tester'";
    assert_eq!(strings(&database, sender), ["40"]);
    let first = "SELECT CAST(min(timestamp) AS TEXT) FROM messages";
    assert_eq!(strings(&database, first), ["1700000000000"], "milliseconds, cut and not rounded");
    assert_eq!(
        strings(&database, "SELECT CAST(value AS TEXT) FROM ledger_sequence WHERE singleton = 1"),
        ["43"]
    );
    let columns = strings(&database, "SELECT name FROM pragma_table_info('messages') ORDER BY cid");
    let expected = [
        "id",
        "timestamp",
        "topic",
        "sender",
        "receiver",
        "content_text",
        "content_data",
        "metadata",
        "cluster_id",
    ];
    assert_eq!(columns, expected);
    let indexed = "SELECT group_concat(c.name, ',') FROM pragma_index_list('messages') l, pragma_index_info(l.name) c \
                   WHERE l.origin = 'c' GROUP BY l.name ORDER BY 1";
    let expected = ["cluster_id,sender", "cluster_id,timestamp", "cluster_id,topic", "timestamp", "topic"];
    assert_eq!(strings(&database, indexed), expected);
    assert_eq!(strings(&database, "PRAGMA integrity_check"), ["ok"]);
    assert_eq!(strings(&database, "PRAGMA journal_mode"), ["delete"]);
}

#[test]
fn a_receipt_stands_for_output_that_went() {
    let home = tempfile::tempdir().expect("a folder");
    let log = SqliteStore::open(home.path(), SqliteOptions::default()).expect("a store");
    for _ in 0..9 {
        append(&log, (0..1_000).map(|_| said("AGENT_OUTPUT", "w", "out")).collect());
    }
    let gone = 9_000 - OUTPUT_EVENTS_MAX;
    let database = exported(&log, &home.path().join("c.db"));
    let told: (String, i64, i64, i64, i64, i64) = database
        .query_row(
            "SELECT receipt_message_id, omitted_messages, omitted_export_bytes, retained_messages, retained_export_bytes, \
             first_omitted_timestamp FROM agent_output_compaction WHERE cluster_id = 'calm-otter-7'",
            [],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?)),
        )
        .expect("a receipt");
    let (kept, gone) = (OUTPUT_EVENTS_MAX.cast_signed(), gone.cast_signed());
    assert_eq!(told, (format!("msg_calm-otter-7_{gone}"), gone, gone * 4, kept, kept * 4, 1_700_000_000_000));
    let empty = "SELECT CAST(count(*) AS TEXT) FROM messages WHERE content_text IS NULL";
    assert_eq!(strings(&database, empty), [gone.to_string()]);
    let receipt = "SELECT json_extract(m.content_data, '$.omittedMessages') || json_extract(m.metadata, '$.replayPolicy') \
                   FROM messages m JOIN agent_output_compaction c ON c.receipt_message_id = m.id";
    assert_eq!(strings(&database, receipt), [format!("{gone}raw_log_only")]);
}
