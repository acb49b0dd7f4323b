//! Events as lines for people.
//!
//! Which events are shown is the commands'.

use serde_json::Value;
use stemmata_api::v1::Event;
use stemmata_model::{NewEvent, topics};

use crate::output::style::{Style, tame};
use crate::output::table::fit;
use crate::output::{size, time};

/// Characters of one piece of an entry in a line at most.
const PIECE_CHARS_MAX: usize = 200;

/// Parts within parts that a line looks into.
const DEPTH_MAX: usize = 4;

/// Returns an event as one line of at most `width` columns.
pub(crate) fn line(event: &Event, width: usize) -> String {
    let to = if event.receiver.as_str() == NewEvent::BROADCAST {
        String::new()
    } else {
        format!(" → {}", tame(&event.receiver))
    };
    let (time, topic) = (time::exact(event.timestamp), tame(&event.topic));
    let number = format!("{:>6}", event.event_seq);
    let head = format!("  {time}  {topic}  ");
    let from = format!("{}{to}", tame(&event.sender));
    // A piece beyond a screen need not be read; off a terminal nothing is cut.
    let piece_chars_max = if width == usize::MAX { usize::MAX } else { PIECE_CHARS_MAX };
    let taken = number.chars().count() + head.chars().count() + from.chars().count() + 2;
    let said = fit(&tame(said(event, piece_chars_max)), width.saturating_sub(taken).max(20));
    format!(
        "{}  {}  {}  {}  {said}\n",
        Style::Id.paint(&number),
        Style::Faint.paint(&time),
        Style::Strong.paint(&topic),
        Style::Faint.paint(&from),
    )
}

/// Returns what an event says, in one line's words.
fn said(event: &Event, chars_max: usize) -> String {
    let cut = |text: &str| cut(text, chars_max);
    let data = || event.data.as_ref().and_then(|data| serde_json::from_str::<Value>(data.as_str()).ok());
    match event.payload.as_str() {
        "plain" => {
            let kind = data().and_then(|data| data.get("kind")?.as_str().map(cut));
            match (event.text.as_deref().map(str::trim).filter(|text| !text.is_empty()), kind) {
                (Some(text), Some(kind)) => format!("{kind}: {}", cut(text)),
                (Some(text), None) => cut(text),
                (None, _) => event.data.as_ref().map_or_else(String::new, |data| cut(data.as_str())),
            }
        }
        "line" => entry(&data().unwrap_or_default(), chars_max),
        _ if event.topic.as_str() == topics::EVENT_LOST => "(lost)".to_owned(),
        gone => {
            let why = if gone == "forgotten" { "forgotten" } else { "expired by the ledger's limit" };
            format!("({}, {why})", size::bytes(event.bytes.unwrap_or(0)))
        }
    }
}

/// Returns what an entry says.
fn entry(value: &Value, chars_max: usize) -> String {
    let mut pieces = Vec::new();
    tell(value.get("parts"), (DEPTH_MAX, chars_max), &mut pieces);
    pieces.join("  ")
}

fn tell(parts: Option<&Value>, (depth, chars_max): (usize, usize), pieces: &mut Vec<String>) {
    let cut = |text: &str| cut(text, chars_max);
    let word = |part: &Value, key: &str| part.get(key).and_then(Value::as_str).map(cut).unwrap_or_default();
    for part in parts.and_then(Value::as_array).into_iter().flatten() {
        match part.get("type").and_then(Value::as_str) {
            Some("text" | "summary") => pieces.push(word(part, "text")),
            Some("tool_call") => pieces.push(format!("{}({})", word(part, "name"), word(part, "arguments"))),
            Some("tool_result") if depth > 0 => tell(part.get("parts"), (depth - 1, chars_max), pieces),
            Some("thinking") | None => {}
            Some(other) => pieces.push(format!("[{}]", cut(other))),
        }
    }
}

fn cut(text: &str, chars_max: usize) -> String {
    text.chars().take(chars_max).collect()
}
