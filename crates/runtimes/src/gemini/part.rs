//! Parts of a message's content: what they are in the canonical model, and how they are written.

use stemmata_model::{Body, ImageSource, Part};

use super::RUNTIME;
use super::read::call;
use super::record::{Content, Data, Response};
use crate::json::{Field, Object, is_true, list, members, one_line, owned};
use crate::lines::opaque;

/// Reads a content: a string, a part, or a list of both.
pub(super) fn content(field: Option<Field<'_>>) -> (Body, Vec<Part>) {
    let Some(field) = field else { return (Body::Blocks, Vec::new()) };
    if let Some(said) = field.text() {
        let parts = if said.is_empty() { Vec::new() } else { vec![Part::Text(said.into_owned())] };
        return (Body::Text, parts);
    }
    match field.elements() {
        Some(elements) => (Body::Blocks, elements.into_iter().map(part).collect()),
        None if field.is_null() => (Body::Blocks, Vec::new()),
        None => (Body::Blocks, vec![part(field)]),
    }
}

fn part(field: Field<'_>) -> Part {
    if let Some(said) = field.text() {
        return Part::Text(said.into_owned());
    }
    let other = || opaque(RUNTIME, "part", field.raw());
    let Ok(content) = Content::read(field) else { return other() };
    if let Some(response) = content.function_response {
        return Response::read(response).map_or_else(|_| other(), |response| result(&response));
    }
    if let Some(asked) = content.function_call {
        return call(asked);
    }
    if let Some(data) = content.inline_data.or(content.file_data).and_then(|data| Data::read(data).ok()) {
        return data_part(&data).unwrap_or_else(other);
    }
    match owned(content.text) {
        Some(text) if is_true(content.thought) => Part::Thinking { text, signature: None, encrypted: None },
        Some(text) => Part::Text(text),
        None => other(),
    }
}

/// What a part may say, by the field that says it, in the client and in its API.
const KNOWN: [&str; 9] = [
    "text",
    "thought",
    "inlineData",
    "fileData",
    "functionCall",
    "functionResponse",
    "executableCode",
    "codeExecutionResult",
    "videoMetadata",
];

/// Returns the name of a part that says nothing this version knows: its first field.
pub(super) fn unknown_name(part: Field<'_>) -> Option<String> {
    if part.text().is_some() {
        return None;
    }
    let members = members(part).unwrap_or_default();
    let is_known = members.iter().any(|member| KNOWN.contains(&member.name.as_str()));
    (!is_known).then(|| members.into_iter().next().map(|member| member.name).unwrap_or_default())
}

fn data_part(data: &Data<'_>) -> Option<Part> {
    let media_type = owned(data.media_type).unwrap_or_default();
    match (owned(data.bytes), owned(data.uri)) {
        (Some(bytes), _) if media_type.starts_with("image/") => {
            Some(Part::Image { media_type, source: ImageSource::Base64(bytes) })
        }
        (Some(bytes), _) => Some(crate::document::file(String::new(), media_type, Some(bytes))),
        (None, Some(uri)) if media_type.starts_with("image/") => {
            Some(Part::Image { media_type, source: ImageSource::Url(uri) })
        }
        (None, Some(uri)) => Some(Part::File { name: uri, media_type: Some(media_type), data: None }),
        (None, None) => None,
    }
}

/// Reads a result: its `output`, its `error`, else the JSON that the tool gave.
fn result(response: &Response<'_>) -> Part {
    let inner = response.body.and_then(|inner| Some((inner, Response::read(inner).ok()?)));
    let error = inner.and_then(|(_, inner)| owned(inner.error));
    let is_error = error.is_some();
    let said = match (error, inner) {
        (Some(error), _) => Some(error),
        (None, Some((raw, inner))) => {
            owned(inner.output).or_else(|| Some(raw.raw().to_owned()).filter(|raw| raw != "{}"))
        }
        (None, None) => response.body.map(|raw| raw.raw().to_owned()),
    };
    let mut parts: Vec<Part> = said.map(Part::Text).into_iter().collect();
    parts.extend(response.parts.map(|parts| content(Some(parts)).1).unwrap_or_default());
    Part::ToolResult { call_id: owned(response.id).unwrap_or_default(), is_error, parts }
}

