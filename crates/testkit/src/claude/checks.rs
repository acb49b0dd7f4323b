//! Checks that lines hang together: parents before children, answers to calls.
//! Not the product's validator: strict about what made-up sessions promise, ignorant of old damage.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// Returns what is wrong with the lines of one file, in words; nothing when all is well.
///
/// A line has to be JSON, its id new, its parents known, and every call answered once by a line that hangs
/// off the call.
pub fn faults(lines: &[String]) -> Vec<String> {
    let mut checks = Checks::default();
    for (index, line) in lines.iter().enumerate() {
        match serde_json::from_str::<Value>(line) {
            Ok(value) => checks.line(index + 1, &value),
            Err(error) => checks.faults.push(format!("line {}: {error}", index + 1)),
        }
    }
    for call in checks.open.keys() {
        checks.faults.push(format!("call {call} is not answered"));
    }
    checks.faults
}

#[derive(Default)]
struct Checks {
    known: BTreeSet<String>,
    /// Calls without an answer, with the line that made them.
    open: BTreeMap<String, String>,
    faults: Vec<String>,
}

impl Checks {
    fn line(&mut self, number: usize, line: &Value) {
        let Some(uuid) = line["uuid"].as_str() else { return };
        for key in ["parentUuid", "logicalParentUuid"] {
            if let Some(parent) = line.get(key).and_then(Value::as_str)
                && !self.known.contains(parent)
            {
                self.faults.push(format!("line {number}: {key} is unknown"));
            }
        }
        if !self.known.insert(uuid.to_owned()) {
            self.faults.push(format!("line {number}: its id was there before"));
        }
        let Some(blocks) = line.pointer("/message/content").and_then(Value::as_array) else {
            return;
        };
        for block in blocks {
            if let Some(id) = block["id"].as_str() {
                self.open.insert(id.to_owned(), uuid.to_owned());
            }
            if let Some(id) = block["tool_use_id"].as_str() {
                let call = self.open.remove(id);
                if call.is_none() || line["parentUuid"].as_str() != call.as_deref() {
                    self.faults.push(format!("line {number}: an answer does not hang off its call"));
                }
            }
        }
    }
}
