//! `openhands-v1`: events of `OpenHands`, one a line: those of its SDK (with a `kind`) and the older ones (with an `action` or
//! an `observation`). Normative: `docs/format/imported.md`.
//!
//! A condensation with a summary is a compaction that keeps what it does not name; one without hides what it names. Older events
//! have numbers for ids, and their condensations are carried and not followed.

use stemmata_model::{Entry, EntryId, EntryKind, Part, Role, Timestamp, Visibility};

use crate::adapter::{Confidence, IdKind, Keeps};
use crate::captured::visibility::{ShowAs, Shown};
use crate::data_url;
use crate::json::{
    self, Field, Object, RecordError, borrowed_object, is_true, owned, parse_line, push_line, quote, text,
};
use crate::lines::facts::Templates;
use crate::lines::own::Own;
use crate::lines::unknown::type_name;
use crate::lines::{Dialect, Line, Turn, entry_id, no_rescue, opaque};

/// The runtime of both formats.
pub(crate) const RUNTIME: &str = "openhands";

pub(super) static DIALECT: Dialect = Dialect {
    runtime: RUNTIME,
    templates: Templates { main: "openhands/main", subagent: "openhands/subagent" },
    read,
    rescue: no_rescue,
};

/// How a block is called that is carried as it is.
const BLOCK: &str = "block";

/// The event that leaves others out.
const CONDENSATION: &str = "Condensation";

/// What the id of a summary ends with, behind the id of its condensation.
const SUMMARY_SUFFIX: &str = "-summary";

/// Events that are known and of no interest to a conversation.
const QUIET: [&str; 10] = [
    "ConversationStateUpdateEvent",
    "PauseEvent",
    CONDENSATION,
    "CondensationRequest",
    "CondensationSummaryEvent",
    "TokenEvent",
    "agent_state_changed",
    "change_agent_state",
    "recall",
    "null",
];

borrowed_object! {
    /// An event of either kind.
    struct Event {
        id, timestamp, source, kind, system_prompt, message = "llm_message", thought,
        reasoning = "reasoning_content", thinking_blocks, action, tool_name,
        call_id = "tool_call_id", call = "tool_call", response_id = "llm_response_id", observation,
        forgotten = "forgotten_event_ids", summary, summary_offset,
        error, rejection = "rejection_reason", args, content, said = "message", cause, extras,
        call_metadata = "tool_call_metadata",
    }
}

borrowed_object! {
    /// A message, a call, a prompt, a block, arguments: whatever has some of these.
    struct Inner {
        role, content, text, kind = "type", name, arguments, is_error, image_urls,
        reasoning = "reasoning_content", thinking, signature, thought, final_thought, function_name,
        call_id = "tool_call_id",
    }
}

