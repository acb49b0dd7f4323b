//! Mends a session for its import: calls that never ended, fields that the import needs, and the order of messages.

use super::DIALECT;
use super::encode::{ENCODED_VERSION, NO_TOKENS, closed};
use super::flat;
use super::record::{Info, Message, Piece, Session, State, info};
use crate::document::mend::{Mended, Told, mend as mend_list, name};
use crate::document::whole;
use crate::json::{Field, Object, owned, quote, text};
use crate::placing::{Edit, put, replace};
use crate::repair::{Document, REPAIRED_TEXT};

/// What the import needs of an answer, as it is where nobody knows it.
const OF_ANSWERS: [(&str, &str); 8] = [
    ("modelID", "\"unknown\""),
    ("providerID", "\"unknown\""),
    ("mode", "\"build\""),
    ("agent", "\"build\""),
    ("path", r#"{"cwd":"/","root":"/"}"#),
    ("cost", "0"),
    ("tokens", r#"{"input":0,"output":0,"reasoning":0,"cache":{"read":0,"write":0}}"#),
    TIME,
];

/// What it needs of a prompt.
const OF_PROMPTS: [(&str, &str); 3] =
    [("agent", "\"build\""), ("model", r#"{"providerID":"unknown","modelID":"unknown"}"#), TIME];

const TIME: (&str, &str) = ("time", r#"{"created":0}"#);

/// Mends one kind of trouble, the first that there is.
pub(super) fn mend(document: &mut Document) {
    let before = document.changes();
    session(document);
    if document.changes() == before {
        mend_list(document, &DIALECT, messages);
    }
}

/// Adds what the import needs of a session.
fn session(document: &mut Document) {
    let bytes = document.line(0).to_vec();
    let Some(field) = whole(&bytes).ok().and_then(|whole| Session::read(whole).ok()?.info) else { return };
    let about = info(Some(field));
    let is_flat = whole(&bytes)
        .ok()
        .and_then(|whole| Session::read(whole).ok())
        .and_then(|session| flat::is_flat(&session));
    let there = crate::json::members(field).unwrap_or_default();
    let has = |key: &str| there.iter().find(|member| member.name == key).map(|member| member.value);
    let wanted_of_second = [
        ("projectID", has("projectID"), quote("global")),
        ("cost", has("cost"), "0".to_owned()),
        ("tokens", about.tokens, NO_TOKENS.to_owned()),
        ("time", about.time, r#"{"created":0,"updated":0}"#.to_owned()),
        ("location", about.location, r#"{"directory":"/"}"#.to_owned()),
    ];
    let wanted_of_first = [
        ("slug", about.slug, quote("repaired")),
        ("directory", about.directory, quote("/")),
        ("title", about.title, quote("Repaired with Stemmata")),
        ("version", about.version, quote(ENCODED_VERSION)),
        ("time", about.time, r#"{"created":0,"updated":0}"#.to_owned()),
    ];
    let wanted = if is_flat == Some(true) { wanted_of_second } else { wanted_of_first };
    let lacking = wanted.into_iter().filter(|(_, there, _)| there.is_none());
    let lacking: Vec<_> = lacking.map(|(key, _, value)| (key, value)).collect();
    let Some(edit) = missing(field, &lacking) else { return };
    let names: Vec<&str> = lacking.iter().map(|(key, _)| *key).collect();
    let what = format!("the import needs `{}` of the session", names.join("`, `"));
    document.edit(0, vec![edit], ("field", what));
}

/// Returns what gives an object the members that the import misses in it.
fn missing(object: Field<'_>, members: &[(&str, String)]) -> Option<Edit> {
    let object = Some(object).filter(|object| object.raw().starts_with('{'))?;
    let members = members.iter().map(|(key, value)| (*key, None, value.clone()));
    put((object.raw().as_bytes(), object.span().start), members).pop()
}

fn messages(elements: &[&str]) -> Mended {
    let mut told = Vec::new();
    let mut prompt: Option<String> = None;
    let mut mended: Vec<(Option<String>, String)> = Vec::new();
    for (at, element) in elements.iter().enumerate() {
        let fields = Message::read(Field::whole(element)).unwrap_or_default();
        let about = info(fields.info);
        let id = owned(about.id);
        let mut edits = Vec::new();
        edits.extend(complete((at, &fields), &about, prompt.as_deref(), &mut told));
        for item in flat::of(Field::whole(element)).iter().flat_map(flat::items) {
            edits.extend(close_flat((at, item), &mut told));
        }
        for part in fields.parts.and_then(|parts| parts.elements()).unwrap_or_default() {
            edits.extend(close((at, part), &about, &mut told));
        }
        if text(about.role).as_deref() == Some("user") {
            prompt.clone_from(&id);
        }
        let mut bytes = Vec::new();
        replace(element.as_bytes(), edits, &mut bytes);
        mended.push((id, String::from_utf8_lossy(&bytes).into_owned()));
    }
    if told.is_empty() {
        order(&mut mended, &mut told);
    }
    (mended.into_iter().map(|(_, text)| text).collect(), told)
}

/// Adds what the import needs of a message and what can be said without making anything up.
fn complete(
    (at, fields): (usize, &Message<'_>),
    about: &Info<'_>,
    prompt: Option<&str>,
    told: &mut Vec<Told>,
) -> Option<Edit> {
    let plain = |pairs: &[(&'static str, &str)]| -> Vec<(&'static str, String)> {
        pairs.iter().map(|(key, value)| (*key, (*value).to_owned())).collect()
    };
    let wanted = match text(about.role)?.as_ref() {
        "assistant" => {
            let parent = prompt.map(|prompt| ("parentID", quote(prompt)));
            parent.into_iter().chain(plain(&OF_ANSWERS)).collect()
        }
        "user" => plain(&OF_PROMPTS),
        _ => return None,
    };
    let there = crate::json::members(fields.info?).unwrap_or_default();
    let is_there = |key: &str| there.iter().any(|member| member.name == key && !member.value.is_null());
    let lacking: Vec<_> = wanted.into_iter().filter(|(key, _)| !is_there(key)).collect();
    let edit = missing(fields.info?, &lacking)?;
    let names: Vec<&str> = lacking.iter().map(|(key, _)| *key).collect();
    told.push(("field", format!("the import needs `{}` of {}", names.join("`, `"), name(at))));
    Some(edit)
}

/// Gives a call that is not done a result that says so.
fn close((at, part): (usize, Field<'_>), about: &Info<'_>, told: &mut Vec<Told>) -> Option<Edit> {
    let read = Piece::read(part).ok()?;
    let state = read.state.filter(|_| read.tool.is_some())?;
    let fields = State::read(state).ok()?;
    if !matches!(text(fields.status).as_deref(), Some("pending" | "running")) {
        return None;
    }
    let created = info(about.time).created.and_then(|created| created.number()).unwrap_or(0);
    let time = Object::new().number("start", created).number("end", created).finish();
    let input = fields.input.map_or("{}", |input| input.raw());
    let call = owned(read.call_id).unwrap_or_default();
    told.push(("result", format!("the call `{call}` in {} had no result: it got a marked one", name(at))));
    Some((state.span(), closed(input, REPAIRED_TEXT, &time)))
}

/// Does for a call of versions 2.x what [`close`] does for others.
fn close_flat((at, item): (usize, Field<'_>), told: &mut Vec<Told>) -> Option<Edit> {
    let call = flat::open_call(item)?;
    told.push((
        "result",
        format!("the call `{}` in {} had no result: it got a marked one", call.id, name(at)),
    ));
    Some((call.state, flat::closed(&call.input, REPAIRED_TEXT)))
}

/// Sorts messages by their ids, as the client does, and takes out what is there twice.
fn order(messages: &mut Vec<(Option<String>, String)>, told: &mut Vec<Told>) {
    if messages.iter().any(|(id, _)| id.is_none()) {
        return;
    }
    if !messages.is_sorted_by(|(one, _), (other, _)| one <= other) {
        messages.sort_by(|(one, _), (other, _)| one.cmp(other));
        told.push(("order", "messages are in the order of their ids, as the client sorts them".to_owned()));
    }
    let before = messages.len();
    messages.dedup();
    if messages.len() < before {
        let count = before - messages.len();
        told.push(("twice", format!("removed {}", stemmata_model::plural(count, "duplicate message"))));
    }
}
