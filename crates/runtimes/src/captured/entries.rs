//! `stemmata-v1`: entries as JSON lines. Normative: `docs/format/stemmata-v1.md`.
//!
//! Everything of an entry but where its bytes stood; what is unset is left out, and a reader skips keys that it does not
//! know.

use stemmata_model::{
    ArtifactId, Body, Entry, EntryId, EntryKind, EntryMeta, ImageSource, Part, Role, Timestamp, Usage,
    Visibility,
};

use super::visibility;
use crate::adapter::{Confidence, Keeps};
use crate::json::{
    self, Field, Object, RecordError, borrowed_object, is_string, owned, parse_line, push_line, quote, text,
};
use crate::lines::facts::Templates;
use crate::lines::own::Own;
use crate::lines::{Dialect, Line, Turn, entry_id, no_rescue, opaque};

pub(super) const RUNTIME: &str = "stemmata";

/// The version that stands in each line.
const VERSION: &str = "stemmata-v1";

/// The version of lines that a reader must understand: what they say changes which other lines are in a context.
pub(super) const VERSION_2: &str = "stemmata-v2";

/// With what the name of a version of this format begins.
const VERSIONS: &str = "stemmata-v";

/// Parts that lie in parts at most; deeper ones are carried as JSON.
const DEPTH_MAX: usize = 16;

pub(super) static DIALECT: Dialect = Dialect {
    runtime: RUNTIME,
    templates: Templates { main: "stemmata/main", subagent: "stemmata/subagent" },
    read,
    rescue: no_rescue,
};

borrowed_object! {
    /// One entry.
    struct Row {
        version = "v", id, parent, timestamp, role, kind, body, parts, meta, show,
        covers_from = "covers_from_id", keeps_from = "keeps_from_id",
    }
}

borrowed_object! {
    /// One part.
    struct Piece {
        kind = "type", text, signature, encrypted, call_id, name, arguments, is_error, parts,
        media_type, data, artifact, url, covers, runtime, opaque_kind = "kind", json,
    }
}

borrowed_object! {
    /// What stands beside the parts.
    struct Meta {
        agent = "agent_visible", user = "user_visible", model, message_id, usage, stop_reason, cwd,
        git_branch, sidechain, author,
    }
}

borrowed_object! {
    /// Tokens.
    struct Counted {
        input, output, cache_read, cache_write,
    }
}

pub(super) fn first(line: &[u8]) -> Option<(Confidence, Option<String>)> {
    let (_, row) = parse_line(line, Row::read).ok()?;
    Version::of(&row).map(|_| (Confidence::Certain, None))
}

fn read(line: &[u8]) -> Result<Line, RecordError> {
    let (whole, row) = parse_line(line, Row::read)?;
    let time = text(row.timestamp).and_then(|time| Timestamp::parse(&time).ok());
    let role = text(row.role).and_then(|role| role_of(&role));
    let version = Version::of(&row);
    let (Some(role), Some(elements), Some(version)) =
        (role, row.parts.and_then(|parts| parts.elements()), version)
    else {
        let mut line = Line::metadata(RUNTIME, "line", whole.raw(), time);
        let named = owned(row.version).unwrap_or_default();
        let is_newer = version.is_none() && named.starts_with(VERSIONS);
        line.own = Some(Box::new(Own { is_newer, ..Own::default() }));
        line.unknown = Some(named);
        return Ok(line);
    };
    let kind = text(row.kind).unwrap_or_default();
    if version == Version::Two && kind == visibility::KIND {
        let mut line = Line::metadata(RUNTIME, visibility::KIND, whole.raw(), time);
        line.id = entry_id(text(row.id));
        line.turn = Turn::Aside;
        line.own = Some(Box::new(Own { shows: Some(visibility::read(row.show)), ..Own::default() }));
        return Ok(line);
    }
    let kind = if kind.is_empty() { EntryKind::Message } else { kind_of(&kind) };
    let parts = elements.into_iter().map(|element| part(element, 0)).collect();
    let mut line = Line::said(role, kind, parts, time);
    line.id = entry_id(text(row.id));
    line.parent = entry_id(text(row.parent));
    line.body = if row.body.is_some_and(|body| is_string(body, "text")) { Body::Text } else { Body::Blocks };
    line.meta =
        row.meta.and_then(|meta| Meta::read(meta).ok()).map(|meta| read_meta(&meta)).unwrap_or_default();
    line.turn = turn(&line);
    let mut own = Own::default();
    if version == Version::Two && line.turn == Turn::Compaction {
        own.covers_from = entry_id(text(row.covers_from));
        own.keeps_from = entry_id(text(row.keeps_from));
    }
    line.own = Some(Box::new(own));
    if line.turn == Turn::Prompt {
        line.entitle();
    }
    line.hints.cwd.clone_from(&line.meta.cwd);
    line.hints.git_branch.clone_from(&line.meta.git_branch);
    Ok(line)
}

