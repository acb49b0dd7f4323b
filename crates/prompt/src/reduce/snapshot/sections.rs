//! The sections of a snapshot: what of an event enters them, and how much.
//!
//! Characters are Unicode scalar values. What is cut ends in three dots within its bound; of lists the last stay.

use serde_json::{Map, Value};

use super::Section;
use crate::reduce::cut::{cut, line};

/// Characters of a task's text at most.
pub const TASK_CHARS_MAX: usize = 2_000;
/// Characters of a plan's text at most.
pub const PLAN_CHARS_MAX: usize = 2_500;
/// Characters of the plan of a fix at most.
pub const FIX_PLAN_CHARS_MAX: usize = 1_200;
/// Characters of a title or summary at most.
pub const SUMMARY_CHARS_MAX: usize = 300;
/// Characters of an item of a list, and of any other short text, at most.
pub const LIST_ITEM_CHARS_MAX: usize = 200;
/// Errors of a validation at most.
pub const ERRORS_MAX: usize = 5;
/// Results of criteria at most.
pub const CRITERIA_RESULTS_MAX: usize = 10;
/// Criteria of a plan at most.
pub const ACCEPTANCE_CRITERIA_MAX: usize = 10;
/// Files of a plan at most.
pub const FILES_AFFECTED_MAX: usize = 20;
/// Blockers of a progress at most.
pub const BLOCKERS_MAX: usize = 5;
/// Next steps of a progress at most.
pub const NEXT_STEPS_MAX: usize = 10;
/// Root causes of a failure at most.
pub const ROOT_CAUSES_MAX: usize = 5;

/// What an event of a trigger topic says.
pub(super) struct Said<'a> {
    pub(super) text: Option<&'a str>,
    pub(super) data: Option<&'a Value>,
    pub(super) metadata: Option<&'a Value>,
}

type Fields = Map<String, Value>;

/// Returns what a section says after an event: the inner none is an empty section; the outer none where the event does
/// not speak of it.
#[expect(clippy::option_option, reason = "`nothing said` and `says nothing` are two answers")]
pub(super) fn read(section: Section, said: &Said<'_>) -> Option<Option<Fields>> {
    let none = Value::Null;
    let data = said.data.unwrap_or(&none);
    Some(match section {
        Section::Task => {
            let fields = task(said.text, data, said.metadata.and_then(|metadata| metadata.get("source")));
            (!fields.is_empty()).then_some(fields)
        }
        Section::Plan => Some(plan(said.text, data)),
        Section::Progress => Some(progress(said.text, status(data)?)),
        Section::Validation => Some(validation(data)),
        Section::Debug => Some(debug(said.text, data)),
    })
}

/// Reads a section of an object that a snapshot carries.
pub(super) fn again(section: Section, fields: &Fields) -> Option<Fields> {
    let data = Value::Object(fields.clone());
    let text = |key: &str| fields.get(key).and_then(Value::as_str);
    Some(match section {
        Section::Task => {
            let task = task(text("raw"), &data, fields.get("source"));
            return (!task.is_empty()).then_some(task);
        }
        Section::Plan => plan(text("text"), &data),
        Section::Progress => progress(text("lastSummary"), fields),
        Section::Validation => validation(&data),
        Section::Debug => debug(text("fixPlan"), &data),
    })
}

fn task(text: Option<&str>, data: &Value, source: Option<&Value>) -> Fields {
    let number =
        data.get("issue_number").filter(|number| !number.is_null()).or_else(|| data.get("issueNumber"));
    fields([
        ("raw", text.and_then(|text| block(text, TASK_CHARS_MAX))),
        ("title", summary(data.get("title"))),
        ("issueNumber", number.and_then(number_or_item)),
        ("source", item(source)),
    ])
}

fn plan(text: Option<&str>, data: &Value) -> Fields {
    fields([
        ("text", text.and_then(|text| block(text, PLAN_CHARS_MAX))),
        ("summary", summary(data.get("summary"))),
        ("acceptanceCriteria", list(data.get("acceptanceCriteria"), ACCEPTANCE_CRITERIA_MAX, criterion)),
        ("filesAffected", strings(data.get("filesAffected"), FILES_AFFECTED_MAX)),
    ])
}

/// Returns where an event says how far a worker is.
fn status(data: &Value) -> Option<&Fields> {
    if let Some(status) = data.get("completionStatus").and_then(Value::as_object) {
        return Some(status);
    }
    let fields = data.as_object()?;
    (fields.contains_key("canValidate") || fields.contains_key("percentComplete")).then_some(fields)
}

