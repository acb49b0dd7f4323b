//! Which tables of a database hold sessions, and in which of them one session is current.
//!
//! Versions 1.x keep `session`, `message` and `part`. Versions 2.x keep `session_v2` and `session_message`; what they took over
//! stays in the older tables as it was then. The betas of 2.x kept their sessions in `session`, with their messages in
//! `session_message`, which 1.x has too, for a few messages.

use std::collections::{BTreeSet, HashMap};

use rusqlite::{Connection, OptionalExtension as _};

use super::rows;

/// Where sessions are.
pub(super) const SESSION: &str = "session";

/// Where versions 2.x keep sessions.
const SESSION_2: &str = "session_v2";

/// Where versions 2.x keep messages.
const MESSAGES_2: &str = "session_message";

/// Tables that are read.
const KNOWN: [&str; 5] = [SESSION, SESSION_2, MESSAGES_2, "message", "part"];

/// Sessions that are counted at most.
const SESSIONS_MAX: usize = 100_000;

/// Tables that a database has at most: a bound against a file that was made to be read for long.
const TABLES_MAX: usize = 1_000;

/// A table and its columns.
#[derive(Debug)]
struct Table {
    name: String,
    columns: Vec<String>,
}

/// What a database has of what is known.
#[derive(Debug)]
pub(super) struct Schema {
    tables: Vec<Table>,
}

/// In which tables a session is current.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// In `message` and `part`; what it says of itself is in the named table.
    Parts { about: &'static str },
    /// In `session_message`; what it says of itself is in the named table.
    Flat { about: &'static str },
}

/// Sessions of a database that are in no table that is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unread {
    /// What is of another form.
    pub reason: String,
    /// How many, where they can be counted.
    pub sessions: Option<u64>,
}

impl Schema {
    pub(super) fn of(connection: &Connection) -> rusqlite::Result<Self> {
        let mut names =
            connection.prepare("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")?;
        let names: Vec<String> =
            names.query_map([], |row| row.get(0))?.take(TABLES_MAX).collect::<Result<_, _>>()?;
        let mut columns = connection.prepare("SELECT name FROM pragma_table_info(?1)")?;
        let mut tables = Vec::with_capacity(names.len());
        for name in names {
            let columns = columns.query_map([&name], |row| row.get(0))?.collect::<Result<_, _>>()?;
            tables.push(Table { name, columns });
        }
        Ok(Self { tables })
    }

    pub(super) fn has(&self, table: &str, columns: &[&str]) -> bool {
        let found = self.tables.iter().find(|found| found.name == table);
        found.is_some_and(|found| columns.iter().all(|column| found.columns.iter().any(|has| has == column)))
    }

