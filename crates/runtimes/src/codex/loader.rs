//! What Codex takes of a line, and what can be read of it beyond that.
//!
//! Codex hands each line to `serde_json` and drops it without a word where that refuses it (tried with 0.169.0). Our own reading
//! goes further, so that nothing which was said is lost: what `readable` returns is what a repaired or placed copy holds.

use std::borrow::Cow;
use std::ops::Range;

use serde_json::value::RawValue;

use super::record::{Content, Kind, Payload, Record};
use crate::json::{Field, Salvaged, is_string, members, quote, salvage, text};
use crate::placing::replace;

/// Lists and objects that may lie in each other: `serde_json` refuses the 128th.
const DEPTH_MAX: usize = 127;

const BYTE_ORDER_MARK: char = '\u{feff}';

/// Why the loader drops a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dropped {
    /// Its bytes are not UTF-8: of a history without numbers the loader then takes nothing at all.
    NotUtf8,
    /// A byte order mark stands before its record.
    ByteOrderMark,
    /// It is not one JSON value and nothing else.
    NotOneRecord,
    /// An escape is half of a surrogate pair.
    LoneSurrogate,
    /// Its lists and objects lie too deep in each other.
    TooDeep,
}

impl Dropped {
    /// Says what is wrong with the line.
    pub(super) const fn why(self) -> &'static str {
        match self {
            Self::NotUtf8 => "the line is not UTF-8",
            Self::ByteOrderMark => "a byte order mark stands before the record",
            Self::NotOneRecord => "the line is not one JSON record",
            Self::LoneSurrogate => "an escape of the line is half of a surrogate pair",
            Self::TooDeep => "the line nests deeper than 127 lists and objects",
        }
    }
}

/// Returns why the loader drops a line, with or without its newline; `None` where it reads it.
pub(super) fn dropped(line: &[u8]) -> Option<Dropped> {
    let Ok(text) = std::str::from_utf8(line) else { return Some(Dropped::NotUtf8) };
    if text.trim_start().starts_with(BYTE_ORDER_MARK) {
        return Some(Dropped::ByteOrderMark);
    }
    if serde_json::from_str::<&RawValue>(text).is_err() {
        return Some(Dropped::NotOneRecord);
    }
    edits(text).first().map(|(_, why)| *why)
}

/// What can be read of a line that the loader drops.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Readable {
    /// Its records, as the loader takes them.
    pub(super) records: Vec<String>,
    /// What is no record: the loader skips it.
    pub(super) rest: Vec<String>,
}

impl Readable {
    /// Returns the lines that hold all of it.
    pub(super) fn into_lines(self) -> Vec<String> {
        // A header must be the first line.
        self.records.into_iter().chain(self.rest).collect()
    }
}

/// Reads a line as far as it can be read: bad bytes become U+FFFD, and what is too deep becomes its own text.
pub(super) fn readable(line: &[u8]) -> Readable {
    let mut found = Readable::default();
    if let Some(record) = as_json(line) {
        found.records.push(whole(&record).into_owned());
        return found;
    }
    for part in apart(line) {
        let record = part.record.as_deref().unwrap_or_default();
        let end = if record.is_empty() { part.start } else { part.place(line, record.len()) };
        let beside = [part.range.start..part.start, end..part.range.end];
        found.records.extend(part.record.as_deref().map(|record| whole(record).into_owned()));
        found.rest.extend(beside.into_iter().filter_map(|range| {
            let text = String::from_utf8_lossy(line.get(range)?);
            let text = text.trim_matches(|at: char| at == BYTE_ORDER_MARK || at.is_ascii_whitespace());
            (!text.is_empty()).then(|| text.to_owned())
        }));
    }
    found
}