fn progress(text: Option<&str>, status: &Fields) -> Fields {
    let said = text.filter(|text| !text.is_empty()).map(Value::from);
    fields([
        ("canValidate", status.get("canValidate").and_then(boolean)),
        ("percentComplete", status.get("percentComplete").and_then(whole)),
        ("blockers", strings(status.get("blockers"), BLOCKERS_MAX)),
        ("nextSteps", strings(status.get("nextSteps"), NEXT_STEPS_MAX)),
        ("lastSummary", summary(said.as_ref().or_else(|| status.get("summary")))),
    ])
}

fn validation(data: &Value) -> Fields {
    let errors = match data.get("errors") {
        Some(Value::Array(_)) => strings(data.get("errors"), ERRORS_MAX),
        _ => list(data.get("issues"), ERRORS_MAX, |issue| {
            named(issue, &["bug", "message", "error", "summary"])
        }),
    };
    fields([
        ("approved", data.get("approved").and_then(boolean)),
        ("errors", errors),
        ("criteriaResults", list(data.get("criteriaResults"), CRITERIA_RESULTS_MAX, criterion_result)),
    ])
}

fn debug(text: Option<&str>, data: &Value) -> Fields {
    fields([
        ("fixPlan", text.and_then(|text| block(text, FIX_PLAN_CHARS_MAX))),
        ("successCriteria", summary(data.get("successCriteria"))),
        (
            "rootCauses",
            list(data.get("rootCauses"), ROOT_CAUSES_MAX, |cause| {
                named(cause, &["cause", "summary", "description"])
            }),
        ),
    ])
}

fn criterion(value: &Value) -> Option<Value> {
    if value.is_string() {
        return item(Some(value));
    }
    let fields = value.as_object()?;
    let text = |key: &str| fields.get(key).and_then(scalar).filter(|text| !text.is_empty());
    let says = ["criterion", "text", "summary"].into_iter().find_map(text).unwrap_or_default();
    let label = text("id").map_or_else(String::new, |id| {
        text("priority").map_or_else(|| format!("{id}: "), |priority| format!("{id} ({priority}): "))
    });
    item(Some(&Value::from(format!("{label}{says}"))))
}

fn criterion_result(value: &Value) -> Option<Value> {
    let evidence = value.get("evidence").map(|evidence| {
        fields([
            ("command", item(evidence.get("command"))),
            ("exitCode", evidence.get("exitCode").and_then(whole)),
        ])
    });
    let result = fields([
        ("id", item(value.get("id"))),
        ("status", item(value.get("status"))),
        ("reason", item(value.get("reason"))),
        ("evidence", evidence.filter(|fields| !fields.is_empty()).map(Value::Object)),
    ]);
    (!result.is_empty()).then_some(Value::Object(result))
}

/// Returns a text, or the first of an object's that is there.
fn named(value: &Value, keys: &[&str]) -> Option<Value> {
    if value.is_string() {
        return item(Some(value));
    }
    keys.iter().find_map(|key| item(value.get(*key)))
}

fn strings(value: Option<&Value>, count_max: usize) -> Option<Value> {
    list(value, count_max, |one| item(Some(one)))
}

fn list(value: Option<&Value>, count_max: usize, read: impl Fn(&Value) -> Option<Value>) -> Option<Value> {
    let mut items: Vec<Value> = value?.as_array()?.iter().rev().filter_map(read).take(count_max).collect();
    items.reverse();
    (!items.is_empty()).then_some(Value::Array(items))
}

fn item(value: Option<&Value>) -> Option<Value> {
    short(value, LIST_ITEM_CHARS_MAX)
}

fn summary(value: Option<&Value>) -> Option<Value> {
    short(value, SUMMARY_CHARS_MAX)
}

fn short(value: Option<&Value>, chars_max: usize) -> Option<Value> {
    let text = line(&scalar(value?)?, chars_max);
    (!text.is_empty()).then_some(Value::String(text))
}

/// Returns a text, a number or a truth as text; nothing of what has parts.
fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn number_or_item(value: &Value) -> Option<Value> {
    if value.is_i64() { Some(value.clone()) } else { item(Some(value)) }
}

fn boolean(value: &Value) -> Option<Value> {
    match value {
        Value::Bool(_) => Some(value.clone()),
        Value::String(text) if text == "true" => Some(true.into()),
        Value::String(text) if text == "false" => Some(false.into()),
        _ => None,
    }
}

/// Returns a number, rounded: floats have no canonical form.
fn whole(value: &Value) -> Option<Value> {
    if value.is_i64() {
        return Some(value.clone());
    }
    #[expect(clippy::cast_possible_truncation, reason = "a cast to an integer ends at its bounds")]
    let rounded = value.as_f64()?.round() as i64;
    Some(rounded.into())
}

/// Returns a text with its lines, cut.
fn block(text: &str, chars_max: usize) -> Option<Value> {
    let text = cut(text.trim(), chars_max);
    (!text.is_empty()).then_some(Value::String(text))
}

fn fields<const N: usize>(pairs: [(&str, Option<Value>); N]) -> Fields {
    pairs.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
}
