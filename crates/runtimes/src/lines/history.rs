//! What a client still has of a conversation that goes back, and whose compactions may leave prompts: lines in their order, fed
//! one by one.
//!
//! Contexts and `doctor` both ask this one, so that they cannot differ.

use super::{Leaves, Line, Turn};
use stemmata_model::{EntryKind, Part};

/// Estimated tokens of older prompts that a compaction leaves: as many as Codex does, the newest first. The prompt that passes
/// the bound is the last one; the client cuts it.
const PROMPT_TOKENS_MAX: u64 = 20_000;

/// What a line is to going back, where its [`Turn`] alone does not say so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Back {
    /// Its turn says so.
    #[default]
    AsTurn,
    /// It counts as a prompt, though commits do not end before it.
    Begins,
    /// It stays where the prompt behind it is taken back, and so does all that stands ahead of it.
    Stays,
}

/// What a line is to the history.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Step {
    pub(crate) turn: Turn,
    back: Back,
    pub(crate) leaves: Leaves,
    /// Whether the client told the model, and no person did.
    is_instruction: bool,
    /// Estimated tokens of what a later compaction leaves; `None` where it leaves nothing of it.
    tokens: Option<u64>,
}

impl Step {
    /// Returns a line of which only its turn is known.
    pub(crate) const fn turn(turn: Turn) -> Self {
        Self { turn, back: Back::AsTurn, leaves: Leaves::Nothing, is_instruction: false, tokens: None }
    }

    pub(crate) fn of(line: &Line) -> Self {
        let is_left = match line.leaves {
            Leaves::Prompts { is_prompt } => is_prompt,
            Leaves::Nothing | Leaves::All => line.turn == Turn::Prompt,
        };
        let bytes = line.parts.iter().map(|part| match part {
            Part::Text(text) | Part::Summary { text, .. } => text.len() as u64,
            _ => 0,
        });
        Self {
            turn: line.turn,
            back: line.back,
            leaves: line.leaves,
            is_instruction: line.kind == EntryKind::Instruction,
            // One at least, so that what is left has a bound.
            tokens: is_left.then(|| bytes.sum::<u64>().div_ceil(4).max(1)),
        }
    }

    /// Returns whether going back counts it.
    fn begins(&self) -> bool {
        self.turn == Turn::Prompt
            || self.back == Back::Begins
            || self.leaves == Leaves::Prompts { is_prompt: true }
    }

    /// Returns whether it is a compaction that leaves older prompts.
    pub(crate) fn leaves_prompts(&self) -> bool {
        self.turn == Turn::Compaction && matches!(self.leaves, Leaves::Prompts { .. })
    }

    /// Returns whether it is a compaction that stands for all that is older.
    pub(crate) fn stands_for_all(&self) -> bool {
        self.turn == Turn::Compaction && self.leaves == Leaves::Nothing
    }
}

/// The lines that are still there.
#[derive(Debug)]
pub(crate) struct History<S> {
    /// The lines, the oldest first.
    pub(crate) lines: Vec<S>,
    /// How many of them going back counts.
    prompts: u64,
}

impl<S> Default for History<S> {
    fn default() -> Self {
        Self { lines: Vec::new(), prompts: 0 }
    }
}

impl<S: AsRef<Step>> History<S> {
    /// Takes the next line.
    pub(crate) fn push(&mut self, line: S) {
        self.prompts += u64::from(line.as_ref().begins());
        self.lines.push(line);
    }

    /// Leaves the headers and the newest prompts, as a compaction that comes next does.
    pub(crate) fn leave_prompts(&mut self) {
        let mut room = Room::default();
        let mut stays: Vec<bool> = Vec::with_capacity(self.lines.len());
        for line in self.lines.iter().rev() {
            let step = line.as_ref();
            stays.push(room.takes(step) || step.turn == Turn::Header);
        }
        self.lines.retain(|_| stays.pop().unwrap_or_default());
        self.prompts = self.lines.iter().filter(|line| line.as_ref().begins()).count() as u64;
    }

