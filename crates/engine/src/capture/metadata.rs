//! What is known of a transcript before its content is: its session's name, and all that is kept where the content
//! cannot be taken in.

use std::path::Path;

use stemmata_model::{Granularity, SessionId, Timestamp};
use stemmata_runtimes::adapter::{Adapter, Shape};
use stemmata_runtimes::translate::runtime_of;
use stemmata_store::maintain::forget::Tombstone;
use stemmata_store::{Session, SessionOrigin, Write};

use crate::capture::cursor::OpenFile;
use crate::capture::document;
use crate::capture::lines::split_lines;
use crate::capture::reading::{detect, first_records, open};
use crate::capture::source::plain_name;
use crate::engine::Engine;
use crate::error::{EngineError, Result};

impl Engine {
    /// Keeps what is known of a transcript whose content cannot be scrubbed: that it is there, whose session it is, and
    /// when it was written. Nothing of what it says.
    pub(crate) fn keep_metadata(&self, path: &Path) -> Result<()> {
        let key = self.session_key(path);
        let is_forgotten = !self.store.tombstones(&[Tombstone::Transcript(key.clone())])?.is_empty();
        if self.store.session(&key)?.is_some() || is_forgotten {
            return Ok(());
        }
        let (file, stamp) = open(path)?;
        let adapter = detect(OpenFile { file: &file, path })?;
        let format = adapter.format();
        let session = session_name(OpenFile { file: &file, path }, adapter)?;
        let written = i64::try_from(stamp.modified_ns / 1_000).ok().map(Timestamp::from_micros);
        let row = Session {
            key,
            session,
            parent_session: None,
            principal: self.identity.principal(runtime_of(&format))?,
            template: adapter.splitter(Granularity::Turn, None).template(),
            format,
            granularity: Granularity::Turn,
            origin: SessionOrigin::Imported,
            title: None,
            cwd: None,
            git_branch: None,
            version: None,
            started_at: None,
            last_at: written,
            tip: None,
            commits: 0,
            messages: 0,
            bytes: 0,
        };
        self.commit_batch(vec![Write::Session(Box::new(row))])?;
        Ok(())
    }
}

/// Names a session: clients go by the file's name where it is shaped like an id, else the records tell.
pub(crate) fn session_name(file: OpenFile<'_>, adapter: &'static dyn Adapter) -> Result<SessionId> {
    // A conversation that is a folder of events goes by the folder around it.
    let named =
        if file.path.is_dir() { file.path.parent().unwrap_or(file.path) } else { plain_name(file.path) };
    let stem = named.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    if let Some(session) = adapter.session_of_name(&stem) {
        return Ok(SessionId::new(session)?);
    }
    let mut splitter = adapter.splitter(Granularity::Turn, None);
    if adapter.shape() == Shape::Document {
        splitter.line(&document::read_now(file)?, &mut Vec::new());
        let named = splitter.facts().session.clone();
        return named.map_or_else(|| SessionId::new(stem).map_err(EngineError::from), Ok);
    }
    for line in split_lines(&first_records(file)?).filter(|line| line.ends_with(b"\n")) {
        splitter.line(line.strip_suffix(b"\n").unwrap_or(line), &mut Vec::new());
        if let Some(session) = &splitter.facts().session {
            return Ok(session.clone());
        }
    }
    Ok(SessionId::new(stem)?)
}

/// Bytes of a directory, a branch or a version that a session's listing holds at most, as the store bounds them.
const LISTED_BYTES_MAX: usize = 4096;

/// Returns a text that a listing can hold: foreign records may say anything.
pub(crate) fn bounded(text: Option<&String>) -> Option<String> {
    text.filter(|text| text.len() <= LISTED_BYTES_MAX).cloned()
}

/// Returns the earlier of two points in time, where there are any.
pub(crate) fn earliest(left: Option<Timestamp>, right: Option<Timestamp>) -> Option<Timestamp> {
    match (left, right) {
        (Some(left), Some(right)) => Some(left.min(right)),
        (known, None) | (None, known) => known,
    }
}
