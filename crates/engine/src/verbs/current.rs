//! `current`: what a session knows right now, as a commit.

use std::path::Path;

use stemmata_model::{CommitId, Trigger};
use stemmata_store::{Page, Session, SessionFilter};

use crate::capture::kept::is_session_there;
use crate::capture::transcript::CaptureOptions;
use crate::engine::Engine;
use crate::error::{EngineError, Result};

/// What is missing where nobody worked in a directory.
pub const SESSION_BELOW: &str = "session that worked in or below";

/// What is missing where nothing was captured yet.
pub const SESSION_AT_ALL: &str = "session yet";

impl Engine {
    /// Commits what a session has produced so far (provisional where the turn is open) and returns the commit.
    ///
    /// # Errors
    /// `NotFound` for a session that has no commit yet, capture errors.
    pub fn current(&self, session: &Session) -> Result<CommitId> {
        let path = Path::new(&session.key.path);
        if session.key.machine == self.identity.machine && path.is_absolute() && is_session_there(path) {
            let captured = self.capture(path, &CaptureOptions::live(Trigger::Explicit))?;
            return tip(&captured.session);
        }
        tip(session)
    }

    /// Returns the session of a working directory that was active last.
    ///
    /// # Errors
    /// `NotFound` when none worked there.
    pub fn latest_session(&self, cwd: Option<&str>) -> Result<Session> {
        let filter =
            SessionFilter { project: cwd.map(str::to_owned), main_only: true, ..SessionFilter::default() };
        let sessions = self.store.sessions(&filter, Page { skip: 0, rows_max: 1 })?;
        sessions.into_iter().next().ok_or_else(|| match cwd {
            Some(cwd) => EngineError::NothingThere { what: SESSION_BELOW, place: cwd.to_owned() },
            None => EngineError::NothingThere { what: SESSION_AT_ALL, place: "in this store".to_owned() },
        })
    }
}

fn tip(session: &Session) -> Result<CommitId> {
    session
        .tip
        .ok_or_else(|| EngineError::NotFound { what: "commit of session", text: session.session.to_string() })
}
