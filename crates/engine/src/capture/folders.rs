//! Reads sessions out of the folders that opencode kept before it had a database: a file for each session, each message
//! and each part of one.
//!
//! `storage/session/<project>/<session>.json` is the session's path; its messages are in `storage/message/<session>`,
//! their parts in `storage/part/<message>`. All of it together is the document that the client would export.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use stemmata_model::to_u64;

use stemmata_runtimes::clients::DATABASE;

use crate::capture::cursor::{FileStamp, WrittenTogether};
use crate::capture::database::{self, Outline, SESSION, Unloaded, Which};
use crate::capture::document::DOCUMENT_BYTES_MAX;
use crate::capture::exported::{Message, is_json, with};
use crate::error::{EngineError, Refusal, Result};

/// The folder's name in the client's own.
pub(crate) const FOLDER: &str = DATABASE.records;

/// Files of one session at most: a message for each turn of years, with a hundred parts each.
const FILES_MAX: usize = 200_000;

/// Sessions of one folder at most.
const SESSIONS_MAX: usize = 100_000;

/// A session in folders of records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stored<'p> {
    path: &'p Path,
    storage: &'p Path,
    session: &'p str,
}

/// A file of a record.
struct Record {
    id: String,
    path: PathBuf,
}

/// The files of a session, and what they were when they were listed.
struct Listed {
    messages: Vec<(Record, Vec<Record>)>,
    written: WrittenTogether,
    bytes: u64,
    files: usize,
}

/// Returns whether a folder is the one that the client keeps.
pub(crate) fn is_storage(folder: &Path) -> bool {
    folder.file_name().is_some_and(|name| name == FOLDER) && folder.join("session").is_dir()
}

