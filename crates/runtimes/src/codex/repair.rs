//! Mends a rollout for its loader: a header that is whole and first, envelopes, times, numbers, results.
//!
//! A history that begins in another file is not mended here: its bytes are not at hand, and without them it would be lost.

use std::collections::HashSet;

use super::answers::{answer, answered_by, is_answer};
use super::encode::header_payload;
use super::header;
use super::loader::{self, Dropped};
use super::record::{Kind, Record};
use crate::json::{Object, is_blank, quote, text};
use crate::repair::{Document, REPAIRED_TEXT, is_uuid_shaped, made_up_uuid};

/// The time of a record when no other has one.
const NO_TIME: &str = "1970-01-01T00:00:00.000Z";

/// Mends one kind of trouble, the first that there is.
pub(super) fn mend(document: &mut Document) {
    document.mend_first(&[&records, &header, &envelopes, &results, &numbers]);
}

/// Writes lines that the loader drops so that it reads what is in them.
fn records(document: &mut Document) {
    document.cut_torn_tail(|line| !loader::readable(line).records.is_empty());
    for index in (0..document.len()).rev() {
        let line = document.line(index);
        let Some(why) = loader::dropped(line).filter(|_| !is_blank(line)) else { continue };
        let read = loader::readable(line);
        // A line of which nothing can be read stays, unless it costs the others too.
        if read.records.is_empty() && why != Dropped::NotUtf8 {
            continue;
        }
        let message = match read.records.len() {
            0 => format!("{}: the bad bytes became U+FFFD", why.why()),
            1 => format!("{}: the loader drops it; it was written so that it is read", why.why()),
            records => {
                format!("{}: the loader drops it; each of its {records} records got its own line", why.why())
            }
        };
        document.replace_line(index, read.into_lines(), ("record", message));
    }
}

/// Returns the first line that the loader can read.
fn first(document: &Document) -> Option<usize> {
    document.lines().position(|line| !is_blank(line) && Record::parse(line).is_ok())
}

fn is_header(line: &[u8]) -> bool {
    Record::parse(line).is_ok_and(|record| record.kind == Kind::SessionMeta)
}

/// Returns the first time that the lines name.
fn first_time(document: &Document) -> String {
    let times = document.lines().filter_map(|line| {
        let record = Record::parse(line).ok()?;
        Some(text(record.envelope.timestamp).or_else(|| text(record.payload.timestamp))?.into_owned())
    });
    times.into_iter().next().unwrap_or_else(|| NO_TIME.to_owned())
}

fn header(document: &mut Document) {
    if first(document).is_none() {
        return;
    }
    // What is no record may not stand first either.
    let Some(first) = document.lines().position(|line| !is_blank(line)) else { return };
    if !is_header(document.line(first)) {
        let what = "the session's header: the loader refuses a file that does not begin with it";
        let later = document.lines().position(is_header);
        match later {
            Some(later) => document.move_line(later, first, ("header", what)),
            None => document.insert(first, &made_up_header(document), ("header", what)),
        }
        return;
    }
    let line = document.line(first).to_vec();
    let Ok(record) = Record::parse(&line) else { return };
    if record.has_envelope {
        complete(document, first, &record);
    }
}

fn made_up_header(document: &Document) -> String {
    let all: Vec<u8> = document.lines().take(8).flatten().copied().collect();
    let session = made_up_uuid(&[b"codex session", &all]);
    let cwd =
        document.lines().find_map(|line| Some(text(Record::parse(line).ok()?.payload.cwd)?.into_owned()));
    let at = first_time(document);
    let payload = header_payload(&session, &at, cwd.as_deref().unwrap_or("/"), false).finish();
    Object::new().text("timestamp", &at).text("type", "session_meta").raw("payload", &payload).finish()
}

/// Adds what the loader needs and the header lacks, and replaces what it refuses.
fn complete(document: &mut Document, index: usize, record: &Record<'_>) {
    let payload = &record.payload;
    let at = text(payload.timestamp).or_else(|| text(record.envelope.timestamp));
    let at = at.map_or_else(|| first_time(document), std::borrow::Cow::into_owned);
    let known = [payload.session_id, payload.id].into_iter().flatten().filter_map(|id| id.text());
    let session = known.into_iter().find(|id| is_uuid_shaped(id));
    let session = session.map_or_else(|| made_up_uuid(&[b"codex session"]), std::borrow::Cow::into_owned);
    let faults = header::faults(record.body);
    let names: Vec<&str> = faults.iter().map(|(name, _)| *name).collect();
    let what = format!("the loader needs `{}` in the header", names.join("`, `"));
    let edits = header::edits(record, &header_payload(&session, &at, "/", false).finish());
    document.edit(index, edits, ("header", what));
}