/// A version of the lines that this program reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

impl Version {
    fn of(row: &Row<'_>) -> Option<Self> {
        let is = |name: &str| row.version.is_some_and(|version| is_string(version, name));
        if is(VERSION) { Some(Self::One) } else { is(VERSION_2).then_some(Self::Two) }
    }
}

fn turn(line: &Line) -> Turn {
    match line.kind {
        EntryKind::CompactionSummary => Turn::Compaction,
        // It stands behind what it sums up, whose entries are there as well.
        EntryKind::ToolSummary => Turn::Aside,
        EntryKind::Metadata
        | EntryKind::CompactionBoundary
        | EntryKind::Unreadable
        | EntryKind::Instruction => Turn::Other,
        EntryKind::Message
            if line.role == Role::User && line.meta.visibility.agent && line.meta.sidechain.is_none() =>
        {
            Turn::Prompt
        }
        _ => Turn::Conversation,
    }
}

fn role_of(name: &str) -> Option<Role> {
    [Role::System, Role::User, Role::Assistant, Role::Tool].into_iter().find(|role| role.as_str() == name)
}

fn kind_of(name: &str) -> EntryKind {
    let known = [
        EntryKind::Message,
        EntryKind::ToolResult,
        EntryKind::ToolResultArchived,
        EntryKind::ToolSummary,
        EntryKind::CompactionSummary,
        EntryKind::CompactionBoundary,
        EntryKind::Instruction,
        EntryKind::Metadata,
        EntryKind::Unreadable,
    ];
    known.into_iter().find(|kind| kind.as_str() == name).unwrap_or_else(|| EntryKind::Other(name.to_owned()))
}

fn read_meta(meta: &Meta<'_>) -> EntryMeta {
    let is_seen = |field: Option<Field<'_>>| field.is_none_or(|field| field.raw() != "false");
    let number = |field: Option<Field<'_>>| field.and_then(|field| field.number()).unwrap_or(0);
    let usage = meta.usage.and_then(|usage| Counted::read(usage).ok());
    EntryMeta {
        visibility: Visibility { agent: is_seen(meta.agent), user: is_seen(meta.user) },
        model: owned(meta.model),
        message_id: owned(meta.message_id),
        usage: usage.map(|usage| Usage {
            input_tokens: number(usage.input),
            output_tokens: number(usage.output),
            cache_read_tokens: number(usage.cache_read),
            cache_write_tokens: number(usage.cache_write),
        }),
        stop_reason: owned(meta.stop_reason),
        cwd: owned(meta.cwd),
        git_branch: owned(meta.git_branch),
        sidechain: owned(meta.sidechain),
        author: owned(meta.author),
    }
}

fn part(field: Field<'_>, depth: usize) -> Part {
    let read = Piece::read(field).ok().filter(|_| depth <= DEPTH_MAX);
    read.and_then(|piece| known_part(&piece, depth)).unwrap_or_else(|| opaque(RUNTIME, "part", field.raw()))
}

