//! Checks a session as pi would load it, and counts what would reach the model.
//!
//! It repairs nothing. What it looks for was tried with the real loader (0.73.1): it refuses next to nothing, and loses
//! history without a word.

use std::collections::HashSet;

use super::record::{Kind, NEWEST_VERSION, Record, apart};
use super::trail::{Sent, Trail, Waiting, Way};
use super::tree::{Parent, Row};
use crate::adapter::{Finding, Severity, Validation, Validator};
use crate::apart::{each, is_marked};
use crate::findings::Findings;
use crate::json::is_blank;
use crate::lines::unknown::shown;

/// Checks a session line by line.
#[derive(Default)]
pub(super) struct LineValidator {
    lines: u64,
    trail: Trail,
    /// Whether the client does not read the header.
    is_headless: bool,
    /// Lines of the fourth version, the header being 0.
    numbered: u64,
    findings: Findings,
}

impl LineValidator {
    /// Takes a record of a line.
    fn found(&mut self, line: &[u8], record: &Record<'_>, is_read: bool) {
        let is_header = self.trail.is_linear.is_none();
        self.record(record);
        let at = Some(self.lines);
        if !is_read {
            let is_node = self.trail.nodes.last().is_some_and(|node| node.line == self.lines);
            if is_node {
                self.trail.pass_over_last();
            }
            let message = if is_header && is_marked(line) {
                "a byte order mark stands before the header: pi 1 takes the file for empty"
            } else {
                "the client passes over the line, which is not one record alone"
            };
            let severity = if is_header || record.is_seen() { Severity::Fatal } else { Severity::Warning };
            self.findings.add(severity, "unread_record", at, message);
            self.is_headless |= is_header;
        } else if std::str::from_utf8(line).is_err() {
            let message = "bytes that are not UTF-8 reach the model as U+FFFD";
            self.findings.add(Severity::Info, "not_utf8", at, message);
        }
    }

    fn record(&mut self, record: &Record<'_>) {
        let at = Some(self.lines);
        let is_first = self.trail.is_linear.is_none();
        let row = self.trail.take(record, self.lines);
        self.number(record);
        if is_first {
            self.header(record);
        } else if !row.is_header {
            self.entry(record, &row);
        }
        if record.is_role("assistant") && record.message.usage.is_none() {
            let message = "the answer has no `usage`: the client crashes on it";
            self.findings.add(Severity::Fatal, "missing_usage", at, message);
        }
        if let Some(name) = record.unknown() {
            let made =
                if record.is_seen() { "it is sent as it is" } else { "the loader makes no message of it" };
            let message = format!("the type `{}` is unknown to us: {made}", shown(&name));
            self.findings.add(Severity::Info, "unknown_type", at, &message);
        }
    }

    /// Checks the number of a line of the fourth version.
    fn number(&mut self, record: &Record<'_>) {
        let number = record.envelope.seq.and_then(|seq| seq.number()).filter(|_| self.trail.is_fourth);
        let Some(number) = number else { return };
        self.numbered += 1;
        if std::mem::replace(&mut self.numbered, number) != number {
            let message = format!(
                "the line has the number {number}, and the one before has not the one before that: the loader refuses the file"
            );
            self.findings.add(Severity::Fatal, "missing_lines", Some(self.lines), message);
        }
    }

    fn header(&mut self, record: &Record<'_>) {
        if self.trail.is_fourth {
            let message = "version 4 of the format is of programs on pi's library: pi itself takes the file for empty and writes over it; `fork` writes a copy of version 3";
            self.findings.add(Severity::Warning, "newer_version", Some(self.lines), message);
        } else if let Some(version) = record.unknown_version() {
            let message = format!(
                "version {version} of the format is not known: it is read as version {NEWEST_VERSION}"
            );
            self.findings.add(Severity::Warning, "unknown_version", Some(self.lines), &message);
        }
        let has_id = record.envelope.id.is_some_and(|id| id.text().is_some());
        if record.kind != Kind::Session || !has_id {
            let message =
                "the first record is not a session header with an `id`: the client treats the file as empty";
            self.findings.add(Severity::Fatal, "missing_header", Some(self.lines), message);
        }
    }

    fn entry(&mut self, record: &Record<'_>, row: &Row) {
        let at = Some(self.lines);
        if self.trail.is_linear == Some(true) {
            return;
        }
        if row.id.is_none() && record.is_seen() {
            let message = "the entry has no `id`: the loader loses it, or everything before it, in silence";
            self.findings.add(Severity::Fatal, "missing_id", at, message);
        } else if row.id.is_some() && row.parent == Parent::Before {
            let message = "the entry has no `parentId`: the loader loses everything before it in silence";
            self.findings.add(Severity::Fatal, "missing_parent_id", at, message);
        }
    }