    /// Returns the tables that name sessions, the newest form first.
    fn heads(&self) -> impl Iterator<Item = &'static str> {
        [SESSION_2, SESSION].into_iter().filter(|table| self.has(table, &["id"]))
    }

    fn has_parts(&self) -> bool {
        self.has("message", &["id", "session_id", "data"])
            && self.has("part", &["id", "message_id", "session_id", "data"])
    }

    fn has_flat(&self) -> bool {
        self.has(MESSAGES_2, &["id", "session_id", "type", "data"])
    }

    /// Returns a column of a table, or what stands for it where there is none.
    fn column(&self, table: &str, column: &'static str, or: &'static str) -> &'static str {
        if self.has(table, &[column]) { column } else { or }
    }

    /// Returns a query of all sessions: their ids, directories, and when each was written last as far as that is cheap to say.
    /// None where no table names sessions.
    pub(super) fn sessions(&self) -> Option<String> {
        let heads: Vec<String> = self
            .heads()
            .map(|table| {
                let directory = self.column(table, "directory", "NULL");
                let at = self.column(table, "time_updated", "0");
                // The row of a session of 2.x need not change with its messages. By their creation there is an index.
                let at = if table == SESSION_2 && self.has(MESSAGES_2, &["session_id", "time_created"]) {
                    let last = "SELECT MAX(time_created) FROM session_message WHERE session_id = head.id";
                    format!("MAX({at}, COALESCE(({last}), 0))")
                } else {
                    at.to_owned()
                };
                format!("SELECT id, {directory} AS directory, {at} AS at FROM {table} AS head")
            })
            .collect();
        (!heads.is_empty()).then(|| heads.join(" UNION ALL "))
    }

    /// Returns the order of a session's messages.
    pub(super) fn order(&self, place: Place) -> &'static str {
        let (table, numbered) = match place {
            Place::Parts { .. } => ("message", false),
            Place::Flat { .. } => (MESSAGES_2, self.has(MESSAGES_2, &["seq"])),
        };
        if numbered {
            "seq, id"
        } else if self.has(table, &["time_created"]) {
            "time_created, id"
        } else {
            "id"
        }
    }

    /// Returns the tables that hold the current state of a session. A session that no table names has none.
    pub(super) fn place(&self, connection: &Connection, session: &str) -> rusqlite::Result<Option<Place>> {
        let is_there = |table: &str, column: &str| -> rusqlite::Result<bool> {
            let query = format!("SELECT 1 FROM {table} WHERE {column} = ?1 LIMIT 1");
            Ok(connection.prepare_cached(&query)?.query_row([session], |_| Ok(())).optional()?.is_some())
        };
        let mut about = Vec::new();
        for table in self.heads() {
            if is_there(table, "id")? {
                about.push(table);
            }
        }
        let Some(newest) = about.first().copied() else { return Ok(None) };
        let oldest = about.last().copied().unwrap_or(newest);
        let has_parts = self.has_parts() && is_there("message", "session_id")?;
        let has_flat = self.has_flat() && is_there(MESSAGES_2, "session_id")?;
        let (parts, flat) = (Place::Parts { about: oldest }, Place::Flat { about: newest });
        Ok(Some(match (has_parts, has_flat) {
            (true, false) => parts,
            (false, false) if self.has_parts() && (newest != SESSION_2 || !self.has_flat()) => parts,
            (true, true) if newest != SESSION_2 => parts,
            // 1.x may have gone on with a session that 2.x had taken over.
            (true, true)
                if oldest == SESSION
                    && self.written(connection, session, parts)?
                        > self.written(connection, session, flat)? =>
            {
                parts
            }
            _ => flat,
        }))
    }

    /// Returns when a session was written last in one of its forms, by its row and its messages.
    fn written(&self, connection: &Connection, session: &str, place: Place) -> rusqlite::Result<i64> {
        let (about, messages) = match place {
            Place::Parts { about } => (about, "message"),
            Place::Flat { about } => (about, MESSAGES_2),
        };
        let (own, theirs) =
            (self.column(about, "time_updated", "0"), self.column(messages, "time_updated", "0"));
        let query = format!(
            "SELECT MAX(COALESCE((SELECT MAX({own}) FROM {about} WHERE id = ?1), 0), \
             COALESCE((SELECT MAX({theirs}) FROM {messages} WHERE session_id = ?1), 0))"
        );
        connection.prepare_cached(&query)?.query_row([session], |row| row.get(0))
    }

    /// Returns a query of when anything of a session was written last, and how many rows it has.
    pub(super) fn changed(&self, place: Place) -> String {
        let of = |table: &str, by: &str| {
            let at = self.column(table, "time_updated", "0");
            format!("SELECT MAX({at}) AS at, COUNT(*) AS many FROM {table} WHERE {by} = ?1")
        };
        let rows = match place {
            Place::Parts { about } if self.is_read(place) => {
                vec![of(about, "id"), of("message", "session_id"), of("part", "session_id")]
            }
            Place::Flat { about } if self.is_read(place) => {
                vec![of(about, "id"), of(MESSAGES_2, "session_id")]
            }
            Place::Parts { about } | Place::Flat { about } => vec![of(about, "id")],
        };
        format!("SELECT CAST(MAX(at) AS INTEGER), SUM(many) FROM ({})", rows.join(" UNION ALL "))
    }

    /// Returns a query that sums the bytes of a session's messages. It exists only if this version knows the table that holds them.
    pub(super) fn size(&self, place: Place) -> Option<String> {
        let of =
            |table: &str| format!("(SELECT TOTAL(OCTET_LENGTH(data)) FROM {table} WHERE session_id = ?1)");
        self.is_read(place).then(|| match place {
            Place::Parts { .. } => format!("SELECT {} + {}", of("message"), of("part")),
            Place::Flat { .. } => format!("SELECT {}", of(MESSAGES_2)),
        })
    }

    /// Returns a query of the directory that a session works in.
    pub(super) fn directory(&self, place: Place) -> Option<String> {
        let (Place::Parts { about } | Place::Flat { about }) = place;
        self.has(about, &["directory"]).then(|| format!("SELECT directory FROM {about} WHERE id = ?1"))
    }

    /// Returns whether messages at a place are read.
    pub(super) fn is_read(&self, place: Place) -> bool {
        match place {
            Place::Parts { .. } => self.has_parts(),
            Place::Flat { .. } => self.has_flat(),
        }
    }

    /// Returns the ids of a session's messages that any table has, each with whether it has content there.
    pub(super) fn messages(
        &self,
        connection: &Connection,
        session: &str,
    ) -> rusqlite::Result<HashMap<String, bool>> {
        let mut queries = Vec::new();
        if self.has_parts() {
            let has_part = "EXISTS (SELECT 1 FROM part WHERE message_id = message.id AND session_id = ?1)";
            queries.push(format!("SELECT id, {has_part} FROM message WHERE session_id = ?1"));
        }
        if self.has_flat() {
            queries.push(format!("SELECT id, 1 FROM {MESSAGES_2} WHERE session_id = ?1"));
        }
        let mut found = HashMap::new();
        for query in queries {
            let mut rows = connection.prepare_cached(&query)?;
            let rows = rows.query_map([session], |row| Ok((rows::text(row, 0)?, row.get(1)?)))?;
            for row in rows {
                let (id, has_content): (String, bool) = row?;
                *found.entry(id).or_default() |= has_content;
            }
        }
        Ok(found)
    }

    /// Says which sessions are in no table that is read: those of a newer version, and those whose messages are not where a
    /// known version keeps them.
    pub(super) fn unread(&self, connection: &Connection) -> rusqlite::Result<Option<Unread>> {
        let mut unread = BTreeSet::new();
        let mut reasons = Vec::new();
        let mut add = |query: &str, reason: String| -> rusqlite::Result<()> {
            let mut ids = connection.prepare(query)?;
            let mut ids = ids.query_map([], |row| rows::text(row, 0))?.take(SESSIONS_MAX).peekable();
            reasons.extend(ids.peek().is_some().then_some(reason));
            ids.try_for_each(|id| {
                unread.insert(id?);
                Ok(())
            })
        };
        for Table { name, columns } in &self.tables {
            let by =
                if name.starts_with(SESSION) && !is_later(name, MESSAGES_2) { "id" } else { "session_id" };
            let is_known = KNOWN.contains(&name.as_str()) || !columns.iter().any(|column| column == by);
            let is_sessions =
                by == "id" || ["message", "part", MESSAGES_2].iter().any(|known| is_later(name, known));
            if !is_known && is_sessions {
                let quoted = name.replace('"', "\"\"");
                let query = format!("SELECT DISTINCT {by} FROM \"{quoted}\" WHERE {by} GLOB 'ses_*'");
                add(&query, format!("its table `{name}` is not known"))?;
            }
        }
        let has_head = |table: &str| self.has(table, &["id"]);
        if has_head(SESSION_2) && !self.has_flat() {
            add("SELECT id FROM session_v2", self.lacking(MESSAGES_2))?;
        }
        // A beta of 2.x has no other messages: a session without any is empty there.
        let is_beta = self.has_flat() && !self.has("message", &[]) && !self.has("part", &[]);
        if has_head(SESSION) && !self.has_parts() && !is_beta {
            let moved = if has_head(SESSION_2) { "AND id NOT IN (SELECT id FROM session_v2)" } else { "" };
            let flat = if self.has_flat() {
                "AND NOT EXISTS (SELECT 1 FROM session_message WHERE session_id = session.id)"
            } else {
                ""
            };
            let table = if self.has("message", &["id", "session_id", "data"]) { "part" } else { "message" };
            add(&format!("SELECT id FROM session WHERE 1 {moved} {flat}"), self.lacking(table))?;
        }
        if reasons.is_empty() && self.heads().next().is_none() && !self.tables.is_empty() {
            let reason = "it has no table of sessions that is known".to_owned();
            return Ok(Some(Unread { reason, sessions: None }));
        }
        let sessions = u64::try_from(unread.len()).ok();
        Ok((!reasons.is_empty()).then(|| Unread { reason: reasons.join(", "), sessions }))
    }

    fn lacking(&self, table: &str) -> String {
        if self.has(table, &[]) {
            format!("its table `{table}` has not the known columns")
        } else {
            format!("it has no table `{table}`")
        }
    }
}

/// Returns whether a table is a later version of a known one, by its name.
fn is_later(name: &str, known: &str) -> bool {
    let version = name.strip_prefix(known).and_then(|rest| rest.strip_prefix("_v"));
    version.is_some_and(|version| version.bytes().all(|byte| byte.is_ascii_digit()))
}
