//! The conversation of a request to a model's API, as a program sends it: what was said, what is said now, and up to where the
//! provider can reuse what it read before.
//!
//! How an API writes a message is its own module's. Which entries a model is given is not decided here.

use stemmata_model::{Entry, EntryId, FormatId, ImageSource, Losses, Part, Role};

use super::turns::{NO_PROMPT, Turn, turns};
use super::{anthropic, chat, responses};
use crate::anthropic::block;
use crate::json::{Object, list, quote};
use crate::translate::translate;

/// Which API a request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Api {
    /// Anthropic's Messages API.
    Anthropic,
    /// Chat completions, of OpenAI and of the servers that follow it.
    ChatCompletions,
    /// OpenAI's Responses API.
    Responses,
}

impl Api {
    /// Returns the format of its arrays.
    const fn format(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic-messages-v1",
            Self::ChatCompletions => "openai-chat-v1",
            Self::Responses => "openai-responses-v1",
        }
    }
}

/// What a model is to be given.
#[derive(Debug, Clone, PartialEq)]
pub struct Conversation {
    /// The system prompt; blank for none. It stays the same from turn to turn.
    pub system: String,
    /// What was said, oldest first, each call with its result behind it.
    pub entries: Vec<Entry>,
    /// What the user says now.
    pub pending: Vec<Part>,
}

/// The parts of a request's body that hold a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestBody {
    /// A JSON object: `system` and `messages`, `messages`, or `instructions` and `input`.
    pub json: String,
    /// Messages or items at the beginning that the next turn begins with, too, as long as nothing of the conversation is taken out.
    pub stable: usize,
    /// Breakpoints for the provider's cache. Only Anthropic's API has them, and takes four.
    pub breakpoints: usize,
    /// What the API has no form for.
    pub losses: Losses,
}

/// The format of entries in sessions of turns.
const ENTRIES: &str = "stemmata-v1";

/// The id of what the user says now, while it is written. No entry has it.
const PENDING: &str = "(stemmata: pending)";

/// What both providers take; a request with another image is refused as a whole.
const IMAGE_TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// Characters of a tool's name that every API takes.
const TOOL_NAME_CHARS_MAX: usize = 64;

/// Writes a conversation as an API takes it. Pure: the same conversation gives the same bytes.
///
/// Calls stay with their results, no message is empty, and what the user says now is last. For Anthropic's API the roles alternate,
/// and the ends of three prefixes are breakpoints: of the system prompt, of what was said before the last prompt (there the
/// cache was written for the turn before), and of what was said before this one. The fourth is left to the caller's tools.
pub fn request_body(api: Api, of: &Conversation) -> RequestBody {
    let format = |name: &str| FormatId::new(name).expect("a constant name is a name");
    let pending = EntryId::new(PENDING).expect("a constant name is a name");
    let said = Entry::said(pending.clone(), Role::User, of.pending.clone());
    let all = of.entries.iter().cloned().chain([said]).filter_map(usable).collect();
    let translated = translate(all, &format(ENTRIES), &format(api.format()));
    let entries: Vec<Entry> =
        translated.entries.into_iter().filter(|entry| !entry.parts.is_empty()).collect();
    let now = entries.iter().rposition(|entry| entry.id == pending).unwrap_or(entries.len());
    let history = entries.get(..now).unwrap_or_default();
    let before = history.iter().rposition(Entry::is_prompt).unwrap_or(0);
    let before = history.get(..before).unwrap_or_default();
    let system = of.system.trim();
    let (json, stable, breakpoints) = match api {
        Api::Anthropic => of_anthropic(system, [before, history, &entries]),
        Api::ChatCompletions => {
            let system = Object::new().text("role", "system").text("content", system).finish();
            let system = (!of.system.trim().is_empty()).then_some(system);
            let written = |entries: &[Entry]| system.iter().cloned().chain(chat::elements(entries)).collect();
            let (stable, messages) = of_elements([history, &entries].map(written));
            (Object::new().raw("messages", &messages).finish(), stable, 0)
        }
        Api::Responses => {
            let (stable, input) = of_elements([history, &entries].map(responses::elements));
            let object = Object::new().given("instructions", (!system.is_empty()).then_some(system));
            (object.raw("input", &input).finish(), stable, 0)
        }
    };
    RequestBody { json, stable, breakpoints, losses: translated.report }
}

/// Returns an entry as every API takes it; none for one that says nothing.
fn usable(mut entry: Entry) -> Option<Entry> {
    // A session may continue from a subagent's transcript: what it says is this conversation now.
    entry.meta.sidechain = None;
    let is_summary = entry.parts.iter().any(|part| matches!(part, Part::Summary { .. }));
    if is_summary && entry.role == Role::Assistant {
        // Only a provider has the assistant say a summary, in blocks that it signs.
        entry.role = Role::User;
    }
    entry.parts = usable_parts(entry.parts);
    (!entry.parts.is_empty()).then_some(entry)
}

