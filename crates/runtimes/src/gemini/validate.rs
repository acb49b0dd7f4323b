//! Checks a session as Gemini CLI would load it, and counts what would reach the model.
//!
//! It repairs nothing. What is called fatal was tried with the real loader (0.61.0).

use std::collections::HashSet;

use stemmata_model::Part;

use super::record::{Call, Fields, Kind, Record, apart, elements, message_kind};
use crate::adapter::{Finding, Severity, Validation, Validator};
use crate::apart::{each, is_marked};
use crate::findings::Findings;
use crate::json::{is_blank, lone_surrogates, text};
use crate::lines::unknown::shown;

/// Checks a session line by line.
#[derive(Default)]
pub(super) struct LineValidator {
    lines: u64,
    has_header: bool,
    has_records: bool,
    /// The messages that are active, by their ids.
    active: Vec<String>,
    known: HashSet<String>,
    /// Those of them that are for a person only.
    notices: HashSet<String>,
    /// Those of them that the loader dropped, as it went back to a message that is not there.
    dropped: HashSet<String>,
    /// Messages that have no id.
    nameless: u64,
    /// Active messages that the client does not read.
    unread: u64,
    /// Whether the client does not read the header.
    is_headless: bool,
    /// Calls without a result, and the lines they stand in.
    open: Vec<(String, u64)>,
    calls: HashSet<String>,
    findings: Findings,
}

impl LineValidator {
    fn header(&mut self, fields: &Fields<'_>) {
        self.has_header = true;
        for (name, field) in [("sessionId", fields.session_id), ("projectHash", fields.project_hash)] {
            if field.is_none() {
                let message = format!("the session header has no `{name}`: the loader refuses the file");
                self.findings.add(Severity::Fatal, "incomplete_header", Some(self.lines), &message);
            }
        }
    }

    fn message(&mut self, fields: &Fields<'_>) {
        let at = Some(self.lines);
        if let Some(id) = text(fields.id) {
            self.dropped.remove(id.as_ref());
            if self.known.insert(id.to_string()) {
                self.active.push(id.into_owned());
            }
        } else {
            self.nameless += 1;
            let message = "the message has no `id`: the loader refuses the file";
            self.findings.add(Severity::Fatal, "missing_id", at, message);
        }
        for call in elements(fields.tool_calls) {
            let Ok(call) = Call::read(call) else { continue };
            let Some(id) = text(call.id) else { continue };
            let is_new = self.calls.insert(id.to_string());
            if is_new && elements(call.result).is_empty() {
                self.open.push((id.into_owned(), self.lines));
            }
        }
        if message_kind(fields) == Kind::User {
            self.results(fields);
        }
    }

    /// Takes what is for a person only: the conversation can go back to it.
    fn notice(&mut self, fields: &Fields<'_>) {
        let Some(id) = text(fields.id) else { return };
        self.dropped.remove(id.as_ref());
        if self.known.insert(id.to_string()) {
            self.notices.insert(id.to_string());
            self.active.push(id.into_owned());
        }
    }

    /// Counts the active messages that have an id.
    fn active(&self) -> u64 {
        self.count(|_| true)
    }

    fn count(&self, is_one: impl Fn(&String) -> bool) -> u64 {
        let messages = self.active.iter().filter(|id| !self.notices.contains(*id) && is_one(id));
        u64::try_from(messages.count()).unwrap_or(u64::MAX)
    }

    fn results(&mut self, fields: &Fields<'_>) {
        for part in super::part::content(fields.content).1 {
            let Part::ToolResult { call_id, .. } = part else { continue };
            if self.calls.contains(&call_id) {
                self.open.retain(|(open, _)| *open != call_id);
            } else {
                let message = format!("the result of `{call_id}` has no call: the provider may refuse it");
                self.findings.add(Severity::Warning, "result_without_call", Some(self.lines), &message);
            }
        }
    }

    fn clear(&mut self) {
        self.active.clear();
        self.known.clear();
        self.dropped.clear();
        self.nameless = 0;
        self.unread = 0;
        self.open.clear();
        self.calls.clear();
    }

