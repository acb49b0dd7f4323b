//! Reads sessions out of opencode's database, each as the document that the client itself would export.
//!
//! A session goes by a path below the database's file, as if that were a folder: `opencode.db/ses_…`. Nothing of the
//! user's is changed. A database that nobody writes to is read as it lies there; of one in use, SQLite sees what was not
//! merged yet; where that needs a file that is not there, both files are copied to a private folder first.

mod opening;
mod rows;
mod schema;
mod unloaded;
mod versions;

use std::path::{Path, PathBuf};

use rusqlite::{Connection, params};
use stemmata_model::{Note, NoteCode, to_u64};
use stemmata_runtimes::clients::DATABASE;

use self::opening::steady;
use self::schema::{Place, Schema, Unread};
pub(crate) use self::unloaded::Unloaded;
pub(crate) use self::versions::{client_version, second_version};
use crate::capture::cursor::{FileStamp, MILLI};
use crate::capture::document::DOCUMENT_BYTES_MAX;
use crate::capture::exported::Message;
use crate::capture::folders::{self, Stored};
use crate::capture::kept::Extract;
use crate::error::{EngineError, Result, Wanted};
use crate::temporary::TempFolder;

/// The database's name in the client's folder.
pub(crate) const FILE: &str = DATABASE.file;

/// How a session's id begins.
pub(crate) const SESSION: &str = DATABASE.session_prefix;

/// Sessions of one database at most.
const SESSIONS_MAX: usize = 100_000;

/// Which sessions of a database.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Which<'a> {
    /// All of them, in the order of their ids.
    All,
    /// So many that were written last: the client touches a session's row at the end of each turn.
    Latest(usize),
    /// So many that were written last and work in a directory or below it.
    In(&'a Path, usize),
}

/// What is known of a session without reading it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Outline {
    /// When it was written last, as its stamp has it.
    pub modified_ns: i128,
    /// Bytes of its document, about.
    pub bytes: u64,
    /// Where it works.
    pub directory: Option<PathBuf>,
}

/// Sessions of a database.
#[derive(Debug)]
pub(crate) struct Sessions {
    /// Their paths, and when each was written last, as its stamp has it.
    pub found: Vec<(PathBuf, i128)>,
    /// That there are others, of a version that is not read.
    pub unread: Option<EngineError>,
}

/// Returns whether a file's name says that it is the client's database: that of its releases, or of another channel.
pub fn is_database(path: &Path) -> bool {
    path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name == FILE || is_of_channel(name))
}

/// Returns whether a file's name is that of the database of betas and builds of one's own.
fn is_of_channel(name: &str) -> bool {
    let of_releases = FILE.strip_suffix(".db").and_then(|stem| name.strip_prefix(stem));
    let channel = of_releases.and_then(|rest| rest.strip_prefix('-')?.strip_suffix(".db"));
    channel.is_some_and(|channel| !channel.is_empty())
}

/// Returns the databases of other channels than the releases', in the client's folder.
pub(crate) fn of_channels(folder: &Path) -> Vec<PathBuf> {
    let entries =
        std::fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    let is_one = |path: &PathBuf| path.file_name().and_then(|name| name.to_str()).is_some_and(is_of_channel);
    let mut found: Vec<PathBuf> = entries.filter(|path| is_one(path) && path.is_file()).collect();
    found.sort();
    found
}

/// Returns the database whose log a file is.
pub fn database_of_log(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?.strip_suffix("-wal")?;
    Some(path.with_file_name(name)).filter(|database| is_database(database))
}

/// Takes a session's path apart: the database, and the session in it.
pub(crate) fn session_in(path: &Path) -> Option<(&Path, &str)> {
    let database = path.parent().filter(|database| database.extension().is_some_and(|end| end == "db"))?;
    let session = path.file_name()?.to_str().filter(|name| name.starts_with(SESSION))?;
    database.is_file().then_some((database, session))
}

