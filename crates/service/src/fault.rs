//! Errors of the engine and the store as problems: which error has which code. What a code says is in `stemmata-api`.

mod refused;
mod state;

use std::error::Error;
use std::io;
use std::path::Path;

use stemmata_api::{Candidate, Code, Problem};
use stemmata_engine::{
    Absent, BundleError, EngineError, FormatUse, HeldBack, ProjectDir, QueryError, SearchError, Wanted,
};
use stemmata_model::{JsonError, NameError};
use stemmata_store::StoreError;
use stemmata_store::state::StateError;

use self::refused::refusal;
use crate::wire::quota;

/// A problem on its way out: what `?` makes of every error that an operation meets.
#[derive(Debug)]
pub(crate) struct Fault(pub(crate) Box<Problem>);

impl From<Problem> for Fault {
    fn from(problem: Problem) -> Self {
        Self(Box::new(problem))
    }
}

impl From<Box<Problem>> for Fault {
    fn from(problem: Box<Problem>) -> Self {
        Self(problem)
    }
}

impl From<EngineError> for Fault {
    fn from(error: EngineError) -> Self {
        problem_of(&error).into()
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        EngineError::Store(error).into()
    }
}

impl From<StateError> for Fault {
    fn from(error: StateError) -> Self {
        EngineError::State(error).into()
    }
}

macro_rules! bad_values {
    ($($error:ty => $code:ident,)*) => {
        $(impl From<$error> for Fault {
            fn from(error: $error) -> Self {
                Problem::new(Code::$code, error.to_string()).into()
            }
        })*
    };
}

bad_values! {
    NameError => BadName,
    JsonError => BadJson,
}

const fn several(what: Wanted) -> Code {
    match what {
        Wanted::OpenTask => Code::TaskAmbiguous,
        Wanted::OpenThread => Code::ThreadAmbiguous,
        _ => Code::DecisionAmbiguous,
    }
}

/// Returns the problem that an error of the engine is.
pub fn problem_of(error: &EngineError) -> Problem {
    let problem = match error {
        EngineError::Store(error) => return problem_of_store(error),
        EngineError::OpenStore { source, .. } => of_opening(source, error),
        EngineError::State(source) => return state::of(source),
        EngineError::OpenState { source, .. } => return state::of_storage(source, error),
        EngineError::Io { path, source, .. } => of_io(error, path, source),
        EngineError::NotFound { what, text } => not_found(*what, text, error),
        EngineError::PromptRange { of, from, .. } => {
            say(Code::PromptRange, error).with("of", of).with("from", from)
        }
        EngineError::NoPrompt { of, number, prompts } => {
            let problem = say(Code::PromptNotFound, error).with("name", format!("{of}:{number}"));
            problem.with("prompts", prompts)
        }
        EngineError::NoReference { text, near } => {
            say(Code::ReferenceNotFound, error).with("name", text).among(near.iter().cloned())
        }
        EngineError::ModelUnknown { model, .. } => say(Code::ModelUnknown, error).with("model", model),
        EngineError::NothingThere { what, place } => nothing_there(*what, place, error),
        EngineError::Ambiguous { candidates: of, .. } => {
            say(Code::Ambiguous, error).among(of.iter().cloned())
        }
        EngineError::Several { what, candidates, .. } => {
            say(several(*what), error).among(candidates.iter().cloned())
        }
        EngineError::NoAncestor { ctx, stop, .. } => {
            say(Code::NotAnAncestor, error).with("ctx", ctx).with("stop", stop)
        }
        EngineError::Format { operation: FormatUse::Read, format, .. } => {
            say(Code::FormatUnreadable, error).with("format", format)
        }
        EngineError::Format { operation: FormatUse::Write | FormatUse::Compact, format, .. } => {
            say(Code::FormatUnwritable, error).with("format", format)
        }
        EngineError::Refused { what, .. } => say(refusal(*what), error),
        EngineError::HeldBack { reason, path } => {
            let code = match reason {
                HeldBack::Excluded(_) => Code::Excluded,
                HeldBack::Paused(_) => Code::Paused,
                HeldBack::Unknown(_) => Code::ExclusionsUnreadable,
            };
            say(code, error).with("path", path.display())
        }
        EngineError::NotATranscript { path, is_bundle: true, .. } => {
            let hint = format!("`stemma bundle import {}` imports it", path.display());
            Problem { hint: Some(hint), ..at(Code::NotATranscript, error, path) }
        }
        EngineError::NotATranscript { path, .. } => at(Code::NotATranscript, error, path),
        EngineError::UnknownSchema { path, .. } => at(Code::UnknownSchema, error, path),
        EngineError::LineTooLong { path, .. } => at(Code::LineTooLong, error, path),
        EngineError::DocumentTooLong { path, .. } => at(Code::DocumentTooLong, error, path),
        EngineError::Torn { path, .. } => at(Code::DocumentTorn, error, path),
        EngineError::Damaged { path, .. } => at(Code::TranscriptDamaged, error, path),
        EngineError::Busy { path, .. } => at(Code::DatabaseBusy, error, path),
        EngineError::Shrank { path, .. } => at(Code::FileShrank, error, path),
        EngineError::MachineFile { path, .. } => at(Code::MachineFileBad, error, path),
        EngineError::CaptureFile { path, .. } => at(Code::PolicyFileBad, error, path),
        EngineError::Policy { .. } => say(Code::PolicyBad, error),
        EngineError::Setting(_) => say(Code::ConfigBad, error),
        EngineError::TranscriptGone { ctx, .. } => say(Code::TranscriptGone, error).with("ctx", ctx),
        EngineError::QuotaReached { quota, plan } => {
            Problem::new(Code::QuotaReached, quota::reached(*quota)).with("plan", quota::room(plan))
        }
        EngineError::Rules(_) => say(Code::SecretRulesBad, error),
        EngineError::Scrub(_) => say(Code::SecretRuleFailed, error),
        EngineError::Name(_) => say(Code::BadName, error),
        EngineError::Bundle(fault) => of_bundle(fault, error),
        EngineError::Search(fault) => of_search(fault, error),
    };
    problem.because(causes(error))
}

