//! What one line of a rollout is in the canonical model, and to the rule of turns.
//!
//! A *real user record* is a `response_item` message of the role `user` that does not begin as the texts do which
//! the client itself puts there. `session_meta`, `task_started` and `turn_context` begin a turn ahead of it.

use std::borrow::Cow;

use stemmata_model::{Body, Entry, EntryKind, Part, Role, Timestamp, Visibility};

use super::RUNTIME;
use super::loader::{self, MESSAGE_CONTENT, OUTPUT_CONTENT};
use super::record::{Content, Git, Kind, Payload, Record, SENT_ITEMS, Source, Spawn, Subagent, UNSENT_ITEMS};
use super::usage::last_usage;
use crate::adapter::IdKind;
use crate::data_url;
use crate::json::{Field, Object, RecordError, is_string, owned, text};
use crate::lines::facts::Hints;
use crate::lines::history::Back;
use crate::lines::unknown::{inner_name, name_unknown_parts, type_name};
use crate::lines::{self, Leaves, Line, OPAQUE_REPLACEMENT, Turn, begins_with, entry_id, first_text, opaque};

/// How texts begin that the client puts into the role `user`.
const CONTEXT_STARTS: [&str; 12] = [
    "# AGENTS.md instructions",
    "<INSTRUCTIONS>",
    "<agent_message>",
    "<environment_context>",
    "<permissions instructions>",
    "<recommended_plugins>",
    "<skill>",
    "<subagent_notification>",
    "<turn_aborted>",
    "<user_action>",
    "<user_instructions>",
    "<user_shell_command>",
];

/// How texts begin that the client puts into the role `developer` for a turn: they go with it. Other ones stay.
const DEVELOPER_STARTS: [&str; 19] = [
    "<apps_instructions>",
    "<collaboration_mode>",
    "<context_window>",
    "<context_window_guidance>",
    "<environments_instructions>",
    "<git_attribution>",
    "<model_switch>",
    "<multi_agent_mode>",
    "<multi_agent_role>",
    "<permissions instructions>",
    "<persistent_mode>",
    "<personality_spec>",
    "<plugins_instructions>",
    "<realtime_conversation>",
    "<rollout_budget>",
    "<skills_instructions>",
    "<token_budget>",
    "<tools>",
    "Approved command prefix saved:",
];

/// How the client begins a summary since it knows it again: an older one is a prompt to it.
const SUMMARY_START: &str = "Another language model started to solve this problem and produced a summary";

/// How a compaction's summary begins whose text only the provider can read.
const DIGEST_START: &str = "Earlier messages of the user:";

/// Reads one line (see `Dialect::read`).
pub(super) fn read(line: &[u8]) -> Result<Line, RecordError> {
    Record::parse(line).map(|record| read_record(&record))
}

/// Reads a record.
pub(super) fn read_record(record: &Record<'_>) -> Line {
    let time = record.time();
    let mut line = match record.kind {
        Kind::Item => item(record, time),
        Kind::Compacted => compacted(record, time),
        Kind::SessionMeta | Kind::TurnContext | Kind::Event | Kind::Other | Kind::Unknown => {
            Line::metadata(RUNTIME, &name(record), whole(record), time)
        }
    };
    match record.kind {
        Kind::SessionMeta => {
            line.turn = Turn::Header;
            line.hints = header_hints(record);
        }
        Kind::TurnContext => {
            line.turn = Turn::Settings;
            line.hints.cwd = owned(record.payload.cwd);
            line.meta.model = owned(record.payload.model);
        }
        Kind::Event => {
            line.turn = event_turn(record);
            line.meta.usage =
                record.payload.info.filter(|_| record.is_item("token_count")).and_then(last_usage);
        }
        Kind::Item | Kind::Compacted | Kind::Other | Kind::Unknown => {}
    }
    line.unknown = record.is_unknown().then(|| name(record));
    line.unknown_parts = unknown_parts(record, &line.parts);
    line
}

/// Returns what a record is called: its type, and that of what it is about.
pub(super) fn name(record: &Record<'_>) -> String {
    let outer = match record.kind {
        Kind::SessionMeta if !record.has_envelope => "session_meta".to_owned(),
        _ => type_name(record.envelope.record_type),
    };
    match record.payload.item_type.filter(|_| record.has_envelope) {
        Some(inner) => format!("{outer}/{}", type_name(Some(inner))),
        None => outer,
    }
}

