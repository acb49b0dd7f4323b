//! Where reading of a transcript stopped before its end: at a line that is longer than [`LINE_BYTES_MAX`].
//!
//! The cursor says it: more is behind the bytes that were read than is ever left for later. An import that was interrupted in a
//! file of that size leaves the same.

use std::path::Path;

use stemmata_model::{CommitId, Note, NoteCode};
use stemmata_store::Session;

use crate::capture::cursor::Cursor;
use crate::capture::lines::LINE_BYTES_MAX;
use crate::capture::namesakes::{overwritten, transcript_of};
use crate::capture::source::{is_packed, look};
use crate::capture::transcript_file::Transcript;
use crate::engine::Engine;
use crate::error::Result;

/// Bytes of an open turn in which lines are counted at most, to name the line.
const COUNTED_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Bytes behind what was read from which on reading stopped there. Versions before took lines of so many bytes.
const UNREAD_BYTES_MIN: u64 = 256 * 1024 * 1024;

/// Where reading stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoppedReading {
    /// The last line that was read, 1 = first. `None` if the file cannot be read now to count its lines.
    pub line: Option<u64>,
    /// Bytes of the transcript that were read.
    pub read_bytes: u64,
    /// Bytes that it has.
    pub bytes: u64,
}

impl StoppedReading {
    /// Says it as part of a sentence about the session, and what can be done.
    pub fn describe(&self) -> String {
        let Self { line, read_bytes, bytes } = self;
        let read = line.map_or_else(String::new, |line| format!("line {line}, "));
        format!(
            "read up to {read}byte {read_bytes} of {bytes} only: `stemma import` reads on, unless a line of more than \
             {LINE_BYTES_MAX} bytes follows"
        )
    }
}

impl Engine {
    /// Returns where reading of a session's transcript stopped before its end.
    ///
    /// # Errors
    /// Store errors.
    pub fn stopped_reading(&self, session: &Session) -> Result<Option<StoppedReading>> {
        let path = transcript_of(session);
        let is_here = session.key.machine == self.identity.machine && path.is_absolute();
        if !is_here || overwritten(&session.key.path).is_some() {
            return Ok(None);
        }
        // Of nearly all sessions the file's length says that there is no such line, and no cursor is read.
        let found = look(path);
        if found
            .as_ref()
            .is_some_and(|(file, metadata)| !is_packed(file) && metadata.len() <= UNREAD_BYTES_MIN)
        {
            return Ok(None);
        }
        let Some(cursor) = self.store.cursor(&session.key)?.as_deref().and_then(Cursor::decode) else {
            return Ok(None);
        };
        let (read_bytes, bytes) = (cursor.seen_bytes, cursor.stamp.length);
        if bytes.saturating_sub(read_bytes) <= UNREAD_BYTES_MIN {
            return Ok(None);
        }
        let line = found.and_then(|(file, _)| last_line(&file, &cursor));
        Ok(Some(StoppedReading { line, read_bytes, bytes }))
    }

    /// Returns where reading of a transcript of this machine stopped, as [`Engine::stopped_reading`] does.
    ///
    /// # Errors
    /// Store errors.
    pub fn stopped_reading_of(&self, path: &Path) -> Result<Option<StoppedReading>> {
        match self.store.session(&self.session_key(path))? {
            Some(session) => self.stopped_reading(&session),
            None => Ok(None),
        }
    }

    /// Returns a note for who continues a commit that a session ends with because reading of its transcript stopped there.
    pub(crate) fn note_of_stop(&self, ctx: CommitId) -> Result<Option<Note>> {
        let Some(session) = self.session_of_sightings(ctx)?.filter(|session| session.tip == Some(ctx)) else {
            return Ok(None);
        };
        let stopped = self.stopped_reading(&session)?;
        Ok(stopped
            .map(|stopped| Note::new(NoteCode::Degraded, format!("the session was {}", stopped.describe()))))
    }
}

/// Counts the lines before the end of what was read.
fn last_line(path: &Path, cursor: &Cursor) -> Option<u64> {
    let open = cursor.seen_bytes.checked_sub(cursor.closed_bytes)?;
    if open == 0 {
        return Some(cursor.closed_line.saturating_sub(1));
    }
    if open > COUNTED_BYTES_MAX {
        return None;
    }
    // A file that cannot be read any more has no lines to name.
    let mut transcript = Transcript::open(path).ok()?;
    transcript.load(None).ok()?;
    let bytes = transcript.range(cursor.closed_bytes, open).ok()?;
    let lines = memchr::memchr_iter(b'\n', &bytes).count();
    Some(cursor.closed_line.saturating_sub(1) + u64::try_from(lines).ok()?)
}
