//! Mends an array for Anthropic's Messages API: results where the API looks for them, and no empty text.
//!
//! The API refuses an array for what other loaders skip; what was said and cannot stay where it is becomes text.

use std::collections::{HashMap, HashSet};

use super::turns::LOST_CALL;
use crate::anthropic::{Block as Fields, Content, Message};
use crate::document::mend::{Mended, Told, name};
use crate::json::{Field, Object, is_string, owned, quote, text};
use crate::placing::replace;
use crate::repair::REPAIRED_TEXT;

/// What is said where a conversation begins with an answer.
const NO_PROMPT: &str = "[The beginning of this conversation is not here.]";

/// What a content block is, as far as the API's rules go.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    Call(String),
    Result(String),
    /// A text of white space.
    Blank,
    Other,
    /// It stands elsewhere now.
    Gone,
}

#[derive(Debug, Clone)]
struct Block {
    json: String,
    kind: Kind,
}

/// One message.
#[derive(Debug, Clone)]
struct Turn<'d> {
    whole: &'d str,
    /// Where its content stands; none for what is no message.
    content: Option<std::ops::Range<usize>>,
    is_assistant: bool,
    blocks: Vec<Block>,
    is_changed: bool,
    is_gone: bool,
    /// A message of results that has to stand behind it.
    behind: Vec<Block>,
}

/// Mends the messages of an array.
pub(super) fn mend(elements: &[&str]) -> Mended {
    let turns = elements.iter().map(|element| turn(element)).collect();
    let mut talk = Talk { turns, told: Vec::new(), beginning: None };
    talk.blanks();
    talk.results();
    talk.orphans();
    talk.order();
    talk.beginning();
    talk.finish()
}

fn turn(element: &str) -> Turn<'_> {
    let fields = Message::of(Field::whole(element)).unwrap_or_default();
    let is = |role: &str| fields.role.is_some_and(|field| is_string(field, role));
    let content = fields.content.filter(|_| is("user") || is("assistant"));
    let blocks = match Content::of(content) {
        Content::Text(said) => vec![block(text_block(said.raw()))],
        Content::List(elements) => {
            elements.into_iter().map(|element| block(element.whole.raw().to_owned())).collect()
        }
        Content::Absent | Content::Other(_) => Vec::new(),
    };
    let is_known = matches!(Content::of(content), Content::Text(_) | Content::List(_));
    Turn {
        whole: element,
        content: content.filter(|_| is_known).map(|content| content.span()),
        is_assistant: is("assistant"),
        blocks,
        is_changed: false,
        is_gone: false,
        behind: Vec::new(),
    }
}

fn text_block(json: &str) -> String {
    Object::new().text("type", "text").raw("text", json).finish()
}

fn block(json: String) -> Block {
    let fields = Fields::read(Field::whole(&json)).unwrap_or_default();
    let is = |kind: &str| fields.block_type.is_some_and(|field| is_string(field, kind));
    let id = |field| owned(field);
    let kind = if is("tool_use") {
        id(fields.id).map_or(Kind::Other, Kind::Call)
    } else if is("tool_result") {
        id(fields.tool_use_id).map_or(Kind::Other, Kind::Result)
    } else if is("text") && text(fields.text).is_some_and(|text| text.trim().is_empty()) {
        Kind::Blank
    } else {
        Kind::Other
    };
    Block { json, kind }
}

/// Returns a result for a call that has none.
fn made_up(call: &str) -> Block {
    let object = Object::new().text("type", "tool_result").text("tool_use_id", call);
    block(object.text("content", REPAIRED_TEXT).flag("is_error", true).finish())
}

struct Talk<'d> {
    turns: Vec<Turn<'d>>,
    told: Vec<Told>,
    beginning: Option<String>,
}