/// Returns the names of what an item or a compaction holds that this version does not know.
fn unknown_parts(record: &Record<'_>, parts: &[Part]) -> Vec<String> {
    let mut names = Vec::new();
    let payload = &record.payload;
    match record.kind {
        Kind::Item if record.is_any(&SENT_ITEMS) => {
            // Of reasoning only the texts become a part.
            let inside = [payload.summary, payload.content].map(|field| content(field).1).concat();
            let parts = if record.is_item("reasoning") { &inside } else { parts };
            let known = [SENT_ITEMS.as_slice(), &MESSAGE_CONTENT, &OUTPUT_CONTENT].concat();
            name_unknown_parts(parts, &name(record), &known, &mut names);
        }
        Kind::Compacted => {
            let kept = payload.replacement_history.and_then(|kept| kept.elements()).unwrap_or_default();
            let kinds = kept.into_iter().filter_map(|item| Payload::read(item).ok()?.item_type);
            let is_known = |kind: &Field<'_>| {
                SENT_ITEMS.iter().chain(&UNSENT_ITEMS).any(|known| is_string(*kind, known))
            };
            let unknown = kinds.filter(|kind| !is_known(kind));
            names.extend(unknown.map(|kind| inner_name("compacted", &type_name(Some(kind)))));
        }
        Kind::Item | Kind::SessionMeta | Kind::TurnContext | Kind::Event | Kind::Other | Kind::Unknown => {}
    }
    names
}

/// Returns the line's JSON.
fn whole<'a>(record: &Record<'a>) -> &'a str {
    record.body.raw()
}

fn header_hints(record: &Record<'_>) -> Hints {
    let payload = &record.payload;
    let git = payload.git.and_then(|git| Git::read(git).ok());
    let is_subagent = payload.source.is_some_and(|source| source.raw().contains("\"subagent\""))
        || payload.thread_source.is_some_and(|source| is_string(source, "subagent"));
    Hints {
        session: owned(payload.id).or_else(|| owned(payload.session_id)),
        parent: if is_subagent { parent_of(payload) } else { None },
        is_subagent: Some(is_subagent),
        cwd: owned(payload.cwd),
        git_branch: git.as_ref().and_then(|git| owned(git.branch)),
        remote: git.and_then(|git| owned(git.repository_url)),
        version: owned(payload.cli_version),
        ..Hints::default()
    }
}

/// Returns the thread that started a subagent's.
fn parent_of(payload: &Payload<'_>) -> Option<String> {
    let spawn = || {
        let subagent = Subagent::read(Source::read(payload.source?).ok()?.subagent?).ok()?;
        owned(Spawn::read(subagent.spawn?).ok()?.parent)
    };
    owned(payload.parent_thread_id).or_else(spawn)
}

/// Returns what an event is to turns.
pub(super) fn event_turn(record: &Record<'_>) -> Turn {
    if record.is_item("task_started") || record.is_item("turn_started") {
        return Turn::Start;
    }
    if record.is_item("thread_rolled_back") {
        // Without a number the client does not know the event.
        return loader::turns_back(&record.payload).map_or(Turn::Other, Turn::Rewind);
    }
    Turn::Other
}

/// Returns the content items of a message, an output or a summary.
fn content(field: Option<Field<'_>>) -> (Body, Vec<Part>) {
    lines::content(RUNTIME, field, content_part)
}

fn content_part(element: Field<'_>) -> Part {
    let Ok(item) = Content::read(element) else { return opaque(RUNTIME, "content", element.raw()) };
    let kind = text(item.kind).unwrap_or_default();
    match (kind.as_ref(), item.text, owned(item.image_url)) {
        ("input_text" | "output_text" | "text" | "summary_text" | "reasoning_text", Some(said), _) => {
            Part::Text(said.text().map(Cow::into_owned).unwrap_or_default())
        }
        ("input_image", _, Some(url)) => data_url::image(url),
        _ => opaque(RUNTIME, &kind, element.raw()),
    }
}

