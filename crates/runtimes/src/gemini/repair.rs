//! Mends a session for its loader: a header that is whole and first, ids, results, and no way back to nowhere.

use std::collections::{HashMap, HashSet};

use stemmata_model::{Part, Timestamp};

use super::encode::header;
use super::part::response;
use super::place::project_hash;
use super::record::{Call, Fields, Kind, Record, apart, elements, message_kind};
use crate::apart::{each, mend_lines, replace_lone};
use crate::json::{Object, quote, text};
use crate::lines::iso;
use crate::placing::put;
use crate::repair::{Document, REPAIRED_TEXT, made_up_uuid};

/// Mends one kind of trouble, the first that there is.
pub(super) fn mend(document: &mut Document) {
    document.mend_first(&[&lines, &begin, &ids, &rewinds, &results]);
}

/// Gives each record a line of its own, and replaces what is no text.
fn lines(document: &mut Document) {
    mend_lines(document, is_record, apart);
    for index in 0..document.len() {
        replace_lone(document, index);
    }
}

/// Hands out the records of all lines, with the numbers of their lines.
fn records(document: &Document, mut take: impl FnMut(usize, &Record<'_>)) {
    for (index, line) in document.lines().enumerate() {
        let mut take = |text: &[u8], _| Record::parse(text).map(|record| take(index, &record));
        // A line that is no record is nothing to the loader.
        each(line, apart, &mut take).unwrap_or_default();
    }
}

fn is_record(line: &[u8]) -> bool {
    Record::parse(line).is_ok()
}

fn begin(document: &mut Document) {
    let is_header = |line: &[u8]| Record::parse(line).is_ok_and(|record| record.kind == Kind::Header);
    let Some(first) = document.lines().position(is_record) else { return };
    let line = document.line(first).to_vec();
    if !is_header(&line) {
        let what = ("header", "the session's header: the loader refuses a file that does not begin with it");
        let later = document.lines().position(is_header);
        if let Some(later) = later {
            return document.move_line(later, first, what);
        }
        let at = document.lines().find_map(|line| Record::parse(line).ok()?.time());
        let session = made_up_uuid(&[b"gemini session", &line]);
        return document.insert(first, &header(&session, "/", at.unwrap_or(Timestamp::EPOCH)), what);
    }
    for index in 0..document.len() {
        complete(document, index);
    }
}

/// Adds what the loader needs in a header.
fn complete(document: &mut Document, index: usize) {
    let line = document.line(index).to_vec();
    let Ok(record) = Record::parse(&line) else { return };
    if record.kind != Kind::Header {
        return;
    }
    let fields = &record.fields;
    let session = quote(&made_up_uuid(&[b"gemini session", &line]));
    let wanted = [
        ("sessionId", fields.session_id, session),
        ("projectHash", fields.project_hash, quote(&project_hash("/"))),
    ];
    let missing: Vec<_> = wanted.into_iter().filter(|(_, field, _)| field.is_none()).collect();
    let names: Vec<&str> = missing.iter().map(|(name, ..)| *name).collect();
    let what = format!("the loader needs `{}` in the header", names.join("`, `"));
    document.put(index, missing, ("header", what));
}

/// Gives ids to messages that have none.
fn ids(document: &mut Document) {
    for index in 0..document.len() {
        let line = document.line(index).to_vec();
        let Ok(record) = Record::parse(&line) else { continue };
        let place = u64::try_from(index).unwrap_or(u64::MAX).to_le_bytes();
        if matches!(record.kind, Kind::User | Kind::Gemini) && text(record.fields.id).is_none() {
            let id = quote(&made_up_uuid(&[b"gemini message", &place, &line]));
            let what = ("field", "the loader refuses a file with a message that has no `id`: it got one");
            document.put(index, [("id", record.fields.id, id)], what);
            continue;
        }
        // The messages inside of a checkpoint.
        let mut edits = Vec::new();
        let messages = record.checkpoint().and_then(|messages| messages.elements()).unwrap_or_default();
        for (number, message) in (0_u64..).zip(messages) {
            let Ok(fields) = Fields::read(message) else { continue };
            let is_message = matches!(message_kind(&fields), Kind::User | Kind::Gemini);
            if !is_message || text(fields.id).is_some() {
                continue;
            }
            let id = quote(&made_up_uuid(&[b"gemini message", &place, &number.to_le_bytes(), &line]));
            edits.extend(put((message.raw().as_bytes(), message.span().start), [("id", fields.id, id)]));
        }
        let what = "the loader refuses a file with messages that have no `id`: they got one";
        document.edit(index, edits, ("field", what));
    }
}

/// Takes out what goes back to a message that is not there: the loader would drop the whole conversation for it.
fn rewinds(document: &mut Document) {
    let mut known = Known::default();
    let mut lost = Vec::new();
    records(document, |index, record| match record.kind {
        // What is for a person only has its place, too.
        Kind::User | Kind::Gemini | Kind::Notice => known.add(&record.fields),
        Kind::Set if record.checkpoint().is_some() => {
            known = Known::default();
            let messages = elements(record.checkpoint()).into_iter();
            messages.filter_map(|message| Fields::read(message).ok()).for_each(|fields| known.add(&fields));
        }
        Kind::Rewind => {
            let target = text(record.fields.rewind_to);
            if !target.is_some_and(|target| known.go_back(&target)) {
                lost.push(index);
            }
        }
        Kind::Set | Kind::Header | Kind::Unknown => {}
    });
    // From the end: what is before keeps its place.
    for index in lost.into_iter().rev() {
        let what =
            "it goes back to a message that is not there, for which the loader drops all: it is left out";
        document.remove(index, ("rewind", what));
    }
}

/// The messages that a conversation can go back to.
#[derive(Default)]
struct Known {
    ids: Vec<String>,
    /// Where each stands.
    at: HashMap<String, usize>,
}

impl Known {
    fn add(&mut self, fields: &Fields<'_>) {
        let Some(id) = text(fields.id) else { return };
        if !self.at.contains_key(id.as_ref()) {
            self.at.insert(id.to_string(), self.ids.len());
            self.ids.push(id.into_owned());
        }
    }

    /// Forgets a message and all that follow; returns whether it was there.
    fn go_back(&mut self, id: &str) -> bool {
        let Some(place) = self.at.get(id).copied() else { return false };
        for gone in self.ids.drain(place..) {
            self.at.remove(&gone);
        }
        true
    }
}

/// Answers the calls that wait, at the end.
fn results(document: &mut Document) {
    let mut open: Vec<(String, String)> = Vec::new();
    let mut calls: HashSet<String> = HashSet::new();
    records(document, |_, record| {
        if let Some(messages) = record.checkpoint() {
            (open, calls) = (Vec::new(), HashSet::new());
            for message in messages.elements().unwrap_or_default() {
                if let Ok(fields) = Fields::read(message) {
                    follow(&fields, &mut open, &mut calls);
                }
            }
        } else if matches!(record.kind, Kind::User | Kind::Gemini) {
            follow(&record.fields, &mut open, &mut calls);
        }
    });
    let at = document.lines().rev().find_map(|line| Record::parse(line).ok()?.time());
    let at = at.unwrap_or(Timestamp::EPOCH);
    for (call, name) in open {
        let result = response(&call, &name, true, &[Part::Text(REPAIRED_TEXT.to_owned())]).finish();
        let message = Object::new()
            .text("id", &made_up_uuid(&[b"gemini result", call.as_bytes()]))
            .text("timestamp", &iso(at))
            .text("type", "user")
            .raw("content", &format!("[{}]", Object::new().raw("functionResponse", &result).finish()));
        let what = format!("the call `{call}` had no result: it got a marked one");
        document.insert(document.len(), &message.finish(), ("result", what));
    }
}

/// Follows which calls have no result yet, as the checks do.
fn follow(fields: &Fields<'_>, open: &mut Vec<(String, String)>, calls: &mut HashSet<String>) {
    for call in elements(fields.tool_calls) {
        let Ok(call) = Call::read(call) else { continue };
        let (Some(id), Some(name)) = (text(call.id), text(call.name)) else { continue };
        let is_answered = !elements(call.result).is_empty();
        if is_answered {
            open.retain(|(open, _)| *open != id);
        }
        if calls.insert(id.to_string()) && !is_answered {
            open.push((id.into_owned(), name.into_owned()));
        }
    }
    if message_kind(fields) == Kind::User {
        for part in super::part::content(fields.content).1 {
            if let Part::ToolResult { call_id, .. } = part {
                open.retain(|(open, _)| *open != call_id);
            }
        }
    }
}