/// Returns the sessions in a database, and whether there are others that are not read.
///
/// # Errors
/// `NotATranscript` for what is no database, `Busy`, `Io`.
pub(crate) fn sessions(database: &Path, which: Which<'_>) -> Result<Sessions> {
    let opened = Opened::of(database)?;
    // What the releases' database took over from another channel's is read there, once.
    let release =
        Some(database.with_file_name(FILE)).filter(|release| release != database && release.is_file());
    let taken_over = release.and_then(|release| Opened::of(&release).ok());
    let read = || -> rusqlite::Result<Vec<(PathBuf, i128)>> {
        let mut found = Vec::new();
        for id in opened.ids(which)?.into_iter().filter(|id| id.starts_with(SESSION)) {
            if let Some(release) = &taken_over
                && release.place(&id)?.is_some()
            {
                continue;
            }
            if let Some(place) = opened.place(&id)? {
                found.push((database.join(&id), opened.changed(&place, &id)?));
            }
        }
        Ok(found)
    };
    let found = read().map_err(|error| failed(database, &error))?;
    let unread = opened.unread().map_err(|error| failed(database, &error))?;
    Ok(Sessions { found, unread: unread.map(|unread| unknown(database, &unread)) })
}

/// Says what is known of a session without reading it; nothing where there is no such session.
///
/// # Errors
/// As [`sessions`].
pub(crate) fn outline(database: &Path, session: &str) -> Result<Option<Outline>> {
    let opened = Opened::of(database)?;
    let read = || -> rusqlite::Result<Option<Outline>> {
        let Some(place) = opened.place(session)? else { return Ok(None) };
        let directory = opened.directory(&place, session)?.map(PathBuf::from);
        let (modified_ns, bytes) = (opened.changed(&place, session)?, opened.size(&place, session)?);
        Ok(Some(Outline { modified_ns, bytes, directory }))
    };
    match read().map_err(|error| failed(database, &error))? {
        Some(outline) => Ok(Some(outline)),
        None => opened.not_there(database).map_or(Ok(None), Err),
    }
}

/// Reads a session as a document. Where it is as it was `known`, nothing is read of it.
///
/// # Errors
/// `NotFound` for a session that is not there, `NotATranscript` for a database that is not of a known form, `Busy`,
/// `DocumentTooLong`, `Io`.
pub(crate) fn read(database: &Path, session: &str, known: Option<&FileStamp>) -> Result<Extract> {
    steady(database, || read_once(database, session, known))
}

fn read_once(database: &Path, session: &str, known: Option<&FileStamp>) -> Result<Extract> {
    let opened = Opened::of(database)?;
    let at = |error| failed(database, &error);
    let Some(place) = opened.place(session).map_err(at)? else {
        let gone = EngineError::NotFound { what: Wanted::SessionInDatabase, text: session.to_owned() };
        return Err(opened.not_there(database).unwrap_or(gone));
    };
    let modified_ns = opened.changed(&place, session).map_err(at)?;
    let metadata = std::fs::metadata(database).map_err(EngineError::io("read", database))?;
    let stamp =
        FileStamp { length: known.map_or(0, |known| known.length), modified_ns, ..FileStamp::of(&metadata) };
    if known == Some(&stamp) {
        return Ok(Extract { document: None, stamp, notes: Vec::new() });
    }
    if !opened.reads(&place) {
        let reason = "its messages are in no table that is known".to_owned();
        let unread = opened.unread().map_err(at)?.unwrap_or(Unread { reason, sessions: None });
        return Err(unknown(database, &unread));
    }
    let bytes = opened.size(&place, session).map_err(at)?;
    if bytes > DOCUMENT_BYTES_MAX {
        let path = database.join(session);
        return Err(EngineError::DocumentTooLong { path, bytes, bound_bytes: DOCUMENT_BYTES_MAX });
    }
    let (document, notes) = opened
        .document(&place, session)?
        .ok_or_else(|| EngineError::NotFound { what: Wanted::SessionInDatabase, text: session.to_owned() })?;
    let length = to_u64(document.len());
    Ok(Extract { document: Some(document), stamp: FileStamp { length, ..stamp }, notes })
}

