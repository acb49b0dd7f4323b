//! Transcripts on this machine: what their clients would make of them, and copies that they take whole.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use stemmata_api::{Answer, v1};
use stemmata_engine::{
    BetterState, Engine, EngineError, Home, ImportFailure, JudgedBy, REPAIRED, Refusal, beside, runtime_of,
    transcript_of,
};
use stemmata_model::FormatId;

use super::Host;
use super::recover::{better_state, lost_state};
use crate::fault::{Fault, io_failed, problem_of};
use crate::file::FileBytes;
use crate::wire;

/// A transcript as somebody named it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedFile {
    /// The name: a path, a session or a commit.
    pub text: String,
    /// The name as a whole path.
    pub path: PathBuf,
    /// The directory that `@` means.
    pub here: PathBuf,
}

/// A repaired transcript, which is nowhere yet.
#[derive(Debug, Clone)]
pub struct Repaired {
    /// What was repaired.
    pub told: v1::Mended,
    /// The transcript; the same bytes where nothing had to be changed.
    pub bytes: Vec<u8>,
}

impl Host {
    /// Keeps what can be read only once in a file without a name, to be read at any place. `name` is what a problem calls it.
    ///
    /// # Errors
    /// `io_failed`, `disk_full`.
    pub fn spool(&self, name: &Path, input: &mut dyn Read) -> Answer<FileBytes> {
        self.with(|home| {
            let folder = home.cache_dir();
            let file = tempfile::tempfile_in(&folder);
            let mut file = file.map_err(|source| io_failed("write in", &folder, &source))?;
            io::copy(input, &mut file).map_err(|source| io_failed("read", name, &source))?;
            Ok(FileBytes(file))
        })
    }

    /// Says what clients would make of transcripts: of those that are named, and with `all` of all in clients' homes. Of
    /// several, one that cannot be read is part of the answer. The store is opened for names that are no files, and for `all`.
    ///
    /// # Errors
    /// Those of the only one; `transcript_gone`, and those of [`find`](stemmata_api::Chains::find).
    pub fn diagnose(
        &self,
        named: &[NamedFile],
        all: bool,
        client_version: Option<&str>,
    ) -> Answer<v1::Diagnoses> {
        self.with(|home| {
            let (mut failures, mut unread) = (Vec::new(), Vec::new());
            let mut files: Vec<PathBuf> =
                named.iter().map(|named| file_of(home, named)).collect::<Result<_, _>>()?;
            if all {
                let homes = self.machine.clients.existing().into_iter();
                let folders: Vec<PathBuf> = homes.map(|home| home.transcripts).collect();
                let found = home.engine()?.survey_all(&folders)?;
                unread = wire::import::unread(&found);
                // What is wrong with a transcript is said of each, and what could not be looked at is a failure.
                unread.retain(|one| matches!(one.kind.as_str(), "not_a_transcript" | "unknown_version"));
                let unlooked = found.failures;
                let found = found.files.into_iter().filter(|file| file.state.is_transcript());
                files.extend(found.map(|file| file.path));
                let failed =
                    |failure: &ImportFailure| wire::import::failed(&failure.path, problem_of(&failure.error));
                let unlooked = unlooked.iter().filter(|failure| !files.contains(&failure.path));
                failures.extend(unlooked.map(failed));
            }
            if all {
                // What is no transcript any more is looked at as well.
                home.engine()?.only_here(&mut |session| {
                    let path = transcript_of(&session);
                    if path.is_file() && !files.iter().any(|known| known == path) {
                        files.push(path.to_owned());
                    }
                })?;
            }
            let mut transcripts = Vec::new();
            let judged_by = |format: &FormatId| self.judged_by(format, client_version);
            for path in files {
                match Engine::doctor(&path, &judged_by) {
                    Ok(found) => {
                        let mut told = wire::client::diagnosis(&path, &found);
                        if all && told.ok && is_placed(home, &path, told.bytes)? {
                            // It was checked when it was placed; what is odd about it is ours.
                            told.findings.clear();
                        }
                        let better = better_state(home, &path, (!told.ok, &judged_by));
                        if let Some(better) = better.as_ref().filter(|_| told.ok) {
                            told.ok = false;
                            told.findings.push(lacks_lines(better));
                        }
                        let lost = better.is_none().then(|| lost_state(home, &path, &judged_by)).flatten();
                        if let Some(lost) = &lost {
                            told.ok = false;
                            told.findings.push(lines_missing(lost.why.clone()));
                        }
                        let recoverable = better.or(lost).map(|better| better.session.to_string());
                        transcripts.push(v1::Diagnosis { recoverable, ..told });
                    }
                    Err(error @ EngineError::NotATranscript { .. })
                        if let Some(told) = something_else(home, &path, &error, &judged_by) =>
                    {
                        unread.retain(|one| one.paths.first() != Some(&told.path) || one.count > 1);
                        transcripts.push(told);
                    }
                    Err(error) if all || named.len() > 1 => {
                        failures.push(wire::import::failed(&path, problem_of(&error)));
                    }
                    Err(error) => return Err(error.into()),
                }
            }
            let ok = transcripts.iter().all(|one: &v1::Diagnosis| one.ok);
            Ok(v1::Diagnoses { ok, transcripts, failures, unread })
        })
    }

