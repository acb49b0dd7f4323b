//! Mending rows that are not what was written: from copies that have the seal, or by having them written again.
//!
//! A seal proves a copy as a hash proves a content. What no copy gives back and the next import does not write anew is
//! kept as it is, and marked.

use std::collections::BTreeSet;

use rusqlite::types::Value;
use rusqlite::{Connection, params};
use stemmata_model::{CommitId, MachineId, Sighting};

use super::events::{copies_of_event, copies_of_ledger, recount};
use crate::error::StoreError;
use crate::maintain::repair::{RepairSource, Repaired};
use crate::rules::annotation::standing_records;
use crate::rules::codes::{self, KIND_AUDIT};
use crate::rules::rows::audit_record;
use crate::seam::Commits;
use crate::sqlite::SqliteStore;
use crate::sqlite::failure::During;
use crate::sqlite::places::{remove_strays, unread};
use crate::sqlite::seals::{
    ANNOTATION, Broken, CURSOR, EVENT, EVENT_KEY, LEDGER, SEALED, SESSION, SIGHTING, STATE, Sealed,
};
use crate::sqlite::statements;
use crate::sqlite::statements::one;
use crate::sqlite::write::places::session_row;
use crate::write::{Annotation, AuditRecord, SessionKey};

const MENDING: &str = "mending rows";

/// Rows of a table that one repair looks at, so that its memory is bounded; another one goes on with the rest.
const ROWS_MAX: usize = 10_000;

/// Records of a commit's trail, and sightings of one, that are looked at in a source.
const COPIES_MAX: usize = 10_000;

/// What is done without a copy.
const KEPT: &str = "kept as it is: nothing gave it back";
const READ_AGAIN: &str = "dropped: the next import reads the transcript again and writes it anew";

const SAID_ANEW: &str = "dropped: the call that it told is not known any more where somebody repeats it";

const FOLDED_AGAIN: &str = "dropped: whoever needs it folds the events again";

impl SqliteStore {
    /// Mends rows that do not have their seal, in one transaction.
    pub(super) fn repair_rows(&self, sources: &[RepairSource<'_>]) -> Result<Vec<Repaired>, StoreError> {
        let mut readable = BTreeSet::new();
        for broken in self.read(|reader| broken_rows(reader.connection(), &SESSION))? {
            if let Some(key) = session_key(&broken)
                && self.session(&key).is_ok_and(|found| found.is_some())
            {
                readable.insert(SESSION.named(&broken));
            }
        }
        self.group.maintain(|connection| {
            let mut rows = Rows { connection, sources, repaired: Vec::new() };
            for sealed in SEALED {
                for broken in broken_rows(connection, sealed)? {
                    rows.mend(sealed, &broken, &readable)?;
                }
            }
            rows.have_read_again()?;
            rows.repaired.extend(recount(connection)?);
            Ok(rows.repaired)
        })
    }
}

fn broken_rows(connection: &Connection, sealed: &Sealed) -> Result<Vec<Broken>, StoreError> {
    let mut found = Vec::new();
    sealed.broken(connection, MENDING, &mut |broken| {
        if found.len() < ROWS_MAX {
            found.push(broken);
        }
    })?;
    Ok(found)
}

fn session_key(broken: &Broken) -> Option<SessionKey> {
    match broken.values.as_slice() {
        [Value::Text(path), Value::Text(machine), ..] => {
            Some(SessionKey { machine: MachineId::new(machine.clone()).ok()?, path: path.clone() })
        }
        _ => None,
    }
}

/// One repair of rows.
struct Rows<'a> {
    connection: &'a Connection,
    sources: &'a [RepairSource<'a>],
    repaired: Vec<Repaired>,
}

