//! `otel-genai`: the attributes that OpenTelemetry's conventions for generative AI give a conversation, as one JSON
//! object. Normative here: `docs/format/exports.md`.
//!
//! What came before the last answer is the input, the last answer the output, as the span of its request would have them.

use std::fmt::{self, Write};

use stemmata_model::{Entry, EntryKind, ImageSource, Part, Role};

use super::json::{open, texts, value};
use super::steps::{Step, steps};
use super::{About, model, told};
use crate::json::{Object, list, quote};

pub(super) fn write(about: &About, entries: &[&Entry], out: &mut dyn Write) -> fmt::Result {
    let mut head =
        Object::new().text("gen_ai.operation.name", "chat").text("gen_ai.agent.name", &about.runtime);
    if let Some(version) = &about.version {
        head = head.text("gen_ai.agent.version", version);
    }
    head = head.text("gen_ai.conversation.id", about.session.as_deref().unwrap_or(&about.ctx));
    if let Some(model) = model(entries) {
        head = head.text("gen_ai.request.model", model);
    }
    let instructions = entries.iter().filter(|entry| is_instruction(entry));
    let instructions: Vec<String> =
        instructions.flat_map(|entry| &entry.parts).filter_map(|part| part_object(part, false)).collect();
    if !instructions.is_empty() {
        head = head.raw("gen_ai.system_instructions", &list(instructions));
    }
    let rest: Vec<&Entry> = entries.iter().copied().filter(|entry| !is_instruction(entry)).collect();
    let mut steps = steps(&rest);
    let output = match steps.pop() {
        Some(Step::Agent(step)) if step.results.is_empty() => {
            let reason = step.entries.iter().rev().find_map(|entry| entry.meta.stop_reason.as_deref());
            let has_calls = step.entries.iter().any(|entry| entry.calls().next().is_some());
            let reason = finish_reason(reason, has_calls);
            message("assistant", step.parts(), None)
                .map(|object| object.text("finish_reason", reason).finish())
        }
        last => {
            steps.extend(last);
            None
        }
    };
    write!(out, "{},\"gen_ai.input.messages\":[", open(head))?;
    let mut comma = "";
    for step in &steps {
        for object in messages(step) {
            write!(out, "{comma}\n{}", object.finish())?;
            comma = ",";
        }
    }
    writeln!(out, "],\"gen_ai.output.messages\":{}}}", list(output))
}

fn is_instruction(entry: &Entry) -> bool {
    entry.role == Role::System && entry.kind == EntryKind::Instruction
}

fn messages(step: &Step<'_>) -> Vec<Object> {
    match step {
        Step::Said { entry, parts } => {
            let role = if entry.role == Role::System { "system" } else { "user" };
            message(role, parts.iter().copied(), Some(entry)).into_iter().collect()
        }
        Step::Orphan { entry, result } => {
            message("tool", std::iter::once(*result), Some(entry)).into_iter().collect()
        }
        Step::Agent(step) => {
            let said = message("assistant", step.parts(), step.entries.first().copied());
            let results = message("tool", step.results.iter().copied(), None);
            said.into_iter().chain(results).collect()
        }
    }
}

/// Returns a message of parts; none where nothing of them can be said.
fn message<'p>(role: &str, parts: impl Iterator<Item = &'p Part>, entry: Option<&Entry>) -> Option<Object> {
    let is_summary = entry.is_some_and(|entry| entry.kind == EntryKind::CompactionSummary);
    let objects: Vec<String> = parts.filter_map(|part| part_object(part, is_summary)).collect();
    (!objects.is_empty()).then(|| Object::new().text("role", role).raw("parts", &list(objects)))
}

fn part_object(part: &Part, is_summary: bool) -> Option<String> {
    let typed = |kind: &str| Object::new().text("type", kind);
    let text = |text: &str| {
        let object = typed("text").text("content", text);
        if is_summary { object.flag("compaction_summary", true) } else { object }
    };
    Some(match part {
        Part::Thinking { text, .. } if text.is_empty() => return None,
        Part::Thinking { text, .. } => typed("reasoning").text("content", text).finish(),
        Part::ToolCall { call_id, name, arguments } => typed("tool_call")
            .text("id", call_id)
            .text("name", name)
            .raw("arguments", &value(arguments))
            .finish(),
        Part::ToolResult { call_id, is_error, parts } => {
            let object = typed("tool_call_response").text("id", call_id);
            let object = object.raw("response", &response(parts));
            if *is_error { object.flag("is_error", true).finish() } else { object.finish() }
        }
        Part::Image { media_type, source: ImageSource::Base64(data) } => typed("blob")
            .text("modality", "image")
            .text("mime_type", media_type)
            .text("content", data)
            .finish(),
        Part::Image { source: ImageSource::Url(url), .. } => {
            typed("uri").text("modality", "image").text("uri", url).finish()
        }
        Part::Opaque { runtime, kind, json } => {
            typed(kind).text("runtime", runtime).raw("content", &value(json)).finish()
        }
        part => text(&told(part)?).finish(),
    })
}

/// Returns what a tool returned: a text, or parts where an image is among them.
fn response(parts: &[Part]) -> String {
    if parts.iter().any(|part| matches!(part, Part::Image { .. })) {
        return list(parts.iter().filter_map(|part| part_object(part, false)));
    }
    quote(&texts(parts))
}

fn finish_reason(reason: Option<&str>, has_calls: bool) -> &'static str {
    match reason {
        Some("max_tokens" | "length" | "MAX_TOKENS") => "length",
        Some("refusal" | "content_filter" | "SAFETY") => "content_filter",
        Some("error" | "aborted") => "error",
        _ if has_calls => "tool_call",
        _ => "stop",
    }
}
