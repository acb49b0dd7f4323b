//! Lines in the shape of pi's session files: version 3 with ids, and version 1 without.
//! Not a session: the tree is a straight line.

use crate::json::Object;
use crate::text;

use super::{Source, money};

/// Returns at least so many lines of a version 3 file.
pub fn pi(seed: u64, count: usize) -> Vec<String> {
    lines(seed, count, true)
}

/// Returns at least so many lines of a version 1 file.
pub fn pi_v1(seed: u64, count: usize) -> Vec<String> {
    lines(seed, count, false)
}

fn lines(seed: u64, count: usize, with_ids: bool) -> Vec<String> {
    let mut source = Source::new(seed);
    let mut out = vec![header(&mut source, with_ids)];
    let mut parent = None;
    while out.len() < count {
        for message in exchange(&mut source) {
            let line = entry(&mut source, message, &mut parent, with_ids);
            out.push(line);
        }
    }
    out
}

fn header(source: &mut Source, with_ids: bool) -> String {
    let line = Object::new().text("type", "session");
    let line = if with_ids { line.number("version", 3) } else { line };
    let line = line.text("id", &source.rng.uuid()).text("timestamp", &source.time()).text("cwd", &source.cwd);
    if with_ids {
        return line.finish();
    }
    line.text("provider", "anthropic")
        .text("modelId", "claude-opus-4-5")
        .text("thinkingLevel", "off")
        .finish()
}

fn entry(source: &mut Source, message: Object, parent: &mut Option<String>, with_ids: bool) -> String {
    let line = Object::new().text("type", "message");
    let time = source.time();
    let message = message.number("timestamp", source.millis());
    if !with_ids {
        return line.text("timestamp", &time).object("message", message).finish();
    }
    let id = source.rng.hex(8);
    let line = line.text("id", &id).text_or_null("parentId", parent.as_deref());
    *parent = Some(id);
    line.text("timestamp", &time).object("message", message).finish()
}

/// Returns a prompt now and then, an answer with a call, and the call's result.
fn exchange(source: &mut Source) -> Vec<Object> {
    let mut out = Vec::new();
    if source.rng.chance(14) {
        let prompt = text::prompt(&mut source.rng);
        out.push(role("user").list("content", &[text_block(&prompt)]));
    }
    if source.rng.chance(8) {
        let answer = text::answer(&mut source.rng);
        out.push(assistant(source, &[text_block(&answer)], "stop"));
        return out;
    }
    let call = source.tools.call();
    let id = format!("toolu_01{}", source.rng.id(22));
    let mut blocks = Vec::new();
    if source.rng.chance(20) {
        let thinking = text::thought(&mut source.rng);
        let signature = format!("Eo{}==", source.rng.base64(300));
        let block = Object::new().text("type", "thinking").text("thinking", &thinking);
        blocks.push(block.text("thinkingSignature", &signature).finish());
    }
    if source.rng.chance(45) {
        let narration = text::narration(&mut source.rng);
        blocks.push(text_block(&narration));
    }
    let (name, arguments) = arguments(call.name, &call.input);
    let block = Object::new().text("type", "toolCall").text("id", &id);
    blocks.push(block.text("name", name).raw("arguments", &arguments).finish());
    out.push(assistant(source, &blocks, "toolUse"));
    let result = role("toolResult").text("toolCallId", &id).text("toolName", name);
    let result = result.list("content", &[text_block(&result_text(name, &call))]);
    let result = if name == "edit" {
        let diff = diff_of(&call.content);
        result.object("details", Object::new().text("diff", &diff))
    } else {
        result
    };
    out.push(result.flag("isError", call.is_error));
    out
}

/// Renames a tool and its fields the way pi names them.
fn arguments(name: &str, input: &str) -> (&'static str, String) {
    let value: serde_json::Value = serde_json::from_str(input).expect("tools write JSON");
    let get = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
    match name {
        "Read" => {
            let object = Object::new().text("path", &get("file_path"));
            let object = match value["offset"].as_u64() {
                Some(offset) => object.number("offset", offset).number("limit", 80),
                None => object,
            };
            ("read", object.finish())
        }
        "Edit" => {
            let object = Object::new().text("path", &get("file_path"));
            let object = object.text("oldText", &get("old_string"));
            ("edit", object.text("newText", &get("new_string")).finish())
        }
        "Write" => {
            let object = Object::new().text("path", &get("file_path"));
            ("write", object.text("content", &get("content")).finish())
        }
        "Bash" => ("bash", Object::new().text("command", &get("command")).finish()),
        _ => {
            let command = format!("grep -rn \"{}\" .", get("pattern"));
            ("bash", Object::new().text("command", &command).finish())
        }
    }
}

fn result_text(name: &str, call: &crate::claude::ToolCall) -> String {
    let structured: serde_json::Value = serde_json::from_str(&call.structured).expect("tools write JSON");
    match name {
        "read" => structured["file"]["content"].as_str().unwrap_or_default().to_owned(),
        _ => call.content.clone(),
    }
}

fn diff_of(content: &str) -> String {
    content
        .lines()
        .skip(1)
        .enumerate()
        .map(|(index, line)| match index % 4 {
            1 => format!("+{}", line.trim_start().replacen('→', " ", 1)),
            2 => format!("-{}", line.trim_start().replacen('→', " ", 1)),
            _ => format!(" {}", line.trim_start().replacen('→', " ", 1)),
        })
        .collect::<Vec<_>>()
        .join("\n")
}

fn role(role: &str) -> Object {
    Object::new().text("role", role)
}

fn text_block(text: &str) -> String {
    Object::new().text("type", "text").text("text", text).finish()
}

fn assistant(source: &mut Source, blocks: &[String], stop: &str) -> Object {
    let rng = &mut source.rng;
    let cost = Object::new()
        .raw("input", &money(rng))
        .raw("output", &money(rng))
        .raw("cacheRead", &money(rng))
        .raw("cacheWrite", &money(rng))
        .raw("total", &money(rng));
    let usage = Object::new()
        .number("input", rng.range(0, 9))
        .number("output", rng.range(60, 2400))
        .number("cacheRead", rng.range(9000, 160_000))
        .number("cacheWrite", rng.range(100, 5000))
        .number("totalTokens", rng.range(9000, 170_000))
        .object("cost", cost);
    role("assistant")
        .list("content", blocks)
        .text("api", "anthropic-messages")
        .text("provider", "anthropic")
        .text("model", rng.pick(&["claude-opus-4-5", "claude-sonnet-4-5"]))
        .object("usage", usage)
        .text("stopReason", stop)
}