impl Rows<'_> {
    fn mend(
        &mut self,
        sealed: &'static Sealed,
        broken: &Broken,
        readable: &BTreeSet<String>,
    ) -> Result<(), StoreError> {
        let copies = if *sealed == ANNOTATION {
            self.copies_of_annotation(broken)?
        } else if *sealed == SESSION {
            self.copies_of_session(broken)
        } else if *sealed == SIGHTING {
            self.copies_of_sighting(broken)?
        } else if *sealed == EVENT {
            copies_of_event(self.connection, self.sources, broken)?
        } else if *sealed == LEDGER {
            copies_of_ledger(self.connection, self.sources, broken)?
        } else {
            Vec::new()
        };
        if let Some((from, values)) = copies.into_iter().find(|(_, row)| sealed.seal_of(row) == broken.seal) {
            sealed.replace(self.connection, broken, &values).during(MENDING)?;
            self.tell(sealed, broken, from);
            return Ok(());
        }
        if broken.is_kept {
            return Ok(());
        }
        let done = if *sealed == CURSOR {
            sealed.remove(self.connection, broken).during(MENDING)?;
            READ_AGAIN
        } else if *sealed == STATE {
            sealed.remove(self.connection, broken).during(MENDING)?;
            FOLDED_AGAIN
        } else if *sealed == EVENT_KEY {
            sealed.remove(self.connection, broken).during(MENDING)?;
            SAID_ANEW
        } else if *sealed == SESSION {
            self.let_go_of_session(broken, readable)?
        } else if *sealed == SIGHTING {
            self.let_go_of_sighting(broken)?
        } else {
            sealed.keep(self.connection, broken).during(MENDING)?;
            KEPT
        };
        self.tell(sealed, broken, done.to_owned());
        Ok(())
    }

    fn tell(&mut self, sealed: &Sealed, broken: &Broken, from: String) {
        let object = format!("{} of {}", sealed.table, sealed.named(broken));
        self.repaired.push(Repaired { object, from });
    }

    /// Returns rows that may be the one that was written: what the trail of changes says, here and in the sources.
    fn copies_of_annotation(&self, broken: &Broken) -> Result<Vec<(String, Vec<Value>)>, StoreError> {
        let [row @ Value::Integer(commit_row), kind, number, ..] = broken.values.as_slice() else {
            return Ok(Vec::new());
        };
        let Some(id) = self.commit_of(*commit_row)? else {
            return Ok(Vec::new());
        };
        let own = self.own_trail(id, *commit_row)?;
        let mut trails = vec![("the trail of its changes".to_owned(), own)];
        for source in self.sources {
            let records = source.store.audit(id, COPIES_MAX).unwrap_or_default();
            trails.push((source.name.clone(), records.into_iter().collect()));
        }
        let key = [row.clone(), kind.clone(), number.clone()];
        let mut copies = Vec::new();
        for (name, records) in trails {
            let rows = records.iter().map(audit_columns);
            let standing: Vec<AuditRecord> = standing_records(&records);
            for columns in rows.chain(standing.iter().filter_map(standing_columns)) {
                copies.push((name.clone(), key.iter().cloned().chain(columns).collect()));
            }
        }
        Ok(copies)
    }

    /// Returns the records of a commit's trail that can be read.
    fn own_trail(&self, id: CommitId, row: i64) -> Result<BTreeSet<AuditRecord>, StoreError> {
        let sql = "SELECT at, by, change, text, source FROM annotation WHERE commit_row = ?1 AND kind = ?2";
        let mut statement = self.connection.prepare(sql).during(MENDING)?;
        let rows = statement.query_map([row, KIND_AUDIT], statements::columns).during(MENDING)?;
        Ok(rows.filter_map(|columns| audit_record(columns.ok()?, id).ok()).collect())
    }

    fn commit_of(&self, row: i64) -> Result<Option<CommitId>, StoreError> {
        self.connection.during(MENDING).first("SELECT id FROM commits WHERE row = ?1", [row], |found| {
            Ok(CommitId::from_bytes(found.get(0)?))
        })
    }

    fn copies_of_session(&self, broken: &Broken) -> Vec<(String, Vec<Value>)> {
        let Some(key) = session_key(broken) else { return Vec::new() };
        let found = self.sources.iter().filter_map(|source| {
            let session = source.store.session(&key).ok()??;
            Some((source.name.clone(), session_row(&session).to_vec()))
        });
        found.collect()
    }

    fn copies_of_sighting(&self, broken: &Broken) -> Result<Vec<(String, Vec<Value>)>, StoreError> {
        let [Value::Integer(_), Value::Integer(_), Value::Integer(row), ..] = broken.values.as_slice() else {
            return Ok(Vec::new());
        };
        let Some(id) = self.commit_of(*row)? else {
            return Ok(Vec::new());
        };
        let mut copies = Vec::new();
        for source in self.sources {
            for seen in source.store.sightings(id, COPIES_MAX).unwrap_or_default() {
                let row = broken.values.iter().take(3).cloned().chain(sighting_columns(&seen)).collect();
                copies.push((source.name.clone(), row));
            }
        }
        Ok(copies)
    }

    /// Keeps a session's row that can be read until the next import writes it anew; else drops it.
    fn let_go_of_session(
        &self,
        broken: &Broken,
        readable: &BTreeSet<String>,
    ) -> Result<&'static str, StoreError> {
        let key = params![broken.values.first(), broken.values.get(1), broken.values.get(2)];
        let is_seen: bool = self.connection.during(MENDING).only(
            "SELECT EXISTS (SELECT 1 FROM origin WHERE path IS ?1 AND machine IS ?2 AND session IS ?3)",
            key,
            one,
        )?;
        unread(self.connection, "SELECT ?1, ?2", key).during(MENDING)?;
        if is_seen && readable.contains(&SESSION.named(broken)) {
            self.connection
                .during(MENDING)
                .run("UPDATE session SET seal = NULL WHERE path IS ?1 AND machine IS ?2", &key[..2])?;
            return Ok("kept as it is until the next import writes it anew");
        }
        SESSION.remove(self.connection, broken).during(MENDING)?;
        Ok(READ_AGAIN)
    }

    /// Drops a sighting where its commit was seen elsewhere too, or in a transcript that can be read again.
    fn let_go_of_sighting(&self, broken: &Broken) -> Result<&'static str, StoreError> {
        let key = params![broken.values.first(), broken.values.get(1), broken.values.get(2)];
        let ask = |sql: &str| -> Result<bool, StoreError> {
            let mut statement = self.connection.prepare(sql).during(MENDING)?;
            let values = key.get(..statement.parameter_count()).unwrap_or(key);
            statement.query_row(values, |found| found.get(0)).during(MENDING)
        };
        let is_seen_elsewhere = ask("SELECT EXISTS (SELECT 1 FROM sighting WHERE commit_row IS ?3 \
             AND (origin IS NOT ?1 OR created_at IS NOT ?2))")?;
        let is_read_again = ask("SELECT NOT EXISTS (SELECT 1 FROM origin WHERE row IS ?1) \
             OR EXISTS (SELECT 1 FROM origin o JOIN session s ON s.path = o.path AND s.machine = o.machine \
             WHERE o.row IS ?1)")?;
        if !is_seen_elsewhere && !is_read_again {
            SIGHTING.keep(self.connection, broken).during(MENDING)?;
            return Ok(KEPT);
        }
        SIGHTING.remove(self.connection, broken).during(MENDING)?;
        self.connection
            .execute("DELETE FROM sighting_more WHERE origin IS ?1 AND commit_row IS ?3", key)
            .and_then(|_| unread(self.connection, "SELECT path, machine FROM origin WHERE row IS ?1", key))
            .during(MENDING)?;
        Ok(if is_read_again { READ_AGAIN } else { "dropped: its commit was seen elsewhere too" })
    }

    /// Has transcripts read again of which a session, or a sighting that a commit counts on, is not there any more.
    fn have_read_again(&self) -> Result<(), StoreError> {
        if self.repaired.is_empty() {
            return Ok(());
        }
        for sql in [
            // Where a commit's first origin was dropped, another one takes its place.
            "UPDATE commits SET origin = (SELECT min(m.origin) FROM sighting_more m WHERE m.commit_row = commits.row) \
             WHERE origin IS NOT NULL AND NOT EXISTS (SELECT 1 FROM sighting s WHERE s.origin = commits.origin \
             AND s.created_at = commits.created_at AND s.commit_row = commits.row) \
             AND EXISTS (SELECT 1 FROM sighting_more m WHERE m.commit_row = commits.row)",
            "DELETE FROM sighting_more WHERE (commit_row, origin) IN (SELECT row, origin FROM commits)",
        ] {
            self.connection.during(MENDING).run(sql, [])?;
        }
        let unseen = "SELECT DISTINCT o.path, o.machine FROM commits c JOIN origin o ON o.row = c.origin \
             WHERE NOT EXISTS (SELECT 1 FROM sighting s \
             WHERE s.origin = c.origin AND s.created_at = c.created_at AND s.commit_row = c.row)";
        unread(self.connection, unseen, &[]).and_then(|()| remove_strays(self.connection)).during(MENDING)
    }
}

