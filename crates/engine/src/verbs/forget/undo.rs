//! Taking a forgetting back: which one a name means. What may be imported again is the store's to say.

use std::path::PathBuf;

use stemmata_model::{CommitId, CommitPrefix, IdKind, PREFIX_CHARS_MIN};
use stemmata_store::maintain::forget::Tombstone;

use crate::engine::Engine;
use crate::error::{Candidate, EngineError, Result, Wanted};
use crate::verbs::find::CANDIDATES_MAX;

impl Engine {
    /// Removes every tombstone of the forgetting that left one for a commit (its id, or the beginning of it), a session (its whole
    /// id) or a transcript (its path), so that all of it may be imported again. Returns their number.
    ///
    /// # Errors
    /// `NotFound` where nothing of this name was forgotten, `Ambiguous` where several forgotten commits begin so.
    pub fn unforget(&self, text: &str) -> Result<u64> {
        let mut tombstones: Vec<Tombstone> = Vec::new();
        if let Ok(id) = text.parse::<CommitId>() {
            tombstones.push(Tombstone::Commit(id));
        }
        if let Ok(session) = stemmata_model::SessionId::new(text) {
            tombstones.push(Tombstone::Session(session));
        }
        tombstones.push(Tombstone::Transcript(self.session_key(std::path::Path::new(text))));
        tombstones.extend(self.forgotten_commit(text)?.map(Tombstone::Commit));
        for tombstone in tombstones {
            let lifted = self.store.lift(&tombstone)?;
            if lifted > 0 {
                return Ok(lifted);
            }
        }
        Err(EngineError::NotFound { what: Wanted::Forgotten, text: text.to_owned() })
    }

    /// Returns the forgotten transcript below these folders whose file name has an id that begins or ends with `part`. The store
    /// keeps no id of a forgotten session, so a part of one is looked for in the names of the files that clients still have.
    ///
    /// # Errors
    /// `Ambiguous` where several have such a name. Store errors.
    pub fn forgotten_transcript(&self, folders: &[PathBuf], part: &str) -> Result<Option<PathBuf>> {
        let mut found: Vec<PathBuf> = Vec::new();
        if part.chars().count() < PREFIX_CHARS_MIN || !self.store.has_tombstones()? {
            return Ok(None);
        }
        for file in self.survey(folders)? {
            let name = file.path.file_name().map(|name| name.to_string_lossy().into_owned());
            let name = name.as_deref().unwrap_or_default();
            let stem = name.split_once('.').map_or(name, |(stem, _)| stem);
            let begins = |(at, _): (usize, &str)| {
                stem.get(..at)
                    .is_some_and(|before| !before.ends_with(|last: char| last.is_ascii_alphanumeric()))
            };
            let is_named = stem.ends_with(part) || stem.match_indices(part).any(begins);
            let tombstone = || Tombstone::Transcript(self.session_key(&file.path));
            if is_named && !self.store.tombstones(&[tombstone()])?.is_empty() {
                found.push(file.path);
            }
        }
        if found.len() > 1 {
            let names = found.iter().take(CANDIDATES_MAX).map(|path| path.display().to_string());
            return Err(ambiguous(part, names));
        }
        Ok(found.pop())
    }

    /// Returns the forgotten commit whose id begins so, with its tag or without.
    fn forgotten_commit(&self, text: &str) -> Result<Option<CommitId>> {
        let tag = IdKind::Commit.tag();
        let tagged = if text.starts_with(tag) { text.to_owned() } else { format!("{tag}{text}") };
        let Ok(prefix) = tagged.parse::<CommitPrefix>() else { return Ok(None) };
        if tagged.len() < tag.len() + PREFIX_CHARS_MIN {
            return Ok(None);
        }
        let found = self.store.tombstones_in(prefix, CANDIDATES_MAX + 1)?;
        if found.len() > 1 {
            return Err(ambiguous(text, found.iter().take(CANDIDATES_MAX).map(ToString::to_string)));
        }
        Ok(found.first().copied())
    }
}

fn ambiguous(text: &str, forgotten: impl Iterator<Item = String>) -> EngineError {
    let candidates = forgotten.map(|id| Candidate { id, summary: "forgotten".to_owned() }).collect();
    EngineError::Ambiguous { text: text.to_owned(), candidates }
}