/// Takes a further header, which a fork copied, for what it is: the loader of a numbered history would begin there.
fn set_aside(document: &mut Document, index: usize, record: &Record<'_>) {
    let name = quote("session_meta_copied");
    let what =
        ("set_aside", "a second header, at which the loader would start again: it is set aside as unknown");
    document.put(index, [("type", record.envelope.record_type, name)], what);
}

/// Puts items of old into envelopes, and gives a time to those that have none.
fn envelopes(document: &mut Document) {
    let mut last = first_time(document);
    let header = first(document);
    let is_paginated = header.is_some_and(|header| {
        let mode = Record::parse(document.line(header)).ok().and_then(|record| record.payload.history_mode);
        mode.is_some_and(|mode| crate::json::is_string(mode, "paginated"))
    });
    for index in 0..document.len() {
        let line = document.line(index).to_vec();
        let Ok(record) = Record::parse(&line) else { continue };
        let kind = match record.kind {
            Kind::SessionMeta if header != Some(index) => {
                if is_paginated {
                    set_aside(document, index, &record);
                }
                continue;
            }
            Kind::SessionMeta => "session_meta",
            Kind::Item => "response_item",
            Kind::Compacted => "compacted",
            Kind::TurnContext | Kind::Event | Kind::Other | Kind::Unknown => {
                last = text(record.envelope.timestamp).map_or(last, std::borrow::Cow::into_owned);
                continue;
            }
        };
        if !record.has_envelope {
            let at =
                text(record.payload.timestamp).map_or_else(|| last.clone(), std::borrow::Cow::into_owned);
            let start = format!("{{\"timestamp\":{},\"type\":{},\"payload\":", quote(&at), quote(kind));
            let body = record.body.raw();
            let whole = body.len() - body.trim_start().len()..body.trim_end().len();
            let edits = vec![(whole.start..whole.start, start), (whole.end..whole.end, "}".to_owned())];
            let what = "the item has no envelope, as in files of 2025: it got one";
            document.edit(index, edits, ("envelope", what));
        } else if text(record.envelope.timestamp).is_none() {
            let what =
                ("field", "the loader drops an item without `timestamp`: it got that of the record before");
            document.put(index, [("timestamp", record.envelope.timestamp, quote(&last))], what);
        } else {
            last = text(record.envelope.timestamp).map_or(last, std::borrow::Cow::into_owned);
        }
    }
}

/// Answers the calls that wait, at the end: a line in between would move the ones that others may point to.
fn results(document: &mut Document) {
    let mut open: Vec<(String, &str)> = Vec::new();
    // A result also counts ahead of its call: the loader asks only whether there is one.
    let mut answered: HashSet<String> = HashSet::new();
    let mut last = NO_TIME.to_owned();
    for line in document.lines() {
        let Ok(record) = Record::parse(line) else { continue };
        last = text(record.envelope.timestamp).map_or(last, std::borrow::Cow::into_owned);
        if record.kind == Kind::Compacted && loader::misread(&record).is_none() {
            open.clear();
            answered.clear();
        }
        let Some(call) = text(record.payload.call_id).filter(|_| record.kind == Kind::Item) else { continue };
        if is_answer(&record) {
            answered.insert(call.into_owned());
        } else if let Some(kind) = answered_by(&record) {
            open.push((call.into_owned(), kind));
        }
    }
    for (call, kind) in open.into_iter().filter(|(call, _)| !answered.contains(call)) {
        let payload = answer(kind, &call, REPAIRED_TEXT);
        let line = Object::new().text("timestamp", &last).text("type", "response_item");
        let what = format!("the call `{call}` had no result: it got a marked one");
        document.insert(document.len(), &line.raw("payload", &payload).finish(), ("result", what));
    }
}

/// Numbers the lines at the end of a numbered history that have no number.
fn numbers(document: &mut Document) {
    let mut is_paginated = None;
    let mut next = 0;
    let mut nameless: Vec<usize> = Vec::new();
    for (index, line) in document.lines().enumerate() {
        let Ok(record) = Record::parse(line) else { continue };
        let mode =
            || record.payload.history_mode.is_some_and(|mode| crate::json::is_string(mode, "paginated"));
        is_paginated.get_or_insert_with(mode);
        if record.envelope.ordinal.is_some() {
            nameless.clear();
        } else {
            nameless.push(index);
        }
        let own = record.envelope.ordinal.and_then(|ordinal| ordinal.number());
        next = own.map_or(next, |own| next.max(own.saturating_add(1)));
    }
    if is_paginated != Some(true) {
        return;
    }
    for index in nameless {
        let what = ("number", "the lines of this history are numbered, and this one was not");
        document.put(index, [("ordinal", None, next.to_string())], what);
        next = next.saturating_add(1);
    }
}
