//! Messages in the shapes of the two common model APIs, one object each.
//! Not requests: no system prompt and no tool definitions.

use crate::json::Object;
use crate::text;

use super::Source;

/// Returns at least so many messages as the OpenAI chat API takes them.
pub fn openai_messages(seed: u64, count: usize) -> Vec<String> {
    let mut source = Source::new(seed);
    let mut out = Vec::new();
    while out.len() < count {
        let prompt = text::prompt(&mut source.rng);
        out.push(message("user").text("content", &prompt).finish());
        for _ in 0..source.rng.range(1, 6) {
            let call = source.tools.call();
            let id = format!("call_{}", source.rng.id(24));
            let function =
                Object::new().text("name", &call.name.to_lowercase()).text("arguments", &call.input);
            let made = Object::new().text("id", &id).text("type", "function").object("function", function);
            let said = source.rng.chance(40).then(|| text::narration(&mut source.rng));
            let line = message("assistant").text_or_null("content", said.as_deref());
            out.push(line.list("tool_calls", &[made.finish()]).finish());
            let line = message("tool").text("tool_call_id", &id);
            out.push(line.text("content", &call.content).finish());
        }
        let answer = text::answer(&mut source.rng);
        out.push(message("assistant").text("content", &answer).null("refusal").finish());
    }
    out
}

/// Returns at least so many messages as the Anthropic messages API takes them.
pub fn anthropic_messages(seed: u64, count: usize) -> Vec<String> {
    let mut source = Source::new(seed);
    let mut out = Vec::new();
    while out.len() < count {
        let prompt = text::prompt(&mut source.rng);
        out.push(message("user").text("content", &prompt).finish());
        for _ in 0..source.rng.range(1, 6) {
            let call = source.tools.call();
            let id = format!("toolu_01{}", source.rng.id(22));
            let mut blocks = Vec::new();
            if source.rng.chance(40) {
                let said = text::narration(&mut source.rng);
                blocks.push(Object::new().text("type", "text").text("text", &said).finish());
            }
            let made = Object::new().text("type", "tool_use").text("id", &id);
            blocks.push(made.text("name", call.name).raw("input", &call.input).finish());
            out.push(message("assistant").list("content", &blocks).finish());
            let result = Object::new()
                .text("type", "tool_result")
                .text("tool_use_id", &id)
                .text("content", &call.content)
                .flag("is_error", call.is_error);
            out.push(message("user").list("content", &[result.finish()]).finish());
        }
        let answer = text::answer(&mut source.rng);
        out.push(message("assistant").text("content", &answer).finish());
    }
    out
}

fn message(role: &str) -> Object {
    Object::new().text("role", role)
}
