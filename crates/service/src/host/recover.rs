//! `recover`: gives a session's transcript back to its client.
//!
//! What it held is the engine's to find; here it gets a name, so that an interruption leaves either the old file or the new one.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use stemmata_api::{Answer, Code, Problem, v1};
use stemmata_engine::{
    BetterState, CaptureOptions, Engine, Holding, Home, JudgedBy, RECOVERED, RecoveredCopy, TranscriptState,
    beside, clients, create_private, is_session_kept, is_session_there, runtime_of, transcript_of,
};
use stemmata_model::{FormatId, Trigger};
use stemmata_store::{Files as _, Session, SystemFiles};

use super::Host;
use super::files::NamedFile;
use super::own::held;
use super::sidecars::recover_sidecars;
use crate::fault::{Fault, io_failed};
use crate::wire;

/// Damaged files that are kept within one second at most.
const KEPT_MAX: u32 = 1_000;

/// Asks to give a session's transcript back.
#[derive(Debug, Clone)]
pub struct RecoverRequest {
    /// The session, or its transcript.
    pub session: NamedFile,
    /// Put it in the place of a damaged transcript, which is kept beside it; else it goes beside that.
    pub replace: bool,
    /// Check everything, and write nothing.
    pub dry_run: bool,
}

impl Host {
    /// Gives a session's transcript back as the store has it, and those of its subagents that are gone: to the client's own
    /// place where nothing is there, else beside it or in its place. A transcript that is intact is left alone.
    ///
    /// # Errors
    /// `session_not_found`, `ambiguous`, `not_recoverable`, `session_open`, `session_maybe_open`, `io_failed`.
    pub fn recover(&self, request: &RecoverRequest) -> Answer<v1::Recovered> {
        self.with(|home| {
            let engine = home.engine()?;
            engine.take_in_moved(&self.machine.clients.existing())?;
            let session = session_of(engine, &request.session)?;
            let mut files = vec![self.given_back(engine, &session, request)?];
            let (sidecars, given) = recover_sidecars(engine, &session, request.dry_run)?;
            for subagent in engine.belonging_to(&session)?.iter().filter(|own| !own.is_sidecar()) {
                let is_here = subagent.key.machine == session.key.machine;
                // One that is there is not what was asked for.
                if is_here && !is_session_there(Path::new(&subagent.key.path)) {
                    files.push(self.given_back(engine, subagent, request)?);
                }
            }
            files.extend(sidecars);
            let notes = given.notes();
            Ok(v1::Recovered { session_id: session.session.clone(), dry_run: request.dry_run, files, notes })
        })
    }

    /// Returns the sessions of this machine whose transcripts are gone, the one with the latest activity first.
    ///
    /// # Errors
    /// Those of the store.
    pub fn only_here(&self) -> Answer<v1::SessionPage> {
        self.with(|home| {
            let engine = home.engine()?;
            let sessions = engine.take_in_moved(&self.machine.clients.existing())?;
            let sessions = sessions.iter().map(|session| wire::session::named(engine, session));
            let sessions = sessions.collect::<Result<_, _>>()?;
            Ok(v1::SessionPage { sessions, next: None })
        })
    }

