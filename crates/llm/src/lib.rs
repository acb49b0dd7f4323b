//! Clients of language models: one request, one reply, over HTTP, blocking. Anthropic's Messages API and what speaks
//! OpenAI's chat completions and embeddings (so also Ollama, vLLM and llama.cpp's server).
//!
//! A client scrubs all that it sends, waits no longer than its limits say, and tries again only where that can help. Not
//! here: what is asked (the summarizer's prompt is `stemmata-prompt`'s) and where keys come from (the binary reads them).

mod anthropic;
mod chat;
mod client;
mod embedder;
mod embeddings;
mod endpoint;
mod error;
mod openai;
mod retry;
mod scrub;
mod summarize;

pub use chat::{ChatReply, ChatRequest, Message, Stop, Tool, ToolCall, Usage};
pub use client::{Client, Sleeps, Waits};
pub use embedder::ModelEmbedder;
pub use endpoint::{Api, Endpoint, Key, Limits};
pub use error::{LlmError, Status};
pub use summarize::ModelSummarizer;
