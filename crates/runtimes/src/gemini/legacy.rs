//! `gemini-legacy-v1`: sessions as Gemini CLI wrote them before its append logs, one JSON object that is written anew.
//!
//! A result stands in `toolCalls` only, beside its call: it is an entry of its own, whose bytes begin there. The client
//! turns such a file into a log when it loads it; so do we, where a session is placed.

use std::collections::HashSet;
use std::ops::Range;

use stemmata_model::{Body, Entry, EntryKind, FormatId, Part, Role, Timestamp};

use super::part::content;
use super::read::{answer, unknown_parts, user};
use super::record::{Call, Fields, Kind, elements, message_kind};
use super::{Gemini, RUNTIME};
use crate::adapter::{
    Adapter, ClientPlace, Confidence, Detection, IdKind, PlaceRequest, Validation, Validator,
};
use crate::document::compactions::none;
use crate::document::mend::{Mended, mend, name};
use crate::document::{Dialect, Record, head, inside, whole};
use crate::json::{Field, Object, RecordError, is_blank, one_line, owned, text};
use crate::lines::facts::Templates;
use crate::lines::facts::TitleRank;
use crate::lines::unknown::type_name;
use crate::lines::{Line, entry_id};
use crate::reading::Reading;
use crate::repair::{Document, ROUNDS_MAX};

static DIALECT: Dialect = Dialect {
    runtime: RUNTIME,
    templates: Templates { main: "gemini/main", subagent: "gemini/subagent" },
    read,
    list,
    compactions: none,
};

fn list(bytes: &[u8]) -> Option<Range<usize>> {
    inside(Fields::read(whole(bytes).ok()?).ok()?.messages?)
}

fn read(bytes: &[u8]) -> Result<Vec<Record>, RecordError> {
    let document = whole(bytes)?;
    let fields = Fields::read(document).map_err(|_| RecordError::NotObject)?;
    let messages = fields.messages.ok_or(RecordError::NotObject)?;
    let list = inside(messages).ok_or(RecordError::NotObject)?;
    let mut header = Line::metadata(RUNTIME, "header", "null", time(fields.start_time));
    header.hints.session = owned(fields.session_id);
    header.hints.is_subagent = Some(false);
    let title = text(fields.summary).filter(|title| !title.is_empty());
    header.hints.title = title.map(|title| (TitleRank::Runtime, title.into_owned()));
    let mut records = vec![Record { span: document.span().start..list.start, line: header }];
    let all: Vec<(Field<'_>, Fields<'_>)> = messages
        .elements()
        .unwrap_or_default()
        .into_iter()
        .map(|element| (element, Fields::read(element).unwrap_or_default()))
        .collect();
    let answered = answered(&all);
    for (element, fields) in &all {
        message(*element, fields, &answered, bytes, &mut records);
    }
    let tail = bytes.get(list.end..document.span().end).unwrap_or_default();
    if tail.iter().any(|byte| !byte.is_ascii_whitespace() && !b"]}".contains(byte)) {
        let line = Line::metadata(RUNTIME, "session_end", "null", time(fields.last_updated));
        records.push(Record { span: list.end..document.span().end, line });
    }
    Ok(records)
}

fn time(field: Option<Field<'_>>) -> Option<Timestamp> {
    Timestamp::parse(&text(field)?).ok()
}

/// Returns the calls whose results stand in messages of their own.
fn answered(messages: &[(Field<'_>, Fields<'_>)]) -> HashSet<String> {
    let users = messages.iter().filter(|(_, fields)| message_kind(fields) == Kind::User);
    users.flat_map(|(_, fields)| content(fields.content).1).filter_map(call_of).collect()
}

fn call_of(part: Part) -> Option<String> {
    match part {
        Part::ToolResult { call_id, .. } => Some(call_id),
        _ => None,
    }
}

