//! Sessions that are no file of their own: rows of opencode's database, or its older folders of records.
//!
//! Both go by a path and are read as the document that the client would export; whoever captures asks here which one
//! it is, and what is known of it without reading it.

use std::path::{Path, PathBuf};

use stemmata_model::Note;

use crate::capture::cursor::FileStamp;
use crate::capture::database::{self, Outline, Unloaded};
use crate::capture::events;
use crate::capture::folders;
use crate::capture::source;
use crate::error::{EngineError, Result};

/// A session that was read as a document.
pub(crate) struct Extract {
    /// The document. `None` if the session did not change since it was read last.
    pub(crate) document: Option<Vec<u8>>,
    pub(crate) stamp: FileStamp,
    /// What the user should know: damaged rows, messages that came from the older folder.
    pub(crate) notes: Vec<Note>,
}

/// A session and where it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kept<'p> {
    /// In a database.
    Rows { database: &'p Path, session: &'p str },
    /// In folders of records.
    Records(folders::Stored<'p>),
}

impl<'p> Kept<'p> {
    /// Takes a session's path apart; nothing where it is a file like any other.
    pub(crate) fn of(path: &'p Path) -> Option<Self> {
        if let Some((database, session)) = database::session_in(path) {
            return Some(Self::Rows { database, session });
        }
        folders::Stored::of(path).map(Self::Records)
    }

    /// Reads it as a document. Where it is as it was `known`, nothing is read of it.
    ///
    /// # Errors
    /// `NotFound` for a session that is not there, `NotATranscript` for a database that is not of a known form, `Busy`,
    /// `DocumentTooLong`, `Io`.
    pub(crate) fn read(&self, known: Option<&FileStamp>) -> Result<Extract> {
        match self {
            Self::Rows { database, session } => database::read(database, session, known),
            Self::Records(stored) => {
                let (document, stamp) = stored.read(known)?;
                Ok(Extract { document, stamp, notes: Vec::new() })
            }
        }
    }

    /// Returns what its client does not read of it, or `None` if it reads all of it.
    ///
    /// # Errors
    /// As [`Kept::read`].
    pub(crate) fn unloaded(&self) -> Result<Option<Unloaded>> {
        match self {
            Self::Rows { database, session } => database::unloaded(database, session),
            Self::Records(stored) => stored.unloaded(),
        }
    }

    /// Says what is known of it without reading it; nothing where it is not there.
    ///
    /// # Errors
    /// As [`Kept::read`].
    pub(crate) fn outline(&self) -> Result<Option<Outline>> {
        match self {
            Self::Rows { database, session } => database::outline(database, session),
            Self::Records(stored) => stored.outline(),
        }
    }

    /// Says when it was written last, as its stamp has it; none where that cannot be read.
    pub(crate) fn modified_ns(&self) -> Option<i128> {
        match self {
            Self::Rows { database, session } => database::modified_ns(database, session),
            Self::Records(_) => self.outline().ok().flatten().map(|outline| outline.modified_ns),
        }
    }

    /// Returns whether it is as it was, as far as is cheap to say.
    pub(crate) fn still_is(&self, known: &FileStamp) -> bool {
        match self {
            Self::Rows { .. } => self.modified_ns() == Some(known.modified_ns),
            Self::Records(stored) => stored.is_at_rest(known),
        }
    }

    /// Returns the directory of the session, or `None` if the session is missing or names none.
    ///
    /// # Errors
    /// As [`Kept::read`].
    pub(crate) fn directory(&self) -> Result<Option<PathBuf>> {
        match self {
            Self::Rows { database, session } => {
                Ok(database::directory(database, session)?.map(PathBuf::from))
            }
            Self::Records(_) => Ok(self.outline()?.and_then(|outline| outline.directory)),
        }
    }
}

/// Returns whether a path is that of a session, be it a file or not.
pub fn is_session_there(path: &Path) -> bool {
    let is_kept = |kept: Kept<'_>| match kept.outline() {
        Ok(outline) => outline.is_some(),
        // The session may be in a table that this version does not read, or its client holds the database. The caller reports
        // that.
        Err(error) => matches!(error, EngineError::UnknownSchema { .. } | EngineError::Busy { .. }),
    };
    let is_file = source::look(path).is_some_and(|(_, metadata)| metadata.is_file());
    is_file || events::is_folder(path) || Kept::of(path).is_some_and(is_kept)
}

/// Returns whether a session is kept in a database or in folders of records, whether these are there or not.
pub fn is_session_kept(path: &Path) -> bool {
    let is_in_database =
        path.parent().is_some_and(|parent| parent.extension().is_some_and(|end| end == "db"));
    is_in_database || Kept::of(path).is_some()
}

/// What to listen to, to hear of changes of something that is watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listen {
    /// It, and all below it.
    Below(PathBuf),
    /// What lies right in a folder: a database's log is beside it, and is not always there.
    Beside(PathBuf),
    /// Nothing: there would be a folder to listen to for each message. It is looked at now and then.
    Nothing,
}

/// Says what to listen to.
pub fn listen_at(root: &Path) -> Listen {
    match root.parent() {
        Some(folder) if database::is_database(root) => Listen::Beside(folder.to_owned()),
        _ if folders::is_storage(root) => Listen::Nothing,
        _ => Listen::Below(root.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn a_database_is_listened_to_beside_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let of = |name: &str| listen_at(&folder.path().join(name));
        assert_eq!(of("opencode.db"), Listen::Beside(folder.path().to_owned()));
        assert_eq!(of("projects"), Listen::Below(folder.path().join("projects")));
        std::fs::create_dir_all(folder.path().join("storage/session")).expect("a folder");
        assert_eq!(of("storage"), Listen::Nothing);
    }

    #[test]
    fn a_session_is_there_in_a_file_a_packed_one_or_a_folder_of_events() {
        let home = tempfile::tempdir().expect("a folder");
        let write = |name: &str, bytes: &[u8]| {
            let path = home.path().join(name);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::File::create(&path).and_then(|mut file| file.write_all(bytes)).expect("a file");
            path
        };
        let event = br#"{"id":"a","timestamp":"2026-01-01T00:00:00","source":"user","kind":"PauseEvent"}"#;
        let first = write("one/events/event-00000-a.json", event);
        assert!(is_session_there(first.parent().expect("a folder")));
        write("none/events/notes.json", b"{}");
        assert!(!is_session_there(&home.path().join("none/events")), "no event is left in it");
        write("packed.jsonl.zst", b"");
        assert!(is_session_there(&home.path().join("packed.jsonl")));
        assert!(is_session_there(&write("plain.jsonl", b"")));
        assert!(!is_session_there(&home.path().join("gone.jsonl")));
    }
}
