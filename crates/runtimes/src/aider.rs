//! `aider-v1`: the chat history of aider (`.aider.chat.history.md`).
//!
//! Lines that begin with `#### ` are the user's, those with `>` the program's own, all others the model's. That is all the
//! file says: a quote or such a heading in an answer looks the same, but for those in fences.

use std::fmt::Write as _;
use std::ops::Range;

use stemmata_model::{Entry, EntryKind, Part, Role, Timestamp};

use crate::adapter::Confidence;
use crate::clients::Client;
use crate::document::compactions::none;
use crate::document::{Dialect, Record};
use crate::imported::Imported;
use crate::json::{RecordError, quote};
use crate::lines::facts::TitleRank;
use crate::lines::{Line, Turn};
use crate::registry::{Mark, Registered};

const RUNTIME: &str = "aider";

/// aider. It keeps its chats in the projects, so nothing is looked for.
pub static CLIENT: Client =
    Client::read_only(RUNTIME, &[Registered::new(&HISTORY, &[Mark::Text(START)])], None);

/// The adapter of `aider-v1`.
pub const HISTORY: Imported =
    Imported { name: "aider-v1", dialect: &DIALECT, is_json: false, claims, encode };

/// How a chat begins; the time follows.
const START: &str = "# aider chat started at ";

/// How a line of the user's begins.
const USER: &str = "####";

static DIALECT: Dialect = Dialect {
    runtime: RUNTIME,
    main: "aider/main",
    subagent: "aider/subagent",
    read,
    list: |_| None,
    compactions: none,
};

/// Whose lines some lines are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Voice {
    Start,
    User,
    Program,
    Model,
}

fn voice(line: &str) -> Voice {
    if line.starts_with(START) {
        Voice::Start
    } else if line.strip_prefix(USER).is_some_and(|rest| rest.is_empty() || rest.starts_with(' ')) {
        Voice::User
    } else if line.starts_with('>') {
        Voice::Program
    } else {
        Voice::Model
    }
}

fn read(bytes: &[u8]) -> Result<Vec<Record>, RecordError> {
    let text = std::str::from_utf8(bytes)?;
    let mut records: Vec<Record> = Vec::new();
    let mut block: Option<(Voice, Range<usize>)> = None;
    let mut is_fenced = false;
    let mut time = None;
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        // What else Unicode calls white space is somebody's.
        let own = line.trim_ascii_end();
        let span = offset..offset + own.len();
        offset += line.len();
        if own.is_empty() {
            // A blank line ends nobody's lines but the user's and the program's.
            if block.as_ref().is_some_and(|(voice, _)| *voice != Voice::Model) {
                records.extend(block.take().map(|block| record(text, block, &mut time)));
            }
            continue;
        }
        let mut whose = voice(own);
        let is_in_answer = block.as_ref().is_some_and(|(voice, _)| *voice == Voice::Model);
        if is_fenced && is_in_answer && whose != Voice::Start {
            whose = Voice::Model;
        }
        let goes_on = block.as_ref().is_some_and(|(open, _)| *open == whose) && whose != Voice::Start;
        if !goes_on {
            records.extend(block.take().map(|block| record(text, block, &mut time)));
            is_fenced = false;
        }
        if whose == Voice::Model && own.trim_start().starts_with("```") {
            is_fenced = !is_fenced;
        }
        match &mut block {
            Some((_, range)) => range.end = span.end,
            None => block = Some((whose, span)),
        }
    }
    records.extend(block.take().map(|block| record(text, block, &mut time)));
    Ok(records)
}

fn record(text: &str, (voice, span): (Voice, Range<usize>), time: &mut Option<Timestamp>) -> Record {
    let own = text.get(span.clone()).unwrap_or_default();
    if voice == Voice::Start {
        let at = own.strip_prefix(START).unwrap_or_default().trim().replace(' ', "T");
        // The file says no zone.
        *time = Timestamp::parse(&format!("{at}Z")).ok();
    }
    let line = match voice {
        Voice::Start => Line::metadata(RUNTIME, "started", &quote(own), *time),
        Voice::Program => {
            let mut line = Line::metadata(RUNTIME, "output", &quote(own), None);
            line.meta.visibility.user = true;
            line
        }
        Voice::User => {
            let said: Vec<&str> = own.lines().map(unmarked).collect();
            let said = said.join("\n");
            let parts = vec![Part::Text(said.clone())];
            let mut line = Line::said(Role::User, EntryKind::Message, parts, *time);
            line.turn = Turn::Prompt;
            line.hints.title = Some((TitleRank::Prompt, said));
            line
        }
        Voice::Model => {
            Line::said(Role::Assistant, EntryKind::Message, vec![Part::Text(own.to_owned())], None)
        }
    };
    Record { span, line }
}

/// Returns a line of the user's without what marks it.
fn unmarked(line: &str) -> &str {
    let line = line.strip_prefix(USER).unwrap_or(line);
    line.strip_prefix(' ').unwrap_or(line).trim_end()
}

fn claims(head: &[u8]) -> Option<Confidence> {
    head.trim_ascii_start().starts_with(START.as_bytes()).then_some(Confidence::Certain)
}

/// Encodes texts; calls, results and reasoning have no form here.
fn encode(entries: &[Entry]) -> String {
    let mut out = String::new();
    let mut at = entries.iter().find_map(|entry| entry.timestamp).unwrap_or(Timestamp::EPOCH);
    let spoken = entries.iter().filter(|entry| entry.meta.visibility.agent && entry.role != Role::System);
    for entry in spoken {
        for part in &entry.parts {
            let (Part::Text(text) | Part::Summary { text, .. }) = part else { continue };
            // A beginning keeps what is said one after the other apart, even behind a fence that is open.
            at = entry.timestamp.unwrap_or(at);
            let time = at.to_string();
            let time = time.get(..19).unwrap_or_default().replace('T', " ");
            write!(out, "\n{START}{time}\n\n").expect("a string takes everything");
            if entry.role == Role::Assistant {
                out.push_str(text);
                out.push('\n');
            } else {
                for line in text.split('\n') {
                    out.push_str(format!("{USER} {line}").trim_end());
                    out.push('\n');
                }
            }
        }
    }
    out
}