fn usable_parts(parts: Vec<Part>) -> Vec<Part> {
    let usable = parts.into_iter().map(|part| match part {
        Part::Summary { text, .. } => Part::Text(text),
        Part::ToolCall { call_id, name, arguments } => {
            Part::ToolCall { call_id, name: tool_name(&name), arguments }
        }
        Part::ToolResult { call_id, is_error, parts } => {
            Part::ToolResult { call_id, is_error, parts: usable_parts(parts) }
        }
        Part::Image { media_type, source } => image(media_type, source),
        other => other,
    });
    usable.filter(|part| !matches!(part, Part::Text(text) if text.trim().is_empty())).collect()
}

/// Returns an image that no API would refuse: one whose bytes are here or that a provider can fetch.
fn image(media_type: String, source: ImageSource) -> Part {
    let is_usable = match &source {
        ImageSource::Base64(_) => IMAGE_TYPES.contains(&media_type.as_str()),
        ImageSource::Url(url) => url.starts_with("https://") || url.starts_with("http://"),
        ImageSource::Artifact(_) => false,
    };
    if is_usable {
        return Part::Image { media_type, source };
    }
    match source {
        ImageSource::Url(url) => Part::Text(format!("[image {url}]")),
        ImageSource::Base64(_) | ImageSource::Artifact(_) => Part::Text(format!("[image {media_type}]")),
    }
}

fn tool_name(name: &str) -> String {
    let is_plain = |sign: char| sign.is_ascii_alphanumeric() || sign == '_' || sign == '-';
    let plain: String =
        name.chars().take(TOOL_NAME_CHARS_MAX).map(|sign| if is_plain(sign) { sign } else { '_' }).collect();
    if plain.is_empty() { "tool".to_owned() } else { plain }
}

/// Returns how many elements of the history stay as they are, and all elements as a list.
fn of_elements([history, all]: [Vec<String>; 2]) -> (usize, String) {
    let stable = history.iter().zip(&all).take_while(|(one, other)| one == other).count();
    (stable, list(all))
}

/// A block of a message, and whether the API takes a breakpoint on it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Block {
    json: String,
    may_break: bool,
}

/// A message: who says it, and its blocks.
type Message = (&'static str, Vec<Block>);

fn of_anthropic(system: &str, [before, history, all]: [&[Entry]; 3]) -> (String, usize, usize) {
    let [before, history, mut all] = [before, history, all].map(messages);
    let stable = history.iter().zip(&all).take_while(|(one, other)| one == other).count();
    let mut places: Vec<(usize, usize)> =
        [before, history].iter().filter_map(|prefix| place(prefix, &all)).collect();
    places.dedup();
    for (message, block) in &places {
        if let Some(block) = all.get_mut(*message).and_then(|(_, blocks)| blocks.get_mut(*block)) {
            block.json = with_breakpoint(&block.json);
        }
    }
    let written = all.iter().map(|(role, blocks)| {
        let content = list(blocks.iter().map(|block| &block.json));
        Object::new().text("role", role).raw("content", &content).finish()
    });
    let text = Object::new().text("type", "text").text("text", system).finish();
    let system = (!system.is_empty()).then(|| list([with_breakpoint(&text)]));
    let object = Object::new().given_raw("system", system.as_deref()).raw("messages", &list(written));
    (object.finish(), stable, places.len() + usize::from(system.is_some()))
}

/// Writes what was said in messages whose roles alternate. Each is a list of blocks, so that a breakpoint changes no other byte.
fn messages(entries: &[Entry]) -> Vec<Message> {
    let mut messages: Vec<Message> = Vec::new();
    for turn in turns(entries) {
        let role = if turn.is_assistant { "assistant" } else { "user" };
        let mut blocks = blocks(&turn);
        if blocks.is_empty() {
            continue;
        }
        match messages.last_mut() {
            Some((last, standing)) if *last == role => standing.append(&mut blocks),
            None if turn.is_assistant => {
                let json = Object::new().text("type", "text").raw("text", &quote(NO_PROMPT)).finish();
                messages.push(("user", vec![Block { json, may_break: true }]));
                messages.push((role, blocks));
            }
            _ => messages.push((role, blocks)),
        }
    }
    messages
}

fn blocks(turn: &Turn) -> Vec<Block> {
    let written = |part: &Part| {
        let may_break = matches!(
            part,
            Part::Text(_) | Part::Image { .. } | Part::ToolCall { .. } | Part::ToolResult { .. }
        );
        Some(Block { json: block(part)?, may_break })
    };
    anthropic::said(turn).iter().filter_map(written).collect()
}

/// Returns the last block of a prefix that may be a breakpoint; none where all messages do not begin with it.
fn place(prefix: &[Message], all: &[Message]) -> Option<(usize, usize)> {
    let begins = |(one, other): (&Message, &Message)| one.0 == other.0 && other.1.starts_with(&one.1);
    let last = prefix.len().checked_sub(1)?;
    let is_whole = prefix.get(..last)? == all.get(..last)?;
    if !is_whole || !begins((prefix.get(last)?, all.get(last)?)) {
        return None;
    }
    let places = prefix.iter().enumerate().rev();
    let mut places =
        places.flat_map(|(at, (_, blocks))| blocks.iter().enumerate().rev().map(move |one| (at, one)));
    places.find_map(|(at, (number, block))| block.may_break.then_some((at, number)))
}

fn with_breakpoint(block: &str) -> String {
    let open = block.strip_suffix('}').unwrap_or(block);
    format!(r#"{open},"cache_control":{{"type":"ephemeral"}}}}"#)
}
