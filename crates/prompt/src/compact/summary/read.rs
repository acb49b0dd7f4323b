//! Reads an entry into its counters. What of them goes into a summary is decided in `compose`.

use std::collections::{HashMap, HashSet};

use serde_json::Value;
use stemmata_acts::{
    Act, Answer, Call, Certainty, FileAct, FileChange, Outcome, Reach, TaskAct, Verb, acts,
    complains_of_files, done_item, id_in, judged, listed_in, outcome, verb,
};
use stemmata_model::{Entry, EntryKind, Json, Part, Role};

use super::counted::{
    CallRecord, Change, Counted, Ended, FileRecord, Line, LocalName, Piece, ResultRecord, Sentence, Span,
    Speaker, WAYS, hash,
};
use super::lines::{char_end, collapsed, command, decides, each_line, errors, sentences};
use crate::compact::names::{Class, each_name, names};
use crate::reduce::memory::theirs;

/// Bytes of a text that are read: what is longer is data, and a prompt that long is a file.
const TEXT_BYTES_MAX: usize = 256 * 1024;
/// Characters of a line that may be quoted.
const QUOTED_CHARS: std::ops::RangeInclusive<usize> = 12..=300;
/// Characters of a line that a change puts into a file.
const ADDED_CHARS_MIN: usize = 16;
/// Characters of such a line that are kept.
const ADDED_CHARS_MAX: usize = 100;
/// Lines of a change that are looked at for one to show.
const ADDED_LINES_MAX: usize = 40;
/// Acts of a call that are kept.
const ACTS_MAX: usize = 64;
/// Characters of an answer about tasks.
const TASKS_CHARS_MAX: usize = 20_000;

impl Counted {
    /// Reads an entry. `root` is the folder that the session works in: paths below it are named without it.
    pub fn of(entry: &Entry, root: &str) -> Self {
        let mut reader = Reader::new(root);
        let is_said = !matches!(
            entry.kind,
            EntryKind::CompactionSummary
                | EntryKind::CompactionBoundary
                | EntryKind::ToolSummary
                | EntryKind::Metadata
                | EntryKind::Unreadable
        );
        if is_said && entry.meta.visibility.agent {
            for part in &entry.parts {
                reader.part(entry, part);
            }
        }
        reader.out
    }
}

struct Reader<'r> {
    root: &'r str,
    out: Counted,
    known: HashMap<u64, u32>,
    quoted: HashSet<u64>,
}

impl<'r> Reader<'r> {
    fn new(root: &'r str) -> Self {
        Self { root, out: Counted::default(), known: HashMap::new(), quoted: HashSet::new() }
    }

    fn part(&mut self, entry: &Entry, part: &Part) {
        match part {
            Part::Text(text) => match entry.role {
                Role::Assistant => self.assistant(text),
                Role::User if entry.kind == EntryKind::Message => self.prompt(text),
                Role::User | Role::System => self.said(Speaker::Client, text),
                Role::Tool => self.said(Speaker::Result, text),
            },
            Part::ToolCall { call_id, name, arguments } => {
                let found = acts(Call { name, arguments });
                let text = text_of_call(name, arguments, &found);
                self.call(call_id, &text, &found);
            }
            Part::ToolResult { call_id, is_error, parts } => {
                self.result(call_id, &Answer::of(*is_error, parts));
            }
            Part::File { name, .. } => self.said(Speaker::Client, name),
            Part::Opaque { json, .. } => {
                let Some((name, item)) = done_item(part) else { return };
                let found = acts(Call { name, arguments: &item.arguments });
                self.call(json, &text_of_call(name, &item.arguments, &found), &found);
                self.result(json, &Answer { is_error: item.is_error, text: "".into() });
            }
            Part::Thinking { .. } | Part::Summary { .. } | Part::Image { .. } => {}
        }
    }

    fn prompt(&mut self, text: &str) {
        let own = theirs(text);
        if own.is_empty() {
            return self.said(Speaker::Client, text);
        }
        let span = self.store(clipped(own));
        self.piece(Speaker::User, own).prompt = Some(span);
    }

    fn assistant(&mut self, text: &str) {
        let from = position(self.out.sentences.len());
        for sentence in sentences(clipped(text)) {
            let names = names(sentence, self.root);
            let start = position(self.out.line_names.len());
            let stored = self.store(sentence);
            let ids: Vec<u32> =
                names.iter().map(|name| self.name(name.class, name.text, Some((stored, name.at)))).collect();
            self.out.line_names.extend(ids);
            self.out.sentences.push(Sentence {
                text: stored,
                key: hash(sentence.bytes()),
                names: start..position(self.out.line_names.len()),
                decides: decides(sentence),
            });
        }
        let to = position(self.out.sentences.len());
        self.piece(Speaker::Assistant, text).sentences = from..to;
    }