/// Writes a part of a user's content, none where it is no part of one.
pub(super) fn write(part: &Part, name_of: &dyn Fn(&str) -> String) -> Option<String> {
    let typed = |name: &str, data: Object| Object::new().raw(name, &data.finish()).finish();
    match part {
        Part::Text(text) | Part::Summary { text, .. } => Some(Object::new().text("text", text).finish()),
        Part::Thinking { text, .. } => Some(Object::new().text("text", text).flag("thought", true).finish()),
        Part::Image { media_type, source } => {
            let data = Object::new().text("mimeType", media_type);
            match source {
                ImageSource::Base64(bytes) => Some(typed("inlineData", data.text("data", bytes))),
                ImageSource::Url(uri) => Some(typed("fileData", data.text("fileUri", uri))),
                // Whoever translates puts the bytes in first; without them there is nothing to send.
                ImageSource::Artifact(_) => None,
            }
        }
        Part::File { name, media_type, data } => Some(file(name, media_type.as_deref(), data.as_deref())),
        Part::ToolResult { call_id, is_error, parts } => {
            Some(typed("functionResponse", response(call_id, &name_of(call_id), *is_error, parts)))
        }
        Part::Opaque { runtime, json, .. } if runtime == RUNTIME => one_line(json),
        Part::ToolCall { .. } | Part::Opaque { .. } => None,
    }
}

fn file(name: &str, media_type: Option<&str>, data: Option<&str>) -> String {
    let is_text = media_type.is_none_or(|kind| kind.starts_with("text/"));
    let media = || Object::new().text("mimeType", media_type.unwrap_or_default());
    let inline = |data: &str| Object::new().raw("inlineData", &media().text("data", data).finish()).finish();
    match data {
        // As it came: what is text is so in the model only.
        Some(data) if is_text && name.is_empty() => inline(&crate::base64::digits_of(data)),
        Some(data) if !is_text => inline(data),
        Some(data) => Object::new().text("text", &format!("File {name}:\n{data}")).finish(),
        None => Object::new().raw("fileData", &media().text("fileUri", name).finish()).finish(),
    }
}

/// Returns a tool's result as the client writes it: what is text is its output, and media stand beside it, for which
/// alone the API has a place there.
pub(super) fn response(call_id: &str, name: &str, is_error: bool, parts: &[Part]) -> Object {
    let key = if is_error { "error" } else { "output" };
    let said: Vec<String> = parts.iter().filter_map(text_of).collect();
    let said = match said.as_slice() {
        [] if !is_error => Object::new(),
        said => Object::new().text(key, &said.join("\n")),
    };
    let object = Object::new().text("id", call_id).text("name", name).raw("response", &said.finish());
    let rest = parts.iter().filter(|part| text_of(part).is_none());
    let rest: Vec<String> = rest.filter_map(|part| write(part, &|_| String::new())).collect();
    if rest.is_empty() { object } else { object.raw("parts", &list(rest)) }
}

/// Returns what is text of a result.
fn text_of(part: &Part) -> Option<String> {
    match part {
        Part::Text(text) | Part::Summary { text, .. } | Part::Thinking { text, .. } => Some(text.clone()),
        Part::File { name, media_type, data: Some(data) } => {
            let is_text = media_type.as_deref().is_none_or(|kind| kind.starts_with("text/"));
            (is_text && !name.is_empty()).then(|| format!("File {name}:\n{data}"))
        }
        Part::File { data: None, .. }
        | Part::Image { .. }
        | Part::ToolCall { .. }
        | Part::ToolResult { .. }
        | Part::Opaque { .. } => None,
    }
}
