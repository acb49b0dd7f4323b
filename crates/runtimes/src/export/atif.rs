//! `atif`: the Agent Trajectory Interchange Format, version 1.8. Normative here: `docs/format/exports.md`.
//!
//! A line of steps; branches and signatures have no place in it.

use std::fmt::{self, Write};

use stemmata_model::{Entry, EntryKind, Part, Role, Usage};

use super::json::{arguments, open, texts};
use super::steps::{AgentStep, Step, steps};
use super::{About, model, told};
use crate::data_url;
use crate::json::{Object, list};

/// The version whose rules this follows.
const VERSION: &str = "ATIF-v1.8";

/// The types of images that a trajectory may hold.
const IMAGES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];

/// Tokens of all steps.
#[derive(Default)]
struct Totals {
    prompt: u64,
    completion: u64,
    cached: u64,
    has_any: bool,
}

pub(super) fn write(about: &About, entries: &[&Entry], out: &mut dyn Write) -> fmt::Result {
    let agent = Object::new()
        .text("name", &about.runtime)
        .text("version", about.version.as_deref().unwrap_or("unknown"));
    let agent = agent.given("model_name", model(entries));
    let head = Object::new().text("schema_version", VERSION);
    let head = head.given("session_id", about.session.as_deref());
    let head = head.text("trajectory_id", &about.ctx).raw("agent", &agent.finish());
    write!(out, "{},\"steps\":[", open(head))?;
    let mut totals = Totals::default();
    let mut count = 0_u64;
    for step in steps(entries) {
        count += 1;
        let comma = if count > 1 { "," } else { "" };
        write!(out, "{comma}\n{}", step_object(count, &step, &mut totals))?;
    }
    let metrics = Object::new().number("total_steps", count);
    let metrics = if totals.has_any {
        metrics
            .number("total_prompt_tokens", totals.prompt)
            .number("total_completion_tokens", totals.completion)
            .number("total_cached_tokens", totals.cached)
    } else {
        metrics
    };
    let extra = extra(&[
        ("title", about.title.as_deref()),
        ("cwd", about.cwd.as_deref()),
        ("git_branch", about.git_branch.as_deref()),
    ]);
    let tail = Object::new().raw("final_metrics", &metrics.finish()).given_raw("extra", extra.as_deref());
    writeln!(out, "],{}", tail.finish().trim_start_matches('{'))
}

/// Returns an object of what is there, none where nothing is.
fn extra(fields: &[(&str, Option<&str>)]) -> Option<String> {
    let object = fields.iter().fold(Object::new(), |object, (key, value)| object.given(key, *value));
    let json = object.finish();
    (json != "{}").then_some(json)
}

fn step_object(number: u64, step: &Step<'_>, totals: &mut Totals) -> String {
    match step {
        Step::Said { entry, parts } => {
            let is_user = entry.role == Role::User && entry.kind != EntryKind::Instruction;
            let object = begin(number, entry, if is_user { "user" } else { "system" });
            let object = object.raw("message", &content(parts));
            with_extra(object, entry)
        }
        Step::Orphan { entry, result } => {
            let object = begin(number, entry, "system").text("message", "");
            with_extra(object.raw("observation", &observation(&[result], false)), entry)
        }
        Step::Agent(step) => agent_step(number, step, totals),
    }
}

fn begin(number: u64, entry: &Entry, source: &str) -> Object {
    let object = Object::new().number("step_id", number);
    let time = entry.timestamp.map(|time| time.to_string());
    object.given("timestamp", time.as_deref()).text("source", source)
}

fn with_extra(object: Object, entry: &Entry) -> String {
    let kind =
        (!matches!(entry.kind, EntryKind::Message | EntryKind::ToolResult)).then(|| entry.kind.as_str());
    let extra = extra(&[
        ("entry_id", Some(entry.id.as_str())),
        ("kind", kind),
        ("subagent", entry.meta.sidechain.as_deref()),
    ]);
    match extra {
        Some(extra) => object.raw("extra", &extra).finish(),
        None => object.finish(),
    }
}

