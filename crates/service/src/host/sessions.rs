//! Which session is meant, and what it knows by now.

use std::path::Path;

use stemmata_api::v1::{FindRequest, Found, Session, UnforgetRequest, Unforgotten};
use stemmata_api::{Answer, Chains, Control, Maintain};

use stemmata_engine::{Engine, EngineError, ImportFailure};
use stemmata_model::CommitId;

use super::Host;
use super::place::place_of;
use crate::alike;
use crate::fault::Fault;
use crate::local::is_path;
use crate::wire;

/// The session that was active last.
#[derive(Debug, Clone)]
pub struct Latest {
    /// The session, as it was known.
    pub session: Session,
    /// Its newest commit, brought up to date.
    pub ctx: CommitId,
    /// Newer ones that no client can continue.
    pub skipped: Vec<Session>,
    /// What was not read on the way, in words.
    pub unread: Vec<String>,
}

/// What a reference means, brought up to date.
#[derive(Debug, Clone)]
pub struct Newest {
    /// The commit, and the session or prompt that was named.
    pub found: Found,
    /// What was not read on the way, in words.
    pub unread: Vec<String>,
}

impl Host {
    /// Reads what clients wrote since it was last asked: the latest sessions of a directory, or of all directories. Returns what was not
    /// read, in words. What is known and unchanged is not read again.
    ///
    /// # Errors
    /// `io_failed` where a client's folder cannot be listed, and those of the store.
    pub fn catch_up(&self, dir: Option<&Path>) -> Answer<Vec<String>> {
        self.with_engine(|engine| self.caught_up(engine, dir))
    }

    fn caught_up(&self, engine: &Engine, dir: Option<&Path>) -> Result<Vec<String>, Fault> {
        let homes = self.machine.clients.existing();
        Ok(unread(&match dir {
            Some(dir) => engine.catch_up(&homes, dir)?,
            None => engine.catch_up_everywhere(&homes),
        }))
    }

    /// Returns whether a client wrote something to a session's transcript that was not read yet.
    pub fn has_unread(&self, session: &Session) -> bool {
        std::fs::metadata(&session.path).is_ok_and(|file| file.is_file() && file.len() != session.bytes)
    }

    /// Takes a forgetting back. A part of a session's id means the forgotten transcript of that name that a client of this machine
    /// still has.
    ///
    /// # Errors
    /// `ambiguous` where several have such a name, and those of [`unforget`](stemmata_api::Maintain::unforget).
    pub fn unforget(
        &self,
        service: &dyn Maintain,
        request: &UnforgetRequest,
        control: &Control<'_>,
    ) -> Answer<Unforgotten> {
        let folders = self.clients_folders();
        let transcript =
            self.with_engine(|engine| Ok(engine.forgotten_transcript(&folders, &request.reference)?))?;
        match transcript {
            None => service.unforget(request, control),
            Some(path) => {
                service.unforget(&UnforgetRequest { reference: path.to_string_lossy().into_owned() }, control)
            }
        }
    }

    /// Finds the commit that is meant. A session means its newest one, brought up to date first. `@` counts sessions of the
    /// directory from the newest, so those that were never imported are read first.
    ///
    /// # Errors
    /// Those of [`find`](stemmata_api::Chains::find), and of capture.
    pub fn newest(&self, service: &dyn Chains, request: &FindRequest) -> Answer<Newest> {
        let here = request.here.as_deref().filter(|_| request.text.starts_with('@'));
        let mut unread = here.map_or(Ok(Vec::new()), |here| self.catch_up(Some(Path::new(here))))?;
        let mut own = || -> Result<Option<Found>, Fault> {
            let engine = self.home.renewed()?;
            let by_path = request.path.as_deref().filter(|_| is_path(&request.text));
            let by_path = by_path.map_or(Ok(None), |path| engine.find_session(path))?;
            let meant = || match &by_path {
                None => engine.session_meant(&request.text, request.here.as_deref()),
                Some(session) => Ok(Some(session.clone())),
            };
            let Some(mut session) = meant()? else { return Ok(None) };
            // A client may have gone on with what is left of a transcript that was cut.
            if let Some(left) = engine.left_of(&session)? {
                current(&engine, &left, &mut unread)?;
                session = meant()?.unwrap_or(session);
            }
            let mut ctx = current(&engine, &session, &mut unread)?;
            // What was read now may be what is left of it.
            if let Some(whole) = meant()?.filter(|whole| whole.key != session.key) {
                ctx = current(&engine, &whole, &mut unread)?;
                session = whole;
            }
            let cut = wire::session::cut(&engine, &session)?;
            let session_id = Some(session.session);
            Ok(Some(Found { ctx, session_id, prompt: None, range: None, cut, redirected_from: None }))
        };
        let found = own().map_err(|fault| fault.0)?.map_or_else(|| service.find(request), Ok)?;
        Ok(Newest { found, unread })
    }

    /// Returns the session that was active last, of all or of a directory, after reading what its clients wrote there since. With
    /// `is_loadable` it is one that its client can go on with, if possible an installed one: what `run` recorded of a command is
    /// passed over.
    ///
    /// # Errors
    /// `no_session`, `no_session_here`, and those of capture.
    pub fn latest(&self, dir: Option<&Path>, is_loadable: bool) -> Answer<Latest> {
        let latest = || -> Result<Latest, Fault> {
            let engine = self.home.renewed()?;
            let mut unread = self.caught_up(&engine, dir)?;
            let dir = dir.map(Path::to_string_lossy);
            let is_installed = |runtime: &str| {
                place_of(runtime).is_ok_and(|client| self.has_program(client.program).is_ok())
            };
            let (session, skipped) = if is_loadable {
                match engine.latest_loadable_session(dir.as_deref(), &is_installed) {
                    // Where no client is installed, resuming says which one is missing.
                    Err(EngineError::NothingThere { .. }) => {
                        engine.latest_loadable_session(dir.as_deref(), &|_| true)?
                    }
                    latest => latest?,
                }
            } else {
                (engine.latest_session(dir.as_deref())?, Vec::new())
            };
            let ctx = current(&engine, &session, &mut unread)?;
            let skipped = skipped.iter().map(wire::session::session).collect();
            Ok(Latest { session: wire::session::named(&engine, &session)?, ctx, skipped, unread })
        };
        latest().map_err(|fault| fault.0)
    }
}

/// Returns the newest commit of a session, and adds what was not read, in words.
pub(super) fn current(
    engine: &Engine,
    session: &stemmata_store::Session,
    unread: &mut Vec<String>,
) -> Result<CommitId, Fault> {
    let (ctx, failure) = engine.current_or_stored(session)?;
    let said = self::unread(failure.as_slice());
    unread.extend(said.into_iter().filter(|said| !unread.contains(said)).collect::<Vec<_>>());
    Ok(ctx)
}

/// Returns what was not read, in words.
pub(super) fn unread(failures: &[ImportFailure]) -> Vec<String> {
    let kinds = alike(failures, |failure| (failure.path.display().to_string(), failure.error.to_string()));
    let told = |(failure, others): (&ImportFailure, usize)| {
        let what = match others {
            0 => "was not read".to_owned(),
            1 => "and 1 other file were not read".to_owned(),
            others => format!("and {others} other files were not read"),
        };
        format!("{} {what}: {}", failure.path.display(), failure.error)
    };
    kinds.into_iter().map(told).collect()
}