fn known_part(piece: &Piece<'_>, depth: usize) -> Option<Part> {
    let said = || owned(piece.text);
    Some(match text(piece.kind)?.as_ref() {
        "text" => Part::Text(said()?),
        "thinking" => Part::Thinking {
            text: said()?,
            signature: owned(piece.signature),
            encrypted: owned(piece.encrypted),
        },
        "tool_call" => Part::ToolCall {
            call_id: owned(piece.call_id)?,
            name: owned(piece.name)?,
            arguments: owned(piece.arguments)?,
        },
        "tool_result" => Part::ToolResult {
            call_id: owned(piece.call_id)?,
            is_error: crate::json::is_true(piece.is_error),
            parts: piece.parts?.elements()?.into_iter().map(|inner| part(inner, depth + 1)).collect(),
        },
        "image" => Part::Image { media_type: owned(piece.media_type)?, source: source(piece)? },
        "file" => Part::File {
            name: owned(piece.name)?,
            media_type: owned(piece.media_type),
            data: owned(piece.data),
        },
        "summary" => Part::Summary {
            text: said()?,
            covers: match piece.covers {
                Some(covers) => covers
                    .elements()?
                    .into_iter()
                    .map(|id| entry_id(id.text()))
                    .collect::<Option<Vec<EntryId>>>()?,
                None => Vec::new(),
            },
        },
        "opaque" => Part::Opaque {
            runtime: owned(piece.runtime)?,
            kind: owned(piece.opaque_kind)?,
            json: owned(piece.json)?,
        },
        _ => return None,
    })
}

fn source(piece: &Piece<'_>) -> Option<ImageSource> {
    if let Some(data) = owned(piece.data) {
        return Some(ImageSource::Base64(data));
    }
    if let Some(id) = owned(piece.artifact) {
        return id.parse::<ArtifactId>().ok().map(ImageSource::Artifact);
    }
    owned(piece.url).map(ImageSource::Url)
}

/// Encodes entries in their order, each as one line.
pub(super) fn encode(entries: &[Entry]) -> Vec<u8> {
    let mut out = Vec::new();
    for entry in entries {
        push_line(&mut out, &line(entry));
    }
    out
}

fn line(entry: &Entry) -> String {
    if let Some(raw) = visibility::raw(&entry.kind, &entry.parts) {
        return raw.to_owned();
    }
    let object = Object::new().text("v", VERSION).text("id", entry.id.as_str());
    let object = object.given("parent", entry.parent.as_ref().map(EntryId::as_str));
    let object = object.given("timestamp", entry.timestamp.map(|time| time.to_string()).as_deref());
    let object = object.text("role", entry.role.as_str()).text("kind", entry.kind.as_str());
    let object = object.given("body", (entry.body == Body::Text).then_some("text"));
    let meta = Some(meta(&entry.meta)).filter(|meta| meta != "{}");
    object.raw("parts", &list(&entry.parts)).given_raw("meta", meta.as_deref()).finish()
}

fn meta(meta: &EntryMeta) -> String {
    let mut object = Object::new();
    for (key, is_seen) in [("agent_visible", meta.visibility.agent), ("user_visible", meta.visibility.user)] {
        if !is_seen {
            object = object.flag(key, false);
        }
    }
    for (key, text) in [
        ("model", &meta.model),
        ("message_id", &meta.message_id),
        ("stop_reason", &meta.stop_reason),
        ("cwd", &meta.cwd),
        ("git_branch", &meta.git_branch),
        ("sidechain", &meta.sidechain),
        ("author", &meta.author),
    ] {
        object = object.given(key, text.as_deref());
    }
    if let Some(usage) = &meta.usage {
        let counted = Object::new()
            .number("input", usage.input_tokens)
            .number("output", usage.output_tokens)
            .number("cache_read", usage.cache_read_tokens)
            .number("cache_write", usage.cache_write_tokens);
        object = object.raw("usage", &counted.finish());
    }
    object.finish()
}