fn item(record: &Record<'_>, time: Option<Timestamp>) -> Line {
    let payload = &record.payload;
    let kind = text(payload.item_type).unwrap_or_default();
    let call_id = owned(payload.call_id);
    let mut line = match kind.as_ref() {
        "message" => message(payload, time),
        "reasoning" => assistant(vec![reasoning(payload)], time),
        "function_call" | "tool_search_call" => assistant(vec![function_call(payload, &kind)], time),
        "custom_tool_call" => {
            let input = payload.input.and_then(|input| input.text()).unwrap_or_default();
            assistant(vec![call(payload, Object::new().text("input", &input).finish())], time)
        }
        "local_shell_call" => {
            let arguments = payload.action.map_or("{}", |action| action.raw()).to_owned();
            let id = call_id.clone().or_else(|| owned(payload.id)).unwrap_or_default();
            assistant(vec![Part::ToolCall { call_id: id, name: "local_shell".to_owned(), arguments }], time)
        }
        "function_call_output" | "custom_tool_call_output" | "tool_search_output" => {
            let (_, parts) = content(payload.output);
            let result =
                Part::ToolResult { call_id: call_id.clone().unwrap_or_default(), is_error: false, parts };
            Line::said(Role::Tool, EntryKind::ToolResult, vec![result], time)
        }
        kind if SENT_ITEMS.contains(&kind) => {
            let mut line = assistant(vec![opaque(RUNTIME, kind, whole(record))], time);
            if kind == "agent_message" {
                line.back = Back::Begins;
            }
            line
        }
        // No model sees it. Commits end around it as they always did.
        _ => Line { turn: Turn::Conversation, ..Line::metadata(RUNTIME, &name(record), whole(record), time) },
    };
    line.id = entry_id(text(payload.id));
    line.ids = call_id.map(|id| (IdKind::Call, id)).into_iter().collect();
    line
}

fn assistant(parts: Vec<Part>, time: Option<Timestamp>) -> Line {
    Line::said(Role::Assistant, EntryKind::Message, parts, time)
}

fn message(payload: &Payload<'_>, time: Option<Timestamp>) -> Line {
    let (body, parts) = content(payload.content);
    let role = text(payload.role).unwrap_or_default();
    let mut line = match role.as_ref() {
        "assistant" => assistant(parts, time),
        "user" if !is_context(&parts) => Line::prompt(parts, time),
        role => {
            let role = if role == "user" { Role::User } else { Role::System };
            let mut line = Line::said(role, EntryKind::Instruction, parts, time);
            line.meta.visibility = Visibility { agent: true, user: false };
            line.turn = Turn::Other;
            if role == Role::System && !is_for_turn(&line.parts) {
                line.back = Back::Stays;
            }
            line
        }
    };
    line.body = body;
    line
}

/// Returns whether the client put a message of the role `developer` there for a turn.
fn is_for_turn(parts: &[Part]) -> bool {
    let begins = |text: &str, start: &str| {
        text.trim_start().get(..start.len()).is_some_and(|found| found.eq_ignore_ascii_case(start))
    };
    parts.iter().any(|part| match part {
        Part::Text(text) => DEVELOPER_STARTS.iter().any(|start| begins(text, start)),
        _ => false,
    })
}

/// Returns whether the client itself put a message of the role `user` there.
fn is_context(parts: &[Part]) -> bool {
    begins_with(parts, &CONTEXT_STARTS)
}

/// Reads reasoning: its summary where there is one, else its text; the rest only the provider can read.
fn reasoning(payload: &Payload<'_>) -> Part {
    let joined = |field| {
        let texts: Vec<String> = content(field)
            .1
            .into_iter()
            .filter_map(|part| if let Part::Text(text) = part { Some(text) } else { None })
            .collect();
        (!texts.is_empty()).then(|| texts.join("\n\n"))
    };
    let text = joined(payload.summary).or_else(|| joined(payload.content)).unwrap_or_default();
    Part::Thinking { text, signature: None, encrypted: owned(payload.encrypted_content) }
}

fn function_call(payload: &Payload<'_>, kind: &str) -> Part {
    // JSON in a string, as a rule.
    let arguments =
        payload.arguments.map(|field| owned(Some(field)).unwrap_or_else(|| field.raw().to_owned()));
    let Part::ToolCall { call_id, name, arguments } = call(payload, arguments.unwrap_or_default()) else {
        return opaque(RUNTIME, kind, "null");
    };
    let name = if name.is_empty() { kind.trim_end_matches("_call").to_owned() } else { name };
    Part::ToolCall { call_id, name, arguments }
}

/// Returns a call; a tool of a server is named as elsewhere: `mcp__server__tool`.
fn call(payload: &Payload<'_>, arguments: String) -> Part {
    let name = owned(payload.name).unwrap_or_default();
    let name = match owned(payload.namespace).filter(|namespace| !namespace.is_empty()) {
        Some(namespace) => format!("{namespace}__{name}"),
        None => name,
    };
    Part::ToolCall { call_id: owned(payload.call_id).unwrap_or_default(), name, arguments }
}