/// Returns what the client does not read of a session, or `None` if it reads all of it.
///
/// # Errors
/// As [`read`].
pub(crate) fn unloaded(database: &Path, session: &str) -> Result<Option<Unloaded>> {
    steady(database, || Opened::of(database)?.unloaded(session))
}

/// Returns when a session was written last, as its stamp has it; none where that cannot be read.
pub(crate) fn modified_ns(database: &Path, session: &str) -> Option<i128> {
    let opened = Opened::of(database).ok()?;
    let place = opened.place(session).ok()??;
    opened.changed(&place, session).ok()
}

/// Returns the directory of a session, or `None` if the database or the session is missing or names none.
///
/// # Errors
/// `Busy`, `NotATranscript`, `Io`.
pub(crate) fn directory(database: &Path, session: &str) -> Result<Option<String>> {
    if std::fs::metadata(database).is_err() {
        return Ok(None);
    }
    steady(database, || {
        let opened = Opened::of(database)?;
        let read = || match opened.place(session)? {
            Some(place) => opened.directory(&place, session),
            None => Ok(None),
        };
        read().map_err(|error| failed(database, &error))
    })
}

/// Where a session of a database is.
#[derive(Debug, Clone)]
struct Standing {
    place: Place,
    /// What the older folder beside the database has more of it: the client began to take the session over.
    older: Option<Older>,
    /// How many last messages only the older folder has, where the client went on without them: most likely its user took them back.
    left: u64,
}

/// What the older folder has of a session, and the database has not.
#[derive(Debug, Clone)]
struct Older {
    path: PathBuf,
    messages: u64,
    /// Whether the database has nothing of what was said.
    is_all: bool,
}

impl Standing {
    /// Returns where the session is read alone, outside of the database.
    fn alone(&self) -> Option<&Older> {
        self.older.as_ref().filter(|older| older.is_all)
    }

    fn outline_of_older(&self) -> Option<Outline> {
        Stored::of(&self.older.as_ref()?.path)?.outline().ok()?
    }
}

/// An open database, and the copy that it is where it is one.
struct Opened {
    connection: Connection,
    schema: Schema,
    database: PathBuf,
    _copy: Option<TempFolder>,
}

impl Opened {
    fn of(database: &Path) -> Result<Self> {
        let (connection, copy) = opening::connection(database)?;
        let schema = Schema::of(&connection).map_err(|error| failed(database, &error))?;
        Ok(Self { connection, schema, database: database.to_owned(), _copy: copy })
    }

    fn place(&self, session: &str) -> rusqlite::Result<Option<Standing>> {
        let Some(place) = self.schema.place(&self.connection, session)? else { return Ok(None) };
        let (older, left) = self.older(session)?;
        Ok(Some(Standing { place, older, left }))
    }

    /// Returns what the older folder has more of a session, and how many messages of it were left.
    fn older(&self, session: &str) -> rusqlite::Result<(Option<Older>, u64)> {
        let Some(path) = folders::beside(&self.database, session) else { return Ok((None, 0)) };
        let Some(stored) = Stored::of(&path) else { return Ok((None, 0)) };
        let held = self.schema.messages(&self.connection, session)?;
        // A folder that cannot be listed fails the reading of the session, which says so.
        let ids = stored.message_ids().unwrap_or_default();
        let lacks = |id: &&String| match held.get(*id) {
            Some(true) => false,
            // Some messages never had a part.
            Some(false) => stored.has_parts(id),
            None => true,
        };
        let messages = u64::try_from(ids.iter().filter(lacks).count()).unwrap_or(u64::MAX);
        let is_all = !held.values().any(|has_content| *has_content);
        // Ids are in the order of time.
        let last_held = ids.iter().rfind(|id| held.contains_key(*id));
        let ends = last_held.is_some_and(|last| ids.iter().find(lacks).is_some_and(|first| first > last));
        let goes_on = held.iter().any(|(id, has_content)| *has_content && ids.binary_search(id).is_err());
        if ends && goes_on {
            return Ok((None, messages));
        }
        Ok(((messages > 0).then_some(Older { path, messages, is_all }), 0))
    }

