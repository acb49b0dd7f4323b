//! `claude-stream-v1`: what headless Claude Code prints with `--output-format stream-json`.
//!
//! Its messages are those of a transcript with other names around them, so they are read as those are. The prompt that
//! was given on the command line is not among them.

use stemmata_model::{Entry, EntryKind, Part, Role, Timestamp};

use super::ClaudeCode;
use crate::adapter::{Adapter as _, Confidence};
use crate::captured::Captured;
use crate::json::{Field, RecordError, borrowed_object, is_string, owned, parse_line, text};
use crate::lines::facts::Templates;
use crate::lines::{Dialect, Line, Turn, entry_id, no_rescue};

const RUNTIME: &str = "claude-stream";

/// The format of headless Claude Code's output.
pub const FORMAT_STREAM: &str = "claude-stream-v1";

/// The adapter of `claude-stream-v1`.
///
/// What reads this format reads the lines of transcripts too.
pub const STREAM: Captured = Captured {
    name: FORMAT_STREAM,
    dialect: &DIALECT,
    first,
    encode: |entries| ClaudeCode.encode(entries),
    compaction: |summary, keeps, at| ClaudeCode.encode_compaction(summary, keeps, at),
};

static DIALECT: Dialect = Dialect {
    runtime: RUNTIME,
    templates: Templates { main: "claude-code/main", subagent: "claude-code/subagent" },
    read,
    rescue: no_rescue,
};

borrowed_object! {
    /// The fields of a line that somebody here looks at.
    struct Printed {
        record_type = "type", subtype, uuid, session = "session_id", caller = "parent_tool_use_id",
        message, cwd, version = "claude_code_version", event,
    }
}

fn read(line: &[u8]) -> Result<Line, RecordError> {
    let (whole, printed) = parse_line(line, Printed::read)?;
    let kind = text(printed.record_type).unwrap_or_default();
    let entry = ClaudeCode.decode(line).entries.into_iter().next();
    let time = entry.as_ref().and_then(|entry| entry.timestamp);
    let is_said = matches!(kind.as_ref(), "user" | "assistant") && printed.message.is_some();
    let mut line = match entry.filter(|_| is_said) {
        Some(entry) => said(entry, owned(printed.caller)),
        None => metadata(&kind, &printed, whole.raw(), time),
    };
    line.id = entry_id(text(printed.uuid));
    line.hints.session = owned(printed.session);
    line.hints.cwd = owned(printed.cwd);
    line.hints.version = owned(printed.version);
    Ok(line)
}

fn metadata(kind: &str, printed: &Printed<'_>, whole: &str, time: Option<Timestamp>) -> Line {
    let name = match text(printed.subtype) {
        Some(subtype) => format!("{kind}/{subtype}"),
        None => kind.to_owned(),
    };
    let mut line = Line::metadata(RUNTIME, &name, whole, time);
    if name == "system/init" {
        line.turn = Turn::Header;
    } else if name == "system/compact_boundary" {
        (line.kind, line.turn) = (EntryKind::CompactionBoundary, Turn::CompactionMark);
    }
    if !matches!(kind, "system" | "result" | "stream_event" | "rate_limit_event") {
        line.unknown = Some(name);
    }
    line
}

/// How the client's summary of a compaction begins; the output does not say otherwise that it is one.
const SUMMARY_START: &str = "This session is being continued from a previous conversation";

/// Makes a message that begins as the client's summaries do a summary.
fn summarize(entry: &mut Entry) {
    let start = entry.parts.first_mut().filter(|_| entry.role == Role::User);
    if let Some(part @ Part::Text(_)) = start
        && let Part::Text(text) = part
        && text.trim_start().starts_with(SUMMARY_START)
    {
        *part = Part::Summary { text: std::mem::take(text), covers: Vec::new() };
        entry.kind = EntryKind::CompactionSummary;
    }
}

fn said(mut entry: Entry, caller: Option<String>) -> Line {
    if caller.is_none() && entry.kind == EntryKind::Message {
        summarize(&mut entry);
    }
    let mut line = Line::said(entry.role, entry.kind, entry.parts, entry.timestamp);
    line.body = entry.body;
    line.meta = entry.meta;
    line.meta.sidechain = caller;
    if line.kind == EntryKind::CompactionSummary {
        line.turn = Turn::Compaction;
    }
    let is_prompt =
        line.role == Role::User && line.kind == EntryKind::Message && line.meta.sidechain.is_none();
    if is_prompt {
        line.turn = Turn::Prompt;
        line.entitle();
    }
    line
}

fn first(line: &[u8]) -> Option<(Confidence, Option<String>)> {
    let (_, printed) = parse_line(line, Printed::read).ok()?;
    let is = |field: Option<Field<'_>>, name: &str| field.is_some_and(|field| is_string(field, name));
    printed.session?;
    // Hooks are told of before the header. A transcript has no such field, and `sessionId`.
    if is(printed.record_type, "system") && printed.subtype.is_some() {
        return Some((Confidence::Certain, owned(printed.version)));
    }
    let is_said = printed.caller.is_some() && printed.message.is_some();
    (is_said || (is(printed.record_type, "stream_event") && printed.event.is_some()))
        .then_some((Confidence::Possible, None))
}
