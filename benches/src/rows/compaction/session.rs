//! A recorded session as the measure sees it: pieces with their lines and names, and what its calls did.
//!
//! It shares the tokenizer of names and the reading of tool calls with the product, and nothing else: how the product counts,
//! weighs and cuts is not asked here.

use std::collections::HashMap;
use std::path::Path;

use anyhow::Context as _;
use serde_json::Value;
use stemmata_acts::{
    Act, Call, Certainty, FileChange, Outcome, TaskBook, ToolUse, acts, task_acts, tool_uses,
};
use stemmata_model::{Entry, EntryKind, Part, Role};
use stemmata_prompt::compact::names::names;
use stemmata_runtimes::registry;

/// Bytes of a file by which its format is known.
const HEAD_BYTES: usize = 64 * 1024;
/// How user texts begin that no person wrote.
const NOT_TYPED: [&str; 5] =
    ["<", "Caveat:", "[Request interrupted", "This session is being continued", "# AGENTS.md"];

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Speaker {
    User,
    Client,
    Agent,
    Result,
}

/// A line with its names, each once.
#[derive(Debug, Clone)]
pub(super) struct Line {
    pub text: String,
    pub names: Vec<u32>,
}

/// A text, a call or a result.
#[derive(Debug, Clone)]
pub(super) struct Piece {
    pub entry: usize,
    pub speaker: Speaker,
    pub text: String,
    pub lines: Vec<Line>,
    /// The one file that a call is about.
    pub head: Option<u32>,
}

/// A session.
#[derive(Debug)]
pub(super) struct Session {
    pub name: String,
    pub entries: Vec<Entry>,
    pub root: String,
    pub pieces: Vec<Piece>,
    pub words: Names,
    /// Where clients left summaries of their own: the entry, and the text.
    pub summaries: Vec<(usize, String)>,
}

/// Names by number.
#[derive(Debug, Default)]
pub(super) struct Names {
    ids: HashMap<String, u32>,
    pub texts: Vec<String>,
}

impl Names {
    fn id(&mut self, text: &str) -> u32 {
        if let Some(id) = self.ids.get(text) {
            return *id;
        }
        let id = u32::try_from(self.texts.len()).unwrap_or(u32::MAX);
        self.texts.push(text.to_owned());
        self.ids.insert(text.to_owned(), id);
        id
    }

    pub(super) fn find(&self, text: &str) -> Option<u32> {
        self.ids.get(text).copied()
    }

    pub(super) fn text(&self, id: u32) -> &str {
        self.texts.get(usize::try_from(id).unwrap_or(usize::MAX)).map_or("", String::as_str)
    }

    pub(super) fn of(&mut self, text: &str, root: &str) -> Vec<u32> {
        let mut found = Vec::new();
        for name in names(text, root) {
            let id = self.id(name.text);
            if !found.contains(&id) {
                found.push(id);
            }
        }
        found
    }
}

impl Session {
    /// Reads a transcript. Returns `None` if no adapter detects its format.
    pub(super) fn load(path: &Path, name: String) -> anyhow::Result<Option<Self>> {
        let bytes = std::fs::read(path).with_context(|| format!("reading {}", path.display()))?;
        let head = bytes.get(..HEAD_BYTES.min(bytes.len())).unwrap_or_default();
        let Some((adapter, _)) = registry::detect(head) else { return Ok(None) };
        let all = adapter.decode(&bytes).entries;
        let Some(own) = all.iter().find(|entry| entry.meta.visibility.agent) else { return Ok(None) };
        let sidechain = own.meta.sidechain.clone();
        let entries: Vec<Entry> = all
            .into_iter()
            .filter(|entry| entry.meta.visibility.agent && entry.meta.sidechain == sidechain)
            .collect();
        let root = entries.iter().find_map(|entry| entry.meta.cwd.clone()).unwrap_or_default();
        let mut session = Self {
            name,
            root,
            entries: Vec::new(),
            pieces: Vec::new(),
            words: Names::default(),
            summaries: Vec::new(),
        };
        session.read(&entries);
        session.entries = entries;
        Ok(Some(session))
    }

    fn read(&mut self, entries: &[Entry]) {
        let mut heads: HashMap<String, Option<u32>> = HashMap::new();
        for (at, entry) in entries.iter().enumerate() {
            for part in &entry.parts {
                match part {
                    Part::Summary { text, .. } if entry.kind == EntryKind::CompactionSummary => {
                        self.summaries.push((at, text.clone()));
                    }
                    Part::Text(text) if is_said(&entry.kind) => {
                        self.add(at, speaker(entry, text), text, None);
                    }
                    Part::ToolCall { call_id, name, arguments } => {
                        let found = acts(Call { name, arguments });
                        let head = self.head(&found);
                        heads.insert(call_id.clone(), head);
                        self.add(at, Speaker::Agent, &text_of_call(arguments, &found), head);
                    }
                    Part::ToolResult { call_id, parts, .. } => {
                        let texts: Vec<&str> = parts
                            .iter()
                            .filter_map(|part| match part {
                                Part::Text(text) => Some(text.as_str()),
                                _ => None,
                            })
                            .collect();
                        let head = heads.get(call_id).copied().flatten();
                        self.add(at, Speaker::Result, &texts.join("\n"), head);
                    }
                    _ => {}
                }
            }
        }
    }

    fn add(&mut self, entry: usize, speaker: Speaker, text: &str, head: Option<u32>) {
        let lines = text.lines().flat_map(|line| pieces(without_number(line, speaker)));
        let lines = lines.map(|line| Line { names: self.words.of(&line, &self.root), text: line }).collect();
        self.pieces.push(Piece { entry, speaker, text: text.to_owned(), lines, head });
    }

