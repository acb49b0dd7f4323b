//! Takes secrets out of a request before it leaves the machine. A provider is somebody else.

use stemmata_redact::Scrubber;

use crate::chat::{ChatRequest, Message, Tool, ToolCall};
use crate::error::LlmError;

/// Returns a text without its secrets.
///
/// # Errors
/// [`LlmError::NotScrubbed`] if a rule could not be used: then nothing may be sent.
pub(crate) fn text(text: &str, scrubber: &Scrubber) -> Result<String, LlmError> {
    match scrubber.scrub_text(text) {
        Ok(clean) => Ok(clean.text.into_owned()),
        Err(failure) => Err(LlmError::NotScrubbed { reason: failure.to_string() }),
    }
}

/// Returns the request without its secrets.
///
/// # Errors
/// [`LlmError::NotScrubbed`] if a rule could not be used: then nothing may be sent.
pub(crate) fn scrubbed(request: &ChatRequest, scrubber: &Scrubber) -> Result<ChatRequest, LlmError> {
    let text = |said: &str| text(said, scrubber);
    // The strings inside a schema or inside arguments are read as JSON, as they are in a transcript.
    let json = |json: &str| match scrubber.scrub_line(json.as_bytes()) {
        Ok(clean) => Ok(String::from_utf8_lossy(&clean.bytes).into_owned()),
        Err(failure) => Err(LlmError::NotScrubbed { reason: failure.to_string() }),
    };
    let message = |message: &Message| {
        Ok(match message {
            Message::User(said) => Message::User(text(said)?),
            Message::Assistant { text: said, calls } => {
                let calls = calls.iter().map(|call| {
                    let ToolCall { id, name, arguments } = call;
                    Ok(ToolCall { id: id.clone(), name: name.clone(), arguments: json(arguments)? })
                });
                Message::Assistant { text: text(said)?, calls: calls.collect::<Result<_, LlmError>>()? }
            }
            Message::Tool { call_id, text: output, is_error } => {
                Message::Tool { call_id: call_id.clone(), text: text(output)?, is_error: *is_error }
            }
        })
    };
    let tool = |tool: &Tool| {
        let Tool { name, description, parameters } = tool;
        Ok(Tool { name: name.clone(), description: text(description)?, parameters: parameters.clone() })
    };
    Ok(ChatRequest {
        system: text(&request.system)?,
        messages: request.messages.iter().map(message).collect::<Result<_, LlmError>>()?,
        tools: request.tools.iter().map(tool).collect::<Result<_, LlmError>>()?,
        max_output_tokens: request.max_output_tokens,
    })
}