/// Writes a record as JSON that would be one but for raw control characters in its strings and numbers that are none.
fn as_json(line: &[u8]) -> Option<String> {
    const NO_NUMBERS: [&[u8]; 3] = [b"NaN", b"Infinity", b"-Infinity"];
    let text = std::str::from_utf8(line).ok()?.trim_end_matches(['\r', '\n']);
    let bytes = text.as_bytes();
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    let mut at = 0;
    while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
        if rest.starts_with(b"\"") {
            let end = string(bytes, at).0;
            let inside = bytes.get(at..end).unwrap_or_default().iter().zip(at..);
            let controls = inside.filter(|(byte, _)| **byte < b' ');
            edits.extend(controls.map(|(byte, place)| (place..place + 1, format!("\\u{byte:04x}"))));
            at = end;
        } else if let Some(odd) = NO_NUMBERS.iter().find(|odd| rest.starts_with(odd)) {
            edits.push((at..at + odd.len(), "null".to_owned()));
            at += odd.len();
        } else {
            at += 1;
        }
    }
    if edits.is_empty() {
        return None;
    }
    let mut out = Vec::with_capacity(bytes.len() + 64);
    replace(bytes, edits, &mut out);
    String::from_utf8(out).ok().filter(|record| is_known(record))
}

/// Takes a line apart that is no single record.
pub(super) fn apart(line: &[u8]) -> Vec<Salvaged<'_>> {
    if let Some(record) = as_json(line) {
        return vec![Salvaged {
            range: 0..line.len(),
            record: Some(record.into()),
            start: 0,
            is_first: true,
        }];
    }
    let is_record = |object: Field<'_>| {
        let record = Record::parse(object.raw().as_bytes());
        record.is_ok_and(|record| record.has_envelope && record.envelope.record_type.is_some())
    };
    let mut parts = salvage(line, false, is_record);
    // The first value of a line is taken whatever it says.
    for part in parts.iter_mut().filter(|part| part.is_first) {
        part.record = part.record.take().filter(|record| is_known(record));
    }
    parts
}

fn is_known(record: &str) -> bool {
    Record::parse(record.as_bytes()).is_ok_and(|record| record.kind != Kind::Unknown || record.has_envelope)
}

/// Returns a record as the loader takes it.
fn whole(record: &str) -> Cow<'_, str> {
    let edits = edits(record);
    if edits.is_empty() {
        return Cow::Borrowed(record);
    }
    let mut out = Vec::with_capacity(record.len());
    let edits = edits.into_iter().map(|(span, why)| {
        let with = match why {
            Dropped::TooDeep => quote(record.get(span.clone()).unwrap_or_default()),
            _ => "\\ufffd".to_owned(),
        };
        (span, with)
    });
    replace(record.as_bytes(), edits.collect(), &mut out);
    Cow::Owned(String::from_utf8(out).unwrap_or_else(|_| record.to_owned()))
}

/// Finds what the loader refuses in a text that is JSON: escapes that are half of a pair, and what lies too deep.
fn edits(text: &str) -> Vec<(Range<usize>, Dropped)> {
    let bytes = text.as_bytes();
    // Nearly all lines have neither: two quick looks spare the slow one.
    let is_deep = memchr::memchr2_iter(b'{', b'[', bytes).nth(DEPTH_MAX).is_some();
    let has_half =
        memchr::memmem::find_iter(bytes, "\\u").any(|at| matches!(bytes.get(at + 2), Some(b'd' | b'D')));
    if !is_deep && !has_half {
        return Vec::new();
    }
    let mut found = Vec::new();
    let (mut at, mut depth, mut deep_start) = (0, 0_usize, 0);
    while let Some(byte) = bytes.get(at) {
        at = match byte {
            b'"' => {
                let (end, halves) = string(bytes, at);
                if depth <= DEPTH_MAX {
                    found.extend(halves.into_iter().map(|half| (half, Dropped::LoneSurrogate)));
                }
                end
            }
            b'{' | b'[' => {
                depth += 1;
                if depth == DEPTH_MAX + 1 {
                    deep_start = at;
                }
                at + 1
            }
            b'}' | b']' => {
                if depth == DEPTH_MAX + 1 {
                    found.push((deep_start..at + 1, Dropped::TooDeep));
                }
                depth = depth.saturating_sub(1);
                at + 1
            }
            _ => at + 1,
        };
    }
    found
}

