//! Golden vectors: what the implementations of the seeds answered, asked of this crate.
//!
//! A file of the shape of `zeroshot_context.json`, `ai_compact.json`, `ai_tool_output.json` or `moderator_pseudocode.json` is
//! run through the product's own functions; each case holds, is a deviation that [`DEVIATIONS`] and its siblings name with
//! their reasons, or fails. Not about ledgers and files of seed 004, whose cases need a store.

mod compaction;
mod context;
mod deviations;
mod moderator;
mod outputs;
mod packs;
mod snapshots;
mod source;
mod sources;
#[cfg(test)]
mod tests;
mod zagent;

use compaction::run_compaction;
use context::run_context;
#[cfg(test)]
use deviations::{DEVIATIONS, DEVIATIONS_002, DEVIATIONS_003};
use moderator::run_moderator;
use outputs::run_outputs;
use zagent::run_zagent;

use serde_json::Value;

/// Runs every case of a file of any of the shapes.
///
/// # Errors
/// Where the text is no JSON object, or a case in it lacks what makes it one: what, in words.
pub(crate) fn run(text: &str) -> Result<Vec<CaseVerdict>, String> {
    let root = stemmata_model::Json::value_of(text).map_err(|error| error.to_string())?;
    let has = |group: &str| root.get(group).is_some();
    if root.as_object().is_some_and(zagent::is_shape) {
        run_zagent(text)
    } else if has("splitMessagesByTokenBudget") {
        run_compaction(&root)
    } else if has("truncateToolContent") {
        run_outputs(&root)
    } else if has("checkpoint_triggers") {
        run_moderator(&root)
    } else {
        run_context(text)
    }
}

/// What a case came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The product answers the same.
    Held,
    /// It answers otherwise, on purpose.
    Deviates {
        /// Why.
        reason: &'static str,
        /// What is different.
        difference: String,
    },
    /// It answers otherwise, and nobody said why; or it is listed as a deviation, and holds.
    Failed {
        /// What is different.
        difference: String,
    },
}

/// A case and what it came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CaseVerdict {
    /// The group and the name of the case: `contextPacks/all_fit`.
    pub(crate) name: String,
    /// What it came to.
    pub(crate) verdict: Verdict,
}

impl CaseVerdict {
    /// Says whether the case may stand: it holds, or deviates for a documented reason.
    pub(crate) const fn is_fine(&self) -> bool {
        matches!(self.verdict, Verdict::Held | Verdict::Deviates { .. })
    }

    /// Judges a case by what was expected and what was found.
    fn of(name: String, expected: &Value, found: &Value) -> Self {
        let reason = deviations::reason(&name);
        let is_same = expected == found;
        let difference = || difference("", expected, found).unwrap_or_default();
        let verdict = match (is_same, reason) {
            (true, None) => Verdict::Held,
            (true, Some(reason)) => {
                Verdict::Failed { difference: format!("listed as a deviation ({reason}), and holds") }
            }
            (false, Some(reason)) => Verdict::Deviates { reason, difference: difference() },
            (false, None) => Verdict::Failed { difference: difference() },
        };
        Self { name, verdict }
    }
}

/// Characters of a value that a difference shows.
const SHOWN_CHARS_MAX: usize = 200;

/// Returns the first place in which two values differ.
fn difference(path: &str, expected: &Value, found: &Value) -> Option<String> {
    if expected == found {
        return None;
    }
    match (expected, found) {
        (Value::Object(one), Value::Object(two)) => {
            let keys = one.keys().chain(two.keys().filter(|key| !one.contains_key(*key)));
            let null = Value::Null;
            let mut pairs =
                keys.map(|key| (key, one.get(key).unwrap_or(&null), two.get(key).unwrap_or(&null)));
            pairs.find_map(|(key, one, two)| difference(&format!("{path}.{key}"), one, two))
        }
        (Value::Array(one), Value::Array(two)) if one.len() == two.len() => {
            let mut pairs = one.iter().zip(two).enumerate();
            pairs.find_map(|(index, (one, two))| difference(&format!("{path}[{index}]"), one, two))
        }
        _ => {
            let shown = |value: &Value| value.to_string().chars().take(SHOWN_CHARS_MAX).collect::<String>();
            Some(format!("{path}: expected {}, found {}", shown(expected), shown(found)))
        }
    }
}
