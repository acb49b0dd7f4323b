//! The session that a process belongs to: one answer for `current` and for the trailer of a commit.
//!
//! By the environment, by the client that the process descends from, else by the directory. How far transcripts are read on
//! the way is a matter of who waits: a person, or git, which gets what a hook would give.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use stemmata_api::v1::Named;
use stemmata_api::{Answer, v1};
use stemmata_engine::{
    Candidate, CaptureOptions, Engine, EngineError, Nudged, Streams, Wanted, is_session_there,
};
use stemmata_model::Trigger;
use stemmata_store::{Session, StoreError};

use super::Host;
use super::sessions::{current, unread};
use crate::fault::{Fault, io_failed, problem_of, with_causes};
use crate::local::bad_request;

/// Transcripts of a directory that are read for git at most: beside a session its subagents may be writing.
const READ_HERE_MAX: usize = 4;

/// How far transcripts are read for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// All that is new, also of other sessions of the directory: a person waits.
    All,
    /// As far as a hook reads, and only of the session that it is: git waits. What is more is left to a command.
    Hook,
}

/// A session, and how it was found.
pub(super) struct Found {
    pub(super) session: Session,
    /// Whether this process is known to belong to it, rather than to be in its directory.
    pub(super) is_own: bool,
}

/// Which session is asked for.
#[derive(Debug, Clone)]
pub enum Whose {
    /// The one of an id, a prefix of one, or a path.
    Named(String),
    /// The one that a client told its hook.
    Hook {
        /// Its transcript.
        transcript: Option<PathBuf>,
        /// Its id.
        session_id: Option<String>,
    },
    /// The one that a process belongs to.
    Process(Process),
}

/// A process that may belong to a session.
#[derive(Debug, Clone)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// What its environment names a session by: the variable, and its value.
    pub told: Option<(String, String)>,
}

/// What a session knows right now.
#[derive(Debug, Clone)]
pub struct Current {
    /// Its commit.
    pub named: Named,
    /// What the user should know.
    pub notes: Vec<v1::Note>,
    /// What was not read on the way, in words.
    pub unread: Vec<String>,
}

impl Host {
    /// Commits what a session has produced so far, and returns the commit. `dir` is where it is asked.
    ///
    /// # Errors
    /// `session_not_found`, `no_session_here`, `ambiguous`, `session_empty`, and those of capture.
    pub fn current(&self, whose: &Whose, dir: &Path) -> Answer<Current> {
        let current = || -> Result<Current, Fault> {
            let mut caller = Caller::new(self, dir, Reach::All)?;
            let session = caller.of(whose)?;
            let engine = &caller.engine;
            let ctx = current(&caller.engine, &session, &mut caller.unread)?;
            // It may have been collected since.
            let commit = engine.store().commit(ctx)?.ok_or(StoreError::CommitMissing(ctx))?;
            let sightings = engine.store().sightings(ctx, 1)?;
            let named = Named {
                id: ctx,
                session_id: sightings.first().map(|sighting| sighting.session.clone()),
                closure: commit.closure,
            };
            let notes = engine.note_of_origin(ctx)?;
            Ok(Current { named, notes, unread: caller.unread })
        };
        current().map_err(|fault| fault.0)
    }
}

/// Who asks.
pub(super) struct Caller<'a> {
    host: &'a Host,
    pub(super) engine: Engine,
    dir: &'a Path,
    reach: Reach,
    /// What was not read, in words.
    unread: Vec<String>,
}

impl<'a> Caller<'a> {
    pub(super) fn new(host: &'a Host, dir: &'a Path, reach: Reach) -> Result<Self, Fault> {
        let engine = match reach {
            Reach::All => host.home.renewed()?,
            // Git waits: what was just opened is new enough.
            Reach::Hook => host.home.engine()?.clone(),
        };
        Ok(Self { host, engine, dir, reach, unread: Vec::new() })
    }

