//! The cases of seed 004's implementation, in the shape of `zagent_context.json`.
//!
//! Stemmata has no such rules. Its retrieval rule is the baseline that recall is measured against, so that it stands here and
//! is asked of the file's turns; the other cases deviate by name, each with what is done in its place.

use serde_json::Value;
use stemmata_model::Json;

use super::source::{SourceTurn, relevant_by_the_source};
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
const RECALL: &str = "turns are recalled by words, links and age with explained scores; the source's rule is the baseline \
                      that recall is measured against";
const PROMPT: &str =
    "a prompt is made by a strategy within a budget, and what is recalled in it is quoted as data";
const COMPACTION: &str = "a summary says by rules or a model what was decided, done and left open; turns are not cut at 220 \
                          bytes, and no older summary is nested in it";

/// Returns the turns of a file: the prompt that has all of them lists their texts. Which of them called tools is not in the
/// file: one outside the last four that every query found did.
fn turns_of(cases: &serde_json::Map<String, Value>) -> Option<Vec<SourceTurn>> {
    let count = usize::try_from(cases.get("turns")?.as_u64()?).ok()?;
    let prompts = cases.iter().filter(|(name, _)| name.starts_with("prompt_for_"));
    let texts =
        prompts.filter_map(|(_, prompt)| said_in(prompt.as_str()?)).find(|texts| texts.len() == count)?;
    let whole = cases.values().filter(|case| case.get("max").and_then(Value::as_u64) >= Some(count as u64));
    let found: Vec<Vec<u64>> = whole.filter_map(indices_of).collect();
    let is_always_found =
        |at: usize| !found.is_empty() && found.iter().all(|places| places.contains(&(at as u64)));
    let turn = |(at, text): (usize, String)| SourceTurn {
        has_calls: at + 4 < count && is_always_found(at),
        has_files: false,
        text,
    };
    Some(texts.into_iter().enumerate().map(turn).collect())
}

fn said_in(prompt: &str) -> Option<Vec<String>> {
    let (_, turns) = prompt.split_once("Relevant turns:\n")?;
    let (turns, _) = turns.split_once("\n\nCurrent user request:")?;
    let text = |line: &str| {
        line.strip_prefix("User: ").or_else(|| line.strip_prefix("Assistant: ")).map(str::to_owned)
    };
    turns.lines().map(text).collect()
}

fn indices_of(case: &Value) -> Option<Vec<u64>> {
    case.get("indices")?.as_array()?.iter().map(Value::as_u64).collect()
}

/// Asks the source's rule again for a case of retrieval.
fn of_retrieval(case: &Value, turns: &[SourceTurn]) -> Verdict {
    let asked = (case.get("query").and_then(Value::as_str), case.get("max").and_then(Value::as_u64));
    let (Some(query), Some(max)) = asked else {
        return Verdict::Failed { difference: "a case without `query` and `max`".to_owned() };
    };
    let mut places = relevant_by_the_source(turns, query, usize::try_from(max).unwrap_or(usize::MAX));
    places.sort_unstable();
    let found: Vec<u64> = places.into_iter().map(|at| at as u64).collect();
    let expected = indices_of(case).unwrap_or_default();
    if found == expected {
        return Verdict::Deviates {
            reason: RECALL,
            difference: format!("the source's rule finds {found:?} here too"),
        };
    }
    Verdict::Failed { difference: format!("the source's rule: expected {expected:?}, found {found:?}") }
}

/// Returns whether a file has this shape.
pub(super) fn is_shape(groups: &serde_json::Map<String, Value>) -> bool {
    groups.keys().any(|key| key.starts_with("messagesJson_for_"))
}

/// Asks the source's retrieval rule again, and names every other case with what is done in its place.
///
/// # Errors
/// Where the text is no JSON object.
pub(crate) fn run_zagent(text: &str) -> Result<Vec<CaseVerdict>, String> {
    let root = Json::value_of(text).map_err(|error| error.to_string())?;
    let cases = root.as_object().ok_or("the file is not a JSON object")?;
    let turns = turns_of(cases);
    let verdict = |(name, case): (&String, &Value)| {
        let reason = INSTEAD.iter().find(|(prefix, _)| name.starts_with(prefix)).map(|(_, reason)| *reason);
        let verdict = match (reason, &turns) {
            (Some(RECALL), Some(turns)) => of_retrieval(case, turns),
            (Some(reason), _) => Verdict::Deviates { reason, difference: "not asked".to_owned() },
            (None, _) => Verdict::Failed { difference: "a case that is not known".to_owned() },
        };
        CaseVerdict { name: format!("zagent/{name}"), verdict }
    };
    Ok(cases.iter().filter(|(name, _)| *name != "source").map(verdict).collect())
}