/// Returns the paths of the sessions below a folder; of those that the client took into its database, which is beside
/// it, the rows are the truth, and they are left out.
///
/// # Errors
/// `Io` where a folder cannot be listed, and for the database as it has them.
pub(crate) fn sessions(storage: &Path) -> Result<Vec<PathBuf>> {
    let database = storage.with_file_name(database::FILE);
    let moved =
        if database.is_file() { database::sessions(&database, Which::All)?.found } else { Vec::new() };
    let moved: std::collections::HashSet<PathBuf> =
        moved.into_iter().filter_map(|(path, _)| path.file_name().map(PathBuf::from)).collect();
    let mut found = Vec::new();
    for project in listed(&storage.join("session"))? {
        if !project.is_dir() {
            continue;
        }
        for path in listed(&project)? {
            let name = path.file_stem().map(PathBuf::from).unwrap_or_default();
            if Stored::of(&path).is_some() && !moved.contains(&name) && found.len() < SESSIONS_MAX {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Returns the path of a session in the folder beside a database, if it has messages there.
pub(crate) fn beside(database: &Path, session: &str) -> Option<PathBuf> {
    let storage = database.with_file_name(FOLDER);
    if !storage.join("message").join(session).is_dir() {
        return None;
    }
    let projects = listed(&storage.join("session")).ok()?;
    let mut paths: Vec<PathBuf> =
        projects.into_iter().map(|project| project.join(format!("{session}.json"))).collect();
    paths.retain(|path| path.is_file());
    paths.sort();
    paths.into_iter().next()
}

impl<'p> Stored<'p> {
    /// Takes a session's path apart.
    pub(crate) fn of(path: &'p Path) -> Option<Self> {
        let session = path.file_name()?.to_str()?.strip_suffix(".json")?;
        let sessions = path.parent()?.parent()?;
        let storage = sessions.parent()?;
        let is_one = session.starts_with(SESSION)
            && sessions.file_name()? == "session"
            && storage.file_name()? == FOLDER;
        (is_one && path.is_file()).then_some(Self { path, storage, session })
    }

    /// Returns the ids of its messages.
    pub(crate) fn message_ids(&self) -> Result<Vec<String>> {
        let found = records(&self.storage.join("message").join(self.session))?;
        Ok(found.into_iter().map(|record| record.id).collect())
    }

    /// Returns whether a message has any part here.
    pub(crate) fn has_parts(&self, message: &str) -> bool {
        records(&self.storage.join("part").join(message)).is_ok_and(|found| !found.is_empty())
    }

    pub(crate) fn read(&self, known: Option<&FileStamp>) -> Result<(Option<Vec<u8>>, FileStamp)> {
        let listed = self.list()?;
        let metadata = std::fs::metadata(self.path).map_err(EngineError::io("read", self.path))?;
        let length = known.map_or(0, |known| known.length);
        let stamp =
            FileStamp { modified_ns: listed.written.modified_ns(), length, ..FileStamp::of(&metadata) };
        if known == Some(&stamp) {
            return Ok((None, stamp));
        }
        self.check_size(&listed)?;
        let document = self.document(&listed)?;
        let length = to_u64(document.len());
        Ok((Some(document.into_bytes()), FileStamp { length, ..stamp }))
    }

    /// Says what the client does not read: of a session that it did not take into the database beside the folder, all of it.
    pub(crate) fn unloaded(&self) -> Result<Option<Unloaded>> {
        let database = self.storage.with_file_name(database::FILE);
        if !database.is_file() || database::outline(&database, self.session)?.is_some() {
            return Ok(None);
        }
        let messages = u64::try_from(self.message_ids()?.len()).unwrap_or(u64::MAX);
        Ok(Some(Unloaded { loaded: Vec::new(), messages, is_joined: true, is_left: false }))
    }

    pub(crate) fn outline(&self) -> Result<Option<Outline>> {
        let listed = self.list()?;
        let about = text(self.path)?;
        let directory = serde_json::from_str::<serde_json::Value>(&about).ok();
        let directory = directory.and_then(|about| about["directory"].as_str().map(PathBuf::from));
        Ok(Some(Outline { modified_ns: listed.written.modified_ns(), bytes: listed.bytes, directory }))
    }

    /// Returns whether it is as it was, by its own file and by its last message: each turn writes these. A change of an older record
    /// alone is found when it is read. All of its files would be as many as those of all sessions, each time.
    pub(crate) fn is_at_rest(&self, known: &FileStamp) -> bool {
        let is_older = |path: &Path| {
            let written = std::fs::metadata(path).map(|metadata| FileStamp::of(&metadata));
            written.is_ok_and(|written| WrittenTogether::is_within(written.modified_ns, known.modified_ns))
        };
        let own = std::fs::metadata(self.path).map(|metadata| FileStamp::of(&metadata));
        let is_same = own.is_ok_and(|own| (own.device, own.inode) == (known.device, known.inode));
        let folder = self.storage.join("message").join(self.session);
        let last = || {
            let message = records(&folder).ok()?.pop()?;
            let parts = records(&self.storage.join("part").join(&message.id)).ok()?;
            Some(is_older(&message.path) && parts.iter().all(|part| is_older(&part.path)))
        };
        is_same && is_older(self.path) && (!folder.exists() || is_older(&folder)) && last().unwrap_or(true)
    }

    fn list(&self) -> Result<Listed> {
        let mut found = Listed { messages: Vec::new(), written: WrittenTogether::new(), bytes: 0, files: 0 };
        found.count(self.path)?;
        let folder = self.storage.join("message").join(self.session);
        if let Ok(metadata) = std::fs::metadata(&folder) {
            found.written.add(&folder, &metadata);
        }
        for message in records(&folder)? {
            found.count(&message.path)?;
            let parts = records(&self.storage.join("part").join(&message.id))?;
            for part in &parts {
                found.count(&part.path)?;
            }
            found.messages.push((message, parts));
        }
        Ok(found)
    }

    /// Reads all of its messages.
    pub(crate) fn messages(&self) -> Result<Vec<Message>> {
        let listed = self.list()?;
        self.check_size(&listed)?;
        self.messages_of(&listed)
    }

    fn check_size(&self, listed: &Listed) -> Result<()> {
        if listed.bytes <= DOCUMENT_BYTES_MAX {
            return Ok(());
        }
        let (path, bytes, bound_bytes) = (self.path.to_owned(), listed.bytes, DOCUMENT_BYTES_MAX);
        Err(EngineError::DocumentTooLong { path, bytes, bound_bytes })
    }

    fn messages_of(&self, listed: &Listed) -> Result<Vec<Message>> {
        let mut messages = Vec::with_capacity(listed.messages.len());
        for (message, parts) in &listed.messages {
            let mut own = BTreeMap::new();
            for part in parts {
                let ids = [("id", part.id.as_str()), ("sessionID", self.session), ("messageID", &message.id)];
                own.insert(part.id.clone(), whole(&text(&part.path)?, &ids));
            }
            let about = whole(&text(&message.path)?, &[("id", &message.id), ("sessionID", self.session)]);
            messages.push(Message { id: message.id.clone(), about, parts: own });
        }
        Ok(messages)
    }

    fn document(&self, listed: &Listed) -> Result<String> {
        let messages: Vec<String> = self.messages_of(listed)?.iter().map(Message::render).collect();
        let about = text(self.path)?;
        Ok(format!("{{\"info\":{},\"messages\":[{}]}}\n", about.trim(), messages.join(",")))
    }
}

impl Listed {
    fn count(&mut self, path: &Path) -> Result<()> {
        let metadata = std::fs::metadata(path).map_err(EngineError::io("read", path))?;
        self.written.add(path, &metadata);
        self.bytes = self.bytes.saturating_add(metadata.len());
        self.files += 1;
        if self.files > FILES_MAX {
            let reasons = vec![format!("{} has more than {FILES_MAX} files", path.display())];
            return Err(EngineError::Refused { what: Refusal::ReadSession, reasons });
        }
        Ok(())
    }
}

/// Returns the records of a folder in the order of their ids, which is that of their times; none where there is no such
/// folder.
fn records(folder: &Path) -> Result<Vec<Record>> {
    let failed = EngineError::io("list", folder);
    let entries = match std::fs::read_dir(folder) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(Vec::new());
        }
        entries => entries.map_err(EngineError::io("list", folder))?,
    };
    let mut found = Vec::new();
    for entry in entries.collect::<std::io::Result<Vec<_>>>().map_err(failed)? {
        let name = entry.file_name();
        let Some(id) = name.to_str().and_then(|name| name.strip_suffix(".json")) else { continue };
        // Of a link it is only known what it leads to.
        let kind = entry.file_type().map_err(EngineError::io("list", folder))?;
        if kind.is_file() || kind.is_symlink() && entry.path().is_file() {
            found.push(Record { id: id.to_owned(), path: entry.path() });
        }
    }
    found.sort_by(|left, right| left.id.cmp(&right.id));
    Ok(found)
}

fn listed(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).map_err(EngineError::io("list", folder))?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    paths.collect::<std::io::Result<_>>().map_err(EngineError::io("list", folder))
}

/// Returns a record as it is, where it is whole; what is cut is carried with the ids that its place gives it.
fn whole(record: &str, ids: &[(&str, &str)]) -> String {
    let own = record.trim();
    if own.starts_with('{') && is_json(own) { own.to_owned() } else { with(record, ids) }
}

fn text(path: &Path) -> Result<String> {
    let bytes = std::fs::read(path).map_err(EngineError::io("read", path))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