impl Talk<'_> {
    fn tell(&mut self, kind: &'static str, message: String) {
        self.told.push((kind, message));
    }

    /// Returns the messages that are there, as their places.
    fn present(&self) -> Vec<usize> {
        let is_there = |turn: &Turn<'_>| turn.content.is_some() && !turn.is_gone;
        (0..self.turns.len()).filter(|at| self.turns.get(*at).is_some_and(is_there)).collect()
    }

    /// Takes out texts of white space, and messages that hold nothing.
    fn blanks(&mut self) {
        let mut told = Vec::new();
        for (at, turn) in self.turns.iter_mut().enumerate().filter(|(_, turn)| turn.content.is_some()) {
            let before = turn.blocks.len();
            turn.blocks.retain(|block| block.kind != Kind::Blank);
            if turn.blocks.is_empty() {
                turn.is_gone = true;
                let what = format!("{} says nothing, which the API refuses: it is left out", name(at));
                told.push(("blank_text", what));
            } else if turn.blocks.len() < before {
                turn.is_changed = true;
                let what = format!("{}: a text of white space, which the API refuses, is left out", name(at));
                told.push(("blank_text", what));
            }
        }
        self.told.extend(told);
    }

    /// Puts a result of each call into the message behind it.
    fn results(&mut self) {
        let present = self.present();
        let mut loose = self.loose(&present);
        for pair in present.windows(2) {
            let &[at, next] = pair else { continue };
            let Some(turn) = self.turns.get(at).filter(|turn| turn.is_assistant) else { continue };
            let calls: Vec<String> = turn.blocks.iter().filter_map(call_of).collect();
            let behind = self.turns.get(next).filter(|turn| !turn.is_assistant);
            let answers: HashSet<String> =
                behind.iter().flat_map(|turn| turn.blocks.iter().filter_map(result_of)).collect();
            let has_behind = behind.is_some();
            let mut results = Vec::new();
            for call in calls.into_iter().filter(|call| !answers.contains(call)) {
                let from = loose.get_mut(&call).and_then(|places| {
                    let later = places.iter().position(|(from, _)| *from > at)?;
                    Some(places.remove(later))
                });
                let taken = from.and_then(|place| self.take(place));
                if taken.is_some() {
                    let what =
                        format!("the result of `{call}` stands behind its call now: the API looks there");
                    self.tell("result", what);
                } else {
                    let what =
                        format!("the call `{call}` in {} had no result: it got a marked one", name(at));
                    self.tell("result", what);
                }
                results.push(taken.unwrap_or_else(|| made_up(&call)));
            }
            let place = if has_behind { self.turns.get_mut(next) } else { self.turns.get_mut(at) };
            let Some(place) = place.filter(|_| !results.is_empty()) else { continue };
            if has_behind {
                place.blocks.splice(0..0, results);
                place.is_changed = true;
            } else {
                place.behind = results;
            }
        }
    }

    /// Finds results that do not stand behind their calls, by the calls: (message, block).
    fn loose(&self, present: &[usize]) -> HashMap<String, Vec<(usize, usize)>> {
        let mut loose: HashMap<String, Vec<(usize, usize)>> = HashMap::new();
        let mut calls: HashSet<String> = HashSet::new();
        for &at in present {
            let Some(turn) = self.turns.get(at) else { continue };
            for (number, block) in turn.blocks.iter().enumerate() {
                if let Kind::Result(call) = &block.kind
                    && !calls.remove(call)
                {
                    loose.entry(call.clone()).or_default().push((at, number));
                }
            }
            calls = turn.blocks.iter().filter(|_| turn.is_assistant).filter_map(call_of).collect();
        }
        loose
    }

    /// Takes a result from where it stands. Only calls before a message take from it, and none of these is looked at any
    /// more once something is put into it: places hold.
    fn take(&mut self, (at, number): (usize, usize)) -> Option<Block> {
        let turn = self.turns.get_mut(at)?;
        let block = turn.blocks.get_mut(number)?;
        let taken = block.clone();
        block.kind = Kind::Gone;
        turn.is_changed = true;
        Some(taken)
    }

    /// Tells results without a call as text.
    fn orphans(&mut self) {
        let mut calls: HashSet<String> = HashSet::new();
        let mut told = Vec::new();
        for at in self.present() {
            let Some(turn) = self.turns.get_mut(at) else { continue };
            turn.blocks.retain(|block| block.kind != Kind::Gone);
            if turn.blocks.is_empty() {
                turn.is_gone = true;
                continue;
            }
            let mut blocks = Vec::with_capacity(turn.blocks.len());
            for block in std::mem::take(&mut turn.blocks) {
                match &block.kind {
                    Kind::Result(call) if turn.is_assistant || !calls.remove(call) => {
                        let what = format!(
                            "{} answers `{call}`, which is not a call of the message before: it becomes text",
                            name(at)
                        );
                        told.push(("orphan", what));
                        blocks.extend(as_text(&block.json));
                        turn.is_changed = true;
                    }
                    _ => blocks.push(block),
                }
            }
            turn.blocks = blocks;
            calls = turn.blocks.iter().filter(|_| turn.is_assistant).filter_map(call_of).collect();
            // They are answered by what is put behind it.
            if !turn.behind.is_empty() {
                calls.clear();
            }
        }
        self.told.extend(told);
    }

    /// Puts results before what is said beside them.
    fn order(&mut self) {
        let mut told = Vec::new();
        for (at, turn) in self.turns.iter_mut().enumerate().filter(|(_, turn)| !turn.is_assistant) {
            let is_result = |block: &Block| matches!(block.kind, Kind::Result(_));
            if !turn.blocks.is_sorted_by_key(|block| !is_result(block)) {
                turn.blocks.sort_by_key(|block| !is_result(block));
                turn.is_changed = true;
                told.push(("order", format!("{}: results go before what is said beside them", name(at))));
            }
        }
        self.told.extend(told);
    }

    fn beginning(&mut self) {
        let first = self.present().first().and_then(|at| self.turns.get(*at));
        if first.is_some_and(|turn| turn.is_assistant) {
            let message = Object::new().text("role", "user").text("content", NO_PROMPT).finish();
            self.beginning = Some(message);
            let what = "the conversation began with an answer, which the API refuses: a marked message stands before it";
            self.tell("beginning", what.to_owned());
        }
    }

    fn finish(self) -> Mended {
        let mut out: Vec<String> = self.beginning.into_iter().collect();
        for turn in self.turns {
            if let (false, Some(content)) = (turn.is_gone, turn.content.clone()) {
                let mut bytes = Vec::new();
                let edits = if turn.is_changed { vec![(content, list(&turn.blocks))] } else { Vec::new() };
                replace(turn.whole.as_bytes(), edits, &mut bytes);
                out.push(String::from_utf8_lossy(&bytes).into_owned());
            } else if !turn.is_gone {
                out.push(turn.whole.to_owned());
            }
            if !turn.behind.is_empty() {
                out.push(Object::new().text("role", "user").raw("content", &list(&turn.behind)).finish());
            }
        }
        (out, self.told)
    }
}

fn call_of(block: &Block) -> Option<String> {
    if let Kind::Call(call) = &block.kind { Some(call.clone()) } else { None }
}

fn result_of(block: &Block) -> Option<String> {
    if let Kind::Result(call) = &block.kind { Some(call.clone()) } else { None }
}

/// Returns what a result says without being one.
fn as_text(result: &str) -> Vec<Block> {
    let mut blocks = vec![block(text_block(&quote(LOST_CALL)))];
    let fields = Fields::read(Field::whole(result)).unwrap_or_default();
    match Content::of(fields.content) {
        Content::Text(said) => blocks.push(block(text_block(said.raw()))),
        Content::List(elements) => {
            blocks.extend(elements.into_iter().map(|element| block(element.whole.raw().to_owned())));
        }
        Content::Absent | Content::Other(_) => {}
    }
    blocks.retain(|block| block.kind != Kind::Blank);
    blocks
}

fn list(blocks: &[Block]) -> String {
    crate::json::list(blocks.iter().map(|block| &block.json))
}
