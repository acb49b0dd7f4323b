//! A message that may enter a prompt: what an event or an entry says, ready to be rendered.
//!
//! Not how it is stored.

use stemmata_api::v1::PromptImage;
use stemmata_model::{Event, Json, Party, Payload, Timestamp};

/// A message that may enter a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// What names it in the trace: an event's sequence number, or an entry's id.
    pub id: String,
    /// When it was said, where that is known.
    pub at: Option<Timestamp>,
    /// Who said it.
    pub sender: Party,
    /// Text for models; may be missing.
    pub text: Option<String>,
    /// Data, rendered as JSON; may be missing.
    pub data: Option<Json>,
    /// The tool calls that it makes. Only turns have them.
    pub calls: Vec<String>,
    /// The text by its parts, of a message that makes calls: a call without a result is taken out of it. Only turns have
    /// them.
    pub pieces: Vec<Piece>,
    /// The tool calls that it answers. Only turns have them.
    pub answers: Vec<String>,
    /// The images that its text names. Only turns have them.
    pub images: Vec<PromptImage>,
}

/// A part of a message that makes calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// What it says.
    pub text: String,
    /// The call that it is, or `None` for what is said beside the calls.
    pub call: Option<String>,
}

impl Message {
    /// Makes the message of an event that has text and data. None for a line, which its format's adapter decodes
    /// ([`entry_text`](super::entry_text) renders the entry), and for a payload that is gone.
    pub fn of(event: &Event) -> Option<Self> {
        let Payload::Plain { text, data } = &event.payload else { return None };
        Some(Self {
            id: event.seq.to_string(),
            at: Some(event.at),
            sender: event.sender.clone(),
            text: text.clone(),
            data: data.clone(),
            calls: Vec::new(),
            pieces: Vec::new(),
            answers: Vec::new(),
            images: Vec::new(),
        })
    }
}
