//! A session at a glance: time, models, tokens, files, tests, errors and what fixed them, and its turns in outline.
//!
//! A fold over the commits of a chain, in constant memory but for what it returns.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use stemmata_acts::{ToolUse, below, tool_uses};
use stemmata_api::v1::{ReportedTokens, SessionError};
use stemmata_model::{Entry, EntryKind, SessionId, Timestamp};

use super::effort::EffortFold;
use super::outline::{FileLines, TurnOutline, is_changed, outlines_of};
use super::prompt::{Frame, is_main, sidechain_of};
use crate::reduce::memory::SessionMemory;
use crate::reduce::memory::v1::{About, Failure, TaskStatus, Thread, ThreadKind};

/// Changes of files that are remembered to say what fixed an error.
const EDITS_MAX: usize = 50_000;
/// Commands that are remembered.
const COMMANDS_MAX: usize = 10_000;
/// Files that a fix names at most.
const FIX_FILES_MAX: usize = 5;

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

/// What a session holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionStory<K> {
    /// The first and the last time.
    pub span: Option<(Timestamp, Timestamp)>,
    /// Microseconds of work: gaps of more than [`IDLE_MICROS`](super::IDLE_MICROS) are left out.
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
    /// Tasks that are not done, questions without an answer, and what was put off.
    pub open: Vec<String>,
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
    effort: EffortFold,
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
            effort: EffortFold::default(),
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
            self.effort.add(entry);
        }
    }

    /// Returns what the session holds.
    pub fn finish(self) -> SessionStory<K> {
        let errors = self.memory.items().errors.iter().map(|error| self.error(error)).collect();
        let decided = self.memory.items().decisions.iter().map(|decision| decision.text.clone());
        let decisions = decided.collect();
        let tasks = self.memory.items().tasks.iter().filter(|task| task.status != TaskStatus::Done);
        // A prompt without an answer is what its turn says.
        let is_open = |thread: &&Thread| thread.closed.is_none() && thread.kind != ThreadKind::Prompt;
        let threads = self.memory.items().threads.iter().filter(is_open).map(|thread| thread.text.clone());
        let open = tasks.map(|task| task.text.clone()).chain(threads).collect();
        let span = self.effort.span();
        let (mut active_micros, mut models, mut tokens) = (0_i64, BTreeMap::new(), None);
        for ((_, model), effort) in self.effort.finish() {
            active_micros = active_micros.saturating_add(effort.active_micros);
            if let Some(model) = model.filter(|_| effort.answers > 0) {
                *models.entry(model).or_default() += effort.answers;
            }
            if let Some(more) = effort.tokens {
                tokens.get_or_insert(ReportedTokens::NONE).add(more);
            }
        }
        let mut files: BTreeMap<String, FileLines> = BTreeMap::new();
        let outlines = self.turns.iter().map(|turn| &turn.outline).chain([&self.left]);
        for (path, lines) in outlines.flat_map(|outline| &outline.files) {
            let known = files.entry(path.clone()).or_default();
            known.added += lines.added;
            known.removed += lines.removed;
        }
        SessionStory {
            span,
            active_micros,
            models,
            tokens,
            files,
            turns: self.turns,
            errors,
            commands: self.commands,
            decisions,
            open,
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
            let worked_in = || root.into_iter().chain(frame.root);
            for file in used.files().iter().filter(|file| is_changed(file, worked_in())) {
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
            prompt: turn.map(|(_, number)| *number),
            resolved: error.resolved.is_some(),
            fixed_by: fixed_by.take(FIX_FILES_MAX).collect(),
        }
    }
}