    /// Looks for calls and results that miss each other, among what is sent.
    fn pairs(&mut self, sent: &Sent) {
        let mut waiting = Waiting::default();
        let mut lost = Vec::new();
        for node in sent.entries.iter().filter_map(|index| self.trail.nodes.get(*index)) {
            let own = waiting.take_node(node, sent.holds).map(|call| (call.to_owned(), node.line));
            lost.append(&mut waiting.held);
            lost.extend(own);
        }
        for (call, line) in lost {
            let message = format!(
                "the result of `{call}` has no call before it: the client sends it so, and the provider refuses every request"
            );
            self.findings.add(Severity::Fatal, "result_without_call", Some(line), &message);
        }
        let open = waiting.calls.into_iter().map(|(call, _, line)| (call, line));
        for (call, line) in waiting.unanswered.into_iter().chain(open) {
            let message = format!(
                "the call `{call}` has no result: the client makes one up that says `No result provided`"
            );
            self.findings.add(Severity::Warning, "call_without_result", Some(line), &message);
        }
    }

    /// Looks at where the way ends and what it passes over.
    fn ends(&mut self, loaded: &Way, whole: &Way) {
        let node = |index: Option<&usize>| index.and_then(|index| self.trail.nodes.get(*index));
        if let Some(node) = self.trail.passed_over(loaded).filter(|_| !self.trail.is_fourth) {
            let message = format!(
                "the compaction holds {} word for word: programs on pi's library send them, pi itself passes over them",
                stemmata_model::plural(node.row.retained, "message")
            );
            self.findings.add(Severity::Warning, "retained_tail", Some(node.line), &message);
        }
        if let Some(node) = node(loaded.circle.as_ref()) {
            let message = "the entry's parents lead in a circle: the loader walks it until memory runs out";
            self.findings.add(Severity::Fatal, "circle", Some(node.line), message);
        }
        if let Some(node) = node(loaded.nodes.last()).filter(|_| loaded.nodes.last() != whole.nodes.last()) {
            let (check, message) = if node.row.is_message {
                let message = "the last entry was written late, or again: others hang on it, and the loader takes the conversation to end there";
                ("late_record", message)
            } else {
                let message = "the last entry is for nobody and hangs on an older one: the loader takes the conversation to end there";
                ("dead_end_last", message)
            };
            self.findings.add(Severity::Fatal, check, Some(node.line), message);
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
        if self.trail.is_linear.is_none() {
            let message = "there is no record: the loader takes the file for empty";
            self.findings.add(Severity::Fatal, "missing_header", None, message);
        }
        let (whole, loaded) = (self.trail.whole(), self.trail.loaded());
        let broken = loaded.broken.and_then(|index| self.trail.nodes.get(index));
        if let Some(line) = broken.filter(|node| node.row.parent != Parent::Before).map(|node| node.line) {
            let message = "the entry's parent is not there: the loader loses everything before it in silence";
            self.findings.add(Severity::Fatal, "dangling_parent", Some(line), message);
        }
        let present = self.trail.sent(&whole, true);
        // Programs on pi's library send what a compaction holds; that pi itself passes over it is said.
        let sent = self.trail.sent(&loaded, true);
        if sent.lacks_kept {
            let message = "the first entry that the last compaction keeps is not before it: it keeps nothing";
            self.findings.add(Severity::Warning, "kept_entry_missing", None, message);
        }
        self.ends(&loaded, &whole);
        self.pairs(&sent);
        let said = self.trail.count(&sent);
        // What is sent of a branch that was left is said, too.
        let on_way: HashSet<usize> = whole.nodes.iter().copied().collect();
        let left = sent.entries.into_iter().filter(|index| !on_way.contains(index)).collect();
        let left = self.trail.count(&Sent { entries: left, ..sent });
        // An end ahead of the compaction sends what that replaced, which may be more.
        let (present, mut sent) = (self.trail.count(&present).saturating_add(left).max(said), said);
        let is_refused = |finding: &Finding| {
            matches!(finding.check, "missing_header" | "missing_usage" | "missing_lines" | "circle")
        };
        let is_unread = |finding: &Finding| matches!(finding.check, "unread_record" | "unreadable_line");
        if self.is_headless
            // The loader of the fourth version refuses a file with a line that it cannot read.
            || self.trail.is_fourth && self.findings.iter().any(is_unread)
            || self.findings.iter().any(is_refused)
        {
            sent = 0;
        }
        Validation { findings: self.findings.take(), messages_sent: sent, messages_present: present }
    }
}