fn message(
    element: Field<'_>,
    fields: &Fields<'_>,
    answered: &HashSet<String>,
    bytes: &[u8],
    records: &mut Vec<Record>,
) {
    let at = time(fields.timestamp);
    let start = element.span().start;
    let mut begun = match message_kind(fields) {
        Kind::User => vec![(start, user(fields, at))],
        Kind::Gemini => vec![(start, answer(fields, at))],
        kind => {
            let name = type_name(fields.record_type);
            let mut line = Line::metadata(RUNTIME, &name, element.raw(), at);
            line.meta.visibility.user = kind == Kind::Notice;
            line.unknown = (kind != Kind::Notice).then_some(name);
            vec![(start, line)]
        }
    };
    if let Some((_, line)) = begun.first_mut() {
        line.id = entry_id(text(fields.id));
        line.unknown_parts = match message_kind(fields) {
            Kind::User | Kind::Gemini => unknown_parts(fields),
            _ => Vec::new(),
        };
    }
    if message_kind(fields) == Kind::Gemini {
        let calls = elements(fields.tool_calls).into_iter().filter_map(|call| Call::read(call).ok());
        begun.extend(calls.filter_map(|call| result(&call, answered, at)));
        begun.sort_by_key(|(start, _)| *start);
    }
    let ends: Vec<usize> =
        begun.iter().skip(1).map(|(start, _)| *start).chain([element.span().end]).collect();
    for ((start, line), end) in begun.into_iter().zip(ends) {
        let own = bytes.get(start..end).unwrap_or_default();
        let kept = own.iter().rposition(|byte| !byte.is_ascii_whitespace() && *byte != b',');
        records.push(Record { span: start..kept.map_or(end, |kept| start + kept + 1), line });
    }
}

/// Reads a result beside its call, none where it stands in a message of its own or is not there yet.
pub(super) fn result(
    call: &Call<'_>,
    answered: &HashSet<String>,
    at: Option<Timestamp>,
) -> Option<(usize, Line)> {
    let field = call.result.filter(|result| !result.is_null())?;
    let call_id = text(call.id)?.into_owned();
    let (body, said) = content(Some(field));
    if answered.contains(&call_id) || said.is_empty() {
        return None;
    }
    let is_result = |part: &Part| matches!(part, Part::ToolResult { .. });
    let parts = if said.iter().any(is_result) {
        said
    } else {
        vec![Part::ToolResult { call_id: call_id.clone(), is_error: false, parts: said }]
    };
    let mut line = Line::said(Role::Tool, EntryKind::ToolResult, parts, at);
    line.body = body;
    line.id = entry_id(Some(format!("result-{call_id}").into()));
    line.ids = vec![(IdKind::Call, call_id)];
    Some((field.span().start, line))
}

/// The adapter of Gemini CLI's older sessions.
#[derive(Debug, Clone, Copy)]
pub struct GeminiLegacy;

impl Adapter for GeminiLegacy {
    fn format(&self) -> FormatId {
        FormatId::new("gemini-legacy-v1").expect("the name is short and plain")
    }

    fn reading(&self) -> Reading {
        Reading::document(&DIALECT)
    }

    fn detect(&self, head: &[u8]) -> Option<Detection> {
        if !head.trim_ascii_start().starts_with(b"{") {
            return None;
        }
        let json = head::closed(head)?;
        let fields = Fields::read(whole(&json).ok()?).ok()?;
        let is_session = fields.session_id.is_some() && fields.project_hash.is_some();
        let has_messages = fields.messages.is_some_and(|messages| messages.raw().starts_with('['));
        (is_session && has_messages).then(|| Detection {
            format: self.format(),
            version: None,
            confidence: Confidence::Certain,
        })
    }

    fn unknown_version(&self, head: &[u8]) -> Option<String> {
        let json = head::closed(head)?;
        Fields::read(whole(&json).ok()?).ok()?.schema_version.map(super::detect::shown)
    }

    fn encode(&self, entries: &[Entry]) -> Vec<u8> {
        encode(entries)
    }

    fn is_placeable(&self) -> bool {
        false
    }

    fn client_place(&self, request: &PlaceRequest) -> ClientPlace {
        Gemini.client_place(request)
    }

    fn mend(&self, document: &mut Document, _client_version: Option<&str>) {
        let header = header(document.line(0));
        mend(document, &DIALECT, |messages| as_log(&header, messages));
    }

    fn validator(&self, client_version: Option<&str>) -> Box<dyn Validator> {
        Box::new(LegacyValidator { log: Gemini.validator(client_version) })
    }
}

