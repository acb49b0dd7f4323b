//! One session out of its rows, as the document that its client would export.

use std::collections::{BTreeMap, HashMap};

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row, Transaction, params};

use super::schema::{Place, Schema};
use crate::capture::exported::{Info, Message, is_json, joined, quoted, with};

/// A session as one document.
pub(super) struct Document {
    pub(super) json: String,
    /// Messages of it that are in the older folder alone, or have parts there alone.
    pub(super) joined: u64,
}

/// Returns a session as one document, joined with what the older folder beside the database has of it. A session whose row was
/// deleted meanwhile has none.
pub(super) fn document(
    connection: &Connection,
    (schema, place): (&Schema, Place),
    session: &str,
    older: Vec<Message>,
) -> rusqlite::Result<Option<Document>> {
    // One state of the database for all tables.
    let reading = connection.unchecked_transaction()?;
    let (table, about): (_, fn(&Row<'_>) -> String) = match place {
        Place::Parts { about } => (about, info),
        Place::Flat { about } => (about, flat_info),
    };
    let query = format!("SELECT * FROM {table} WHERE id = ?1");
    let about = match reading.prepare(&query)?.query_row([session], |row| Ok(about(row))) {
        Ok(about) => about,
        Err(rusqlite::Error::QueryReturnedNoRows) => return Ok(None),
        Err(error) => return Err(error),
    };
    let (messages, joined) = match place {
        Place::Parts { .. } => {
            let (all, joined) = joined(messages(&reading, schema.order(place), session)?, older);
            (all.iter().map(Message::render).collect(), joined)
        }
        Place::Flat { .. } => (flat_messages(&reading, schema.order(place), session)?, 0),
    };
    let json = format!("{{\"info\":{about},\"messages\":[{}]}}\n", messages.join(","));
    Ok(Some(Document { json, joined }))
}

/// Returns the text of a column, whatever is in it: one row of another kind must not cost the session.
pub(super) fn text(row: &Row<'_>, column: usize) -> rusqlite::Result<String> {
    Ok(match row.get_ref(column)? {
        ValueRef::Null => String::new(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => number.to_string(),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => String::from_utf8_lossy(bytes).into_owned(),
    })
}

fn messages(reading: &Transaction<'_>, order: &str, session: &str) -> rusqlite::Result<Vec<Message>> {
    let mut parts: HashMap<String, BTreeMap<String, String>> = HashMap::new();
    let mut statement =
        reading.prepare("SELECT id, message_id, data FROM part WHERE session_id = ?1 ORDER BY id")?;
    let mut rows = statement.query(params![session])?;
    while let Some(row) = rows.next()? {
        let (mut id, message, data) = (text(row, 0)?, text(row, 1)?, text(row, 2)?);
        let own = [("id", id.as_str()), ("sessionID", session), ("messageID", message.as_str())];
        let part = with(&data, &own);
        let parts = parts.entry(message).or_default();
        // Damaged ids may be the same.
        if parts.contains_key(&id) {
            id = format!("{id}~{:08}", parts.len());
        }
        parts.insert(id, part);
    }
    let mut messages = Vec::new();
    let query = format!("SELECT id, data FROM message WHERE session_id = ?1 ORDER BY {order}");
    let mut statement = reading.prepare(&query)?;
    let mut rows = statement.query(params![session])?;
    while let Some(row) = rows.next()? {
        let (id, data) = (text(row, 0)?, text(row, 1)?);
        let about = with(&data, &[("id", id.as_str()), ("sessionID", session)]);
        messages.push(Message { parts: parts.remove(&id).unwrap_or_default(), id, about });
    }
    Ok(messages)
}

/// Messages of versions 2.x: the row's id and type belong to the message.
fn flat_messages(reading: &Transaction<'_>, order: &str, session: &str) -> rusqlite::Result<Vec<String>> {
    let query = format!("SELECT id, type, data FROM session_message WHERE session_id = ?1 ORDER BY {order}");
    let mut statement = reading.prepare(&query)?;
    let rows = statement.query_map([session], |row| {
        let (id, kind, data) = (text(row, 0)?, text(row, 1)?, text(row, 2)?);
        Ok(with(&data, &[("id", id.as_str()), ("type", kind.as_str())]))
    })?;
    rows.collect()
}

/// Reads the columns of a row, whatever columns its version has.
struct Columns<'r, 'c>(&'r Row<'c>);

impl Columns<'_, '_> {
    fn text(&self, column: &str) -> Option<String> {
        self.0.get::<_, Option<String>>(column).ok().flatten()
    }

    /// Puts texts into an object, each under its key.
    fn put_texts(&self, object: &mut Info, columns: &[(&str, &str)]) {
        for (key, column) in columns {
            object.put(key, self.text(column).map(|text| quoted(&text)));
        }
    }

    fn json(&self, column: &str) -> Option<String> {
        self.text(column).filter(|json| is_json(json))
    }

    fn number(&self, column: &str) -> Option<i64> {
        self.0.get::<_, Option<i64>>(column).ok().flatten()
    }

    fn numbers(&self, columns: &[(&str, &str)]) -> String {
        let mut inner = Info::new();
        for (key, column) in columns {
            inner.put(key, self.number(column).map(|number| number.to_string()));
        }
        inner.finish()
    }

    fn cost(&self) -> Option<String> {
        let cost = self.0.get::<_, Option<f64>>("cost").ok().flatten();
        cost.map(|cost| serde_json::Value::from(cost).to_string())
    }

    fn tokens(&self) -> Option<String> {
        let cache = self.numbers(&[("read", "tokens_cache_read"), ("write", "tokens_cache_write")]);
        let tokens =
            [("input", "tokens_input"), ("output", "tokens_output"), ("reasoning", "tokens_reasoning")];
        let tokens = self.numbers(&tokens);
        let tokens = tokens.strip_suffix('}').map(|tokens| format!("{tokens},\"cache\":{cache}}}"));
        tokens.filter(|_| self.number("tokens_input").is_some())
    }
}

/// Writes what a session says of itself, as the export does.
fn info(row: &Row<'_>) -> String {
    let mut object = Info::new();
    let columns = Columns(row);
    let texts = [
        ("id", "id"),
        ("slug", "slug"),
        ("projectID", "project_id"),
        ("workspaceID", "workspace_id"),
        ("directory", "directory"),
        ("path", "path"),
        ("parentID", "parent_id"),
        ("title", "title"),
        ("agent", "agent"),
    ];
    columns.put_texts(&mut object, &texts);
    object.put("model", columns.json("model"));
    columns.put_texts(&mut object, &[("version", "version")]);
    let summary =
        [("additions", "summary_additions"), ("deletions", "summary_deletions"), ("files", "summary_files")];
    object.put("summary", columns.number("summary_additions").map(|_| columns.numbers(&summary)));
    object.put("share", columns.text("share_url").map(|url| format!("{{\"url\":{}}}", quoted(&url))));
    object.put("cost", columns.cost());
    object.put("tokens", columns.tokens());
    for column in ["permission", "revert", "metadata"] {
        object.put(column, columns.json(column));
    }
    let times = [
        ("created", "time_created"),
        ("updated", "time_updated"),
        ("compacting", "time_compacting"),
        ("archived", "time_archived"),
    ];
    object.put("time", Some(columns.numbers(&times)));
    object.finish()
}

/// Writes what a session says of itself, as the export of versions 2.x does, and the version, which that leaves out.
fn flat_info(row: &Row<'_>) -> String {
    let mut object = Info::new();
    let columns = Columns(row);
    let texts = [
        ("id", "id"),
        ("parentID", "parent_id"),
        ("projectID", "project_id"),
        ("title", "title"),
        ("agent", "agent"),
        ("subpath", "path"),
        ("version", "version"),
    ];
    columns.put_texts(&mut object, &texts);
    let mut location = Info::new();
    columns.put_texts(&mut location, &[("directory", "directory"), ("workspaceID", "workspace_id")]);
    object.put("location", Some(location.finish()));
    for column in ["model", "revert", "metadata", "permissions"] {
        object.put(column, columns.json(column));
    }
    object.put("cost", columns.cost());
    object.put("tokens", columns.tokens());
    let times = [("created", "time_created"), ("updated", "time_updated"), ("archived", "time_archived")];
    object.put("time", Some(columns.numbers(&times)));
    object.finish()
}
