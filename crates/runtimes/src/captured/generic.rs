//! `generic-v1`: what any command read and wrote, line by line, with times. Normative: `docs/format/generic.md`.

use stemmata_model::{Body, Entry, EntryKind, Part, Role, Timestamp};

use crate::adapter::{Confidence, Keeps};
use crate::json::{Object, RecordError, borrowed_object, owned, parse_line, push_line, text};
use crate::lines::facts::Templates;
use crate::lines::facts::TitleRank;
use crate::lines::{Dialect, Line, Turn, no_rescue};

const RUNTIME: &str = "generic";

pub(super) static DIALECT: Dialect = Dialect {
    runtime: RUNTIME,
    templates: Templates { main: "generic/main", subagent: "generic/subagent" },
    read,
    rescue: no_rescue,
};

/// The name of the stream that a summary of ours is in.
const SUMMARY: &str = "summary";

borrowed_object! {
    /// The fields of a line.
    struct Timed {
        time = "t", stream = "fd", said = "line",
    }
}

fn read(line: &[u8]) -> Result<Line, RecordError> {
    let (whole, timed) = parse_line(line, Timed::read)?;
    let time = text(timed.time).and_then(|time| Timestamp::parse(&time).ok());
    let stream = text(timed.stream).unwrap_or_default();
    let said = owned(timed.said);
    let mut line = match (stream.as_ref(), said) {
        ("stdin", Some(said)) => {
            let mut line = Line::said(Role::User, EntryKind::Message, vec![Part::Text(said.clone())], time);
            line.turn = Turn::Prompt;
            line.hints.title = Some((TitleRank::Prompt, said));
            line
        }
        ("stdout", Some(said)) => {
            Line::said(Role::Assistant, EntryKind::Message, vec![Part::Text(said)], time)
        }
        (SUMMARY, Some(said)) => {
            let parts = vec![Part::Summary { text: said, covers: Vec::new() }];
            let mut line = Line::said(Role::User, EntryKind::CompactionSummary, parts, time);
            line.turn = Turn::Compaction;
            line
        }
        ("stderr", Some(_)) => {
            let mut line = Line::metadata(RUNTIME, "stderr", whole.raw(), time);
            line.meta.visibility.user = true;
            line
        }
        (name, _) => {
            let mut line = Line::metadata(RUNTIME, name, whole.raw(), time);
            line.unknown = Some(name.to_owned());
            line
        }
    };
    line.body = Body::Text;
    Ok(line)
}

pub(super) fn first(line: &[u8]) -> Option<(Confidence, Option<String>)> {
    let (_, timed) = parse_line(line, Timed::read).ok()?;
    let is_known = matches!(text(timed.stream)?.as_ref(), "stdin" | "stdout" | "stderr" | SUMMARY);
    let is_timed = Timestamp::parse(&text(timed.time)?).is_ok() && text(timed.said).is_some();
    (is_known && is_timed).then_some((Confidence::Certain, None))
}

/// Encodes what was said; all else has no place in lines of a command.
pub(super) fn encode(entries: &[Entry]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut at = Timestamp::EPOCH;
    for entry in entries.iter().filter(|entry| entry.meta.visibility.agent) {
        at = entry.timestamp.unwrap_or(at);
        for part in &entry.parts {
            match part {
                Part::Text(said) if entry.role == Role::Assistant => push(&mut out, at, "stdout", said),
                Part::Text(said) if entry.role == Role::User => push(&mut out, at, "stdin", said),
                Part::Summary { text, .. } => push(&mut out, at, SUMMARY, text),
                _ => {}
            }
        }
    }
    out
}

/// Encodes a summary of ours.
pub(super) fn compaction(summary: &str, _keeps: &Keeps<'_>, at: Timestamp) -> Vec<u8> {
    let mut out = Vec::new();
    push(&mut out, at, SUMMARY, summary);
    out
}

fn push(out: &mut Vec<u8>, at: Timestamp, stream: &str, said: &str) {
    let line = Object::new().text("t", &crate::lines::iso(at)).text("fd", stream).text("line", said);
    push_line(out, &line.finish());
}
