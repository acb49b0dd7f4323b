//! A summarizer over a client: asks, and shortens what it asks about where the model's window is too small for it.
//! What is asked, and what of the answer is used, is `stemmata_prompt::compact`'s.

use stemmata_prompt::compact::summarizer::{question, system_prompt};
use stemmata_prompt::compact::{SummarizeError, Summarizer, SummaryAsked};
use stemmata_prompt::window::overflow_of;

use crate::chat::{ChatRequest, Message, Stop};
use crate::client::Client;
use crate::error::LlmError;

/// How often a conversation that is too long is shortened.
const SHORTENED_MAX: u32 = 2;
/// Characters for a token, to say how long the answer may be.
const CHARS_PER_TOKEN: usize = 3;
/// Tokens of an answer at least and at most: headings need some, and no summary is a book.
const ANSWER_TOKENS_MIN: usize = 64;
const ANSWER_TOKENS_MAX: usize = 8_192;

/// Writes summaries with a model.
pub struct ModelSummarizer {
    client: Client,
    window_tokens: Option<u64>,
    output_tokens_max: usize,
}

impl ModelSummarizer {
    /// Makes a summarizer of a client. `window_tokens` is the model's window, where known.
    pub fn new(client: Client, window_tokens: Option<u64>) -> ModelSummarizer {
        ModelSummarizer { client, window_tokens, output_tokens_max: ANSWER_TOKENS_MAX }
    }

    /// Limits the tokens of an answer; 8,192 otherwise.
    #[must_use]
    pub fn with_output_tokens_max(self, tokens: u32) -> ModelSummarizer {
        let output_tokens_max = usize::try_from(tokens).unwrap_or(usize::MAX).max(ANSWER_TOKENS_MIN);
        ModelSummarizer { output_tokens_max, ..self }
    }
}

impl Summarizer for ModelSummarizer {
    fn name(&self) -> &str {
        self.client.model()
    }

    fn window_tokens(&self) -> Option<u64> {
        self.window_tokens
    }

    fn summarize(&self, asked: &SummaryAsked<'_>) -> Result<String, SummarizeError> {
        if asked.conversation.trim().is_empty() {
            let reason = "its newest entry alone takes more than two fifths of that".to_owned();
            return Err(SummarizeError::TooLong { reason });
        }
        let mut conversation = asked.conversation;
        let mut shortened = 0;
        loop {
            let tokens = (asked.chars_max / CHARS_PER_TOKEN).clamp(ANSWER_TOKENS_MIN, self.output_tokens_max);
            let request = ChatRequest {
                system: system_prompt().to_owned(),
                messages: vec![Message::User(question(&SummaryAsked { conversation, ..*asked }))],
                tools: Vec::new(),
                max_output_tokens: u32::try_from(tokens).unwrap_or(u32::MAX),
            };
            let error = match self.client.chat(&request) {
                Ok(reply) if reply.stop == Stop::WindowFull => "the window was full".to_owned(),
                Ok(reply) if reply.stop == Stop::Refusal => {
                    return Err(SummarizeError::Failed {
                        reason: "the model refused to summarize".to_owned(),
                    });
                }
                Ok(reply) if reply.text.trim().is_empty() => return Err(SummarizeError::Empty),
                // A cut answer ends in the middle of a sentence.
                Ok(reply) if reply.stop == Stop::Length => return Ok(whole_lines(&reply.text)),
                Ok(reply) => return Ok(reply.text),
                Err(error) => match overflow(&error) {
                    Some(said) => said,
                    None => return Err(SummarizeError::Failed { reason: error.to_string() }),
                },
            };
            if shortened == SHORTENED_MAX {
                return Err(SummarizeError::TooLong { reason: error });
            }
            shortened += 1;
            conversation = without_oldest_third(conversation);
        }
    }
}

/// Returns what the provider said if it is that the context is too long.
fn overflow(error: &LlmError) -> Option<String> {
    match error {
        LlmError::Refused { status, .. } => {
            overflow_of(&status.message, Some(&status.code)).map(|_| status.message.clone())
        }
        LlmError::RequestTooLarge { .. } => Some(error.to_string()),
        _ => None,
    }
}

/// Cuts the beginning off, at an empty line where there is one.
fn without_oldest_third(conversation: &str) -> &str {
    let from = conversation.ceil_char_boundary(conversation.len() / 3);
    let rest = conversation.get(from..).unwrap_or_default();
    rest.split_once("\n\n").map_or(rest, |(_, rest)| rest)
}

fn whole_lines(text: &str) -> String {
    text.rsplit_once('\n').map_or_else(String::new, |(whole, _)| whole.to_owned())
}