/// Writes the log of the same entries as one object. The older form has no checkpoint: a summary is a message.
fn encode(entries: &[Entry]) -> Vec<u8> {
    let plain = entries.iter().cloned().map(|mut entry| {
        for part in &mut entry.parts {
            if let Part::Summary { text, .. } = part {
                *part = Part::Text(std::mem::take(text));
                entry.kind = EntryKind::Message;
                entry.body = Body::Text;
            }
        }
        entry
    });
    let log = Gemini.encode(&plain.collect::<Vec<_>>());
    let mut lines = log.split(|byte| *byte == b'\n').filter(|line| !is_blank(line));
    let header = lines.next().and_then(|line| line.strip_suffix(b"}")).unwrap_or(b"{\"sessionId\":\"\"");
    let mut out = header.to_vec();
    out.extend_from_slice(b",\"messages\":[");
    for (number, line) in lines.enumerate() {
        out.extend_from_slice(if number > 0 { b"," } else { b"" });
        out.extend_from_slice(line);
    }
    out.extend_from_slice(b"]}");
    out
}

/// Returns the first line of the log that a session becomes.
fn header(document: &[u8]) -> String {
    let fields = whole(document).ok().and_then(|whole| Fields::read(whole).ok()).unwrap_or_default();
    let mut header = Object::new();
    for (key, field) in [("sessionId", fields.session_id), ("projectHash", fields.project_hash)] {
        header = header.given_raw(key, field.and_then(|field| one_line(field.raw())).as_deref());
    }
    header.finish()
}

/// Mends messages as those of the log that the client makes of them.
fn as_log(header: &str, messages: &[&str]) -> Mended {
    let lines: Vec<String> = messages.iter().map(|message| one_line(message).unwrap_or_default()).collect();
    let mut log = Document::of(format!("{header}\n{}\n", lines.join("\n")).as_bytes());
    for _ in 0..ROUNDS_MAX {
        let before = log.changes();
        super::repair::mend(&mut log);
        if log.changes() == before {
            break;
        }
    }
    let told = log.told().iter().map(|change| {
        let number = change.line.and_then(|line| usize::try_from(line).ok()?.checked_sub(2));
        let what =
            number.map_or_else(|| change.message.clone(), |at| format!("{}: {}", name(at), change.message));
        (change.kind, what)
    });
    let written = log.numbered().filter(|(number, _)| *number != Some(1)).map(|(number, line)| {
        let line = String::from_utf8_lossy(line.strip_suffix(b"\n").unwrap_or(line)).into_owned();
        let at = number.and_then(|number| usize::try_from(number).ok()?.checked_sub(2));
        // What was not touched stays spread over lines as it was.
        let same = at.filter(|at| lines.get(*at) == Some(&line)).and_then(|at| messages.get(at));
        same.map_or(line, |same| (*same).to_owned())
    });
    (written.collect(), told.collect())
}

/// Checks a session as the log that the client makes of it.
struct LegacyValidator {
    log: Box<dyn Validator>,
}

impl Validator for LegacyValidator {
    fn line(&mut self, document: &[u8]) {
        let Some(fields) = whole(document).ok().and_then(|whole| Fields::read(whole).ok()) else {
            // No header, which the log's check calls fatal.
            return self.log.line(document);
        };
        let (session, hash) = (fields.session_id, fields.project_hash);
        let mut header = crate::json::Object::new();
        for (key, field) in [("sessionId", session), ("projectHash", hash)] {
            header = field.map_or_else(crate::json::Object::new, |field| header.raw(key, field.raw()));
        }
        self.log.line(header.finish().as_bytes());
        for message in elements(fields.messages) {
            let line = crate::json::one_line(message.raw()).unwrap_or_default();
            self.log.line(line.as_bytes());
        }
    }