/// Returns where a string ends that begins here, and the escapes in it that are half of a pair.
fn string(bytes: &[u8], start: usize) -> (usize, Vec<Range<usize>>) {
    let mut halves = Vec::new();
    let mut at = start + 1;
    while let Some(found) = bytes.get(at..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest)) {
        at += found;
        if bytes.get(at) == Some(&b'"') {
            return (at + 1, halves);
        }
        at = match unit(bytes, at) {
            Some(0xd800..=0xdbff) if matches!(unit(bytes, at + 6), Some(0xdc00..=0xdfff)) => at + 12,
            Some(0xd800..=0xdfff) => {
                halves.push(at..at + 6);
                at + 6
            }
            Some(_) => at + 6,
            None => at + 2,
        };
    }
    (bytes.len(), halves)
}

/// Returns the UTF-16 unit of an escape of that kind which stands here.
fn unit(bytes: &[u8], at: usize) -> Option<u16> {
    let escape = bytes.get(at..)?.get(..6)?;
    let digits = std::str::from_utf8(escape.strip_prefix(b"\\u")?).ok()?;
    u16::from_str_radix(digits, 16).ok()
}

/// Returns which field of a record has not the type without which the loader drops its line; `None` where it reads it.
pub(super) fn misread(record: &Record<'_>) -> Option<&'static str> {
    let number = record.envelope.ordinal.filter(|ordinal| !ordinal.is_null());
    if number.is_some_and(|ordinal| ordinal.number().is_none()) {
        return Some("ordinal");
    }
    let payload = &record.payload;
    let needed = match record.kind {
        Kind::Item => needs(payload, text(payload.item_type).as_deref()?),
        Kind::Compacted => vec![
            ("message", is_text(payload.message)),
            ("replacement_history", is_none_or(payload.replacement_history, is_history)),
        ],
        Kind::Event if record.is_item("thread_rolled_back") => {
            vec![("num_turns", turns_back(payload).is_some())]
        }
        Kind::SessionMeta | Kind::TurnContext | Kind::Event | Kind::Other | Kind::Unknown => Vec::new(),
    };
    needed.into_iter().find(|(_, is_good)| !is_good).map(|(name, _)| name)
}

/// Returns how many turns a rollback takes back.
pub(super) fn turns_back(payload: &Payload<'_>) -> Option<u64> {
    payload.num_turns.and_then(|turns| turns.number()).filter(|turns| u32::try_from(*turns).is_ok())
}

/// Returns whether this is a list of items that each have what their type needs. An item of an unknown type is none to the loader,
/// and costs nothing else.
fn is_history(field: Option<Field<'_>>) -> bool {
    let is_item = |item: Field<'_>| {
        let Ok(payload) = Payload::read(item) else { return false };
        text(payload.item_type).is_some_and(|kind| needs(&payload, &kind).iter().all(|(_, is_good)| *is_good))
    };
    is_list(field) && field.and_then(|field| field.elements()).unwrap_or_default().into_iter().all(is_item)
}

