//! Checks an array as its API would: calls and results pair up, sides alternate.
//!
//! It repairs nothing. What is called fatal the API refuses with an error.

use stemmata_model::{Part, Role};

use crate::adapter::{Severity, Validation, Validator};
use crate::document::{Dialect, Record};
use crate::findings::DocumentCheck;
use crate::json::is_blank;
use crate::lines::Line;

/// What an API demands beyond calls and results in pairs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    /// A conversation begins with the user, and an answer follows no answer.
    pub(crate) alternates: bool,
    /// All results of a message's calls stand in the one message behind it; else in messages of their own, before
    /// anything else is said.
    pub(crate) results_at_once: bool,
    /// No text is white space only, no message says nothing, and results stand first in theirs.
    pub(crate) is_strict: bool,
}

/// Checks whole arrays.
pub(crate) struct MessagesValidator {
    dialect: &'static Dialect,
    rules: Rules,
    found: DocumentCheck,
}

impl MessagesValidator {
    pub(crate) fn new(dialect: &'static Dialect, rules: Rules) -> Self {
        Self { dialect, rules, found: DocumentCheck::default() }
    }

    fn check(&mut self, records: &[Record]) {
        let mut open: Vec<String> = Vec::new();
        let mut before: Option<Role> = None;
        for (number, record) in records.iter().enumerate().map(|(index, record)| (index + 1, record)) {
            let line = &record.line;
            if let Some(name) = &line.unknown {
                let message =
                    format!("message {number} has the role or type `{name}`, which the API does not know");
                self.found.find(Severity::Fatal, "unknown_role", message);
            }
            if !line.is_message() {
                continue;
            }
            self.found.messages += 1;
            // What an API summarized may begin a conversation, though it is an answer.
            let begins = matches!(line.parts.first(), Some(Part::Summary { .. }));
            self.sides(number, line.role, before.or(begins.then_some(Role::User)));
            if self.rules.is_strict {
                self.content(number, line);
            }
            let mut is_answer = false;
            for part in &line.parts {
                let Part::ToolResult { call_id, .. } = part else { continue };
                is_answer = true;
                // Of two calls with one id each waits for a result.
                if let Some(place) = open.iter().position(|call| call == call_id) {
                    open.remove(place);
                } else {
                    let message =
                        format!("message {number} answers `{call_id}`, and no call of this id waits for it");
                    self.found.find(Severity::Fatal, "result_without_call", message);
                }
            }
            if self.rules.results_at_once || line.role == Role::User || goes_on(line, is_answer) {
                for call in open.drain(..) {
                    let message = format!("the call `{call}` has no result before message {number}");
                    self.found.find(Severity::Fatal, "call_without_result", message);
                }
            }
            open.extend(line.parts.iter().filter_map(|part| match part {
                Part::ToolCall { call_id, .. } => Some(call_id.clone()),
                _ => None,
            }));
            before = Some(line.role);
        }
        for call in open {
            let message = format!("the call `{call}` is not answered yet: its result has to be added first");
            self.found.find(Severity::Warning, "open_call", message);
        }
    }

    fn content(&mut self, number: usize, line: &Line) {
        let is_blank = |part: &Part| matches!(part, Part::Text(text) if text.trim().is_empty());
        let is_result = |part: &Part| matches!(part, Part::ToolResult { .. });
        if line.parts.iter().all(is_blank) {
            let message = format!("message {number} says nothing: the API refuses it");
            self.found.find(Severity::Fatal, "blank_text", message);
        } else if line.parts.iter().any(is_blank) {
            let message = format!("message {number} holds a text of white space: the API refuses it");
            self.found.find(Severity::Fatal, "blank_text", message);
        }
        if line.role == Role::Tool && !line.parts.is_sorted_by_key(|part| !is_result(part)) {
            let message =
                format!("message {number} holds results behind what is said: the API wants them first");
            self.found.find(Severity::Fatal, "results_not_first", message);
        }
    }

    fn sides(&mut self, number: usize, role: Role, before: Option<Role>) {
        if !self.rules.alternates {
            return;
        }
        if before.is_none() && role == Role::Assistant {
            self.found.find(Severity::Fatal, "begins_with_answer", "the first message is an answer");
        }
        if before == Some(Role::Assistant) && role == Role::Assistant {
            let message = format!("message {number} is an answer to an answer: the API takes both for one");
            self.found.find(Severity::Info, "answer_follows_answer", message);
        }
    }
}

impl Validator for MessagesValidator {
    fn line(&mut self, document: &[u8]) {
        if is_blank(document) {
            return;
        }
        match (self.dialect.read)(document) {
            Ok(records) => self.check(&records),
            Err(error) => self.found.unreadable(document, &error),
        }
    }

    fn finish(&mut self) -> Validation {
        self.found.need_messages("there is no message");
        self.found.take()
    }
}

/// Returns whether a message says something else while results are still awaited. Calls of one answer may stand in
/// messages of their own.
pub(super) fn goes_on(line: &Line, is_answer: bool) -> bool {
    let is_call = line.parts.iter().all(|part| matches!(part, Part::ToolCall { .. } | Part::Thinking { .. }));
    !is_answer && !is_call && line.role == Role::Assistant
}