    fn reads(&self, standing: &Standing) -> bool {
        standing.alone().is_some() || self.schema.is_read(standing.place)
    }

    /// Reads a session, joined with what the older folder has of it, and says what of it is not as it should be. None where it is
    /// gone.
    fn document(&self, standing: &Standing, session: &str) -> Result<Option<(Vec<u8>, Vec<Note>)>> {
        if let Some(older) = standing.alone() {
            let document = Stored::of(&older.path).map_or(Ok(None), |stored| Ok(stored.read(None)?.0));
            return document.map(|document| Some((document?, Vec::new())));
        }
        let at = |error| failed(&self.database, &error);
        let mut said = Vec::new();
        let older = match standing.place {
            Place::Parts { .. } if standing.left == 0 => match self.beside(session) {
                Err(error) if standing.older.is_none() => {
                    said.push(format!("the older folder `{}` was not read: {error}", folders::FOLDER));
                    Vec::new()
                }
                beside => beside?,
            },
            Place::Parts { .. } | Place::Flat { .. } => Vec::new(),
        };
        let how = (&self.schema, standing.place);
        let Some(read) = rows::document(&self.connection, how, session, older).map_err(at)? else {
            return Ok(None);
        };
        let messages = |count: u64| stemmata_model::plural(count, "message");
        let folder = folders::FOLDER;
        if standing.left > 0 {
            said.push(format!(
                "the last {} in the older folder `{folder}` not read: the client went on without them",
                messages(standing.left)
            ));
        }
        if read.joined > 0 {
            said.push(format!(
                "{} came out of the older folder `{folder}`, in whole or in part: its client took over only the rest",
                messages(read.joined)
            ));
        }
        if let (Place::Flat { .. }, Some(older)) = (standing.place, &standing.older) {
            said.push(format!(
                "{} only in the older folder `{folder}` not read: the database has the session in the form of versions 2.x",
                messages(older.messages)
            ));
        }
        if self.directory(standing, session).map_err(at)?.is_none() {
            said.push("its row names no directory: it belongs to no project".to_owned());
        }
        let notes = said.into_iter().map(|said| Note::new(NoteCode::Degraded, said)).collect();
        Ok(Some((read.json.into_bytes(), notes)))
    }

    /// Returns what the older folder has of a session, also where no message is missing: of one the client may have taken over
    /// only some parts.
    fn beside(&self, session: &str) -> Result<Vec<Message>> {
        let beside = folders::beside(&self.database, session);
        beside.as_deref().and_then(Stored::of).map_or(Ok(Vec::new()), |stored| stored.messages())
    }

    /// Says why a session may not be where it is looked for: it may be one of those that a newer version keeps elsewhere.
    fn not_there(&self, database: &Path) -> Option<EngineError> {
        match self.unread() {
            Ok(unread) => unread.map(|unread| unknown(database, &unread)),
            Err(error) => Some(failed(database, &error)),
        }
    }

    fn unread(&self) -> rusqlite::Result<Option<Unread>> {
        self.schema.unread(&self.connection)
    }

    fn directory(&self, standing: &Standing, session: &str) -> rusqlite::Result<Option<String>> {
        let Some(query) = self.schema.directory(standing.place) else { return Ok(None) };
        match self.connection.query_row(&query, [session], |row| row.get::<_, Option<String>>(0)) {
            Err(rusqlite::Error::QueryReturnedNoRows) => Ok(None),
            found => Ok(found?.filter(|directory| !directory.is_empty())),
        }
    }

