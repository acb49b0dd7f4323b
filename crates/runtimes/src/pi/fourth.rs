//! The fourth version of a session's format, which programs on pi's library write: into the third, which pi itself loads, and one
//! entry of it.
//!
//! Its lines are numbered, and say what they are: the `header`, an `entry` of the tree, a `record` of what a program did, a
//! `lane` (where a conversation stands) or a `fact` (a title or a label).

use super::encode::{derive, header};
use super::record::{Kind, Record};
use crate::json::{Object, one_line, push_line, quote, text, without};
use crate::lines::iso;
use crate::placing::replace;
use stemmata_model::Timestamp;

/// How the extension is called whose entries carry the lines that the third version does not have.
const CUSTOM_TYPE: &str = "pi-v4";

/// Makes a line of the third version an entry of the main conversation. Programs refuse its number: a chain is not their file.
pub(super) fn entry(line: &[u8]) -> Vec<u8> {
    let rest = line.strip_prefix(b"{").unwrap_or(line);
    [b"{\"kind\":\"entry\",\"lane\":\"main\",\"seq\":0,", rest].concat()
}

/// Turns a session into one of the third version. Entries stay what they are, all else is carried by entries that no model sees.
pub(super) fn as_third(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut last: Option<String> = None;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let Ok(record) = Record::parse(line) else {
            out.extend_from_slice(line);
            continue;
        };
        match record.envelope.fourth().as_deref() {
            None => out.extend_from_slice(line),
            Some("entry") => {
                entry_as_third(&record, line, &mut out);
                last = text(record.envelope.id).map(Into::into).or(last);
            }
            Some(kind) => {
                let at = record.time().unwrap_or(Timestamp::EPOCH);
                let line = match kind {
                    "header" => {
                        let own = |field| text(field).unwrap_or_default();
                        header(&own(record.envelope.id), at, &own(record.envelope.cwd))
                    }
                    _ => carried(&record, last.as_deref(), at),
                };
                push_line(&mut out, &line);
            }
        }
    }
    out
}

/// Writes an entry without what only the fourth version has, and its time as a text.
fn entry_as_third(record: &Record<'_>, line: &[u8], out: &mut Vec<u8>) {
    let at = record.time().map(|at| quote(&iso(at)));
    let time = record.envelope.timestamp.filter(|time| time.text().is_none());
    let mut line = line.to_vec();
    if let (Some(time), Some(at)) = (time, at) {
        let mut edited = Vec::new();
        replace(&line, vec![(time.span(), at)], &mut edited);
        line = edited;
    }
    for name in ["kind", "lane", "seq"] {
        let place = Record::parse(&line).ok().and_then(|record| without(record.whole, name));
        line.drain(place.unwrap_or(0..0));
    }
    out.extend_from_slice(&line);
}

/// Returns what is no entry as one: a title as a title, all else as an extension's own.
fn carried(record: &Record<'_>, last: Option<&str>, at: Timestamp) -> String {
    let json = one_line(record.whole.raw().trim()).unwrap_or_default();
    let kind = if record.kind == Kind::SessionInfo { "session_info" } else { "custom" };
    let object = Object::new().text("type", kind).text("id", &derive(&json, 0));
    let object = object.optional("parentId", last).text("timestamp", &iso(at));
    match record.envelope.name.filter(|_| record.kind == Kind::SessionInfo) {
        Some(name) => object.raw("name", name.raw()).finish(),
        None => object.text("customType", CUSTOM_TYPE).raw("data", &json).finish(),
    }
}
