//! `aider-v1`: the chat history of aider (`.aider.chat.history.md`).
//!
//! Lines that begin with `#### ` are the user's, those with `>` the program's own, all others the model's. That is all the
//! file says: a quote or such a heading in an answer looks the same, but for those in fences. A part of a history begins with
//! no heading, and whatever somebody pasted need not be UTF-8: aider itself then reads nothing of the file.

use std::fmt::Write as _;
use std::ops::Range;

use stemmata_model::{Entry, EntryKind, Part, Role, Timestamp};

use crate::adapter::{Confidence, Finding, Severity};
use crate::clients::Client;
use crate::document::compactions::none;
use crate::document::{Dialect, Record};
use crate::imported::Imported;
use crate::json::{BYTE_ORDER_MARK, RecordError, quote};
use crate::lines::facts::Templates;
use crate::lines::facts::TitleRank;
use crate::lines::{Line, Turn};
use crate::registry::{Mark, Registered};

const RUNTIME: &str = "aider";

/// aider. It keeps its chats in the projects, so nothing is looked for.
pub static CLIENT: Client = Client::read_only(RUNTIME, &[Registered::new(&HISTORY, &MARKS)], None);

/// What a chat begins with, or a part of one.
const MARKS: [Mark; 3] = [Mark::Text(START), Mark::Text("#### "), Mark::Text("> ")];

/// The adapter of `aider-v1`.
pub const HISTORY: Imported =
    Imported { name: "aider-v1", dialect: &DIALECT, is_json: false, claims, check, encode };

/// How a chat begins; the time follows.
const START: &str = "# aider chat started at ";

/// How lines begin that the program writes into most chats.
const PROGRAM_LINES: [&str; 5] =
    ["> Aider v", "> Git repo: ", "> Repo-map: ", "> Tokens: ", "> Applied edit to "];

/// How a line of the user's begins.
const USER: &str = "####";

static DIALECT: Dialect = Dialect {
    runtime: RUNTIME,
    templates: Templates { main: "aider/main", subagent: "aider/subagent" },
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

fn voice(line: &[u8]) -> Voice {
    if line.starts_with(START.as_bytes()) {
        Voice::Start
    } else if line.strip_prefix(USER.as_bytes()).is_some_and(|rest| rest.is_empty() || rest.starts_with(b" "))
    {
        Voice::User
    } else if line.starts_with(b">") {
        Voice::Program
    } else {
        Voice::Model
    }
}

#[expect(clippy::unnecessary_wraps, reason = "a document of another format may be none")]
fn read(bytes: &[u8]) -> Result<Vec<Record>, RecordError> {
    let mut records: Vec<Record> = Vec::new();
    let mut block: Option<(Voice, Range<usize>)> = None;
    let mut is_fenced = false;
    let mut time = None;
    let mut offset = if bytes.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
    let lines = bytes.get(offset..).unwrap_or_default();
    for line in lines.split_inclusive(|byte| *byte == b'\n') {
        // What else Unicode calls white space is somebody's.
        let own = line.trim_ascii_end();
        let span = offset..offset + own.len();
        offset += line.len();
        if own.is_empty() {
            // A blank line ends nobody's lines but the user's and the program's.
            if block.as_ref().is_some_and(|(voice, _)| *voice != Voice::Model) {
                records.extend(block.take().map(|block| record(bytes, block, &mut time)));
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
            records.extend(block.take().map(|block| record(bytes, block, &mut time)));
            is_fenced = false;
        }
        if whose == Voice::Model && own.trim_ascii_start().starts_with(b"```") {
            is_fenced = !is_fenced;
        }
        match &mut block {
            Some((_, range)) => range.end = span.end,
            None => block = Some((whose, span)),
        }
    }
    records.extend(block.take().map(|block| record(bytes, block, &mut time)));
    Ok(records)
}

fn record(bytes: &[u8], (voice, span): (Voice, Range<usize>), time: &mut Option<Timestamp>) -> Record {
    let own = String::from_utf8_lossy(bytes.get(span.clone()).unwrap_or_default());
    let own = own.as_ref();
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
    let head = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head).trim_ascii_start();
    if head.starts_with(START.as_bytes()) {
        return Some(Confidence::Certain);
    }
    // A part of a history begins with a prompt, or with what the program says: other texts begin with quotes, too.
    let mut lines = head.split(|byte| *byte == b'\n');
    let is_part = match voice(lines.next()?) {
        Voice::User => true,
        Voice::Program => {
            let is_said = |line: &[u8]| PROGRAM_LINES.iter().any(|said| line.starts_with(said.as_bytes()));
            head.split(|byte| *byte == b'\n').any(is_said)
        }
        Voice::Start | Voice::Model => false,
    };
    is_part.then_some(Confidence::Possible)
}

/// Says what aider itself makes of a history that is not UTF-8.
fn check(bytes: &[u8]) -> Option<Finding> {
    let error = std::str::from_utf8(bytes).err()?;
    let message = format!(
        "it is not UTF-8 from byte {}: aider itself restores nothing of it; here these bytes are read as U+FFFD",
        error.valid_up_to()
    );
    Some(Finding { severity: Severity::Warning, check: "not_utf8", line: None, message })
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