/// Returns the problem of a store that cannot be opened.
fn of_opening(source: &StoreError, error: &EngineError) -> Problem {
    let problem = problem_of_store(source);
    // No command that opens it gets any further.
    let is_lost = matches!(source, StoreError::NotAStore { .. } | StoreError::Backend { .. });
    let lost = Code::DatabaseDamaged.row().hint.filter(|_| is_lost).map(str::to_owned);
    Problem { detail: error.to_string(), hint: lost.or(problem.hint), ..problem }
}

/// Returns the problem that an error of the store is.
fn problem_of_store(error: &StoreError) -> Problem {
    let problem = match error {
        StoreError::CommitMissing(ctx) => say(Code::CommitMissing, error).with("ctx", ctx),
        StoreError::ContentMissing(artifact) => say(Code::ContentMissing, error).with("artifact", artifact),
        StoreError::ParentMissing { parent, .. } => say(Code::ParentMissing, error).with("ctx", parent),
        StoreError::Forgotten(ctx) => say(Code::CommitForgotten, error).with("ctx", ctx),
        StoreError::ContentForgotten(id) => say(Code::ContentForgotten, error).with("artifact", id),
        StoreError::Conflict(ctx) => say(Code::CommitConflict, error).with("ctx", ctx),
        StoreError::Corrupt { artifact, .. } => say(Code::ContentCorrupt, error).with("artifact", artifact),
        StoreError::CursorMoved { path } | StoreError::TipMoved { path } => {
            say(Code::ReadElsewhere, error).with("path", path)
        }
        StoreError::LedgerMissing(ledger) => say(Code::LedgerNotFound, error).with("ledger", ledger),
        StoreError::SequenceMoved { ledger, found, .. } => {
            say(Code::SequenceMoved, error).with("ledger", ledger).with("last", found)
        }
        StoreError::KeyTaken { ledger, .. } => say(Code::EntryTaken, error).with("ledger", ledger),
        StoreError::EpochMoved { ledger, .. } => say(Code::EpochMoved, error).with("ledger", ledger),
        StoreError::MarkTaken { ledger, .. } => say(Code::MarkTaken, error).with("ledger", ledger),
        StoreError::PlanMoved => say(Code::PlanStale, error),
        StoreError::Closed { .. } => say(Code::LogClosed, error),
        StoreError::Unclean { .. } => say(Code::NotCleaned, error),
        StoreError::Bound { value, bound, .. } => {
            say(Code::OutOfBounds, error).with("value", value).with("bound", bound)
        }
        StoreError::Empty { .. } => say(Code::Empty, error),
        StoreError::Locked { waited_ms } => say(Code::StoreLocked, error).with("waited_ms", waited_ms),
        StoreError::InUse { path, .. } => say(Code::StoreInUse, error).with("path", path),
        StoreError::Full { .. } => say(Code::DiskFull, error),
        StoreError::ReadOnly { .. } => say(Code::StoreReadOnly, error),
        StoreError::TooNew { .. } => say(Code::StoreTooNew, error),
        StoreError::TooOld { .. } => say(Code::StoreTooOld, error),
        StoreError::NeedsMigration { .. } => say(Code::StoreNeedsMigration, error),
        StoreError::Network { path, .. } => say(Code::StoreOnNetwork, error).with("path", path),
        StoreError::NotAStore { path, .. } => say(Code::NotAStore, error).with("path", path),
        StoreError::NoRoom { path, .. } => say(Code::NoRoom, error).with("path", path),
        StoreError::Refused { path, .. } => say(Code::StoreRefused, error).with("path", path),
        StoreError::Damaged { path, .. } => say(Code::StoreDamaged, error).with("path", path),
        StoreError::LedgerDamaged { path, .. } => say(Code::LedgerDamaged, error).with("path", path),
        StoreError::Sink(source) => say(of_kind(source), error),
        StoreError::Io { path, source, .. } => of_io(error, Path::new(path), source),
        StoreError::DatabaseDamaged { .. } => say(Code::DatabaseDamaged, error),
        StoreError::Backend { .. } => say(Code::DatabaseFailed, error),
    };
    problem.because(causes(error))
}

