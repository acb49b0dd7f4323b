//! The fields without which a loader drops a record, or everything before it.

use std::collections::HashSet;

use super::super::loader::Loader;
use super::super::message::Message;
use super::super::place::close::NO_TIME;
use super::super::record::{ParentLink, Record};
use crate::json::{is_string, owned, quote, text};
use crate::repair::{Document, made_up_uuid};

/// What the lines before one leave for it.
#[derive(Default)]
struct Before {
    /// The last record of the tree, of the conversation itself and of subagents.
    last: [Option<String>; 2],
    time: Option<String>,
}

/// Adds the fields that are missing.
pub(super) fn mend(document: &mut Document, loader: Loader) {
    let known: HashSet<String> = document
        .lines()
        .filter_map(|line| Some(Record::parse(line).ok()?.uuid_text()?.into_owned()))
        .collect();
    let mut before = Before::default();
    for index in 0..document.len() {
        name_type(document, index);
        let line = document.line(index).to_vec();
        let Ok(record) = Record::parse(&line) else { continue };
        let kind = record.type_text();
        if !matches!(&*kind, "user" | "assistant" | "system" | "attachment" | "progress") {
            continue;
        }
        let side = usize::from(record.is_sidechain_record());
        let mut uuid = record.uuid_text().map(std::borrow::Cow::into_owned);
        if matches!(&*kind, "user" | "assistant") {
            if record.message.and_then(Message::of).is_none() {
                set_aside(document, index, &record);
                continue;
            }
            if uuid.is_none() {
                uuid = Some(expected_id(document, index, &known, &line));
            }
            let last = before.last.get(side).and_then(Option::as_deref);
            complete(document, index, (&record, loader), (uuid.as_deref(), last, before.time.as_deref()));
        }
        if let Some(time) = text(record.timestamp) {
            before.time = Some(time.into_owned());
        }
        if let Some(last) = before.last.get_mut(side).filter(|_| kind != "progress") {
            *last = uuid.or_else(|| last.take());
        }
    }
}

/// Says what a message is that does not say it itself.
fn name_type(document: &mut Document, index: usize) {
    let line = document.line(index);
    let Ok(record) = Record::parse(line) else { return };
    if record.record_type.is_some() {
        return;
    }
    let Some(role) = record.message.and_then(Message::of).and_then(|message| message.role) else { return };
    let Some(role) = ["user", "assistant"].into_iter().find(|name| is_string(role, name)) else { return };
    let what = format!("the record has no `type`: by its message it is `{role}`");
    document.put(index, [("type", None, quote(role))], ("field", what));
}

/// Takes a record without a message out of the conversation, and leaves it in the file.
fn set_aside(document: &mut Document, index: usize, record: &Record<'_>) {
    let Some(field) = record.record_type else { return };
    let kind = record.type_text();
    let what =
        format!("the {kind} record has no message, and a loader fails on it: it is set aside as unknown");
    document.edit(
        index,
        vec![(field.span(), quote(&format!("{kind}-without-message")))],
        ("set_aside", what),
    );
}

/// Returns an id for a record that has none: the one that the next record of the tree names, where nothing else has it.
fn expected_id(document: &Document, index: usize, known: &HashSet<String>, line: &[u8]) -> String {
    let next = document.lines().skip(index + 1).find_map(|line| owned(Record::parse(line).ok()?.parent_uuid));
    let place = u64::try_from(index).unwrap_or(u64::MAX).to_le_bytes();
    next.filter(|next| !known.contains(next)).unwrap_or_else(|| made_up_uuid(&[b"record", &place, line]))
}

fn complete(
    document: &mut Document,
    index: usize,
    (record, loader): (&Record<'_>, Loader),
    (uuid, last, time): (Option<&str>, Option<&str>, Option<&str>),
) {
    let needs_time = loader == Loader::Walking && record.time().is_none();
    let parent = last.map_or_else(|| "null".to_owned(), quote);
    let wanted = [
        (record.uuid_text().is_none(), "uuid", record.uuid, uuid.map(quote)),
        (record.parent() == ParentLink::Absent, "parentUuid", record.parent_uuid, Some(parent)),
        (needs_time, "timestamp", record.timestamp, Some(quote(time.unwrap_or(NO_TIME)))),
    ];
    let missing = |(is_missing, name, field, value): (bool, _, _, Option<String>)| {
        Some((name, field, value.filter(|_| is_missing)?))
    };
    // All at once, so that a line is told once.
    let missing: Vec<_> = wanted.into_iter().filter_map(missing).collect();
    let names: Vec<&str> = missing.iter().map(|(name, ..)| *name).collect();
    let what = format!("the loader needs `{}`, and the record had none", names.join("`, `"));
    document.put(index, missing, ("field", what));
}
