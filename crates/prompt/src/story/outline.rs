//! Outlines: what a turn was for, what it did and how it ended, in numbers and names.

use std::collections::BTreeMap;

use stemmata_acts::{
    Act, Certainty, FileAct, Outcome, Reach, ToolUse, below, command, commits_made, tool_uses,
};
use stemmata_api::v1::{ChangedFile, GitCommitMade};
use stemmata_model::{Entry, EntryId, EntryKind, Part, Role, Timestamp};

use super::prompt::{Frame, is_main, prompt_text};

/// Files of one turn that are told apart; the rest is counted only.
const FILES_MAX: usize = 1_024;
/// Commits of git of one turn that are kept.
const COMMITS_MAX: usize = 256;
/// Names of tools of one turn that are told apart.
const TOOLS_MAX: usize = 256;
/// How a message begins that a client writes where a person stopped the agent.
const INTERRUPTED: &str = "[Request interrupted";

/// Microseconds between two records after which nobody worked: ten minutes.
pub const IDLE_MICROS: i64 = 10 * 60 * 1_000_000;

/// From one prompt to the next.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TurnOutline {
    /// The prompt. Absent for what comes before the first one of a commit, such as the rest of a turn that a compaction cut.
    pub prompt: Option<Prompt>,
    /// The first and the last time in it.
    pub span: Option<(Timestamp, Timestamp)>,
    /// Microseconds of work in it: gaps of more than [`IDLE_MICROS`] between two records are left out.
    pub active_micros: i64,
    /// How often each tool was called, by its name.
    pub tools: BTreeMap<String, u64>,
    /// The files that it changed.
    pub files: BTreeMap<String, FileLines>,
    /// How often tests passed.
    pub tests_passed: u64,
    /// How often tests failed.
    pub tests_failed: u64,
    /// How the last run of tests ended.
    pub is_last_test_passed: Option<bool>,
    /// Commits of git that it made.
    pub commits: Vec<GitCommitMade>,
    /// Calls that failed.
    pub failures: u64,
    /// Compactions in it.
    pub compactions: u64,
    /// Whether a person stopped it.
    pub is_interrupted: bool,
    /// What the agent said last.
    pub answer: Option<String>,
}

/// How a turn ended, by what says most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum TurnOutcome {
    /// A person stopped it.
    Interrupted,
    /// The last run of tests failed.
    TestsFailed,
    /// The last run of tests passed.
    TestsPassed,
    /// The agent answered.
    Answered,
    /// There is no answer.
    Open,
}

impl TurnOutcome {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Interrupted, Self::TestsFailed, Self::TestsPassed, Self::Answered, Self::Open];

    /// Returns the name used in JSON output.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// A prompt of a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// The position of its entry among those that were read.
    pub position: usize,
    /// Its entry.
    pub entry: EntryId,
    /// What it says, whole.
    pub text: String,
}

/// Lines of a file, as far as calls say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FileLines {
    /// Lines that were put in.
    pub added: u64,
    /// Lines that were taken out.
    pub removed: u64,
}

/// Returns changed files as answers list them.
pub fn changed_files(files: &BTreeMap<String, FileLines>) -> Vec<ChangedFile> {
    let of = |(path, lines): (&String, &FileLines)| ChangedFile {
        path: path.clone(),
        added: lines.added,
        removed: lines.removed,
    };
    files.iter().map(of).collect()
}

impl TurnOutline {
    /// Returns how many calls it made.
    pub fn calls(&self) -> u64 {
        self.tools.values().sum()
    }

    /// Says whether nothing happened in it that anybody would look for: records of the client alone.
    pub fn is_empty(&self) -> bool {
        self.prompt.is_none()
            && self.tools.is_empty()
            && self.answer.is_none()
            && self.compactions == 0
            && !self.is_interrupted
    }

    /// Returns how it ended.
    pub fn outcome(&self) -> TurnOutcome {
        match (self.is_interrupted, self.is_last_test_passed, &self.answer) {
            (true, ..) => TurnOutcome::Interrupted,
            (_, Some(false), _) => TurnOutcome::TestsFailed,
            (_, Some(true), _) => TurnOutcome::TestsPassed,
            (_, None, Some(_)) => TurnOutcome::Answered,
            (_, None, None) => TurnOutcome::Open,
        }
    }

    /// Adds what comes after it and belongs to the same turn.
    pub fn extend(&mut self, later: Self) {
        for (tool, count) in later.tools {
            *self.tools.entry(tool).or_default() += count;
        }
        for (path, lines) in later.files {
            self.add_lines(path, lines);
        }
        if let Some((first, last)) = later.span {
            self.saw(first);
            // What lies between both ends is known to the later one.
            let active = self.active_micros.saturating_add(later.active_micros);
            self.saw(last);
            self.active_micros = active;
        }
        self.tests_passed += later.tests_passed;
        self.tests_failed += later.tests_failed;
        self.is_last_test_passed = later.is_last_test_passed.or(self.is_last_test_passed);
        let room = COMMITS_MAX.saturating_sub(self.commits.len());
        self.commits.extend(later.commits.into_iter().take(room));
        self.failures += later.failures;
        self.compactions += later.compactions;
        self.is_interrupted = later.is_interrupted || (self.is_interrupted && later.answer.is_none());
        self.answer = later.answer.or_else(|| self.answer.take());
    }