/// Returns the texts of an error's causes, outermost first, without repeating what was said.
pub fn causes(error: &(dyn Error + 'static)) -> Vec<String> {
    let mut said = error.to_string();
    let mut causes = Vec::new();
    let mut next = error.source();
    while let Some(cause) = next {
        let text = cause.to_string();
        if text != said {
            causes.push(text.clone());
        }
        said = text;
        next = cause.source();
    }
    causes
}

/// Returns a problem with its causes, in one line.
pub fn with_causes(problem: &Problem) -> String {
    let causes = problem.causes.iter().map(|cause| format!(": {cause}"));
    format!("{}{}", problem.detail, causes.collect::<String>())
}

fn say(code: Code, error: &impl Error) -> Problem {
    Problem::new(code, error.to_string())
}

fn at(code: Code, error: &impl Error, path: &Path) -> Problem {
    say(code, error).with("path", path.display())
}

/// Returns the code of what the system said.
pub fn of_kind(source: &io::Error) -> Code {
    match source.kind() {
        io::ErrorKind::NotFound => Code::FileNotFound,
        io::ErrorKind::PermissionDenied => Code::PermissionDenied,
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Code::DiskFull,
        _ => Code::IoFailed,
    }
}

/// Returns the fault of a failed file operation of this crate itself.
pub(crate) fn io_failed(operation: &str, path: &Path, source: &io::Error) -> Fault {
    let detail = format!("{operation} {} failed", path.display());
    Problem::new(of_kind(source), detail)
        .because(vec![source.to_string()])
        .with("path", path.display())
        .into()
}

fn of_io(error: &impl Error, path: &Path, source: &io::Error) -> Problem {
    at(of_kind(source), error, path)
}

fn not_found(what: Wanted, text: &str, error: &EngineError) -> Problem {
    let code = match what {
        Wanted::Commit | Wanted::EarlierCommit => Code::CommitNotFound,
        Wanted::CommitOfSession => Code::SessionEmpty,
        Wanted::Here => Code::ReferenceNotFound,
        Wanted::Session => Code::SessionNotFound,
        Wanted::SessionInDatabase => Code::SessionNotInDatabase,
        Wanted::Forgotten => Code::NothingForgotten,
        Wanted::Ledger => Code::LedgerNotFound,
        Wanted::Decision => Code::DecisionNotFound,
        Wanted::OpenTask => Code::TaskNotFound,
        Wanted::OpenThread => Code::ThreadNotFound,
        Wanted::Line => Code::LineNotFound,
        Wanted::Transcript => Code::TranscriptNotFound,
        Wanted::EventWithText => Code::NoEventWithText,
        Wanted::Entry | Wanted::EntryInContext => Code::EntryNotFound,
        Wanted::EventOfTranscript => {
            return say(Code::OnlyATranscript, error).with("session", text);
        }
    };
    say(code, error).with("name", text)
}

fn nothing_there(what: Absent, place: &str, error: &EngineError) -> Problem {
    match what {
        Absent::Compaction => say(Code::NoCompaction, error).with("ctx", place),
        Absent::Checkpoint => say(Code::NoCheckpointBefore, error).with("at", place),
        Absent::OlderSession => say(Code::NoSessionHere, error),
        Absent::SessionBelow => say(Code::NoSessionHere, error).with("path", place),
        Absent::Session => say(Code::NoSession, error),
        Absent::Ledger => say(Code::NoLedgerHere, error).with("path", place),
        Absent::Copy => say(Code::NoCopyThere, error).with("path", place),
        Absent::ProjectRules => say(Code::NoProjectRules, error).with("path", place),
    }
}

fn of_bundle(fault: &BundleError, error: &EngineError) -> Problem {
    match fault {
        BundleError::NotABundle { .. } => say(Code::NotABundle, error),
        BundleError::Newer { .. } => say(Code::BundleTooNew, error),
        BundleError::Truncated { .. } => say(Code::BundleCut, error),
        BundleError::Damaged { .. } => say(Code::BundleDamaged, error),
        BundleError::Missing { .. } => say(Code::BundleNeedsMore, error),
        BundleError::Bound { flag: Some(flag), value, .. } => {
            say(Code::BundleAboveLimit, error).with("flag", flag).with("value", value)
        }
        BundleError::Bound { flag: None, .. } => say(Code::BundleTooLarge, error),
        BundleError::Have { .. } => say(Code::HaveListBad, error),
        BundleError::Io { source, .. } => say(of_kind(source), error),
    }
}

fn of_search(fault: &SearchError, error: &EngineError) -> Problem {
    match fault {
        SearchError::Query(QueryError::Empty) => say(Code::QueryEmpty, error),
        SearchError::Query(QueryError::TooLong { bytes, .. }) => {
            say(Code::QueryTooLong, error).with("bytes", bytes)
        }
        SearchError::Regex(_) => say(Code::RegexBad, error),
        SearchError::Filter { field, .. } => say(Code::BadRequest, error).with("field", field),
        SearchError::NoSuchName { filter, given, known, .. } => {
            let known: Vec<String> = known.iter().map(|known| format!("`{known}`")).collect();
            say(Code::FilterUnknown, error)
                .with("filter", filter)
                .with("given", given)
                .with("known", known.join(", "))
        }
        SearchError::NoTime { since, until } => {
            say(Code::RangeEmpty, error).with("since", since).with("until", until)
        }
        SearchError::NoProject { name, known, .. } => {
            let none =
                known.is_empty().then(|| "`stemma import` reads the sessions of this machine".to_owned());
            let problem = say(Code::ProjectNotFound, error).with("given", name);
            Problem { hint: none.or(problem.hint.clone()), ..problem.among(known.iter().map(project)) }
        }
        SearchError::ManyProjects { name, found } => {
            say(Code::ProjectAmbiguous, error).with("given", name).among(found.iter().map(project))
        }
    }
}

/// Returns a project as a candidate: its directory, which names it.
fn project(one: &ProjectDir) -> Candidate {
    let sessions = match one.sessions {
        1 => "1 session".to_owned(),
        count => format!("{count} sessions"),
    };
    let last =
        one.last_at.map(|at| at.to_string()).and_then(|at| at.get(..10).map(|day| format!(", last {day}")));
    Candidate { id: one.dir.clone(), summary: format!("{sessions}{}", last.unwrap_or_default()) }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use stemmata_model::{ArtifactId, CommitId, FormatId};

    use stemmata_engine::Refusal;

    use super::*;

    fn io(kind: io::ErrorKind) -> io::Error {
        io::Error::from(kind)
    }

    /// Errors of every kind with the exit code that scripts rely on.
    fn samples() -> Vec<(EngineError, u64)> {
        let path = || PathBuf::from("/srv/kiln.jsonl");
        let text = || "kiln".to_owned();
        let file = |kind| EngineError::Io { operation: "read", path: path(), source: io(kind) };
        let commit = CommitId::from_bytes([7; 16]);
        let artifact = ArtifactId::from_bytes([7; 32]);
        let format = FormatId::new("kiln-v9").expect("a name");
        let refused = |what| EngineError::Refused { what, reasons: vec![text()] };
        let mut all = vec![
            (file(io::ErrorKind::NotFound), 3),
            (file(io::ErrorKind::PermissionDenied), 1),
            (file(io::ErrorKind::StorageFull), 8),
            (file(io::ErrorKind::QuotaExceeded), 8),
            (EngineError::Ambiguous { text: text(), candidates: Vec::new() }, 4),
            (EngineError::NotATranscript { path: path(), reason: text(), is_bundle: true }, 1),
            (EngineError::UnknownSchema { path: path(), sessions: Some(2), reason: text() }, 9),
            (EngineError::Busy { path: path(), reason: text() }, 7),
            (EngineError::Shrank { path: path(), expected: 2, found: 1 }, 1),
            (EngineError::Torn { path: path(), reason: text() }, 1),
            (
                EngineError::Damaged {
                    path: path(),
                    bytes: 5,
                    lines: 1,
                    source: io(io::ErrorKind::UnexpectedEof),
                },
                6,
            ),
            (EngineError::MachineFile { path: path(), reason: text() }, 1),
            (EngineError::CaptureFile { path: path(), reason: text() }, 1),
            (EngineError::Policy { reason: text() }, 2),
            (EngineError::NoAncestor { ctx: commit, stop: commit, looked: 1 }, 3),
            (EngineError::NoPrompt { of: text(), number: 9, prompts: 2 }, 3),
            (
                EngineError::PromptRange {
                    text: text(),
                    of: text(),
                    from: 2,
                    why: stemmata_engine::BadRange::OnePoint,
                },
                2,
            ),
            (EngineError::Format { format, operation: FormatUse::Write, known: text() }, 1),
            (refused(Refusal::Forget), 5),
            (refused(Refusal::PlaceTaken), 5),
            (refused(Refusal::PlaceClient), 2),
            (refused(Refusal::EmptySummary), 5),
            (EngineError::Bundle(BundleError::Truncated { at: 1 }), 6),
            (EngineError::Bundle(BundleError::Missing { commits: vec![commit] }), 3),
            (EngineError::Bundle(BundleError::Newer { what: text() }), 9),
        ];
        let stored = [
            (StoreError::CommitMissing(commit), 3),
            (StoreError::Forgotten(commit), 1),
            (StoreError::Corrupt { artifact, reason: text() }, 6),
            (StoreError::LedgerDamaged { path: text(), finding: text() }, 6),
            (StoreError::Locked { waited_ms: 20 }, 7),
            (StoreError::InUse { path: text(), pids: vec![1] }, 7),
            (StoreError::Full { operation: "write" }, 8),
            (StoreError::TooNew { found: 9, supported: 3 }, 9),
            (StoreError::NotAStore { path: text(), reason: text() }, 9),
            (StoreError::DatabaseDamaged { operation: "read", source: text().into() }, 6),
            (StoreError::CursorMoved { path: text() }, 1),
            (StoreError::TipMoved { path: text() }, 1),
            (StoreError::Network { path: text(), file_system: text(), mount: text() }, 5),
            (StoreError::Sink(io(io::ErrorKind::StorageFull)), 8),
        ];
        all.extend(stored.map(|(error, exit)| (EngineError::Store(error), exit)));
        all
    }

    #[test]
    fn exit_codes_stay_what_scripts_rely_on() {
        for (error, exit) in samples() {
            let problem = problem_of(&error);
            assert_eq!((problem.exit_code, problem.detail), (exit, error.to_string()), "{error:?}");
        }
    }

    #[test]
    fn every_hint_is_filled() {
        for (error, _) in samples() {
            let hint = problem_of(&error).hint.unwrap_or_default();
            assert!(!hint.contains('{'), "{hint}");
        }
        let entry = EngineError::NotFound { what: Wanted::Entry, text: "e9".to_owned() };
        assert_eq!(
            problem_of(&entry).hint.as_deref(),
            Some("`stemma show REF --entries` lists the entries of a commit with their ids")
        );
    }

    #[test]
    fn a_store_that_cannot_be_opened_says_which_and_why() {
        let source = StoreError::Locked { waited_ms: 20 };
        let error = EngineError::OpenStore { folder: PathBuf::from("/srv/store"), source };
        let problem = problem_of(&error);
        assert!(problem.is(Code::StoreLocked));
        assert_eq!(problem.detail, "the store in /srv/store cannot be opened");
        assert_eq!(problem.causes, ["the store is locked by another process (waited 20 ms)"]);
    }
}
