//! What is asked and answered, whoever the provider is. How each provider writes it is `anthropic` and `openai`.

use serde_json::Value;

/// One request: the whole conversation, since providers keep none.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ChatRequest {
    /// The system prompt; empty for none.
    pub system: String,
    /// The conversation, oldest first.
    pub messages: Vec<Message>,
    /// Tools that the model may call.
    pub tools: Vec<Tool>,
    /// Tokens that the answer may have. Anthropic refuses a request without it.
    pub max_output_tokens: u32,
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// What a person, or the program, said.
    User(String),
    /// What the model said and which tools it called.
    Assistant {
        /// Its text; may be empty beside calls.
        text: String,
        /// Its calls, in order.
        calls: Vec<ToolCall>,
    },
    /// What a tool answered.
    Tool {
        /// The call that it answers.
        call_id: String,
        /// The output.
        text: String,
        /// Whether the tool failed.
        is_error: bool,
    },
}

/// A tool, as the model is told of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// Its arguments, as a JSON schema.
    pub parameters: Value,
}

/// A model's call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// The provider's id, which the answer names.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments as the model wrote them: JSON, or what it took for JSON.
    pub arguments: String,
}

/// What a model answered.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatReply {
    /// Its text; may be empty beside calls.
    pub text: String,
    /// The tools that it wants called.
    pub calls: Vec<ToolCall>,
    /// Why it stopped.
    pub stop: Stop,
    /// What the provider counted, where it says so.
    pub usage: Option<Usage>,
}

/// Why a model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// It was done.
    End,
    /// It waits for tools.
    ToolUse,
    /// The answer reached its limit and is cut.
    Length,
    /// The window was full (Anthropic's `model_context_window_exceeded`).
    WindowFull,
    /// The provider or the model refused.
    Refusal,
    /// Something that this version does not know.
    Other,
}

/// Tokens as the provider counted them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// Input that was not cached.
    pub input_tokens: u64,
    /// Input that was read from the provider's cache or written to it.
    pub cached_tokens: u64,
    /// Output.
    pub output_tokens: u64,
}
