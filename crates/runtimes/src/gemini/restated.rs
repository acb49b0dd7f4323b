//! What a client says again of a conversation, as entries of their own: where the lines that said it first are not there,
//! it is all there is.

use std::collections::{HashMap, HashSet};

use stemmata_model::{Entry, EntryId, EntryKind, NativeSpan, Part, to_u64};

use super::RUNTIME;
use super::legacy::result;
use super::read::{OPAQUE_RESTATED, is_prompt_alone, told};
use super::record::{Call, Fields, Record, elements};
use crate::json::Field;
use crate::lines::{Line, OPAQUE_REPLACEMENT};

/// Puts the messages that a line says again in its place. One that a later line writes anew stands there as that line says it.
pub(crate) fn as_loaded(entries: Vec<Entry>) -> Vec<Entry> {
    let lists: Vec<Vec<Entry>> = {
        let mut reader = Reader::of(&entries);
        entries.iter().map(|entry| reader.all(entry)).collect()
    };
    let mut loaded: Vec<Entry> = Vec::with_capacity(entries.len());
    let mut within: HashMap<EntryId, usize> = HashMap::new();
    for (entry, list) in entries.into_iter().zip(lists) {
        if !list.is_empty() {
            within.extend((loaded.len()..).zip(&list).map(|(at, entry)| (entry.id.clone(), at)));
            loaded.extend(list);
        } else if let Some(earlier) = within.get(&entry.id).and_then(|at| loaded.get_mut(*at)) {
            *earlier = entry;
        } else {
            loaded.push(entry);
        }
    }
    loaded
}

/// Puts messages in the place of a line that says them, where no line before it in the commit does. Of a commit that is not
/// the first of its session, these are the ones behind the last that a line before has: what stands ahead of that is older
/// than the commit.
pub(super) fn said_alone(entries: Vec<Entry>, bytes: &[u8], is_first: bool) -> Vec<Entry> {
    let mut said = Vec::with_capacity(entries.len());
    let mut known: HashSet<EntryId> = HashSet::new();
    let mut reader = Reader::of(&entries);
    for entry in entries {
        let within = reader.places(&entry, bytes);
        let last = within.iter().rposition(|entry| known.contains(&entry.id));
        let older = if is_first { 0 } else { last.map_or(within.len(), |last| last + 1) };
        let before = said.len();
        for (at, new) in within.into_iter().enumerate() {
            if known.insert(new.id.clone()) && at >= older {
                said.push(new);
            }
        }
        if said.len() == before {
            known.insert(entry.id.clone());
            said.push(entry);
        }
    }
    said
}

/// Reads the messages within lines.
struct Reader {
    /// Calls that a message of its own answers.
    answered: HashSet<String>,
    has_said: bool,
}

impl Reader {
    fn of(entries: &[Entry]) -> Self {
        let own = entries.iter().flat_map(Entry::answers).map(str::to_owned);
        Self { answered: own.collect(), has_said: false }
    }

    /// Returns the messages within an entry's line; none for any other.
    fn all(&mut self, entry: &Entry) -> Vec<Entry> {
        let Some(json) = self.list_of(entry) else { return Vec::new() };
        self.read(entry, Field::whole(json)).into_iter().map(|(_, entry)| entry).collect()
    }

    /// Returns the messages within an entry's line, with their own places in the commit's bytes.
    fn places(&mut self, entry: &Entry, bytes: &[u8]) -> Vec<Entry> {
        if self.list_of(entry).is_none() {
            return Vec::new();
        }
        let Ok(record) = Record::parse(line_of(entry, bytes)) else { return Vec::new() };
        let Some(list) = record.checkpoint() else { return Vec::new() };
        let placed = self.read(entry, list).into_iter().map(|(message, mut read)| {
            let span = message.span();
            let offset = entry.native.offset.saturating_add(to_u64(span.start));
            read.native = NativeSpan { offset, length: to_u64(span.len()) };
            read
        });
        placed.collect()
    }

    /// Returns the list of messages that an entry stands for, and remembers whether anything was said.
    fn list_of<'e>(&mut self, entry: &'e Entry) -> Option<&'e str> {
        let had_said = self.has_said;
        self.has_said |= is_said(entry);
        entry.parts.iter().find_map(|part| match part {
            Part::Opaque { runtime, kind, json } if runtime == RUNTIME => match kind.as_str() {
                OPAQUE_RESTATED => Some(json.as_str()),
                OPAQUE_REPLACEMENT if !had_said && is_prompt(json) => Some(json.as_str()),
                _ => None,
            },
            _ => None,
        })
    }

    /// Reads the messages of a list, with the results that stand beside their calls only.
    fn read<'f>(&self, entry: &Entry, list: Field<'f>) -> Vec<(Field<'f>, Entry)> {
        let messages = told(list);
        let mut answered = self.answered.clone();
        for (_, line) in &messages {
            answered.extend(line.parts.iter().filter_map(answer).map(str::to_owned));
        }
        let mut lines: Vec<(Field<'f>, Line)> = Vec::new();
        for (message, line) in messages {
            let fields = Fields::read(message).unwrap_or_default();
            let calls = elements(fields.tool_calls).into_iter().filter_map(|call| Call::read(call).ok());
            let time = line.time;
            lines.push((message, line));
            let beside = calls.filter_map(|call| result(&call, &answered, time));
            lines.extend(beside.map(|(_, line)| (message, line)));
        }
        let named = lines.into_iter().enumerate().map(|(number, (message, line))| {
            let made_up =
                || EntryId::new(format!("{}-{number}", entry.id)).unwrap_or_else(|_| entry.id.clone());
            let id = line.id.clone().unwrap_or_else(made_up);
            (message, line.into_entry(id, entry.native))
        });
        named.collect()
    }
}

/// Returns an entry's own bytes.
pub(super) fn line_of<'b>(entry: &Entry, bytes: &'b [u8]) -> &'b [u8] {
    let narrow = |value| usize::try_from(value).unwrap_or(usize::MAX);
    let start = narrow(entry.native.offset);
    bytes.get(start..start.saturating_add(narrow(entry.native.length))).unwrap_or_default()
}

/// Returns whether an entry says something, and not only the client itself.
fn is_said(entry: &Entry) -> bool {
    entry.meta.visibility.agent && entry.kind != EntryKind::Instruction
}

/// Returns whether a list holds one prompt and nothing else that was said.
fn is_prompt(json: &str) -> bool {
    let lines = told(Field::whole(json));
    let mut said = lines.iter().map(|(_, line)| line).filter(|line| line.kind != EntryKind::Instruction);
    said.next().is_some_and(is_prompt_alone) && said.next().is_none()
}

fn answer(part: &Part) -> Option<&str> {
    match part {
        Part::ToolResult { call_id, .. } => Some(call_id),
        _ => None,
    }
}
