//! Selection: what a strategy's sources find, and the text of their sections.
//!
//! How the ledger is read is behind [`ContextReader`]; what of it fits the budget is `assemble`'s.

mod entry;
mod gather;
mod groups;
mod message;
mod reader;
mod render;
#[cfg(test)]
pub(crate) mod tests;

pub use entry::{ARGUMENTS_CHARS_MAX, RESULT_CHARS_MAX, SUMMARY_SPEAKER, call_pieces, entry_text};
pub use gather::{
    Found, HIT_CHARS_MAX, Item, SOURCE_BYTES_MAX, STATE_CHARS_COMPACT, STATE_CHARS_MAX, Scope, SourcePlan,
    gather, plan_messages,
};
pub use message::{Message, Piece};
pub use reader::{
    ContextReader, Hit, LeftOut, MessagePage, MessageQuery, MessagesOf, ReadOrder, RetrieveQuery, StateQuery,
};
pub(crate) use render::pretty;
pub use render::{message_text, retrieved_text, state_text, topic_text, turns_text};