fn list(parts: &[Part]) -> String {
    json::list(parts.iter().map(write))
}

fn write(part: &Part) -> String {
    let typed = |kind: &str| Object::new().text("type", kind);
    let object = match part {
        Part::Text(text) => typed("text").text("text", text),
        Part::Thinking { text, signature, encrypted } => {
            let object = typed("thinking").text("text", text).given("signature", signature.as_deref());
            object.given("encrypted", encrypted.as_deref())
        }
        Part::ToolCall { call_id, name, arguments } => {
            typed("tool_call").text("call_id", call_id).text("name", name).text("arguments", arguments)
        }
        Part::ToolResult { call_id, is_error, parts } => {
            let object = typed("tool_result").text("call_id", call_id);
            object.given_raw("is_error", is_error.then_some("true")).raw("parts", &list(parts))
        }
        Part::Image { media_type, source } => {
            let object = typed("image").text("media_type", media_type);
            match source {
                ImageSource::Base64(data) => object.text("data", data),
                ImageSource::Artifact(id) => object.text("artifact", &id.to_string()),
                ImageSource::Url(url) => object.text("url", url),
            }
        }
        Part::File { name, media_type, data } => {
            let object = typed("file").text("name", name).given("media_type", media_type.as_deref());
            object.given("data", data.as_deref())
        }
        Part::Summary { text, covers } => {
            let ids = (!covers.is_empty()).then(|| json::list(covers.iter().map(|id| quote(id.as_str()))));
            typed("summary").text("text", text).given_raw("covers", ids.as_deref())
        }
        Part::Opaque { runtime, kind, json } => {
            typed("opaque").text("runtime", runtime).text("kind", kind).text("json", json)
        }
    };
    object.finish()
}

/// Encodes a summary of ours. One that keeps nothing is a line of version 1: older readers know all that it says.
pub(super) fn compaction(summary: &str, keeps: &Keeps<'_>, at: Timestamp) -> Vec<u8> {
    let parts = vec![Part::Summary { text: summary.to_owned(), covers: Vec::new() }];
    let entry = made("summary", summary, (EntryKind::CompactionSummary, parts), at);
    let line = line(&entry);
    let borders = [("covers_from_id", keeps.covers_from), ("keeps_from_id", keeps.keeps_from)];
    if borders.iter().all(|(_, id)| id.is_none()) {
        return format!("{line}\n").into_bytes();
    }
    let mut object = Object::new().text("v", VERSION_2);
    for (key, id) in borders {
        object = object.given(key, id.map(EntryId::as_str));
    }
    // The version is the first member of every line that is written here.
    let rest = line.split_once(',').map_or("}", |(_, rest)| rest);
    let head = object.finish();
    format!("{},{rest}\n", head.strip_suffix('}').unwrap_or(&head)).into_bytes()
}

/// Encodes a summary of archived results (see `visibility::tool_summary_line`).
pub(super) fn tool_summary(text: &str, at: Timestamp) -> Vec<u8> {
    let parts = vec![Part::Text(text.to_owned())];
    let mut entry = made("digest", text, (EntryKind::ToolSummary, parts), at);
    entry.meta.visibility.user = false;
    encode(&[entry])
}

fn made(name: &str, text: &str, (kind, parts): (EntryKind, Vec<Part>), at: Timestamp) -> Entry {
    let hash = blake3::Hash::from_bytes(blake3::derive_key("stemmata.entries.v1", text.as_bytes()));
    let name = format!("{name}-{}-{}", at.as_micros(), hash.to_hex().split_at(16).0);
    Entry {
        id: EntryId::new(name).expect("digits and hyphens are a name"),
        parent: None,
        timestamp: Some(at),
        role: Role::User,
        kind,
        body: Body::Blocks,
        parts,
        meta: EntryMeta::default(),
        native: stemmata_model::NativeSpan { offset: 0, length: 0 },
    }
}