    fn saw(&mut self, at: Timestamp) {
        let (first, last) = self.span.unwrap_or((at, at));
        let gap = at.as_micros().saturating_sub(last.as_micros());
        if (0..=IDLE_MICROS).contains(&gap) {
            self.active_micros = self.active_micros.saturating_add(gap);
        }
        self.span = Some((first.min(at), last.max(at)));
    }

    fn add_lines(&mut self, path: String, lines: FileLines) {
        if self.files.len() >= FILES_MAX && !self.files.contains_key(&path) {
            return;
        }
        let known = self.files.entry(path).or_default();
        known.added += lines.added;
        known.removed += lines.removed;
    }

    fn entry(&mut self, entry: &Entry, is_main: bool) {
        entry.timestamp.into_iter().for_each(|at| self.saw(at));
        if entry.kind == EntryKind::CompactionSummary {
            self.compactions += 1;
        }
        let texts = || {
            entry.parts.iter().filter_map(|part| match part {
                Part::Text(text) if !text.trim().is_empty() => Some(text.as_str()),
                _ => None,
            })
        };
        if is_main && entry.role == Role::Assistant && entry.kind == EntryKind::Message {
            if let Some(text) = texts().next_back() {
                self.answer = Some(text.to_owned());
                self.is_interrupted = false;
            }
        } else if is_main && entry.role == Role::User && texts().any(|text| text.starts_with(INTERRUPTED)) {
            self.is_interrupted = true;
        }
    }

    fn call(&mut self, used: &ToolUse<'_>, [root, first]: [Option<&str>; 2]) {
        if self.tools.len() < TOOLS_MAX || self.tools.contains_key(used.name) {
            *self.tools.entry(used.name.to_owned()).or_default() += 1;
        }
        self.failures += u64::from(matches!(used.outcome, Outcome::Failed { .. }));
        for file in used.files().into_iter().filter(|file| is_changed(file, root.into_iter().chain(first))) {
            let number = |lines: usize| u64::try_from(lines).unwrap_or(u64::MAX);
            let (added, removed) = (number(file.added_lines().len()), number(file.removed_lines()));
            self.add_lines(below(root, file.path_after()).to_owned(), FileLines { added, removed });
        }
        if let Some(is_passed) = test_run(used) {
            self.tests_passed += u64::from(is_passed);
            self.tests_failed += u64::from(!is_passed);
            self.is_last_test_passed = Some(is_passed);
        }
        let left = COMMITS_MAX.saturating_sub(self.commits.len());
        let made = commits_made(used).into_iter().take(left);
        self.commits.extend(made.map(|made| GitCommitMade { hash: made.hash, subject: made.subject }));
    }
}

/// Returns the turns of a commit's entries in their order. The first one has no prompt where something comes before the first
/// prompt. `is_active` says of each entry whether it is still part of the conversation, for
/// prompts that were left count nothing but what was done for them.
pub fn outlines(entries: &[Entry], is_active: &[bool], frame: Frame<'_>) -> Vec<TurnOutline> {
    outlines_of((entries, &tool_uses(entries)), (is_active, &[]), frame).0
}

/// As [`outlines`], with the entries' calls, which the caller has already. What `is_left` names is of no turn, and told by itself.
pub(super) fn outlines_of(
    (entries, uses): (&[Entry], &[ToolUse<'_>]),
    (is_active, is_left): (&[bool], &[bool]),
    frame: Frame<'_>,
) -> (Vec<TurnOutline>, TurnOutline) {
    let main = frame.main;
    let (mut turns, mut left): (Vec<TurnOutline>, _) = (Vec::new(), TurnOutline::default());
    let mut turn_of: Vec<Option<usize>> = Vec::with_capacity(entries.len());
    for (position, entry) in entries.iter().enumerate() {
        if is_left.get(position).copied().unwrap_or(false) {
            turn_of.push(None);
            continue;
        }
        let is_active = is_active.get(position).copied().unwrap_or(true);
        let text = prompt_text(entry, main).filter(|_| is_active);
        if text.is_some() || turns.is_empty() {
            let prompt = text.map(|text| Prompt { position, entry: entry.id.clone(), text });
            turns.push(TurnOutline { prompt, ..TurnOutline::default() });
        }
        turn_of.push(turns.len().checked_sub(1));
        if let Some(turn) = turns.last_mut() {
            turn.entry(entry, is_main(entry, main));
        }
    }
    for used in uses {
        let root = frame.root_of(entries.get(used.entry));
        let turn = turn_of.get(used.entry).copied().flatten().and_then(|at| turns.get_mut(at));
        turn.unwrap_or(&mut left).call(used, [root, frame.root]);
    }
    (turns, left)
}

/// Says how a call that runs tests ended; none where it runs none, or did not end.
pub(super) fn test_run(used: &ToolUse<'_>) -> Option<bool> {
    let is_test = |act: &Act| match act {
        Act::Command(run) => command::parts(&run.line).iter().any(|part| command::is_testing(part)),
        _ => false,
    };
    if !used.acts.iter().any(is_test) {
        return None;
    }
    match &used.outcome {
        Outcome::Passed => Some(true),
        Outcome::Failed { .. } => Some(false),
        Outcome::Open | Outcome::Refused | Outcome::Stopped | Outcome::Running { .. } | Outcome::Unclear => {
            None
        }
    }
}

/// Whether a file was changed for sure, or most likely, and is one that somebody means to keep.
pub(super) fn is_changed<'f>(file: &FileAct, worked_in: impl IntoIterator<Item = &'f str>) -> bool {
    let is_likely = file.certainty > Certainty::Possible && file.reach == Reach::File;
    file.is_change() && is_likely && !file.is_scratch(worked_in)
}