    fn ids(&self, which: Which<'_>) -> rusqlite::Result<Vec<String>> {
        let bound = |many: usize| i64::try_from(many.min(SESSIONS_MAX)).unwrap_or(i64::MAX);
        let (directory, many, order) = match which {
            Which::All => (None, bound(SESSIONS_MAX), "id"),
            Which::Latest(many) => (None, bound(many), "MAX(at) DESC, id"),
            Which::In(directory, many) => {
                (Some(directory.to_string_lossy().into_owned()), bound(many), "MAX(at) DESC, id")
            }
        };
        let Some(sessions) = self.schema.sessions() else { return Ok(Vec::new()) };
        let below = "?1 IS NULL OR directory = ?1 OR substr(directory, 1, length(?1) + 1) = ?1 || '/'";
        let query = format!(
            "SELECT id FROM ({sessions}) WHERE typeof(id) = 'text' AND ({below}) GROUP BY id ORDER BY {order} LIMIT ?2"
        );
        let mut statement = self.connection.prepare(&query)?;
        let rows = statement.query_map(params![directory, many], |row| rows::text(row, 0))?;
        rows.collect()
    }

    /// Returns when anything of a session was written last, in milliseconds since 1970 times a million, and below that
    /// how many rows it has: a row may say an older time than others.
    fn changed(&self, standing: &Standing, session: &str) -> rusqlite::Result<i128> {
        let older = standing.outline_of_older().map(|outline| outline.modified_ns);
        if let Some(modified_ns) = older.filter(|_| standing.alone().is_some()) {
            return Ok(modified_ns);
        }
        let about = standing.place;
        let latest = self.schema.changed(about);
        let (at_ms, rows) = self.connection.prepare_cached(&latest)?.query_row([session], |row| {
            let (at_ms, rows): (Option<i64>, Option<i64>) = (row.get(0)?, row.get(1)?);
            Ok((at_ms.unwrap_or(0), rows.unwrap_or(0)))
        })?;
        // As many rows of another form at the same time are something else.
        let rows = match about {
            Place::Parts { .. } => rows % 1_000_000,
            Place::Flat { .. } => rows % 500_000 + 500_000,
        };
        let own = i128::from(at_ms) * 1_000_000 + i128::from(rows);
        Ok(older.map_or(own, |older| both_written(own, older)))
    }

    fn size(&self, standing: &Standing, session: &str) -> rusqlite::Result<u64> {
        let older = standing.outline_of_older().map_or(0, |outline| outline.bytes);
        let sum = self.schema.size(standing.place).filter(|_| standing.alone().is_none());
        let Some(sum) = sum else { return Ok(older) };
        let bytes = self.connection.query_row(&sum, [session], |row| row.get::<_, f64>(0))?;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a sum of lengths")]
        Ok((bytes.max(0.0) as u64).saturating_add(older))
    }
}

/// Returns when a session was written last that is in two places, and below the millisecond what tells their states apart.
fn both_written(left: i128, right: i128) -> i128 {
    let newest = left.max(right).div_euclid(MILLI) * MILLI;
    newest + (left ^ right.rotate_left(7)).rem_euclid(MILLI)
}

fn failed(database: &Path, error: &rusqlite::Error) -> EngineError {
    use rusqlite::ErrorCode::{DatabaseBusy, DatabaseLocked, ReadOnly};
    match error.sqlite_error_code() {
        // Read only: a change that was broken off has to be taken back first, by the client.
        Some(DatabaseBusy | DatabaseLocked | ReadOnly) => {
            EngineError::Busy { path: database.to_owned(), reason: format!("its client holds it ({error})") }
        }
        _ => foreign(database, error),
    }
}

fn foreign(database: &Path, error: &rusqlite::Error) -> EngineError {
    EngineError::NotATranscript {
        path: database.to_owned(),
        reason: format!(
            "{} could not be read as its versions {} write it ({error}); `{}` gives a file that can be imported",
            DATABASE.shown, DATABASE.versions, DATABASE.export
        ),
        is_bundle: false,
    }
}

fn unknown(database: &Path, unread: &Unread) -> EngineError {
    EngineError::UnknownSchema {
        path: database.to_owned(),
        sessions: unread.sessions,
        reason: format!(
            "{}; of {} the versions {} are read; `{}` gives a file that can be imported",
            unread.reason, DATABASE.shown, DATABASE.versions, DATABASE.export
        ),
    }
}