    fn record(&mut self, record: &Record<'_>) {
        let at = Some(self.lines);
        match record.kind {
            Kind::Header => self.header(&record.fields),
            Kind::User | Kind::Gemini => self.message(&record.fields),
            Kind::Set => {
                let Some(messages) = record.checkpoint() else { return };
                self.clear();
                for message in messages.elements().unwrap_or_default() {
                    let Ok(fields) = Fields::read(message) else { continue };
                    match message_kind(&fields) {
                        Kind::User | Kind::Gemini => self.message(&fields),
                        _ => self.notice(&fields),
                    }
                }
            }
            Kind::Rewind => self.rewind(text(record.fields.rewind_to).as_deref()),
            Kind::Notice => self.notice(&record.fields),
            Kind::Unknown => {
                let name = shown(&record.unknown_name());
                let message =
                    format!("the type `{name}` is unknown to us: the loader makes no message of it");
                self.findings.add(Severity::Info, "unknown_type", at, &message);
            }
        }
    }

    fn rewind(&mut self, target: Option<&str>) {
        let place = self.active.iter().position(|id| Some(id.as_str()) == target);
        if target.is_none_or(|target| place.is_none() || self.dropped.contains(target)) {
            self.dropped.extend(self.active.iter().cloned());
            self.unread = 0;
            let message =
                "the conversation goes back to a message that is not there: the loader drops all of it";
            self.findings.add(Severity::Warning, "unknown_rewind", Some(self.lines), message);
        }
        for id in self.active.split_off(place.unwrap_or(self.active.len())) {
            self.known.remove(&id);
            self.dropped.remove(&id);
        }
    }

    /// Takes a record of a line.
    fn found(&mut self, line: &[u8], record: &Record<'_>, is_read: bool) {
        let at = Some(self.lines);
        if !self.has_records && record.kind != Kind::Header {
            let message = "the first record is not a session header: the client refuses the file";
            self.findings.add(Severity::Fatal, "missing_header", at, message);
        }
        self.has_records = true;
        let before = if is_read { 0 } else { self.active() + self.nameless };
        self.record(record);
        let is_said = matches!(record.kind, Kind::User | Kind::Gemini | Kind::Set);
        if !is_read {
            let is_header = record.kind == Kind::Header;
            self.is_headless |= is_header;
            self.unread += (self.active() + self.nameless).saturating_sub(before);
            let message = if is_header && is_marked(line) {
                "a byte order mark stands before the header: the client does not find the session"
            } else {
                "the client passes over the line, which is not one record alone"
            };
            let is_lost = is_header
                || matches!(record.kind, Kind::User | Kind::Gemini)
                || record.checkpoint().is_some();
            let severity = if is_lost { Severity::Fatal } else { Severity::Warning };
            self.findings.add(severity, "unread_record", at, message);
        } else if std::str::from_utf8(line).is_err() {
            let message = "bytes that are not UTF-8 reach the model as U+FFFD";
            self.findings.add(Severity::Info, "not_utf8", at, message);
        }
        if is_said && !lone_surrogates(record.whole.raw()).is_empty() {
            let message = "half of a surrogate pair (`\\ud800` to `\\udfff`) is not a text: the provider refuses every request with it";
            self.findings.add(Severity::Fatal, "lone_surrogate", at, message);
        }
    }
}

impl Validator for LineValidator {
    fn line(&mut self, line: &[u8]) {
        self.lines += 1;
        if is_blank(line) {
            return;
        }
        let taken = each(line, apart, &mut |text, is_read| {
            Record::parse(text).map(|record| self.found(line, &record, is_read))
        });
        if let Err(error) = taken {
            self.findings.unreadable(self.lines, line, &error);
        }
    }

    fn finish(&mut self) -> Validation {
        for (call, line) in std::mem::take(&mut self.open) {
            let message =
                format!("the call `{call}` has no result: the client answers for it when it resumes");
            self.findings.add(Severity::Warning, "call_without_result", Some(line), &message);
        }
        let present = self.active().saturating_add(self.nameless);
        let dropped = self.count(|id| self.dropped.contains(id));
        if !self.has_records {
            self.findings.add(
                Severity::Fatal,
                "missing_header",
                None,
                "there is no record: the loader refuses the file",
            );
        } else if present == dropped && self.has_header {
            let message = "it has no message: the client does not list such a session";
            self.findings.add(Severity::Fatal, "no_messages", None, message);
        }
        // What the provider refuses, the client sends all the same.
        let is_sent = |check: &str| matches!(check, "unread_record" | "lone_surrogate");
        let is_refusal = |finding: &Finding| finding.severity == Severity::Fatal && !is_sent(finding.check);
        let is_refused = self.is_headless || self.findings.iter().any(is_refusal);
        Validation {
            findings: self.findings.take(),
            messages_sent: if is_refused { 0 } else { present.saturating_sub(self.unread + dropped) },
            messages_present: present,
        }
    }
}