    fn of(&mut self, whose: &Whose) -> Result<Session, Fault> {
        match whose {
            Whose::Named(text) => Ok(self.named(text)?.ok_or_else(|| missing(text))?.session),
            Whose::Process(process) => Ok(self.session(process)?.session),
            Whose::Hook { transcript: Some(path), .. } if path.is_file() => self.captured(path),
            Whose::Hook { session_id: Some(id), .. } => {
                Ok(self.named(id)?.ok_or_else(|| missing(id))?.session)
            }
            Whose::Hook { session_id: None, .. } => Err(bad_request(
                "session_id",
                "the hook's input names no session: neither `transcript_path` nor `session_id`",
            )),
        }
    }

    /// Finds the session that a process belongs to. One that the environment names and nobody knows is no reason to take
    /// another one for it: parallel sessions of one directory must not be mixed up.
    pub(super) fn session(&mut self, process: &Process) -> Result<Found, Fault> {
        if let Some((variable, id)) = &process.told {
            let found = self.named(id)?;
            return found.ok_or_else(|| missing(&format!("{id} (from ${variable})")));
        }
        if let Some(session) = self.of_client(process.pid)? {
            return Ok(Found { session, is_own: true });
        }
        Ok(Found { session: self.here()?, is_own: false })
    }

    /// Finds a session by id or path: one that was recorded here, else the transcript on the disk (of this directory, or of a
    /// command under `run`), which is read. One that came in a bundle is a stranger's, whatever it is called: it is taken last,
    /// and never for git, which nobody asked whom it means.
    fn named(&self, text: &str) -> Result<Option<Found>, Fault> {
        let (host, engine) = (self.host, &self.engine);
        let own = |session: Session| Some(Found { session, is_own: true });
        let path: PathBuf = self.dir.join(text).components().collect();
        let by_path = engine.find_recorded_session(&path.to_string_lossy())?;
        let recorded = by_path.map_or_else(|| engine.find_recorded_session(text), |known| Ok(Some(known)))?;
        if let Some(session) = recorded {
            return self.brought_up(session).map(own);
        }
        let stream = host.home.streams().path_of(text);
        if let Some(path) = [stream, path].iter().find(|path| path.is_file()) {
            return self.captured(path).map(own);
        }
        let homes = host.machine.clients.existing();
        if let Some(path) = engine.transcript_of(&homes, self.dir, text) {
            return self.captured(&path).map(own);
        }
        if self.reach == Reach::Hook {
            return Ok(None);
        }
        engine.catch_up(&homes, self.dir)?;
        let found = engine.find_session(text)?;
        found.map_or(Ok(None), |session| {
            let is_own = engine.is_recorded_here(&session.key)?;
            Ok(Some(Found { session, is_own }))
        })
    }

    /// Finds the session of the client that this process descends from, where its hooks said which one that is.
    fn of_client(&self, pid: u32) -> Result<Option<Session>, Fault> {
        let sessions = self.host.home.clients(&self.host.machine.processes).sessions_of(pid);
        match sessions.as_slice() {
            [] => Ok(None),
            [path] if is_session_there(path) => self.captured(path).map(Some),
            [path] => Ok(self.engine.find_recorded_session(&path.to_string_lossy())?),
            several => {
                let candidate = |path: &PathBuf| Candidate {
                    id: path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
                    summary: path.display().to_string(),
                };
                let candidates = several.iter().map(candidate).collect();
                let text = "the session of this client".to_owned();
                Err(EngineError::Ambiguous { text, candidates }.into())
            }
        }
    }

    /// Returns the latest session of the directory.
    fn here(&mut self) -> Result<Session, Fault> {
        let homes = self.host.machine.clients.existing();
        match self.reach {
            Reach::All => {
                self.unread.extend(unread(&self.engine.catch_up(&homes, self.dir)?));
                Ok(self.engine.latest_session(Some(&self.dir.to_string_lossy()))?)
            }
            Reach::Hook => {
                let written = self.engine.written_here(&homes, self.dir)?;
                // The one that was written last is read on; of the others what is known has to do. One that cannot be read
                // is told by the next command.
                let mut read = written.iter().take(READ_HERE_MAX).filter_map(|path| self.captured(path).ok());
                let read = read.find(|read| read.parent_session.is_none());
                let dir = self.dir.to_string_lossy();
                // What `run` recorded of a mere command wrote no commit, if an agent's session is there.
                let latest = match self.engine.latest_loadable_session(Some(&dir), &|_| true) {
                    Err(EngineError::NothingThere { .. }) => self.engine.latest_session(Some(&dir))?,
                    latest => latest?.0,
                };
                if read.is_some_and(|read| read.key == latest.key) {
                    Ok(latest)
                } else {
                    self.brought_up(latest)
                }
            }
        }
    }

