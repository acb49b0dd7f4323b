//! Messages and parts in the shape of opencode's rows and exports.
//! Not an export: each message and each part is an object of its own.

use crate::json::Object;
use crate::text;

use super::Source;

/// Returns at least so many objects.
pub fn opencode(seed: u64, count: usize) -> Vec<String> {
    let mut source = Source::new(seed);
    let session = format!("ses_{}", source.rng.id(26));
    let mut out = Vec::new();
    while out.len() < count {
        exchange(&mut source, &session, &mut out);
    }
    out
}

fn exchange(source: &mut Source, session: &str, out: &mut Vec<String>) {
    let message = format!("msg_{}", source.rng.id(26));
    let start = source.millis();
    source.time();
    let end = source.millis();
    let model = Object::new().text("providerID", "anthropic").text("modelID", "claude-opus-4-5");
    if source.rng.chance(25) {
        let info = Object::new()
            .text("role", "user")
            .object("time", Object::new().number("created", start))
            .text("agent", "build")
            .object("model", model)
            .object("summary", Object::new().raw("diffs", "[]"));
        out.push(owned(info, &message, session, None));
        let part = Object::new().text("type", "text").text("text", &text::prompt(&mut source.rng));
        let id = format!("prt_{}", source.rng.id(26));
        out.push(owned(part, &id, session, Some(&message)));
        return;
    }
    let cache =
        Object::new().number("write", source.rng.range(0, 4000)).number("read", source.rng.range(0, 90_000));
    let tokens = Object::new()
        .number("total", source.rng.range(900, 90_000))
        .number("input", source.rng.range(1, 900))
        .number("output", source.rng.range(9, 2000))
        .number("reasoning", 0)
        .object("cache", cache);
    let path = Object::new().text("cwd", &source.cwd).text("root", &source.cwd);
    let info = Object::new()
        .text("parentID", &format!("msg_{}", source.rng.id(26)))
        .text("role", "assistant")
        .text("mode", "build")
        .text("agent", "build")
        .object("path", path)
        .number("cost", 0)
        .object("tokens", tokens.clone())
        .text("modelID", "claude-opus-4-5")
        .text("providerID", "anthropic")
        .object("time", Object::new().number("created", start).number("completed", end))
        .text("finish", "tool-calls");
    out.push(owned(info, &message, session, None));
    let said = text::narration(&mut source.rng);
    let thought = text::thought(&mut source.rng);
    let time = || Object::new().number("start", start).number("end", end);
    let finish = Object::new()
        .text("reason", "tool-calls")
        .text("type", "step-finish")
        .object("tokens", tokens)
        .number("cost", 0);
    let parts = [
        Object::new().text("type", "step-start"),
        Object::new().text("type", "reasoning").text("text", &thought).object("time", time()),
        Object::new().text("type", "text").text("text", &said).object("time", time()),
        tool(source, &time()),
        finish,
    ];
    for part in parts {
        let id = format!("prt_{}", source.rng.id(26));
        out.push(owned(part, &id, session, Some(&message)));
    }
}

fn tool(source: &mut Source, time: &Object) -> Object {
    let call = source.tools.call();
    let metadata = Object::new().text("output", &call.content).number("exit", 0);
    let title = source.expand("‹check|cap›");
    let state = Object::new()
        .text("status", "completed")
        .raw("input", &call.input)
        .text("output", &call.content)
        .object("metadata", metadata.flag("truncated", false))
        .text("title", &title)
        .object("time", time.clone());
    Object::new()
        .text("type", "tool")
        .text("tool", &call.name.to_lowercase())
        .text("callID", &format!("toolu_01{}", source.rng.id(22)))
        .object("state", state)
}

fn owned(object: Object, id: &str, session: &str, message: Option<&str>) -> String {
    object.text("id", id).text("sessionID", session).some_text("messageID", message).finish()
}
