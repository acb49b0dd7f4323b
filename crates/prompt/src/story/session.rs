//! A session at a glance: time, models, tokens, files, tests, errors and what fixed them, and its turns in outline.
//!
//! A fold over the commits of a chain, in constant memory but for what it returns.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use stemmata_acts::{ToolUse, below, tool_uses};
use stemmata_model::{Entry, EntryKind, Estimate, Role, SessionId, Timestamp, Usage};

use super::outline::{FileLines, IDLE_MICROS, TurnOutline, is_changed, outlines_of};
use super::prompt::{Frame, is_main, sidechain_of};
use crate::reduce::memory::SessionMemory;
use crate::reduce::memory::v1::{About, Failure};
use crate::window::held_tokens;

/// Changes of files that are remembered to say what fixed an error.
const EDITS_MAX: usize = 50_000;
/// Commands that are remembered.
const COMMANDS_MAX: usize = 10_000;
/// Files that a fix names at most.
const FIX_FILES_MAX: usize = 5;

/// Tokens that the provider reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReportedTokens {
    /// Sent, neither read from a cache nor written to one.
    pub input: u64,
    /// Answered.
    pub output: u64,
    /// Read from the cache.
    pub cache_read: u64,
    /// Written to the cache.
    pub cache_write: u64,
    /// Whether the client wrote down only a part of what was answered: `output` is no sum.
    pub is_output_partial: bool,
}

/// What an answer said of itself, and what it holds.
#[derive(Debug, Clone, Copy, Default)]
struct Answered {
    usage: Usage,
    /// Estimated tokens of its words and calls.
    held: u64,
}

/// An answer that holds more than this, and more than [`PARTIAL_TIMES`] what it reports, was reported before it was finished.
const HELD_TOKENS_MIN: u64 = 40;

/// See [`HELD_TOKENS_MIN`]: an estimate is never that far off.
const PARTIAL_TIMES: u64 = 4;

/// One such answer of so many makes the sum wrong enough to say so.
const ANSWERS_PER_PARTIAL: u64 = 20;

/// A turn of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionTurn<K> {
    /// Its prompt's number, from 1. Absent for what comes before the first prompt.
    pub number: Option<u64>,
    /// The commit in which it begins.
    pub commit: K,
    /// What happened in it.
    pub outline: TurnOutline,
}

/// An error, and what resolved it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionError {
    /// What failed: a command, a file, a tool.
    pub what: String,
    /// What it said, one line.
    pub text: String,
    /// How often.
    pub times: u64,
    /// The turn in which it came up first, by its prompt's number.
    pub turn: Option<u64>,
    /// Whether it went well later.
    pub is_resolved: bool,
    /// Files that were changed between the failure and what resolved it.
    pub fixed_by: Vec<String>,
}

/// What a session holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionStory<K> {
    /// The first and the last time.
    pub span: Option<(Timestamp, Timestamp)>,
    /// Microseconds of work: gaps of more than [`IDLE_MICROS`] are left out.
    pub active_micros: i64,
    /// Answers by model.
    pub models: BTreeMap<String, u64>,
    /// Tokens that the provider reported. Absent where the transcript has none.
    pub tokens: Option<ReportedTokens>,
    /// The files that were changed.
    pub files: BTreeMap<String, FileLines>,
    /// The turns, the first one first.
    pub turns: Vec<SessionTurn<K>>,
    /// Errors, the first one first.
    pub errors: Vec<SessionError>,
    /// Commands that were run, each once, in order.
    pub commands: Vec<String>,
    /// What was decided and demanded, in order.
    pub decisions: Vec<String>,
}

/// Folds the commits of a chain, the first one first. `K` names a commit.
#[derive(Debug)]
pub struct SessionFold<K> {
    memory: SessionMemory,
    root: Option<String>,
    #[expect(clippy::option_option, reason = "not known yet, known to be none, and known are three things")]
    main: Option<Option<String>>,
    ordinal: u64,
    prompts: u64,
    last_at: Option<Timestamp>,
    span: Option<(Timestamp, Timestamp)>,
    active_micros: i64,
    models: BTreeMap<String, u64>,
    answers: HashMap<String, Answered>,
    unnamed: Vec<Answered>,
    is_reported: bool,
    edits: Vec<(u64, String)>,
    commands: Vec<String>,
    known_commands: HashSet<String>,
    prompts_at: Vec<(u64, u64)>,
    turns: Vec<SessionTurn<K>>,
    /// What was done in turns that the conversation went back from: they are no turns of it, but what they changed stays changed.
    left: TurnOutline,
    /// Whether the last message was of such a turn: what the client notes behind it is about it.
    is_left: bool,
}