    fn given_back(
        &self,
        engine: &Engine,
        session: &Session,
        request: &RecoverRequest,
    ) -> Result<v1::RecoveredFile, Fault> {
        let path = transcript_of(session);
        refuse_elsewhere(engine, session, path)?;
        let folder = path.parent().unwrap_or(path);
        // A check needs no folder of the client's.
        let scratch = self.home.cache_dir();
        let judged_by = |format: &FormatId| self.judged_by(format, None);
        let mut checked = engine.recovered(session, &scratch, &judged_by)?;
        let mut state = Engine::transcript_state(path, &checked, &judged_by)?;
        // What is there loads, and took the place of something else.
        let lost = match state {
            TranscriptState::Intact | TranscriptState::Lossy(_) => {
                engine.lost_state(session, &scratch, &judged_by)?
            }
            TranscriptState::Gone | TranscriptState::Damaged(_) | TranscriptState::Shortened(_) => None,
        };
        if let Some(lost) = lost {
            checked = engine.recovered_at((session, lost.ctx), &scratch, &judged_by)?;
            state = TranscriptState::Damaged(lost.why);
        }
        let target = match &state {
            TranscriptState::Gone => path.to_owned(),
            TranscriptState::Damaged(_) | TranscriptState::Shortened(_) if request.replace => path.to_owned(),
            TranscriptState::Damaged(_) | TranscriptState::Shortened(_) => {
                let (target, is_there) = name_beside(path, &checked.file.path())?;
                if is_there {
                    let damage = state.why().map(str::to_owned);
                    return Ok(v1::RecoveredFile { damage, ..told(&checked, &target, "beside") });
                }
                target
            }
            TranscriptState::Intact => return Ok(told(&checked, path, "intact")),
            TranscriptState::Lossy(why) => return Err(nothing_better(session, path, why)),
        };
        let what = match (&state, request.replace) {
            (TranscriptState::Damaged(_) | TranscriptState::Shortened(_), true) => "replaced",
            (TranscriptState::Damaged(_) | TranscriptState::Shortened(_), false) => "beside",
            _ => "written",
        };
        let damage = state.why().map(str::to_owned);
        if request.dry_run {
            return Ok(v1::RecoveredFile { damage, ..told(&checked, &target, what) });
        }
        if what == "replaced" {
            self.refuse_open(session, path)?;
        }
        create_private(folder)?;
        let at = (session, checked.ctx);
        let copy = engine.recovered_at(at, folder, &judged_by)?;
        let mut written = v1::RecoveredFile { damage, ..told(&copy, &target, what) };
        if what == "replaced" {
            written.kept = Some(keep(self, path)?.to_string_lossy().into_owned());
        }
        put(copy, &target, what == "replaced")?;
        SystemFiles.sync_directory(folder).map_err(|source| io_failed("sync", folder, &source))?;
        if target == path {
            // Until that is read the session would be one whose transcript is another.
            engine.capture(path, &CaptureOptions::live(Trigger::Explicit))?;
        }
        // What was recovered beside it before is the same session twice for its client. It goes last: until here it may be the only
        // copy that lasts.
        if what == "replaced"
            && let (beside, true) = name_beside(path, path)?
        {
            std::fs::remove_file(&beside).map_err(|source| io_failed("remove", &beside, &source))?;
        }
        Ok(written)
    }

    /// Refuses to replace what a client writes to.
    fn refuse_open(&self, session: &Session, path: &Path) -> Result<(), Fault> {
        let Some(client) = clients::local(runtime_of(&session.format)) else { return Ok(()) };
        let cwd = session.cwd.as_deref().map(Path::new);
        let config_dir = self.config_dir(client)?;
        let held = held(client, (session.session.as_str(), path), (cwd, &config_dir));
        match self.home.clients(&self.machine.processes).holding(&held) {
            Holding::Free => Ok(()),
            Holding::Held(pid) => {
                let detail = format!("{} has the session open (process {pid})", client.shown);
                Err(Problem::new(Code::SessionOpen, detail).with("pid", pid).into())
            }
            Holding::Unknown => {
                let detail =
                    format!("this system does not say whether {} has the session open", client.shown);
                Err(Problem::new(Code::SessionMaybeOpen, detail).into())
            }
        }
    }
}

