//! What a model is sent, as the API of its provider takes it.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::RawJson;

/// Which provider's API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema), schemars(inline))]
#[serde(rename_all = "snake_case")]
pub enum ProviderApi {
    /// Anthropic's Messages API.
    Anthropic,
    /// Chat completions, of OpenAI and of the servers that follow it.
    ChatCompletions,
    /// OpenAI's Responses API.
    Responses,
}

/// The parts of a request's body that hold a conversation: the caller adds the model, tools and limits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ProviderMessages {
    /// The API.
    pub api: ProviderApi,
    /// An object: `system` and `messages` for Anthropic, `messages` for chat completions, `instructions` and `input` for responses.
    /// What the user says now is last, and calls stay with their results.
    pub body: RawJson,
    /// Messages or items at the beginning that the next turn begins with, too, as long as nothing of the conversation is pruned,
    /// archived or compacted.
    pub stable: u64,
    /// Breakpoints for the provider's cache (`cache_control`) in `body`, of the four that Anthropic takes; 0 for the others, which find
    /// the same beginning by themselves.
    pub breakpoints: u64,
}
