//! Whether a client's own session can be resumed as it is, in place of a copy.
//!
//! Only where nothing could be lost or mixed up: the commit is the newest state of the session, the client's file holds exactly
//! what was read of it, and the client would load that. Whether a client has it open is asked elsewhere (`home::holders`).

use std::path::{Path, PathBuf};

use stemmata_model::{CommitId, SessionId};
use stemmata_runtimes::adapter::PlaceRequest;
use stemmata_runtimes::clients::{Resume, by_id};
use stemmata_runtimes::translate::runtime_of;
use stemmata_store::{Session, SessionKey};

use crate::capture::cursor::Cursor;
use crate::capture::homes::RuntimeHome;
use crate::capture::kept::is_session_there;
use crate::capture::source::file_of;
use crate::capture::transcript_file::Transcript;
use crate::engine::Engine;
use crate::error::{FormatUse, Result};

/// Sightings of a commit that are followed to a session of the client.
const SIGHTINGS_MAX: usize = 64;

/// A client's own session, unchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnSession {
    /// Its id.
    pub session: SessionId,
    /// Its transcript.
    pub path: PathBuf,
    /// Bytes of that.
    pub bytes: u64,
    /// Messages that the client will send.
    pub messages: u64,
    /// The client's own command line that resumes it.
    pub resume_command: Vec<String>,
    /// For one that was placed and not used since: the directory that it was placed for.
    pub placed_for: Option<PathBuf>,
}

/// Why a client's own session is not resumed as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotResumed {
    /// It was recorded from no session of this client on this machine.
    #[error("this machine has no session of the client with it")]
    NoSession,
    /// The session continues after it.
    #[error("the session continues after it")]
    Continued,
    /// The transcript is gone.
    #[error("the client's own transcript is gone")]
    Gone,
    /// The transcript is somewhere else.
    #[error("its transcript is not where the client looks")]
    Elsewhere,
    /// The transcript holds something that was not read.
    #[error("its transcript has changed")]
    Changed,
    /// The client would not load it.
    #[error("the client would not load its own transcript completely")]
    NotLoadable,
    /// The client may delete what it resumes.
    #[error("{0} may delete a session that it resumes")]
    Deleted(&'static str),
}

impl Engine {
    /// Returns the client's own session whose newest state a commit is. `session` is the one that was named, if one was;
    /// `version` the client's, where that is known.
    ///
    /// # Errors
    /// Capture and store errors.
    pub fn own_session(
        &self,
        ctx: CommitId,
        session: Option<&str>,
        (home, version): (&RuntimeHome, Option<&str>),
    ) -> Result<std::result::Result<OwnSession, NotResumed>> {
        let mut why = NotResumed::NoSession;
        for session in self.sessions_with(ctx, session)? {
            if session.parent_session.is_some() || runtime_of(&session.format) != home.runtime {
                continue;
            }
            match self.resumable(ctx, &session, (home, version))? {
                Ok(own) => return Ok(Ok(own)),
                Err(reason) => why = reason,
            }
        }
        Ok(Err(why))
    }

    /// Returns the sessions of this machine that a commit may be the newest state of, the one that was named first.
    fn sessions_with(&self, ctx: CommitId, named: Option<&str>) -> Result<Vec<Session>> {
        let machine = &self.identity.machine;
        let mut found: Vec<Session> = Vec::new();
        if let Some(named) = named {
            found.extend(self.find_session(named)?.filter(|session| session.key.machine == *machine));
        }
        for sighting in self.store.sightings(ctx, SIGHTINGS_MAX)? {
            let Some(source) = sighting.source.filter(|_| sighting.machine == *machine) else { continue };
            let key = SessionKey { machine: sighting.machine, path: source.path };
            if found.iter().all(|known| known.key != key) {
                found.extend(self.store.session(&key)?);
            }
        }
        Ok(found)
    }

    fn resumable(
        &self,
        ctx: CommitId,
        session: &Session,
        (home, version): (&RuntimeHome, Option<&str>),
    ) -> Result<std::result::Result<OwnSession, NotResumed>> {
        let path = &file_of(Path::new(&session.key.path));
        if !path.is_absolute() || !is_session_there(path) {
            return Ok(Err(NotResumed::Gone));
        }
        let client = by_id(home.runtime);
        let resume = client.and_then(|client| client.resume);
        if !is_where_client_looks((session, path), home, resume) {
            return Ok(Err(NotResumed::Elsewhere));
        }
        if let Some(client) = client.filter(|_| resume.is_some_and(|resume| resume.may_delete)) {
            return Ok(Err(NotResumed::Deleted(client.shown)));
        }
        if self.current(session)? != ctx {
            return Ok(Err(NotResumed::Continued));
        }
        let stamp = Transcript::open_whole(path)?.stamp();
        let cursor = self.store.cursor(&session.key)?.and_then(|bytes| Cursor::decode(&bytes));
        if !cursor.is_some_and(|cursor| cursor.stamp == stamp && cursor.seen_bytes == stamp.length) {
            return Ok(Err(NotResumed::Changed));
        }
        let found = Self::doctor(path, &|_| version.map(str::to_owned))?;
        if found.loses() {
            return Ok(Err(NotResumed::NotLoadable));
        }
        let request = PlaceRequest {
            session: session.session.clone(),
            cwd: session.cwd.clone().unwrap_or_default(),
            origin_cwd: None,
            client_version: None,
            at: self.clock.now(),
            seed: [0; 32],
        };
        let place = Self::adapter(&session.format, FormatUse::Write)?.client_place(&request);
        Ok(Ok(OwnSession {
            session: session.session.clone(),
            path: path.to_owned(),
            bytes: stamp.length,
            messages: found.validation.messages_sent,
            resume_command: place.resume_command,
            placed_for: session.cwd.as_ref().filter(|_| session.is_unused()).map(PathBuf::from),
        }))
    }
}

/// Returns whether the client finds a session by its id: an archive and a copy elsewhere it does not. What it compressed itself it
/// reads (Codex 0.169.0).
fn is_where_client_looks(
    (session, path): (&Session, &Path),
    home: &RuntimeHome,
    resume: Option<&Resume>,
) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let is_below = real(path).starts_with(real(&home.transcripts));
    let needs_name = resume.is_some_and(|resume| resume.finds_by_name);
    let is_named = !needs_name || path.file_stem() == Some(session.session.as_str().as_ref());
    is_below && is_named
}