/// Returns the better state of a damaged transcript that the store has; none where that cannot be found out. `is_lossy` where its
/// client would not load all of it; a transcript that lost its end loads without a word.
pub(super) fn better_state(
    home: &Home,
    path: &Path,
    (is_lossy, judged_by): (bool, &JudgedBy<'_>),
) -> Option<BetterState> {
    if !home.store_dir().is_dir() {
        return None;
    }
    let engine = home.engine().ok()?;
    let session = engine.find_session(&path.to_string_lossy()).ok()??;
    let is_suspect = is_lossy || engine.may_lack_lines(&session).ok()?;
    is_suspect.then(|| engine.better_state(&session, &home.cache_dir(), judged_by).ok()).flatten()?
}

/// Returns what a transcript held before and does not hold any more; none where that cannot be found out.
pub(super) fn lost_state(home: &Home, path: &Path, judged_by: &JudgedBy<'_>) -> Option<BetterState> {
    if !home.store_dir().is_dir() {
        return None;
    }
    let engine = home.engine().ok()?;
    let session = engine.find_session(&path.to_string_lossy()).ok()??;
    engine.lost_state(&session, &home.cache_dir(), judged_by).ok()?
}

fn session_of(engine: &Engine, named: &NamedFile) -> Result<Session, Fault> {
    let by_path = engine.find_session(&named.path.to_string_lossy())?;
    let here = named.here.to_string_lossy();
    // Two sessions of one id are told apart by their newest commits, as everywhere.
    let meant = || engine.session_meant(&named.text, Some(&here));
    if let Some(session) = by_path.map_or_else(meant, |session| Ok(Some(session)))? {
        return Ok(session);
    }
    // A commit or a tag means the session that it was read from.
    let ctx = engine.meant(&named.text, Some(&here))?.ctx;
    let session = engine.session_of(ctx)?;
    session.ok_or_else(|| {
        let detail = format!("`{}` was not read from a transcript", named.text);
        Problem::new(Code::SessionNotFound, detail).into()
    })
}

/// Refuses sessions that are no file of this machine, and says how they are continued.
fn refuse_elsewhere(engine: &Engine, session: &Session, path: &Path) -> Result<(), Fault> {
    let id = &session.session;
    let reason = if session.key.machine != engine.identity().machine {
        "it was recorded on another machine"
    } else if is_session_kept(path) {
        "its client keeps sessions in a database, not in files"
    } else if !path.is_absolute() {
        "it was not read from a file"
    } else if engine.is_of_run(path) {
        "`stemma run` recorded it, and no client has it; `stemma native` writes it to a file"
    } else {
        return Ok(());
    };
    let detail = format!("{id} cannot be recovered as a file: {reason}");
    Err(Problem::new(Code::NotRecoverable, detail).with("session", id).into())
}

/// Says that the store has only what is there already.
fn nothing_better(session: &Session, path: &Path, why: &str) -> Fault {
    let detail = format!(
        "{} is damaged ({why}), and the store has nothing better; `stemma repair FILE` writes a repaired copy",
        path.display()
    );
    Problem::new(Code::NotRecoverable, detail).with("session", &session.session).into()
}

fn told(copy: &RecoveredCopy, path: &Path, what: &str) -> v1::RecoveredFile {
    v1::RecoveredFile {
        path: path.to_string_lossy().into_owned(),
        what: what.to_owned(),
        ctx: copy.ctx,
        format: copy.format.clone(),
        bytes: copy.bytes,
        messages: copy.validation.messages_sent,
        damage: None,
        kept: None,
        still_redacted: copy.replaced,
    }
}

/// Keeps a damaged transcript under a name that nothing has. A link, so that its own name leads to it until the recovered one
/// takes that over: there is no moment without a transcript.
fn keep(host: &Host, path: &Path) -> Result<PathBuf, Fault> {
    let seconds = host.now().as_micros() / 1_000_000;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    for number in 1..KEPT_MAX {
        let more = if number == 1 { String::new() } else { format!("-{number}") };
        let kept = path.with_file_name(format!("{name}.damaged-{seconds}{more}"));
        match std::fs::hard_link(path, &kept) {
            Ok(()) => return Ok(kept),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            // Not every file system links; a copy takes longer, and is one as well.
            Err(_) => {
                std::fs::copy(path, &kept).map_err(|error| io_failed("keep", path, &error))?;
                return Ok(kept);
            }
        }
    }
    Err(io_failed("keep", path, &io::ErrorKind::AlreadyExists.into()))
}

/// Returns the name beside a transcript that a recovered copy gets, and whether just that copy has it already: another one that was
/// recovered before keeps its name.
fn name_beside(path: &Path, copy: &Path) -> Result<(PathBuf, bool), Fault> {
    for number in 1..KEPT_MAX {
        let kind = if number == 1 { RECOVERED.to_owned() } else { format!("{RECOVERED}-{number}") };
        let target = beside(path, &kind);
        if target.symlink_metadata().is_err() {
            return Ok((target, false));
        }
        if is_same_file(&target, copy).map_err(|source| io_failed("read", &target, &source))? {
            return Ok((target, true));
        }
    }
    Err(io_failed("create", &beside(path, RECOVERED), &io::ErrorKind::AlreadyExists.into()))
}

/// Returns whether two files hold the same bytes.
fn is_same_file(one: &Path, other: &Path) -> io::Result<bool> {
    let (one, other) = (File::open(one)?, File::open(other)?);
    if one.metadata()?.len() != other.metadata()?.len() {
        return Ok(false);
    }
    let (mut one, mut other) = (BufReader::new(one), BufReader::new(other));
    loop {
        let (left, right) = (one.fill_buf()?, other.fill_buf()?);
        let length = left.len().min(right.len());
        if left.get(..length) != right.get(..length) {
            return Ok(false);
        }
        if length == 0 {
            return Ok(true);
        }
        one.consume(length);
        other.consume(length);
    }
}

/// Gives a checked copy its name, over what is there or nowhere else.
fn put(copy: RecoveredCopy, target: &Path, replaces: bool) -> Result<(), Fault> {
    if replaces {
        copy.file.name_over(target).map_err(|error| io_failed("write", target, &error))
    } else {
        copy.file.name_new(target).map_err(|error| io_failed("create", target, &error))
    }
}
