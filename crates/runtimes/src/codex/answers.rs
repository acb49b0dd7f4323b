//! Which item answers a call, and how one of ours does.

use super::record::{Kind, Record};
use crate::json::{Object, text};

/// What answers a search for tools.
const SEARCH_OUTPUT: &str = "tool_search_output";

/// Returns the type of the item that answers this call; `None` if it is none that waits for an answer.
pub(super) fn answered_by(record: &Record<'_>) -> Option<&'static str> {
    match text(record.payload.item_type).filter(|_| record.kind == Kind::Item)?.as_ref() {
        "function_call" | "local_shell_call" => Some("function_call_output"),
        "custom_tool_call" => Some("custom_tool_call_output"),
        "tool_search_call" => Some(SEARCH_OUTPUT),
        _ => None,
    }
}

/// Returns whether this answers a call.
pub(super) fn is_answer(record: &Record<'_>) -> bool {
    record.kind == Kind::Item
        && record.is_any(&["function_call_output", "custom_tool_call_output", SEARCH_OUTPUT])
}

/// Returns an item of this type that answers a call with a text; the answer to a search finds nothing.
pub(super) fn answer(kind: &str, call: &str, says: &str) -> String {
    let item = Object::new().text("type", kind).text("call_id", call);
    let item = match kind {
        SEARCH_OUTPUT => item.text("status", "completed").text("execution", "client").raw("tools", "[]"),
        _ => item.text("output", says),
    };
    item.finish()
}
