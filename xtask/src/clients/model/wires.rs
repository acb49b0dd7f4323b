//! The four interfaces that coding clients speak: what a request says, and an answer in its words.
//! Not the whole of any of them: texts, calls and results.

use serde_json::{Value, json};

use super::super::talk::{Item, flat, message_items, said, string};
use super::http::Reply;

/// An interface between a client and a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wire {
    /// Anthropic's messages.
    Messages,
    /// `OpenAI`'s responses.
    Responses,
    /// `OpenAI`'s chat completions.
    Chat,
    /// Google's contents; `true` when it is to stream.
    Contents(bool),
}

/// What the model answers.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    /// How many requests came before: makes ids.
    pub(super) number: usize,
    /// What it says.
    pub(super) text: String,
    /// The tools that it calls, with their arguments.
    pub(super) calls: Vec<(String, Value)>,
}

impl Answer {
    fn call_id(&self, index: usize) -> String {
        format!("toolu_{:020}{index:04}", self.number)
    }
}

impl Wire {
    /// Tells the interface from where a request goes.
    pub(super) fn of(path: &str) -> Option<Self> {
        let ends = |end| path.ends_with(end);
        match () {
            () if ends("/messages") => Some(Self::Messages),
            () if ends("/responses") => Some(Self::Responses),
            () if ends("/chat/completions") => Some(Self::Chat),
            () if ends(":streamGenerateContent") => Some(Self::Contents(true)),
            () if ends(":generateContent") => Some(Self::Contents(false)),
            () => None,
        }
    }

    /// Returns what a request says.
    pub(super) fn said(self, request: &Value) -> Vec<Item> {
        let list = |name: &str| request[name].as_array().cloned().unwrap_or_default();
        match self {
            Self::Messages => super::super::talk::items(&request["messages"]),
            Self::Responses => list("input").iter().flat_map(response_items).collect(),
            Self::Chat => list("messages").iter().flat_map(chat_items).collect(),
            Self::Contents(_) => list("contents").iter().flat_map(content_items).collect(),
        }
    }

    /// Returns what an answer says, as the next request will repeat it.
    pub(super) fn answered(answer: &Answer) -> Vec<Item> {
        let text = said("assistant", &answer.text);
        let calls = answer.calls.iter().enumerate().map(|(index, (name, input))| Item::Call {
            id: answer.call_id(index),
            what: format!("{} {input}", json!(name)),
        });
        text.into_iter().chain(calls).collect()
    }

    /// Puts an answer into the interface's words.
    pub(super) fn reply(self, request: &Value, answer: &Answer) -> Reply {
        let is_streamed = request["stream"] == true;
        match self {
            Self::Messages => messages_reply(request, answer, is_streamed),
            Self::Responses => responses_reply(request, answer, is_streamed),
            Self::Chat => chat_reply(request, answer, is_streamed),
            Self::Contents(is_streamed) => contents_reply(request, answer, is_streamed),
        }
    }
}

fn response_items(item: &Value) -> Vec<Item> {
    let call = |arguments: &Value| {
        let input = arguments.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
        let input = input.unwrap_or_else(|| arguments.clone());
        vec![Item::Call { id: string(&item["call_id"]), what: format!("{} {input}", item["name"]) }]
    };
    match item["type"].as_str() {
        Some("message") | None => {
            let role = string(&item["role"]);
            if item["content"].is_string() {
                return message_items(&role, &item["content"]);
            }
            let parts = item["content"].as_array().cloned().unwrap_or_default();
            parts.iter().filter_map(|part| said(&role, part["text"].as_str()?)).collect()
        }
        Some("function_call") => call(&item["arguments"]),
        Some("custom_tool_call") => call(&item["input"]),
        Some("function_call_output" | "custom_tool_call_output") => {
            vec![Item::Result { id: string(&item["call_id"]), text: flat(&item["output"]) }]
        }
        Some(_) => Vec::new(),
    }
}

