//! What of a transcript was forgotten: it is told from the rest, and nothing of it is stored again.
//!
//! What forgetting does is the store's; what the rest becomes is the parent's.

use stemmata_model::{Closure, CommitId, Note, NoteCode, SessionId};
use stemmata_store::maintain::forget::Tombstone;
use stemmata_store::{Page, SessionFilter, StoreError};

use super::{Ingest, OpenSegment, commit_ahead};
use crate::capture::cursor::Provisional;
use crate::engine::Engine;
use crate::error::Result;

/// Bytes of one commit that are kept in memory beyond a part, where it may be one that was forgotten: of a larger one
/// parts reach the store before that is known, which nothing needs and collection takes away.
const PATIENCE_BYTES: usize = 64 * 1024 * 1024;

/// Sessions of one name that are looked at.
const NAMESAKES_MAX: usize = 100;

/// A forgotten commit at which a session ends.
#[derive(Debug, Clone)]
pub(crate) struct Look {
    /// What it continues.
    parent: Option<CommitId>,
    commit: Provisional,
}

impl Engine {
    /// Returns forgotten commits at which sessions of a name end: an open turn that was forgotten may have grown since,
    /// or stand in another file.
    pub(crate) fn forgotten_looks(&self, session: &SessionId) -> Result<Vec<Look>> {
        let filter =
            SessionFilter { session_prefix: Some(session.as_str().to_owned()), ..SessionFilter::default() };
        let mut looks = Vec::new();
        for one in self.store.sessions(&filter, Page { skip: 0, rows_max: NAMESAKES_MAX })? {
            let Some(tip) = one.tip.filter(|_| one.session == *session) else { continue };
            let Some(commit) = self.store.commit(tip)? else { continue };
            if commit.closure == Closure::Forgotten {
                let known = Provisional { commit: tip, bytes: commit.native_bytes };
                looks.push(Look { parent: commit.core.parent, commit: known });
            }
        }
        Ok(looks)
    }

    /// Returns whether a commit was forgotten and nothing of it is there to go on from.
    pub(crate) fn is_gone(&self, commit: CommitId) -> Result<bool> {
        Ok(self.store.commit(commit)?.is_none() && self.is_tombstoned(commit)?)
    }

    /// Returns whether a commit was forgotten and may not come back.
    pub(crate) fn is_tombstoned(&self, commit: CommitId) -> Result<bool> {
        Ok(!self.store.tombstones(&[Tombstone::Commit(commit)])?.is_empty())
    }
}

impl Ingest<'_> {
    /// Has each commit looked up among what was forgotten, before anything of it is stored.
    pub(crate) fn careful(mut self, looks: Vec<Look>) -> Self {
        self.is_careful = true;
        self.awaited = looks;
        self
    }

    /// Has the segment that begins here be compared with forgotten commits that began here.
    pub(super) fn await_forgotten(&mut self) {
        if !self.is_careful {
            return;
        }
        self.segment.be_patient(PATIENCE_BYTES);
        let parent = self.start.parent.map(|(id, _)| id);
        for look in self.awaited.iter().filter(|look| look.parent == parent) {
            if !self.start.provisional.contains(&look.commit) {
                self.start.provisional.push(look.commit.clone());
            }
        }
    }

    /// Returns the newest look at the open turn that a segment begins with, where that was forgotten.
    pub(super) fn forgotten_in(&self, segment: &OpenSegment) -> Result<Option<CommitId>> {
        if !self.is_careful {
            return Ok(None);
        }
        for known in self.start.provisional.iter().rev() {
            if let Some(commit) = commit_ahead(self.engine, known, segment)? {
                let is_hole = commit.closure == Closure::Forgotten;
                return Ok((is_hole && self.engine.is_tombstoned(commit.id)?).then_some(commit.id));
            }
        }
        Ok(None)
    }

    /// Returns whether a commit was forgotten and its hole is still there, so that the chain goes on behind it.
    ///
    /// # Errors
    /// `Forgotten` where nothing is there to go on from.
    pub(super) fn was_forgotten(&mut self, id: CommitId) -> Result<bool> {
        if !self.engine.is_tombstoned(id)? {
            return Ok(false);
        }
        let stored = self.engine.store.commit(id)?;
        if stored.is_none_or(|commit| commit.closure != Closure::Forgotten) {
            return Err(StoreError::Forgotten(id).into());
        }
        let text = format!("{id} was forgotten and was not imported again; what follows it was");
        self.note(Note::new(NoteCode::Forgotten, text));
        Ok(true)
    }

    /// Returns whether a commit that begins with a forgotten one is here with all that it holds: then that was kept.
    pub(super) fn is_whole(&self, id: CommitId, held: Option<CommitId>) -> Result<bool> {
        let stored = held.map(|_| self.engine.store.commit(id)).transpose()?.flatten();
        Ok(stored.is_some_and(|commit| commit.closure != Closure::Forgotten))
    }

    /// Says that a turn was not taken in, because what was forgotten of it while it was open is a part of it.
    pub(super) fn note_held(&mut self, id: CommitId, held: Option<CommitId>) {
        let Some(held) = held else { return };
        let text = if id == held {
            format!("the open turn begins with {held}, which was forgotten, so nothing of it was imported")
        } else {
            format!(
                "{id} holds {held}, which was forgotten, and was not imported either; what follows it was"
            )
        };
        let again = format!("{text}; `stemma forget --undo {held}` lets it be imported again");
        self.note(Note::new(NoteCode::Forgotten, again));
    }

    /// Returns whether anything that was forgotten was met.
    pub(crate) fn met_forgotten(&self) -> bool {
        self.note_counts.contains_key(&NoteCode::Forgotten)
    }
}
