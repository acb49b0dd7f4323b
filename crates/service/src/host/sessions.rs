//! Which session is meant, and what it knows by now.

use std::path::Path;

use stemmata_api::v1::{FindRequest, Found, Session};
use stemmata_api::{Answer, Chains};

use stemmata_engine::ImportFailure;

use super::Host;
use crate::fault::Fault;
use crate::local::is_path;
use crate::wire;

/// The session that was active last.
#[derive(Debug, Clone)]
pub struct Latest {
    /// The session, as it was known.
    pub session: Session,
    /// Its newest commit, brought up to date.
    pub ctx: String,
    /// Newer ones that no client can continue.
    pub skipped: Vec<Session>,
    /// What was not read on the way, in words.
    pub unread: Vec<String>,
}

impl Host {
    /// Finds the commit that is meant. A session means its newest one, brought up to date first.
    ///
    /// # Errors
    /// Those of [`find`](stemmata_api::Chains::find), and of capture.
    pub fn newest(&self, service: &dyn Chains, request: &FindRequest) -> Answer<Found> {
        let own = || -> Result<Option<Found>, Fault> {
            let engine = self.home.renewed()?;
            let by_path = request.path.as_deref().filter(|_| is_path(&request.text));
            let by_path = by_path.map_or(Ok(None), |path| engine.find_session(path))?;
            let meant = by_path.map_or_else(
                || engine.session_meant(&request.text, request.here.as_deref()),
                |session| Ok(Some(session)),
            )?;
            let Some(session) = meant else { return Ok(None) };
            let ctx = engine.current(&session)?.to_string();
            let session_id = Some(session.session.to_string());
            Ok(Some(Found { ctx, session_id, prompt: None, redirected_from: None }))
        };
        own().map_err(|fault| fault.0)?.map_or_else(|| service.find(request), Ok)
    }

    /// Returns the session that was active last, of all or of a directory, after reading what its clients wrote there since. With
    /// `is_loadable` it is one that its client can go on with: what `run` recorded of a command is passed over.
    ///
    /// # Errors
    /// `no_session`, `no_session_here`, and those of capture.
    pub fn latest(&self, dir: Option<&Path>, is_loadable: bool) -> Answer<Latest> {
        let latest = || -> Result<Latest, Fault> {
            let engine = self.home.renewed()?;
            let mut unread = Vec::new();
            if let Some(dir) = dir {
                unread = self::unread(&engine.catch_up(&self.machine.clients.existing(), dir)?);
            }
            let dir = dir.map(Path::to_string_lossy);
            let (session, skipped) = if is_loadable {
                engine.latest_loadable_session(dir.as_deref())?
            } else {
                (engine.latest_session(dir.as_deref())?, Vec::new())
            };
            let ctx = engine.current(&session)?.to_string();
            let skipped = skipped.iter().map(wire::session::session).collect();
            Ok(Latest { session: wire::session::named(&engine, &session)?, ctx, skipped, unread })
        };
        latest().map_err(|fault| fault.0)
    }
}

/// Returns what was not read, in words.
pub(super) fn unread(failures: &[ImportFailure]) -> Vec<String> {
    let told =
        |failure: &ImportFailure| format!("{} was not read: {}", failure.path.display(), failure.error);
    failures.iter().map(told).collect()
}