fn chat_items(message: &Value) -> Vec<Item> {
    let role = string(&message["role"]);
    if role == "system" || role == "developer" {
        // The client's own, anew with each request.
        return Vec::new();
    }
    if role == "tool" {
        let id = string(&message["tool_call_id"]);
        return vec![Item::Result { id, text: flat(&message["content"]) }];
    }
    let calls = message["tool_calls"].as_array().cloned().unwrap_or_default();
    let calls = calls.iter().map(|call| {
        let input = call["function"]["arguments"].as_str().unwrap_or_default();
        let input = serde_json::from_str::<Value>(input).unwrap_or_default();
        Item::Call { id: string(&call["id"]), what: format!("{} {input}", call["function"]["name"]) }
    });
    message_items(&role, &message["content"]).into_iter().chain(calls).collect()
}

fn content_items(content: &Value) -> Vec<Item> {
    let role = if content["role"] == "model" { "assistant" } else { "user" };
    let item = |part: &Value| {
        let (call, result) = (&part["functionCall"], &part["functionResponse"]);
        if part["thought"] == true {
            return None;
        }
        if call.is_object() {
            return Some(Item::Call {
                id: string(&call["id"]),
                what: format!("{} {}", call["name"], call["args"]),
            });
        }
        if result.is_object() {
            return Some(Item::Result { id: string(&result["id"]), text: result["response"].to_string() });
        }
        said(role, part["text"].as_str()?)
    };
    content["parts"].as_array().map_or_else(Vec::new, |parts| parts.iter().filter_map(item).collect())
}

fn messages_reply(request: &Value, answer: &Answer, is_streamed: bool) -> Reply {
    let calls = answer.calls.iter().enumerate().map(|(index, (name, input))| {
        json!({ "type": "tool_use", "id": answer.call_id(index), "name": name, "input": input })
    });
    let blocks: Vec<Value> =
        [json!({ "type": "text", "text": answer.text })].into_iter().chain(calls).collect();
    let stop = if answer.calls.is_empty() { "end_turn" } else { "tool_use" };
    let mut message = json!({ "id": format!("msg_{:024}", answer.number), "type": "message", "role": "assistant",
        "model": request["model"], "content": [], "stop_reason": null, "stop_sequence": null,
        "usage": { "input_tokens": 1000, "output_tokens": 1 } });
    if !is_streamed {
        message["content"] = Value::from(blocks);
        message["stop_reason"] = Value::from(stop);
        return Reply::Whole(message);
    }
    let mut events = vec![json!({ "type": "message_start", "message": message })];
    for (index, block) in blocks.iter().enumerate() {
        let mut start = block.clone();
        let delta = if block["type"] == "tool_use" {
            start["input"] = json!({});
            json!({ "type": "input_json_delta", "partial_json": block["input"].to_string() })
        } else {
            start["text"] = json!("");
            json!({ "type": "text_delta", "text": block["text"] })
        };
        events.push(json!({ "type": "content_block_start", "index": index, "content_block": start }));
        events.push(json!({ "type": "content_block_delta", "index": index, "delta": delta }));
        events.push(json!({ "type": "content_block_stop", "index": index }));
    }
    events.push(json!({ "type": "message_delta", "delta": { "stop_reason": stop, "stop_sequence": null },
        "usage": { "output_tokens": 20 } }));
    events.push(json!({ "type": "message_stop" }));
    Reply::typed_events(events)
}