/// The columns of a sighting after its key.
fn sighting_columns(seen: &Sighting) -> [Value; 4] {
    let source = |number: fn(&stemmata_model::Source) -> u64| {
        seen.source.as_ref().map_or(Value::Null, |source| Value::Integer(number(source).cast_signed()))
    };
    [
        Value::Integer(codes::cause(seen.trigger, seen.reasons)),
        Value::Integer(seen.observed_at.as_micros()),
        source(|source| source.offset),
        source(|source| source.length),
    ]
}

/// The columns of a trail's row after its key.
fn audit_columns(record: &AuditRecord) -> [Value; 5] {
    let (change, text, source) = codes::change(&record.change);
    columns(record, Some(change), text, source)
}

/// The columns of what stands by a record, after its key.
fn standing_columns(record: &AuditRecord) -> Option<[Value; 5]> {
    match &record.change {
        Annotation::RemoveTag(_) | Annotation::Unpin => None,
        Annotation::Summary { .. } | Annotation::AddTag(_) | Annotation::AddNote(_) | Annotation::Pin => {
            let (_, text, source) = codes::change(&record.change);
            Some(columns(record, None, text, source))
        }
    }
}

fn columns(record: &AuditRecord, change: Option<i64>, text: Option<&str>, source: Option<i64>) -> [Value; 5] {
    let number = |number: Option<i64>| number.map_or(Value::Null, Value::Integer);
    [
        Value::Integer(record.at.as_micros()),
        Value::Text(record.by.as_str().to_owned()),
        number(change),
        text.map_or(Value::Null, |text| Value::Text(text.to_owned())),
        number(source),
    ]
}
