//! The pieces of a narrative: what is told of one text, call or result, and how much of it is shown.

use stemmata_model::quote::{one_line_within, visible_lines};
use stemmata_model::{Entry, EntryKind, Part, Role, turns as split_turns};

use super::text::of_result;

/// What stands before the turns.
pub(super) const TURNS_HEAD: &str = "\n## What happened, oldest first\n";

/// Characters of a call's arguments on its line.
const ARGUMENTS_CHARS: usize = 200;

/// Characters of a text that is shown before older turns are: what somebody said.
const SAID_CHARS: usize = 16_000;

/// Characters of a result that is shown before older turns are.
const RESULT_CHARS: usize = 2_000;

/// A turn's blocks, oldest first.
#[derive(Debug)]
pub(super) struct Turn {
    pub(super) blocks: Vec<Block>,
}

/// A heading and a text of which some characters are shown.
#[derive(Debug)]
pub(super) struct Block {
    heading: String,
    text: String,
    /// Characters of the text; at least one, so that a block is shown or not.
    pub(super) chars: usize,
    /// Characters of it that are shown: none, some from its beginning and its end, or all.
    pub(super) shown: usize,
    /// Whose words they are.
    pub(super) voice: Voice,
}

/// Whose words a block tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Voice {
    User,
    Assistant,
    /// A call or a result.
    Tool,
    /// Anything else: a summary, a list of ours.
    Other,
}

impl Block {
    pub(super) fn text(heading: &str, text: impl Into<String>) -> Self {
        let text = text.into().trim_end().replace("\r\n", "\n");
        let chars = text.chars().count().max(1);
        Self { heading: heading.to_owned(), text, chars, shown: 0, voice: Voice::Other }
    }

    /// Returns how many characters are shown where so many are wanted: little more is shown whole.
    pub(super) fn cut(&self, chars: usize) -> usize {
        if self.chars <= chars.saturating_add(chars / 4) { self.chars } else { chars }
    }

    pub(super) fn first_chars_max(&self) -> usize {
        if self.voice == Voice::Tool { RESULT_CHARS } else { SAID_CHARS }
    }

    pub(super) fn rendered_chars(&self) -> usize {
        let mut out = String::new();
        self.render(&mut out);
        out.chars().count()
    }

    /// Appends the block; nothing where nothing of it is shown.
    pub(super) fn render(&self, out: &mut String) {
        if self.shown == 0 {
            return;
        }
        out.push('\n');
        out.push_str(&self.heading);
        out.push('\n');
        if self.text.is_empty() {
            return;
        }
        if self.shown >= self.chars {
            return quote(&self.text, out);
        }
        let tail = self.shown / 3;
        let head = self.shown - tail;
        let head: String = self.text.chars().take(head).collect();
        let end: String = self.text.chars().skip(self.chars - tail).collect();
        quote(&head, out);
        out.push_str(&format_left(self.chars - self.shown));
        quote(&end, out);
    }
}

fn format_left(chars: usize) -> String {
    format!("[… {chars} characters left out …]\n")
}

/// Writes a text such that each of its lines says that it is one of then.
fn quote(text: &str, out: &mut String) {
    for line in visible_lines(text) {
        out.push_str("> ");
        out.push_str(&line);
        out.push('\n');
    }
}

/// Splits a conversation into turns of blocks.
pub(super) fn turns(entries: &[Entry]) -> Vec<Turn> {
    let turns = split_turns(entries).into_iter().map(|turn| {
        let entries = entries.get(turn.entries).unwrap_or_default();
        Turn { blocks: entries.iter().filter(|entry| is_told(entry)).flat_map(blocks).collect() }
    });
    turns.filter(|turn| !turn.blocks.is_empty()).collect()
}

fn is_told(entry: &Entry) -> bool {
    let is_said = matches!(
        entry.kind,
        EntryKind::Message | EntryKind::ToolResult | EntryKind::ToolSummary | EntryKind::CompactionSummary
    );
    is_said && entry.meta.visibility.agent && entry.meta.sidechain.is_none() && entry.role != Role::System
}

fn blocks(entry: &Entry) -> Vec<Block> {
    let mut blocks = Vec::new();
    let said = super::text::of(entry);
    if !said.trim().is_empty() {
        let (who, voice) = match (entry.kind == EntryKind::CompactionSummary, entry.role) {
            (true, _) => ("**Summary of what was before**", Voice::Other),
            (false, Role::User) => ("**User**", Voice::User),
            (false, Role::Assistant) => ("**Assistant**", Voice::Assistant),
            (false, Role::Tool | Role::System) => ("**Runtime**", Voice::Other),
        };
        blocks.push(Block { voice, ..Block::text(who, said) });
    }
    for part in &entry.parts {
        match part {
            Part::ToolCall { name, arguments, .. } => blocks.push(call(name, arguments)),
            Part::ToolResult { is_error, parts, .. } => {
                let heading = if *is_error { "→ failed" } else { "→ returned" };
                let block = Block::text(heading, of_result(parts));
                blocks.push(Block { voice: Voice::Tool, ..block });
            }
            _ => {}
        }
    }
    blocks
}

/// Tells a call by the arguments that matter, in their order.
fn call(name: &str, arguments: &str) -> Block {
    let told = match serde_json::from_str::<serde_json::Value>(arguments) {
        Ok(serde_json::Value::Object(fields)) => {
            let row = |(key, value): (&String, &serde_json::Value)| match value {
                serde_json::Value::String(text) => format!("{key}: {text}"),
                other => format!("{key}: {other}"),
            };
            // Sorted by name: JSON says nothing of an order, and the same call is told the same everywhere.
            let mut rows: Vec<String> = fields.iter().map(row).collect();
            rows.sort_by_key(|row| (row.len() > ARGUMENTS_CHARS, row.clone()));
            rows.join("\n")
        }
        _ => arguments.to_owned(),
    };
    let block = Block::text(&format!("**Tool** `{}`", one_line_within(&name.replace('`', "'"), 80)), told);
    Block { voice: Voice::Tool, ..block }
}
