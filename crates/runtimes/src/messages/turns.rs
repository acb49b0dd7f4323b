//! A conversation in the order that an API demands: turns of two sides, each call answered in the turn behind it.
//!
//! Decided here for all arrays; how a turn is written is each format's.

use std::collections::HashMap;

use stemmata_model::{Entry, EntryKind, Part, Role, Timestamp};

use crate::calls::CallNames;
use crate::placing::CLOSED_TEXT;

/// What stands before what a tool returned, where its call is not there.
pub(crate) const LOST_CALL: &str = "[Result of a tool call that is not here]";

/// What is said where a conversation begins with an answer, and a prompt has to stand before it.
pub(crate) const NO_PROMPT: &str = "[The conversation begins with an answer.]";

/// A result: the call it answers, whether the tool failed, and what it returned.
pub(crate) type Answer = (String, bool, Vec<Part>);

/// What one side says at once.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Turn {
    pub(crate) is_assistant: bool,
    /// Answers to the calls of the turn before.
    pub(crate) results: Vec<Answer>,
    /// All else.
    pub(crate) parts: Vec<Part>,
    /// Of an assistant's: the message that it began with.
    message: Option<String>,
    /// The model that answered.
    pub(crate) model: Option<String>,
    /// When it began.
    pub(crate) at: Option<Timestamp>,
}

/// Puts what a model saw into turns. Instructions are left out: they stand outside of a conversation.
///
/// A result goes behind its call, wherever it came; one without a call is told as text. A call that something follows
/// and that has no result gets a marked one; a call at the end stays open, for whoever goes on to answer.
pub(crate) fn turns(entries: &[Entry]) -> Vec<Turn> {
    let mut maker = Maker::default();
    for entry in entries.iter().filter(|entry| is_said(entry)) {
        if entry.role == Role::Assistant {
            maker.answer(entry);
        } else {
            maker.user(entry);
        }
        maker.date(entry);
    }
    maker.finish()
}

fn is_said(entry: &Entry) -> bool {
    let is_record =
        matches!(entry.kind, EntryKind::Metadata | EntryKind::CompactionBoundary | EntryKind::Unreadable);
    entry.meta.visibility.agent && !is_record && !is_instruction(entry)
}

/// Returns whether an entry is an instruction rather than a turn.
pub(crate) fn is_instruction(entry: &Entry) -> bool {
    entry.role == Role::System && entry.kind == EntryKind::Instruction
}

#[derive(Default)]
struct Maker {
    turns: Vec<Turn>,
    /// The calls so far, each made in the turn of an answer.
    calls: CallNames,
}

impl Maker {
    fn answer(&mut self, entry: &Entry) {
        let message = entry.meta.message_id.clone();
        let at = self.turn_of_answer(message);
        let mut said = Vec::with_capacity(entry.parts.len());
        for part in &entry.parts {
            let mut part = part.clone();
            if let Part::ToolCall { call_id, .. } = &mut part {
                *call_id = self.calls.call(call_id, at);
            }
            said.push(part);
        }
        // A runtime may tell a call and its result in one record.
        for part in &said {
            match part {
                Part::ToolResult { call_id, is_error, parts } => self.result(call_id, *is_error, parts),
                other => {
                    if let Some(turn) = self.turns.get_mut(at) {
                        turn.parts.push(other.clone());
                    }
                }
            }
        }
    }

    /// Notes who spoke last, and when.
    fn date(&mut self, entry: &Entry) {
        if let Some(turn) = self.turns.last_mut() {
            turn.at = turn.at.or(entry.timestamp);
            if turn.is_assistant {
                turn.model = turn.model.take().or_else(|| entry.meta.model.clone());
            }
        }
    }

    /// Returns the turn that an answer belongs to: the last one, or the one before where that is of the same message and
    /// nothing but results stand behind it.
    fn turn_of_answer(&mut self, message: Option<String>) -> usize {
        let last = self.turns.len();
        if let Some(at) = last.checked_sub(1)
            && self.turns.get(at).is_some_and(|turn| turn.is_assistant)
        {
            return at;
        }
        if let Some(at) = last.checked_sub(2)
            && let [.., before, behind] = self.turns.as_slice()
            && message.is_some()
            && before.message == message
            && behind.parts.is_empty()
        {
            return at;
        }
        self.turns.push(Turn { is_assistant: true, message, ..Turn::default() });
        last
    }

    fn user(&mut self, entry: &Entry) {
        for part in &entry.parts {
            match part {
                Part::ToolResult { call_id, is_error, parts } => self.result(call_id, *is_error, parts),
                other => self.say(other.clone()),
            }
        }
        if entry.parts.is_empty() {
            self.last_user();
        }
    }

    fn say(&mut self, part: Part) {
        let at = self.last_user();
        if let Some(turn) = self.turns.get_mut(at) {
            turn.parts.push(part);
        }
    }

    fn last_user(&mut self) -> usize {
        if self.turns.last().is_none_or(|turn| turn.is_assistant) {
            self.turns.push(Turn::default());
        }
        self.turns.len() - 1
    }

    fn result(&mut self, call_id: &str, is_error: bool, parts: &[Part]) {
        let Some((call_id, at)) = self.calls.result(call_id) else {
            self.say(Part::Text(LOST_CALL.to_owned()));
            return parts.iter().for_each(|part| self.say(part.clone()));
        };
        if at + 1 == self.turns.len() {
            self.turns.push(Turn::default());
        }
        self.answered(at, (call_id, is_error, parts.to_vec()));
    }

    fn answered(&mut self, at: usize, result: Answer) {
        if let Some(turn) = self.turns.get_mut(at + 1) {
            turn.results.push(result);
        }
    }

    fn finish(mut self) -> Vec<Turn> {
        let last = self.turns.len();
        let mut open = self.calls.open();
        open.retain(|(_, at)| at + 1 < last);
        open.sort();
        for (call_id, at) in open {
            self.answered(at, (call_id, true, vec![Part::Text(CLOSED_TEXT.to_owned())]));
        }
        self.order_results();
        self.turns
    }

    /// Puts results in the order of their calls: the same conversation gives the same bytes.
    fn order_results(&mut self) {
        for at in 1..self.turns.len() {
            let (before, behind) = self.turns.split_at_mut(at);
            let (Some(calls), Some(turn)) = (before.last(), behind.first_mut()) else { continue };
            let order: HashMap<&str, usize> = calls
                .parts
                .iter()
                .enumerate()
                .filter_map(|(index, part)| match part {
                    Part::ToolCall { call_id, .. } => Some((call_id.as_str(), index)),
                    _ => None,
                })
                .collect();
            turn.results.sort_by_key(|(call, ..)| order.get(call.as_str()).copied());
        }
    }
}