    fn said(&mut self, speaker: Speaker, text: &str) {
        self.piece(speaker, text);
    }

    fn call(&mut self, id: &str, text: &str, found: &[Act]) {
        let mut record = CallRecord {
            id: hash(id.bytes()),
            judged: judged(found),
            commands: Vec::new(),
            files: Vec::new(),
            tasks: Vec::new(),
            follows: None,
        };
        let mut touched: Vec<u32> = Vec::new();
        for act in found.iter().take(ACTS_MAX) {
            match act {
                Act::File(file) => {
                    touched.extend(self.path(&file.path));
                    record.files.extend(self.file(file));
                }
                Act::Command(run) => {
                    let line = command(&run.line);
                    record.commands.extend(line.map(|line| self.store(&line)));
                    for file in run.files().iter().take(ACTS_MAX) {
                        record.files.extend(self.file(file));
                    }
                }
                Act::Follow { handle } => {
                    record.follows = handle.as_ref().map(|handle| hash(handle.bytes()));
                }
                Act::Tasks(tasks) => record.tasks.push(bounded(tasks)),
                Act::OpenFile(_)
                | Act::Search
                | Act::Fetch
                | Act::Ask
                | Act::Subagent
                | Act::Think
                | Act::Client
                | Act::Unknown => {}
            }
        }
        touched.dedup();
        let head = match touched.as_slice() {
            [one] => Some(*one),
            _ => None,
        };
        let piece = self.piece(Speaker::Call, text);
        piece.head = head;
        piece.call = Some(record);
    }

    fn result(&mut self, id: &str, answer: &Answer<'_>) {
        let outcomes = WAYS.map(|way| outcome(way, answer));
        let handle = outcomes.iter().find_map(|outcome| match outcome {
            Outcome::Running { handle } => handle.as_ref().map(|handle| hash(handle.bytes())),
            _ => None,
        });
        let text = clipped(&answer.text);
        let errors = errors(text).into_iter().map(|line| self.store(line)).collect();
        let says_tasks =
            text.len() <= TASKS_CHARS_MAX && (listed_in(text).is_some() || id_in(text).is_some());
        let head = char_end(text, 200).unwrap_or(text.len());
        let tasks = says_tasks.then(|| {
            let is_list = listed_in(text).is_some();
            self.store(if is_list { text } else { text.get(..head).unwrap_or(text) })
        });
        let record = ResultRecord {
            id: hash(id.bytes()),
            ended: outcomes.map(|outcome| ended(&outcome)),
            handle,
            complains_of_files: complains_of_files(&answer.text),
            errors,
            tasks,
        };
        self.piece(Speaker::Result, &answer.text).result = Some(record);
    }

    /// Adds a piece with the names of its lines.
    fn piece(&mut self, speaker: Speaker, text: &str) -> &mut Piece {
        let from = position(self.out.lines.len());
        let (is_listing, is_quotable) = (speaker == Speaker::Result, speaker != Speaker::User);
        each_line(clipped(text), is_listing, &mut |line| self.line(line, is_quotable));
        let to = position(self.out.lines.len());
        self.out.pieces.push(Piece {
            speaker,
            chars: position(text.chars().count()),
            lines: from..to,
            sentences: 0..0,
            head: None,
            call: None,
            result: None,
            prompt: None,
        });
        self.out.pieces.last_mut().expect("the piece that was just added")
    }

    fn line(&mut self, line: &str, is_quotable: bool) {
        let found = names(line, self.root);
        if found.is_empty() {
            return;
        }
        let collapsed = collapsed(line);
        let key = hash(collapsed.bytes());
        let is_quotable = is_quotable
            && QUOTED_CHARS.contains(&collapsed.chars().count())
            && !line.contains(|char: char| char.is_control() && char != '\t')
            && self.quoted.insert(key);
        let stored = is_quotable.then(|| self.store(line));
        let start = self.out.line_names.len();
        for name in found {
            let id = self.name(name.class, name.text, stored.map(|stored| (stored, name.at)));
            if !self.out.line_names.get(start..).unwrap_or_default().contains(&id) {
                self.out.line_names.push(id);
            }
        }
        let names = position(start)..position(self.out.line_names.len());
        self.out.lines.push(Line { text: stored, key, names });
    }

    /// Returns the position of a name; its text is stored where it does not stand in a line that is.
    fn name(&mut self, class: Class, text: &str, within: Option<(Span, usize)>) -> u32 {
        let hash = hash(text.bytes());
        if let Some(known) = self.known.get(&hash) {
            return *known;
        }
        let span = match within {
            Some((line, at)) => Span { start: line.start + position(at), length: position(text.len()) },
            None => self.store(text),
        };
        let id = position(self.out.names.len());
        self.out.names.push(LocalName { span, class, hash });
        self.known.insert(hash, id);
        id
    }

