//! The groups of cases in a file of the shape of `zeroshot_context.json`.
//!
//! A group that is not known fails by name: a file may not be half run.

use serde_json::{Map, Value, json};
use stemmata_model::{
    Estimate, Json, NewEvent, NewPayload, Party, SessionId, TokenCounter, Topic, may_replay,
};

use super::CaseVerdict;
use super::packs::pack_cases;
use super::snapshots::snapshot_cases;
use super::sources::{render_case, selection_cases};
use stemmata_prompt::strategy::{Priority, SourceTopic};

/// Characters of a made-up text at most, so that no file makes this one allocate without end.
pub(super) const TEXT_CHARS_MAX: usize = 10_000_000;

/// Runs every case of a file. The text is JSON of the shape of `zeroshot_context.json`; lengths in it are UTF-16 code
/// units, and are counted so.
///
/// # Errors
/// Where the text is no JSON object, or a case in it lacks what makes it one: what, in words.
pub(crate) fn run_context(text: &str) -> Result<Vec<CaseVerdict>, String> {
    let root = Json::value_of(text).map_err(|error| error.to_string())?;
    let groups = root.as_object().ok_or("the file is not a JSON object")?;
    let mut verdicts = Vec::new();
    for (group, cases) in groups {
        verdicts.extend(of_group(group, cases, groups).map_err(|error| format!("{group}: {error}"))?);
    }
    Ok(verdicts)
}

fn of_group(group: &str, cases: &Value, groups: &Map<String, Value>) -> Result<Vec<CaseVerdict>, String> {
    match group {
        "source" => Ok(Vec::new()),
        "contextPacks" => pack_cases(group, cases),
        "estimateTokensFromChars" => estimates(group, cases),
        "sourceSelection" => selection_cases(group, cases),
        "sourceRender" => {
            let messages = groups.get("sourceSelection").and_then(|group| group.get("messages"));
            render_case(
                group,
                cases,
                messages.ok_or("its messages are those of `sourceSelection`, which is missing")?,
            )
        }
        "priorityDefaults" => priorities(group, cases),
        "replayPolicy" => replay(group, cases),
        "stateSnapshot" | "snapshotRedelivery" | "snapshotOtherCluster" | "snapshotBootstrap" => {
            snapshot_cases(group, groups)
        }
        _ => Ok(vec![CaseVerdict::of(group.to_owned(), cases, &json!("a group of cases that is not known"))]),
    }
}

/// Returns a group's cases.
pub(super) fn list(cases: &Value) -> Result<&Vec<Value>, String> {
    cases.as_array().ok_or_else(|| "no list of cases".to_owned())
}

/// Returns a field's text.
pub(super) fn text<'a>(case: &'a Value, field: &str) -> Result<&'a str, String> {
    case.get(field)
        .and_then(Value::as_str)
        .ok_or_else(|| format!("a case without the text `{field}`: {case}"))
}

fn estimates(group: &str, cases: &Value) -> Result<Vec<CaseVerdict>, String> {
    let verdicts = list(cases)?.iter().map(|case| {
        let chars = text(case, "chars")?;
        let expected = case.get("tokens").cloned().unwrap_or_default();
        let count = |text: String| json!(Estimate.count(&text).0);
        let found = match chars.parse::<usize>() {
            Ok(chars) if chars > TEXT_CHARS_MAX => return Err(format!("{chars} characters are too many")),
            Ok(chars) => count("x".repeat(chars)),
            Err(_) => json!("no count of characters"),
        };
        Ok(CaseVerdict::of(format!("{group}/{chars}"), &expected, &found))
    });
    verdicts.collect()
}

fn priorities(group: &str, cases: &Value) -> Result<Vec<CaseVerdict>, String> {
    let verdicts = list(cases)?.iter().map(|case| {
        let name = text(case, "topic")?;
        let topic = SourceTopic::Ledger(Topic::new(name).map_err(|error| error.to_string())?);
        let expected = case.get("priority").cloned().unwrap_or_default();
        let found = json!(Priority::default_of(&topic).as_str());
        Ok(CaseVerdict::of(format!("{group}/{name}"), &expected, &found))
    });
    verdicts.collect()
}

/// The decision is taken when an event is made: the flag is stored with it, and a query filters by it.
fn replay(group: &str, cases: &Value) -> Result<Vec<CaseVerdict>, String> {
    let verdicts = list(cases)?.iter().enumerate().map(|(index, case)| {
        let message = case.get("message").ok_or("a case without a message")?;
        let topic = Topic::new(text(message, "topic")?).map_err(|error| error.to_string())?;
        let json = |value: Option<&Value>| value.filter(|value| !value.is_null()).map(Json::of);
        let data = json(message.get("content").and_then(|content| content.get("data")));
        let metadata = json(message.get("metadata"));
        let asked = may_replay(&topic, data.as_ref(), metadata.as_ref());
        let name = |error: stemmata_model::NameError| error.to_string();
        let (session, sender) = (SessionId::new("c").map_err(name)?, Party::new("s").map_err(name)?);
        let event = NewEvent::new(session, topic, sender, NewPayload::Plain { text: None, data });
        let event = match metadata {
            Some(metadata) => event.with_metadata(metadata),
            None => event,
        };
        let expected = case.get("replayable").cloned().unwrap_or_default();
        let found =
            if asked == event.replayable { json!(asked) } else { json!("the event has another flag") };
        Ok(CaseVerdict::of(format!("{group}/{index}"), &expected, &found))
    });
    verdicts.collect()
}
