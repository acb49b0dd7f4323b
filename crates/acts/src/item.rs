//! Items of a headless client that say in one line what was asked for and what came of it.

use serde_json::Value;
use stemmata_model::{Json, Part};

use crate::tools::of_runtime;

/// A call that is over, as one part of a conversation says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DoneItem {
    /// Its id within the conversation.
    pub id: String,
    /// Whether it failed.
    pub is_error: bool,
    /// JSON text; what it is called stands in the part's kind.
    pub arguments: String,
}

/// Reads a part that stands for a call with its end.
pub fn done_item(part: &Part) -> Option<(&str, DoneItem)> {
    let Part::Opaque { runtime, kind, json } = part else { return None };
    of_runtime(runtime).filter(|runtime| runtime.done_items.contains(&kind.as_str()))?;
    let line = Json::value_of(json).ok()?;
    let item = line.get("item").filter(|item| item.is_object())?;
    let text = |key| item.get(key).and_then(Value::as_str);
    let is_error = text("status").is_some_and(|status| status == "failed" || status == "declined");
    let id = text("id").unwrap_or_default().to_owned();
    Some((kind, DoneItem { id, is_error, arguments: item.to_string() }))
}