fn responses_reply(request: &Value, answer: &Answer, is_streamed: bool) -> Reply {
    let number = answer.number;
    let text = json!({ "type": "message", "role": "assistant", "id": format!("msg_{number}"), "status": "completed",
        "content": [{ "type": "output_text", "text": answer.text, "annotations": [] }] });
    let calls = answer.calls.iter().enumerate().map(|(index, (name, input))| {
        json!({ "type": "function_call", "id": format!("fc_{number}_{index}"), "call_id": answer.call_id(index),
            "name": name, "arguments": input.to_string(), "status": "completed" })
    });
    let output: Vec<Value> = [text].into_iter().chain(calls).collect();
    let head = json!({ "id": format!("resp_{number}"), "object": "response", "created_at": 1_700_000_000,
        "model": request["model"] });
    let state = |status: &str, output: &[Value]| {
        let mut response = head.clone();
        response["status"] = Value::from(status);
        response["output"] = Value::from(output.to_vec());
        response["usage"] = json!({ "input_tokens": 1000, "input_tokens_details": { "cached_tokens": 0 },
            "output_tokens": 20, "output_tokens_details": { "reasoning_tokens": 0 }, "total_tokens": 1020 });
        response
    };
    if !is_streamed {
        return Reply::Whole(state("completed", &output));
    }
    let mut events = vec![json!({ "type": "response.created", "response": state("in_progress", &[]) })];
    for (index, item) in output.iter().enumerate() {
        let event = |kind: &str| json!({ "type": kind, "output_index": index, "item": item });
        events.push(event("response.output_item.added"));
        events.push(event("response.output_item.done"));
    }
    events.push(json!({ "type": "response.completed", "response": state("completed", &output) }));
    Reply::typed_events(events)
}

fn chat_reply(request: &Value, answer: &Answer, is_streamed: bool) -> Reply {
    let calls = answer.calls.iter().enumerate().map(|(index, (name, input))| {
        json!({ "index": index, "id": answer.call_id(index), "type": "function",
            "function": { "name": name, "arguments": input.to_string() } })
    });
    let calls: Vec<Value> = calls.collect();
    let stop = if calls.is_empty() { "stop" } else { "tool_calls" };
    let mut message = json!({ "role": "assistant", "content": answer.text });
    if !calls.is_empty() {
        message["tool_calls"] = Value::from(calls);
    }
    let usage = json!({ "prompt_tokens": 1000, "completion_tokens": 20, "total_tokens": 1020 });
    let whole = |object: &str, choices: Value| {
        json!({ "id": format!("chatcmpl-{}", answer.number), "created": 1_700_000_000, "model": request["model"],
            "object": object, "choices": choices, "usage": usage })
    };
    if !is_streamed {
        let choice = json!({ "index": 0, "message": message, "finish_reason": stop });
        return Reply::Whole(whole("chat.completion", json!([choice])));
    }
    let chunk = |delta: Value, stop: Value| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": stop });
        (None, whole("chat.completion.chunk", json!([choice])).to_string())
    };
    let events = [chunk(message, Value::Null), chunk(json!({}), json!(stop)), (None, "[DONE]".to_owned())];
    Reply::Events(events.into())
}

fn contents_reply(request: &Value, answer: &Answer, is_streamed: bool) -> Reply {
    let config = &request["generationConfig"];
    let schema =
        [&config["responseJsonSchema"], &config["responseSchema"]].into_iter().find(|s| s.is_object());
    let calls =
        answer.calls.iter().map(|(name, input)| json!({ "functionCall": { "name": name, "args": input } }));
    let parts: Vec<Value> = match schema {
        // A chore, as «who speaks next»: any value of the shape that was asked for.
        Some(schema) => vec![json!({ "text": filled(schema).to_string() })],
        None => [json!({ "text": answer.text })].into_iter().chain(calls).collect(),
    };
    let response = json!({ "modelVersion": "made-up",
        "candidates": [{ "content": { "role": "model", "parts": parts }, "finishReason": "STOP", "index": 0 }],
        "usageMetadata": { "promptTokenCount": 1000, "candidatesTokenCount": 20, "totalTokenCount": 1020 } });
    if is_streamed { Reply::Events(vec![(None, response.to_string())]) } else { Reply::Whole(response) }
}

