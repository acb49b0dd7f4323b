//! The numbered prompts of a chain: what people asked for on its active path, counted from 1.
//!
//! The one count behind `SESSION:N` and the numbers that `show` and `tree` print. It goes on over compactions and leaves
//! out branches that were left, results of tools, and what clients write in a person's name.

use std::ops::ControlFlow;

use stemmata_model::{CommitId, EntryId, Timestamp};
use stemmata_prompt::story::{prompt_text, sidechain_of};

use crate::engine::Engine;
use crate::error::{EngineError, Result};

/// A prompt of a chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NumberedPrompt {
    /// Its number, from 1.
    pub number: u64,
    /// The commit that holds it.
    pub ctx: CommitId,
    /// The entry that it is: what `--at` takes.
    pub entry: EntryId,
    /// The entry's place in the chain, as in `@N`. Absent where the history began in another session.
    pub ordinal: Option<u64>,
    /// When it was written, as the client says.
    pub at: Option<Timestamp>,
    /// What it says, whole.
    pub text: String,
}

impl Engine {
    /// Returns the prompts of people on the active path that ends at a commit, the first one first.
    ///
    /// # Errors
    /// `CommitMissing`, `Format` for a format that cannot be read, store errors.
    pub fn numbered_prompts(&self, ctx: CommitId) -> Result<Vec<NumberedPrompt>> {
        Ok(self.prompts_through(ctx, u64::MAX)?.0)
    }

    /// Returns the prompt of a number on the active path that ends at a commit, and whether something up to it was written late.
    /// Reads no further than to it.
    ///
    /// # Errors
    /// `NoPrompt` where there is none, and as for [`Engine::numbered_prompts`].
    pub(crate) fn prompt_and_order(&self, ctx: CommitId, number: u64) -> Result<(NumberedPrompt, bool)> {
        // The first number is 1: 0 is none, and the whole chain says how many there are.
        let (found, has_late) = self.prompts_through(ctx, if number == 0 { u64::MAX } else { number })?;
        let prompts = found.len() as u64;
        let found = found.into_iter().find(|prompt| prompt.number == number);
        let found = found.ok_or_else(|| EngineError::NoPrompt { of: ctx.to_string(), number, prompts })?;
        Ok((found, has_late))
    }

    /// Returns the prompts up to the one of a number, with those of its commit; and whether something there was written late.
    pub(crate) fn prompts_through(&self, ctx: CommitId, number: u64) -> Result<(Vec<NumberedPrompt>, bool)> {
        let mut has_late = false;
        let mut prompts: Vec<NumberedPrompt> = Vec::new();
        let mut main: Option<Option<String>> = None;
        self.each_of_path(ctx, &mut |commit| {
            let main = main.get_or_insert_with(|| sidechain_of(&commit.entries));
            has_late |= !commit.late.is_empty();
            for (at, entry) in commit.entries.iter().enumerate() {
                let is_active = commit.is_active.get(at).copied().unwrap_or(false);
                let Some(text) = prompt_text(entry, main.as_deref()).filter(|_| is_active) else { continue };
                let late = commit.late.iter().find(|(index, _)| *index == at);
                prompts.push(NumberedPrompt {
                    number: prompts.len() as u64 + 1,
                    ctx: late.map_or(commit.commit.id, |(_, holder)| *holder),
                    entry: entry.id.clone(),
                    ordinal: commit
                        .first_ordinal
                        .zip(commit.places.get(at))
                        .map(|(first, place)| first + place),
                    at: entry.timestamp,
                    text,
                });
            }
            let is_there = prompts.last().is_some_and(|prompt| prompt.number >= number);
            Ok(if is_there { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        Ok((prompts, has_late))
    }
}
