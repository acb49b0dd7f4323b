//! What is left of a chain of which something was forgotten, read for the title that it gives.
//!
//! It is the title that an import of the remaining lines alone would give, whoever asks: a capture, whose splitter has read what
//! was forgotten too, or a bundle, whose sender may have kept a title made of it. Which commits were forgotten is the store's.

use std::io;

use stemmata_model::{ArtifactId, Closure, CommitId, CommitType, Granularity, Note, NoteCode};
use stemmata_runtimes::adapter::{Adapter, SessionFacts, Shape, Splitter, TitleRank};
use stemmata_store::{SessionOrigin, StoreError, StoreErrorKind};

use crate::capture::lines::split_lines;
use crate::chain::segments::SEGMENT_BYTES_MAX;
use crate::chain::walk::Walk;
use crate::engine::Engine;
use crate::error::Result;

/// A session's own commits, read as far as was asked for: each is read once, however often a long capture asks.
pub(crate) struct Rest {
    adapter: &'static dyn Adapter,
    splitter: Box<dyn Splitter>,
    /// The newest commit that was read; at the start the one that the session was placed from, which is not its own.
    through: Option<CommitId>,
    unreadable: Option<Unreadable>,
    /// The answer once a commit could not be read: no title, with the rank of a prompt, so that no later prompt becomes the title.
    nothing: SessionFacts,
}

/// A commit that could not be read, so that no title is certain.
struct Unreadable {
    commit: CommitId,
    reason: String,
    is_told: bool,
}

impl Rest {
    pub(crate) fn of(adapter: &'static dyn Adapter, origin: SessionOrigin) -> Self {
        let through = match origin {
            SessionOrigin::Placed(from) => Some(from),
            SessionOrigin::Imported | SessionOrigin::Api => None,
        };
        Self::new(adapter, adapter.splitter(Granularity::Turn, None), through)
    }

    /// Goes on from a splitter's state behind a commit, which knows of what came before only what is left: forgetting clears the
    /// cursors of its sessions. Without this, each look at a long session would read all of it again.
    pub(crate) fn behind(
        adapter: &'static dyn Adapter,
        granularity: Granularity,
        state: &[u8],
        through: Option<CommitId>,
    ) -> Self {
        Self::new(adapter, adapter.splitter(granularity, Some(state)), through)
    }

    fn new(adapter: &'static dyn Adapter, splitter: Box<dyn Splitter>, through: Option<CommitId>) -> Self {
        let nothing = SessionFacts { title_rank: TitleRank::Prompt, ..SessionFacts::default() };
        Self { adapter, splitter, through, unreadable: None, nothing }
    }

    /// Reads the commits up to `tip` that were not forgotten, and returns what their lines say; nothing where one of them cannot
    /// be read, for that one may have said it.
    ///
    /// # Errors
    /// Store errors, those about single contents left out.
    pub(crate) fn read_to(&mut self, engine: &Engine, tip: Option<CommitId>) -> Result<&SessionFacts> {
        if tip != self.through {
            for (commit, artifact) in self.unread(engine, tip)?.into_iter().rev() {
                self.read(engine, commit, artifact)?;
            }
            self.through = tip.or(self.through);
        }
        Ok(if self.unreadable.is_some() { &self.nothing } else { self.splitter.facts() })
    }

    /// Returns a note about the commit that could not be read, the first time only.
    pub(crate) fn note(&mut self) -> Option<Note> {
        let unreadable = self.unreadable.as_mut().filter(|unreadable| !unreadable.is_told)?;
        unreadable.is_told = true;
        let Unreadable { commit, reason, .. } = unreadable;
        let message = format!("{commit} cannot be read, so the session's title is not known: {reason}");
        Some(Note::new(NoteCode::Degraded, message))
    }

    pub(crate) const fn has_unreadable(&self) -> bool {
        self.unreadable.is_some()
    }

    /// Returns the commits that were not read yet and say something of the title, newest first.
    fn unread(&self, engine: &Engine, tip: Option<CommitId>) -> Result<Vec<(CommitId, ArtifactId)>> {
        let format = self.adapter.format();
        let mut walk = Walk::new(engine.store.as_ref(), tip);
        let mut unread = Vec::new();
        while let Some(commit) = walk.next()? {
            if Some(commit.id) == self.through {
                break;
            }
            // A chain may go on in another format, whose lines this splitter cannot read.
            if commit.closure == Closure::Forgotten || commit.core.format != format {
                continue;
            }
            let is_snapshot = matches!(commit.core.commit_type, CommitType::Snapshot { .. });
            match (self.adapter.shape(), is_snapshot) {
                (Shape::Lines, _) => unread.push((commit.id, commit.core.native_artifact())),
                // It stands for all states before it.
                (Shape::Document, true) => {
                    unread.push((commit.id, commit.core.native_artifact()));
                    break;
                }
                (Shape::Document, false) => {}
            }
        }
        Ok(unread)
    }

    fn read(&mut self, engine: &Engine, commit: CommitId, artifact: ArtifactId) -> Result<()> {
        let read = match self.adapter.shape() {
            Shape::Lines => self.read_lines(engine, artifact),
            Shape::Document => self.read_document(engine, artifact),
        };
        match read {
            Err(error) if is_of_content(&error) => {
                let reason = error.to_string();
                self.unreadable.get_or_insert(Unreadable { commit, reason, is_told: false });
                Ok(())
            }
            read => Ok(read?),
        }
    }

    /// Reads a content line by line: a commit may be far larger than its longest line.
    fn read_lines(&mut self, engine: &Engine, artifact: ArtifactId) -> Result<(), StoreError> {
        let splitter = &mut self.splitter;
        // A last line without an end was not taken in by any splitter yet, so it is let go.
        let mut line: Vec<u8> = Vec::new();
        engine.store.read_content(artifact, None, &mut |piece| {
            for part in split_lines(piece) {
                append(&mut line, part)?;
                if let Some(whole) = line.strip_suffix(b"\n") {
                    splitter.line(whole, &mut Vec::new());
                    line.clear();
                }
            }
            Ok(())
        })
    }

    fn read_document(&mut self, engine: &Engine, artifact: ArtifactId) -> Result<(), StoreError> {
        let mut document: Vec<u8> = Vec::new();
        engine.store.read_content(artifact, None, &mut |piece| append(&mut document, piece))?;
        self.unreadable = None;
        self.splitter = self.adapter.splitter(Granularity::Turn, None);
        self.splitter.line(&document, &mut Vec::new());
        Ok(())
    }
}

/// Adds bytes to a line or a document. A marker may be longer than the secret that it replaces, so what is stored may exceed the bound of a
/// captured line.
fn append(held: &mut Vec<u8>, bytes: &[u8]) -> io::Result<()> {
    let length = u64::try_from(held.len().saturating_add(bytes.len())).unwrap_or(u64::MAX);
    if length > SEGMENT_BYTES_MAX {
        let reason = format!("more than {SEGMENT_BYTES_MAX} bytes in one piece");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, reason));
    }
    held.extend_from_slice(bytes);
    Ok(())
}

/// Returns whether an error is of a content rather than of the moment: the next try would have it too.
pub(crate) fn is_of_content(error: &StoreError) -> bool {
    match error.kind() {
        StoreErrorKind::NotFound | StoreErrorKind::Rejected | StoreErrorKind::Corrupt => true,
        // The reader of the bytes refused them, as too long.
        StoreErrorKind::System => matches!(error, StoreError::Sink(_)),
        StoreErrorKind::Refused
        | StoreErrorKind::Locked
        | StoreErrorKind::Full
        | StoreErrorKind::Incompatible => false,
    }
}