/// Returns a value that a JSON schema allows, as far as chores need it.
fn filled(schema: &Value) -> Value {
    if let Some(first) = schema["enum"].as_array().and_then(|all| all.first()) {
        return first.clone();
    }
    match schema["type"].as_str().unwrap_or("object").to_ascii_lowercase().as_str() {
        "object" => {
            let properties = schema["properties"].as_object();
            let filled =
                properties.into_iter().flatten().map(|(name, schema)| (name.clone(), filled(schema)));
            Value::Object(filled.collect())
        }
        "array" => json!([]),
        "boolean" => json!(false),
        "integer" | "number" => json!(1),
        _ => json!("user"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(items: &[Item]) -> Vec<String> {
        let shown = |item: &Item| match item {
            Item::Text { role, text } => format!("{role}: {text}"),
            Item::Call { id, what } => format!("{id} calls {what}"),
            Item::Result { id, text } => format!("{id} gave {text}"),
        };
        items.iter().map(shown).collect()
    }

    #[test]
    fn each_interface_says_the_same() {
        let responses = json!({ "input": [
            { "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "go" }] },
            { "type": "function_call", "call_id": "c", "name": "sh", "arguments": "{\"a\":1}" },
            { "type": "function_call_output", "call_id": "c", "output": "done" },
            { "type": "reasoning", "summary": [] }] });
        let chat = json!({ "messages": [
            { "role": "user", "content": "go" },
            { "role": "assistant", "content": null, "tool_calls": [
                { "id": "c", "type": "function", "function": { "name": "sh", "arguments": "{\"a\":1}" } }] },
            { "role": "tool", "tool_call_id": "c", "content": "done" }] });
        let messages = json!({ "messages": [
            { "role": "user", "content": "go" },
            { "role": "assistant", "content": [{ "type": "tool_use", "id": "c", "name": "sh", "input": { "a": 1 } }] },
            { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "c", "content": "done" }] }] });
        let contents = json!({ "contents": [
            { "role": "user", "parts": [{ "text": "go" }] },
            { "role": "model", "parts": [{ "functionCall": { "id": "c", "name": "sh", "args": { "a": 1 } } }] },
            { "role": "user", "parts": [{ "functionResponse": { "id": "c", "response": "done" } }] }] });
        let expected = ["user: go", "c calls \"sh\" {\"a\":1}", "c gave done"];
        assert_eq!(texts(&Wire::Responses.said(&responses)), expected);
        assert_eq!(texts(&Wire::Chat.said(&chat)), expected);
        assert_eq!(texts(&Wire::Messages.said(&messages)), expected);
        let said = texts(&Wire::Contents(true).said(&contents));
        assert_eq!(said[..2], expected[..2]);
        assert_eq!(said[2], "c gave \"done\"");
    }

    #[test]
    fn an_answer_is_the_same_on_every_interface_that_repeats_it() {
        let answer =
            Answer { number: 3, text: "hm".to_owned(), calls: vec![("sh".to_owned(), json!({ "a": 1 }))] };
        let expected = Wire::answered(&answer);
        let request = json!({ "model": "m" });
        let whole = |wire: Wire| match wire.reply(&request, &answer) {
            Reply::Whole(value) => value,
            Reply::Events(events) => panic!("events: {events:?}"),
        };
        let responses = whole(Wire::Responses);
        assert_eq!(Wire::Responses.said(&json!({ "input": responses["output"] })), expected);
        let chat = whole(Wire::Chat);
        assert_eq!(Wire::Chat.said(&json!({ "messages": [chat["choices"][0]["message"]] })), expected);
        let message = whole(Wire::Messages);
        assert_eq!(Wire::Messages.said(&json!({ "messages": [message] })), expected);
    }

    #[test]
    fn a_chore_gets_a_value_of_its_shape() {
        let schema = json!({ "type": "OBJECT", "properties": { "next": { "type": "STRING", "enum": ["model"] },
            "sure": { "type": "boolean" } } });
        assert_eq!(filled(&schema), json!({ "next": "model", "sure": false }));
    }
}