/// Reads a compaction: what it keeps is carried, its summary is a text where the provider gave one.
fn compacted(record: &Record<'_>, time: Option<Timestamp>) -> Line {
    let payload = &record.payload;
    let kept = payload.replacement_history.filter(|kept| !kept.is_null());
    let summary = owned(payload.message).filter(|summary| !summary.is_empty());
    let summary = summary.unwrap_or_else(|| kept.map(digest).unwrap_or_default());
    let is_prompt = !summary.starts_with(SUMMARY_START);
    let mut parts = vec![Part::Summary { text: summary, covers: Vec::new() }];
    parts.extend(kept.map(|kept| opaque(RUNTIME, OPAQUE_REPLACEMENT, kept.raw())));
    let mut line = Line::said(Role::User, EntryKind::CompactionSummary, parts, time);
    line.turn = Turn::Compaction;
    let is_dropped = loader::misread(record).is_some();
    line.leaves = match kept {
        _ if is_dropped => Leaves::All,
        Some(_) => Leaves::Nothing,
        None => Leaves::Prompts { is_prompt },
    };
    // One that is dropped says nothing to a model, and neither does one that keeps nothing.
    line.meta.visibility.agent = !is_dropped && !kept.is_some_and(loader::is_empty_list);
    line
}

/// Returns whether an entry is a compaction whose summary only the provider can read: what it kept is not what it stands for.
pub(crate) fn is_sealed(entry: &Entry) -> bool {
    let has_words = entry.parts.iter().any(
        |part| matches!(part, Part::Summary { text, .. } if !text.is_empty() && !text.starts_with(DIGEST_START)),
    );
    let is_sealed = |part: &Part| match part {
        Part::Opaque { runtime, kind, json } if runtime == RUNTIME && kind == OPAQUE_REPLACEMENT => {
            Field::whole(json).elements().unwrap_or_default().into_iter().any(is_encrypted)
        }
        _ => false,
    };
    entry.kind == EntryKind::CompactionSummary && !has_words && entry.parts.iter().any(is_sealed)
}

fn is_encrypted(item: Field<'_>) -> bool {
    let Ok(payload) = Payload::read(item) else { return false };
    let kind = text(payload.item_type).unwrap_or_default();
    payload.encrypted_content.is_some()
        && matches!(kind.as_ref(), "compaction" | "compaction_summary" | "context_compaction")
}

/// Lists the user's messages that a compaction keeps: all that can be read of it.
fn digest(kept: Field<'_>) -> String {
    let mut text = DIGEST_START.to_owned();
    for item in kept.elements().unwrap_or_default() {
        let Ok(payload) = Payload::read(item) else { continue };
        let is_user = payload.role.is_some_and(|role| is_string(role, "user"));
        let (_, parts) = content(payload.content);
        if let Some(said) = first_text(&parts).filter(|_| is_user && !is_context(&parts)) {
            text.push_str("\n\n- ");
            text.push_str(said.trim());
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use stemmata_model::{EntryKind, Usage};

    use super::read;

    #[test]
    fn a_token_count_has_the_usage_of_the_last_answer() {
        let counted = |payload: &str| {
            let line =
                format!(r#"{{"timestamp":"2026-01-01T00:00:00Z","type":"event_msg","payload":{payload}}}"#);
            let line = read(line.as_bytes()).unwrap();
            assert_eq!((line.kind, line.meta.visibility.agent), (EntryKind::Metadata, false));
            line.meta.usage
        };
        let last =
            r#"{"input_tokens":100,"cached_input_tokens":70,"output_tokens":20,"reasoning_output_tokens":5}"#;
        let totals = r#"{"input_tokens":900,"cached_input_tokens":70,"output_tokens":90}"#;
        let info = format!(
            r#"{{"total_token_usage":{totals},"last_token_usage":{last},"model_context_window":258400}}"#
        );
        let usage =
            Usage { input_tokens: 30, output_tokens: 20, cache_read_tokens: 70, cache_write_tokens: 0 };
        assert_eq!(counted(&format!(r#"{{"type":"token_count","info":{info}}}"#)), Some(usage));
        assert_eq!(counted(&format!(r#"{{"type":"agent_message","info":{info}}}"#)), None);
        for none in ["null", "{}", "[]", r#"{"last_token_usage":7}"#] {
            assert_eq!(counted(&format!(r#"{{"type":"token_count","info":{none}}}"#)), None, "{none}");
        }
    }
}
