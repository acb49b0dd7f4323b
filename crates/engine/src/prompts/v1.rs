//! What is kept of a session's prompts, as it is written: version 1. Saved states of a ledger, never read by other programs.

use serde::{Deserialize, Serialize};
use stemmata_api::v1::PromptTrace;

/// The version of these forms.
pub(super) const KEPT_VERSION: u32 = 1;

/// The prompts of a session's last turns.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Prompts {
    /// The newest last.
    pub(super) turns: Vec<Turn>,
}

/// The prompt of a turn.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Turn {
    /// The event of what the user said.
    pub(super) said: u64,
    /// The prompt, where it was not too long to keep.
    pub(super) text: Option<String>,
    /// How it came to be.
    pub(super) trace: PromptTrace,
    /// The hash of what was asked for, where the prompt is kept as the caller got it: a try that is repeated gets it again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) request: Option<String>,
    /// The hash of what the profile says, to know where the next turn's says something else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) profile: Option<String>,
}

/// The sessions that have kept prompts or the state of a line.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Sessions {
    /// The one that was used last is last.
    pub(super) sessions: Vec<String>,
}

/// How far an agent got what people told it.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Mailbox {
    /// The event that began the turn in which it was delivered last; 0 outside of turns.
    pub(super) said: u64,
    /// How far it had got it before that; 0 for nothing.
    pub(super) before: u64,
    /// How far it got it.
    pub(super) after: u64,
}
