//! Which versions of opencode keep a database.

use std::path::Path;

use super::{FILE, Opened};

/// Returns the version of the client that keeps a database in a folder: that of the session of 2.x which was made last. None
/// where there is no such database, or only older versions wrote to it.
pub(crate) fn second_version(folder: &Path) -> Option<String> {
    versions(folder)?.second
}

/// The versions that a database names.
struct Versions {
    /// Of the newest session that 2.x made.
    second: Option<String>,
    /// Of the newest session that a version before it made, if that is newer.
    first: Option<String>,
}

fn versions(folder: &Path) -> Option<Versions> {
    let database = folder.join(FILE);
    let opened = database.is_file().then(|| Opened::of(&database).ok())??;
    let newest = |table: &str| {
        let query = format!("SELECT version, time_created FROM {table} ORDER BY time_created DESC LIMIT 1");
        let read = |row: &rusqlite::Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?));
        opened.connection.query_row(&query, [], read).ok()
    };
    // The tables of 2.x are there before their first session is.
    let has_tables = opened.schema.has("session_v2", &["id"]);
    let (second, first) = (newest("session_v2"), newest("session"));
    let is_newer = |(_, at): &(String, i64)| second.as_ref().is_none_or(|(_, second)| at > second);
    let first = first.filter(is_newer).map(|(version, _)| version);
    let second = second.map(|(version, _)| version).or_else(|| has_tables.then(|| "2".to_owned()));
    Some(Versions { second, first })
}

/// Returns the version of the client that made the newest session of the database in a folder. Returns `None` if there is no
/// database, or no session in it.
pub(crate) fn client_version(folder: &Path) -> Option<String> {
    let Versions { second, first } = versions(folder)?;
    first.or(second)
}