    /// Goes back by some turns, and returns what went; `None` if fewer turns than that are there. Of a whole history nothing older is
    /// missing: going back by more turns than there are goes back to its beginning, as the client does.
    pub(crate) fn go_back(&mut self, prompts: u64, is_whole: bool) -> Option<Vec<S>> {
        let there = self.prompts;
        let wanted = if is_whole { prompts.min(there) } else { prompts };
        let at = if wanted > there { None } else { before_prompts(&self.lines, wanted) };
        let mut gone = self.lines.split_off(at?);
        let first = gone.iter().position(|line| line.as_ref().begins());
        let first = first.filter(|_| is_whole && wanted == there).unwrap_or(0);
        // No part of the turns that go are a session's own lines, and what the client told ahead of the first prompt.
        let mut at = 0..;
        let stays = |line: &mut S| {
            let is_ahead = at.next().is_some_and(|at| at < first);
            let step = line.as_ref();
            step.turn == Turn::Header || (step.is_instruction && is_ahead)
        };
        self.lines.extend(gone.extract_if(.., stays));
        self.prompts -= gone.iter().filter(|line| line.as_ref().begins()).count() as u64;
        Some(gone)
    }
}

/// Returns the line at which the last `prompts` turns begin, so that a rollback drops it and all lines after it, a compaction that
/// stands for all too. Returns `None` if fewer turns than that are in `lines`.
fn before_prompts<S: AsRef<Step>>(lines: &[S], prompts: u64) -> Option<usize> {
    let (mut left, mut start) = (prompts, lines.len());
    // Whether a compaction stands behind, and whether the beginning of the turn does: one between the two is of the turn.
    let (mut is_over, mut has_start) = (false, false);
    for (at, line) in lines.iter().enumerate().rev().take_while(|_| prompts > 0) {
        let step = line.as_ref();
        match step.turn {
            _ if step.begins() && left > 0 => (left, start) = (left - 1, at),
            _ if left > 0 => {}
            _ if step.begins() || step.leaves_prompts() || step.back == Back::Stays => break,
            Turn::Start if !has_start => (start, has_start, is_over) = (at, true, false),
            // What began the turn ahead of its prompt goes with it.
            Turn::Start | Turn::Settings | Turn::Other if !is_over => start = at,
            Turn::Settings | Turn::Other => {}
            Turn::Compaction if !has_start => is_over = true,
            _ => break,
        }
    }
    (left == 0).then_some(start)
}

/// What a compaction still takes of older prompts, the newest first.
#[derive(Debug)]
struct Room {
    tokens: u64,
}

impl Default for Room {
    fn default() -> Self {
        Self { tokens: PROMPT_TOKENS_MAX }
    }
}

impl Room {
    /// Returns whether a line is one that the compaction leaves.
    fn takes(&mut self, step: &Step) -> bool {
        let is_left = self.tokens > 0 && (step.tokens.is_some() || step.stands_for_all());
        // Nothing older than what stands for all of it is there.
        let tokens = if step.stands_for_all() { u64::MAX } else { step.tokens.unwrap_or(0) };
        self.tokens = self.tokens.saturating_sub(tokens);
        is_left
    }
}

/// How far a reader that begins at the newest line must go on for the prompts that a compaction leaves.
#[derive(Debug, Default)]
pub(crate) struct OlderPrompts {
    /// What is still wanted, once such a compaction was read.
    room: Option<Room>,
    /// Turns to pass over: newer lines take them back.
    back: u64,
}

impl OlderPrompts {
    /// Takes the lines that come before all others so far; returns whether nothing older is wanted.
    pub(crate) fn are_read<S: AsRef<Step>>(&mut self, lines: &[S]) -> bool {
        for step in lines.iter().rev().map(AsRef::as_ref) {
            match (&mut self.room, step.turn) {
                (room @ None, _) => *room = step.leaves_prompts().then(Room::default),
                (Some(_), Turn::Rewind(turns)) => self.back = self.back.saturating_add(turns),
                (Some(_), _) if self.back > 0 => self.back -= u64::from(step.begins()),
                (Some(room), _) => {
                    room.takes(step);
                }
            }
        }
        self.room.as_ref().is_some_and(|room| room.tokens == 0)
    }
}