fn inner(field: Option<Field<'_>>) -> Inner<'_> {
    field.and_then(|field| Inner::read(field).ok()).unwrap_or_default()
}

/// Reads a time; the events' have no zone, and are taken for UTC.
fn time(event: &Event<'_>) -> Option<Timestamp> {
    let said = text(event.timestamp)?;
    Timestamp::parse(&said).or_else(|_| Timestamp::parse(&format!("{said}Z"))).ok()
}

/// Reads one event.
pub(crate) fn read(line: &[u8]) -> Result<Line, RecordError> {
    let (whole, event) = parse_line(line, Event::read)?;
    let name = name(&event);
    let said = if event.kind.is_some() { of_sdk(&event, &name, whole.raw()) } else { of_old(&event, &name) };
    let mut line = said.unwrap_or_else(|| {
        let mut line = Line::metadata(RUNTIME, &name, whole.raw(), None);
        line.unknown = (!QUIET.contains(&name.as_str())).then(|| name.clone());
        line
    });
    line.time = time(&event);
    line.id = entry_id(text(event.id));
    line.unknown = line.unknown.take().or_else(|| unknown_block(&line.parts));
    let calls = line.parts.iter().filter_map(|part| match part {
        Part::ToolCall { call_id, .. } | Part::ToolResult { call_id, .. } => {
            Some((IdKind::Call, call_id.clone()))
        }
        _ => None,
    });
    // Made up ones say nothing of copies.
    line.ids = calls.filter(|(_, id)| !id.starts_with(MADE_UP)).collect();
    Ok(line)
}

/// How the id of a call begins that has none.
const MADE_UP: &str = "event-";

fn name(event: &Event<'_>) -> String {
    [event.kind, event.action, event.observation]
        .into_iter()
        .find_map(text)
        .map_or_else(|| "event".to_owned(), std::borrow::Cow::into_owned)
}

fn of_sdk(event: &Event<'_>, name: &str, whole: &str) -> Option<Line> {
    match name {
        CONDENSATION => condensation(event, whole),
        "SystemPromptEvent" => Some(instruction(owned(inner(event.system_prompt).text)?)),
        "MessageEvent" => {
            let message = inner(event.message);
            let mut parts = thinking(message.reasoning, None);
            parts.extend(blocks(message.content));
            let is_user = text(message.role).is_some_and(|role| role == "user");
            Some(if is_user { Line::prompt(parts, None) } else { assistant(parts) })
        }
        "ActionEvent" => {
            let mut parts = thinking(event.reasoning, event.thinking_blocks);
            parts.extend(blocks(event.thought));
            let call = inner(event.call);
            let arguments = owned(call.arguments)
                .or_else(|| event.action.map(|action| action.raw().to_owned()))
                .unwrap_or_else(|| "{}".to_owned());
            let name = owned(event.tool_name).or_else(|| owned(call.name)).unwrap_or_default();
            parts.push(Part::ToolCall { call_id: owned(event.call_id)?, name, arguments });
            let mut line = assistant(parts);
            line.meta.message_id = owned(event.response_id);
            Some(line)
        }
        "ObservationEvent" => {
            let observation = inner(event.observation);
            Some(result(owned(event.call_id)?, is_true(observation.is_error), blocks(observation.content)))
        }
        "AgentErrorEvent" | "UserRejectObservation" => {
            let told = owned(event.error).or_else(|| owned(event.rejection)).unwrap_or_default();
            Some(result(owned(event.call_id)?, true, vec![Part::Text(told)]))
        }
        _ => None,
    }
}

fn of_old(event: &Event<'_>, name: &str) -> Option<Line> {
    let is_agent = text(event.source).is_some_and(|source| source == "agent");
    let args = inner(event.args);
    let own_call = inner(event.call_metadata);
    let made_up = |number: Option<Field<'_>>| Some(format!("{MADE_UP}{}", number?.number()?));
    if event.observation.is_some() {
        if QUIET.contains(&name) {
            return None;
        }
        let call_id = owned(own_call.call_id).or_else(|| made_up(event.cause))?;
        let said = owned(event.content).unwrap_or_default();
        return Some(result(call_id, name == "error", vec![Part::Text(said)]));
    }
    match name {
        "message" => {
            let parts = vec![Part::Text(owned(args.content).or_else(|| owned(event.said))?)];
            Some(if is_agent { assistant(parts) } else { Line::prompt(parts, None) })
        }
        "system" => Some(instruction(owned(args.content).or_else(|| owned(event.said))?)),
        "finish" => {
            let told = owned(args.final_thought).or_else(|| owned(args.thought));
            let told = told.filter(|told| !told.is_empty()).or_else(|| owned(event.said))?;
            Some(assistant(vec![Part::Text(told)]))
        }
        _ if QUIET.contains(&name) || !is_agent || event.args.is_none() => None,
        _ => {
            let thought = owned(args.thought).filter(|thought| !thought.is_empty());
            let mut parts: Vec<Part> = thought.map(Part::Text).into_iter().collect();
            parts.push(Part::ToolCall {
                call_id: owned(own_call.call_id).or_else(|| made_up(event.id))?,
                name: owned(own_call.function_name).unwrap_or_else(|| name.to_owned()),
                arguments: event.args?.raw().to_owned(),
            });
            Some(assistant(parts))
        }
    }
}

/// Reads a condensation that leaves something out. The client shows its summary only where it says its place, too.
fn condensation(event: &Event<'_>, whole: &str) -> Option<Line> {
    let forgotten = event.forgotten?.elements()?;
    let ids = forgotten.into_iter().filter_map(|id| {
        let id = owned(Some(id))?;
        // An earlier condensation's summary has an id that is made of that one's.
        EntryId::new(id.strip_suffix(SUMMARY_SUFFIX).unwrap_or(&id)).ok()
    });
    let ids: Vec<EntryId> = ids.collect();
    if ids.is_empty() {
        return None;
    }
    let placed = event.summary_offset.filter(|offset| !offset.is_null()).and(owned(event.summary));
    let Some(text) = placed.filter(|text| !text.trim().is_empty()) else {
        let mut line = Line::metadata(RUNTIME, CONDENSATION, whole, None);
        let reason = "a condensation of OpenHands left it out".to_owned();
        let shown = Shown { entries: ids, show_as: ShowAs::Pruned, reason };
        line.own = Some(Box::new(Own { shows: Some(vec![shown]), ..Own::default() }));
        line.turn = Turn::Aside;
        return Some(line);
    };
    let summary = Part::Summary { text, covers: ids.clone() };
    let mut line = Line::said(Role::User, EntryKind::CompactionSummary, vec![summary], None);
    line.turn = Turn::Compaction;
    line.own = Some(Box::new(Own { covers: ids, ..Own::default() }));
    Some(line)
}

fn instruction(said: String) -> Line {
    let mut line = Line::said(Role::System, EntryKind::Instruction, vec![Part::Text(said)], None);
    line.meta.visibility = Visibility { agent: true, user: false };
    line.turn = Turn::Other;
    line
}

fn assistant(parts: Vec<Part>) -> Line {
    Line::said(Role::Assistant, EntryKind::Message, parts, None)
}

fn result(call_id: String, is_error: bool, parts: Vec<Part>) -> Line {
    let result = Part::ToolResult { call_id, is_error, parts };
    Line::said(Role::Tool, EntryKind::ToolResult, vec![result], None)
}

/// Returns reasoning: signed blocks where there are some, else its text.
fn thinking(reasoning: Option<Field<'_>>, signed: Option<Field<'_>>) -> Vec<Part> {
    let blocks = signed.and_then(|blocks| blocks.elements()).unwrap_or_default();
    let signed: Vec<Part> = blocks
        .into_iter()
        .filter_map(|block| {
            let block = inner(Some(block));
            let (text, signature) = (owned(block.thinking)?, owned(block.signature));
            Some(Part::Thinking { text, signature, encrypted: None })
        })
        .collect();
    if !signed.is_empty() {
        return signed;
    }
    let text = owned(reasoning).filter(|text| !text.is_empty());
    text.map(|text| Part::Thinking { text, signature: None, encrypted: None }).into_iter().collect()
}

fn blocks(content: Option<Field<'_>>) -> Vec<Part> {
    let Some(content) = content else { return Vec::new() };
    if let Some(text) = content.text() {
        return vec![Part::Text(text.into_owned())];
    }
    content.elements().unwrap_or_default().into_iter().flat_map(block).collect()
}

fn block(field: Field<'_>) -> Vec<Part> {
    let block = inner(Some(field));
    match (text(block.kind).as_deref(), owned(block.text), block.image_urls.and_then(|urls| urls.elements()))
    {
        (Some("text"), Some(text), _) => vec![Part::Text(text)],
        (Some("image"), _, Some(urls)) => {
            urls.into_iter().filter_map(|url| Some(data_url::image(url.text()?.into_owned()))).collect()
        }
        _ => vec![opaque(RUNTIME, BLOCK, field.raw())],
    }
}

/// Returns the type of the first block that is not known.
fn unknown_block(parts: &[Part]) -> Option<String> {
    parts.iter().find_map(|part| match part {
        Part::ToolResult { parts, .. } => unknown_block(parts),
        Part::Opaque { kind, json, .. } if kind == BLOCK => {
            let kind = type_name(inner(Some(Field::whole(json))).kind);
            (!matches!(kind.as_str(), "text" | "image")).then(|| format!("content/{kind}"))
        }
        _ => None,
    })
}

/// Says how sure it is of a first event, and which version wrote it.
pub(crate) fn first(line: &[u8]) -> Option<(Confidence, Option<String>)> {
    let (_, event) = parse_line(line, Event::read).ok()?;
    let is_source = matches!(text(event.source)?.as_ref(), "agent" | "user" | "environment" | "hook");
    let is_event = event.kind.is_some() || event.action.is_some() || event.observation.is_some();
    // One event of a folder looks the same: the folder is the transcript, not each of its files.
    (is_source && is_event && event.id.is_some() && event.timestamp.is_some())
        .then_some((Confidence::Possible, None))
}

/// Encodes what was said as events of the SDK.
pub(crate) fn encode(entries: &[Entry]) -> Vec<u8> {
    let mut out = Vec::new();
    for entry in entries.iter().filter(|entry| entry.meta.visibility.agent) {
        encode_entry(entry, &mut out);
    }
    out
}

/// Encodes a summary of ours, as something that the user says.
pub(super) fn compaction(summary: &str, _keeps: &Keeps<'_>, at: Timestamp) -> Vec<u8> {
    let mut out = Vec::new();
    let message = Object::new().text("role", "user").raw("content", &list(&[Part::Text(summary.to_owned())]));
    let event = head(&format!("summary-{}", at.as_micros()), Some(at), "user");
    push_line(&mut out, &event.raw("llm_message", &message.finish()).text("kind", "MessageEvent").finish());
    out
}

fn head(id: &str, time: Option<Timestamp>, source: &str) -> Object {
    let object = Object::new().text("id", id);
    let time = time.unwrap_or(Timestamp::EPOCH).to_string();
    object.text("timestamp", &time).text("source", source)
}

fn encode_entry(entry: &Entry, out: &mut Vec<u8>) {
    if let [Part::Summary { text, covers }] = entry.parts.as_slice()
        && !covers.is_empty()
    {
        let ids = json::list(covers.iter().map(|id| quote(id.as_str())));
        let event = head(entry.id.as_str(), entry.timestamp, "environment").raw("forgotten_event_ids", &ids);
        let event = event.text("summary", text).raw("summary_offset", "0");
        return push_line(out, &event.text("kind", CONDENSATION).finish());
    }
    let mut said: Vec<Part> = Vec::new();
    let (mut text, mut signed) = (String::new(), Vec::new());
    let mut has_calls = false;
    for (number, part) in entry.parts.iter().enumerate() {
        let id = if number == 0 { entry.id.to_string() } else { format!("{}-{number}", entry.id) };
        match part {
            Part::Thinking { text: own, signature, .. } => {
                text.push_str(own);
                let block = Object::new().text("type", "thinking").text("thinking", own);
                signed.push(block.given("signature", signature.as_deref()).finish());
            }
            Part::ToolCall { call_id, name, arguments } => {
                let call = Object::new().text("id", call_id).text("name", name).text("arguments", arguments);
                let event = head(&id, entry.timestamp, "agent")
                    .raw("thought", &list(&std::mem::take(&mut said)))
                    .text("reasoning_content", &std::mem::take(&mut text))
                    .raw("thinking_blocks", &json::list(signed.drain(..)))
                    .text("tool_name", name)
                    .text("tool_call_id", call_id)
                    .raw("tool_call", &call.finish());
                push_line(out, &event.text("kind", "ActionEvent").finish());
                has_calls = true;
            }
            Part::ToolResult { call_id, is_error, parts } => {
                let told = Object::new().raw("content", &list(parts)).flag("is_error", *is_error);
                let event = head(&id, entry.timestamp, "environment").text("tool_call_id", call_id);
                let event = event.raw("observation", &told.finish()).text("kind", "ObservationEvent");
                push_line(out, &event.finish());
            }
            other => said.push(other.clone()),
        }
    }
    if said.is_empty() && (text.is_empty() || has_calls) {
        return;
    }
    if entry.kind == EntryKind::Instruction {
        let prompt = said.iter().find_map(|part| match part {
            Part::Text(text) => Some(Object::new().text("type", "text").text("text", text).finish()),
            _ => None,
        });
        let event = head(entry.id.as_str(), entry.timestamp, "agent");
        let event = event.raw("system_prompt", &prompt.unwrap_or_else(|| "{}".to_owned()));
        return push_line(out, &event.text("kind", "SystemPromptEvent").finish());
    }
    let (role, source) =
        if entry.role == Role::Assistant { ("assistant", "agent") } else { ("user", "user") };
    let message = Object::new().text("role", role).raw("content", &list(&said));
    let message = if text.is_empty() { message } else { message.text("reasoning_content", &text) };
    let event = head(entry.id.as_str(), entry.timestamp, source).raw("llm_message", &message.finish());
    push_line(out, &event.text("kind", "MessageEvent").finish());
}

fn list(parts: &[Part]) -> String {
    let blocks = parts.iter().filter_map(|part| match part {
        Part::Text(text) | Part::Summary { text, .. } => {
            Some(Object::new().text("type", "text").text("text", text).finish())
        }
        Part::Image { media_type, source } => {
            let url = data_url::address(media_type, source)?;
            let urls = json::list([quote(&url)]);
            Some(Object::new().text("type", "image").raw("image_urls", &urls).finish())
        }
        Part::Opaque { runtime, json, .. } if runtime == RUNTIME => Some(json.clone()),
        _ => None,
    });
    json::list(blocks)
}
