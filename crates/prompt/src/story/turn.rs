//! A turn as a person reads it: what was said, thought and called, in the order of its entries.
//!
//! Whole texts and no widths: what is folded is the reader's to decide.

use std::collections::HashMap;
use std::iter::Peekable;
use std::vec::IntoIter;

use stemmata_acts::{Act, CallLine, Outcome, ToolUse, exit_code, tool_uses};
use stemmata_model::{Entry, EntryKind, Estimate, Part, Role, TokenCounter as _};

use super::prompt::{Frame, is_main, prompt_text};

/// A piece of a turn, and the position of the entry that it is of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnPiece {
    /// The position among the entries that were read.
    pub position: usize,
    /// What it is.
    pub what: Told,
}

/// What a piece of a turn is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// A person's prompt.
    Prompt(String),
    /// What the agent said.
    Said(String),
    /// What the agent thought.
    Thought {
        /// Empty where only the provider can read it.
        text: String,
        /// Its estimated tokens; 0 where it cannot be read.
        tokens: u64,
    },
    /// A call with its end.
    Called(Box<TurnCall>),
    /// The result of a call that an earlier commit made.
    Result {
        /// Whether it is an error.
        is_error: bool,
        /// Its texts.
        text: String,
    },
    /// The summary that a compaction left.
    Summary(String),
}

/// A call, and what came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnCall {
    /// The call.
    pub call_id: String,
    /// The tool, as the client spells it.
    pub tool: String,
    /// What it is about.
    pub line: CallLine,
    /// How it ended.
    pub outcome: Outcome,
    /// The exit code of a command that failed.
    pub exit_code: Option<i64>,
    /// Whether it starts a subagent.
    pub is_subagent: bool,
    /// The arguments: JSON text, a patch or code.
    pub arguments: String,
    /// What it returned. `None` while there is no answer.
    pub answer: Option<String>,
    /// The position of the entry that holds the answer.
    pub answered_at: Option<usize>,
}

impl TurnCall {
    /// Returns the line of an error that says most, where the call failed.
    pub fn error(&self) -> Option<&str> {
        match &self.outcome {
            Outcome::Failed { why } => Some(why.as_str()).filter(|why| !why.is_empty()),
            _ => None,
        }
    }

    fn of(used: ToolUse<'_>, root: Option<&str>) -> Self {
        let is_failed = matches!(used.outcome, Outcome::Failed { .. });
        let is_command = used.acts.iter().any(|act| matches!(act, Act::Command(_)));
        let code =
            used.answer.as_ref().filter(|_| is_failed && is_command).and_then(|said| exit_code(&said.text));
        Self {
            // What is told with its end in one part is named by all of the part.
            call_id: if used.call_id.starts_with('{') { String::new() } else { used.call_id.to_owned() },
            tool: used.name.to_owned(),
            line: used.line(root),
            exit_code: code.filter(|code| *code != 0),
            is_subagent: used.acts.contains(&Act::Subagent),
            arguments: used.arguments.into_owned(),
            answer: used.answer.map(|answer| answer.text.into_owned()),
            outcome: used.outcome,
            answered_at: None,
        }
    }
}

/// Returns the pieces of a commit's entries. Records of the client and conversations of subagents within it are left out.
pub fn pieces(entries: &[Entry], frame: Frame<'_>) -> Vec<TurnPiece> {
    let uses = tool_uses(entries).into_iter().peekable();
    let mut teller = Teller { uses, frame, called: HashMap::new(), pieces: Vec::new() };
    for (position, entry) in entries.iter().enumerate() {
        teller.entry(position, entry);
    }
    teller.pieces
}

struct Teller<'e, 'm> {
    uses: Peekable<IntoIter<ToolUse<'e>>>,
    frame: Frame<'m>,
    /// The pieces of calls, by the calls' ids.
    called: HashMap<&'e str, usize>,
    pieces: Vec<TurnPiece>,
}

impl<'e> Teller<'e, '_> {
    fn entry(&mut self, position: usize, entry: &'e Entry) {
        let mut calls: Vec<ToolUse<'e>> = Vec::new();
        while let Some(used) = self.uses.next_if(|used| used.entry == position) {
            calls.push(used);
        }
        if !is_main(entry, self.frame.main) {
            return;
        }
        if let Some(text) = prompt_text(entry, self.frame.main) {
            return self.add(position, Told::Prompt(text));
        }
        let mut calls = calls.into_iter();
        for part in &entry.parts {
            match part {
                Part::ToolCall { .. } => {
                    calls.next().into_iter().for_each(|used| self.call((position, entry), used));
                }
                Part::Opaque { json, .. } => {
                    // A call and its end in one part is named by the part.
                    if calls.as_slice().first().is_some_and(|used| used.call_id == json) {
                        calls.next().into_iter().for_each(|used| self.call((position, entry), used));
                    }
                }
                Part::Text(text) if entry.kind == EntryKind::CompactionSummary => {
                    self.add(position, Told::Summary(text.clone()));
                }
                Part::Summary { text, .. } => self.add(position, Told::Summary(text.clone())),
                Part::Text(text) if entry.role == Role::Assistant && !text.trim().is_empty() => {
                    self.add(position, Told::Said(text.clone()));
                }
                Part::Thinking { text, .. } => {
                    let tokens = Estimate.count(text.trim()).0;
                    self.add(position, Told::Thought { text: text.trim().to_owned(), tokens });
                }
                Part::ToolResult { call_id, is_error, parts } => {
                    let piece = self.called.get(call_id.as_str()).and_then(|at| self.pieces.get_mut(*at));
                    if let Some(TurnPiece { what: Told::Called(call), .. }) = piece {
                        call.answered_at = Some(position);
                    } else {
                        let text = stemmata_acts::Answer::of(*is_error, parts).text.into_owned();
                        self.add(position, Told::Result { is_error: *is_error, text });
                    }
                }
                Part::Text(_) | Part::Image { .. } | Part::File { .. } => {}
            }
        }
    }

    fn call(&mut self, (position, entry): (usize, &Entry), used: ToolUse<'e>) {
        self.called.insert(used.call_id, self.pieces.len());
        let root = entry.meta.cwd.as_deref().or(self.frame.root);
        self.add(position, Told::Called(Box::new(TurnCall::of(used, root))));
    }

    fn add(&mut self, position: usize, what: Told) {
        self.pieces.push(TurnPiece { position, what });
    }
}
