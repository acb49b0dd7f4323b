//! Tokens: exact counts of the encodings o200k and cl100k, what is known of models and clients, the size of images, and
//! factors learned from reported usage.
//!
//! Not a client of a provider: nothing here reads a file or asks a server. A vocabulary is unpacked by the first count
//! that needs it.

mod classes;
mod counter;
mod images;
mod learn;
mod merge;
mod models;
mod split;
mod vocabulary;
mod windows;

pub use counter::{Counter, Encoding, base_count};
pub use images::{IMAGE_HEAD_BYTES, Pixels, image_size, image_tokens};
pub use learn::{
    LEARNED_BASE, LEARNED_PAIRS_ENOUGH, LEARNED_PAIRS_MIN, LEARNED_TOKENS_MIN, Ratios, UsagePair, counter_of,
    usage_pairs,
};
pub use models::{MODELS, ModelRow, model};
pub use windows::{COMMON_WINDOW_TOKENS, KnownWindow, WINDOWS, WindowRow, window};
