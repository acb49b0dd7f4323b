//! The session that this process belongs to: one answer for `current` and for the trailer of a commit.
//!
//! By the environment, by the client that the process descends from, else by the directory. How far transcripts are read on
//! the way is a matter of who waits: a person, or git, which gets what a hook would give.

use std::path::{Path, PathBuf};

use stemmata_engine::{
    Candidate, CaptureOptions, Engine, EngineError, Nudged, Streams, Wanted, is_session_there,
};
use stemmata_model::Trigger;
use stemmata_store::Session;

use crate::commands::hook;
use crate::commands::run::SESSION_VARIABLE;
use crate::errors::{CliError, with_causes};
use crate::wiring::App;

/// What clients call their session in the environment of what they run, after our own variable.
pub(crate) const SESSION_VARIABLES: &[&str] = &[
    SESSION_VARIABLE,
    "CLAUDE_CODE_SESSION_ID",
    "CODEX_THREAD_ID",
    "GEMINI_CLI_SESSION_ID",
    "GEMINI_SESSION_ID",
    "OPENCODE_SESSION_ID",
];

/// Where the system lists processes.
pub(crate) const PROCESSES: &str = "/proc";

/// Transcripts of a directory that are read for git at most: beside a session its subagents may be writing.
const READ_HERE_MAX: usize = 4;

/// How far transcripts are read for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// All that is new, also of other sessions of the directory: a person waits.
    All,
    /// As far as a hook reads, and only of the session that it is: git waits. What is more is left to a command.
    Hook,
}

/// A session, and how it was found.
pub(crate) struct Found {
    pub(crate) session: Session,
    /// Whether this process is known to belong to it, rather than to be in its directory.
    pub(crate) is_own: bool,
}

/// Who asks.
pub(crate) struct Caller<'a> {
    pub(crate) app: &'a App,
    pub(crate) engine: &'a Engine,
    pub(crate) reach: Reach,
}

impl Caller<'_> {
    /// Finds the session that this process belongs to. One that the environment names and nobody knows is no reason to take
    /// another one for it: parallel sessions of one directory must not be mixed up.
    pub(crate) fn session(&self) -> Result<Found, CliError> {
        let environment = &self.app.environment;
        let told = SESSION_VARIABLES.iter().find_map(|name| Some((*name, environment.text(name)?)));
        if let Some((variable, id)) = told {
            let found = self.named(&id)?;
            return found.ok_or_else(|| missing(&format!("{id} (from ${variable})")));
        }
        if let Some(session) = self.of_client()? {
            return Ok(Found { session, is_own: true });
        }
        Ok(Found { session: self.here()?, is_own: false })
    }

    /// Finds a session by id or path: one that was recorded here, else the transcript on the disk (of this directory, or of a
    /// command under `run`), which is read. One that came in a bundle is a stranger's, whatever it is called: it is taken last,
    /// and never for git, which nobody asked whom it means.
    pub(crate) fn named(&self, text: &str) -> Result<Option<Found>, CliError> {
        let (app, engine) = (self.app, self.engine);
        let own = |session: Session| Some(Found { session, is_own: true });
        let path = app.environment.absolute(Path::new(text));
        let by_path = engine.find_recorded_session(&path.to_string_lossy())?;
        let recorded = by_path.map_or_else(|| engine.find_recorded_session(text), |known| Ok(Some(known)))?;
        if let Some(session) = recorded {
            return self.brought_up(session).map(own);
        }
        let stream = app.home()?.streams().path_of(text);
        if let Some(path) = [stream, path].iter().find(|path| path.is_file()) {
            return self.captured(path).map(own);
        }
        let (homes, here) = (app.homes().existing(), &app.environment.current_dir);
        if let Some(path) = engine.transcript_of(&homes, here, text) {
            return self.captured(&path).map(own);
        }
        if self.reach == Reach::Hook {
            return Ok(None);
        }
        engine.catch_up(&homes, here)?;
        let found = engine.find_session(text)?;
        found.map_or(Ok(None), |session| {
            let is_own = engine.is_recorded_here(&session.key)?;
            Ok(Some(Found { session, is_own }))
        })
    }

    /// Finds the session of the client that this process descends from, where its hooks said which one that is.
    fn of_client(&self) -> Result<Option<Session>, CliError> {
        let clients = self.app.home()?.clients(Path::new(PROCESSES));
        let sessions = clients.sessions_of(std::process::id());
        match sessions.as_slice() {
            [] => Ok(None),
            [path] if is_session_there(path) => self.captured(path).map(Some),
            [path] => Ok(self.engine.find_recorded_session(&path.to_string_lossy())?),
            several => {
                let candidate = |path: &PathBuf| Candidate {
                    id: path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
                    summary: self.app.environment.shown(path),
                };
                let candidates = several.iter().map(candidate).collect();
                let text = "the session of this client".to_owned();
                Err(CliError::Engine(EngineError::Ambiguous { text, candidates }))
            }
        }
    }

    /// Returns the latest session of the directory.
    fn here(&self) -> Result<Session, CliError> {
        match self.reach {
            Reach::All => self.app.session_here(),
            Reach::Hook => {
                let here = &self.app.environment.current_dir;
                let written = self.engine.written_here(&self.app.homes().existing(), here)?;
                // The one that was written last is read on; of the others what is known has to do.
                let is_main =
                    |path: &PathBuf| self.captured(path).is_ok_and(|read| read.parent_session.is_none());
                let _read = written.iter().take(READ_HERE_MAX).find(|path| is_main(path));
                self.brought_up(self.engine.latest_session(Some(&here.to_string_lossy()))?)
            }
        }
    }

    /// Captures what a known session has gained, where only a hook's reach is left for it; a command reads it all when it
    /// asks for the session's commit.
    fn brought_up(&self, session: Session) -> Result<Session, CliError> {
        let path = PathBuf::from(&session.key.path);
        let is_own = session.key.machine == self.engine.identity().machine;
        let reads = self.reach == Reach::Hook && is_own && path.is_absolute() && is_session_there(&path);
        if reads { self.captured(&path) } else { Ok(session) }
    }

    /// Captures a transcript as far as the reach allows, and returns its session.
    pub(crate) fn captured(&self, path: &Path) -> Result<Session, CliError> {
        let (app, engine) = (self.app, self.engine);
        let here = app.environment.current_dir.to_string_lossy().into_owned();
        let format = path.starts_with(app.home()?.run_dir()).then(|| Streams::format_of(path)).flatten();
        let cwd = Streams::cwd_of(path).or(Some(here));
        let options = CaptureOptions { cwd, format, ..CaptureOptions::live(Trigger::Explicit) };
        if self.reach == Reach::All {
            return Ok(engine.capture(path, &options)?.session);
        }
        match engine.nudge_own(path, &options) {
            Ok(Nudged::Captured(captured)) => return Ok(captured.session),
            Ok(Nudged::Later(_)) => hook::import_in_background(app, path)?,
            Err(error @ (EngineError::HeldBack { .. } | EngineError::NotATranscript { .. })) => {
                return Err(error.into());
            }
            Err(error) => hook::leave(app, path, &with_causes(&CliError::from(error)))?,
        }
        // What is stored of it names the session as well, if not its last words.
        let known = engine.find_recorded_session(&path.to_string_lossy())?;
        known.ok_or_else(|| missing(&path.to_string_lossy()))
    }
}

/// Returns the error for a session that nobody knows.
pub(crate) fn missing(text: &str) -> CliError {
    CliError::Engine(EngineError::NotFound { what: Wanted::Session, text: text.to_owned() })
}
