//! What a validator found, bounded.

use std::collections::HashMap;

use crate::adapter::{Finding, Severity, Validation};
use crate::document::decode::unreadable_note;
use crate::json::RecordError;

/// The most findings of one check that are listed: a broken file breaks the same way in every line.
pub(crate) const FINDINGS_OF_A_CHECK_MAX: usize = 20;

/// Findings in the order in which they were made, of each check the first ones.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    list: Vec<Finding>,
    counts: HashMap<&'static str, usize>,
}

impl Findings {
    /// Adds one, unless there are enough of its check.
    pub(crate) fn add(
        &mut self,
        severity: Severity,
        check: &'static str,
        line: Option<u64>,
        message: impl Into<String>,
    ) {
        let count = self.counts.entry(check).or_default();
        *count += 1;
        if *count <= FINDINGS_OF_A_CHECK_MAX {
            self.list.push(Finding { severity, check, line, message: message.into() });
        }
    }

    /// Adds what a loader makes of a line that is no record: it skips it, and ignores a torn end.
    pub(crate) fn unreadable(&mut self, number: u64, line: &[u8], error: &RecordError) {
        if line.ends_with(b"\n") {
            let message = format!("{error}: the loader skips it");
            self.add(Severity::Warning, "unreadable_line", Some(number), message);
        } else {
            let message = "the last line is cut: the loader ignores it";
            self.add(Severity::Info, "torn_tail", Some(number), message);
        }
    }

    /// Returns whether the loader fails on something.
    pub(crate) fn any_fatal(&self) -> bool {
        self.list.iter().any(|finding| finding.severity == Severity::Fatal)
    }

    /// Takes the findings out.
    pub(crate) fn take(&mut self) -> Vec<Finding> {
        self.counts.clear();
        std::mem::take(&mut self.list)
    }

    /// Returns whether nothing was found.
    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Iterates over them.
    pub(crate) fn iter(&self) -> std::slice::Iter<'_, Finding> {
        self.list.iter()
    }
}

/// What a check of a document has found so far, and how many messages it has seen.
#[derive(Debug, Default)]
pub(crate) struct DocumentCheck {
    findings: Findings,
    pub(crate) messages: u64,
}

impl DocumentCheck {
    /// Adds a finding, unless there are enough of its check.
    pub(crate) fn find(&mut self, severity: Severity, check: &'static str, message: impl Into<String>) {
        self.findings.add(severity, check, None, message);
    }

    /// Adds why the document cannot be read.
    pub(crate) fn unreadable(&mut self, document: &[u8], error: &RecordError) {
        self.find(Severity::Fatal, "unreadable", unreadable_note(document, error).message);
    }

    /// Adds that there are no messages, unless something says more about the document.
    pub(crate) fn need_messages(&mut self, message: &str) {
        if self.messages == 0 && self.findings.is_empty() {
            self.find(Severity::Fatal, "no_messages", message);
        }
    }

    /// Takes the verdict out: a document is taken with all its messages, or refused.
    pub(crate) fn take(&mut self) -> Validation {
        let messages_sent = if self.findings.any_fatal() { 0 } else { self.messages };
        Validation {
            findings: self.findings.take(),
            messages_sent,
            messages_present: std::mem::take(&mut self.messages),
        }
    }
}