    /// Returns the one file that a call's tools touch.
    fn head(&mut self, found: &[Act]) -> Option<u32> {
        let files = found.iter().filter_map(|act| match act {
            Act::File(file) => Some(self.relative(&file.path)),
            _ => None,
        });
        let mut files: Vec<String> = files.collect();
        files.dedup();
        let [one] = files.as_slice() else { return None };
        Some(self.words.id(one))
    }

    pub(super) fn relative(&self, path: &str) -> String {
        let below = path.strip_prefix(&self.root).and_then(|rest| rest.strip_prefix('/'));
        below.filter(|_| !self.root.is_empty()).unwrap_or(path).to_owned()
    }

    /// Returns the calls of entries from `from` on, up to `to`.
    pub(super) fn calls(&self, from: usize, to: usize) -> Vec<ToolUse<'_>> {
        let known = self.entries.get(..to).unwrap_or_default();
        tool_uses(known).into_iter().filter(|call| call.entry >= from).collect()
    }

    /// Returns the tasks that are open before entry `to`. Returns none if the task list was written again at `recent` or later: the
    /// window still shows it then.
    pub(super) fn open_tasks(&self, recent: usize, to: usize) -> Vec<String> {
        let all = task_acts(self.entries.get(..to).unwrap_or_default()).len();
        let before = task_acts(self.entries.get(..recent).unwrap_or_default()).len();
        if all > before {
            return Vec::new();
        }
        let book = TaskBook::of(self.entries.get(..recent).unwrap_or_default());
        book.open().map(|task| task.text.clone()).collect()
    }
}

/// What happened to a file last, as words of a summary say it.
pub(super) fn operation(change: &FileChange) -> Option<&'static [&'static str]> {
    match change {
        FileChange::Read => None,
        FileChange::Write { .. } => Some(&["created", "wrote", "written", "added"]),
        FileChange::Edit { .. } => Some(&["edited", "modified", "updated", "changed", "fixed"]),
        FileChange::Delete | FileChange::Move { .. } => Some(&["deleted", "removed", "moved"]),
    }
}

/// Returns the words by which a summary says how a command ended. Returns `None` if the outcome is unknown.
pub(super) fn status(outcome: &Outcome) -> Option<&'static [&'static str]> {
    match outcome {
        Outcome::Passed => Some(&["ok", "passed", "pass", "✓"]),
        Outcome::Failed { .. } => Some(&["fail", "failed", "error", "✗"]),
        Outcome::Unclear => Some(&["exit 1", "fail", "nothing"]),
        Outcome::Stopped => Some(&["stopped", "aborted"]),
        Outcome::Running { .. } => Some(&["running"]),
        Outcome::Open | Outcome::Refused => None,
    }
}

/// Whether a change of a file counts as made.
pub(super) fn is_made(certainty: Certainty) -> bool {
    certainty > Certainty::Possible
}

const fn is_said(kind: &EntryKind) -> bool {
    matches!(kind, EntryKind::Message | EntryKind::ToolResult | EntryKind::Instruction)
}

fn speaker(entry: &Entry, text: &str) -> Speaker {
    match entry.role {
        Role::Assistant => Speaker::Agent,
        Role::Tool => Speaker::Result,
        Role::User
            if entry.kind == EntryKind::Message
                && !NOT_TYPED.iter().any(|start| text.trim_start().starts_with(start)) =>
        {
            Speaker::User
        }
        Role::User | Role::System => Speaker::Client,
    }
}

fn text_of_call(arguments: &str, found: &[Act]) -> String {
    let value: Option<Value> = serde_json::from_str(arguments).ok();
    let is_code = match &value {
        Some(Value::Object(fields)) => fields.len() == 1 && fields.contains_key("input"),
        _ => true,
    };
    let done: Vec<String> = found
        .iter()
        .filter_map(|act| match act {
            Act::Command(command) => Some(command.line.clone()),
            Act::File(file) => Some(format!("{}\n{}", file.path, file.added_lines().join("\n"))),
            _ => None,
        })
        .collect();
    match value {
        _ if is_code && !done.is_empty() => done.join("\n"),
        Some(Value::Object(fields)) => {
            let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            fields.values().map(text).collect::<Vec<_>>().join("\n")
        }
        _ => arguments.to_owned(),
    }
}

/// Numbers that tools put before lines belong to no file.
fn without_number(line: &str, speaker: Speaker) -> &str {
    let rest = line.trim_start().trim_start_matches(|char: char| char.is_ascii_digit());
    let has_number = rest.len() < line.trim_start().len() && speaker == Speaker::Result;
    let marks = ["→", "\t", ": ", ":", "|"];
    marks.iter().find_map(|mark| rest.strip_prefix(mark)).filter(|_| has_number).unwrap_or(line)
}

/// Cuts a long line where blanks are.
fn pieces(line: &str) -> Vec<String> {
    let line = line.trim();
    if line.chars().count() <= 400 {
        return if line.len() < 4 { Vec::new() } else { vec![line.to_owned()] };
    }
    let mut found = vec![String::new()];
    let start: String = line.chars().take(20_000).collect();
    for word in start.split_inclusive(char::is_whitespace) {
        let word: String = word.chars().take(240).collect();
        match found.last_mut().filter(|piece| piece.chars().count() + word.chars().count() <= 240) {
            Some(piece) => piece.push_str(&word),
            None => found.push(word),
        }
    }
    found
}
