//! Finds the commit that a person means: by id, prefix, session, tag or transcript.

use std::ops::ControlFlow;
use std::path::Path;

use stemmata_model::{CommitId, CommitPrefix, IdKind, PREFIX_CHARS_MIN};
use stemmata_store::{Session, SessionFilter};

use crate::engine::Engine;
use crate::error::{Candidate, EngineError, Result, Wanted};

/// Candidates that an ambiguous name lists at most.
pub const CANDIDATES_MAX: usize = 10;

impl Engine {
    /// Finds a commit by `ctx-…` or a prefix of it (with or without the tag), by the id of a session or a prefix
    /// of it (its newest commit), by a tag, or by the path of an imported transcript.
    ///
    /// # Errors
    /// `NotFound` when nothing goes by the name, `Ambiguous` with up to ten candidates when several things do.
    pub fn find(&self, text: &str) -> Result<CommitId> {
        if text.starts_with(IdKind::Commit.tag()) {
            let prefix: CommitPrefix = text
                .parse()
                .map_err(|_| EngineError::NotFound { what: Wanted::Commit, text: text.to_owned() })?;
            let found = self.store.commits_in(prefix, CANDIDATES_MAX + 1)?;
            let found = if found.is_empty() { self.redirected_to(text)? } else { found };
            return self.only(text, &found);
        }
        let tagged = self.store.tagged(text, CANDIDATES_MAX + 1)?;
        if !tagged.is_empty() {
            return self.only(text, &tagged);
        }
        if let Some(session) = self.find_session(text)? {
            return session.tip.ok_or_else(|| EngineError::NotFound {
                what: Wanted::CommitOfSession,
                text: text.to_owned(),
            });
        }
        if let Ok(prefix) = format!("{}{text}", IdKind::Commit.tag()).parse::<CommitPrefix>() {
            let commits = self.store.commits_in(prefix, CANDIDATES_MAX + 1)?;
            if !commits.is_empty() {
                return self.only(text, &commits);
            }
            let scrubbed = self.redirected_to(text)?;
            if !scrubbed.is_empty() {
                return self.only(text, &scrubbed);
            }
        }
        Err(EngineError::NotFound { what: Wanted::Reference, text: text.to_owned() })
    }

    /// Finds the session that a reference means. Returns `None` where it is the id of a commit or a tag, which come first.
    ///
    /// # Errors
    /// As for [`Engine::find_session`].
    pub fn session_meant(&self, text: &str) -> Result<Option<Session>> {
        let is_commit = text.starts_with(IdKind::Commit.tag()) || !self.store.tagged(text, 1)?.is_empty();
        if is_commit { Ok(None) } else { self.find_session(text) }
    }

    /// Finds a session by its id, by the first characters of its id (at least four) or by the path of its transcript. A session with
    /// exactly this id wins over those whose id begins with it. A session that was recorded in this store wins over those that came
    /// in bundles.
    ///
    /// # Errors
    /// `Ambiguous` when several sessions go by the name.
    pub fn find_session(&self, text: &str) -> Result<Option<Session>> {
        self.session_named(text, false)
    }

    /// Finds a session as [`Engine::find_session`] does, of those that were recorded in this store: anybody may have written
    /// the name of somebody's session into a bundle.
    ///
    /// # Errors
    /// As for [`Engine::find_session`].
    pub fn find_recorded_session(&self, text: &str) -> Result<Option<Session>> {
        self.session_named(text, true)
    }

    fn session_named(&self, text: &str, only_recorded: bool) -> Result<Option<Session>> {
        if let Some(session) = self.store.session(&self.session_key(Path::new(text)))? {
            return Ok(Some(session));
        }
        if text.is_empty() {
            return Ok(None);
        }
        // The beginning of a name has four characters at least; a whole name may be shorter.
        let is_whole = text.len() < PREFIX_CHARS_MIN;
        let filter = SessionFilter { session_prefix: Some(text.to_owned()), ..SessionFilter::default() };
        let (mut sessions, mut best) = (Vec::<Session>::new(), (false, false));
        self.each_session(&filter, &mut |session, is_recorded| {
            if (only_recorded && !is_recorded) || (is_whole && session.session.as_str() != text) {
                return ControlFlow::Continue(());
            }
            let rank = (session.session.as_str() == text, is_recorded);
            if rank > best {
                sessions.clear();
                best = rank;
            }
            if rank == best && sessions.len() <= CANDIDATES_MAX {
                sessions.push(session);
            }
            // What was recorded here is not hidden by what a bundle brought, nor a whole id by what begins with it.
            let is_enough = best == (true, true) && sessions.len() > CANDIDATES_MAX;
            if is_enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        // The same session under several paths with one tip is one thing to the user.
        sessions.dedup_by(|left, right| left.session == right.session && left.tip == right.tip);
        if sessions.len() > 1 {
            let candidates = sessions.iter().take(CANDIDATES_MAX).map(|session| Candidate {
                id: session.tip.map_or_else(|| session.session.to_string(), |tip| tip.to_string()),
                summary: format!("{} ({})", session.title.as_deref().unwrap_or("untitled"), session.key.path),
            });
            return Err(EngineError::Ambiguous { text: text.to_owned(), candidates: candidates.collect() });
        }
        Ok(sessions.pop())
    }

    fn only(&self, text: &str, commits: &[CommitId]) -> Result<CommitId> {
        match commits {
            [] => Err(EngineError::NotFound { what: Wanted::Commit, text: text.to_owned() }),
            [only] => Ok(*only),
            several => {
                let mut candidates = Vec::new();
                for id in several.iter().take(CANDIDATES_MAX) {
                    candidates.push(Candidate { id: id.to_string(), summary: self.summary_of(*id)?.text });
                }
                Err(EngineError::Ambiguous { text: text.to_owned(), candidates })
            }
        }
    }
}
