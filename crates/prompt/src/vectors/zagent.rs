//! The cases of seed 004's implementation, in the shape of `zagent_context.json`.
//!
//! They are what its rules gave for six turns that the file does not hold apart, so that none can be asked again. What
//! Stemmata does in the place of each rule is a deviation with its reason; a case of another kind fails by name.

use serde_json::Value;
use stemmata_model::Json;

use super::{CaseVerdict, Verdict};

/// How a case's name begins, and what is done in its place.
const INSTEAD: &[(&str, &str)] = &[
    ("turns", A_LEDGER),
    ("chars", A_LEDGER),
    ("relevant_", RECALL),
    ("messagesJson_for_", PROMPT),
    ("prompt_for_", PROMPT),
    ("heuristicSummary_", COMPACTION),
    ("afterCompact", COMPACTION),
    ("hash_of_", "a project is named by its repository or an id of its own, not by a hash of its path"),
];

const A_LEDGER: &str = "turns are events of a ledger and are not counted into a document";
const RECALL: &str = "turns are recalled by words, links and age with explained scores; the source's rule is the baseline of \
                      the benchmark `retrieval`";
const PROMPT: &str =
    "a prompt is made by a strategy within a budget, and what is recalled in it is quoted as data";
const COMPACTION: &str =
    "nothing is cut by a heuristic: a compaction is a summary that somebody wrote, on a branch of its own";

/// Returns whether a file has this shape.
pub(super) fn is_shape(groups: &serde_json::Map<String, Value>) -> bool {
    groups.keys().any(|key| key.starts_with("messagesJson_for_"))
}

/// Names every case of a file with what is done in its place.
///
/// # Errors
/// Where the text is no JSON object.
pub fn run_zagent(text: &str) -> Result<Vec<CaseVerdict>, String> {
    let root = Json::value_of(text).map_err(|error| error.to_string())?;
    let cases = root.as_object().ok_or("the file is not a JSON object")?;
    let verdict = |name: &String| {
        let reason = INSTEAD.iter().find(|(prefix, _)| name.starts_with(prefix)).map(|(_, reason)| *reason);
        let verdict = match reason {
            Some(reason) => Verdict::Deviates { reason, difference: "not asked".to_owned() },
            None => Verdict::Failed { difference: "a case that is not known".to_owned() },
        };
        CaseVerdict { name: format!("zagent/{name}"), verdict }
    };
    Ok(cases.keys().filter(|name| *name != "source").map(verdict).collect())
}
