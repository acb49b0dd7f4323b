//! Arrays of API messages: what an agent of one's own has in its hands. No client loads them.
//!
//! One array is a whole conversation, or what was added since the last commit: `anthropic-messages-v1`,
//! `openai-chat-v1`, `openai-responses-v1`.

mod anthropic;
mod blocks;
mod chat;
mod items;
mod request;
#[cfg(test)]
mod request_tests;
mod responses;
#[cfg(test)]
pub(crate) mod samples_tests;
mod told;
pub(crate) mod turns;
pub(crate) mod validate;

use stemmata_model::{Entry, FormatId, Maker};

use crate::adapter::{Adapter, Confidence, Decoded, Detection, Validator};
use crate::document::mend::{Mended, mend};
use crate::document::{Dialect, head};
use crate::json::Field;
use crate::reading::Reading;
use crate::repair::Document;
use crate::translate::{Intake, IntakeRow, Reasoning};
pub use request::{Api, Conversation, RequestBody, request_body};
pub(crate) use responses::is_sealed_kind;
pub(crate) use told::holds_sealed;
pub use told::is_sealed;

/// The runtime of arrays for Anthropic's Messages API.
pub const ANTHROPIC: &str = "anthropic-messages";

/// The runtime of arrays for chat-completions APIs.
pub const CHAT: &str = "openai-chat";

/// The runtime of arrays for OpenAI's Responses API.
pub const RESPONSES: &str = "openai-responses";

/// What each of them takes.
pub(crate) const INTAKES: &[IntakeRow] = &[
    (ANTHROPIC, &Intake::MESSAGES),
    (CHAT, &Intake { reasoning: Reasoning::None, ..OPENAI }),
    (RESPONSES, &OPENAI),
];

/// What OpenAI's APIs take.
const OPENAI: Intake = Intake {
    maker: Some(Maker::OpenAi),
    reasoning: Reasoning::Proven,
    marks_failures: false,
    takes_instructions: true,
    ..Intake::ANY
};

/// The adapter of one kind of array.
#[derive(Debug, Clone, Copy)]
pub struct Messages {
    name: &'static str,
    dialect: &'static Dialect,
    /// Says how sure it is of the first elements of an array.
    claims: fn(&[Field<'_>]) -> Option<Confidence>,
    encode: fn(&[Entry]) -> String,
    rules: validate::Rules,
    mend: fn(&[&str]) -> Mended,
}

impl Messages {
    /// The adapter of `anthropic-messages-v1`.
    pub const ANTHROPIC: Self = Self {
        name: "anthropic-messages-v1",
        dialect: &anthropic::DIALECT,
        claims: anthropic::claims,
        encode: anthropic::encode,
        rules: validate::Rules { alternates: true, results_at_once: true, is_strict: true },
        mend: blocks::mend,
    };

    /// The adapter of `openai-chat-v1`.
    pub const CHAT: Self = Self {
        name: "openai-chat-v1",
        dialect: &chat::DIALECT,
        claims: chat::claims,
        encode: chat::encode,
        rules: validate::Rules { alternates: false, results_at_once: false, is_strict: false },
        mend: |elements| items::mend(&chat::DIALECT, elements, &chat::WRITER),
    };

    /// The adapter of `openai-responses-v1`.
    pub const RESPONSES: Self = Self {
        name: "openai-responses-v1",
        dialect: &responses::DIALECT,
        claims: responses::claims,
        encode: responses::encode,
        rules: validate::Rules { alternates: false, results_at_once: false, is_strict: false },
        mend: |elements| items::mend(&responses::DIALECT, elements, &responses::WRITER),
    };
}

impl Adapter for Messages {
    fn format(&self) -> FormatId {
        FormatId::new(self.name).expect("the names are short and plain")
    }

    fn reading(&self) -> Reading {
        Reading::document(self.dialect)
    }

    fn detect(&self, head: &[u8]) -> Option<Detection> {
        if !head.trim_ascii_start().starts_with(b"[") {
            return None;
        }
        let json = head::closed(head)?;
        let elements = crate::document::whole(&json).ok()?.elements()?;
        let confidence = (self.claims)(&elements)?;
        Some(Detection { format: self.format(), version: None, confidence })
    }

    fn told(&self, bytes: &[u8]) -> Decoded {
        let decoded = self.decode(bytes);
        Decoded { entries: told::told(decoded.entries), ..decoded }
    }

    fn encode(&self, entries: &[Entry]) -> Vec<u8> {
        (self.encode)(entries).into_bytes()
    }

    fn is_placeable(&self) -> bool {
        false
    }

    fn mend(&self, document: &mut Document, _client_version: Option<&str>) {
        mend(document, self.dialect, self.mend);
    }

    fn validator(&self, _client_version: Option<&str>) -> Box<dyn Validator> {
        Box::new(validate::MessagesValidator::new(self.dialect, self.rules))
    }
}

/// Returns a call's arguments: the text that the API has them in, else the JSON that a program gave instead.
fn arguments(field: Option<Field<'_>>) -> String {
    match field.filter(|field| !field.is_null()) {
        Some(field) => field.text().map_or_else(|| field.raw().to_owned(), std::borrow::Cow::into_owned),
        None => "{}".to_owned(),
    }
}