    /// Returns a copy of a transcript that its client would take whole. Writes nothing.
    ///
    /// # Errors
    /// `not_repairable` where the client would not take the result either; as [`Host::diagnose`].
    pub fn mend(&self, named: &NamedFile, client_version: Option<&str>) -> Answer<Repaired> {
        self.with(|home| {
            let path = file_of(home, named)?;
            let mended = Engine::mend(&path, &|format| self.judged_by(format, client_version))?;
            Ok(Repaired { told: wire::client::mended(&path, &mended), bytes: mended.bytes })
        })
    }

    /// Returns the version of the client that a transcript is judged by: the one that is named, else the installed one.
    pub(super) fn judged_by(&self, format: &FormatId, named: Option<&str>) -> Option<String> {
        named.map(str::to_owned).or_else(|| self.machine.installed_version(runtime_of(format)))
    }
}

/// Says what is lost where something that is no transcript is in the place of one that the store has.
fn something_else(
    home: &Home,
    path: &Path,
    error: &EngineError,
    judged_by: &JudgedBy<'_>,
) -> Option<v1::Diagnosis> {
    let better = better_state(home, path, (true, judged_by))?;
    let session = home.engine().ok()?.find_session(&path.to_string_lossy()).ok()??;
    Some(v1::Diagnosis {
        path: path.to_string_lossy().into_owned(),
        format: session.format,
        version: None,
        ok: false,
        lines: 0,
        bytes: std::fs::metadata(path).map_or(0, |metadata| metadata.len()),
        messages_sent: 0,
        messages_present: 0,
        findings: vec![lines_missing(format!("all that was read before is missing: {error}"))],
        recoverable: Some(better.session.to_string()),
    })
}

/// Says that lines are missing which no loader knows of.
fn lacks_lines(better: &BetterState) -> v1::Finding {
    lines_missing(format!("{}: the others were there when it was read before", better.why))
}

fn lines_missing(message: String) -> v1::Finding {
    v1::Finding { severity: "fatal".to_owned(), check: "lines_missing".to_owned(), line: None, message }
}

/// Says whether a file is one that we placed, and nobody has written to since.
fn is_placed(home: &Home, path: &Path, bytes: u64) -> Result<bool, Fault> {
    let engine = home.engine()?;
    let placement = engine.store().placement(&engine.identity().machine, &path.to_string_lossy())?;
    Ok(placement.is_some_and(|placement| placement.placed_bytes == bytes))
}

impl Repaired {
    /// Returns the place beside the transcript where no client looks, and which is free.
    ///
    /// # Errors
    /// `not_repairable` where it is not free.
    pub fn beside(&self) -> Answer<PathBuf> {
        let out = beside(Path::new(&self.told.path), REPAIRED);
        if out.exists() {
            return refused(format!("{} exists already: name a file with `--out`", out.display()));
        }
        Ok(out)
    }

    /// Refuses the transcript's own place.
    ///
    /// # Errors
    /// `not_repairable` for that.
    pub fn hold_apart(&self, out: &Path) -> Answer<()> {
        let path = Path::new(&self.told.path);
        let is_same = match (path.canonicalize(), out.canonicalize()) {
            (Ok(path), Ok(out)) => path == out,
            _ => path == out,
        };
        if is_same {
            return refused("a transcript is never changed in its place: name another file".to_owned());
        }
        Ok(())
    }
}

fn refused<T>(reason: String) -> Answer<T> {
    Err(Fault::from(EngineError::Refused { what: Refusal::Repair, reasons: vec![reason] }).0)
}

fn file_of(home: &Home, named: &NamedFile) -> Result<PathBuf, Fault> {
    if named.path.exists() {
        return Ok(named.path.clone());
    }
    Ok(home.engine()?.named_transcript(&named.text, &named.path, Some(&named.here.to_string_lossy()))?)
}
