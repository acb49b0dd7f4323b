//! What happened in a conversation, told by turns: what people asked for, what was called for it, and what came of it.
//!
//! Pure folds over decoded entries. What a call does is `stemmata_acts`'s to know; which entries are still part of a
//! conversation is the engine's.

mod prompt;

pub use prompt::{is_main, prompt_text, sidechain_of};
