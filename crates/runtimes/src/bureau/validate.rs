//! Checks arrays: of messages as the provider behind Bureau's agent would, of events that each call has its result.

use std::collections::BTreeSet;

use stemmata_model::Part;

use super::{agent, events};
use crate::adapter::{Severity, Validation, Validator};
use crate::findings::DocumentCheck;
use crate::messages::validate::{MessagesValidator, Rules};

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
    found: DocumentCheck,
}

impl Validator for Events {
    fn line(&mut self, document: &[u8]) {
        let records = match (events::DIALECT.read)(document) {
            Ok(records) => records,
            Err(error) => return self.found.unreadable(document, &error),
        };
        let mut open = BTreeSet::new();
        for record in &records {
            self.found.messages += u64::from(record.line.is_message());
            for part in &record.line.parts {
                match part {
                    Part::ToolCall { call_id, .. } => drop(open.insert(call_id.clone())),
                    Part::ToolResult { call_id, .. } if !open.remove(call_id) => {
                        let message =
                            format!("a result answers `{call_id}`, and no call before it has this id");
                        self.found.find(Severity::Warning, "result_without_call", message);
                    }
                    _ => {}
                }
            }
        }
        for call in open {
            let message = format!("the call `{call}` has no result");
            self.found.find(Severity::Warning, "open_call", message);
        }
    }

    fn finish(&mut self) -> Validation {
        self.found.take()
    }
}