/// Returns the fields that the loader needs of an item of this type, and whether they are as it needs them.
fn needs(payload: &Payload<'_>, kind: &str) -> Vec<(&'static str, bool)> {
    let is_call = ("call_id", is_text(payload.call_id));
    let message = |kinds| ("content", is_list_of(payload.content, kinds));
    let output = ("output", is_text(payload.output) || is_list_of(payload.output, &OUTPUT_CONTENT));
    let encrypted = ("encrypted_content", is_text(payload.encrypted_content));
    match kind {
        "message" => vec![("role", is_text(payload.role)), message(&MESSAGE_CONTENT)],
        "agent_message" => vec![
            ("author", is_text(payload.author)),
            ("recipient", is_text(payload.recipient)),
            message(&["input_text", "encrypted_content"]),
        ],
        "reasoning" => vec![
            ("summary", is_list_of(payload.summary, &["summary_text"])),
            (
                "content",
                is_none_or(payload.content, |content| is_list_of(content, &["reasoning_text", "text"])),
            ),
            ("encrypted_content", is_none_or(payload.encrypted_content, is_text)),
        ],
        "function_call" => {
            vec![("name", is_text(payload.name)), ("arguments", is_text(payload.arguments)), is_call]
        }
        "custom_tool_call" => {
            vec![("name", is_text(payload.name)), ("input", is_text(payload.input)), is_call]
        }
        "function_call_output" | "custom_tool_call_output" => vec![is_call, output],
        "local_shell_call" => {
            let is_status = |status| {
                ["completed", "in_progress", "incomplete"].iter().any(|name| is_string(status, name))
            };
            vec![
                ("status", payload.status.is_some_and(is_status)),
                ("action", payload.action.is_some_and(is_exec)),
            ]
        }
        "tool_search_call" => {
            vec![("execution", is_text(payload.execution)), ("arguments", payload.arguments.is_some())]
        }
        "tool_search_output" => vec![
            ("status", is_text(payload.status)),
            ("execution", is_text(payload.execution)),
            ("tools", is_list(payload.tools)),
        ],
        "web_search_call" => vec![("status", is_none_or(payload.status, is_text))],
        "image_generation_call" => {
            vec![("status", is_text(payload.status)), ("result", is_text(payload.result))]
        }
        "compaction" | "compaction_summary" => vec![encrypted],
        "additional_tools" => vec![("role", is_text(payload.role)), ("tools", is_list(payload.tools))],
        _ => Vec::new(),
    }
}

/// What the content of a message may be.
pub(super) const MESSAGE_CONTENT: [&str; 4] = ["input_text", "output_text", "input_image", "input_audio"];

/// What a call may return.
pub(super) const OUTPUT_CONTENT: [&str; 4] =
    ["input_text", "input_image", "input_audio", "encrypted_content"];

pub(super) fn is_text(field: Option<Field<'_>>) -> bool {
    field.is_some_and(|field| field.raw().starts_with('"'))
}

pub(super) fn is_list(field: Option<Field<'_>>) -> bool {
    field.is_some_and(|field| field.raw().starts_with('['))
}

/// Returns a member of an object.
pub(super) fn member<'a>(object: Option<Field<'a>>, name: &str) -> Option<Field<'a>> {
    members(object?)?.into_iter().find(|member| member.name == name).map(|member| member.value)
}

/// Returns whether this is a list without items.
pub(super) fn is_empty_list(field: Field<'_>) -> bool {
    field.elements().is_some_and(|items| items.is_empty())
}

pub(super) fn is_none_or<'a>(field: Option<Field<'a>>, is_good: impl Fn(Option<Field<'a>>) -> bool) -> bool {
    field.is_none_or(|field| field.is_null() || is_good(Some(field)))
}

/// Returns whether a field is a list whose items are all of these types and have what the type needs.
fn is_list_of(field: Option<Field<'_>>, kinds: &[&str]) -> bool {
    let is_item = |item: Field<'_>| {
        let Ok(item) = Content::read(item) else { return false };
        let kind = text(item.kind).unwrap_or_default();
        let has = match kind.as_ref() {
            "input_image" => is_text(item.image_url) || is_text(item.file_id),
            "input_audio" => is_text(item.audio_url),
            "encrypted_content" => is_text(item.encrypted),
            _ => is_text(item.text),
        };
        has && kinds.contains(&kind.as_ref())
    };
    is_list(field) && field.and_then(|field| field.elements()).unwrap_or_default().into_iter().all(is_item)
}

