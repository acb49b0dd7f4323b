//! Lines in the shape of Codex rollouts.
//! Not a rollout that could be resumed: the session's instructions are left out.

use crate::json::{self, Object};
use crate::text;

use super::Source;

/// Returns at least so many lines.
pub fn codex(seed: u64, count: usize) -> Vec<String> {
    let mut source = Source::new(seed);
    let mut out = vec![meta(&mut source)];
    let turn = source.rng.uuid();
    while out.len() < count {
        if source.rng.chance(12) {
            prompt(&mut source, &turn, &mut out);
        }
        call(&mut source, &turn, &mut out);
        if source.rng.chance(20) {
            message(&mut source, &turn, &mut out);
        }
        tokens(&mut source, &mut out);
    }
    out
}

fn line(source: &mut Source, kind: &str, payload: Object) -> String {
    let line = Object::new().text("timestamp", &source.time()).text("type", kind);
    line.object("payload", payload).finish()
}

fn meta(source: &mut Source) -> String {
    let id = source.rng.uuid();
    let git = Object::new().text("commit_hash", &source.rng.hex(40)).text("branch", "main");
    let payload = Object::new()
        .text("session_id", &id)
        .text("id", &id)
        .text("timestamp", &source.time())
        .text("cwd", &source.cwd)
        .text("originator", "codex_cli_rs")
        .text("cli_version", "0.144.2")
        .text("source", "cli")
        .text("thread_source", "user")
        .text("model_provider", "openai")
        .object("git", git);
    line(source, "session_meta", payload)
}

fn passed(turn: &str) -> Object {
    Object::new().text("turn_id", turn)
}

fn prompt(source: &mut Source, turn: &str, out: &mut Vec<String>) {
    let prompt = text::prompt(&mut source.rng);
    let started = Object::new()
        .text("type", "task_started")
        .text("turn_id", turn)
        .number("started_at", source.millis() / 1000)
        .number("model_context_window", 258_400)
        .text("collaboration_mode_kind", "default");
    out.push(line(source, "event_msg", started));
    let context = Object::new()
        .text("turn_id", turn)
        .text("cwd", &source.cwd)
        .texts("workspace_roots", &[&source.cwd])
        .text("current_date", "2026-03-02")
        .text("timezone", "Europe/Vienna")
        .text("approval_policy", "on-request")
        .object("sandbox_policy", Object::new().text("type", "workspace-write"))
        .text("model", "gpt-5.2-codex")
        .text("effort", "medium")
        .text("summary", "auto");
    out.push(line(source, "turn_context", context));
    let block = Object::new().text("type", "input_text").text("text", &prompt).finish();
    let item = Object::new()
        .text("type", "message")
        .text("role", "user")
        .list("content", &[block])
        .object("internal_chat_message_metadata_passthrough", passed(turn));
    out.push(line(source, "response_item", item));
    let event = Object::new().text("type", "user_message").text("message", &prompt);
    let event = event.raw("images", "[]").raw("local_images", "[]").raw("text_elements", "[]");
    out.push(line(source, "event_msg", event));
}

