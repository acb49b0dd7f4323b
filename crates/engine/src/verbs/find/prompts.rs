//! The state before a prompt of a chain.

use stemmata_api::v1::FoundPrompt;
use stemmata_model::CommitId;

use crate::engine::Engine;
use crate::error::{EngineError, Result};

impl Engine {
    /// Finds the commit that ends before the prompt of this number in the chain up to a commit. Where a commit begins before the
    /// prompt and ends behind it, that is a cut of it, which stores no bytes of its own.
    pub(super) fn before_prompt(
        &self,
        from: CommitId,
        number: u64,
        text: &str,
    ) -> Result<(CommitId, FoundPrompt)> {
        let (prompt, has_late) = self.prompt_and_order(from, number).map_err(|error| match error {
            // The error names the chain as the user typed it: the user of `1e08:49` has not seen the id of its commit.
            EngineError::NoPrompt { number, prompts, .. } => {
                let of = text.rsplit_once(':').map_or(text, |(of, _)| of).to_owned();
                EngineError::NoPrompt { of, number, prompts }
            }
            error => error,
        })?;
        // What a client wrote late stands below the commit, and is known from the end of the chain.
        let of = if has_late { from } else { prompt.ctx };
        let head = self.head(of, Some(prompt.entry.as_str()))?;
        Ok((head.ctx, FoundPrompt { of, entry: prompt.entry.to_string() }))
    }
}