    /// Captures what a known session has gained, where only a hook's reach is left for it; a command reads it all when it
    /// asks for the session's commit.
    fn brought_up(&self, session: Session) -> Result<Session, Fault> {
        let path = PathBuf::from(&session.key.path);
        let is_own = session.key.machine == self.engine.identity().machine;
        let reads = self.reach == Reach::Hook && is_own && path.is_absolute() && is_session_there(&path);
        if reads { self.captured(&path) } else { Ok(session) }
    }

    /// Captures a transcript as far as the reach allows, and returns its session.
    fn captured(&self, path: &Path) -> Result<Session, Fault> {
        let (host, engine) = (self.host, &self.engine);
        let here = self.dir.to_string_lossy().into_owned();
        let mut options = CaptureOptions { cwd: Some(here), ..CaptureOptions::live(Trigger::Explicit) };
        if path.starts_with(host.home.run_dir()) {
            options = Streams::capture_options(path, options);
        }
        if self.reach == Reach::All {
            return match engine.capture(path, &options) {
                Ok(captured) => Ok(captured.session),
                // What is stored of it is given back, and what is not is said with its commit.
                Err(error) => {
                    engine.find_recorded_session(&path.to_string_lossy())?.ok_or_else(|| error.into())
                }
            };
        }
        match engine.nudge_own(path, &options) {
            Ok(Nudged::Captured(captured)) => return Ok(captured.session),
            Ok(Nudged::Later(_)) => host.import_in_background(path, false)?,
            Err(error @ (EngineError::HeldBack { .. } | EngineError::NotATranscript { .. })) => {
                return Err(error.into());
            }
            Err(error) => {
                host.leave(path, &with_causes(&problem_of(&error)))?;
            }
        }
        // What is stored of it names the session as well, if not its last words.
        let known = engine.find_recorded_session(&path.to_string_lossy())?;
        known.ok_or_else(|| missing(&path.to_string_lossy()))
    }
}

/// Returns the error for a session that nobody knows.
fn missing(text: &str) -> Fault {
    EngineError::NotFound { what: Wanted::Session, text: text.to_owned() }.into()
}

impl Host {
    /// Leaves a transcript to the next command.
    pub(super) fn leave(&self, path: &Path, reason: &str) -> Result<(), Fault> {
        Ok(self.home.markers().leave(path, reason, self.now().as_micros())?)
    }

    /// Starts an import that outlives this process and the client's signals, and that makes the session's brief where that is
    /// wanted. Until it is through, a marker names the transcript.
    pub(super) fn import_in_background(&self, path: &Path, makes_brief: bool) -> Result<(), Fault> {
        self.leave(path, "an import in the background reads it")?;
        self.start_import(path, makes_brief)
    }

    /// Starts what makes the brief of a session that is stored. Nothing names it: where it dies there is no brief, and what hands
    /// it over says so.
    pub(super) fn start_brief(&self, path: &Path) -> Result<(), Fault> {
        self.start_import(path, true)
    }

    fn start_import(&self, path: &Path, makes_brief: bool) -> Result<(), Fault> {
        let Some(program) = &self.machine.program else { return Ok(()) };
        let mut import = Command::new(program);
        // Any command takes what hooks left first; this one does nothing else.
        import.args(["import", "--quiet"]).args(makes_brief.then_some("--brief")).arg(path);
        import.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // What ends the caller's group leaves it alone.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut import, 0);
        import.spawn().map(drop).map_err(|source| io_failed("start", program, &source))
    }
}