    /// Returns the name of a file that a tool names.
    fn path(&mut self, path: &str) -> Option<u32> {
        let below = path.strip_prefix(self.root).and_then(|rest| rest.strip_prefix('/'));
        let mut path = below.filter(|_| !self.root.is_empty()).unwrap_or(path);
        while let Some(rest) = path.strip_prefix("./") {
            path = rest;
        }
        let is_name = !path.is_empty() && !path.contains(char::is_control) && char_end(path, 512).is_none();
        let class = if path.contains('/') { Class::Path } else { Class::File };
        is_name.then(|| self.name(class, path, None))
    }

    fn file(&mut self, file: &FileAct) -> Option<FileRecord> {
        if !file.is_change() || file.reach != Reach::File || file.certainty == Certainty::Possible {
            return None;
        }
        let change = match &file.change {
            FileChange::Read => return None,
            FileChange::Write { .. } => Change::Created,
            FileChange::Edit { .. } => Change::Edited,
            FileChange::Delete | FileChange::Move { .. } => Change::Deleted,
        };
        let path = self.path(&file.path)?;
        let old = match &file.change {
            FileChange::Edit { parts } => {
                parts.iter().flat_map(|part| names_of(&part.old, self.root)).collect()
            }
            _ => HashSet::new(),
        };
        let lines = file.added_lines();
        let mut added: Vec<u32> = Vec::new();
        let mut others: Vec<u32> = Vec::new();
        for line in lines.iter().take(4 * ADDED_LINES_MAX) {
            each_name(clipped(line), self.root, &mut |name| {
                let into = if old.contains(&hash(name.text.bytes())) { &mut others } else { &mut added };
                into.push(self.name(name.class, name.text, None));
            });
        }
        let mut added = if added.is_empty() { others } else { added };
        let mut seen = HashSet::new();
        added.retain(|name| *name != path && seen.insert(*name));
        let shown = lines.iter().map(|line| line.trim()).take(ADDED_LINES_MAX);
        let line = shown.filter(|line| char_end(line, ADDED_CHARS_MIN - 1).is_some()).max_by_key(|line| {
            // The first of those with the most letters up to the limit.
            (
                line.chars().take(ADDED_CHARS_MAX).filter(|char| char.is_alphanumeric()).count(),
                std::cmp::Reverse(line.as_ptr()),
            )
        });
        let line = line.map(|line| {
            self.store(line.get(..char_end(line, ADDED_CHARS_MAX).unwrap_or(line.len())).unwrap_or(line))
        });
        Some(FileRecord { path, change, certainty: file.certainty, added, line })
    }

    fn store(&mut self, text: &str) -> Span {
        let start = position(self.out.text.len());
        self.out.text.push_str(text);
        Span { start, length: position(text.len()) }
    }
}

fn names_of(text: &str, root: &str) -> HashSet<u64> {
    names(clipped(text), root).iter().map(|name| hash(name.text.bytes())).collect()
}

/// Lengths of what is read are bounded far below 32 bits.
fn position(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

fn clipped(text: &str) -> &str {
    text.get(..text.floor_char_boundary(TEXT_BYTES_MAX)).unwrap_or(text)
}

fn bounded(tasks: &TaskAct) -> TaskAct {
    match tasks {
        TaskAct::Write { tasks } => TaskAct::Write { tasks: tasks.iter().take(ACTS_MAX).cloned().collect() },
        other => other.clone(),
    }
}

fn ended(outcome: &Outcome) -> Ended {
    match outcome {
        Outcome::Passed => Ended::Passed,
        Outcome::Failed { .. } => Ended::Failed,
        Outcome::Refused => Ended::Refused,
        Outcome::Stopped => Ended::Stopped,
        Outcome::Running { .. } => Ended::Running,
        Outcome::Open | Outcome::Unclear => Ended::Unclear,
    }
}

/// Returns what a call says: the values of its arguments. Of code that makes calls: what these run and write.
fn text_of_call(name: &str, arguments: &str, found: &[Act]) -> String {
    let values = match Json::value_of(arguments) {
        Ok(Value::Object(fields)) => {
            let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            fields.values().map(text).collect::<Vec<_>>().join("\n")
        }
        Ok(_) | Err(_) if verb(name) == Some(Verb::Code) => arguments.to_owned(),
        Ok(_) | Err(_) => return arguments.to_owned(),
    };
    if verb(name) != Some(Verb::Code) {
        return values;
    }
    let is_patch = arguments.trim_start().starts_with("*** Begin Patch");
    let mut said = String::new();
    for act in found.iter().filter(|_| !is_patch) {
        match act {
            Act::Command(command) => said.push_str(&command.line),
            Act::File(file) => {
                said.push_str(&file.path);
                for line in file.added_lines() {
                    said.push('\n');
                    said.push_str(line);
                }
            }
            _ => continue,
        }
        said.push('\n');
    }
    if said.is_empty() { values } else { said }
}