    fn finish(&mut self) -> Validation {
        self.log.finish()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::chain_tests::checked;
    use crate::conformance::{check, check_damaged};

    pub(crate) const SAMPLE: &str = r#"{
  "sessionId": "9b1dcd5e-3f6e-4a38-9d6f-0a1b2c3d4e5f",
  "projectHash": "0e7f1f2f",
  "startTime": "2025-10-01T10:00:00.000Z",
  "lastUpdated": "2025-10-01T10:05:00.000Z",
  "messages": [
    {"id": "5c1f6f0e-0001-4000-8000-000000000001", "timestamp": "2025-10-01T10:00:01.000Z", "type": "user", "content": "Which bells ring at noon?"},
    {"id": "5c1f6f0e-0002-4000-8000-000000000002", "timestamp": "2025-10-01T10:00:02.000Z", "type": "gemini", "content": "I look.",
      "thoughts": [{"subject": "List", "description": "It will say.", "timestamp": "2025-10-01T10:00:02.000Z"}],
      "tokens": {"input": 9, "output": 4, "cached": 2, "thoughts": 1, "tool": 0, "total": 14}, "model": "gemini-2.5-pro",
      "toolCalls": [
        {"id": "read_list-1759312802000-a1b2c3", "name": "read_list", "args": {"path": "bells.txt", "at": 1.50},
          "result": [{"functionResponse": {"id": "read_list-1759312802000-a1b2c3", "name": "read_list", "response": {"output": "east: 12:00"}}}],
          "status": "success", "timestamp": "2025-10-01T10:00:03.000Z"},
        {"id": "photo-1759312802001-d4e5f6", "name": "photo", "args": {}, "status": "success",
          "result": [{"functionResponse": {"id": "photo-1759312802001-d4e5f6", "name": "photo", "response": {"error": "fog"}}}]}
      ]},
    {"id": "5c1f6f0e-0003-4000-8000-000000000003", "timestamp": "2025-10-01T10:00:04.000Z", "type": "info", "content": "Compressed nothing."},
    {"id": "5c1f6f0e-0004-4000-8000-000000000004", "timestamp": "2025-10-01T10:00:05.000Z", "type": "gemini", "content": "The east bell does."}
  ],
  "summary": "Bells at noon"
}"#;

    #[test]
    fn older_sessions_keep_the_laws() {
        let report = check(&GeminiLegacy, SAMPLE.as_bytes()).unwrap_or_else(|broken| panic!("{broken}"));
        assert_eq!((report.entries, report.counts.messages, report.notes), (8, 5, Vec::new()));
        check_damaged(&GeminiLegacy, SAMPLE.as_bytes()).unwrap_or_else(|broken| panic!("{broken}"));
    }

    #[test]
    fn results_that_stand_beside_their_calls_only_are_read() {
        let entries = GeminiLegacy.decode(SAMPLE.as_bytes()).entries;
        let calls: Vec<&str> = entries.iter().flat_map(Entry::calls).collect();
        let answers: Vec<&str> = entries.iter().flat_map(Entry::answers).collect();
        assert_eq!((calls.len(), &calls), (2, &answers));
        // One that is said again in a message of its own is read there.
        let said = r#"{"id": "x", "type": "user", "content": [{"functionResponse": {"id": "photo-1759312802001-d4e5f6", "response": {"error": "fog"}}}]},"#;
        let twice =
            SAMPLE.replacen("    {\"id\": \"5c1f6f0e-0003", &format!("{said}{{\"id\": \"5c1f6f0e-0003"), 1);
        assert_eq!(GeminiLegacy.decode(twice.as_bytes()).entries.iter().flat_map(Entry::answers).count(), 2);
    }

    #[test]
    fn an_older_session_becomes_a_log_that_the_loader_takes() {
        let entries = GeminiLegacy.decode(SAMPLE.as_bytes()).entries;
        let translated = crate::translate::translate(entries, &GeminiLegacy.format(), &Gemini.format());
        let log = Gemini.encode(&translated.entries);
        assert_eq!(checked(&Gemini, &log).findings, Vec::new(), "{}", String::from_utf8_lossy(&log));
        for word in ["east: 12:00", "fog", "1.50", "The east bell does."] {
            assert!(String::from_utf8_lossy(&log).contains(word), "{word}");
        }
        let verdict = checked(&GeminiLegacy, SAMPLE.as_bytes());
        assert!(verdict.is_accepted(), "{:?}", verdict.findings);
    }
}