/// Returns whether this is a command that a local shell runs.
fn is_exec(action: Field<'_>) -> bool {
    let of = |name| member(Some(action), name);
    of("type").is_some_and(|kind| is_string(kind, "exec")) && is_list(of("command"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn prompt(text: &str) -> String {
        format!(
            "{{\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"type\":\"response_item\",\"payload\":{{\"type\":\"message\",\
             \"role\":\"user\",\"content\":[{{\"type\":\"input_text\",\"text\":\"{text}\"}}]}}}}"
        )
    }

    /// What `serde_json` says of a text, whose own reading is the loader's.
    fn is_taken(text: &str) -> bool {
        serde_json::from_str::<serde_json::Value>(text).is_ok()
    }

    proptest! {
        #[test]
        fn what_serde_json_refuses_is_dropped_and_what_is_read_of_it_is_taken(
            pieces in prop::collection::vec(prop::sample::select(vec![
                "a", "\\\\", "\\\"", "\\ud83d", "\\uDE00", "\\ud83d\\ude00", "\\u0041", "é", "{", "]", "\\n",
            ]), 0..12),
        ) {
            let line = prompt(&pieces.concat());
            prop_assert_eq!(dropped(line.as_bytes()).is_none(), is_taken(&line));
            let read = readable(line.as_bytes());
            prop_assert_eq!((read.records.len(), read.rest.len()), (1, 0));
            prop_assert!(read.records.iter().all(|record| is_taken(record)));
        }

        #[test]
        fn nothing_that_can_be_read_is_lost_and_nothing_panics(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut line = prompt("first").into_bytes();
            line.extend(&bytes);
            let read = readable(&line);
            prop_assert!(read.records.first().is_some_and(|record| record.contains("first")));
            for line in read.into_lines() {
                prop_assert!(std::str::from_utf8(line.as_bytes()).is_ok());
            }
            readable(&bytes);
        }

        #[test]
        fn the_depth_is_that_of_serde_json(depth in 1_usize..140) {
            let deep = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
            let line = prompt("x").replace("\"role\"", &format!("\"x\":{deep},\"role\""));
            prop_assert_eq!(dropped(line.as_bytes()).is_none(), is_taken(&line));
            let read = readable(line.as_bytes());
            prop_assert!(read.records.iter().all(|record| is_taken(record) && record.contains("\"x\":[")));
        }
    }

    #[test]
    fn each_way_in_which_a_line_is_lost_is_named_and_undone() {
        let (one, two) = (prompt("one"), prompt("two"));
        let cut = one.get(..60).expect("it is longer");
        for (line, why, records, rest) in [
            (b"\xef\xbb\xbf".iter().chain(one.as_bytes()).copied().collect(), Dropped::ByteOrderMark, 1, ""),
            (one.replace("one", "\u{0}").into_bytes(), Dropped::NotOneRecord, 1, ""),
            (format!("{one}{two}").into_bytes(), Dropped::NotOneRecord, 2, ""),
            (format!("{one} behind").into_bytes(), Dropped::NotOneRecord, 1, "behind"),
            (format!("{cut}{two}").into_bytes(), Dropped::NotOneRecord, 1, cut),
            (cut.as_bytes().to_vec(), Dropped::NotOneRecord, 0, "all"),
            (prompt("\\ud83d").into_bytes(), Dropped::LoneSurrogate, 1, ""),
            (
                one.bytes().map(|byte| if byte == b'o' { 0xff } else { byte }).collect(),
                Dropped::NotUtf8,
                0,
                "all",
            ),
            (
                [b"{\"timestamp\":\"t\",\"type\":\"x\",\"payload\":{\"a\":\"\xff\"}}".as_slice()].concat(),
                Dropped::NotUtf8,
                1,
                "",
            ),
        ] {
            let line: Vec<u8> = line;
            let text = String::from_utf8_lossy(&line).into_owned();
            let read = readable(&line);
            let rest = if rest == "all" { text.as_str() } else { rest };
            assert_eq!(
                (dropped(&line), read.records.len(), read.rest.concat().as_str()),
                (Some(why), records, rest),
                "{text}"
            );
            assert!(read.records.iter().all(|record| dropped(record.as_bytes()).is_none()), "{text}");
        }
        assert_eq!(dropped(format!("{one} \t\r\n").as_bytes()), None);
        assert_eq!(dropped(prompt("\\ud83d\\ude00").as_bytes()), None);
    }
}
