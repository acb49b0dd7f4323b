//! Lines in the shape of Gemini CLI's session files.
//! Not a session: nothing is rewound, and a message is written again only to add its calls.

use crate::json::Object;
use crate::text;

use super::Source;

/// Returns at least so many lines.
pub fn gemini(seed: u64, count: usize) -> Vec<String> {
    let mut source = Source::new(seed);
    let time = source.time();
    let header = Object::new()
        .text("sessionId", &source.rng.uuid())
        .text("projectHash", &source.rng.hex(64))
        .text("startTime", &time)
        .text("lastUpdated", &time)
        .text("kind", "main");
    let mut out = vec![header.finish()];
    while out.len() < count {
        exchange(&mut source, &mut out);
    }
    out
}

fn exchange(source: &mut Source, out: &mut Vec<String>) {
    let time = source.time();
    if source.rng.chance(30) {
        let prompt = text::prompt(&mut source.rng);
        let part = Object::new().text("text", &prompt).finish();
        let line = message(source, "user", &time).list("content", &[part]);
        out.push(line.finish());
    }
    let update = Object::new().text("lastUpdated", &time);
    out.push(Object::new().object("$set", update).finish());
    let description = text::thought(&mut source.rng);
    let subject = source.expand("‹doing|cap› the ‹noun›");
    let thought = Object::new()
        .text("subject", &subject)
        .text("description", &description)
        .text("timestamp", &time)
        .finish();
    let tokens = Object::new()
        .number("input", source.rng.range(900, 90_000))
        .number("output", source.rng.range(9, 900))
        .number("cached", source.rng.range(0, 80_000))
        .number("thoughts", source.rng.range(0, 900))
        .number("tool", 0)
        .number("total", source.rng.range(900, 90_000));
    let said = text::narration(&mut source.rng);
    let line = message(source, "gemini", &time)
        .text("content", &said)
        .list("thoughts", &[thought])
        .object("tokens", tokens)
        .text("model", "gemini-2.5-pro");
    let calls = tool_call(source, &time);
    out.push(line.clone().finish());
    out.push(line.list("toolCalls", &[calls]).finish());
}

fn message(source: &mut Source, kind: &str, time: &str) -> Object {
    let line = Object::new().text("id", &source.rng.uuid()).text("timestamp", time);
    line.text("type", kind)
}

fn tool_call(source: &mut Source, time: &str) -> String {
    let call = source.tools.bash();
    let id = format!("run_shell_command_{}_0", source.millis());
    let response = Object::new().text("output", &format!("Output: {}", call.content));
    let answer = Object::new().text("id", &id).text("name", "run_shell_command").object("response", response);
    let part = Object::new().object("functionResponse", answer).finish();
    Object::new()
        .text("id", &id)
        .text("name", "run_shell_command")
        .raw("args", &call.input)
        .list("result", &[part])
        .text("status", "success")
        .text("timestamp", time)
        .text("resultDisplay", &call.content)
        .text("displayName", "Shell")
        .flag("renderOutputAsMarkdown", false)
        .finish()
}
