//! What was said, as a list that can be compared: the same whether it comes from a request or a reply.
//! Not a transcript: reminders that the client adds, ids of messages and reasoning are left out.

use serde_json::Value;

/// One thing that was said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Item {
    /// Text of a user or an assistant.
    Text {
        /// Who.
        role: String,
        /// What, without white space around it.
        text: String,
    },
    /// The model asked for a tool.
    Call {
        /// The call's id.
        id: String,
        /// The tool and its arguments, as JSON.
        what: String,
    },
    /// A tool answered.
    Result {
        /// The call's id.
        id: String,
        /// What it returned.
        text: String,
    },
}

/// Returns what the messages of a request say.
pub(crate) fn items(messages: &Value) -> Vec<Item> {
    let messages = messages.as_array().map_or(&[][..], Vec::as_slice);
    messages
        .iter()
        .flat_map(|message| message_items(&string(&message["role"]), &message["content"]))
        .collect()
}

/// Returns a text as something said; none for white space and for reminders that the client adds.
pub(crate) fn said(role: &str, text: &str) -> Option<Item> {
    let text = text.trim();
    let is_said = !text.is_empty() && !text.starts_with("<system-reminder>");
    is_said.then(|| Item::Text { role: role.to_owned(), text: text.to_owned() })
}

/// Returns what the content of a message says.
pub(crate) fn message_items(role: &str, content: &Value) -> Vec<Item> {
    let Some(blocks) = content.as_array() else {
        return content.as_str().and_then(|text| said(role, text)).into_iter().collect();
    };
    let item = |block: &Value| match block["type"].as_str()? {
        "text" => said(role, block["text"].as_str()?),
        "tool_use" => Some(Item::Call {
            id: string(&block["id"]),
            what: format!("{} {}", block["name"], block["input"]),
        }),
        "tool_result" => {
            Some(Item::Result { id: string(&block["tool_use_id"]), text: flat(&block["content"]) })
        }
        _ => None,
    };
    blocks.iter().filter_map(item).collect()
}

/// Returns the first of some expected items that does not follow in a conversation, in order.
pub(crate) fn missing<'a>(conversation: &[Item], expected: &'a [Item]) -> Option<&'a Item> {
    let mut left = conversation.iter();
    expected.iter().find(|wanted| !left.any(|item| item == *wanted))
}

/// Returns whether anything that was said holds a text.
pub(crate) fn mentions(conversation: &[Item], wanted: &str) -> bool {
    conversation.iter().any(|item| match item {
        Item::Text { text, .. } | Item::Result { text, .. } => text.contains(wanted),
        Item::Call { what, .. } => what.contains(wanted),
    })
}

/// Returns a string's text; none of another value.
pub(crate) fn string(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Returns the texts of a result, one below the other.
pub(crate) fn flat(content: &Value) -> String {
    match content.as_array() {
        Some(blocks) => blocks.iter().map(|block| string(&block["text"])).collect::<Vec<_>>().join("\n"),
        None => string(content),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn expected_items_follow_in_order() {
        let said = items(&json!([
            { "role": "user", "content": "one" },
            { "role": "assistant", "content": [{ "type": "text", "text": "two" },
                { "type": "tool_use", "id": "t", "name": "Bash", "input": { "command": "ls" } }] },
            { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "t", "content": "three" },
                { "type": "text", "text": "<system-reminder>no</system-reminder>" }] },
        ]));
        assert_eq!(said.len(), 4);
        assert_eq!(missing(&said, &said), None);
        assert_eq!(missing(&said, &said[1..3]), None);
        let swapped = [said[1].clone(), said[0].clone()];
        assert_eq!(missing(&said, &swapped), Some(&swapped[1]));
        assert!(mentions(&said, "thre") && !mentions(&said, "no"));
    }
}
