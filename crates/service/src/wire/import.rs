//! Imports as wire types.

use std::path::{Path, PathBuf};

use stemmata_api::{Problem, v1};
use stemmata_engine::{
    CapturedSidecars, EngineError, FileState, HeldBack, ImportFailure, ImportReport, ImportedSession,
    ShownFiles, Survey, UnreadRecords,
};

use stemmata_model::NoteCode;

use crate::fault::problem_of;
use crate::wire;

/// Returns the wire form of an import. `shown` is what earlier ones showed as left out; what is new is added.
pub(crate) fn import(report: &ImportReport, elapsed_ms: u64, shown: &mut ShownFiles) -> v1::Import {
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
        left_out: left_out(report, shown),
        sessions,
        failures,
        skipped: report.skipped.iter().map(|path| path.to_string_lossy().into_owned()).collect(),
        excluded: report.held_back.iter().map(held_back).collect(),
    }
}

/// Leaves out the notes about what was forgotten that an earlier import showed.
pub(crate) fn leave_out_known(import: &mut v1::Import, shown: &mut ShownFiles) {
    for session in &mut import.sessions {
        let path = Path::new(&session.path);
        let is_forgotten = |note: &v1::Note| note.code == NoteCode::Forgotten.as_str();
        session.notes.retain(|note| !is_forgotten(note) || shown.add(&note.message, path));
    }
    import.totals.notes = import.sessions.iter().map(|session| session.notes.len() as u64).sum();
}

/// Files that are named of each kind of what was left out.
const NAMED_MAX: usize = 10;

/// Characters of an ending that files are told apart by.
const ENDING_CHARS_MAX: usize = 8;

/// Endings that are told apart.
const ENDINGS_MAX: usize = 16;

/// Collects what was left out, by kind.
struct Kinds<'s> {
    all: Vec<v1::LeftOut>,
    /// The files that earlier imports showed. `None` where the answer does not tell new ones from known ones.
    shown: Option<&'s mut ShownFiles>,
}

impl<'s> Kinds<'s> {
    const fn new(shown: Option<&'s mut ShownFiles>) -> Self {
        Self { all: Vec::new(), shown }
    }

    /// Adds what an import tells each time that it meets it.
    fn add(&mut self, (kind, of): (&str, &str), count: u64, what: Option<&str>, path: &Path) {
        self.put((kind, of), (count, count), what, path);
    }

    /// Adds a file that stays where it is, so that each import meets it again.
    fn file(&mut self, kind: &str, what: Option<&str>, path: &Path) {
        // Which endings are told apart depends on what else lies there.
        let reason = what.filter(|_| kind != "other_file").unwrap_or(kind);
        let is_new = self.shown.as_mut().is_none_or(|shown| shown.add(reason, path));
        self.put((kind, "file"), (1, u64::from(is_new)), what, path);
    }

    fn put(&mut self, (kind, of): (&str, &str), (count, new): (u64, u64), what: Option<&str>, path: &Path) {
        if count == 0 {
            return;
        }
        let is_same =
            |one: &&mut v1::LeftOut| one.kind == kind && one.of == of && one.what.as_deref() == what;
        let path = path.to_string_lossy().into_owned();
        match self.all.iter_mut().find(is_same) {
            Some(one) => {
                // What is new is named first: that is what is shown.
                let at =
                    if new > 0 { usize::try_from(one.new).unwrap_or(usize::MAX) } else { one.paths.len() };
                one.paths.insert(at.min(one.paths.len()), path);
                one.paths.truncate(NAMED_MAX);
                one.count = one.count.saturating_add(count);
                one.new = one.new.saturating_add(new);
            }
            None => self.all.push(v1::LeftOut {
                kind: kind.to_owned(),
                of: of.to_owned(),
                count,
                new,
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
            EngineError::Damaged { .. } => {
                self.add((&problem.code, "file"), 1, Some(&problem.detail), &failure.path);
            }
            _ => self.add((&problem.code, "file"), 1, None, &failure.path),
        }
    }

    fn records(&mut self, unread: &UnreadRecords, path: &Path) {
        for (name, count) in &unread.unknown {
            self.add(("unknown_record", "record"), *count, Some(name), path);
        }
        self.add(("unreadable_record", "record"), unread.unreadable, None, path);
    }

    fn unknown_version(&mut self, version: Option<&str>, path: &Path) {
        if let Some(version) = version {
            self.file("unknown_version", Some(version), path);
        }
    }

    /// Adds files that are no transcripts by their names, by how these end.
    fn others(&mut self, paths: &[PathBuf]) {
        for path in paths {
            let ending = path.extension().and_then(|ending| ending.to_str()).filter(|ending| {
                ending.len() <= ENDING_CHARS_MAX && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())
            });
            let ending = ending.map(|ending| format!(".{ending}"));
            let is_known = self.all.iter().any(|one| one.kind == "other_file" && one.what == ending);
            let is_full = self.all.iter().filter(|one| one.kind == "other_file").count() >= ENDINGS_MAX;
            self.file("other_file", ending.as_deref().filter(|_| is_known || !is_full), path);
        }
    }
}

/// Says what an import left out, by kind.
fn left_out(report: &ImportReport, shown: &mut ShownFiles) -> Vec<v1::LeftOut> {
    let mut kinds = Kinds::new(Some(shown));
    report.failures.iter().for_each(|failure| kinds.failure(failure));
    for imported in &report.sessions {
        kinds.records(&imported.captured.unread, &imported.path);
        kinds.unknown_version(imported.captured.unknown_version.as_deref(), &imported.path);
    }
    report.skipped.iter().for_each(|path| kinds.file("not_a_transcript", None, path));
    kinds.others(&report.others);
    for (path, reason) in &report.held_back {
        kinds.add(("excluded", "file"), 1, Some(&reason.to_string()), path);
    }
    kinds.all
}

/// Says what an import would leave out, or has left out already: of this depends whether everything is imported.
pub(crate) fn unread(survey: &Survey) -> Vec<v1::LeftOut> {
    let mut kinds = Kinds::new(None);
    survey.failures.iter().for_each(|failure| kinds.failure(failure));
    for file in &survey.files {
        kinds.records(&file.unread, &file.path);
        kinds.unknown_version(file.unknown_version.as_deref(), &file.path);
        if file.state == FileState::Unknown {
            kinds.file("not_a_transcript", None, &file.path);
        }
    }
    kinds.others(&survey.others);
    kinds.all
}

fn imported(imported: &ImportedSession) -> v1::Imported {
    let captured = &imported.captured;
    let session = &captured.session;
    v1::Imported {
        path: imported.path.to_string_lossy().into_owned(),
        session_id: session.session.clone(),
        format: session.format.clone(),
        tip: session.tip,
        commits: session.commits,
        entries: captured.entries,
        bytes_in: captured.bytes_in,
        bytes_redacted: captured.bytes_redacted,
        redacted: captured.redacted.iter().map(redacted).collect(),
        notes: captured.notes.clone(),
        new_commits: captured.new_commits,
        bytes_stored: captured.bytes_stored,
        sidecars: captured.sidecars.files,
        title: wire::session::title(session.title.as_deref()),
        parent_session: session.parent_session.clone(),
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