fn call(source: &mut Source, turn: &str, out: &mut Vec<String>) {
    let cipher = source.rng.base64(400);
    let reasoning = Object::new()
        .text("type", "reasoning")
        .text("id", &format!("rs_{}", source.rng.hex(50)))
        .raw("summary", "[]")
        .text("encrypted_content", &format!("gAAAAA{cipher}"))
        .object("internal_chat_message_metadata_passthrough", passed(turn));
    out.push(line(source, "response_item", reasoning));
    let made = source.tools.bash();
    let input: serde_json::Value = serde_json::from_str(&made.input).expect("tools write JSON");
    let command = input["command"].as_str().unwrap_or_default().to_owned();
    let call_id = format!("call_{}", source.rng.id(24));
    let id = source.rng.hex(50);
    let output = format!(
        "Exit code: {}\nWall time: 0.{} seconds\nOutput:\n{}",
        u8::from(made.is_error),
        source.rng.range(1, 9),
        made.content
    );
    if source.rng.chance(50) {
        let arguments = Object::new()
            .text("cmd", &command)
            .text("workdir", &source.cwd)
            .number("yield_time_ms", 10_000)
            .number("max_output_tokens", 12_000)
            .finish();
        let item = Object::new()
            .text("type", "function_call")
            .text("id", &format!("fc_{id}"))
            .text("name", "exec_command")
            .text("arguments", &arguments)
            .text("call_id", &call_id)
            .object("internal_chat_message_metadata_passthrough", passed(turn));
        out.push(line(source, "response_item", item));
        let item = Object::new()
            .text("type", "function_call_output")
            .text("call_id", &call_id)
            .text("output", &output)
            .object("internal_chat_message_metadata_passthrough", passed(turn));
        out.push(line(source, "response_item", item));
    } else {
        let script = format!(
            "const r = await tools.exec_command({{\"cmd\":{},\"workdir\":{},\"yield_time_ms\":10000}});\ntext(r.output);\n",
            json::string(&command),
            json::string(&source.cwd)
        );
        let item = Object::new()
            .text("type", "custom_tool_call")
            .text("id", &format!("ctc_{id}"))
            .text("status", "completed")
            .text("call_id", &call_id)
            .text("name", "exec")
            .text("input", &script)
            .object("internal_chat_message_metadata_passthrough", passed(turn));
        out.push(line(source, "response_item", item));
        let block = Object::new().text("type", "input_text").text("text", &output).finish();
        let item = Object::new()
            .text("type", "custom_tool_call_output")
            .text("call_id", &call_id)
            .list("output", &[block])
            .object("internal_chat_message_metadata_passthrough", passed(turn));
        out.push(line(source, "response_item", item));
    }
}

fn message(source: &mut Source, turn: &str, out: &mut Vec<String>) {
    let said =
        if source.rng.chance(60) { text::narration(&mut source.rng) } else { text::answer(&mut source.rng) };
    let event = Object::new()
        .text("type", "agent_message")
        .text("message", &said)
        .text("phase", "commentary")
        .null("memory_citation");
    out.push(line(source, "event_msg", event));
    let block = Object::new().text("type", "output_text").text("text", &said).finish();
    let item = Object::new()
        .text("type", "message")
        .text("id", &format!("msg_{}", source.rng.hex(50)))
        .text("role", "assistant")
        .list("content", &[block])
        .text("phase", "commentary")
        .object("internal_chat_message_metadata_passthrough", passed(turn));
    out.push(line(source, "response_item", item));
}

fn tokens(source: &mut Source, out: &mut Vec<String>) {
    let rng = &mut source.rng;
    let mut usage = || {
        Object::new()
            .number("input_tokens", rng.range(9000, 900_000))
            .number("cached_input_tokens", rng.range(9000, 800_000))
            .number("output_tokens", rng.range(50, 9000))
            .number("reasoning_output_tokens", rng.range(0, 900))
            .number("total_tokens", rng.range(9000, 900_000))
    };
    let info = Object::new()
        .object("total_token_usage", usage())
        .object("last_token_usage", usage())
        .number("model_context_window", 258_400);
    let window = Object::new()
        .raw("used_percent", "12.0")
        .number("window_minutes", 10_080)
        .number("resets_at", 1_784_500_000);
    let credits = Object::new().flag("has_credits", false).flag("unlimited", false);
    let limits = Object::new()
        .text("limit_id", "codex")
        .null("limit_name")
        .object("primary", window)
        .null("secondary")
        .object("credits", credits.null("balance"))
        .null("individual_limit")
        .text("plan_type", "pro")
        .null("rate_limit_reached_type");
    let payload = Object::new().text("type", "token_count").object("info", info);
    let payload = payload.object("rate_limits", limits);
    out.push(line(source, "event_msg", payload));
}