impl<K: Copy> SessionFold<K> {
    /// Begins with nothing. Files below `root` are named without it, where entries do not say themselves where the agent worked.
    pub fn new(session: &SessionId, root: Option<&str>) -> Self {
        Self {
            memory: SessionMemory::new(session, root),
            root: root.map(str::to_owned),
            main: None,
            ordinal: 0,
            prompts: 0,
            last_at: None,
            span: None,
            active_micros: 0,
            models: BTreeMap::new(),
            answers: HashMap::new(),
            unnamed: Vec::new(),
            is_reported: false,
            edits: Vec::new(),
            commands: Vec::new(),
            known_commands: HashSet::new(),
            prompts_at: Vec::new(),
            turns: Vec::new(),
            left: TurnOutline::default(),
            is_left: false,
        }
    }

    /// Takes the entries of the next commit; `is_active` says which of them are still part of the conversation.
    pub fn add(&mut self, commit: K, entries: &[Entry], is_active: &[bool]) {
        let main = self.main.get_or_insert_with(|| sidechain_of(entries)).clone();
        let root = self.root.clone();
        let frame = Frame { main: main.as_deref(), root: root.as_deref() };
        let uses = tool_uses(entries);
        self.calls_of((entries, &uses), frame);
        let first = self.ordinal;
        let is_left = self.left_of((entries, is_active), frame);
        let (outlines, left) = outlines_of((entries, &uses), (is_active, &is_left), frame);
        self.left.extend(left);
        for outline in outlines.into_iter().filter(|outline| !outline.is_empty()) {
            match (&outline.prompt, self.turns.last_mut()) {
                (None, Some(last)) => last.outline.extend(outline),
                (prompt, _) => {
                    self.prompts += u64::from(prompt.is_some());
                    let number = prompt.as_ref().map(|_| self.prompts);
                    if let (Some(prompt), Some(number)) = (prompt, number) {
                        self.prompts_at.push((first + prompt.position as u64, number));
                    }
                    self.turns.push(SessionTurn { number, commit, outline });
                }
            }
        }
        for entry in entries {
            self.memory.entry(entry, self.ordinal);
            self.ordinal += 1;
            self.entry(entry);
        }
    }

    /// Returns what the session holds.
    pub fn finish(self) -> SessionStory<K> {
        let errors = self.memory.items().errors.iter().map(|error| self.error(error)).collect();
        let decided = self.memory.items().decisions.iter().map(|decision| decision.text.clone());
        let decisions = decided.collect();
        let tokens = ReportedTokens::of(self.answers.values().chain(&self.unnamed));
        let mut files: BTreeMap<String, FileLines> = BTreeMap::new();
        let outlines = self.turns.iter().map(|turn| &turn.outline).chain([&self.left]);
        for (path, lines) in outlines.flat_map(|outline| &outline.files) {
            let known = files.entry(path.clone()).or_default();
            known.added += lines.added;
            known.removed += lines.removed;
        }
        SessionStory {
            span: self.span,
            active_micros: self.active_micros,
            models: self.models,
            tokens: self.is_reported.then_some(tokens),
            files,
            turns: self.turns,
            errors,
            commands: self.commands,
            decisions,
        }
    }

    /// Says of each entry whether it is of a turn that the conversation went back from.
    fn left_of(&mut self, (entries, is_active): (&[Entry], &[bool]), frame: Frame<'_>) -> Vec<bool> {
        let of = |(position, entry): (usize, &Entry)| {
            let is_active = is_active.get(position).copied().unwrap_or(true);
            // What no context has, such as records about the session, is of the turn that it stands in.
            let is_said = matches!(entry.kind, EntryKind::Message | EntryKind::ToolResult)
                && entry.meta.visibility.agent
                && is_main(entry, frame.main);
            self.is_left = !is_active && (is_said || self.is_left);
            self.is_left
        };
        entries.iter().enumerate().map(of).collect()
    }