fn agent_step(number: u64, step: &AgentStep<'_>, totals: &mut Totals) -> String {
    let Some(first) = step.entries.first() else { return String::new() };
    let parts: Vec<&Part> = step.parts().collect();
    let said: Vec<&Part> = parts.iter().copied().filter(|part| told(part).is_some()).collect();
    let object = begin(number, first, "agent").given("model_name", first.meta.model.as_deref());
    let object = object.raw("message", &content(&said));
    let reasoning: Vec<&str> = parts
        .iter()
        .filter_map(|part| match part {
            Part::Thinking { text, .. } if !text.is_empty() => Some(text.as_str()),
            _ => None,
        })
        .collect();
    let reasoning = (!reasoning.is_empty()).then(|| reasoning.join("\n\n"));
    let object = object.given("reasoning_content", reasoning.as_deref());
    let calls: Vec<String> = parts.iter().copied().filter_map(call).collect();
    let calls = (!calls.is_empty()).then(|| list(calls));
    let observed = (!step.results.is_empty()).then(|| observation(&step.results, true));
    let usage = step.entries.iter().rev().find_map(|entry| entry.meta.usage);
    let object =
        object.given_raw("tool_calls", calls.as_deref()).given_raw("observation", observed.as_deref());
    with_extra(object.given_raw("metrics", usage.map(|usage| metrics(usage, totals)).as_deref()), first)
}

fn metrics(usage: Usage, totals: &mut Totals) -> String {
    // Foreign numbers, of any size.
    let cached = usage.cache_read_tokens.saturating_add(usage.cache_write_tokens);
    let prompt = usage.input_tokens.saturating_add(cached);
    totals.has_any = true;
    totals.prompt = totals.prompt.saturating_add(prompt);
    totals.completion = totals.completion.saturating_add(usage.output_tokens);
    totals.cached = totals.cached.saturating_add(usage.cache_read_tokens);
    Object::new()
        .number("prompt_tokens", prompt)
        .number("completion_tokens", usage.output_tokens)
        .number("cached_tokens", usage.cache_read_tokens)
        .finish()
}

fn call(part: &Part) -> Option<String> {
    let Part::ToolCall { call_id, name, arguments: text } = part else { return None };
    let object = Object::new().text("tool_call_id", call_id).text("function_name", name);
    Some(object.raw("arguments", &arguments(text)).finish())
}

fn observation(results: &[&Part], has_calls: bool) -> String {
    let results = results.iter().filter_map(|part| {
        let Part::ToolResult { call_id, is_error, parts } = part else { return None };
        // A call that is not in the step must not be named.
        let object = if has_calls { Object::new().text("source_call_id", call_id) } else { Object::new() };
        let object = object.raw("content", &content(&parts.iter().collect::<Vec<_>>()));
        let object = if *is_error {
            object.raw("extra", &Object::new().flag("is_error", true).finish())
        } else {
            object
        };
        Some(object.finish())
    });
    Object::new().raw("results", &list(results)).finish()
}

/// Returns parts as one text, or as a list where an image is among them.
fn content(parts: &[&Part]) -> String {
    if !parts.iter().any(|part| image(part).is_some()) {
        return crate::json::quote(&texts(parts.iter().copied()));
    }
    list(parts.iter().filter_map(|part| {
        let text = || Some(Object::new().text("type", "text").text("text", &told(part)?).finish());
        image(part).or_else(text)
    }))
}

fn image(part: &Part) -> Option<String> {
    let Part::Image { media_type, source } = part else { return None };
    let path = data_url::address(media_type, source).filter(|_| IMAGES.contains(&media_type.as_str()))?;
    let source = Object::new().text("media_type", media_type).text("path", &path);
    Some(Object::new().text("type", "image").raw("source", &source.finish()).finish())
}
