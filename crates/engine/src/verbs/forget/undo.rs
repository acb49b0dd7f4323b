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

    /// Returns the transcripts below these folders that were forgotten and whose names hold an id that begins or ends so. Of a
    /// forgotten session the store keeps no name, so only what its client still has can be found by a part of it.
    ///
    /// # Errors
    /// Store errors.
    pub fn forgotten_transcripts(&self, folders: &[PathBuf], part: &str) -> Result<Vec<PathBuf>> {
        let mut found = Vec::new();
        if part.chars().count() < PREFIX_CHARS_MIN || !self.store.has_tombstones()? {
            return Ok(found);
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
        Ok(found)
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
            let candidate = |id: &CommitId| Candidate { id: id.to_string(), summary: "forgotten".to_owned() };
            let candidates = found.iter().take(CANDIDATES_MAX).map(candidate).collect();
            return Err(EngineError::Ambiguous { text: text.to_owned(), candidates });
        }
        Ok(found.first().copied())
    }
}
