//! The text of a snapshot: one line a section.
//!
//! What enters the sections is decided elsewhere.

use serde_json::{Map, Value};

use super::Section;
use super::sections::SUMMARY_CHARS_MAX;
use crate::reduce::cut::line;

/// Returns the lines of the sections that have one.
pub(super) fn render<'a>(section: impl Fn(Section) -> Option<&'a Map<String, Value>>) -> String {
    let lines = Section::ALL.into_iter().filter_map(|kind| {
        let fields = section(kind)?;
        match kind {
            Section::Task => first(fields, ["title", "raw"]).map(|text| format!("Task: {text}")),
            Section::Plan => first(fields, ["summary", "text"]).map(|text| format!("Plan: {text}")),
            Section::Progress => progress(fields),
            Section::Validation => Some(validation(fields)),
            Section::Debug => {
                first(fields, ["fixPlan", "successCriteria"]).map(|text| format!("Debug: {text}"))
            }
        }
    });
    lines.collect::<Vec<String>>().join("\n")
}

fn first(fields: &Map<String, Value>, keys: [&str; 2]) -> Option<String> {
    let text = keys.into_iter().find_map(|key| fields.get(key)?.as_str())?;
    Some(line(text, SUMMARY_CHARS_MAX))
}

fn progress(fields: &Map<String, Value>) -> Option<String> {
    let percent = fields.get("percentComplete").map(|percent| format!("{percent}%"));
    let can_validate = fields.get("canValidate").map(|can| format!("canValidate={can}"));
    let next =
        fields.get("nextSteps").and_then(|steps| steps.get(0)?.as_str()).map(|step| format!("next: {step}"));
    let parts: Vec<String> = [percent, can_validate, next].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| format!("Progress: {}", parts.join(" | ")))
}

fn validation(fields: &Map<String, Value>) -> String {
    let status = match fields.get("approved") {
        Some(Value::Bool(true)) => "approved",
        Some(Value::Bool(false)) => "rejected",
        _ => "pending",
    };
    match fields.get("errors").and_then(Value::as_array) {
        Some(errors) => format!("Validation: {status} ({} errors)", errors.len()),
        None => format!("Validation: {status}"),
    }
}
