//! `current`: what a session knows right now, as a commit.
//!
//! Which session is meant: the one that is named, the hook's, the one that this process belongs to by its environment or its
//! ancestors, else the latest of this directory.

use std::path::Path;

use stemmata_engine::{Candidate, CaptureOptions, EngineError, is_session_there};
use stemmata_model::Trigger;
use stemmata_store::Session;

use crate::ancestry;
use crate::args::capture::Current;
use crate::commands::run::SESSION_VARIABLE;
use crate::commands::{hook, snapshot};
use crate::errors::{CliError, Exit};
use crate::streams;
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

/// Runs the command.
pub(crate) fn run(app: &App, args: &Current) -> Result<Exit, CliError> {
    let session = if args.hook {
        of_hook(app)?
    } else {
        match &args.session {
            Some(text) => named(app, text)?.ok_or_else(|| missing(text))?,
            None => of_process(app)?,
        }
    };
    snapshot::print_id(app, app.engine()?.current(&session)?)
}

fn missing(text: &str) -> CliError {
    CliError::Engine(EngineError::NotFound { what: "session", text: text.to_owned() })
}

fn of_hook(app: &App) -> Result<Session, CliError> {
    let input = hook::read_input(app)?;
    if let Some(path) = input.transcript_path.filter(|path| path.is_file()) {
        return captured(app, &path);
    }
    let id = input.session_id.ok_or_else(|| {
        CliError::Usage(
            "the hook's input names no session: neither `transcript_path` nor `session_id`".to_owned(),
        )
    })?;
    named(app, &id)?.ok_or_else(|| missing(&id))
}

/// Finds the session that this process belongs to. One that the environment names and nobody knows is no reason to take
/// another one for it: parallel sessions of one directory must not be mixed up.
fn of_process(app: &App) -> Result<Session, CliError> {
    let told = SESSION_VARIABLES.iter().find_map(|name| Some((*name, app.environment.text(name)?)));
    let Some((variable, id)) = told else {
        return match of_client(app)? {
            Some(session) => Ok(session),
            None => app.session_here(),
        };
    };
    let found = named(app, &id)?;
    found.ok_or_else(|| missing(&format!("{id} (from ${variable})")))
}

/// Finds the session of the client that this process descends from, where its hooks said which one that is.
fn of_client(app: &App) -> Result<Option<Session>, CliError> {
    let processes = Path::new(ancestry::PROCESSES);
    let sessions = ancestry::sessions_of(app.home()?, processes, std::process::id());
    match sessions.as_slice() {
        [] => Ok(None),
        [path] if is_session_there(path) => captured(app, path).map(Some),
        [path] => Ok(app.engine()?.find_session(&path.to_string_lossy())?),
        several => {
            let candidate = |path: &std::path::PathBuf| Candidate {
                id: path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
                summary: app.environment.shown(path),
            };
            let candidates = several.iter().map(candidate).collect();
            let text = "the session of this client".to_owned();
            Err(CliError::Engine(EngineError::Ambiguous { text, candidates }))
        }
    }
}

/// Finds a session by id or path; what was not read yet of this directory, or of a command under `run`, is read first.
fn named(app: &App, text: &str) -> Result<Option<Session>, CliError> {
    let engine = app.engine()?;
    let path = app.environment.absolute(Path::new(text));
    if let Some(session) = engine.find_session(&path.to_string_lossy())? {
        return Ok(Some(session));
    }
    if let Some(session) = engine.find_session(text)? {
        return Ok(Some(session));
    }
    let stream = streams::path(app.home()?, text);
    if stream.is_file() {
        return captured(app, &stream).map(Some);
    }
    if path.is_file() {
        return captured(app, &path).map(Some);
    }
    let homes = app.homes().existing();
    let kept = homes.iter().map(|home| home.transcripts.join(text)).find(|path| is_session_there(path));
    if let Some(path) = kept {
        return captured(app, &path).map(Some);
    }
    engine.catch_up(&homes, &app.environment.current_dir)?;
    Ok(engine.find_session(text)?)
}

fn captured(app: &App, path: &Path) -> Result<Session, CliError> {
    let here = app.environment.current_dir.to_string_lossy().into_owned();
    let options = CaptureOptions { cwd: Some(here), ..CaptureOptions::live(Trigger::Explicit) };
    Ok(app.engine()?.capture(path, &options)?.session)
}