    fn entry(&mut self, entry: &Entry) {
        if let Some(at) = entry.timestamp {
            let gap = self.last_at.map_or(0, |last| at.as_micros().saturating_sub(last.as_micros()));
            if (0..=IDLE_MICROS).contains(&gap) {
                self.active_micros = self.active_micros.saturating_add(gap);
            }
            // Records of two agents at once come out of order.
            self.last_at = self.last_at.max(Some(at));
            let (first, last) = self.span.unwrap_or((at, at));
            self.span = Some((first.min(at), last.max(at)));
        }
        let is_answer = entry.role == Role::Assistant;
        if let Some(model) = entry.meta.model.as_ref().filter(|model| is_answer && !model.starts_with('<')) {
            *self.models.entry(model.clone()).or_default() += 1;
        }
        let held = if is_answer { held_tokens(entry, &Estimate).0 } else { 0 };
        self.is_reported |= entry.meta.usage.is_some();
        match (&entry.meta.message_id, entry.meta.usage) {
            // One message over several lines says its tokens on each, and the last line says most.
            (Some(id), usage) => {
                let Answered { usage: known, held: known_held } = self.answers.entry(id.clone()).or_default();
                let usage = usage.unwrap_or_default();
                *known_held += held;
                known.input_tokens = known.input_tokens.max(usage.input_tokens);
                known.output_tokens = known.output_tokens.max(usage.output_tokens);
                known.cache_read_tokens = known.cache_read_tokens.max(usage.cache_read_tokens);
                known.cache_write_tokens = known.cache_write_tokens.max(usage.cache_write_tokens);
            }
            (None, Some(usage)) => self.unnamed.push(Answered { usage, held }),
            (None, None) => {}
        }
    }

    /// Remembers which commands were run, and where files were changed.
    fn calls_of(&mut self, (entries, uses): (&[Entry], &[ToolUse<'_>]), frame: Frame<'_>) {
        for used in uses {
            for command in used.commands() {
                if self.commands.len() < COMMANDS_MAX && self.known_commands.insert(command.line.clone()) {
                    self.commands.push(command.line.clone());
                }
            }
            if self.edits.len() >= EDITS_MAX {
                continue;
            }
            let root = frame.root_of(entries.get(used.entry));
            for file in used.files().iter().filter(|file| is_changed(file)) {
                let path = below(root, file.path_after()).to_owned();
                self.edits.push((self.ordinal + used.entry as u64, path));
            }
        }
    }

    fn error(&self, error: &Failure) -> SessionError {
        let what = match &error.subject {
            About::Command { parts } => error.line.clone().unwrap_or_else(|| parts.join(" && ")),
            About::File { path } => path.clone(),
            About::Tool { name } => name.clone(),
            About::Message => String::new(),
        };
        let (from, to) = (error.last.ordinal, error.resolved.as_ref().map(|proof| proof.ordinal));
        let between = self.edits.iter().filter(|(at, _)| to.is_some_and(|to| (from..=to).contains(at)));
        let mut seen = BTreeSet::new();
        let fixed_by = between.map(|(_, path)| path.clone()).filter(|path| seen.insert(path.clone()));
        let turn = self.prompts_at.iter().rev().find(|(at, _)| *at <= error.proof.ordinal);
        SessionError {
            what,
            text: error.text.clone(),
            times: u64::from(error.times),
            turn: turn.map(|(_, number)| *number),
            is_resolved: error.resolved.is_some(),
            fixed_by: fixed_by.take(FIX_FILES_MAX).collect(),
        }
    }
}

impl ReportedTokens {
    fn of<'a>(answers: impl Iterator<Item = &'a Answered>) -> Self {
        let (mut sum, mut long, mut partial) = (Self::default(), 0_u64, 0_u64);
        for Answered { usage, held } in answers {
            sum.input += usage.input_tokens;
            sum.output += usage.output_tokens;
            sum.cache_read += usage.cache_read_tokens;
            sum.cache_write += usage.cache_write_tokens;
            let is_long = *held >= HELD_TOKENS_MIN;
            long += u64::from(is_long);
            partial += u64::from(is_long && usage.output_tokens.saturating_mul(PARTIAL_TIMES) < *held);
        }
        sum.is_output_partial = partial > 0 && partial * ANSWERS_PER_PARTIAL >= long;
        sum
    }
}
