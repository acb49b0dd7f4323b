//! `doctor`: whether a client would take a transcript whole, and why not.
//!
//! Changes nothing. What loaders stumble over is the adapters' to know.

use std::path::PathBuf;

use stemmata_api::v1;
use stemmata_engine::{Diagnosis, Engine, EngineError, FileState, Finding, Severity, Wanted};
use stemmata_model::CommitId;

use crate::args::maintain::Doctor;
use crate::errors::{CliError, Exit, with_causes};
use crate::output::size::{self, many};
use crate::output::style::Style;
use crate::wiring::App;
use stemmata_service::wire;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Doctor) -> Result<Exit, CliError> {
    let mut files = Vec::new();
    for given in &args.files {
        files.push(path_of(app, given)?);
    }
    if args.all {
        files.extend(all(app)?);
    }
    let mut diagnoses = Vec::new();
    let mut worst = None;
    for path in files {
        match Engine::doctor(&path, args.client_version.as_deref()) {
            Ok(found) => diagnoses.push((path, found)),
            // Of many, one that cannot be read is no reason to say nothing of the others.
            Err(error) if args.all || args.files.len() > 1 => {
                worst = worst.or(Some(Exit::of(stemmata_service::problem_of(&error).kind)));
                app.console.warn(&format!("one could not be looked at: {}", with_causes(&error.into())));
            }
            Err(error) => return Err(error.into()),
        }
    }
    let is_sound = diagnoses.iter().all(|(_, diagnosis)| diagnosis.validation.is_accepted());
    if app.console.json {
        let transcripts =
            diagnoses.iter().map(|(path, diagnosis)| wire::client::diagnosis(path, diagnosis)).collect();
        app.console.json(&v1::Diagnoses { ok: is_sound, transcripts })?;
    } else {
        show(app, &diagnoses, args.all)?;
    }
    Ok(if is_sound { worst.unwrap_or(Exit::Done) } else { Exit::Corrupt })
}

/// Returns the transcript that the user means: a file, or that of a session.
///
/// # Errors
/// `TranscriptGone` where only the store still has it; `NotFound`, `Ambiguous`.
pub(super) fn path_of(app: &App, given: &str) -> Result<PathBuf, CliError> {
    let path = app.environment.absolute(std::path::Path::new(given));
    if path.exists() {
        return Ok(path);
    }
    let engine = app.engine()?;
    let is_path = std::path::Path::new(given).components().count() > 1;
    let session = match engine.find_session(given)? {
        None if is_path => engine.find_session(&path.to_string_lossy())?,
        session => session,
    };
    if let Some(session) = session {
        return there(PathBuf::from(session.key.path), session.tip);
    }
    // Where several sessions go by a prefix, commits are what is offered to choose from.
    let (seen, ctx) = match engine.find(given) {
        Ok(ctx) => (engine.show(ctx)?.sightings, Some(ctx)),
        Err(EngineError::NotFound { .. }) => (Vec::new(), None),
        Err(error) => return Err(error.into()),
    };
    let mut here = seen.into_iter().filter(|sighting| sighting.machine == engine.identity().machine);
    match here.find_map(|sighting| sighting.source) {
        Some(source) => there(PathBuf::from(source.path), ctx),
        None => Err(EngineError::NotFound { what: Wanted::Transcript, text: given.to_owned() }.into()),
    }
}

/// Returns the path of a transcript that is still there, or says what the store has of it.
fn there(path: PathBuf, tip: Option<CommitId>) -> Result<PathBuf, CliError> {
    // A session of a database or of a bundle has no file of its own; who reads it says what is wrong with it.
    match tip {
        Some(ctx)
            if path.is_absolute()
                && !path.exists()
                && path.parent().is_some_and(|folder| !folder.is_file()) =>
        {
            Err(CliError::TranscriptGone { path, ctx })
        }
        _ => Ok(path),
    }
}

/// Returns the transcripts of all clients' homes.
fn all(app: &App) -> Result<Vec<PathBuf>, CliError> {
    let homes = app.homes().existing();
    let folders: Vec<PathBuf> = homes.into_iter().map(|home| home.transcripts).collect();
    let files = app.engine()?.survey(&folders)?.into_iter();
    Ok(files.filter(|file| file.state != FileState::Other).map(|file| file.path).collect())
}

fn show(app: &App, diagnoses: &[(PathBuf, Diagnosis)], only_troubled: bool) -> Result<(), CliError> {
    let mut rows: Vec<String> = Vec::new();
    for (path, diagnosis) in diagnoses {
        let validation = &diagnosis.validation;
        let is_whole = validation.messages_sent >= validation.messages_present;
        if only_troubled
            && is_whole
            && validation.findings.iter().all(|found| found.severity == Severity::Info)
        {
            continue;
        }
        let version = diagnosis.version.as_deref().map(|version| format!(" {version}")).unwrap_or_default();
        let (lines, bytes) = (many(diagnosis.lines, "line"), size::bytes(diagnosis.bytes));
        rows.push(app.environment.shown(path));
        rows.push(format!("  {}{version}, {lines}, {bytes}", diagnosis.format));
        rows.push(format!("  {}", verdict(diagnosis)));
        rows.extend(validation.findings.iter().map(|finding| format!("  {}", told(finding))));
    }
    rows.push(String::new());
    app.console.text(&rows.join("\n"))?;
    let refused = diagnoses.iter().filter(|(_, diagnosis)| !diagnosis.validation.is_accepted()).count();
    let files = u64::try_from(diagnoses.len()).unwrap_or(u64::MAX);
    let can_mend = diagnoses.iter().any(|(_, diagnosis)| {
        diagnosis.validation.findings.iter().any(|finding| finding.severity > Severity::Info)
    });
    app.console.say(&match refused {
        0 => format!("{} looked at; a client takes all of them", many(files, "transcript")),
        refused => format!(
            "{} looked at, {refused} of which would be refused or lose history",
            many(files, "transcript")
        ),
    });
    if can_mend {
        app.console.say("hint: `stemma repair FILE` writes a repaired copy and says what it changed");
    }
    Ok(())
}

/// Says what the client would do, in one sentence.
fn verdict(diagnosis: &Diagnosis) -> String {
    let validation = &diagnosis.validation;
    let (sent, present) = (validation.messages_sent, validation.messages_present);
    match (validation.is_accepted(), sent >= present) {
        (true, true) => sends_all(present),
        (true, false) => format!("the client would send {sent} of {}", many(present, "message")),
        (false, _) if present == 0 => "the client would refuse it: there is no message in it".to_owned(),
        (false, _) if sent == 0 => {
            format!("the client would refuse it, or send none of its {}", many(present, "message"))
        }
        (false, _) => format!("the client would silently send {sent} of {}", many(present, "message")),
    }
}

/// Says that nothing is lost.
pub(super) fn sends_all(present: u64) -> String {
    match present {
        0 => "the client would send nothing: there is no message in it".to_owned(),
        1 => "the client would send its only message".to_owned(),
        present => format!("the client would send all {}", many(present, "message")),
    }
}

pub(super) fn told(finding: &Finding) -> String {
    let (style, word) = match finding.severity {
        Severity::Info => (Style::Faint, "note"),
        Severity::Warning => (Style::Note, "warning"),
        Severity::Fatal => (Style::Error, "fatal"),
    };
    let line = finding.line.map(|line| format!("line {line}: ")).unwrap_or_default();
    format!("{}: {line}{}", style.paint(word), finding.message)
}
