//! Imports as wire types.

use std::path::{Path, PathBuf};

use stemmata_api::{Problem, v1};
use stemmata_engine::{
    CapturedSidecars, EngineError, HeldBack, ImportFailure, ImportReport, ImportedSession,
};

use crate::fault::problem_of;
use crate::wire;

/// Returns the wire form of an import.
pub(crate) fn import(report: &ImportReport, elapsed_ms: u64) -> v1::Import {
    let sessions: Vec<v1::Imported> = report.sessions.iter().map(imported).collect();
    let failures: Vec<v1::Failure> = report.failures.iter().map(failure).collect();
    let sum = |of: &dyn Fn(&v1::Imported) -> u64| sessions.iter().map(of).sum();
    let length = |length: usize| u64::try_from(length).unwrap_or(u64::MAX);
    let mut sidecars = CapturedSidecars::default();
    report.sessions.iter().for_each(|session| sidecars.add(session.captured.sidecars));
    v1::Import {
        totals: v1::Totals {
            sessions: length(sessions.len()),
            commits: sum(&|session| session.commits),
            bytes_in: sum(&|session| session.bytes_in),
            bytes_stored: sum(&|session| session.bytes_stored),
            notes: sum(&|session| length(session.notes.len())),
            new_commits: sum(&|session| session.new_commits),
            copies: length(report.copies()),
            entries: sum(&|session| session.entries),
            bytes_redacted: sum(&|session| session.bytes_redacted),
            failures: length(failures.len()),
            skipped: length(report.skipped.len()),
            excluded: length(report.held_back.len()),
            sidecars: sidecars.files,
            sidecar_bytes: sidecars.bytes,
            sidecar_bytes_stored: sidecars.bytes_stored,
            sidecars_altered: sidecars.altered,
            elapsed_ms,
        },
        left_out: left_out(report),
        sessions,
        failures,
        skipped: report.skipped.iter().map(|path| path.to_string_lossy().into_owned()).collect(),
        excluded: report.held_back.iter().map(held_back).collect(),
    }
}

/// Files that are named of each kind of what was left out.
const NAMED_MAX: usize = 10;

/// Collects what was left out, by kind.
#[derive(Default)]
struct Kinds(Vec<v1::LeftOut>);

impl Kinds {
    fn add(&mut self, (kind, of): (&str, &str), count: u64, what: Option<&str>, path: &Path) {
        if count == 0 {
            return;
        }
        let is_same =
            |one: &&mut v1::LeftOut| one.kind == kind && one.of == of && one.what.as_deref() == what;
        let path = path.to_string_lossy().into_owned();
        match self.0.iter_mut().find(is_same) {
            Some(one) => {
                one.count = one.count.saturating_add(count);
                if one.paths.len() < NAMED_MAX {
                    one.paths.push(path);
                }
            }
            None => self.0.push(v1::LeftOut {
                kind: kind.to_owned(),
                of: of.to_owned(),
                count,
                what: what.map(str::to_owned),
                paths: vec![path],
            }),
        }
    }

    fn failure(&mut self, failure: &ImportFailure) {
        let problem = problem_of(&failure.error);
        match &failure.error {
            EngineError::UnknownSchema { sessions, .. } => {
                let kind = (problem.code.as_str(), "session");
                self.add(kind, sessions.unwrap_or(1), Some(&problem.detail), &failure.path);
            }
            _ => self.add((&problem.code, "file"), 1, None, &failure.path),
        }
    }
}

/// Says what an import left out, by kind.
fn left_out(report: &ImportReport) -> Vec<v1::LeftOut> {
    let mut kinds = Kinds::default();
    report.failures.iter().for_each(|failure| kinds.failure(failure));
    for imported in &report.sessions {
        let unread = &imported.captured.unread;
        for (name, count) in &unread.unknown {
            kinds.add(("unknown_record", "record"), *count, Some(name), &imported.path);
        }
        kinds.add(("unreadable_record", "record"), unread.unreadable, None, &imported.path);
    }
    report.skipped.iter().for_each(|path| kinds.add(("not_a_transcript", "file"), 1, None, path));
    for (path, reason) in &report.held_back {
        kinds.add(("excluded", "file"), 1, Some(&reason.to_string()), path);
    }
    kinds.0
}

/// Says which sessions of clients are of a version that is not read.
pub(crate) fn unread_versions(failures: &[ImportFailure]) -> Vec<v1::LeftOut> {
    let mut kinds = Kinds::default();
    let is_version = |failure: &&ImportFailure| matches!(failure.error, EngineError::UnknownSchema { .. });
    failures.iter().filter(is_version).for_each(|failure| kinds.failure(failure));
    kinds.0
}

fn imported(imported: &ImportedSession) -> v1::Imported {
    let captured = &imported.captured;
    let session = &captured.session;
    v1::Imported {
        path: imported.path.to_string_lossy().into_owned(),
        session_id: session.session.to_string(),
        format: session.format.to_string(),
        tip: session.tip.map(|tip| tip.to_string()),
        commits: session.commits,
        entries: captured.entries,
        bytes_in: captured.bytes_in,
        bytes_redacted: captured.bytes_redacted,
        redacted: captured.redacted.iter().map(redacted).collect(),
        notes: wire::notes(&captured.notes),
        new_commits: captured.new_commits,
        bytes_stored: captured.bytes_stored,
        sidecars: captured.sidecars.files,
        title: wire::session::title(session.title.as_deref()),
        parent_session: session.parent_session.as_ref().map(ToString::to_string),
    }
}

fn redacted((kind, count): &(String, u64)) -> v1::RedactedKind {
    v1::RedactedKind { kind: kind.clone(), count: *count }
}

fn held_back((path, reason): &(PathBuf, HeldBack)) -> v1::HeldBack {
    v1::HeldBack { path: path.to_string_lossy().into_owned(), reason: reason.to_string() }
}

fn failure(failure: &ImportFailure) -> v1::Failure {
    failed(&failure.path, problem_of(&failure.error))
}

/// Returns the wire form of what went wrong with one file.
pub(crate) fn failed(path: &Path, problem: Problem) -> v1::Failure {
    v1::Failure {
        path: path.to_string_lossy().into_owned(),
        code: problem.code,
        error: problem.detail,
        causes: problem.causes,
        hint: problem.hint,
        exit_code: problem.exit_code,
    }
}
