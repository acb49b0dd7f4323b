//! Checks arrays: of messages as the provider behind Bureau's agent would, of events that each call has its result.

use std::collections::BTreeSet;

use stemmata_model::Part;

use super::{agent, events};
use crate::adapter::{Finding, Severity, Validation, Validator};
use crate::messages::validate::{MessagesValidator, Rules};

/// Findings of one check that are listed at most.
const FINDINGS_MAX: usize = 20;

/// Returns what checks messages: sides in turns, results at once in the message behind their calls.
pub(super) fn of_messages() -> Box<dyn Validator> {
    let rules = Rules { alternates: true, results_at_once: true, is_strict: false };
    Box::new(MessagesValidator::new(&agent::DIALECT, rules))
}

/// Returns what checks events. A log may end anywhere, and nobody refuses one.
pub(super) fn of_events() -> Box<dyn Validator> {
    Box::new(Events::default())
}

#[derive(Default)]
struct Events {
    verdict: Validation,
}

impl Events {
    fn find(&mut self, severity: Severity, check: &'static str, message: String) {
        if self.verdict.findings.iter().filter(|finding| finding.check == check).count() < FINDINGS_MAX {
            self.verdict.findings.push(Finding { severity, check, line: None, message });
        }
    }
}

impl Validator for Events {
    fn line(&mut self, document: &[u8]) {
        let records = match (events::DIALECT.read)(document) {
            Ok(records) => records,
            Err(error) => {
                let note = crate::document::decode::unreadable_note(document, &error);
                return self.find(Severity::Fatal, "unreadable", note.message);
            }
        };
        let mut open = BTreeSet::new();
        for record in &records {
            self.verdict.messages_present += u64::from(record.line.is_message());
            for part in &record.line.parts {
                match part {
                    Part::ToolCall { call_id, .. } => drop(open.insert(call_id.clone())),
                    Part::ToolResult { call_id, .. } if !open.remove(call_id) => {
                        let message =
                            format!("a result answers `{call_id}`, and no call before it has this id");
                        self.find(Severity::Warning, "result_without_call", message);
                    }
                    _ => {}
                }
            }
        }
        for call in open {
            let message = format!("the call `{call}` has no result");
            self.find(Severity::Warning, "open_call", message);
        }
    }

    fn finish(&mut self) -> Validation {
        let mut verdict = std::mem::take(&mut self.verdict);
        verdict.messages_sent = if verdict.is_accepted() { verdict.messages_present } else { 0 };
        verdict
    }
}
